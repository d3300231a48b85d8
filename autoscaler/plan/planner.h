/*
 * planner.h - snapshot in, plan out.
 *
 * Pure: cannot fail, reads no clock, allocates only from the arena, breaks
 * ties by a total order; the same snapshot gives the same plan, bit for bit.
 * Work is bounded by counted steps.  Thread: any, one arena each.
 *
 * budget: steps (PLANNER_STEPS_PER_MS) for bettering what is bought; 0: the
 * first answer.  A launch it did not suffice for is not `final`.
 */
#ifndef PLAN_PLANNER_H
#define PLAN_PLANNER_H

#include "../model/plan.h"

/* About how many steps are a millisecond of one core. */
#define PLANNER_STEPS_PER_MS UINT64_C(560000)
/* What a tick may spend: about a millisecond. */
#define PLANNER_AT_ONCE PLANNER_STEPS_PER_MS

void planner_run(const struct problem *now, uint64_t budget,
                 struct arena *arena, struct plan *ret);

/* The plan with what the other one proves of its fleet: a plan of the same problem
 * with the same fleet, and a larger budget.  What is proved is copied into the
 * arena, the rest is shared with plan. */
void planner_proved(const struct plan *plan, const struct plan *other,
                    struct arena *arena, struct plan *ret);

/* The same plan, bit for bit, in less time when not much has changed since the
 * plan that was made with this memory last. */
struct memory;
void planner_run_again(const struct problem *now, uint64_t budget,
                       struct memory *memory, struct arena *arena,
                       struct plan *ret);

#endif
