/*
 * greedy.h - one greedy plan for given item weights: per bin the best
 * fill, of all bins the one with the most weight for its price, repeated as
 * often as the demand has it.
 *
 * Private to plan/cover/.  A greedy is made once per view and run many times
 * with other weights; it starts from what a partial solution has left.
 */
#ifndef PLAN_COVER_GREEDY_H
#define PLAN_COVER_GREEDY_H

#include "density.h"
#include "partial.h"

struct greedy;

/* price may be NULL: then BY_PRICED must not be asked for.  anew: how often a
 * fill is filled anew before it is bought, for a better one. */
struct greedy *greedy_make(const struct view *v, struct price *price,
                           uint32_t anew);
/* The same for runs that begin with no other items than are left here. */
struct greedy *greedy_make_for(const struct view *v, struct price *price,
                               uint32_t anew, const uint32_t *left);
/* Of very many shapes, fills are filled anew from many or all, not from the first few: mostly
 * better, and slower. */
enum greedy_look { LOOK_AT_MANY, LOOK_AT_ALL };
void greedy_look(struct greedy *g, enum greedy_look how);

/* What each bin counts for, per bin of the view: its price at first.  The caller
 * may change it. */
double *greedy_prices(struct greedy *g);

/* Buys for all that d has left.  sizes: set of 1 << enum size_by.
 * by_value: price does not count (the number of bins is what is short).
 * Returns counted work. */
uint64_t greedy_run(struct greedy *g, const double *weight, unsigned sizes,
                    bool by_value, struct partial *d);

#endif
