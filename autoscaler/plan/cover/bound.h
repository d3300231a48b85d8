/*
 * bound.h - the valid lower bound of a column generation.
 *
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_BOUND_H
#define PLAN_COVER_BOUND_H

#include "generate.h"

/* The bound of these worths with earn[] and ratio[] as they are, which is the
 * best so far or not. */
double bound_note(struct generate *g, const double *worth);

/* What these worths prove; each bin is searched as far as a fixed amount of work
 * goes. */
void bound_try(struct generate *g, const double *worth);

/* Columns for the whole demand and the bound: up to two thirds of `stage` steps
 * from now on, up to `end` in all. */
void bound_stage(struct generate *g, uint64_t stage, uint64_t end);

/* Have seats not been tried that a later stage tries, or are they of use? */
bool bound_may_rise(const struct generate *g);

/* The best bound so far, with seats or without, and its proof (may be NULL). */
double bound_best(const struct generate *g, struct cover_proof *ret);

/* The bound for plans that leave `missing` items out, whichever. */
double bound_without(const struct generate *g, uint64_t missing);

#endif
