/*
 * ruin.h - ruin and recreate: a few bins are emptied and their items
 * packed again in another way, over and over; what is not dearer stays.
 *
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_RUIN_H
#define PLAN_COVER_RUIN_H

#include "partial.h"
#include "price.h"

struct ruin;

/* warm: how much dearer a step may be at first, as a part of a mean bin. */
struct ruin *ruin_make(const struct view *v, struct price *price, double warm);
/* worth: what each item is worth (duals, or weights); the multipliers of price
 * are tuned to it. */
void ruin_value(struct ruin *r, const double *worth);

/* Improves d for so much work, or to `stop` if that is less: then d is as good
 * as it has become on the way.  Returns the counted work. */
uint64_t ruin_run(struct ruin *r, struct partial *d, uint64_t work,
                  uint64_t stop);

#endif
