/*
 * bound.h - what the duals of a column generation prove.
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

/* The bound for plans that leave `missing` items out, whichever. */
double bound_without(const struct generate *g, uint64_t missing);

#endif
