/*
 * prices.c - see prices.h.
 *
 * One price for each resource is found in less time, prices for each bin are
 * better: a quarter of the steps for the one at most, the rest for the other.
 */
#include "prices.h"

#include "assign.h"
#include "relax.h"

#define ROUNDS 10 /* with less, one price for each resource is better */

int64_t prices_bound(const struct view *v, uint64_t missing, uint64_t steps,
                     uint64_t *work, struct cover_proof *ret_proof)
{
    double *worth, money = 0;
    int64_t bound, better;
    uint64_t used = 0;
    bool few;

    *ret_proof = (struct cover_proof){0};
    if (!v->n_items || !v->n_bins)
        return 0;
    worth = ARENA_ARRAY(v->arena, double, v->n_items);
    few = steps / 4 * 3 / ROUNDS < assign_round(v);
    bound = relax_bound(v, missing, few ? steps : steps / 4, &used, worth);
    *work += used;
    view_proof(v, worth, 0, ret_proof);
    if (few)
        return bound;
    better = assign_try(v, missing, used < steps ? steps - used : 0, work,
                        worth, &money);
    if (better <= bound)
        return bound;
    view_proof(v, worth, money, ret_proof);
    return better;
}
