/*
 * lp_inside.h - what lp.c and lp_dual.c share.  Nobody else includes it.
 */
#ifndef PLAN_LP_INSIDE_H
#define PLAN_LP_INSIDE_H

#include "lp.h"

#define TINY 1e-9  /* a value that counts as zero */
#define PIVOT 1e-6 /* smallest pivot */
#define SLACKNESS 1e-7
#define DRIFT 1e-6
#define REFACTOR 400 /* pivots */
#define SLACK UINT32_MAX

struct column {
    double cost, scale;
    uint32_t first, n;
    bool basic, barred;
};

struct ratio {
    uint32_t column;
    double size, reduced;
};

struct lp {
    struct arena *arena;
    uint32_t m, n_cover;
    double *rhs;
    VEC(struct column) col;
    VEC(struct lp_entry) entry;
    double *inv;     /* column c at inv + c * m */
    uint32_t *basis; /* column, or SLACK: of row slack_of[] */
    uint32_t *slack_of;
    bool *slack_basic;
    double *x, *y;
    struct ratio *ratio; /* candidates of the dual ratio test */
    uint32_t n_ratio, ratio_cap;
    double *slack_cost; /* not zero during lp_dual() only */
    double *true_cost;
    uint32_t true_cap;
    double *alpha, *rho;
    uint32_t *nz;
    uint32_t *was; /* scratch of a refactoring */
    bool *taken;
    uint32_t pivots;
    double mean_scale;
    bool started;
    uint64_t work;
};

static inline double lp_slack_sign(const struct lp *lp, uint32_t row)
{
    return row < lp->n_cover ? -1 : 1;
}

static inline double lp_basic_cost(const struct lp *lp, uint32_t k)
{
    return lp->basis[k] == SLACK ? lp->slack_cost[lp->slack_of[k]]
                                 : lp->col.v[lp->basis[k]].cost;
}

/* alpha = inverse times the column (slack: of row `column`). */
void lp_transform(struct lp *lp, bool slack, uint32_t column);
/* Row r of the inverse into rho. */
void lp_read_row(struct lp *lp, uint32_t r);
/* Values and duals from the inverse. */
void lp_recompute(struct lp *lp);
/* The inverse anew; false when the values then are not feasible. */
bool lp_refactor(struct lp *lp);
/* The variable whose column is in alpha takes place r. */
void lp_pivot_in(struct lp *lp, uint32_t r, bool slack, uint32_t column,
                 double reduced);
/* Have rounding errors piled up? */
bool lp_drifted(struct lp *lp);

#endif
