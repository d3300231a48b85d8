/*
 * one.h - a plan of one bin, the cheapest of all that hold some item of it: no plan
 * costs less, which needs no program and no budget to be seen.
 *
 * Most purchases of a running cluster are of one machine.
 */
#ifndef PLAN_COVER_ONE_H
#define PLAN_COVER_ONE_H

#include "view.h"

/* True: nothing costs less than this plan of the view's problem; it gets its cost as
 * its bound, with a proof.  Otherwise it is left alone. */
bool one_bin(const struct view *v, struct cover_plan *plan);

#endif
