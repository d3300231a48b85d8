/*
 * seated.h - column generation once more, for the problem with seats: a better
 * bound of small problems, where a part of a bin counts.
 *
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_SEATED_H
#define PLAN_COVER_SEATED_H

#include "../generate.h"

struct seated {
    struct cover_problem p;
    struct view v;
    struct generate g;
    uint32_t n_items;     /* of the other view */
    uint32_t *item, *bin; /* numbers here of the other view's */
    uint32_t *other_item; /* and back; UINT32_MAX: a seat */
    uint32_t *other_bin;  /* UINT32_MAX: not there */
    uint32_t *seat;       /* items here */
    uint32_t n_seats;
    uint32_t fed; /* columns of the other program that are here */
    bool begun;
    double *worth;
    VEC(struct cover_part) part;
};

/* p: the problem of g with seats as more items, or tighter limits; all items of g
 * have a bin.  The arena may go before g's does. */
struct seated *seated_make(struct generate *g, const struct cover_problem *p,
                           struct arena *arena);

/* Rounds, and the proof of the bound, until g's work is `until`; bins whose
 * relaxation is too weak are searched with up to `nodes` steps.  It begins with
 * worths, per item of its view, that are known to prove `bound`; NULL: with g's.
 * g gets the fills that were found.  True: there is nothing more to find. */
bool seated_run(struct seated *x, struct generate *g, double bound,
                const double *worth, uint64_t nodes, uint64_t until);

#endif
