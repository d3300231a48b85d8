/*
 * lp.h - a small linear program whose columns come while it is being solved:
 *
 *     min c x    A x >= b  (cover rows)    G x <= h  (limit rows)    x >= 0
 *
 * with b, h >= 0.  An upper bound on a variable is a limit row with one entry.
 * Made for a few hundred to a thousand rows and sparse columns; kept warm from
 * one solve to the next.  Its doubles are advice: what must be true is proved
 * elsewhere in integers.  Pure, deterministic; memory from the arena; one
 * thread.
 */
#ifndef PLAN_LP_H
#define PLAN_LP_H

#include "../../base/arena.h"

#include <stdbool.h>

struct lp;

enum lp_end {
    LP_OPTIMAL,
    LP_STOPPED, /* out of iterations or steps */
    LP_BROKEN,  /* unbounded or infeasible, or the numbers went wrong */
};

/* Entry of a column: value in a row. */
struct lp_entry {
    uint32_t row;
    float value;
};

/* rhs: b, then h.  The starting basis is the caller's: the first n_cover
 * lp_add() calls give one column for each cover row, in order, with its only
 * entry, above 0, in that row (mostly a dear stand-in for "not covered"). */
struct lp *lp_make(struct arena *arena, uint32_t n_cover, uint32_t n_limit,
                   const double *rhs);

/* A new column; its number counts from 0.  Entries in any order, no row twice.
 * scale: what its reduced cost is measured by, its cost unless that is 0. */
uint32_t lp_add(struct lp *lp, double cost, double scale,
                const struct lp_entry *entry, uint32_t n);
uint32_t lp_columns(const struct lp *lp);

/* Needs a primal feasible basis: after lp_make(), lp_add(), or an optimum. */
enum lp_end lp_primal(struct lp *lp, uint32_t iterations);
/* Needs a dual feasible basis: an optimum whose rhs was set anew. */
enum lp_end lp_dual(struct lp *lp, uint32_t iterations);
/* Both stop soon after so many counted steps (lp_work()); at first there is no limit. */
void lp_stop_at(struct lp *lp, uint64_t work);
/* Keeps the basis as it is, for lp_recall(); one of each kind.  Recalled it is good
 * for the same right-hand sides, which the caller sets first. */
enum lp_kept { LP_KEPT_WHOLE, LP_KEPT_FREE, LP_KEPT };
void lp_keep(struct lp *lp, enum lp_kept as);
void lp_recall(struct lp *lp, enum lp_kept as);
/* Back to the starting basis, columns kept. */
void lp_restart(struct lp *lp);
/* to: from lp_make() with as many rows of each kind, in the same arena; becomes
 * what `from` is, basis and counted steps too. */
void lp_copy(struct lp *to, const struct lp *from);
void lp_set_rhs(struct lp *lp, const double *rhs);
/* Other costs of the first n columns; the basis stays. */
void lp_set_costs(struct lp *lp, const double *cost, uint32_t n);

double lp_value(const struct lp *lp);
/* Per row: >= 0 of a cover row, <= 0 of a limit row at an optimum. */
const double *lp_duals(const struct lp *lp);
/* Per basic variable: its column (or UINT32_MAX: a slack) and its value. */
uint32_t lp_rows(const struct lp *lp);
uint32_t lp_basic(const struct lp *lp, uint32_t k, double *ret_x);
double lp_reduced_cost(const struct lp *lp, uint32_t column);

uint64_t lp_work(const struct lp *lp); /* counted steps so far */

#endif
