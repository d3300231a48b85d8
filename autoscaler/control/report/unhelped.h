/*
 * unhelped.h - what was bought in vain.
 *
 * A machine is bought for some demand, joins, and its node will not have that
 * demand: it has a taint, or lacks a label or a resource, that nobody told us
 * of.  To buy another for it would be to buy without end.  So the type is left
 * alone for bundles of that shape: 10 minutes, doubling to 4 hours; another
 * configuration forgets it.  Owned by the control thread.
 */
#ifndef CONTROL_UNHELPED_H
#define CONTROL_UNHELPED_H

#include "../../model/plan.h"
#include "../snapshot_take.h"

/* Is this launch of the plan for what an idle node of its type, bought for the
 * same, does not hold?  Then it is noted and told of. */
bool unhelped_judge(struct env *env, struct ledger *l,
                    const struct sources *sources, const struct taken *taken,
                    const struct problem *now, const struct plan *plan,
                    const struct plan_launch *launch);
/* The same for a node that this plan ends because it is idle, while what it was
 * bought for still waits. */
void unhelped_ending(struct env *env, struct ledger *l,
                     const struct taken *taken, const struct problem *now,
                     const struct plan *plan, uint32_t node);
/* Those in force, for a snapshot. */
void unhelped_take(const struct ledger *l, int64_t now_ms, struct arena *arena,
                   struct snapshot *ret);
/* The type's taints, and those that its nodes were seen to have. */
struct taints unhelped_taints(const struct ledger *l, int64_t now_ms,
                              const char *type, struct taints own,
                              struct arena *arena);

#endif
