/*
 * weight.h - what an item is worth, in micros an hour: the greedy's
 * weights, from prices alone or from what a plan really paid.
 *
 * Private to plan/cover/.  Doubles rank choices only; they decide no capacity.
 */
#ifndef PLAN_COVER_WEIGHT_H
#define PLAN_COVER_WEIGHT_H

#include "alike.h"
#include "partial.h"

/* The cheapest bin's price times the item's largest share of it. */
void weight_from_prices(const struct view *v, double *ret);

/* Moves weights towards what a solution paid per item, at a price per bin; items
 * it left out become dearer.  whole: of a solution for all items, where limits alone
 * leave some out: none becomes dearer than what was paid for the dearest that has a
 * place, so that each counts the same.  like: groups of items that learn half of it from one
 * another, as each is in few bins; NULL: none. */
void weight_learn(const struct partial *d, const double *price,
                  const struct alike *like, bool whole, double *weight);

/* Moves prices of bins that the limits of numbers allow no more of towards what is in
 * them: so much they are worth to the plan.  Of a limit for several kinds of bins, of a
 * family or of all, each bin gets the same toll.  Others' go back to what they cost.  A
 * limit of money changes nothing: all bins would become dearer by the same factor. */
void weight_price_limits(const struct partial *d, const double *weight,
                         double *price);

#endif
