/*
 * settled.h - consolidation is not tried again on what has not changed.
 *
 * To find that nothing can be saved takes up to 36 plans.  The answer stands for
 * the same problem until the moment that the planner named: until then it is
 * asked for a plan without consolidation, which is the same plan.  Control
 * thread only.
 */
#ifndef CONTROL_SETTLED_H
#define CONTROL_SETTLED_H

#include "../model/plan.h"
#include "../plan/memory.h"

struct settled {
    uint64_t hash;    /* of the problem that it is about: problem_hash() */
    int64_t until_ms; /* wall; 0: nothing is known */
};

/* planner_run_again(), which stays pure; now is afterwards as it was.  True: without
 * consolidation, which would find nothing. */
bool settled_plan(struct settled *k, struct memory *memory, struct problem *now,
                  uint64_t budget, struct arena *arena, struct plan *ret);

#endif
