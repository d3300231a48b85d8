/*
 * fallback.h - how long an alternative of any_of is waited for.
 *
 * The clock runs from when the demand was first seen, and anew from each
 * visible progress of a node on its way: a slow boot is no failure.  A node
 * that was silent for the time of the next alternative is not counted on, and
 * no other one is bought for the same alternative meanwhile.
 */
#ifndef PLAN_FALLBACK_H
#define PLAN_FALLBACK_H

#include "candidate.h"

/* Has the demand waited long enough for this alternative?  What no node could
 * hold is not waited for. */
bool fallback_may_try(const struct candidate *d, uint32_t group, uint32_t alt);

/* Was the class, on its way, silent for too long to be counted on? */
bool fallback_silent(const struct candidate *d, uint32_t class_ix,
                     uint32_t group, uint32_t alt);

/* Is there such a class for it? */
bool fallback_given_up(const struct candidate *d, uint32_t group, uint32_t alt);

/* Is the class newer than the demand, so that it may have been bought for one of
 * its later alternatives? */
bool fallback_newer(const struct candidate *d, uint32_t class_ix,
                    uint32_t group);

/* Is there an alternative that has to wait? */
bool fallback_has(const struct candidate *d, uint32_t group);

#endif
