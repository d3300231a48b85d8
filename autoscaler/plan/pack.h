/*
 * pack.h - placing demand on nodes that are there, on their way, or bought.
 *
 * Work for one demand group is one look at each class of nodes, whatever the count.
 */
#ifndef PLAN_PACK_H
#define PLAN_PACK_H

#include "candidate.h"

/* Which nodes are taken, beside what the demand group itself asks for. */
struct pack_rule {
    bool patient;        /* silent ones too: fallback.h */
    bool newer;          /* only those newer than the demand */
    uint32_t host_group; /* only those of this one; 0: of any or none */
};

/* Places as much of the demand group as there is room for. */
void pack_group(struct candidate *d, uint32_t group, uint32_t alt,
                struct pack_rule rule);

/* Each in turn, with its alternative. */
void pack_groups(struct candidate *d, const uint32_t *groups,
                 const uint32_t *alts, uint32_t n, struct pack_rule rule);

/* What was bought for a later alternative of theirs is used before an earlier one,
 * which may be available again by now, is bought: that is for new demand. */
void pack_later(struct candidate *d, const uint32_t *groups, uint32_t n);

/* On one class: at most per_node on each node; on at most `nodes` nodes. */
void pack_on(struct candidate *d, uint32_t class_ix, uint32_t group,
             uint32_t alt, uint32_t per_node, uint32_t nodes);

/* Each bundle on a node that the gang does not use yet. */
void pack_spread(struct candidate *d, uint32_t group, uint32_t alt,
                 uint32_t gang, struct pack_rule rule);

#endif
