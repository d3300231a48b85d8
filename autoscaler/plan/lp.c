/*
 * lp.c - the simplex: an explicit inverse by columns, duals and values kept up
 * to date by each pivot, made anew when they have drifted.
 *
 * The inverse stays sparse in practice, so zeros are skipped; a pivot costs
 * far less than rows squared.  Columns that have not been attractive for long
 * are left out of the search and looked at only when nothing else enters.
 */
#include "lp.h"

#include <string.h>

#define TINY 1e-9            /* a value that counts as zero */
#define PIVOT 1e-6           /* smallest pivot */
#define SLACKNESS 1e-7
#define DRIFT 1e-6
#define REFACTOR 400         /* pivots */
#define SLACK UINT32_MAX

struct column {
    double cost, scale;
    uint32_t first, n;
    bool basic, barred;
};

struct ratio { uint32_t column; double size, reduced; };

struct lp {
    struct arena *arena;
    uint32_t m, n_cover;
    double *rhs;
    VEC(struct column) col;
    VEC(struct lp_entry) entry;
    double *inv;             /* column c at inv + c * m */
    uint32_t *basis;         /* column, or SLACK: of row slack_of[] */
    uint32_t *slack_of;
    bool *slack_basic;
    double *x, *y;
    struct ratio *ratio;     /* candidates of the dual ratio test */
    uint32_t n_ratio, ratio_cap;
    double *slack_cost;      /* not zero during lp_dual() only */
    double *true_cost;
    uint32_t true_cap;
    double *alpha, *rho;
    uint32_t *nz;
    uint32_t pivots;
    double mean_scale;
    bool started;
    uint64_t work;
};

struct lp *lp_make(struct arena *arena, uint32_t n_cover, uint32_t n_limit,
                   const double *rhs)
{
    struct lp *lp = ARENA_NEW(arena, struct lp);
    uint32_t m = n_cover + n_limit;

    lp->arena = arena;
    lp->m = m;
    lp->n_cover = n_cover;
    lp->rhs = arena_copy(arena, rhs, m * sizeof *rhs);
    lp->inv = ARENA_ARRAY(arena, double, (size_t)m * m);
    lp->basis = ARENA_ARRAY(arena, uint32_t, m);
    lp->slack_of = ARENA_ARRAY(arena, uint32_t, m);
    lp->slack_basic = ARENA_ARRAY(arena, bool, m);
    lp->slack_cost = ARENA_ARRAY(arena, double, m);
    lp->x = ARENA_ARRAY(arena, double, m);
    lp->y = ARENA_ARRAY(arena, double, m);
    lp->alpha = ARENA_ARRAY(arena, double, m);
    lp->rho = ARENA_ARRAY(arena, double, m);
    lp->nz = ARENA_ARRAY(arena, uint32_t, m);
    return lp;
}

uint32_t lp_add(struct lp *lp, double cost, double scale,
                const struct lp_entry *entry, uint32_t n)
{
    struct column c = {cost, scale > TINY ? scale : TINY, lp->entry.n, n,
                       false, false};

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

static double slack_sign(const struct lp *lp, uint32_t row)
{
    return row < lp->n_cover ? -1 : 1;
}

static double basic_cost(const struct lp *lp, uint32_t k)
{
    return lp->basis[k] == SLACK ? lp->slack_cost[lp->slack_of[k]] : lp->col.v[lp->basis[k]].cost;
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
static void transform(struct lp *lp, bool slack, uint32_t column)
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

/* Row r of the inverse into rho. */
static void read_row(struct lp *lp, uint32_t r)
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
static void recompute(struct lp *lp)
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
    recompute(lp);
    lp->mean_scale = 0;
    for (uint32_t r = 0; r < lp->n_cover; r++)
        lp->mean_scale += lp->y[r] / 10 / lp->n_cover;
    lp->started = true;
}

/* The inverse anew, by bringing the basic columns in one by one, those with
 * few entries first.  False when the basis is singular. */
static bool refactor(struct lp *lp)
{
    uint32_t m = lp->m, n = 0;
    uint32_t *was = ARENA_ARRAY(lp->arena, uint32_t, 2 * (size_t)m);
    bool *taken = ARENA_ARRAY(lp->arena, bool, m);

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
        lp->inv[(size_t)r * m + r] = slack_sign(lp, r);
        lp->basis[r] = SLACK;
        lp->slack_of[r] = r;
        lp->slack_basic[r] = true;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t best = m;

        transform(lp, false, was[i]);
        for (uint32_t r = 0; r < m; r++) {
            double a = lp->alpha[r] < 0 ? -lp->alpha[r] : lp->alpha[r];

            if (!taken[r] && a > 1e-9 &&
                (best == m || a > (lp->alpha[best] < 0 ? -lp->alpha[best]
                                                       : lp->alpha[best])))
                best = r;
        }
        if (best == m)
            continue;          /* dependent: a slack stays in its stead */
        read_row(lp, best);
        update_inverse(lp, best);
        set_place(lp, best, false, was[i]);
        taken[best] = true;
    }
    lp->pivots = 0;
    recompute(lp);
    for (uint32_t k = 0; k < m; k++)
        if (lp->x[k] < -1e-5)
            return false;
    return true;
}

