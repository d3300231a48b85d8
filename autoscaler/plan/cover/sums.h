/*
 * sums.h - what an item needs and a bin has, as columns that add up.
 *
 * To the plain resources come, for each device column, its sums under
 * dual-feasible functions (Fekete and Schepers, 2001): two parts of 0.6 take
 * two devices.  In every column what lies in a bin is no more than the bin has.
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_SUMS_H
#define PLAN_COVER_SUMS_H

#include "view.h"

enum { SUMS_FUNCTIONS = 5 };

static inline uint32_t sums_columns(const struct view *v)
{
    return v->n_plain + v->n_dev * SUMS_FUNCTIONS;
}

/* The largest that both are multiples of; 0 is one of any. */
static inline int64_t sums_gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t t = a % b;

        a = b;
        b = t;
    }
    return a;
}

/* Part of a device under function k: 0 is the part itself. */
static inline double sums_part(uint32_t part, uint32_t k)
{
    uint32_t times = (k + 1) * part;

    if (k == 0 || times % AMOUNT_ONE == 0)
        return (double)part / AMOUNT_ONE;
    return (double)(times / AMOUNT_ONE) / k;
}

static inline double sums_need(const struct view *v, uint32_t item,
                               uint32_t column)
{
    const struct view_share *s;

    if (column < v->n_plain)
        return (double)view_need(v, item)[column];
    column -= v->n_plain;
    s = v->share + (size_t)item * v->n_dev + column / SUMS_FUNCTIONS;
    return s->whole + sums_part(s->part, column % SUMS_FUNCTIONS);
}

static inline double sums_has(const struct view *v, uint32_t bin,
                              uint32_t column)
{
    if (column < v->n_plain)
        return (double)view_has(v, bin)[column];
    return v->devices[(size_t)bin * v->n_dev +
                      (column - v->n_plain) / SUMS_FUNCTIONS];
}

#endif
