/*
 * seats.h - how many bins of some kinds any plan needs, at least.
 *
 * The linear program buys half a bin where items need one and a half: the bound
 * loses half of what may be the dearest bin of all.  Where a set of items fits
 * few kinds of bins, the number of those is bounded for itself, and rounded up
 * (a Chvatal-Gomory cut of rank 1).  It enters the program of prices as one price
 * more: of each such bin.
 * Private to plan/cover/exact/.
 */
#ifndef PLAN_COVER_EXACT_SEATS_H
#define PLAN_COVER_EXACT_SEATS_H

#include "../view.h"

/* Of these bins (bits, of the problem), so many. */
struct seats_set {
    const uint64_t *bins;
    struct cover_least least; /* worth 0 */
    double gain;              /* about, micros */
};
enum { SEATS_SETS = 12 };

/* Sets of use, those that gain the most first; how many.  used: how many of each bin a
 * bound would have, or NULL.  Takes a fixed amount of work, which is added to *work. */
uint32_t seats_find(const struct view *v, const double *used, uint64_t *work,
                    struct seats_set ret[SEATS_SETS]);

#endif
