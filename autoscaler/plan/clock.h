/*
 * clock.h - how long an alternative of any_of is waited for.
 *
 * The clock runs from when the demand was first seen, and anew from each
 * visible progress of a node on its way: a slow boot is no failure.  A node
 * that was silent for the time of the next alternative is not counted on, and
 * no other one is bought for the same alternative meanwhile.
 */
#ifndef PLAN_CLOCK_H
#define PLAN_CLOCK_H

#include "sketch.h"

/* Has the demand waited long enough for this alternative?  What no node could
 * hold is not waited for. */
bool clock_may_try(const struct sketch *d, uint32_t want, uint32_t alt);

/* Was the class, on its way, silent for too long to be counted on? */
bool clock_silent(const struct sketch *d, uint32_t class_ix, uint32_t want,
                  uint32_t alt);

/* Is there such a class for it? */
bool clock_given_up(const struct sketch *d, uint32_t want, uint32_t alt);

/* Is the class newer than the demand, so that it may have been bought for one of
 * its later alternatives? */
bool clock_newer(const struct sketch *d, uint32_t class_ix, uint32_t want);

/* Is there an alternative that has to wait? */
bool clock_has(const struct sketch *d, uint32_t want);

#endif
