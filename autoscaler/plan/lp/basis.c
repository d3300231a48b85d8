/*
 * basis.c - the inverse of the basis, held explicitly by columns.
 *
 * A pivot is one step of Gauss and Jordan on it; duals and values follow.
 * After REFACTOR pivots, or when they have drifted, it is made anew.  It stays
 * sparse in practice, so zeros are skipped, and a pivot costs far less than
 * rows squared.
 */
#include "simplex.h"

#include <string.h>

#define NO_ENTRY 1e-12  /* of alpha: too small to be worth an update */
#define NO_FACTOR 1e-13 /* of rho over the pivot: the same */
#define SINGULAR 1e-9   /* no pivot in a column above it: dependent */
#define INFEASIBLE 1e-5 /* a value so far below zero is no rounding error */
#define DRIFT 1e-6      /* residual of a row, or of a basic reduced cost */

/* to += f * from, the inner loop of everything here. */
static void add_scaled(double *restrict to, const double *restrict from,
                       double f, uint32_t n)
{
    uint32_t k = 0;

    for (; k + 4 <= n; k += 4) {
        to[k] += f * from[k];
        to[k + 1] += f * from[k + 1];
        to[k + 2] += f * from[k + 2];
        to[k + 3] += f * from[k + 3];
    }
    for (; k < n; k++)
        to[k] += f * from[k];
}

void basis_transform(struct lp *lp, bool slack, uint32_t column)
{
    uint32_t m = lp->m;

    memset(lp->alpha, 0, m * sizeof *lp->alpha);
    if (slack) {
        add_scaled(lp->alpha, lp->inv + (size_t)column * m,
                   slack_sign(lp, column), m);
        lp->work += m / 2;
        return;
    }
    for (uint32_t k = 0; k < lp->col.v[column].n; k++) {
        struct lp_entry e = lp->entry.v[lp->col.v[column].first + k];

        add_scaled(lp->alpha, lp->inv + (size_t)e.row * m, (double)e.value, m);
    }
    lp->work += (uint64_t)m * lp->col.v[column].n / 4;
}

void basis_read_row(struct lp *lp, uint32_t r)
{
    for (uint32_t c = 0; c < lp->m; c++)
        lp->rho[c] = lp->inv[(size_t)c * lp->m + r];
    lp->work += lp->m;
}

/* The inverse after the variable with `alpha` has taken place r:
 * row r divided by alpha_r, alpha_k times that off every other row k. */
static void update_inverse(struct lp *lp, uint32_t r)
{
    uint32_t m = lp->m, n = 0;
    double pivot = lp->alpha[r];

    for (uint32_t k = 0; k < m; k++)
        if (k != r && (lp->alpha[k] > NO_ENTRY || lp->alpha[k] < -NO_ENTRY))
            lp->nz[n++] = k;
    for (uint32_t c = 0; c < m; c++) {
        double *col = lp->inv + (size_t)c * m;
        double f = lp->rho[c] / pivot;

        if (f < NO_FACTOR && f > -NO_FACTOR) {
            col[r] = 0;
            continue;
        }
        if (n * 4 < m) {
            for (uint32_t k = 0; k < n; k++)
                col[lp->nz[k]] -= f * lp->alpha[lp->nz[k]];
            lp->work += n;
        } else {
            add_scaled(col, lp->alpha, -f, m);
            lp->work += m / 4;
        }
        col[r] = f;
    }
    lp->work += m;
}

/* Who is basic at place r, and who no longer. */
static void set_place(struct lp *lp, uint32_t r, bool slack, uint32_t column)
{
    if (lp->basis[r] == SLACK)
        lp->slack_basic[lp->slack_of[r]] = false;
    else
        lp->col.v[lp->basis[r]].basic = false;
    if (slack) {
        lp->basis[r] = SLACK;
        lp->slack_of[r] = column;
        lp->slack_basic[column] = true;
    } else {
        lp->basis[r] = column;
        lp->col.v[column].basic = true;
    }
}

/* With the step x_r / alpha_r of the entering variable: x -= step alpha,
 * y += (d / alpha_r) rho. */
void basis_pivot(struct lp *lp, uint32_t r, bool slack, uint32_t column,
                 double reduced)
{
    uint32_t m = lp->m;
    double step = lp->x[r] / lp->alpha[r];

    if (step < 0 && lp->alpha[r] > 0)
        step = 0; /* a primal step never goes back */
    add_scaled(lp->y, lp->rho, reduced / lp->alpha[r], m);
    add_scaled(lp->x, lp->alpha, -step, m);
    lp->x[r] = step;
    update_inverse(lp, r);
    set_place(lp, r, slack, column);
    lp->pivots++;
}

