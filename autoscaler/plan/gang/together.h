/*
 * together.h - all that is bought for, in one cover.
 *
 * Gangs, priorities, and requests and other work are served one after the other.  Each
 * gets the machines that are cheapest for itself alone, whose rest may be of no use to
 * anybody.  Here each takes what is there, in the same order, and what is left has
 * one cover.  Gangs that it leaves out, or whose bundles do not come to lie as they must,
 * are placed alone, and the cover is made again for the rest.
 */
#ifndef PLAN_GANG_TOGETHER_H
#define PLAN_GANG_TOGETHER_H

#include "../candidate.h"

/* Requests and work, by their first alternatives; later ones, and what is left, are the
 * caller's. */
void together_serve(struct candidate *d);

/* So much is wanted by several that one after the other is not worth its work. */
enum { TOGETHER_LARGE = 4000 }; /* bundles */
bool together_large(const struct tables *t);

/* Does it buy for more than one gang, priority or side? */
bool together_of_use(const struct candidate *d);

#endif
