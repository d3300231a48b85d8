/*
 * primal.c - the primal simplex: from one feasible basis to a cheaper one.
 *
 * Pricing is Devex (Harris 1973; Forrest and Goldfarb 1992): a reduced cost is
 * measured by a weight that follows how far the pivots have stretched its
 * column, the square of the column's scale at first.  A fifth of the pivots of
 * Dantzig's rule are enough.  The ratio test is Harris' with tolerance SLACKNESS:
 * of all places that may leave, the largest pivot.  With costs and columns as the covers have them that has been enough
 * not to cycle; lp_end says so if it was not.
 */
#include "simplex.h"

#define OPTIMAL 1e-7    /* a reduced cost over its scale no worse than -this */
#define LEAST_COST 1e-9 /* and in the costs' own unit */
#define WRONG_SIGN 1e-7 /* a slack's dual, in the costs' own unit */
#define CHECKED_EVERY 100 /* pivots: has the inverse drifted? */

static double square(double x)
{
    return x * x;
}

/* Reduced costs as they are now; new variables get a weight. */
static void price_anew(struct lp *lp)
{
    if (lp->n_weighed == 0)
        for (uint32_t r = 0; r < lp->m; r++)
            lp->slack_weight[r] = square(lp->mean_scale);
    for (uint32_t j = 0; j < lp->col.n; j++) {
        struct column *c = &lp->col.v[j];

        if (j >= lp->n_weighed)
            c->weight = square(c->scale);
        if (!c->basic)
            c->reduced = lp_reduced_cost(lp, j);
        lp->work += c->n;
    }
    lp->n_weighed = lp->col.n;
}

/* The variable that enters, false: the basis is optimal. */
static bool choose_entering(const struct lp *lp, bool *ret_slack, uint32_t *ret,
                            double *ret_reduced)
{
    double best = 0;

    for (uint32_t j = 0; j < lp->col.n; j++) {
        const struct column *c = &lp->col.v[j];
        double d = c->reduced;

        if (c->basic || d >= -LEAST_COST || d >= -OPTIMAL * c->scale ||
            d * d <= best * c->weight)
            continue;
        best = d * d / c->weight;
        *ret = j;
        *ret_slack = false;
        *ret_reduced = d;
    }
    for (uint32_t r = 0; r < lp->m; r++) {
        double d = -slack_sign(lp, r) * lp->y[r];

        if (lp->slack_basic[r] || d > -WRONG_SIGN ||
            d * d <= best * lp->slack_weight[r])
            continue;
        best = d * d / lp->slack_weight[r];
        *ret = r;
        *ret_slack = true;
        *ret_reduced = d;
    }
    return best > 0;
}

/* The variable at place r will not be basic. */
static void leaves(struct lp *lp, uint32_t r, double reduced, double weight)
{
    double least;

    if (lp->basis[r] == SLACK) {
        least = square(lp->mean_scale);
        lp->slack_weight[lp->slack_of[r]] = weight > least ? weight : least;
    } else {
        struct column *c = &lp->col.v[lp->basis[r]];

        least = square(c->scale);
        c->reduced = reduced;
        c->weight = weight > least ? weight : least;
    }
}

/* Before the pivot: reduced costs and weights as they will be.  The pivot's row
 * is in rho. */
static void follow(struct lp *lp, uint32_t r, bool slack, uint32_t column,
                   double reduced)
{
    const double pivot = lp->alpha[r], rate = reduced / pivot;
    const double weight = (slack ? lp->slack_weight[column]
                                 : lp->col.v[column].weight) /
                          square(pivot);

    for (uint32_t j = 0; j < lp->col.n; j++) {
        struct column *c = &lp->col.v[j];
        const struct lp_entry *e = lp->entry.v + c->first;
        double a = 0;

        if (c->basic)
            continue;
        for (uint32_t k = 0; k < c->n; k++)
            a += lp->rho[e[k].row] * (double)e[k].value;
        lp->work += c->n;
        c->reduced -= rate * a;
        if (square(a) * weight > c->weight)
            c->weight = square(a) * weight;
    }
    for (uint32_t k = 0; k < lp->m; k++)
        if (square(lp->rho[k]) * weight > lp->slack_weight[k])
            lp->slack_weight[k] = square(lp->rho[k]) * weight;
    leaves(lp, r, -rate, weight);
}

/* The place that leaves: x_r / alpha_r within what keeps all x >= -SLACKNESS,
 * of those the largest alpha_r.  m: none, the program has no bound. */
static uint32_t choose_leaving(const struct lp *lp)
{
    uint32_t best = lp->m;
    double least = 1e300;

    for (uint32_t r = 0; r < lp->m; r++) {
        double x = lp->x[r] > 0 ? lp->x[r] : 0;

        if (lp->alpha[r] > PIVOT && (x + SLACKNESS) / lp->alpha[r] < least)
            least = (x + SLACKNESS) / lp->alpha[r];
    }
    for (uint32_t r = 0; r < lp->m; r++)
        if (lp->alpha[r] > PIVOT && lp->x[r] / lp->alpha[r] <= least &&
            (best == lp->m || lp->alpha[r] > lp->alpha[best]))
            best = r;
    return best;
}

enum lp_end lp_primal(struct lp *lp, uint32_t iterations)
{
    bool fresh = true; /* reduced costs are not what pivots made of them */

    if (!lp->started)
        basis_start(lp);
    price_anew(lp);
    for (uint32_t it = 0; it < iterations && lp->work < lp->stop; it++) {
        bool slack = false;
        uint32_t column = 0, r;
        double reduced = 0;

        if (lp->pivots >= REFACTOR ||
            (lp->pivots % CHECKED_EVERY == CHECKED_EVERY - 1 &&
             basis_drifted(lp))) {
            if (!basis_refactor(lp))
                return LP_BROKEN;
            price_anew(lp);
            fresh = true;
        }
        while (!choose_entering(lp, &slack, &column, &reduced)) {
            if (fresh)
                return LP_OPTIMAL;
            price_anew(lp);
            fresh = true;
        }
        basis_transform(lp, slack, column);
        r = choose_leaving(lp);
        if (r == lp->m)
            return LP_BROKEN;
        basis_read_row(lp, r);
        follow(lp, r, slack, column, reduced);
        basis_pivot(lp, r, slack, column, reduced);
        fresh = false;
    }
    return LP_STOPPED;
}
