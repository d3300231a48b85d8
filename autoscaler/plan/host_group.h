/*
 * host_group.h - machines that come and go as one (a TPU slice).
 *
 * A host group is bought, ended and taken back as a whole, and idle when all of
 * it is.  One that has lost a machine gives no room, and the rest of it is ended
 * when nothing runs there any more.
 */
#ifndef PLAN_HOST_GROUP_H
#define PLAN_HOST_GROUP_H

#include "candidate.h"

struct host_groups {
    uint32_t *next; /* per node: the next of its group, in a ring */
    bool *partial;  /* per node: its group has lost a machine */
};
/* A node alone is a group of one. */
void host_groups_make(const struct problem *s, struct arena *arena,
                      struct host_groups *ret);

/* All of a group, from any of its nodes: the one after `node`, NONE ends. */
static inline uint32_t host_group_next(const struct host_groups *u,
                                       uint32_t first, uint32_t node)
{
    return u->next[node] == first ? NONE : u->next[node];
}

/* `count` machines, at most `most`, in whole host groups. */
uint32_t host_group_whole(const struct problem *s, uint32_t offer,
                          uint32_t count, uint32_t most);

/* New machines of the offer that hold nothing yet: a class, or NONE. */
uint32_t host_group_spare(const struct candidate *d, uint32_t offer);

/* What a useful machine costs, with the share of those of its host group that
 * are of no use. */
int64_t host_group_price(const struct problem *s, uint32_t offer,
                         uint64_t useful);

/* Can all of the gang lie on nothing but machines of host groups? */
bool host_group_gang(const struct candidate *d, const uint32_t *groups,
                     const uint32_t *alts, uint32_t n);

#endif
