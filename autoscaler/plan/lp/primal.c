/*
 * lp.c - the simplex: an explicit inverse by columns, duals and values kept up
 * to date by each pivot, made anew when they have drifted.
 *
 * The inverse stays sparse in practice, so zeros are skipped; a pivot costs
 * far less than rows squared.  Columns that have not been attractive for long
 * are left out of the search and looked at only when nothing else enters.
 */
#include "inside.h"

#include <string.h>

struct lp *lp_make(struct arena *arena, uint32_t n_cover, uint32_t n_limit,
                   const double *rhs)
{
    struct lp *lp = ARENA_NEW(arena, struct lp);
    uint32_t m = n_cover + n_limit;

    lp->arena = arena;
    lp->m = m;
    lp->n_cover = n_cover;
    lp->rhs = arena_copy(arena, rhs, m * sizeof *rhs);
    lp->inv = ARENA_ARRAY(arena, double, (size_t)m *m);
    lp->basis = ARENA_ARRAY(arena, uint32_t, m);
    lp->slack_of = ARENA_ARRAY(arena, uint32_t, m);
    lp->slack_basic = ARENA_ARRAY(arena, bool, m);
    lp->slack_cost = ARENA_ARRAY(arena, double, m);
    lp->x = ARENA_ARRAY(arena, double, m);
    lp->y = ARENA_ARRAY(arena, double, m);
    lp->alpha = ARENA_ARRAY(arena, double, m);
    lp->rho = ARENA_ARRAY(arena, double, m);
    lp->was = ARENA_ARRAY(arena, uint32_t, m);
    lp->taken = ARENA_ARRAY(arena, bool, m);
    lp->nz = ARENA_ARRAY(arena, uint32_t, m);
    return lp;
}

uint32_t lp_add(struct lp *lp, double cost, double scale,
                const struct lp_entry *entry, uint32_t n)
{
    struct column c = {cost, scale > TINY ? scale : TINY, lp->entry.n, n, false,
                       false};

    for (uint32_t k = 0; k < n; k++)
        VEC_PUSH(lp->arena, &lp->entry, entry[k]);
    VEC_PUSH(lp->arena, &lp->col, c);
    return lp->col.n - 1;
}

uint32_t lp_columns(const struct lp *lp)
{
    return lp->col.n;
}

void lp_bar(struct lp *lp, uint32_t column, bool barred)
{
    lp->col.v[column].barred = barred;
}

double lp_reduced_cost(const struct lp *lp, uint32_t column)
{
    const struct column *c = &lp->col.v[column];
    const struct lp_entry *e = lp->entry.v + c->first;
    double d = c->cost;

    for (uint32_t k = 0; k < c->n; k++)
        d -= lp->y[e[k].row] * (double)e[k].value;
    return d;
}

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

/* alpha = inverse times the column (slack: of row `column`). */
void lp_transform(struct lp *lp, bool slack, uint32_t column)
{
    uint32_t m = lp->m;

    memset(lp->alpha, 0, m * sizeof *lp->alpha);
    if (slack) {
        add_scaled(lp->alpha, lp->inv + (size_t)column * m,
                   lp_slack_sign(lp, column), m);
        lp->work += m / 2;
        return;
    }
    for (uint32_t k = 0; k < lp->col.v[column].n; k++) {
        struct lp_entry e = lp->entry.v[lp->col.v[column].first + k];

        add_scaled(lp->alpha, lp->inv + (size_t)e.row * m, (double)e.value, m);
    }
    lp->work += (uint64_t)m * lp->col.v[column].n / 4;
}

/* Row r of the inverse into rho. */
void lp_read_row(struct lp *lp, uint32_t r)
{
    for (uint32_t c = 0; c < lp->m; c++)
        lp->rho[c] = lp->inv[(size_t)c * lp->m + r];
    lp->work += lp->m;
}

