/*
 * quota.h - what the demands of a queue may have at once.
 *
 * GPUs and CPUs are what its work takes, wherever it lies: what runs on the
 * queue's own nodes and what is planned.  A request is a total that running
 * work counts towards, so requests are counted apart (tables.h).  Nodes are the
 * queue's own, and all others that have work of it.  Everything is counted from
 * the candidate as it is, so there are no counters to undo.
 */
#ifndef PLAN_QUOTA_H
#define PLAN_QUOTA_H

#include "candidate.h"

/* How many more bundles of a group the quota of GPUs and CPUs allows; UNLIMITED
 * without one. */
uint32_t quota_room(const struct candidate *d, uint32_t group, uint32_t alt);

/* On how many nodes of the class the quota of nodes allows it. */
uint32_t quota_nodes_on(const struct candidate *d, uint32_t class_ix,
                        uint32_t group, uint32_t alt);

/* How many more nodes there may be for demand of this queue; UNLIMITED. */
uint32_t quota_nodes(const struct candidate *d, uint32_t queue);

/* Groups that are bought for together share what is left: quota_share() takes
 * what one of them may have, and returns how many bundles that is. */
struct quota_budget {
    int64_t (*left)[2];
};
struct quota_budget quota_budget(const struct candidate *d, enum side side);
uint32_t quota_share(const struct candidate *d, struct quota_budget *b,
                     uint32_t group, uint32_t alt, uint32_t count);

/* The queue of a group's alternative, or NONE. */
uint32_t quota_queue(const struct candidate *d, uint32_t group, uint32_t alt);

/* Is no quota exceeded by what the candidate places? */
bool quota_kept(const struct candidate *d);

/* Does its queue's quota forbid one more (of a gang: of all of
 * it)?  Then *ret is QUEUE_FULL with what is used up. */
bool quota_obstacle(const struct candidate *d, uint32_t group, uint32_t alt,
                    struct plan_refusal *ret);

/* Is it more than the whole quota? */
bool quota_never(const struct tables *t, uint32_t group, uint32_t alt);

#endif
