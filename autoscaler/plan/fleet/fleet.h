/*
 * fleet.h - what the whole fleet costs once the plan is carried out, and what any
 * fleet that does the same must cost at least.
 *
 * "The same": it holds the bundles that the plan places, each by the alternative
 * it got, keeps the mins that the plan keeps, and leaves running work where the
 * plan leaves it.  A fleet is made of nodes that are there and of offers that
 * are open now.  docs/planner.md says what is relaxed and how to check it.
 */
#ifndef PLAN_FLEET_FLEET_H
#define PLAN_FLEET_FLEET_H

#include "../candidate.h"

/* best: the plan's candidate, reported in *plan; base: the one that all began
 * with.  Fills the plan's fleet and raises its bound on the launches.  budget:
 * counted steps of the whole plan, of which a part is used on top. */
void fleet_bound(const struct candidate *best, const struct candidate *base,
                 uint64_t budget, struct plan *plan);

#endif
