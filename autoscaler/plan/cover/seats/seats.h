/*
 * seats.h - how many bins of some kinds any plan needs, at least.
 *
 * The linear program buys half a bin where items need one and a half: the bound
 * loses half of what may be the dearest bin of all.  Where a set of items fits
 * few kinds of bins, the number of those is bounded for itself, and rounded up
 * (a Chvatal-Gomory cut of rank 1).  It enters the problem as items of their
 * own, seats: each such bin has one, and so many must be held.
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_SEATS_H
#define PLAN_COVER_SEATS_H

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

struct seats {
    struct cover_problem p; /* the problem; its items, then n seats */
    uint32_t n;
    struct cover_least *least; /* per seat; worth 0 */
};

/* Does the item fit the empty bin? */
bool seats_fits(const struct cover_problem *p, uint32_t bin, uint32_t item);

/* p with n more items, seats of sets that have no bin in common: each needs a seat
 * in one of the set's bins, of which each has one, and nothing else. */
void seats_add(const struct cover_problem *p, struct arena *arena,
               const struct seats_set *set, uint32_t n,
               struct cover_problem *ret);

/* The problem with seats for such sets that have no bin in common.  False: there are
 * none.  For plans that leave nothing out.  In the view's arena. */
bool seats_make(const struct view *v, const double *used, uint64_t *work,
                struct seats *ret);

/* The least of a proof: worth of seats->p's items, the seats with them; NULL: they
 * are worth nothing. */
void seats_least(const struct seats *seats, const struct view *v,
                 const double *worth, struct cover_proof *ret);

#endif
