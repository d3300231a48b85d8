/*
 * primal.c - the primal simplex: from one feasible basis to a cheaper one.
 *
 * Pricing is Dantzig's rule with each reduced cost measured by its column's
 * scale; a slack whose dual has the wrong sign goes first.  The ratio test is
 * Harris' with tolerance SLACKNESS: of all places that may leave, the largest
 * pivot.  With costs and columns as the covers have them that has been enough
 * not to cycle; lp_end says so if it was not.
 */
#include "simplex.h"

#define OPTIMAL 1e-7    /* a reduced cost over its scale no worse than -this */
#define LEAST_COST 1e-9 /* and in the costs' own unit */
#define WRONG_SIGN 1e-7 /* a slack's dual, in the costs' own unit */
#define CHECKED_EVERY 100 /* pivots: has the inverse drifted? */

/* The slack whose dual has the wrong sign, put right at once: its row. */
static uint32_t wrong_slack(const struct lp *lp)
{
    for (uint32_t r = 0; r < lp->m; r++)
        if (!lp->slack_basic[r] && -slack_sign(lp, r) * lp->y[r] <= -WRONG_SIGN)
            return r;
    return SLACK;
}

/* The variable that enters, false: the basis is optimal. */
static bool choose_entering(struct lp *lp, bool *ret_slack, uint32_t *ret,
                            double *ret_reduced)
{
    double best = OPTIMAL;
    uint32_t row;
    bool found = false;

    *ret_slack = false;
    for (uint32_t j = 0; j < lp->col.n; j++) {
        const struct column *c = &lp->col.v[j];
        double d, rate;

        if (c->basic)
            continue;
        d = lp_reduced_cost(lp, j);
        rate = -d / c->scale;
        if (d < -LEAST_COST && rate > best) {
            best = rate;
            *ret = j;
            *ret_reduced = d;
            found = true;
        }
        lp->work += c->n;
    }
    row = wrong_slack(lp);
    if (row == SLACK)
        return found;
    *ret_slack = true;
    *ret = row;
    *ret_reduced = -slack_sign(lp, row) * lp->y[row];
    return true;
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
    if (!lp->started)
        basis_start(lp);
    for (uint32_t it = 0; it < iterations; it++) {
        bool slack = false;
        uint32_t column = 0, r;
        double reduced = 0;

        if (lp->pivots >= REFACTOR ||
            (lp->pivots % CHECKED_EVERY == CHECKED_EVERY - 1 &&
             basis_drifted(lp)))
            if (!basis_refactor(lp))
                return LP_BROKEN;
        if (!choose_entering(lp, &slack, &column, &reduced))
            return LP_OPTIMAL;
        basis_transform(lp, slack, column);
        r = choose_leaving(lp);
        if (r == lp->m)
            return LP_BROKEN;
        basis_pivot(lp, r, slack, column, reduced);
    }
    return LP_STOPPED;
}