void basis_recompute(struct lp *lp)
{
    uint32_t m = lp->m;

    memset(lp->x, 0, m * sizeof *lp->x);
    for (uint32_t c = 0; c < m; c++) {
        const double *col = lp->inv + (size_t)c * m;
        double y = 0;

        if (lp->rhs[c] != 0)
            add_scaled(lp->x, col, lp->rhs[c], m);
        for (uint32_t k = 0; k < m; k++)
            if (col[k] != 0)
                y += basic_cost(lp, k) * col[k];
        lp->y[c] = y;
    }
    lp->work += (uint64_t)m * m / 2;
}

/* The caller's first columns are dear: a slack is measured by a tenth of their
 * scale on average. */
void basis_start(struct lp *lp)
{
    uint32_t m = lp->m;

    for (uint32_t r = 0; r < m; r++) {
        lp->basis[r] = SLACK;
        lp->slack_of[r] = r;
        if (r < lp->n_cover) {
            lp->inv[(size_t)r * m + r] =
                1 / (double)lp->entry.v[lp->col.v[r].first].value;
            lp->basis[r] = r;
            lp->col.v[r].basic = true;
        } else {
            lp->inv[(size_t)r * m + r] = 1;
            lp->slack_basic[r] = true;
        }
    }
    basis_recompute(lp);
    lp->mean_scale = 0;
    for (uint32_t r = 0; r < lp->n_cover; r++)
        lp->mean_scale += lp->col.v[r].scale / 10 / lp->n_cover;
    lp->started = true;
}

/* ---- the inverse anew */

/* The basic columns, those with few entries first; the basis becomes all
 * slacks, whose inverse is known.  Slacks that were basic keep their own row's
 * place (taken).  How many columns. */
static uint32_t basis_unmake(struct lp *lp)
{
    uint32_t m = lp->m, n = 0, *was = lp->was;

    for (uint32_t k = 0; k < m; k++)
        if (lp->basis[k] != SLACK) {
            was[n++] = lp->basis[k];
            lp->col.v[lp->basis[k]].basic = false;
        }
    for (uint32_t i = 1; i < n; i++) {
        uint32_t x = was[i], k = i;

        for (; k && lp->col.v[was[k - 1]].n > lp->col.v[x].n; k--)
            was[k] = was[k - 1];
        was[k] = x;
    }
    memset(lp->inv, 0, (size_t)m * m * sizeof *lp->inv);
    for (uint32_t r = 0; r < m; r++) {
        lp->taken[r] = lp->slack_basic[r];
        lp->inv[(size_t)r * m + r] = slack_sign(lp, r);
        lp->basis[r] = SLACK;
        lp->slack_of[r] = r;
        lp->slack_basic[r] = true;
    }
    return n;
}

static double size_of(double a)
{
    return a < 0 ? -a : a;
}

/* The free place with the largest pivot in alpha; m: none is large enough. */
static uint32_t largest_pivot(const struct lp *lp)
{
    uint32_t best = lp->m;

    for (uint32_t r = 0; r < lp->m; r++)
        if (!lp->taken[r] && size_of(lp->alpha[r]) > SINGULAR &&
            (best == lp->m || size_of(lp->alpha[r]) > size_of(lp->alpha[best])))
            best = r;
    return best;
}

bool basis_refactor(struct lp *lp)
{
    uint32_t n = basis_unmake(lp);

    for (uint32_t i = 0; i < n; i++) {
        uint32_t best;

        basis_transform(lp, false, lp->was[i]);
        best = largest_pivot(lp);
        if (best == lp->m)
            continue; /* dependent: a slack stays in its stead */
        basis_read_row(lp, best);
        update_inverse(lp, best);
        set_place(lp, best, false, lp->was[i]);
        lp->taken[best] = true;
    }
    lp->pivots = 0;
    basis_recompute(lp);
    for (uint32_t k = 0; k < lp->m; k++)
        if (lp->x[k] < -INFEASIBLE)
            return false;
    return true;
}

/* Is B x = rhs, row by row, and d_j = 0 of every basic column? */
bool basis_drifted(struct lp *lp)
{
    uint32_t m = lp->m;

    memcpy(lp->rho, lp->rhs, m * sizeof *lp->rho);
    for (uint32_t k = 0; k < m; k++) {
        uint32_t j = lp->basis[k], row = lp->slack_of[k];

        if (j == SLACK) {
            lp->rho[row] -= slack_sign(lp, row) * lp->x[k];
            continue;
        }
        for (uint32_t q = 0; q < lp->col.v[j].n; q++) {
            struct lp_entry e = lp->entry.v[lp->col.v[j].first + q];

            lp->rho[e.row] -= (double)e.value * lp->x[k];
        }
        if (size_of(lp_reduced_cost(lp, j)) > DRIFT * lp->col.v[j].scale)
            return true;
    }
    for (uint32_t r = 0; r < m; r++)
        if (size_of(lp->rho[r]) > DRIFT * (1 + lp->rhs[r]))
            return true;
    return false;
}
