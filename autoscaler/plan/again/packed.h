/*
 * packed.h - what nodes that are there held after the first demand was placed on
 * them, for the next plan.
 *
 * Of which demand groups there was how much is part of the question only as far
 * as it decided: when some of a group was left over, what nodes hold of it was
 * decided by their room alone, and one bundle more or less changes nothing.
 */
#ifndef PLAN_AGAIN_PACKED_H
#define PLAN_AGAIN_PACKED_H

#include "../candidate.h"

struct packed {
    struct arena arena; /* of all of it; what candidates have of it too */
    bool used;          /* by this plan: it stays */
    bool any;
    uint64_t known; /* so often it was */
    uint32_t n;     /* demand groups, */
    const uint32_t *groups, *alts;
    const uint32_t *before; /* that were left so many of, */
    const uint32_t *after;  /* and are then */
    struct candidate d;     /* classes, placements and work are its own */
};

void packed_done(struct packed *x); /* it is empty again */

/* The candidate has nothing placed or bought and d->start is about its nodes: places
 * the groups as it was done before.  False: it is not known, nothing was done. */
bool packed_again(struct candidate *d, const uint32_t *groups,
                  const uint32_t *alts, uint32_t n);
/* May the answer be kept?  Then d->left is returned as it is now, for
 * packed_keep(); else NULL. */
const uint32_t *packed_before(const struct candidate *d);
void packed_keep(const struct candidate *d, const uint32_t *groups,
                 const uint32_t *alts, uint32_t n, const uint32_t *before);

#endif
