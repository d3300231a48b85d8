/*
 * cover_anew.h - the worst bins of a plan are given back and bought anew by the
 * greedy, again and again, a tenth to a half of its cost at a time.
 *
 * Private to cover_*.c.
 */
#ifndef PLAN_COVER_ANEW_H
#define PLAN_COVER_ANEW_H

#include "cover_greedy.h"

struct anew {
    struct greedy *greedy;
    unsigned sizes;           /* for greedy_run() */
    struct draft *best;       /* what is bettered */
    struct draft *trial;      /* scratch */
    struct room *room;        /* scratch */
    double *weight;           /* learns from every trial */
};

/* Until the work is used up or it is of no more use; the counted work. */
uint64_t anew_run(struct anew *x, uint64_t most);

#endif
