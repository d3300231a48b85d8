/*
 * failover.h - all offers that suit a demand are tried before one is tried again.
 *
 * An offer that failed while a demand waited comes after each other offer that
 * may be bought for it and has not been tried since, however short its back-off.
 * Of several that failed, the one that failed first comes first.
 */
#ifndef PLAN_FAILOVER_H
#define PLAN_FAILOVER_H

#include "candidate.h"

/* Which offers suit a demand. */
struct failover {
    const struct candidate *d;
    int64_t since_ms; /* of the demand; 0: not known */
    bool (*could)(const void *ctx, uint32_t offer);
    const void *ctx;
};

/* Is it the turn of another offer? */
bool failover_waits(const struct failover *c, uint32_t offer);

/* The same for bundles of a group, each by itself. */
bool failover_waits_group(const struct candidate *d, uint32_t group,
                          uint32_t alt, uint32_t offer);

#endif
