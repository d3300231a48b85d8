/*
 * unit.h - machines that come and go as one (a TPU slice).
 *
 * A unit is bought whole, and is idle, ended and taken back as a whole.  One
 * that has lost a machine is no use: it gives no room, and what is left of it
 * goes when nothing runs there any more.
 */
#ifndef PLAN_UNIT_H
#define PLAN_UNIT_H

#include "sketch.h"

/* Machines in a unit of this offer, at least 1. */
uint32_t unit_hosts(const struct snapshot *s, uint32_t offer);

struct units {
    uint32_t *next;      /* per node: the next of its unit, in a ring */
    bool *partial;       /* per node: its unit has lost a machine */
};
void units_make(const struct snapshot *s, struct arena *arena,
                struct units *ret);
uint32_t units_size(const struct units *u, uint32_t node);

/* So many machines that each of the sketch's units of this offer is whole. */
uint32_t unit_whole(const struct snapshot *s, uint32_t offer, uint32_t count,
                    uint32_t most);

/* New machines of the offer that hold nothing yet: a class, or NONE. */
uint32_t unit_spare(const struct sketch *d, uint32_t offer);

/* What one machine costs when so few are of use that the rest of its unit is
 * bought for nothing. */
int64_t unit_price(const struct snapshot *s, uint32_t offer, uint64_t useful);

/* Must all of the gang lie on machines of units? */
bool unit_gang(const struct sketch *d, const uint32_t *wants,
               const uint32_t *alts, uint32_t n);

#endif
