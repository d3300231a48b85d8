/*
 * think.c - a longer look at large purchases.
 *
 * What a plan would buy and a longer look may better is not final: it waits,
 * at most limits.think, while a worker plans the same snapshot with a larger
 * budget, and is then launched as a whole.  The answer comes back in the next
 * tick's snapshot as proposed nodes and what they hold: the planner judges them
 * like any other way, so demand that changed meanwhile does no harm, and a
 * record replays.  One look at a time; a tick never waits for it.
 */
#include <stdlib.h>

#include "../base/clock.h"
#include "../plan/planner.h"
#include "state.h"

/* A short thought, so that there is something better at the end in any case,
 * then a long one: parts of limits.think in a tenth.  The rest is for a slow
 * or busy machine, which takes longer for its steps. */
static const unsigned parts[] = {1, 5};
enum { THOUGHTS = sizeof parts / sizeof *parts };

struct thought {
    struct job job;               /* first */
    struct status_page *page;     /* a reference: owns the snapshot */
    uint64_t budget;
    struct arena arena;
    struct plan plan;             /* the answer */
};

static void thought_run(struct job *job)
{
    struct thought *t = (struct thought *)job;

    planner_run(t->page->now, t->budget, &t->arena, &t->plan);
}

static void thought_free(struct thought *t)
{
    status_unref(t->page);
    arena_done(&t->arena);
    free(t);
}

static bool any_waits(const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->n_launches; i++)
        if (!plan->launches[i].final)
            return true;
    return false;
}

void think_launched(struct control *c)
{
    c->think.since_ms = 0;
    c->think.asked = c->think.answered = 0;
}

bool think_waits(struct control *c, const struct plan *plan)
{
    struct thinking *k = &c->think;
    int64_t mono = clock_mono_ms(), limit = c->config->think_ms;

    if (plan->n_launches == 0)
        k->n_proposed = 0;       /* bought, or of no use any more */
    if (limit == 0 || c->opts.dry_run || !any_waits(plan)) {
        think_launched(c);
        return false;
    }
    if (k->since_ms == 0)
        k->since_ms = mono;
    if (k->answered == THOUGHTS || mono - k->since_ms >= limit)
        return false;             /* as best known */
    control_wake_at(c, k->since_ms + limit);
    return true;
}

int64_t think_until(const struct control *c)
{
    const struct thinking *k = &c->think;
    int64_t left = k->since_ms + c->config->think_ms - clock_mono_ms();

    return k->since_ms && k->answered < THOUGHTS && left > 0 ? c->now_ms + left : 0;
}

void think_start(struct control *c, struct status_page *page)
{
    struct thought *t;

    if (c->think.busy || c->think.asked == THOUGHTS)
        return;
    t = calloc(1, sizeof *t);
    if (!t)
        abort();
    atomic_fetch_add(&page->refs, 1);
    t->page = page;
    t->budget = (uint64_t)c->config->think_ms * parts[c->think.asked++] *
                (PLANNER_STEPS_PER_MS / 10);
    t->job.mail.kind = MAIL_THOUGHT;
    t->job.run = thought_run;
    c->think.busy = true;
    workers_submit(c->workers, &t->job);
}

/* ---- the answer */

static bool for_gangs(const struct problem *s, const struct plan *p,
                      const struct plan_launch *l)
{
    for (uint32_t i = 0; i < l->n_placements; i++) {
        const struct plan_placement *x =
            &p->placements[l->first_placement + i];

        if (s->demands[s->bundles[x->bundle].demand].gang)
            return true;
    }
    return false;
}

static struct snap_placements previous_copy(struct arena *a, const struct snap_placements *h)
{
    struct snap_placement *v = arena_copy(a, h->v, h->n * sizeof *v);

    for (uint32_t i = 0; i < h->n; i++) {
        v[i].owner = arena_strdup(a, v[i].owner);
        v[i].id = arena_strdup(a, v[i].id);
    }
    return (struct snap_placements){v, h->n};
}

static void propose(struct thinking *k, const struct thought *t)
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

        if (h.n == 0 || for_gangs(s, p, l))
            continue;
        v[k->n_proposed++] = (struct snap_proposal){
            .type = arena_strdup(&k->arena, s->str[s->types[o->type].name]),
            .zone = arena_strdup(&k->arena, s->str[o->zone]), .spot = o->spot,
            .count = l->count, .previous = previous_copy(&k->arena, &h)};
    }
    k->proposed = v;
}

void think_fold(struct control *c, struct mail *mail)
{
    struct thought *t = (struct thought *)mail;

    c->think.busy = false;
    if (!t->job.abandoned && c->think.asked > 0) {
        propose(&c->think, t);
        c->think.answered++;
    }
    thought_free(t);
}

void think_take(const struct control *c, struct arena *a, struct snapshot *f)
{
    const struct thinking *k = &c->think;
    struct snap_proposal *v = arena_copy(a, k->proposed,
                                       k->n_proposed * sizeof *v);

    for (uint32_t i = 0; i < k->n_proposed; i++) {
        v[i].type = arena_strdup(a, v[i].type);
        v[i].zone = arena_strdup(a, v[i].zone);
        v[i].previous = previous_copy(a, &v[i].previous);
    }
    f->proposed = v;
    f->n_proposed = k->n_proposed;
}

void think_done(struct control *c)
{
    arena_done(&c->think.arena);
}
