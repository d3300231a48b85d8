/*
 * interior.c - see interior.h.
 *
 * A primal-dual method with predictor and corrector (Mehrotra, 1992).  Worths are
 * eliminated item by item, so each step solves equations in the prices alone.
 */
#include "interior.h"

#include <stdbool.h>
#include <string.h>

enum { STEPS = 40, USUAL = 12 };
#define CLOSE 2e-5  /* a gap at which it ends, of the value */
#define SHY 0.995   /* of the way to the border */
#define EVEN 0.1    /* of the mean of all products */
#define SHORT 0.1   /* a step */
#define TINY 1e-300 /* a pivot */
#define OFF 1e-9    /* added to the diagonal, of it */

struct point {
    double *z, *w; /* prices, worths */
    double *slack; /* per row: bins, pairs */
    double *load;  /* per row: the primal program's amounts */
    double *left;  /* per price: the slack of the primal's rows */
};

struct solver {
    const struct interior *x;
    uint32_t n_rows;
    struct point at, by; /* by: a step */
    double *matrix;      /* n_vars x n_vars, its lower half */
    double *weight;      /* per item: sum of load over slack */
    double *side;        /* per price: right-hand side */
    double *side_w;      /* per item */
    double *push;   /* per row: what load x slack is to become, less that */
    double *push_z; /* per price */
    double *lack, *lack_w; /* per price, per item: of the primal's rows */
    double *v;             /* scratch per term of an item */
    double close;
    uint64_t work;
};

static double *doubles(const struct solver *s, uint32_t n)
{
    return ARENA_ARRAY(s->x->arena, double, n + 1);
}

static void point_make(const struct solver *s, struct point *p)
{
    p->z = doubles(s, s->x->n_vars);
    p->left = doubles(s, s->x->n_vars);
    p->w = doubles(s, s->x->n_items);
    p->slack = doubles(s, s->n_rows);
    p->load = doubles(s, s->n_rows);
}

static double row_value(const struct interior *x, uint32_t row, const double *z)
{
    double sum = 0;

    for (uint32_t k = x->row.v[row]; k < x->row.v[row + 1]; k++)
        sum += x->term.v[k].coef * z[x->term.v[k].var];
    return sum;
}

/* ---- the start: inside, with amounts that are near those of the border */

static double least_of(const struct solver *s, uint32_t i)
{
    const struct interior *x = s->x;
    double least = 1e300;

    for (uint32_t k = x->first[i]; k < x->first[i + 1]; k++) {
        double value = x->base[k] + row_value(x, x->n_bins + k, s->at.z);

        s->at.slack[x->n_bins + k] = value;
        least = value < least ? value : least;
    }
    return least;
}

/* Where an item costs little it has a large part. */
static void start_item(struct solver *s, uint32_t i)
{
    const struct interior *x = s->x;
    double least = least_of(s, i), sum = 0, *slack = s->at.slack + x->n_bins;
    double *load = s->at.load + x->n_bins;

    s->at.w[i] = 0.9 * least;
    for (uint32_t k = x->first[i]; k < x->first[i + 1]; k++) {
        slack[k] -= s->at.w[i];
        load[k] = least / slack[k];
        sum += load[k] *= load[k];
    }
    for (uint32_t k = x->first[i]; k < x->first[i + 1]; k++) {
        load[k] *= x->demand[i] / sum;
        load[k] += 1e-3 * x->demand[i];
    }
}

/* What the loads of rows come to, price by price. */
static void prices_load(const struct solver *s, const double *load, double *ret)
{
    const struct interior *x = s->x;

    memset(ret, 0, x->n_vars * sizeof *ret);
    for (uint32_t r = 0; r < s->n_rows; r++)
        for (uint32_t k = x->row.v[r]; k < x->row.v[r + 1]; k++)
            ret[x->term.v[k].var] += (r < x->n_bins ? 1 : -1) *
                                     x->term.v[k].coef * load[r];
}

static void start(struct solver *s)
{
    const struct interior *x = s->x;

    for (uint32_t i = 0; i < x->n_items; i++)
        start_item(s, i);
    memset(s->at.load, 0, x->n_bins * sizeof *s->at.load);
    prices_load(s, s->at.load, s->side);
    for (uint32_t b = 0; b < x->n_bins; b++) {
        double most = 1e-3;

        for (uint32_t k = x->row.v[b]; k < x->row.v[b + 1]; k++)
            if (x->gain[x->term.v[k].var] == 0 &&
                -s->side[x->term.v[k].var] > most)
                most = -s->side[x->term.v[k].var];
        s->at.load[b] = 1.1 * most;
        s->at.slack[b] = x->price[b] - row_value(x, b, s->at.z);
    }
    prices_load(s, s->at.load, s->side);
    for (uint32_t j = 0; j < x->n_vars; j++) {
        double some = 0.1 * (x->gain[j] < 0 ? -x->gain[j] : x->gain[j]);

        s->at.left[j] = s->side[j] - x->gain[j];
        if (s->at.left[j] < some + 1e-3)
            s->at.left[j] = some + 1e-3;
    }
}

