/*
 * think.c - a longer look at large purchases.
 *
 * What a plan would buy and a longer look may better is not sure: it waits, at
 * most limits.think, while a worker plans the same snapshot with a larger
 * budget.  Its answer becomes advice, in words, among the next tick's facts:
 * the planner judges it like any other way, so demand that changed meanwhile
 * does no harm, and a record replays.  Machines that any answer buys are bought
 * in advance, and hold nothing until it is decided what.  One thought at a
 * time; a tick never waits for it.
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

static bool unsure(const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->n_launches; i++)
        if (plan->launches[i].sure < plan->launches[i].count)
            return true;
    return false;
}

/* Machines bought in advance hold what this plan puts on them, now and after a
 * restart. */
static void decide(struct control *c, const struct problem *now,
                   const struct plan *plan)
{
    struct arena scratch = {0};

    for (uint32_t i = 0; c->think.since_ms && i < now->n_nodes; i++) {
        const struct plan_node *n = &plan->nodes[i];
        struct machine *m = fleet_by_id(&c->fleet,
                                        now->str[now->nodes[i].id]);
        struct snap_placements h;

        if (!m || !m->undecided || m->state == STATE_GONE)
            continue;
        h = previous_placed(now, plan, n->first_placement, n->n_placements,
                         &scratch);
        free(m->previous);
        m->previous = previous_text(&h);
        m->undecided = false;
        m->held_tick = 0;
        fleet_touch(&c->fleet, m);
    }
    arena_done(&scratch);
}

static void nothing_waits(struct thinking *k)
{
    k->since_ms = 0;
    k->asked = k->answered = 0;
    status_unref(k->over);
    k->over = NULL;
}

/* Without an answer in time what they were bought with counts. */
bool think_undecided(const struct control *c, const struct machine *m)
{
    const struct thinking *k = &c->think;

    return m->undecided &&
           (k->answered > 0 ||
            clock_mono_ms() - k->since_ms < c->config->think_ms);
}

bool think_waits(struct control *c, const struct problem *now,
                 const struct plan *plan)
{
    struct thinking *k = &c->think;
    int64_t mono = clock_mono_ms(), limit = c->config->think_ms;

    if (plan->n_launches == 0)
        k->n_hints = 0;          /* taken up, or of no use any more */
    if (limit == 0 || c->opts.dry_run || !unsure(plan)) {
        decide(c, now, plan);
        nothing_waits(k);
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

void think_launched(struct control *c, const struct problem *now,
                    const struct plan *plan)
{
    decide(c, now, plan);
    nothing_waits(&c->think);
}

void think_start(struct control *c, struct status_page *page)
{
    struct thought *t;

    if (c->think.busy || c->think.asked == THOUGHTS)
        return;
    t = calloc(1, sizeof *t);
    if (!t)
        abort();
    atomic_fetch_add(&page->refs, 2);
    t->page = page;
    status_unref(c->think.over);
    c->think.over = page;
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

static void advice_make(struct thinking *k, const struct thought *t)
{
    const struct problem *s = t->page->now;
    const struct plan *p = &t->plan;
    struct snap_hint *v;

    arena_reset(&k->arena);
    v = ARENA_ARRAY(&k->arena, struct snap_hint, p->n_launches);
    k->n_hints = 0;
    for (uint32_t i = 0; i < p->n_launches; i++) {
        const struct plan_launch *l = &p->launches[i];
        const struct pb_offer *o = &s->offers[l->offer];
        struct snap_placements h = previous_placed(s, p, l->first_placement,
                                           l->n_placements, &k->arena);

        if (h.n == 0 || for_gangs(s, p, l))
            continue;
        v[k->n_hints++] = (struct snap_hint){
            .type = arena_strdup(&k->arena, s->str[s->types[o->type].name]),
            .zone = arena_strdup(&k->arena, s->str[o->zone]), .spot = o->spot,
            .count = l->count, .previous = previous_copy(&k->arena, &h)};
    }
    k->hints = v;
}

void think_fold(struct control *c, struct mail *mail)
{
    struct thought *t = (struct thought *)mail;

    c->think.busy = false;
    if (!t->job.abandoned && c->think.asked > 0) {
        advice_make(&c->think, t);
        c->think.answered++;
    }
    thought_free(t);
}

/* What the thought is to decide: what is bought openly or left out. */
static struct snap_placements deciding_take(const struct status_page *page,
                                       struct arena *a)
{
    const struct problem *s = page->now;
    const struct plan *p = page->plan;
    uint32_t *count = ARENA_ARRAY(a, uint32_t, s->n_bundles);
    struct snap_placement *v = ARENA_ARRAY(a, struct snap_placement, s->n_bundles);
    uint32_t n = 0;

    for (uint32_t b = 0; b < s->n_bundles; b++)
        count[b] = p->bundles[b].waiting + p->bundles[b].infeasible;
    for (uint32_t i = 0; i < p->n_launches; i++)
        for (uint32_t k = 0; k < p->launches[i].n_placements; k++) {
            const struct plan_placement *x =
                &p->placements[p->launches[i].first_placement + k];

            if (p->launches[i].open)
                count[x->bundle] += x->count * p->launches[i].count;
        }
    for (uint32_t d = 0; d < s->n_demands; d++) {
        const struct pb_demand *x = &s->demands[d];
        const char *owner, *id;

        if (x->gang)
            continue;
        owner = arena_strdup(a, s->str[x->owner]);
        id = arena_strdup(a, s->str[x->id]);
        for (uint32_t b = x->first_bundle;
             b < x->first_bundle + x->n_bundles; b++)
            if (count[b] > 0)
                v[n++] = (struct snap_placement){
                    .source = x->source, .owner = owner, .id = id,
                    .shape = problem_digest(s, b), .count = count[b]};
    }
    return (struct snap_placements){v, n};
}

void think_take(const struct control *c, struct arena *a, struct snapshot *f)
{
    const struct thinking *k = &c->think;
    struct snap_hint *v = arena_copy(a, k->hints,
                                       k->n_hints * sizeof *v);

    for (uint32_t i = 0; i < k->n_hints; i++) {
        v[i].type = arena_strdup(a, v[i].type);
        v[i].zone = arena_strdup(a, v[i].zone);
        v[i].previous = previous_copy(a, &v[i].previous);
    }
    f->hints = v;
    f->n_hints = k->n_hints;
    if (k->over)
        f->deciding = deciding_take(k->over, a);
}

void think_done(struct control *c)
{
    nothing_waits(&c->think);
    arena_done(&c->think.arena);
}
