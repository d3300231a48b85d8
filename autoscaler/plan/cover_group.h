/*
 * cover_group.h - a problem with few shapes in place of one with many: like
 * items are taken as their largest (for a plan) or smallest (for a bound).
 *
 * Private to cover_*.c.
 */
#ifndef PLAN_COVER_GROUP_H
#define PLAN_COVER_GROUP_H

#include "cover_draft.h"

struct group {
    struct cover_problem p;   /* the items are groups */
    uint64_t work;            /* counted steps of making it */
    uint32_t *of;             /* view's item -> group */
};

/* At most `most` groups; items of a group may lie in the same bins, need the
 * same of devices and nearly the same of the rest. */
void group_make(const struct view *v, uint32_t most, bool smallest,
                struct group *ret);

/* The plan for the groups as one for the items, largest first.  What the plan
 * leaves out is left in d. */
void group_apply(const struct group *g, const struct cover_plan *plan,
                 struct draft *d, struct room *scratch);

#endif
