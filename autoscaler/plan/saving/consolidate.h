/*
 * consolidate.h - ending nodes whose work fits cheaper elsewhere.
 *
 * The plan is made again without a candidate: when everything still has its
 * place and enough is saved, the candidate goes.  What takes its place is
 * bought first; the candidate goes when that is there.
 */
#ifndef PLAN_CONSOLIDATE_H
#define PLAN_CONSOLIDATE_H

#include "../candidate.h"
#include "../shrink.h"

/* again: how the planner goes from a start to its best candidate.  Only when
 * *best buys nothing and nothing is on its way.  May replace *best, and marks what
 * ends in verdicts, and who takes the work of what ends now or drains since an
 * earlier plan.  Returns plan.settled_until_ms. */
int64_t consolidate(struct candidate *best, struct verdict *verdicts,
                    struct candidate (*again)(const struct candidate *base));

#endif
