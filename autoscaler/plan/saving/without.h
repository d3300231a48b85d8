/*
 * without.h - is a plan that does without some nodes as good?
 *
 * Consolidation asks it of nodes that are to go, and of those that it has sent
 * away before: a plan must stand when the next one sees what it ended as
 * draining, or the two undo each other for ever.
 */
#ifndef PLAN_WITHOUT_H
#define PLAN_WITHOUT_H

#include "../candidate.h"
#include "../host_group.h"

/* Does work that waits for a node lie there?  It will run in a moment. */
bool without_awaited(const struct candidate *d, const struct node_class *c);

/* Has everything its place as in `now`, or a better one, and every type that had
 * its min? */
bool without_as_good(const struct candidate *d, const struct candidate *now);

/* Draining nodes that *best takes back for requests that have their place without
 * them, with nothing bought, go on draining: *best is replaced and they are
 * marked in gone[].  again: how the planner goes from a start to its best. */
void without_drained(struct candidate *best, enum leaving *gone,
                     const struct host_groups *u,
                     struct candidate (*again)(const struct candidate *base));

#endif
