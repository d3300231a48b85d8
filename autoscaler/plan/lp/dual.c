/*
 * lp_dual.c - the dual simplex: after the right-hand sides have changed.
 *
 * Costs are disturbed a little while it runs, each by its own amount, and the
 * ratio test is Harris' one: without both it circles on covering problems.
 */
#include "inside.h"

#include <string.h>

/* The row entry of a variable that is not basic (rho holds the row), and its
 * reduced cost; 0 when it may not enter. */
static double dual_entry(struct lp *lp, uint32_t j, double *ret_reduced,
                         double *ret_scale)
{
    double a = 0;

    if (j >= lp->col.n) {
        uint32_t row = j - lp->col.n;

        if (lp->slack_basic[row])
            return 0;
        *ret_reduced =
            lp->slack_cost[row] - lp_slack_sign(lp, row) * lp->y[row];
        *ret_scale = lp->mean_scale;
        return lp_slack_sign(lp, row) * lp->rho[row];
    }
    if (lp->col.v[j].basic || lp->col.v[j].barred)
        return 0;
    for (uint32_t k = 0; k < lp->col.v[j].n; k++) {
        struct lp_entry e = lp->entry.v[lp->col.v[j].first + k];

        a += lp->rho[e.row] * (double)e.value;
    }
    lp->work += lp->col.v[j].n;
    *ret_scale = lp->col.v[j].scale;
    if (a < -PIVOT)
        *ret_reduced = lp_reduced_cost(lp, j);
    return a;
}

/* Smallest ratio of reduced cost to row entry, Harris' way: what keeps the
 * duals right.  Column numbers from col.n on are slacks. */
static bool choose_dual_entering(struct lp *lp, uint32_t *ret,
                                 double *ret_reduced)
{
    double least = 1e300, size = 0;

    lp->n_ratio = 0;
    for (uint32_t j = 0; j < lp->col.n + lp->m; j++) {
        double d = 0, scale = 0, a = dual_entry(lp, j, &d, &scale), ratio;

        if (a >= -PIVOT)
            continue;
        ratio = ((d > 0 ? d : 0) + 1e-7 * scale) / -a;
        if (ratio < least)
            least = ratio;
        if (lp->n_ratio == lp->ratio_cap)
            arena_grow_(lp->arena, (void **)&lp->ratio, &lp->ratio_cap,
                        lp->n_ratio, sizeof *lp->ratio);
        lp->ratio[lp->n_ratio++] = (struct ratio){j, -a, d};
    }
    for (uint32_t k = 0; k < lp->n_ratio; k++)
        if (lp->ratio[k].reduced <= least * lp->ratio[k].size &&
            lp->ratio[k].size > size) {
            size = lp->ratio[k].size;
            *ret = lp->ratio[k].column;
            *ret_reduced = lp->ratio[k].reduced;
        }
    return size > 0;
}

/* Costs of all that is not basic go up a little, each by its own amount: no
 * two ratios are equal then, and the dual simplex does not circle. */
static void disturb(struct lp *lp)
{
    uint64_t seed = 88172645463325252u;

    if (lp->true_cap < lp->col.n) {
        lp->true_cap = lp->col.n + 1024;
        lp->true_cost = ARENA_ARRAY(lp->arena, double, lp->true_cap);
    }
    for (uint32_t j = 0; j < lp->col.n + lp->m; j++) {
        double f;

        seed = seed * 6364136223846793005u + 1442695040888963407u;
        f = 1e-5 * (1 + (double)(seed >> 40) / (1 << 24));
        if (j < lp->col.n) {
            struct column *c = &lp->col.v[j];

            lp->true_cost[j] = c->cost;
            if (!c->basic)
                c->cost += f * c->scale;
        } else if (!lp->slack_basic[j - lp->col.n]) {
            lp->slack_cost[j - lp->col.n] = f * lp->mean_scale;
        }
    }
}

static void settle(struct lp *lp)
{
    for (uint32_t j = 0; j < lp->col.n; j++)
        lp->col.v[j].cost = lp->true_cost[j];
    memset(lp->slack_cost, 0, lp->m * sizeof *lp->slack_cost);
    lp_recompute(lp);
}

static enum lp_end dual(struct lp *lp, uint32_t iterations)
{
    for (uint32_t it = 0; it < iterations; it++) {
        uint32_t r = lp->m, column = 0;
        double worst = -1e-6, reduced = 0, size;

        if (lp->pivots >= REFACTOR || (lp->pivots % 50 == 49 && lp_drifted(lp)))
            lp_refactor(lp);
        for (uint32_t k = 0; k < lp->m; k++)
            if (lp->x[k] < worst) {
                worst = lp->x[k];
                r = k;
            }
        if (r == lp->m)
            return LP_OPTIMAL;
        lp_read_row(lp, r);
        if (!choose_dual_entering(lp, &column, &reduced))
            return LP_BROKEN;
        size = -1;
        for (uint32_t k = 0; k < lp->n_ratio; k++)
            if (lp->ratio[k].column == column)
                size = lp->ratio[k].size;
        lp_transform(lp, column >= lp->col.n,
                     column >= lp->col.n ? column - lp->col.n : column);
        if (-lp->alpha[r] < 0.9 * size || -lp->alpha[r] > 1.1 * size) {
            /* Row and column disagree: the inverse is worn out. */
            if (!lp->pivots)
                return LP_BROKEN;
            lp_refactor(lp);
            continue;
        }
        if (reduced < 0) {
            /* Slightly wrong already: its cost gives way, for now. */
            if (column >= lp->col.n)
                lp->slack_cost[column - lp->col.n] -= reduced;
            else
                lp->col.v[column].cost -= reduced;
            reduced = 0;
        }
        lp_pivot_in(lp, r, column >= lp->col.n,
                    column >= lp->col.n ? column - lp->col.n : column, reduced);
    }
    return LP_STOPPED;
}

enum lp_end lp_dual(struct lp *lp, uint32_t iterations)
{
    enum lp_end end;

    disturb(lp);
    end = dual(lp, iterations);
    settle(lp);
    return end;
}
