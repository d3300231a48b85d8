/*
 * buy.h - what is left after the nodes that are there: new nodes for it.
 *
 * The choice itself is the cover problem's (cover.h); here it is put together
 * from offers and limits, and its answer becomes nodes obtained.
 */
#ifndef PLAN_BUY_H
#define PLAN_BUY_H

#include "candidate.h"
#include "limits.h"
#include "planner.h"

struct buy_for {
    enum purpose purpose;
    enum reason why; /* NONE: by the source of what is bought for */
    bool patient;    /* also what silent nodes might have held yet */
};

/* What is left of these demand groups, each with its alternative alts[i]. */
void buy_groups(struct candidate *d, const uint32_t *groups,
                const uint32_t *alts, uint32_t n, struct buy_for what);

/* FOR_x, by the group's source. */
enum reason buy_reason(const struct candidate *d, uint32_t group);

/* With less for each shape bettering does not get off the ground. */
#define BUY_STEPS_LEAST (PLANNER_STEPS_PER_MS / 40)

/* A few bundles are a few nodes: not worth waiting for. */
enum { BUY_FEW = 100 };

#endif
