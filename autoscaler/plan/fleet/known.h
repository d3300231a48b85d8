/*
 * known.h - the bins of the last plan's fleet, for the next one.
 *
 * Which there are and what may lie in them depends on the facts that the plan
 * started with (again/facts.h), the shapes that are placed, the nodes that the plan
 * keeps, and the offers that are open; not on how much is placed.  Mins are not in
 * it: with any nothing is kept.
 *
 * Private to plan/fleet/.
 */
#ifndef PLAN_FLEET_KNOWN_H
#define PLAN_FLEET_KNOWN_H

#include "../cover/cover.h"
#include "there.h"

struct fleet_bins {
    struct there_all there; /* v is empty */
    struct cover_bin *v;    /* max of offers is the plan's */
    uint32_t n, columns;
    uint64_t *bits; /* per item: set of bins, of so many words */
    uint32_t words, n_items;
    bool *optional; /* per bin */
    bool any_optional, empty;
    uint32_t *of_offer; /* its bin, NONE */
};

/* The question: all but the facts, as numbers. */
struct fleet_question {
    const uint64_t *v;
    uint32_t n;
};

/* False: it is not known.  Else copies in the arena of the candidate. */
bool fleet_known(const struct candidate *base, const struct fleet_question *q,
                 struct fleet_bins *ret);
void fleet_keep(const struct candidate *base, const struct fleet_question *q,
                const struct fleet_bins *bins);

#endif
