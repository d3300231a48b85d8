/*
 * buy.h - new nodes for the demand that is left.
 *
 * The choice is a cover problem (cover.h): it is made of offers and limits, and
 * its answer is bought.
 */
#ifndef PLAN_BUY_BUY_H
#define PLAN_BUY_BUY_H

#include "../candidate.h"
#include "../limits.h"
#include "../planner.h"

struct buy_for {
    enum reason why; /* NONE: by the source of what is bought for */
    bool patient;    /* also what silent nodes are to hold */
    const bool
        *apart; /* NULL, or groups of gangs, with their first alternatives, are
                        * among them (gangs.h); per gang: are its bundles kept
                        * apart by a column of the cover? */
};

/* What is left of these demand groups, each with its alternative alts[i]. */
void buy_groups(struct candidate *d, const uint32_t *groups,
                const uint32_t *alts, uint32_t n, struct buy_for what);

/* FOR_x, by the group's source. */
enum reason buy_reason(const struct candidate *d, uint32_t group);

/* Steps for each shape below which bettering finds nothing. */
#define BUY_STEPS_LEAST (PLANNER_STEPS_PER_MS / 40)

/* So few bundles are a few nodes: not worth a longer look. */
enum { BUY_FEW = 100 };

#endif
