/*
 * running_load.h - where the running work of a node that is consolidated goes.
 */
#ifndef PLAN_RUNNING_LOAD_H
#define PLAN_RUNNING_LOAD_H

#include "../candidate.h"
#include "../shrink.h"

static inline bool running_load_busy(const struct pb_node *n)
{
    return n->idle_ms < 0;
}

/* Finds a place for what runs on the nodes that are `moved`, buying as needed.
 * False when there is none; taking[i]: some of it comes to node i. */
bool running_loads_move(struct candidate *d, const bool *moved, bool *taking);

/* The same for what an earlier plan moves: its nodes drain still, and it comes
 * where there is room in d. */
void running_loads_come(struct candidate *d, bool *taking);
/* Who takes it in this plan is marked, so that it does not go as idle before
 * the work is there. */
void running_loads_keep(const struct candidate *best, struct verdict *verdicts);

#endif
