/*
 * interior.h - a linear program of prices, solved from the inside.
 *
 * To be found are prices z >= 0 and, for each item, a worth w:
 *
 *   most    sum of demand x w  +  sum of gain x z
 *   so that w of an item <= base + share x z      for each of its pairs (item, bin)
 *           the sum of coef x z <= price          for each bin
 *
 * It is the dual of the program that assigns parts of items to bins.  Numbers are
 * hints here: whoever uses the prices proves what they come to.
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_INTERIOR_H
#define PLAN_COVER_INTERIOR_H

#include "../../../base/arena.h"

/* Of a row: so much of this price. */
struct interior_term {
    uint32_t var;
    double coef;
};

struct interior {
    struct arena *arena;
    uint32_t n_vars, n_items, n_bins, n_pairs;
    double *gain;   /* per price */
    double *demand; /* per item, > 0 */
    double *price;  /* per bin */
    double *base;   /* per pair */
    VEC(struct interior_term) term;
    /* The terms of row k end where those of k + 1 begin: bins, then pairs. */
    VEC(uint32_t) row;
    uint32_t *first; /* per item: its first pair; one more */
};

/* About how many counted steps it takes to solve it. */
uint64_t interior_cost(const struct interior *x);

/* The primal's value.  z: prices to start from, inside all bins; then the answer.  use:
 * how much of each bin the primal program buys.  It ends when the primal's value is no
 * more than `close` of the prices' value above that, or after a fixed number of steps.
 * Adds its counted steps to *work. */
double interior_solve(const struct interior *x, double close, double *z,
                      double *use, uint64_t *work);

#endif
