/*
 * cover_dive.h - from the linear program's fractions to whole bins.
 *
 * Private to cover_*.c.
 */
#ifndef PLAN_COVER_DIVE_H
#define PLAN_COVER_DIVE_H

#include "cover_generate.h"
#include "cover_greedy.h"

struct dive {
    const struct view *v;
    struct generate *g;
    struct greedy *greedy;
    struct draft draft, trial;
    struct room room;
    double *worth;            /* duals of the present residual */
    double *fraction;         /* scratch: columns by their fraction */
    uint32_t *column;
    uint64_t work;            /* of the greedy */
};

void dive_make(struct generate *g, struct greedy *greedy, struct dive *ret);

/* Fixes patterns step by step until all is placed or `until` is reached (work
 * as generate_work() + dive.work counts it); whatever better plan comes up on
 * the way goes to best.  Leaves the program at what was left last. */
void dive_run(struct dive *x, uint64_t until, struct draft *best);

#endif