/* ---- the equations of a step */

/* Of a row that has n terms; rate: its load over its slack. */
static void add_row(struct solver *s, const struct interior_term *term,
                    uint32_t n, double rate)
{
    for (uint32_t a = 0; a < n; a++) {
        double *line = s->matrix + (size_t)term[a].var * s->x->n_vars;
        double much = rate * term[a].coef;

        for (uint32_t b = 0; b <= a; b++)
            line[term[b].var] += much * term[b].coef;
    }
    s->work += 2 + (uint64_t)n * n / 4;
}

/* The rows of an item, whose worth is eliminated. */
static void add_item(struct solver *s, uint32_t i)
{
    const struct interior *x = s->x;
    uint32_t r0 = x->n_bins + x->first[i], r1 = x->n_bins + x->first[i + 1];
    uint32_t from = x->row.v[r0], n = x->row.v[r1] - from;
    const struct interior_term *term = x->term.v + from;

    s->weight[i] = 0;
    for (uint32_t r = r0; r < r1; r++) {
        double rate = s->at.load[r] / s->at.slack[r];

        s->weight[i] += rate;
        for (uint32_t k = x->row.v[r]; k < x->row.v[r + 1]; k++)
            s->v[k - from] = rate * x->term.v[k].coef;
        add_row(s, x->term.v + x->row.v[r], x->row.v[r + 1] - x->row.v[r],
                rate);
    }
    for (uint32_t a = 0; a < n; a++) {
        double *line = s->matrix + (size_t)term[a].var * x->n_vars;
        double much = s->v[a] / s->weight[i];

        for (uint32_t b = 0; b <= a; b++)
            line[term[b].var] -= much * s->v[b];
    }
    s->work += (uint64_t)n * n / 4;
}

/* Four sums, so that none waits for the one before. */
static double product(const double *a, const double *b, uint32_t n)
{
    double sum[4] = {0};
    uint32_t k = 0;

    for (; k + 4 <= n; k += 4)
        for (uint32_t q = 0; q < 4; q++)
            sum[q] += a[k + q] * b[k + q];
    for (; k < n; k++)
        sum[0] += a[k] * b[k];
    return sum[0] + sum[1] + (sum[2] + sum[3]);
}

/* Into a lower half with ones on its diagonal, and the diagonal. */
static void factorize(struct solver *s)
{
    uint32_t n = s->x->n_vars;

    for (uint32_t j = 0; j < n; j++) {
        double *row = s->matrix + (size_t)j * n, pivot = row[j];

        for (uint32_t k = 0; k < j; k++)
            row[k] -= product(row, s->matrix + (size_t)k * n, k);
        for (uint32_t k = 0; k < j; k++) {
            double much = row[k] / s->matrix[(size_t)k * n + k];

            pivot -= row[k] * much;
            row[k] = much;
        }
        row[j] = pivot > OFF * row[j] ? pivot : OFF * row[j] + TINY;
    }
    s->work += (uint64_t)n * n * n / 24;
}

static void equations(struct solver *s)
{
    const struct interior *x = s->x;
    const uint32_t n = x->n_vars;

    memset(s->matrix, 0, (size_t)n * n * sizeof *s->matrix);
    for (uint32_t j = 0; j < n; j++)
        s->matrix[(size_t)j * n + j] = s->at.left[j] / s->at.z[j];
    for (uint32_t b = 0; b < x->n_bins; b++)
        add_row(s, x->term.v + x->row.v[b], x->row.v[b + 1] - x->row.v[b],
                s->at.load[b] / s->at.slack[b]);
    for (uint32_t i = 0; i < x->n_items; i++)
        add_item(s, i);
    factorize(s);
}

static void solve(const struct solver *s, double *side)
{
    const uint32_t n = s->x->n_vars;

    for (uint32_t j = 0; j < n; j++)
        for (uint32_t k = 0; k < j; k++)
            side[j] -= s->matrix[(size_t)j * n + k] * side[k];
    for (uint32_t j = 0; j < n; j++)
        side[j] /= s->matrix[(size_t)j * n + j];
    for (uint32_t j = n; j-- > 0;)
        for (uint32_t k = 0; k < j; k++)
            side[k] -= s->matrix[(size_t)j * n + k] * side[j];
}

/* ---- a step */

