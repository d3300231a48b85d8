/*
 * column.h - good fills of one bin for given item worths: the primal
 * side of the pricing.  Every fill has been put by space_put(), so it holds.
 *
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_COLUMN_H
#define PLAN_COVER_COLUMN_H

#include "price.h"
#include "space.h"

enum { COLUMN_KEEP = 8 };

struct column_maker {
    const struct view *v;
    struct price *price;
    struct space space;
    struct fill best[COLUMN_KEEP], trial, from;
    uint32_t n_best; /* best first */
    double *key, *noisy;
    uint32_t *order, *tmp, *left;
    uint32_t n_order;
    double *free;
    uint32_t *devices;
    double *lambda;
    int dives;   /* fills by device in a search of effort 2 */
    bool polish; /* and the best of them anew */
    uint64_t seed;
    uint64_t work;
};

struct column_maker *column_make(const struct view *v, struct price *price);

/* Looks for fills of the bin worth more than `above`, with at most left[i] of
 * each item; effort 0 is one quick fill, 1 forces each promising item in once,
 * 2 also fills device by device.  Result in best[0..n_best). */
void column_search(struct column_maker *m, uint32_t bin, const double *worth,
                   const uint32_t *left, double above, int effort);

/* Puts the parts in the bin as far as they are left, then what else pays; the
 * result is best[0] (it may be empty: n_best 0). */
void column_top_up(struct column_maker *m, uint32_t bin, const double *worth,
                   const uint32_t *left, const struct cover_part *part,
                   uint32_t n);

/* A number from a fixed sequence. */
static inline uint32_t column_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

/* In [0, 1). */
static inline double column_fraction(uint64_t *seed)
{
    return column_random(seed) / 2147483648.0;
}

#endif
