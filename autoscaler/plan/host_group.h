/*
 * host_group.h - machines that come and go as one (a TPU slice).
 *
 * A unit is bought whole, and is idle, ended and taken back as a whole.  One
 * that has lost a machine is no use: it gives no room, and what is left of it
 * goes when nothing runs there any more.
 */
#ifndef PLAN_HOST_GROUP_H
#define PLAN_HOST_GROUP_H

#include "candidate.h"

struct host_groups {
    uint32_t *next; /* per node: the next of its unit, in a ring */
    bool *partial;  /* per node: its unit has lost a machine */
};
void host_groups_make(const struct problem *s, struct arena *arena,
                      struct host_groups *ret);

/* So many machines that each of the candidate's host groups of this offer is
 * whole. */
uint32_t host_group_whole(const struct problem *s, uint32_t offer,
                          uint32_t count, uint32_t most);

/* New machines of the offer that hold nothing yet: a class, or NONE. */
uint32_t host_group_spare(const struct candidate *d, uint32_t offer);

/* What one machine costs when so few are of use that the rest of its unit is
 * bought for nothing. */
int64_t host_group_price(const struct problem *s, uint32_t offer,
                         uint64_t useful);

/* Must all of the gang lie on machines of units? */
bool host_group_gang(const struct candidate *d, const uint32_t *groups,
                     const uint32_t *alts, uint32_t n);

#endif
