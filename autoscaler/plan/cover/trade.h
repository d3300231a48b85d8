/*
 * trade.h - a fill made better by trades: one item of it for one that lies outside and
 * is worth more, then whatever else goes in.
 *
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_TRADE_H
#define PLAN_COVER_TRADE_H

#include "space.h"

struct trade {
    const struct view *v;
    struct space space;
    struct fill trial;
    int64_t *free;    /* of the fill, per plain column */
    uint32_t *inside; /* per item: how many the fill has; all 0 between runs */
    uint64_t work;
};

/* What a fill is made from; all of it is the caller's. */
struct trade_from {
    uint32_t bin;
    const uint32_t *order, n; /* items that fit the bin, best first */
    const uint32_t *left; /* per item of the view: in hand, the fill's too */
    const double *worth;  /* per item of the view, any unit */
};

void trade_make(const struct view *v, struct trade *ret);

/* Makes the fill better, its value in the unit of the worths. */
void trade_run(struct trade *x, const struct trade_from *from,
               struct fill *fill);

#endif
