/*
 * map.c - a proof in other numbers.
 */
#include "../cover.h"

static const double *mapped(const double *x, const uint32_t *from, uint32_t n,
                            struct arena *arena)
{
    double *ret = ARENA_ARRAY(arena, double, n);

    for (uint32_t i = 0; i < n; i++)
        if (!from)
            ret[i] = x[i];
        else if (from[i] != UINT32_MAX)
            ret[i] = x[from[i]];
    return ret;
}

struct cover_proof cover_proof_map(const struct cover_proof *proof,
                                   const uint32_t *from, uint32_t n,
                                   struct arena *arena)
{
    struct cover_least *least = arena_copy(arena, proof->least,
                                           proof->n_least * sizeof *least);
    struct cover_leaf *leaf = arena_copy(arena, proof->leaf,
                                         proof->n_leaves * sizeof *leaf);
    struct cover_proof ret = *proof;

    if (proof->worth)
        ret.worth = mapped(proof->worth, from, n, arena);
    for (uint32_t k = 0; k < proof->n_least; k++)
        least[k].share = mapped(least[k].share, from, n, arena);
    for (uint32_t k = 0; k < proof->n_leaves; k++) {
        struct cover_leaf *x = &leaf[k];

        x->range = arena_copy(arena, x->range, x->n_ranges * sizeof *x->range);
        x->worth = mapped(x->worth, from, n, arena);
        x->least_worth = arena_copy(arena, x->least_worth,
                                    proof->n_least * sizeof *x->least_worth);
    }
    ret.least = least;
    ret.leaf = leaf;
    return ret;
}
