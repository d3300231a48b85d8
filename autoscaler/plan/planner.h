/*
 * planner.h - snapshot in, plan out.
 *
 * Pure: cannot fail, reads no clock, allocates only from the arena, breaks
 * ties by a total order; the same snapshot gives the same plan, bit for bit.
 * Work is bounded by counted steps.  Thread: any, one arena each.
 */
#ifndef PLAN_PLANNER_H
#define PLAN_PLANNER_H

#include "../model/plan.h"

void planner_run(const struct snapshot *now, struct arena *arena,
                 struct plan *ret);

#endif
