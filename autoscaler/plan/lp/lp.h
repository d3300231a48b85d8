/*
 * lp.h - a small linear program: least cost, rows of "at least" and "at most",
 * variables >= 0, columns added while it is being solved.
 *
 * A revised simplex with a dense inverse, kept warm from one solve to the
 * next; made for a few hundred to a thousand rows and sparse columns.  Its
 * doubles are advice: what must be true is proved elsewhere in integers.
 * Pure, deterministic; memory from the arena; one thread.
 */
#ifndef PLAN_LP_H
#define PLAN_LP_H

#include "../../base/arena.h"

#include <stdbool.h>

struct lp;

enum lp_end {
    LP_OPTIMAL,
    LP_STOPPED, /* out of iterations */
    LP_BROKEN,  /* unbounded or infeasible: numbers went wrong */
};

/* Entry of a column: value in a row. */
struct lp_entry {
    uint32_t row;
    float value;
};

/* rows: the first n_cover are ">= rhs", the other n_limit "<= rhs", all rhs
 * >= 0.  The start is the caller's: one column for each cover row, given by
 * the first n_cover lp_add() calls, with its only entry in that row. */
struct lp *lp_make(struct arena *arena, uint32_t n_cover, uint32_t n_limit,
                   const double *rhs);

/* A new column; its number counts from 0.  Entries in any order, no row twice.
 * scale: what its reduced cost is measured by, its cost unless that is 0. */
uint32_t lp_add(struct lp *lp, double cost, double scale,
                const struct lp_entry *entry, uint32_t n);
uint32_t lp_columns(const struct lp *lp);

/* Needs a start or basis that is primal feasible: after lp_make, lp_add. */
enum lp_end lp_primal(struct lp *lp, uint32_t iterations);
/* Needs an optimal basis whose rhs was changed: after lp_set_rhs. */
enum lp_end lp_dual(struct lp *lp, uint32_t iterations);
/* Back to the start, columns kept. */
void lp_restart(struct lp *lp);
void lp_set_rhs(struct lp *lp, const double *rhs);
/* Bars a column from entering (it leaves when it can). */
void lp_bar(struct lp *lp, uint32_t column, bool barred);

double lp_value(const struct lp *lp);
const double *lp_duals(const struct lp *lp); /* per row */
/* Per basic variable: its column (or UINT32_MAX: a slack) and its value. */
uint32_t lp_rows(const struct lp *lp);
uint32_t lp_basic(const struct lp *lp, uint32_t k, double *ret_x);
double lp_reduced_cost(const struct lp *lp, uint32_t column);

uint64_t lp_work(const struct lp *lp); /* counted steps so far */

#endif
