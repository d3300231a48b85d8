/*
 * prove.h - a better bound of one bin than the Lagrangian: a search over
 * its fills which proves that none is worth more than a given value.
 *
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_PROVE_H
#define PLAN_COVER_PROVE_H

#include "price.h"

struct prove;

struct prove *prove_make(const struct view *v, struct price *price);

/* Looks for fills of the bin worth more than `above`.  True when the search
 * ended within `nodes` steps: then *ret_best is the largest worth of any fill,
 * or `above` if that is less.  *ret_n parts of the best fill above the goal are
 * in *ret_part (0: none was met), also when the search was cut short.  The
 * bin's multipliers must be tuned to worth. */
bool prove_search(struct prove *x, uint32_t bin, const double *worth,
                  double above, uint64_t nodes, double *ret_best,
                  const struct cover_part **ret_part, uint32_t *ret_n);

uint64_t prove_work(const struct prove *x);
/* A search is cut short when it has come to so many counted steps; at first there is no
 * limit. */
void prove_stop_at(struct prove *x, uint64_t work);

#endif
