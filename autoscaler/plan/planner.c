/*
 * planner.c - the order of passes.
 *
 * Forced ends come first and are the same in every candidate.  Then mins and
 * demand are placed: first fit on what is there, the cover for the rest.
 * Only when that buys something, or leaves something out, are other candidates
 * made, the first from the last plan's placements; the best becomes the plan, its
 * purchases bettered as far as the budget goes.
 */
#include "planner.h"

#include "buy/buy.h"
#include "candidate.h"
#include "cover/cover.h"
#include "fleet/fleet.h"
#include "gang/together.h"
#include "gang_facts.h"
#include "limits.h"
#include "memory.h"
#include "order.h"
#include "pace.h"
#include "report.h"
#include "saving/consolidate.h"
#include "serve.h"
#include "shrink.h"

_Static_assert(PLANNER_STEPS_PER_MS == COVER_STEPS_PER_MS, "one clock");

#define COUNT(v) (sizeof(v) / sizeof *(v))
/* Counted steps until other tactics are tried: a millisecond or two. */
#define WORK_SMALL UINT64_C(400000)
/* Priorities compared one by one; all lower ones count as one. */
#define LEVELS 8

/* Is there an offer for it that only limits.conserve keeps us from? */
static bool spared(const struct candidate *d, uint32_t group)
{
    const struct tables *t = d->t;
    uint32_t shape = tables_shape(d->t, group, 0);
    enum reason why;

    if (!tables_spares_accelerators(t, shape))
        return false;
    for (uint32_t i = 0; i < t->s->n_offers; i++)
        if (t->s->types[t->s->offers[i].type].accelerator &&
            tables_could(t, shape, i) && limits_room(d, i, &why) > 0)
            return true;
    return false;
}

/* What is left over of one priority: gangs, and bundles of no gang.  Those
 * that could only lie on accelerators bought for others do not count: a plan
 * that pushes them there, and buys more accelerators for those others, is no
 * better.  Nor do unconfirmed ones. */
struct left {
    uint64_t gangs, bundles;
};

static struct left left_of(const struct candidate *d, int64_t above,
                           int64_t priority)
{
    const struct tables *t = d->t;
    struct left n = {0, 0};

    for (uint32_t i = 0; i < t->n_gangs; i++)
        if (t->gangs[i].priority < above && t->gangs[i].priority >= priority &&
            !t->gangs[i].unconfirmed)
            n.gangs += !gang_settled(d, i);
    for (uint32_t k = 0; k < t->n_loose; k++) {
        uint32_t i = t->loose[k];

        if (d->left[i] > 0 && t->groups[i].priority < above &&
            t->groups[i].priority >= priority &&
            t->groups[i].rank != RANK_UNCONFIRMED && !spared(d, i))
            n.bundles += d->left[i];
    }
    return n;
}

/* The highest priority below `above`, or INT64_MIN when there is none. */
static int64_t priority_below(const struct tables *t, int64_t above)
{
    int64_t best = INT64_MIN;

    for (uint32_t i = 0; i < t->n_groups; i++)
        if (t->groups[i].priority < above && t->groups[i].priority > best)
            best = t->groups[i].priority;
    return best;
}

/* Less left over, the higher priorities first; -1: a leaves less. */
static int left_compare(const struct candidate *a, const struct candidate *b)
{
    int64_t above = INT64_MAX, priority;
    int r = 0;

    for (unsigned level = 1; r == 0 && above != INT64_MIN; level++) {
        struct left x, y;

        priority = level < LEVELS ? priority_below(a->t, above) : INT64_MIN;
        x = left_of(a, above, priority);
        y = left_of(b, above, priority);
        r = ORDER(x.gangs, y.gangs);
        if (r == 0)
            r = ORDER(x.bundles, y.bundles);
        above = priority;
    }
    return r;
}

static uint64_t bought_of(const struct candidate *d)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < d->t->s->n_offers; i++)
        n += d->offer_bought[i];
    return n;
}

/* Less left, then cheaper, then fewer nodes; the earlier candidate on a tie. */
static bool better(const struct candidate *a, const struct candidate *b)
{
    int r;

    if (a->broken || b->broken)
        return !a->broken;
    r = left_compare(a, b);
    if (r != 0)
        return r < 0;
    if (a->bought_cost != b->bought_cost)
        return a->bought_cost < b->bought_cost;
    return bought_of(a) < bought_of(b);
}

