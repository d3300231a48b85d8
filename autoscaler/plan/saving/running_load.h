/*
 * running_load.h - where the running work of a node that is consolidated goes.
 */
#ifndef PLAN_RUNNING_LOAD_H
#define PLAN_RUNNING_LOAD_H

#include "../candidate.h"

static inline bool running_load_busy(const struct pb_node *n)
{
    return n->idle_ms < 0;
}

/* Finds a place for what runs on the nodes that are `moved`, buying as needed.
 * False when there is none; taking[i]: some of it comes to node i. */
bool running_loads_move(struct candidate *d, const bool *moved, bool *taking);

#endif
