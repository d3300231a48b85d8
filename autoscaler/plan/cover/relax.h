/*
 * relax.h - a lower bound at once: what the resources alone must cost.
 *
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_RELAX_H
#define PLAN_COVER_RELAX_H

#include "view.h"

/* A valid bound on the cost (micros an hour, >= 0) of any plan that leaves at
 * most `missing` items of the view out.  Better with more counted steps; adds
 * what it took to *work.  worth (per item of the view): what proves it, for the
 * demand as a whole; *ret_off: what bins without a price take off the worth of
 * all items. */
int64_t relax_bound(const struct view *v, uint64_t missing, uint64_t steps,
                    uint64_t *work, double *worth, double *ret_off);

#endif