/* What the primal's rows lack. */
static void lacks(struct solver *s)
{
    const struct interior *x = s->x;

    prices_load(s, s->at.load, s->lack);
    for (uint32_t j = 0; j < x->n_vars; j++)
        s->lack[j] = x->gain[j] - s->lack[j] + s->at.left[j];
    for (uint32_t i = 0; i < x->n_items; i++) {
        s->lack_w[i] = x->demand[i];
        for (uint32_t k = x->first[i]; k < x->first[i + 1]; k++)
            s->lack_w[i] -= s->at.load[x->n_bins + k];
    }
}

/* The right-hand side, with the worths eliminated. */
static void side_make(struct solver *s)
{
    const struct interior *x = s->x;
    double *amount = s->by.load;

    for (uint32_t r = 0; r < s->n_rows; r++)
        amount[r] = s->push[r] / s->at.slack[r];
    for (uint32_t i = 0; i < x->n_items; i++) {
        double more;

        s->side_w[i] = s->lack_w[i];
        for (uint32_t k = x->first[i]; k < x->first[i + 1]; k++)
            s->side_w[i] -= amount[x->n_bins + k];
        more = s->side_w[i] / s->weight[i];
        for (uint32_t k = x->first[i]; k < x->first[i + 1]; k++) {
            uint32_t r = x->n_bins + k;

            amount[r] += more * s->at.load[r] / s->at.slack[r];
        }
    }
    prices_load(s, amount, s->side);
    for (uint32_t j = 0; j < x->n_vars; j++)
        s->side[j] = s->lack[j] - s->side[j] + s->push_z[j] / s->at.z[j];
}

/* The step, from the prices' part of it. */
static void step_rest(struct solver *s)
{
    const struct interior *x = s->x;
    struct point *by = &s->by;

    for (uint32_t r = 0; r < s->n_rows; r++)
        by->slack[r] = (r < x->n_bins ? -1 : 1) * row_value(x, r, by->z);
    for (uint32_t i = 0; i < x->n_items; i++) {
        by->w[i] = s->side_w[i];
        for (uint32_t r = x->n_bins + x->first[i];
             r < x->n_bins + x->first[i + 1]; r++)
            by->w[i] += s->at.load[r] / s->at.slack[r] * by->slack[r];
        by->w[i] /= s->weight[i];
        for (uint32_t r = x->n_bins + x->first[i];
             r < x->n_bins + x->first[i + 1]; r++)
            by->slack[r] -= by->w[i];
    }
    for (uint32_t r = 0; r < s->n_rows; r++)
        by->load[r] = (s->push[r] - s->at.load[r] * by->slack[r]) /
                      s->at.slack[r];
    for (uint32_t j = 0; j < x->n_vars; j++)
        by->left[j] = (s->push_z[j] - s->at.left[j] * by->z[j]) / s->at.z[j];
}

static void step_find(struct solver *s)
{
    side_make(s);
    memcpy(s->by.z, s->side, s->x->n_vars * sizeof *s->side);
    solve(s, s->by.z);
    step_rest(s);
    s->work += 2 * (uint64_t)s->x->n_vars * s->x->n_vars / 2 +
               4 * (uint64_t)s->x->term.n;
}

/* How far one may go until an amount is none, 1 at most. */
static double far(const double *at, const double *by, uint32_t n, double most)
{
    for (uint32_t k = 0; k < n; k++)
        if (at[k] + most * by[k] < 0)
            most = -at[k] / by[k];
    return most;
}

static double along(const double *a, const double *da, double pa,
                    const double *b, const double *db, double pb, uint32_t n)
{
    double sum = 0;

    for (uint32_t k = 0; k < n; k++)
        sum += (a[k] + pa * da[k]) * (b[k] + pb * db[k]);
    return sum;
}

/* How far prices may go, and amounts; the gap that is left there. */
static double reach(const struct solver *s, double *ret_prices,
                    double *ret_amounts)
{
    const struct point *at = &s->at, *by = &s->by;
    uint32_t n = s->x->n_vars;
    double p = far(at->z, by->z, n, far(at->slack, by->slack, s->n_rows, 1));
    double q = far(at->left, by->left, n,
                   far(at->load, by->load, s->n_rows, 1));

    *ret_prices = p;
    *ret_amounts = q;
    return along(at->slack, by->slack, p, at->load, by->load, q, s->n_rows) +
           along(at->z, by->z, p, at->left, by->left, q, n);
}

/* What the products are to become. */
static void aim(struct solver *s, double each, bool corrected)
{
    const struct point *at = &s->at, *by = &s->by;

    for (uint32_t r = 0; r < s->n_rows; r++)
        s->push[r] = each - at->slack[r] * at->load[r] -
                     (corrected ? by->slack[r] * by->load[r] : 0);
    for (uint32_t j = 0; j < s->x->n_vars; j++)
        s->push_z[j] = each - at->z[j] * at->left[j] -
                       (corrected ? by->z[j] * by->left[j] : 0);
}

