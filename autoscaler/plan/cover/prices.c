/*
 * prices.c - see prices.h.
 *
 * One price for each resource is found in less time, prices for each bin are
 * better: half of the steps for each.
 */
#include "prices.h"

#include "assign.h"
#include "relax.h"

int64_t prices_bound(const struct view *v, uint64_t missing, uint64_t steps,
                     uint64_t *work, struct cover_proof *ret_proof)
{
    double *worth, money = 0;
    int64_t bound, better;

    *ret_proof = (struct cover_proof){0};
    if (!v->n_items || !v->n_bins)
        return 0;
    worth = ARENA_ARRAY(v->arena, double, v->n_items);
    bound = relax_bound(v, missing, steps / 2, work, worth);
    view_proof(v, worth, 0, ret_proof);
    better = assign_try(v, missing, steps / 2, work, worth, &money);
    if (better <= bound)
        return bound;
    view_proof(v, worth, money, ret_proof);
    return better;
}
