/*
 * assign.h - a lower bound from prices of resources in each bin.
 *
 * Every bin has prices of its own for its resources, which come to the bin's
 * price for all that it has.  An item is worth what it costs in the bin where it
 * costs the least: then no bin holds more worth than it costs.
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_ASSIGN_H
#define PLAN_COVER_ASSIGN_H

#include "view.h"

struct assign;

/* For plans that leave at most `missing` items of the view out. */
struct assign *assign_make(const struct view *v, uint64_t missing);

/* About the work of a round. */
uint64_t assign_round(const struct view *v);

/* More rounds, until the work of all is `until`: better prices. */
void assign_run(struct assign *a, uint64_t until);

uint64_t assign_work(const struct assign *a);

/* Of the best prices so far: a bound (micros an hour), per item of the view what it is
 * worth, and each micro of max_cost. */
double assign_bound(const struct assign *a);
const double *assign_worth(const struct assign *a);
double assign_money(const struct assign *a);

/* Its last prices: of all that a bin has of each column (sums.h), as parts of the
 * bin's price. */
const double *assign_part(const struct assign *a);

#endif
