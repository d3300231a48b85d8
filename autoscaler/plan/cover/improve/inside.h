/*
 * inside.h - what the files of this folder share: a plan that is bettered.
 *
 * Private to plan/cover/improve/.
 */
#ifndef PLAN_COVER_IMPROVE_INSIDE_H
#define PLAN_COVER_IMPROVE_INSIDE_H

#include "../bound.h"
#include "../dive/dive.h"
#include "../ruin.h"

#define PROVED 1e-5 /* a gap at which looking on is no use */
/* Steps a shape: in a shorter stage a dive is of no use, in less time ruin and recreate
 * comes to nothing. */
#define DIVE_LEAST UINT64_C(80000)
#define RUIN_LEAST UINT64_C(6000)

struct improve {
    struct view v;
    struct generate g;
    struct dive dive;
    struct pool pool;
    struct ruin *ruin;
    struct greedy *greedy, *again; /* again: its fills are filled anew */
    struct partial trial, best, from;
    struct space space;
    double *worth;
    uint64_t used;  /* work that g does not count */
    uint64_t stop;  /* the budget */
    bool lp, begun; /* a linear program; it has columns */
    bool fed;       /* some of the pool's */
    int n_dives;
    /* Without a linear program: weights of like items, a bound by other means. */
    struct alike like;
    bool priced;   /* prices of resources prove no more */
    bool between;  /* weights have learnt from the bound's */
    int64_t bound; /* -1: none */
    struct cover_proof proof;
};

/* ---- steps.c */

/* Counted steps until now, and what is left of the budget. */
uint64_t improve_work(const struct improve *x);
uint64_t improve_left(const struct improve *x);
/* Of any plan that leaves out as many items (micros an hour); -1: none. */
int64_t improve_bound(const struct improve *x);
/* Is the best plan as good as proved to be the best there is? */
bool improve_proved(const struct improve *x);
/* What greedy plans by worth over priced size need, and ruin and recreate: takes long of
 * many shapes, so it is made when it is needed. */
void improve_hands(struct improve *x);
/* The trial, each bin as small as its content, becomes the best if it is better. */
void improve_offer(struct improve *x);
/* The worst bins are bought anew; what that teaches about worths. */
const double *improve_anew(struct improve *x, uint64_t budget);
/* Weights that were learnt are more than items are worth, a bound's worths are less:
 * between the two, where there is no linear program to tell. */
const double *improve_worth(struct improve *x);
/* Ruin and recreate, up to `end`.  What is cut short has become as good as it was to
 * become until then. */
void improve_ruin(struct improve *x, uint64_t end);

/* ---- a stage but for ruin and recreate: program.c with a linear program, alone.c */

void improve_by_program(struct improve *x, uint64_t stage, uint64_t end);
void improve_alone(struct improve *x, uint64_t stage, uint64_t end);

#endif
