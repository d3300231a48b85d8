/*
 * unconfirmed.h - demand that must be seen twice before it is bought for.
 *
 * One view of a source with two_looks may count a task both as running and as
 * pending (ray issue 36926), so tasks and gangs must be wanted by two views in
 * a row.  Requests and minimums are exact and need no second look.  Counted by
 * node type, in memory only.
 */
#ifndef CONTROL_UNCONFIRMED_H
#define CONTROL_UNCONFIRMED_H

#include "sources/sources.h"

struct unconfirmed_type { char type[64]; uint32_t count; uint64_t view, tick; };

struct unconfirmed {
    VEC(struct unconfirmed_type) all;  /* heap */
    uint64_t tick;            /* of its own */
};

/* Must a machine for this reason wait for a second look? */
bool unconfirmed_needed(const struct sources *s, enum reason why);
/* How many of the n machines that are wanted of this type now were wanted by an
 * earlier view too. */
uint32_t unconfirmed_grant(struct unconfirmed *u, const struct sources *s,
                           const char *type, uint32_t n);
/* After all types of a plan: forgets those that are not wanted any more. */
void unconfirmed_next(struct unconfirmed *u);

#endif
