/*
 * simplex.h - what the files of lp/ share; nobody else includes it.
 *
 * With slacks the program is  min c x,  [A; G] x - S s = rhs,  x, s >= 0,
 * S = diag(+1 in cover rows, -1 in limit rows).  A basis is m of these
 * variables, one per place 0..m-1, whose columns B are not singular.  Kept for
 * it, and updated by every pivot:
 *
 *     inv = B^-1     x = inv rhs  (basic values)     y = c_B inv  (duals)
 *
 * The reduced cost of column j is d_j = c_j - y a_j.
 */
#ifndef PLAN_LP_SIMPLEX_H
#define PLAN_LP_SIMPLEX_H

#include "lp.h"

#define SLACK UINT32_MAX
#define PIVOT 1e-6   /* smallest pivot: a smaller one spoils the inverse */
#define REFACTOR 400 /* pivots from one inverse made anew to the next */

/* Harris' ratio tests let a value go wrong by so much where that buys a larger
 * pivot: x by SLACKNESS, d_j by SLACKNESS of the column's scale. */
#define SLACKNESS 1e-7

/* `scale` makes reduced costs of columns comparable. */
struct column {
    double cost, scale;
    double reduced, weight; /* primal.c's; only of what is not basic */
    uint32_t first, n;      /* into entry */
    bool basic;
};

/* One that may enter in the dual ratio test. */
struct ratio {
    uint32_t column;
    double size, reduced;
};

/* A basis and its inverse. */
struct kept {
    double *inv;
    uint32_t *basis, *slack_of;
    uint32_t pivots;
};

struct lp {
    struct arena *arena;
    uint32_t m, n_cover;
    double *rhs;
    VEC(struct column) col;
    VEC(struct lp_entry) entry;
    double *inv;     /* column c at inv + c * m */
    uint32_t *basis; /* per place: column, or SLACK: of row slack_of[] */
    uint32_t *slack_of;
    bool *slack_basic; /* per row */
    double *x, *y;
    double *slack_cost;   /* per row; not zero during lp_dual() only */
    double *slack_weight; /* per row; primal.c's */
    double *row_weight;   /* per place; dual.c's */
    uint32_t n_weighed;   /* columns that have a weight; 0: slacks neither */
    double mean_scale;    /* that of slacks */
    double *alpha;        /* inv times the entering column */
    double *rho;          /* the row of inv that is pivoted on */
    VEC(struct ratio) ratio;
    double *true_cost; /* of columns, while lp_dual() perturbs them */
    uint32_t true_cap;
    uint32_t *nz, *was;        /* scratch */
    bool *taken;               /* scratch */
    uint32_t pivots;           /* since the inverse was made anew */
    bool started;              /* there is a basis */
    struct kept kept[LP_KEPT]; /* inv NULL: none */
    uint64_t work, stop;
};

/* The only entry of a row's slack. */
static inline double slack_sign(const struct lp *lp, uint32_t row)
{
    return row < lp->n_cover ? -1 : 1;
}

static inline double basic_cost(const struct lp *lp, uint32_t k)
{
    return lp->basis[k] == SLACK ? lp->slack_cost[lp->slack_of[k]]
                                 : lp->col.v[lp->basis[k]].cost;
}

/* The starting basis: the caller's columns, the limit rows' slacks. */
void basis_start(struct lp *lp);
/* x and y from the inverse. */
void basis_recompute(struct lp *lp);
/* The inverse anew; false when a value is below zero then. */
bool basis_refactor(struct lp *lp);
/* Have rounding errors piled up? */
bool basis_drifted(struct lp *lp);

/* alpha = inv times the column (slack: that of row `column`). */
void basis_transform(struct lp *lp, bool slack, uint32_t column);
/* rho = row r of the inverse. */
void basis_read_row(struct lp *lp, uint32_t r);
/* The variable whose column is in alpha takes place r, whose row of the inverse
 * is in rho; reduced: its d_j. */
void basis_pivot(struct lp *lp, uint32_t r, bool slack, uint32_t column,
                 double reduced);

#endif
