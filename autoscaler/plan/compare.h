/*
 * compare.h - which of two candidates is the plan.
 */
#ifndef PLAN_COMPARE_H
#define PLAN_COMPARE_H

#include "candidate.h"

/* What they leave over, the higher priorities first, of each gangs first; spare capacity
 * last.  -1: a leaves less. */
int compare_left(const struct candidate *a, const struct candidate *b);

/* Leaves a less, or is cheaper, or has fewer nodes?  Bought for all together it is no
 * better if a group must go further down its alternatives for that. */
bool compare_better(const struct candidate *a, const struct candidate *b);
/* Or are they equally good? */
bool compare_as_good(const struct candidate *a, const struct candidate *b);

/* Has all demand a place, spare capacity aside? */
bool compare_all_placed(const struct candidate *d);

/* Nodes that it buys. */
uint64_t compare_bought(const struct candidate *d);

#endif
