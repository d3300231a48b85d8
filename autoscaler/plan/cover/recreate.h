/*
 * recreate.h - items in hand are packed into new bins: a small greedy with a
 * little noise in the worths.
 *
 * Private to ruin.c and recreate.c.
 */
#ifndef PLAN_COVER_RECREATE_H
#define PLAN_COVER_RECREATE_H

#include "order.h"
#include "partial.h"
#include "price.h"
#include "trade.h"

struct refill;

struct recreate {
    const struct view *v;
    struct price *price;
    double *worth, *most; /* most: that a bin can earn */
    uint32_t *useful;     /* bins that are seldom a waste, cheapest first */
    uint32_t n_useful;
    struct orders orders; /* of the useful ones */
    double *rate;         /* of each useful one: worth for price, at most */
    uint32_t *looked, *bought; /* per bin, so often */
    struct refill *refill;     /* per bin */
    struct space space;
    struct trade trade;
    /* In hand. */
    uint32_t item[MOST_ITEMS], n;
    uint32_t *count; /* per item of the view */
    uint64_t all;    /* sum of count[] */
    double worth_all;
    int64_t *plain; /* need of each column */
    uint64_t *device;
    uint64_t seed, work;
};

void recreate_make(const struct view *v, struct price *price,
                   struct recreate *ret);
/* worth: what each item is worth; the multipliers of price are tuned to it. */
void recreate_value(struct recreate *r, const double *worth);

/* An empty hand. */
void recreate_begin(struct recreate *r);

/* The parts come into the hand; false: their items would be too many. */
bool recreate_take(struct recreate *r, const struct cover_part *part,
                   uint32_t n);

/* Buys bins for what is in hand for at most `most`; false when it cannot (and
 * has bought some). */
bool recreate_run(struct recreate *r, struct partial *d, int64_t most,
                  double noise);

#endif
