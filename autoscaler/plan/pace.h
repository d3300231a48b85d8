/*
 * pace.h - how many machines start at once: limits.max_launching and
 * limits.upscaling_speed.
 *
 * A rate says when a machine is bought, not which: a plan is made as if there were
 * none, and what may not start yet is taken out of it at the end.  So work waits for
 * the machine that is right for it, not for one that is dearer and may start now; and a
 * gang of more machines than may start at once gets them one part after the other.
 * (Ray does it so: its autoscaler chooses machines first, then launches as many of each
 * type as upscaling_speed lets it: python/ray/autoscaler/v2/instance_manager/
 * reconciler.py.)
 */
#ifndef PLAN_PACE_H
#define PLAN_PACE_H

#include "candidate.h"

/* May all start now that it buys? */
bool pace_all(const struct candidate *d);

/* Only what may start now stays bought: mins first, then what is for the first demand.
 * What the others were to hold is left, and waits. */
void pace_hold_back(struct candidate *d);

/* Was something of the group to lie on machines that were held back, of this offer
 * (NONE: of any)? */
bool pace_holds(const struct candidate *d, uint32_t group, uint32_t offer);

#endif
