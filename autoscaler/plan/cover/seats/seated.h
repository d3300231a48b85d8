/*
 * seated.h - column generation once more, for the problem with seats: a better
 * bound of small problems, where a part of a bin counts.
 *
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_SEATED_H
#define PLAN_COVER_SEATED_H

#include "../generate.h"
#include "seats.h"

struct seated {
    struct seats seats; /* n 0: none are of use, all else is not made */
    struct view v;
    struct generate g;
    uint32_t n_items;     /* of the other view */
    uint32_t *item, *bin; /* numbers here of the other view's */
    uint32_t *other_item; /* and back; UINT32_MAX: a seat */
    uint32_t *other_bin;  /* UINT32_MAX: not there */
    uint32_t *seat;       /* per bin: the item, UINT32_MAX: none */
    uint32_t fed;         /* columns of the other program that are here */
    bool begun;
    double *worth;
    VEC(struct cover_part) part;
};

/* Finds seats; the work is added to g's.  Its program is still to be made. */
struct seated *seated_make(struct generate *g);

/* Its program gets those of g's columns that it has not. */
void seated_feed(struct seated *x, const struct generate *g);
/* And g's its columns from `from` on. */
void seated_give(struct seated *x, struct generate *g, uint32_t from);

/* Worths of g's items as those of its own; seats have none.  Until the next call. */
const double *seated_worth(struct seated *x, const double *worth);

/* Of the best bound, in the numbers of g's view. */
void seated_proof(const struct seated *x, const struct generate *g,
                  struct cover_proof *ret);

#endif
