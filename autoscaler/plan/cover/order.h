/*
 * order.h - in which order a few items in hand go into a bin: by worth over size,
 * with a little noise.  Bins of which every item is about as large, but for a factor,
 * have one order.
 *
 * Private to recreate.c and order.c.
 */
#ifndef PLAN_COVER_ORDER_H
#define PLAN_COVER_ORDER_H

#include "price.h"

enum { MOST_ITEMS = 96 };

struct order {
    uint32_t bin;              /* whose sizes count */
    uint32_t item[MOST_ITEMS]; /* best first, those that it can hold */
    uint32_t n;
    bool sorted; /* it is of what is in hand */
};

struct orders {
    const struct view *v;
    struct order *all; /* n */
    uint32_t n;
    uint32_t *of; /* per bin; a bin that has none is not asked for */
    float *key;   /* n_items x n_bins, of which the first n are used: worth over
                   * size; < 0: it cannot lie there */
    float *noisy; /* the keys of what is in hand, with noise: n for each */
    const uint32_t *hand;
    uint32_t n_hand;
    uint32_t sorted[MOST_ITEMS]; /* places in the hand, as sorted last */
    uint64_t *work;              /* counted steps are added */
};

void orders_make(const struct view *v, uint64_t *work, struct orders *ret);

/* The bin, whose multipliers p has tuned last, gets an order; n = 0 before the first.
 * Dearer bins first: they hold what the others do. */
void orders_add(struct orders *o, const struct price *p, const double *worth,
                uint32_t bin);

/* Its keys will be asked for soon. */
static inline void orders_fetch(const struct orders *o, uint32_t item)
{
    const float *key = o->key + (size_t)item * o->v->n_bins;

    for (uint32_t k = 0; k < o->n; k += 64 / sizeof *key)
        __builtin_prefetch(key + k);
}

/* This is in hand from now on; borrowed, MOST_ITEMS at most.  noise: the part by which
 * a worth may be off. */
void orders_begin(struct orders *o, const uint32_t *item, uint32_t n,
                  double noise, uint64_t *seed);

/* Of one of the bins.  The item may lie in no bin but the order's own. */
const struct order *order_of(struct orders *o, uint32_t bin);

#endif
