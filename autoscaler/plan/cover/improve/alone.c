/*
 * alone.c - a stage without a linear program, of too many shapes for one: the bound by
 * prices of resources and for groups of shapes.
 */
#include "inside.h"

#include "../exact/exact.h"

#include <string.h>

/* Of a stage, for the bound; of one too short for ruin and recreate. */
#define BOUND_TENTHS 3
#define BOUND_SHORT 7

static void note_bound(struct improve *x, int64_t bound,
                       const struct cover_proof *proof)
{
    if (bound <= x->bound)
        return;
    x->bound = bound;
    x->proof = *proof;
}

/* From what is proved so far, for groups of items. */
static void bound_by_groups(struct improve *x, uint64_t budget)
{
    struct cover_proof proof;
    uint64_t had;

    if (!x->groups) {
        x->groups = groups_make(&x->v, (double)x->bound, &x->proof);
        if (!x->groups)
            return;
        groups_feed(x->groups, &x->best);
        x->used += groups_work(x->groups);
    }
    had = groups_work(x->groups);
    groups_run(x->groups, budget);
    x->used += groups_work(x->groups) - had;
    note_bound(x, view_whole(&x->v, groups_best(x->groups, &proof)), &proof);
}

/* Prices of resources prove a bound, and groups of shapes a better one. */
static void bound_alone(struct improve *x, uint64_t budget)
{
    uint64_t steps = GROUPS_FROM * x->v.n_items, had = x->used;
    struct cover_proof proof;
    int64_t bound;

    if (improve_left(x) < budget)
        return;
    if (!x->groups && !x->priced) {
        bound = exact_bound(&x->v, 0, budget < steps ? budget : steps, &x->used,
                            &proof, &x->priced);
        note_bound(x, bound, &proof);
    }
    if (x->proof.worth && budget > steps && x->used - had < budget)
        bound_by_groups(x, budget - (x->used - had));
}

/* Many shapes and little time: the bound, and what is left is for buying anew.  The first
 * weights that it learns from are between what a plan taught and the bound's. */
static void short_stage(struct improve *x, uint64_t stage, uint64_t end)
{
    uint64_t most = stage - stage * BOUND_SHORT / 10, left;

    bound_alone(x, stage * BOUND_SHORT / 10);
    if (!x->between && x->proof.worth) {
        memcpy(x->worth, improve_worth(x), x->v.n_items * sizeof *x->worth);
        x->between = true;
    }
    left = improve_work(x) < end ? end - improve_work(x) : 0;
    if (left < most + RUIN_LEAST * x->v.n_items)
        most = left;
    memcpy(x->worth, improve_anew(x, most), x->v.n_items * sizeof *x->worth);
}

/* Where limits leave something out no bound is told, and ruin and recreate, which is for
 * what has a place, has no use for the rest. */
static void place_more(struct improve *x, uint64_t stage)
{
    memcpy(x->worth, improve_anew(x, stage), x->v.n_items * sizeof *x->worth);
}

void improve_alone(struct improve *x, uint64_t stage, uint64_t end)
{
    if (x->best.n_left)
        place_more(x, stage);
    else if (end < DIVE_LEAST * x->v.n_items)
        short_stage(x, stage, end);
    else
        bound_alone(x, stage * BOUND_TENTHS / 10);
}
