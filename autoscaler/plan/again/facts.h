/*
 * facts.h - a problem as numbers, but for how much is wanted and what time it is.
 *
 * Two problems with the same facts have the same tables (tables.h), but for the
 * counts of groups, and a candidate begins with the same classes of nodes
 * (candidate_start()).  What of the time decides about that is in the facts: whether a
 * node is held still, since when it is idle; the time itself if alternatives wait.
 * Which nodes have no room (`gone`) is one of them.
 */
#ifndef PLAN_AGAIN_FACTS_H
#define PLAN_AGAIN_FACTS_H

#include "../candidate.h"

/* In the arena; how many in *ret_n.  expected: probably so many. */
const uint64_t *facts_write(const struct problem *s, const enum leaving *gone,
                            uint32_t expected, struct arena *arena,
                            uint32_t *ret_n);

#endif