/* The inverse after the variable with `alpha` takes place r. */
static void update_inverse(struct lp *lp, uint32_t r)
{
    uint32_t m = lp->m, n = 0;
    double pivot = lp->alpha[r];

    for (uint32_t k = 0; k < m; k++)
        if (k != r && (lp->alpha[k] > 1e-12 || lp->alpha[k] < -1e-12))
            lp->nz[n++] = k;
    for (uint32_t c = 0; c < m; c++) {
        double *col = lp->inv + (size_t)c * m;
        double f = lp->rho[c] / pivot;

        if (f < 1e-13 && f > -1e-13) {
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

/* x and y from the inverse. */
void lp_recompute(struct lp *lp)
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
                y += lp_basic_cost(lp, k) * col[k];
        lp->y[c] = y;
    }
    lp->work += (uint64_t)m * m / 2;
}

static void start(struct lp *lp)
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
    lp_recompute(lp);
    lp->mean_scale = 0;
    for (uint32_t r = 0; r < lp->n_cover; r++)
        lp->mean_scale += lp->y[r] / 10 / lp->n_cover;
    lp->started = true;
}

/* The inverse anew, by bringing the basic columns in one by one, those with
 * few entries first.  False when the basis is singular. */
bool lp_refactor(struct lp *lp)
{
    uint32_t m = lp->m, n = 0;
    uint32_t *was = lp->was;
    bool *taken = lp->taken;

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
    /* Slacks that stay keep their own row's place. */
    memset(lp->inv, 0, (size_t)m * m * sizeof *lp->inv);
    for (uint32_t r = 0; r < m; r++) {
        taken[r] = lp->slack_basic[r];
        lp->inv[(size_t)r * m + r] = lp_slack_sign(lp, r);
        lp->basis[r] = SLACK;
        lp->slack_of[r] = r;
        lp->slack_basic[r] = true;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t best = m;

        lp_transform(lp, false, was[i]);
        for (uint32_t r = 0; r < m; r++) {
            double a = lp->alpha[r] < 0 ? -lp->alpha[r] : lp->alpha[r];

            if (!taken[r] && a > 1e-9 &&
                (best == m || a > (lp->alpha[best] < 0 ? -lp->alpha[best]
                                                       : lp->alpha[best])))
                best = r;
        }
        if (best == m)
            continue; /* dependent: a slack stays in its stead */
        lp_read_row(lp, best);
        update_inverse(lp, best);
        set_place(lp, best, false, was[i]);
        taken[best] = true;
    }
    lp->pivots = 0;
    lp_recompute(lp);
    for (uint32_t k = 0; k < m; k++)
        if (lp->x[k] < -1e-5)
            return false;
    return true;
}

void lp_pivot_in(struct lp *lp, uint32_t r, bool slack, uint32_t column,
                 double reduced)
{
    uint32_t m = lp->m;
    double step = lp->x[r] / lp->alpha[r];

    if (step < 0 && lp->alpha[r] > 0)
        step = 0; /* a primal step never goes back */
    lp_read_row(lp, r);
    add_scaled(lp->y, lp->rho, reduced / lp->alpha[r], m);
    add_scaled(lp->x, lp->alpha, -step, m);
    lp->x[r] = step;
    update_inverse(lp, r);
    set_place(lp, r, slack, column);
    lp->pivots++;
}

/* Of all that would lower the cost the one with the best rate; slack rows are
 * counted in the cost of what they carry. */
