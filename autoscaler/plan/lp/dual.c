/*
 * dual.c - the dual simplex: after the right-hand sides have changed.
 *
 * The value furthest below zero, by Devex weights, leaves; of the columns with a
 * negative entry in its row the one enters whose reduced cost is used up first
 * (Harris' ratio test, tolerance SLACKNESS of its scale).  Costs are perturbed while it runs,
 * each by its own amount: on covering problems, full of ties, it cycles
 * without.  Variables are numbered: columns, then the slack of each row.
 */
#include "simplex.h"

#include <string.h>

#define PERTURB 1e-5     /* of its scale a cost goes up, at most twice that */
#define FEASIBLE 1e-6    /* a value no further below zero may stay */
#define CHECKED_EVERY 50 /* pivots: has the inverse drifted? */
#define AGREE 0.1        /* pivot by row and by column differ by this part */

static bool is_slack(const struct lp *lp, uint32_t j)
{
    return j >= lp->col.n;
}

/* The cost of j as it is now; it is perturbed while lp_dual() runs. */
static double *cost_of(struct lp *lp, uint32_t j)
{
    return is_slack(lp, j) ? &lp->slack_cost[j - lp->col.n]
                           : &lp->col.v[j].cost;
}

/* The entry of variable j in the pivot row (rho holds that row of the
 * inverse), with its reduced cost and scale; 0 when it may not enter. */
static double row_entry(struct lp *lp, uint32_t j, double *ret_reduced,
                        double *ret_scale)
{
    double a = 0;

    if (is_slack(lp, j)) {
        uint32_t row = j - lp->col.n;

        if (lp->slack_basic[row])
            return 0;
        *ret_reduced = lp->slack_cost[row] - slack_sign(lp, row) * lp->y[row];
        *ret_scale = lp->mean_scale;
        return slack_sign(lp, row) * lp->rho[row];
    }
    if (lp->col.v[j].basic)
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

/* The smallest d_j / -entry keeps all d_j >= 0; within the tolerance the
 * largest entry is taken.  size 0: none, the program has no solution. */
static struct ratio choose_entering(struct lp *lp)
{
    struct ratio best = {0};
    double least = 1e300;

    lp->ratio.n = 0;
    for (uint32_t j = 0; j < lp->col.n + lp->m; j++) {
        double d = 0, scale = 0, a = row_entry(lp, j, &d, &scale), ratio;

        if (a >= -PIVOT)
            continue;
        ratio = ((d > 0 ? d : 0) + SLACKNESS * scale) / -a;
        if (ratio < least)
            least = ratio;
        VEC_PUSH(lp->arena, &lp->ratio, ((struct ratio){j, -a, d}));
    }
    for (uint32_t k = 0; k < lp->ratio.n; k++)
        if (lp->ratio.v[k].reduced <= least * lp->ratio.v[k].size &&
            lp->ratio.v[k].size > best.size)
            best = lp->ratio.v[k];
    return best;
}

/* The place with the value furthest below zero by its weight; m: all are
 * feasible. */
static uint32_t choose_leaving(const struct lp *lp)
{
    uint32_t r = lp->m;
    double worst = 0;

    for (uint32_t k = 0; k < lp->m; k++) {
        double x = lp->x[k];

        if (x < -FEASIBLE && x * x > worst * lp->row_weight[k]) {
            worst = x * x / lp->row_weight[k];
            r = k;
        }
    }
    return r;
}

/* Devex: a place's weight is about the square of how long its row of the inverse
 * is; before the pivot at r. */
static void weigh_rows(struct lp *lp, uint32_t r)
{
    double weight = lp->row_weight[r] / (lp->alpha[r] * lp->alpha[r]);

    for (uint32_t k = 0; k < lp->m; k++) {
        double w = lp->alpha[k] * lp->alpha[k] * weight;

        if (w > lp->row_weight[k])
            lp->row_weight[k] = w;
    }
    lp->row_weight[r] = weight > 1 ? weight : 1;
}

/* The pivot as the column has it is about what the row had? */
static bool agree(const struct lp *lp, uint32_t r, double size)
{
    return -lp->alpha[r] >= (1 - AGREE) * size &&
           -lp->alpha[r] <= (1 + AGREE) * size;
}

static enum lp_end dual(struct lp *lp, uint32_t iterations)
{
    for (uint32_t it = 0; it < iterations && lp->work < lp->stop; it++) {
        struct ratio enter;
        uint32_t r, number;

        if (lp->pivots >= REFACTOR ||
            (lp->pivots % CHECKED_EVERY == CHECKED_EVERY - 1 &&
             basis_drifted(lp)))
            basis_refactor(lp);
        r = choose_leaving(lp);
        if (r == lp->m)
            return LP_OPTIMAL;
        basis_read_row(lp, r);
        enter = choose_entering(lp);
        if (enter.size <= 0)
            return LP_BROKEN;
        number = is_slack(lp, enter.column) ? enter.column - lp->col.n
                                            : enter.column;
        basis_transform(lp, is_slack(lp, enter.column), number);
        if (!agree(lp, r, enter.size)) {
            /* The inverse is worn out. */
            if (!lp->pivots)
                return LP_BROKEN;
            basis_refactor(lp);
            continue;
        }
        if (enter.reduced < 0) {
            /* Slightly wrong already: its cost gives way, for now. */
            *cost_of(lp, enter.column) -= enter.reduced;
            enter.reduced = 0;
        }
        weigh_rows(lp, r);
        basis_pivot(lp, r, is_slack(lp, enter.column), number, enter.reduced);
    }
    return LP_STOPPED;
}

/* Costs of all that is not basic go up a little, each by its own amount: no
 * two ratios are equal then. */
static void perturb(struct lp *lp)
{
    uint64_t seed = 88172645463325252u;

    if (lp->true_cap < lp->col.n) {
        lp->true_cap = lp->col.n + 1024;
        lp->true_cost = ARENA_ARRAY(lp->arena, double, lp->true_cap);
    }
    for (uint32_t j = 0; j < lp->col.n + lp->m; j++) {
        double f;

        seed = seed * 6364136223846793005u + 1442695040888963407u;
        f = PERTURB * (1 + (double)(seed >> 40) / (1 << 24));
        if (!is_slack(lp, j)) {
            struct column *c = &lp->col.v[j];

            lp->true_cost[j] = c->cost;
            if (!c->basic)
                c->cost += f * c->scale;
        } else if (!lp->slack_basic[j - lp->col.n]) {
            lp->slack_cost[j - lp->col.n] = f * lp->mean_scale;
        }
    }
}

/* The true costs again. */
static void settle(struct lp *lp)
{
    for (uint32_t j = 0; j < lp->col.n; j++)
        lp->col.v[j].cost = lp->true_cost[j];
    memset(lp->slack_cost, 0, lp->m * sizeof *lp->slack_cost);
    basis_recompute(lp);
}

enum lp_end lp_dual(struct lp *lp, uint32_t iterations)
{
    enum lp_end end;

    for (uint32_t k = 0; k < lp->m; k++)
        lp->row_weight[k] = 1;
    lp->n_weighed = 0;
    perturb(lp);
    end = dual(lp, iterations);
    settle(lp);
    return end;
}