/* Is something left that some offer could hold? */
static bool wanting(const struct candidate *best)
{
    const struct tables *t = best->t;

    for (uint32_t i = 0; i < t->n_groups; i++)
        for (uint32_t a = 0;
             best->left[i] > 0 && t->groups[i].rank != RANK_UNCONFIRMED &&
             a < t->groups[i].n_alts;
             a++)
            for (uint32_t k = 0; k < t->s->n_offers; k++)
                if (tables_could(t, tables_shape(best->t, i, a), k))
                    return true;
    return false;
}

/* Could the best so far be beaten? */
static bool beatable(const struct candidate *best)
{
    return bought_of(best) > 0 || wanting(best);
}

static void candidate_try(const struct candidate *base, struct tactics how,
                          struct candidate *best)
{
    struct candidate d;
    uint64_t work = best->work, shapes = best->cover_shapes;

    candidate_copy(base, &d);
    serve_all(&d, how);
    work += d.work;
    shapes = d.cover_shapes > shapes ? d.cover_shapes : shapes;
    d.again = how.proposed ? best->again : how;
    if (better(&d, best))
        *best = d;
    best->work = work;
    best->cover_shapes = shapes;
}

static bool any_previous(const struct problem *s)
{
    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (s->nodes[i].n_previous > 0)
            return true;
    return false;
}

/* The highest priority of what waits. */
static int64_t waiting(const struct candidate *d)
{
    int64_t ret = INT64_MIN;

    for (uint32_t i = 0; i < d->t->n_groups; i++)
        if (d->left[i] > 0 && d->t->groups[i].rank != RANK_UNCONFIRMED &&
            d->t->groups[i].priority > ret)
            ret = d->t->groups[i].priority;
    return ret;
}

/* Of that priority or a higher one, does anything wait that did not? */
static bool more_waits(const struct candidate *now, const struct candidate *had,
                       int64_t priority)
{
    for (uint32_t i = 0; i < now->t->n_groups; i++)
        if (now->t->groups[i].priority >= priority &&
            now->left[i] > had->left[i])
            return true;
    return false;
}

/* What waits may take the place of what has a lower priority, and stays where it was
 * else; of the same priority only if that has room elsewhere. */
static void displace(const struct candidate *base, struct candidate *best)
{
    int64_t priority = waiting(best);

    for (int same = 0; same < 2 && waiting(best) == priority; same++) {
        struct candidate d;
        uint64_t work = best->work;

        candidate_copy(base, &d);
        serve_all(&d, (struct tactics){.previous = true,
                                       .ready = true,
                                       .waits = best->left,
                                       .priority = priority + same});
        d.again = d.how;
        work += d.work;
        if (!d.broken && left_compare(&d, best) < 0 &&
            !more_waits(&d, best, priority))
            *best = d;
        best->work = work;
    }
}

/* Bundles that lie on nodes that it buys. */
static uint64_t bundles_bought_for(const struct candidate *d)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < d->classes.n; i++)
        for (uint32_t k = d->classes.v[i].kind == CLASS_NEW
                              ? d->classes.v[i].placed
                              : NONE;
             k != NONE; k = d->placements.v[k].next)
            n += (uint64_t)d->classes.v[i].n * d->placements.v[k].count;
    return n;
}

/* The first: first fit.  Where much is wanted by several, it is bought for together;
 * when nothing is left then, those that buy one after the other are not made
 * (*ret_enough). */
static struct candidate candidate_first(const struct candidate *base,
                                        bool stays, bool *ret_enough)
{
    const struct tactics plain = {.previous = stays, .ready = stays};
    struct tactics together = plain;
    struct candidate best;

    together.together = together_large(base->t);
    candidate_copy(base, &best);
    serve_all(&best, together);
    best.again = best.how;
    *ret_enough = together.together && !wanting(&best) &&
                  bundles_bought_for(&best) >= TOGETHER_LARGE;
    if (together.together && !*ret_enough)
        candidate_try(base, plain, &best);
    return best;
}

