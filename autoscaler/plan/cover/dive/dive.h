/*
 * dive.h - from the linear program's fractions to whole bins.
 *
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_DIVE_DIVE_H
#define PLAN_COVER_DIVE_DIVE_H

#include "../generate.h"
#include "../greedy.h"
#include "pool.h"

struct dive {
    const struct view *v;
    struct generate *g;
    struct greedy *greedy, *again; /* again: its fills are filled anew */
    struct pool *pool;
    struct partial partial, trial, rest, from;
    struct space space;
    const double *learnt; /* what items are worth, as buying anew has learnt it */
    double *worth;        /* duals of the present residual */
    double *weight;       /* scratch */
    uint32_t looked_at;   /* numbers of bins that have been, a bit each */
    double *fraction;     /* scratch: columns by their fraction */
    uint32_t *column, *left;
    double *flow; /* per exchange: what the LP still moves */
    VEC(struct cover_part) parts;
    double worthy;
    bool dived;     /* before: the program is at some residual */
    bool useless;   /* the last one by the pool: nothing better came of it */
    bool single;    /* of one step: the program does not follow it */
    bool cheapened; /* dive_cheaply() has begun */
};

/* greedy: one that can sort BY_PRICED; again: one that fills anew.  learnt: is read
 * when a dive begins. */
void dive_make(struct generate *g, struct greedy *greedy, struct greedy *again,
               struct pool *pool, const double *learnt, struct dive *ret);

/* The program is for the whole demand again, not for what a dive has left. */
void dive_undo(struct dive *x);
/* The same; and no number of bins is asked for any more. */
void dive_free(struct dive *x);

/* Fixes patterns step by step until all is placed or `until` is reached (as
 * generate_work() counts it); whatever better plan comes up on the way goes to
 * best.  worthy: the part of its price that a bin whose content
 * had to be changed must still be worth.  steps: at least so many, each buys at
 * most that part of what is left. */
void dive_run(struct dive *x, uint64_t until, double worthy, double steps,
              struct partial *best);

/* The same with no columns but those of the pool, and what the greedy meets on the
 * way: a tenth of the work.  First the numbers of dear bins become whole, and stay so
 * for later dives. */
void dive_by_pool(struct dive *x, uint64_t until, struct partial *best);

/* The same where the program takes long to solve (many shapes, little time): at first
 * what no column covers costs what it has been learnt to be worth, and more and more
 * until all is covered.  What is not when three fifths of the work are used up is bought by the
 * greedy.  Goes on where the last one was cut short. */
void dive_cheaply(struct dive *x, uint64_t until, struct partial *best);

#endif
