/*
 * there.h - the nodes that are there, as few bins.
 *
 * Private to plan/fleet/.
 */
#ifndef PLAN_FLEET_THERE_H
#define PLAN_FLEET_THERE_H

#include "../candidate.h"

/* Nodes that are one bin.  Equal ones are `max` bins of what one has; unlike
 * ones that stay anyhow are one bin of what all have, where an item must fit one
 * that is as large as the largest of each. */
struct there {
    const int64_t *has[SIDES], *most[SIDES];
    uint32_t max;
    uint32_t nodes; /* how many */
    uint32_t type;  /* of all, NONE */
    int64_t price;  /* 0: they stay anyhow */
    bool stays;
    const uint64_t *selectors; /* set of those that one of them satisfies */
};

struct there_all {
    VEC(struct there) v;
    uint32_t *stays; /* per type: nodes that stay */
    uint32_t *kept;  /* per type: others that the plan keeps */
    uint64_t n_stay, n_kept;
    int64_t paid, cost, there; /* see program.h */
};

/* selectors: those that items have. */
void there_make(const struct candidate *base, const struct plan *plan,
                const uint32_t *selectors, uint32_t n_selectors,
                struct there_all *ret);

#endif
