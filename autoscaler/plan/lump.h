/*
 * lump.h - where the running work of a node that is consolidated goes.
 */
#ifndef PLAN_LUMP_H
#define PLAN_LUMP_H

#include "sketch.h"

static inline bool lump_busy(const struct sn_node *n)
{
    return n->idle_ms < 0;
}

/* Finds a place for what runs on the nodes that are `moved`, buying as needed.
 * False when there is none; taking[i]: some of it comes to node i. */
bool lumps_move(struct sketch *d, const bool *moved, bool *taking);

#endif