static bool choose_entering(struct lp *lp, bool *ret_slack, uint32_t *ret,
                            double *ret_reduced)
{
    double best = 1e-7;
    bool found = false;

    for (uint32_t j = 0; j < lp->col.n; j++) {
        const struct column *c = &lp->col.v[j];
        double d, rate;

        if (c->basic || c->barred)
            continue;
        d = lp_reduced_cost(lp, j);
        rate = -d / c->scale;
        if (d < -TINY && rate > best) {
            best = rate;
            *ret = j;
            *ret_slack = false;
            *ret_reduced = d;
            found = true;
        }
        lp->work += c->n;
    }
    for (uint32_t r = 0; r < lp->m; r++) {
        double d = -lp_slack_sign(lp, r) * lp->y[r];

        if (lp->slack_basic[r] || d > -1e-7)
            continue;
        /* A dual with the wrong sign is put right at once. */
        *ret = r;
        *ret_slack = true;
        *ret_reduced = d;
        return true;
    }
    return found;
}

/* Harris: a little infeasibility is allowed where it buys a larger pivot. */
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

bool lp_drifted(struct lp *lp)
{
    uint32_t m = lp->m;

    /* B x = rhs, row by row. */
    memcpy(lp->rho, lp->rhs, m * sizeof *lp->rho);
    for (uint32_t k = 0; k < m; k++) {
        if (lp->basis[k] == SLACK) {
            lp->rho[lp->slack_of[k]] -=
                lp_slack_sign(lp, lp->slack_of[k]) * lp->x[k];
            continue;
        }
        for (uint32_t q = 0; q < lp->col.v[lp->basis[k]].n; q++) {
            struct lp_entry e = lp->entry.v[lp->col.v[lp->basis[k]].first + q];

            lp->rho[e.row] -= (double)e.value * lp->x[k];
        }
        if (lp_reduced_cost(lp, lp->basis[k]) >
                DRIFT * lp->col.v[lp->basis[k]].scale ||
            lp_reduced_cost(lp, lp->basis[k]) <
                -DRIFT * lp->col.v[lp->basis[k]].scale)
            return true;
    }
    for (uint32_t r = 0; r < m; r++) {
        double tol = DRIFT * (1 + lp->rhs[r]);

        if (lp->rho[r] > tol || lp->rho[r] < -tol)
            return true;
    }
    return false;
}

enum lp_end lp_primal(struct lp *lp, uint32_t iterations)
{
    if (!lp->started)
        start(lp);
    for (uint32_t it = 0; it < iterations; it++) {
        bool slack = false;
        uint32_t column = 0, r;
        double reduced = 0;

        if (lp->pivots >= REFACTOR ||
            (lp->pivots % 100 == 99 && lp_drifted(lp)))
            if (!lp_refactor(lp))
                return LP_BROKEN;
        if (!choose_entering(lp, &slack, &column, &reduced))
            return LP_OPTIMAL;
        lp_transform(lp, slack, column);
        r = choose_leaving(lp);
        if (r == lp->m)
            return LP_BROKEN;
        lp_pivot_in(lp, r, slack, column, reduced);
    }
    return LP_STOPPED;
}

void lp_set_rhs(struct lp *lp, const double *rhs)
{
    memcpy(lp->rhs, rhs, lp->m * sizeof *rhs);
    if (lp->started)
        lp_recompute(lp);
}

void lp_restart(struct lp *lp)
{
    for (uint32_t j = 0; j < lp->col.n; j++)
        lp->col.v[j].basic = false;
    memset(lp->slack_basic, 0, lp->m * sizeof *lp->slack_basic);
    memset(lp->inv, 0, (size_t)lp->m * lp->m * sizeof *lp->inv);
    lp->pivots = 0;
    lp->started = false;
}

double lp_value(const struct lp *lp)
{
    double z = 0;

    for (uint32_t k = 0; k < lp->m; k++)
        z += lp_basic_cost(lp, k) * lp->x[k];
    return z;
}

const double *lp_duals(const struct lp *lp)
{
    return lp->y;
}

uint32_t lp_rows(const struct lp *lp)
{
    return lp->m;
}

uint32_t lp_basic(const struct lp *lp, uint32_t k, double *ret_x)
{
    *ret_x = lp->x[k];
    return lp->basis[k];
}

uint64_t lp_work(const struct lp *lp)
{
    return lp->work;
}
