/*
 * settled.c - see settled.h.
 */
#include "settled.h"

#include "../plan/planner.h"
#include "rare.h"

bool settled_plan(struct settled *k, struct memory *memory, struct problem *now,
                  uint64_t budget, struct arena *arena, struct plan *ret)
{
    enum consolidate mode = now->limits.consolidate;
    bool may = mode != CONSOLIDATE_OFF && now->sources_fresh && now->n_nodes;
    struct arena scratch = {0};
    uint64_t hash = may ? problem_hash(now, &scratch) : 0;

    arena_done(&scratch);
    if (may && now->now_ms < k->until_ms && hash == k->hash &&
        !RARE(SETTLED_FORGOTTEN)) {
        now->limits.consolidate = CONSOLIDATE_OFF;
        now->settled = true;
        planner_run_again(now, budget, memory, arena, ret);
        now->limits.consolidate = mode;
        now->settled = false;
        ret->settled_until_ms = k->until_ms;
        return true;
    }
    planner_run_again(now, budget, memory, arena, ret);
    *k = (struct settled){hash, ret->settled_until_ms};
    return false;
}