/* First fit; from previous placements; with proposed nodes.  Where nothing tells which
 * nodes have work, all begin with previous placements on nodes that are ready: a
 * request stays on those that it counted on.  Small problems, where one node too many
 * shows, get other tactics too.  What the proposed nodes took does not count for that:
 * with them a plan is never dearer than without. */
static struct candidate candidate_best(const struct candidate *base)
{
    const struct tables *t = base->t;
    const bool previous = any_previous(t->s), proposed = t->s->n_proposed > 0;
    const bool gangs = t->n_gangs > 0, stays = previous && t->s->work_unknown;
    const struct {
        bool may, always;
        struct tactics how;
    } ways[] = {
        {previous, true, {.previous = true}},
        {true, true, {.previous = stays, .ready = stays, .together = true}},
        {previous, true, {.previous = true, .together = true}},
        {proposed, true, {.previous = true, .proposed = true, .together = true}},
        {gangs, false, {.previous = stays, .ready = stays, .gangs_last = true}},
        {true, false, {.previous = stays, .ready = stays, .pool = true}},
        {true,
         false,
         {.previous = stays, .ready = stays, .pool = true, .work_first = true}},
    };
    struct candidate best;
    struct left all;
    uint64_t spent;
    bool enough;

    best = candidate_first(base, stays, &enough);
    spent = best.work;
    for (unsigned w = 0; w < COUNT(ways); w++) {
        uint64_t before = best.work;

        if (!ways[w].may || (!ways[w].always && spent > WORK_SMALL))
            continue;
        if (!beatable(&best))
            break;
        if (enough &&
            (!ways[w].how.together ||
             (ways[w].how.ready == stays && ways[w].how.previous == stays &&
              !ways[w].how.proposed)))
            continue;
        if (ways[w].how.together && !ways[w].how.proposed &&
            !together_of_use(&best))
            continue;
        candidate_try(base, ways[w].how, &best);
        spent += ways[w].how.proposed ? 0 : best.work - before;
    }
    all = left_of(&best, INT64_MAX, INT64_MIN);
    if (stays && all.gangs + all.bundles > 0)
        displace(base, &best);
    return best;
}

/* The same tactics once more, with covers that are bettered; without proposed
 * nodes, which are what an earlier look found. */
static void candidate_better(const struct candidate *base, uint64_t budget,
                             struct candidate *best)
{
    struct candidate d;
    uint64_t work = best->work;

    if ((best->n_covers == 0 && !best->how.proposed) ||
        best->cover_shapes == 0 ||
        budget / best->cover_shapes < BUY_STEPS_LEAST)
        return;
    candidate_copy(base, &d);
    d.budget = budget;
    d.share_of = best->cover_shapes;
    serve_all(&d, best->again);
    work += d.work;
    if (better(best, &d))
        best->improvable = d.improvable;
    else
        *best = d;
    best->work = work;
}

static void run(const struct problem *now, uint64_t budget,
                struct memory *memory, struct arena *arena, struct plan *ret)
{
    struct verdict *verdicts = ARENA_ARRAY(arena, struct verdict, now->n_nodes);
    enum leaving *gone = ARENA_ARRAY(arena, enum leaving, now->n_nodes);
    struct tables tables;
    struct candidate base, best;
    int64_t until;

    shrink_forced(now, arena, verdicts);
    for (uint32_t i = 0; i < now->n_nodes; i++)
        gone[i] = shrink_leaves(&verdicts[i]);
    start_make(memory ? &memory->start : NULL, now, gone, arena, &tables,
               &base);
    tables.memory = memory;
    best = candidate_best(&base);
    candidate_better(&base, budget, &best);
    best.improvable = best.improvable && budget > 0;
    until = consolidate(&best, verdicts, candidate_best);
    pace_hold_back(&best);
    report_make(&best, verdicts, ret);
    ret->settled_until_ms = until;
    fleet_bound(&best, &base, budget, ret);
    ret->budget = budget;
}

void planner_run(const struct problem *now, uint64_t budget,
                 struct arena *arena, struct plan *ret)
{
    run(now, budget, NULL, arena, ret);
}

void planner_run_again(const struct problem *now, uint64_t budget,
                       struct memory *memory, struct arena *arena,
                       struct plan *ret)
{
    struct plan plan;

    memory_begin(memory);
    run(now, budget, memory, &memory->scratch, &plan);
    *ret = report_copy(&plan, now, arena);
}
