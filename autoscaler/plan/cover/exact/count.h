/*
 * count.h - how many bins with a price some items need, at least.
 *
 * Private to plan/cover/exact/.
 */
#ifndef PLAN_COVER_EXACT_COUNT_H
#define PLAN_COVER_EXACT_COUNT_H

#include "../view.h"

/* What each bin with a price costs in the problem. */
#define COUNT_PRICE INT64_C(1000000)

/* The bound of prices of resources: so many bins.  ret_proof: what share of one
 * (COUNT_PRICE) each item is. */
uint32_t count_by_prices(const struct view *v, uint64_t *work,
                         struct cover_proof *ret_proof);

/* Few items: what fills there are decides too.  Column generation, from what prices
 * have proved, which it replaces when it proves more. */
uint32_t count_by_fills(const struct view *v, uint32_t bins, uint64_t *work,
                        struct cover_proof *proof);

#endif
