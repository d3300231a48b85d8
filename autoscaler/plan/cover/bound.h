/*
 * bound.h - the valid lower bound of a column generation.
 *
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_BOUND_H
#define PLAN_COVER_BOUND_H

#include "generate.h"

/* The bound of these worths with ratio[] as it is (an upper bound, per bin, of
 * what it can earn over its price); true when it is the best so far. */
bool bound_note(struct generate *g, const double *worth);

/* Raises the bound from the given duals by searching each bin, with up to
 * `nodes` steps a bin, until the work is `until`. */
void bound_certify(struct generate *g, const double *duals, uint64_t nodes,
                   uint64_t until);

/* Column generation for the whole demand with exact pricing, for when the
 * heuristics find no more columns.  True when the search proves that there are
 * none: the program is solved. */
bool bound_exact(struct generate *g, uint64_t nodes, uint64_t until);

/* The bound for plans that leave `missing` items out, whichever. */
double bound_without(const struct generate *g, uint64_t missing);

#endif
