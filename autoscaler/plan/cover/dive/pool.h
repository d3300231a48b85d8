/*
 * pool.h - the good fills that buying anew has met: columns for the linear
 * program that cost nothing to find.
 *
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_DIVE_POOL_H
#define PLAN_COVER_DIVE_POOL_H

#include "../master.h"
#include "../partial.h"

struct pool_fill;
struct pool_rate;

struct pool {
    const struct view *v;
    VEC(struct pool_fill) fill;
    VEC(struct cover_part) part;
    uint64_t *seen; /* hashes of the fills; 0: none */
    struct pool_rate *rate;
    double *asked; /* scratch: per bin, what a fill must be worth */
    uint64_t work;
};

void pool_make(const struct view *v, struct pool *ret);

/* Keeps the patterns of d from the `from`th on that are worth their bin's price
 * (per bin) by the weights.  Each is kept once; when there are too many it
 * forgets all and begins anew. */
void pool_keep(struct pool *x, const struct partial *d, uint32_t from,
               const double *weight, const double *price);

/* Up to `most` fills that are not in the program become columns: of those worth
 * more than `least` of their price, less what their number is worth to the program,
 * the ones worth the most for it.  Returns how many. */
uint32_t pool_feed(struct pool *x, struct master *m, const double *worth,
                   double least, uint32_t most);

#endif
