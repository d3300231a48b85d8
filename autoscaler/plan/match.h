/*
 * match.h - as many bundles as possible, each on a node of its own.
 */
#ifndef PLAN_MATCH_H
#define PLAN_MATCH_H

#include "candidate.h"

/* Places the groups of a gang, no two bundles on one node; nodes that the gang
 * uses already are left out. */
void match_spread(struct candidate *d, const uint32_t *groups,
                  const uint32_t *alts, uint32_t n, uint32_t gang);

#endif
