/*
 * rebuy.h - the worst bins of a plan are given back and bought anew by the
 * greedy, again and again, a tenth to a half of its cost at a time.
 *
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_REBUY_H
#define PLAN_COVER_REBUY_H

#include "dive/pool.h"
#include "greedy.h"

/* For greedy_make(): twice as often gains less than twice as many tries. */
enum { ANEW = 8 };

struct rebuy {
    struct greedy *greedy;
    struct partial *best;         /* what is bettered */
    struct partial *trial, *from; /* scratch */
    struct space *space;          /* scratch */
    struct pool *pool;            /* gets the good fills; may be NULL */
    double *weight;               /* learns from every trial */
    const struct alike *like;     /* as weight_learn() has it */
    double dearer; /* what may be gone on from: as a part of the best's cost, at
                     * first; less and less */
    int64_t enough;   /* a cost at which better is of no use */
    uint32_t fixed;   /* the first so many patterns of the best stay */
    uint32_t useless; /* it ends after so many tries of no use */
};

/* Until the work is used up or it is of no more use, or until `stop` if that is
 * less: then the best is as good as it has become on the way.  Returns the counted
 * work. */
uint64_t rebuy_run(struct rebuy *x, uint64_t most, uint64_t stop);

#endif
