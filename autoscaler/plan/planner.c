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
#include "compare.h"
#include "cover/cover.h"
#include "fleet/fleet.h"
#include "gang/together.h"
#include "memory.h"
#include "pace.h"
#include "report.h"
#include "saving/consolidate.h"
#include "serve.h"
#include "shrink.h"

_Static_assert(PLANNER_STEPS_PER_MS == COVER_STEPS_PER_MS, "one clock");

#define COUNT(v) (sizeof(v) / sizeof *(v))
/* Counted steps until other tactics are tried: a millisecond or two. */
#define WORK_SMALL UINT64_C(400000)

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
    return compare_bought(best) > 0 || wanting(best);
}

/* The better one of both is the best; the work of both is done. */
static void keep_better(struct candidate *best, const struct candidate *d)
{
    uint64_t work = best->work + d->work, shapes = best->cover_shapes;

    if (compare_better(d, best))
        *best = *d;
    best->work = work;
    if (best->cover_shapes < shapes)
        best->cover_shapes = shapes;
    if (best->cover_shapes < d->cover_shapes)
        best->cover_shapes = d->cover_shapes;
}

static void candidate_try(const struct candidate *base, struct tactics how,
                          struct candidate *best)
{
    struct candidate d;

    candidate_copy(base, &d);
    serve_all(&d, how);
    d.again = how.proposed ? best->again : how;
    keep_better(best, &d);
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
        if (!d.broken && compare_left(&d, best) < 0 &&
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

static bool any_later(const struct candidate *d)
{
    for (uint32_t i = 0; i < d->classes.n; i++)
        for (uint32_t k = d->classes.v[i].n > 0 ? d->classes.v[i].placed : NONE;
             k != NONE; k = d->placements.v[k].next)
            if (d->placements.v[k].alt > 0)
                return true;
    return false;
}

/* The first: first fit.  Where much is wanted by several, it is bought for together;
 * when nothing is left then, those that buy one after the other are not made
 * (*ret_enough). */
static struct candidate candidate_first(const struct candidate *base,
                                        bool stays, bool large,
                                        bool *ret_enough)
{
    const struct tactics plain = {.previous = stays, .ready = stays};
    struct tactics how = plain;
    struct candidate best, together;

    how.together = large;
    candidate_copy(base, &best);
    serve_all(&best, how);
    best.again = how;
    *ret_enough = large && !wanting(&best) && !any_later(&best) &&
                  bundles_bought_for(&best) >= TOGETHER_LARGE;
    if (!large || *ret_enough)
        return best;
    together = best;
    candidate_copy(base, &best);
    serve_all(&best, plain);
    best.again = plain;
    keep_better(&best, &together);
    return best;
}

/* With the nodes that a longer look proposes: what lies on nodes that are there lies as
 * in the best so far, whose tactics a longer look bettered, or as by the last plan. */
static void candidate_proposed(const struct candidate *base,
                               struct candidate *best)
{
    struct tactics ways[] = {best->again, {.previous = true, .together = true}};

    for (unsigned w = 0; w < COUNT(ways) && beatable(best); w++) {
        ways[w].proposed = true;
        candidate_try(base, ways[w], best);
    }
}

/* First fit; from previous placements; with proposed nodes.  Where nothing tells which
 * nodes have work, all begin with previous placements on nodes that are ready: a
 * request stays on those that it counted on.  Small problems, where one node too many
 * shows, get other tactics too.  The proposed nodes come last: with them a plan is
 * never dearer than without. */
static struct candidate candidate_best(const struct candidate *base)
{
    const struct tables *t = base->t;
    const bool previous = any_previous(t->s), gangs = t->n_gangs > 0;
    const bool stays = previous && t->s->work_unknown;
    const struct {
        bool may, always;
        struct tactics how;
    } ways[] = {
        {previous, true, {.previous = true}},
        {true, true, {.previous = stays, .ready = stays, .together = true}},
        {previous, true, {.previous = true, .together = true}},
        {gangs, false, {.previous = stays, .ready = stays, .gangs_last = true}},
        {true, false, {.previous = stays, .ready = stays, .pool = true}},
        {true,
         false,
         {.previous = stays, .ready = stays, .pool = true, .work_first = true}},
    };
    struct candidate best;
    const bool large = together_large(t);
    bool enough;

    best = candidate_first(base, stays, large, &enough);
    for (unsigned w = 0; w < COUNT(ways) && beatable(&best); w++) {
        const struct tactics how = ways[w].how;

        if (!ways[w].may || (!ways[w].always && best.work > WORK_SMALL))
            continue;
        if (how.together
                ? (large && how.ready == stays && how.previous == stays) ||
                      !together_of_use(&best) /* or it was the first */
                : enough)
            continue;
        candidate_try(base, how, &best);
    }
    if (t->s->n_proposed > 0)
        candidate_proposed(base, &best);
    if (stays && !compare_all_placed(&best))
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
    if (compare_as_good(&d, best))
        *best = d;
    else
        best->improvable = d.improvable;
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
    tables_make(now, arena, &tables);
    candidate_start(&tables, gone, &base);
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

void planner_proved(const struct plan *plan, const struct plan *other,
                    struct arena *arena, struct plan *ret)
{
    const int64_t beyond = plan->fleet_cost_micros_hour -
                           other->fleet_bound_micros_hour;

    *ret = *plan;
    report_copy_proof(other, arena, ret);
    ret->fleet_bound_micros_hour = other->fleet_bound_micros_hour;
    ret->bound_micros_hour = other->bound_micros_hour;
    if (ret->fleet_idle_micros_hour > beyond)
        ret->fleet_idle_micros_hour = beyond;
    ret->work = other->work;
    ret->budget = other->budget;
}

void planner_run_again(const struct problem *now, uint64_t budget,
                       struct memory *memory, struct arena *arena,
                       struct plan *ret)
{
    struct plan plan;

    memory_begin(memory);
    run(now, budget, memory, &memory->scratch, &plan);
    *ret = report_copy(&plan, now, arena);
    memory_end(memory);
}
