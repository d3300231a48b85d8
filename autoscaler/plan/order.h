/*
 * order.h - sorting of indices, for the planner only.
 *
 * Stable merge sort: equal elements keep their order, so a comparison that
 * is no total order still gives one result on every machine (qsort would not,
 * and is kept out of the planner by the linker check).
 */
#ifndef PLAN_ORDER_H
#define PLAN_ORDER_H

#include <stdint.h>

#include "../base/arena.h"

/* <0, 0, >0: does a come before b? */
typedef int order_fn(const void *ctx, uint32_t a, uint32_t b);

void order_sort(uint32_t *v, uint32_t n, order_fn *before, const void *ctx,
                struct arena *scratch);

/* part of whole in 1/1,000,000, at most 2,000,000; whole > 0, part >= 0. */
static inline int64_t order_share(int64_t part, int64_t whole)
{
    const int64_t million = 1000000, most = 2 * million;
    int64_t r;

    if (part / 2 >= whole)
        return most;
    r = whole < (INT64_C(1) << 40) ? part * million / whole
                                   : part / (whole / million);
    return r < most ? r : most;
}

/* -1, 0 or 1 for two numbers. */
#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

#endif