static void go(struct solver *s, double prices, double amounts)
{
    const struct interior *x = s->x;
    struct point *at = &s->at, *by = &s->by;

    for (uint32_t j = 0; j < x->n_vars; j++) {
        at->z[j] += prices * by->z[j];
        at->left[j] += amounts * by->left[j];
    }
    for (uint32_t i = 0; i < x->n_items; i++)
        at->w[i] += prices * by->w[i];
    for (uint32_t r = 0; r < s->n_rows; r++) {
        at->slack[r] += prices * by->slack[r];
        at->load[r] += amounts * by->load[r];
    }
}

static double value(const struct solver *s)
{
    const struct interior *x = s->x;
    double sum = 0;

    for (uint32_t i = 0; i < x->n_items; i++)
        sum += x->demand[i] * s->at.w[i];
    for (uint32_t j = 0; j < x->n_vars; j++)
        sum += x->gain[j] * s->at.z[j];
    return sum;
}

static double gap_of(const struct solver *s)
{
    const struct point *at = &s->at;

    return along(at->slack, at->slack, 0, at->load, at->load, 0, s->n_rows) +
           along(at->z, at->z, 0, at->left, at->left, 0, s->x->n_vars);
}

/* No product is to be much below the others: from near a border steps are short. */
static void even(struct solver *s)
{
    uint32_t n = s->x->n_vars;
    double least = EVEN * gap_of(s) / (s->n_rows + n);

    for (uint32_t r = 0; r < s->n_rows; r++)
        if (s->at.slack[r] * s->at.load[r] < least)
            s->at.load[r] = least / s->at.slack[r];
    for (uint32_t j = 0; j < n; j++)
        if (s->at.z[j] * s->at.left[j] < least)
            s->at.left[j] = least / s->at.z[j];
}

/* False: it is at the end. */
static bool step(struct solver *s)
{
    uint32_t all = s->n_rows + s->x->n_vars;
    double gap = gap_of(s), then, prices, amounts, part;

    if (!(gap > s->close * value(s)))
        return false;
    equations(s);
    lacks(s);
    aim(s, 0, false);
    step_find(s);
    then = reach(s, &prices, &amounts);
    part = then / gap;
    aim(s, part * part * then / all, true);
    step_find(s);
    reach(s, &prices, &amounts);
    if (prices < SHORT || amounts < SHORT) { /* to the middle first */
        aim(s, gap / all / 2, false);
        step_find(s);
        reach(s, &prices, &amounts);
    }
    go(s, SHY * prices, SHY * amounts);
    return true;
}

static void make(const struct interior *x, double *z, struct solver *s)
{
    uint32_t most = 0;

    memset(s, 0, sizeof *s);
    s->x = x;
    s->n_rows = x->n_bins + x->n_pairs;
    point_make(s, &s->at);
    point_make(s, &s->by);
    s->at.z = z;
    s->matrix = doubles(s, x->n_vars * x->n_vars);
    s->weight = doubles(s, x->n_items);
    s->side = doubles(s, x->n_vars);
    s->side_w = doubles(s, x->n_items);
    s->push = doubles(s, s->n_rows);
    s->push_z = doubles(s, x->n_vars);
    s->lack = doubles(s, x->n_vars);
    s->lack_w = doubles(s, x->n_items);
    for (uint32_t i = 0; i < x->n_items; i++) {
        uint32_t n = x->row.v[x->n_bins + x->first[i + 1]] -
                     x->row.v[x->n_bins + x->first[i]];

        most = n > most ? n : most;
    }
    s->v = doubles(s, most);
}

uint64_t interior_cost(const struct interior *x)
{
    uint64_t n = x->n_vars, sum = n * n * n / 24 + n * n + 4 * x->term.n;

    for (uint32_t i = 0; i < x->n_items; i++) {
        uint64_t terms = x->row.v[x->n_bins + x->first[i + 1]] -
                         x->row.v[x->n_bins + x->first[i]];

        sum += terms * terms / 3 + 4 * terms;
    }
    return USUAL * sum;
}

double interior_solve(const struct interior *x, double close, double *z,
                      double *use, uint64_t *work)
{
    struct arena_mark mark = arena_mark(x->arena);
    struct solver s;
    double reached;

    make(x, z, &s);
    s.close = close;
    start(&s);
    even(&s);
    for (int k = 0; k < STEPS && step(&s); k++)
        ;
    memcpy(use, s.at.load, x->n_bins * sizeof *use);
    *work += s.work;
    reached = value(&s) + gap_of(&s);
    arena_rewind(x->arena, mark);
    return reached;
}
