/*
 * alone.c - a stage without a linear program, of too many shapes for one: the bound by
 * prices of resources.
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

/* What prices of resources prove. */
static void bound_alone(struct improve *x, uint64_t budget)
{
    struct cover_proof proof;
    int64_t bound;

    if (improve_left(x) < budget || x->priced)
        return;
    bound = exact_bound(&x->v, 0, budget, &x->used, &proof, &x->priced);
    note_bound(x, bound, &proof);
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
