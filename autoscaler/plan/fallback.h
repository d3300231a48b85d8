/*
 * fallback.h - how long an alternative of any_of is waited for.
 *
 * The timeout runs from when the demand was first seen, and again from each
 * visible progress of a starting node: a slow boot is no failure.  A node that
 * showed none for the time of the next alternative is silent: it is not counted
 * on, and no other is bought for the same alternative meanwhile.
 */
#ifndef PLAN_FALLBACK_H
#define PLAN_FALLBACK_H

#include "candidate.h"

/* Has the demand waited long enough for this alternative?  There is no wait for
 * one that no node could hold. */
bool fallback_may_try(const struct candidate *d, uint32_t group, uint32_t alt);

/* Is the class silent? */
bool fallback_silent(const struct candidate *d, uint32_t class_ix,
                     uint32_t group, uint32_t alt);

/* Is there a silent class for it? */
bool fallback_given_up(const struct candidate *d, uint32_t group, uint32_t alt);

/* Is the class newer than the demand, so that it may have been bought for one of
 * its later alternatives? */
bool fallback_newer(const struct candidate *d, uint32_t class_ix,
                    uint32_t group);

/* Is there an alternative that has to wait? */
bool fallback_has(const struct candidate *d, uint32_t group);

#endif
