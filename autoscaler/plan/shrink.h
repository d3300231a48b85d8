/*
 * shrink.h - which nodes go, and why each of the others stays.
 *
 * shrink_forced() comes before the demand is looked at (outdated, over a max,
 * over budget): those nodes give no room.  shrink_idle() comes after it: what
 * nothing needs and has been idle for its timeout goes.
 */
#ifndef PLAN_SHRINK_H
#define PLAN_SHRINK_H

#include "candidate.h"
#include "host_group.h"

struct verdict {
    bool ended;      /* by this plan: gives no room */
    bool going;      /* draining and not wanted back: gives no room */
    bool torn;       /* of a host group that has lost a machine: no room */
    bool spared;     /* over the budget by a price that rose, and kept */
    bool taking;     /* the work of another that is ended comes here */
    enum reason why; /* END_x, or NONE */
};

/* All nodes in the order in which they would be ended; these nodes. */
uint32_t *shrink_order(const struct problem *s, struct arena *arena);
void shrink_sort(const struct problem *s, uint32_t *nodes, uint32_t n,
                 struct arena *arena);
/* May this node be ended at all? */
bool shrink_may_end(const struct problem *s, const struct pb_node *n);

static inline enum leaving shrink_leaves(const struct verdict *v)
{
    if (v->torn && !v->ended)
        return LEAVES_LATER;
    return v->ended || v->going ? LEAVES : LEAVES_NOT;
}

void shrink_forced(const struct problem *s, struct arena *arena,
                   struct verdict *verdicts);

/* Fills what happens to every node; placements are filled already. */
void shrink_idle(const struct candidate *d, const struct verdict *verdicts,
                 const struct group *const *needed_by, struct plan_node *nodes);

#endif
