/*
 * improvement.c - see improvement.h.
 */
#include "improvement.h"

#include "../../plan/planner.h"
#include "../previous.h"
#include "look.h"

/* A short look, so that there is something better at the end in any case, then
 * a long one: parts of limits.think in a tenth.  The rest is for a slow or busy
 * machine, which takes longer for its steps. */
static const unsigned parts[] = {1, 5};
enum { LOOKS = sizeof parts / sizeof *parts };

/* ---- waiting */

static bool any_waits(const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->n_launches; i++)
        if (!plan->launches[i].final)
            return true;
    return false;
}

/* Is there time and reason to look longer? */
static bool may_wait(const struct improvement *k, const struct plan *plan)
{
    return k->conf->now->think_ms > 0 && any_waits(plan);
}

bool improvement_waits(const struct improvement *k, const struct plan *plan)
{
    if (!may_wait(k, plan) || k->answered == LOOKS)
        return false;
    return k->since_ms == 0 ||
           k->env->mono_ms - k->since_ms < k->conf->now->think_ms;
}

int64_t improvement_until_ms(const struct improvement *k)
{
    int64_t left = k->since_ms + k->conf->now->think_ms - k->env->mono_ms;

    return k->since_ms && k->answered < LOOKS && left > 0
               ? k->env->now_ms + left
               : 0;
}

static void look_start(struct improvement *k, struct status_page *page)
{
    struct look *t;
    uint64_t tenths;

    if (k->busy || k->asked == LOOKS)
        return;
    tenths = (uint64_t)k->conf->now->think_ms * parts[k->asked++];
    t = look_new(page, tenths * (PLANNER_STEPS_PER_MS / 10), MAIL_IMPROVEMENT);
    k->busy = true;
    workers_submit(k->env->workers, &t->job);
}

void improvement_step(struct improvement *k, struct status_page *page,
                      bool waits, bool launched)
{
    if (page->plan->n_launches == 0)
        k->n_proposed = 0; /* bought, or of no use any more */
    if (!may_wait(k, page->plan) || (launched && !waits)) {
        k->since_ms = 0;
        k->asked = k->answered = 0;
    }
    if (!waits)
        return;
    if (k->since_ms == 0)
        k->since_ms = k->env->mono_ms;
    env_wake_mono(k->env, k->since_ms + k->conf->now->think_ms);
    look_start(k, page);
}

/* ---- the answer */

static struct snap_placements previous_copy(struct arena *a,
                                            const struct snap_placements *h)
{
    struct snap_placement *v = arena_copy(a, h->v, h->n * sizeof *v);

    for (uint32_t i = 0; i < h->n; i++) {
        v[i].owner = arena_strdup(a, v[i].owner);
        v[i].id = arena_strdup(a, v[i].id);
    }
    return (struct snap_placements){v, h->n};
}

static void propose(struct improvement *k, const struct look *t)
{
    const struct problem *s = t->page->now;
    const struct plan *p = &t->plan;
    struct snap_proposal *v;

    arena_reset(&k->arena);
    v = ARENA_ARRAY(&k->arena, struct snap_proposal, p->n_launches);
    k->n_proposed = 0;
    for (uint32_t i = 0; i < p->n_launches; i++) {
        const struct plan_launch *l = &p->launches[i];
        const struct pb_offer *o = &s->offers[l->offer];
        struct snap_placements h = previous_placed(s, p, l->first_placement,
                                                   l->n_placements, &k->arena);

        if (h.n == 0)
            continue;
        v[k->n_proposed++] = (struct snap_proposal){
            .type = arena_strdup(&k->arena, s->str[s->types[o->type].name]),
            .zone = arena_strdup(&k->arena, s->str[o->zone]),
            .spot = o->spot,
            .count = l->count,
            .previous = previous_copy(&k->arena, &h)};
    }
    k->proposed = v;
}

void improvement_fold(struct improvement *k, struct mail *mail)
{
    struct look *t = (struct look *)mail;

    k->busy = false;
    if (!t->job.abandoned && k->asked > 0) {
        propose(k, t);
        k->answered++;
    }
    look_free(t);
}

void improvement_take(const struct improvement *k, struct arena *a,
                      struct snapshot *s)
{
    struct snap_proposal *v = arena_copy(a, k->proposed,
                                         k->n_proposed * sizeof *v);

    for (uint32_t i = 0; i < k->n_proposed; i++) {
        v[i].type = arena_strdup(a, v[i].type);
        v[i].zone = arena_strdup(a, v[i].zone);
        v[i].previous = previous_copy(a, &v[i].previous);
    }
    s->proposed = v;
    s->n_proposed = k->n_proposed;
}

void improvement_close(struct improvement *k)
{
    arena_done(&k->arena);
}
