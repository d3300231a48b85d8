/*
 * cover_weight.h - what an item is worth, in micros an hour: the greedy's
 * weights, from prices alone or from what a plan really paid.
 *
 * Private to cover_*.c.  Doubles rank choices only; they decide no capacity.
 */
#ifndef PLAN_COVER_WEIGHT_H
#define PLAN_COVER_WEIGHT_H

#include "cover_draft.h"

/* The cheapest bin's price times the item's largest share of it. */
void weight_from_prices(const struct view *v, double *ret);

/* Moves weights towards what the draft paid per item; items it left out
 * become dearer. */
void weight_learn(const struct draft *d, double *weight);

#endif
