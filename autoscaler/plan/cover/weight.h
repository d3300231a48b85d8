/*
 * weight.h - what an item is worth, in micros an hour: the greedy's
 * weights, from prices alone or from what a plan really paid.
 *
 * Private to plan/cover/.  Doubles rank choices only; they decide no capacity.
 */
#ifndef PLAN_COVER_WEIGHT_H
#define PLAN_COVER_WEIGHT_H

#include "partial.h"

/* The cheapest bin's price times the item's largest share of it. */
void weight_from_prices(const struct view *v, double *ret);

/* Moves weights towards what a solution paid per item; items it left out
 * become dearer. */
void weight_learn(const struct partial *d, double *weight);

#endif
