/*
 * coarse.h - a problem with few shapes in place of one with many: like
 * items are taken as their largest (for a plan) or smallest (for a bound).
 *
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_COARSE_H
#define PLAN_COVER_COARSE_H

#include "partial.h"

#define COARSE_BOUND 150 /* clusters that a bound is made for */

struct coarse {
    struct cover_problem p; /* the items are clusters */
    uint64_t work;          /* counted steps of making it */
    uint32_t *of;           /* view's item -> cluster */
};

/* At most `most` clusters; items of a cluster may lie in the same bins, need
 * the same of devices and nearly the same of the rest. */
void coarse_make(const struct view *v, uint32_t most, bool smallest,
                 struct coarse *ret);

/* The plan for the clusters as one for the items, largest first.  What the plan
 * leaves out is left in d. */
void coarse_apply(const struct coarse *g, const struct cover_plan *plan,
                  struct partial *d, struct space *scratch);

#endif
