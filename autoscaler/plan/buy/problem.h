/*
 * problem.h - a purchase as a cover problem: items, bins and limits.
 *
 * For buy.c only.  All of it is in an arena of its own, and gone when it is bought.
 */
#ifndef PLAN_BUY_PROBLEM_H
#define PLAN_BUY_PROBLEM_H

#include "../cover/cover.h"
#include "buy.h"

struct buy_gangs; /* gangs.h */

struct purchase {
    struct arena *arena; /* of all of it, its answer too */
    struct cover_problem p;
    struct cover_item *items;
    uint64_t *bits; /* of all items: `words` each, a set of bins */
    uint32_t words;
    struct cover_bin *bins;
    uint32_t *family_max;
    uint32_t *group, *alt, *shape; /* per item */
    uint32_t *offer;               /* per bin, or */
    uint32_t *pooled;              /* the class of nodes that are there */
    struct buy_gangs *gangs; /* what items stand for; NULL: each for its group */
    struct buy_for what;
    bool final;       /* its answer: a longer look is of no use */
    uint32_t queue;   /* whose quota of nodes is to be kept, or NONE */
    bool *stuck;      /* per group: its quota goes to others, or NULL */
    bool host_groups; /* prices are no bound: host_group_price() */
    bool by_bill;     /* prices without surcharges, as limits count */
    bool capped;      /* by a quota: somebody's is wanted by others */
    bool *waits;      /* an offer is behind others (failover.h); NULL:
                       * all may be bought */
};

/* What is left of the groups and may be bought for, as items. */
void purchase_items(const struct candidate *d, struct purchase *q,
                    const uint32_t *groups, const uint32_t *alts, uint32_t n);
/* Offers and pooled nodes as bins, and which items may lie in which.  Of policy
 * priority only types of this one. */
void purchase_bins(const struct candidate *d, struct purchase *q,
                   int32_t priority);
/* What may be bought of them, in nodes and money. */
void purchase_limits(const struct candidate *d, struct purchase *q);

#endif
