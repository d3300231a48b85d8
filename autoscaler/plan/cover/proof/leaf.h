/*
 * leaf.h - some of all plans, those with so many bins of some families: the
 * problem with tighter limits and more seats, and its bound.
 *
 * A leaf begins with a proof for more plans than its own.  One program at a time
 * is kept: that of a leaf whose bound may rise still.
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_LEAF_H
#define PLAN_COVER_LEAF_H

#include "../seats/seated.h"
#include "../seats/seats.h"

struct leaf {
    struct cover_range *range;
    uint32_t n_ranges;
    double bound;
    double *worth; /* that prove it: per item, then of each of the seats */
    double money;
    bool settled; /* there is nothing more to find */
    /* Once it is: */
    double value;    /* of its program */
    uint32_t family; /* to divide it by; UINT32_MAX: none */
    uint32_t most;   /* of which it has so many, and a part of one more */
};

/* What all leaves share. */
struct leaves {
    struct generate *g;
    const struct cover_problem *p; /* g's, or that with seats */
    uint64_t *of_use;              /* bins that may hold an item */
    double *used;                  /* scratch per family */
    struct arena arena;            /* of the program, */
    struct seated *program;        /* that of this leaf: */
    const struct leaf *leaf;       /* NULL: none */
};

/* seats: g's, or NULL. */
void leaves_make(struct generate *g, const struct seats *seats,
                 struct leaves *ret);
void leaves_done(struct leaves *x);

/* All plans; seated: NULL without seats.  It is settled. */
void leaf_whole(struct leaves *x, const struct seated *seated,
                struct leaf *ret);

/* Raises its bound, until g's work is `until`. */
void leaf_run(struct leaves *x, struct leaf *leaf, uint64_t nodes,
              uint64_t until);

/* Is its bound as good as its program, of that value, lets it be? */
bool leaf_proved(const struct leaf *leaf, double value);

/* The plans of a settled leaf with a family to divide it by. */
void leaf_divide(struct leaves *x, const struct leaf *leaf,
                 struct leaf *ret_fewer, struct leaf *ret_more);

#endif
