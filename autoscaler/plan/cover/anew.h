/*
 * anew.h - a fill of one bin made better: some of it taken out by chance, and
 * the bin filled anew in an order that chance leaves gaps in.
 *
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_ANEW_H
#define PLAN_COVER_ANEW_H

#include "blocks.h"

/* What fills may be made of. */
struct anew_from {
    uint32_t bin;
    const uint32_t *order; /* items, the best first */
    const struct blocks *blocks;
    uint32_t n;
    const uint32_t *left; /* per item of the view */
    const int64_t *least; /* per plain column: no item needs less */
    const double *worth;
};

struct anew {
    const struct view *v;
    struct space *space; /* scratch */
    uint32_t *put;       /* per item: in the fill at hand; else 0 */
    uint32_t *again, n_again;
    uint64_t seed, work;
};

void anew_make(const struct view *v, struct space *space, struct anew *ret);

/* ret: another fill, from some of `fill`.  Of a bin that must hold an item that
 * needs an accelerator, the first part stays. */
void anew_fill(struct anew *x, const struct anew_from *from,
               const struct fill *fill, struct fill *ret);

#endif