static void pivot_in(struct lp *lp, uint32_t r, bool slack, uint32_t column,
                     double reduced)
{
    uint32_t m = lp->m;
    double step = lp->x[r] / lp->alpha[r];

    if (step < 0 && lp->alpha[r] > 0)
        step = 0;              /* a primal step never goes back */
    read_row(lp, r);
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
        double d = -slack_sign(lp, r) * lp->y[r];

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

static bool drifted(struct lp *lp)
{
    uint32_t m = lp->m;

    /* B x = rhs, row by row. */
    memcpy(lp->rho, lp->rhs, m * sizeof *lp->rho);
    for (uint32_t k = 0; k < m; k++) {
        if (lp->basis[k] == SLACK) {
            lp->rho[lp->slack_of[k]] -=
                slack_sign(lp, lp->slack_of[k]) * lp->x[k];
            continue;
        }
        for (uint32_t q = 0; q < lp->col.v[lp->basis[k]].n; q++) {
            struct lp_entry e =
                lp->entry.v[lp->col.v[lp->basis[k]].first + q];

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

        if (lp->pivots >= REFACTOR || (lp->pivots % 100 == 99 && drifted(lp)))
            if (!refactor(lp))
                return LP_BROKEN;
        if (!choose_entering(lp, &slack, &column, &reduced))
            return LP_OPTIMAL;
        transform(lp, slack, column);
        r = choose_leaving(lp);
        if (r == lp->m)
            return LP_BROKEN;
        pivot_in(lp, r, slack, column, reduced);
    }
    return LP_STOPPED;
}

void lp_set_rhs(struct lp *lp, const double *rhs)
{
    memcpy(lp->rhs, rhs, lp->m * sizeof *rhs);
    if (lp->started)
        recompute(lp);
}

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
        *ret_reduced = lp->slack_cost[row] - slack_sign(lp, row) * lp->y[row];
        *ret_scale = lp->mean_scale;
        return slack_sign(lp, row) * lp->rho[row];
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
    recompute(lp);
}

static enum lp_end dual(struct lp *lp, uint32_t iterations)
{
    for (uint32_t it = 0; it < iterations; it++) {
        uint32_t r = lp->m, column = 0;
        double worst = -1e-6, reduced = 0, size;

        if (lp->pivots >= REFACTOR || (lp->pivots % 50 == 49 && drifted(lp)))
            refactor(lp);
        for (uint32_t k = 0; k < lp->m; k++)
            if (lp->x[k] < worst) {
                worst = lp->x[k];
                r = k;
            }
        if (r == lp->m)
            return LP_OPTIMAL;
        read_row(lp, r);
        if (!choose_dual_entering(lp, &column, &reduced))
            return LP_BROKEN;
        size = -1;
        for (uint32_t k = 0; k < lp->n_ratio; k++)
            if (lp->ratio[k].column == column)
                size = lp->ratio[k].size;
        transform(lp, column >= lp->col.n,
                  column >= lp->col.n ? column - lp->col.n : column);
        if (-lp->alpha[r] < 0.9 * size || -lp->alpha[r] > 1.1 * size) {
            /* Row and column disagree: the inverse is worn out. */
            if (!lp->pivots)
                return LP_BROKEN;
            refactor(lp);
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
        pivot_in(lp, r, column >= lp->col.n,
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
        z += basic_cost(lp, k) * lp->x[k];
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
