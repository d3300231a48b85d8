/*
 * tune.c - the smallest Lagrangian bound, by a cutting-plane method.
 *
 * Each answer of the relaxation is a column of a tiny linear program (mix the
 * answers so that the mix keeps the plain columns), whose duals are the next
 * multipliers; steps go half way from the best known, which damps the
 * method.  The answers that were in the mix start the next tuning of
 * the same bin.
 */
#include "tune.h"

#include <string.h>

/* Of the bound: what more rounds could take off, and end at. */
#define NEAR 1e-6

enum { CUTS = 60, PIVOTS = 120 };

struct tuner {
    struct arena *arena;
    uint32_t scalars, max_rows;
    uint32_t rows; /* scalars, scarce, convexity */
    uint32_t cuts;
    struct tuner_cut cut[CUTS];
    /* Rows of slack columns then cuts; last row: reduced worth. */
    double *table;
    uint32_t stride;
    double *raw;               /* a cut, per row */
    double *rhs;               /* rows + 1; the last is the value */
    uint32_t *basis;           /* column of a row */
    double *multiplier, *best; /* scalars + scarce */
};

struct tuner *tuner_make(struct arena *arena, uint32_t scalars)
{
    struct tuner *u = ARENA_NEW(arena, struct tuner);

    u->arena = arena;
    u->scalars = scalars;
    u->max_rows = scalars + PRICE_SCARCE + 1;
    u->stride = u->max_rows + CUTS;
    u->table = ARENA_ARRAY(arena, double,
                           (size_t)(u->max_rows + 1) * u->stride);
    u->raw = ARENA_ARRAY(arena, double, u->max_rows);
    u->rhs = ARENA_ARRAY(arena, double, u->max_rows + 1);
    u->basis = ARENA_ARRAY(arena, uint32_t, u->max_rows);
    u->multiplier = ARENA_ARRAY(arena, double, u->max_rows);
    u->best = ARENA_ARRAY(arena, double, u->max_rows);
    return u;
}

static double *row_of(struct tuner *u, uint32_t r)
{
    return u->table + (size_t)r * u->stride;
}

static void begin(struct tuner *u, const struct price_bin *b,
                  const struct price_rest *rest)
{
    u->rows = u->scalars + b->n_scarce + 1;
    for (uint32_t r = 0; r <= u->rows; r++) {
        memset(row_of(u, r), 0, u->stride * sizeof *u->table);
        if (r < u->rows) {
            row_of(u, r)[r] = 1;
            u->basis[r] = r;
        }
    }
    for (uint32_t s = 0; s < u->scalars; s++)
        u->rhs[s] = rest ? rest->free[s] : 1;
    for (uint32_t q = 0; q < b->n_scarce; q++)
        u->rhs[u->scalars + q] = price_limit(b, b->scarce[q], rest);
    u->rhs[u->rows - 1] = 1;
    u->rhs[u->rows] = 0;
}

/* Brings cut c into the table, in terms of the present basis. */
static void enter(struct tuner *u, const struct price_bin *b, uint32_t c,
                  const double *worth)
{
    const struct tuner_cut *cut = &u->cut[c];
    double *raw = u->raw, gain = 0;
    uint32_t at = u->max_rows + c;

    memset(raw, 0, u->max_rows * sizeof *raw);
    for (uint32_t k = 0; k < cut->take.n; k++) {
        uint32_t place = cut->take.v[k].item;
        double n = cut->take.v[k].count;

        gain += worth[b->item[place]] * n;
        for (uint32_t s = 0; s < u->scalars; s++)
            raw[s] += n * b->share[(size_t)place * u->scalars + s];
        for (uint32_t q = 0; q < b->n_scarce; q++)
            if (b->scarce[q] == place)
                raw[u->scalars + q] += n;
    }
    raw[u->rows - 1] = 1;
    for (uint32_t r = 0; r <= u->rows; r++) {
        const double *inv = row_of(u, r);
        double sum = r == u->rows ? gain : 0;

        for (uint32_t q = 0; q < u->rows; q++)
            sum += inv[q] * raw[q];
        row_of(u, r)[at] = sum;
    }
}

static void pivot(struct tuner *u, uint32_t r, uint32_t c)
{
    uint32_t n = u->max_rows + u->cuts;
    double *pr = row_of(u, r), f = 1 / pr[c];

    for (uint32_t k = 0; k < n; k++)
        pr[k] *= f;
    u->rhs[r] *= f;
    for (uint32_t q = 0; q <= u->rows; q++) {
        double *row = row_of(u, q);

        f = row[c];
        if (q == r || f == 0)
            continue;
        for (uint32_t k = 0; k < n; k++)
            row[k] -= f * pr[k];
        u->rhs[q] -= f * u->rhs[r];
    }
    u->basis[r] = c;
}

/* The best mix; its value. */
static double solve(struct tuner *u, double scale)
{
    for (uint32_t it = 0; it < PIVOTS; it++) {
        const double *gain = row_of(u, u->rows);
        uint32_t c = UINT32_MAX, r = UINT32_MAX;
        double most = 1e-9 * scale, least = 0;

        for (uint32_t k = 0; k < u->max_rows + u->cuts; k++) {
            if (k >= u->rows && k < u->max_rows)
                continue;
            if (gain[k] > most) {
                most = gain[k];
                c = k;
            }
        }
        if (c == UINT32_MAX)
            break;
        for (uint32_t q = 0; q < u->rows; q++) {
            double a = row_of(u, q)[c];

            if (a > 1e-9 && (r == UINT32_MAX || u->rhs[q] / a < least)) {
                r = q;
                least = u->rhs[q] / a;
            }
        }
        if (r == UINT32_MAX)
            break;
        pivot(u, r, c);
    }
    return -u->rhs[u->rows];
}

static void read_multipliers(struct tuner *u, double *ret)
{
    const double *gain = row_of(u, u->rows);

    for (uint32_t r = 0; r + 1 < u->rows; r++)
        ret[r] = gain[r] < 0 ? -gain[r] : 0;
}

static void set_multipliers(const struct tuner *u, struct price_bin *b,
                            const double *from)
{
    memcpy(b->lambda, from, u->scalars * sizeof *from);
    memcpy(b->sigma, from + u->scalars, b->n_scarce * sizeof *from);
}

static void note_cut(struct tuner *u, const struct price *p,
                     const struct price_bin *b, uint32_t c)
{
    u->cut[c].take.n = 0;
    for (uint32_t k = 0; k < b->n; k++)
        if (p->taken[k])
            VEC_PUSH(u->arena, &u->cut[c].take,
                     ((struct cover_part){k, p->taken[k]}));
}

static void copy_cut(struct arena *a, struct tuner_cut *to,
                     const struct tuner_cut *from)
{
    to->take.n = 0;
    for (uint32_t k = 0; k < from->take.n; k++)
        VEC_PUSH(a, &to->take, from->take.v[k]);
}

/* An item taken more often than there are becomes a row; true if any did. */
static bool note_scarce(const struct price *p, struct price_bin *b,
                        const struct price_rest *rest)
{
    bool any = false;

    for (uint32_t k = 0; k < b->n; k++) {
        uint32_t q;

        if (!p->taken[k] || p->taken[k] <= price_limit(b, k, rest))
            continue;
        for (q = 0; q < b->n_scarce && b->scarce[q] != k; q++)
            ;
        if (q < b->n_scarce)
            continue;
        for (q = 0;
             b->n_scarce == PRICE_SCARCE && q < PRICE_SCARCE && b->sigma[q] > 0;
             q++)
            ;
        if (b->n_scarce == PRICE_SCARCE && q == PRICE_SCARCE)
            return any;
        if (b->n_scarce < PRICE_SCARCE)
            q = b->n_scarce++;
        b->scarce[q] = k;
        b->sigma[q] = 0;
        any = true;
    }
    return any;
}

static void keep_warm(struct tuner *u, struct price_bin *b)
{
    if (!b->warm)
        b->warm = ARENA_ARRAY(u->arena, struct tuner_cut, u->max_rows);
    b->n_warm = 0;
    for (uint32_t r = 0; r < u->rows; r++)
        if (u->basis[r] >= u->max_rows)
            copy_cut(u->arena, &b->warm[b->n_warm++],
                     &u->cut[u->basis[r] - u->max_rows]);
}

double price_tune(struct price *p, uint32_t t, const double *worth,
                  const struct price_rest *rest, double enough, uint32_t steps)
{
    struct price_bin *b = &p->bin[t];
    struct tuner *u = p->tuner;
    double best, value, mix;
    bool half = true;

    u->cuts = 0;
    begin(u, b, rest);
    for (uint32_t k = 0; !rest && k < b->n_warm; k++) {
        copy_cut(u->arena, &u->cut[u->cuts], &b->warm[k]);
        enter(u, b, u->cuts++, worth);
    }
    memcpy(u->best, b->lambda, u->scalars * sizeof *u->best);
    memcpy(u->best + u->scalars, b->sigma, b->n_scarce * sizeof *u->best);
    best = price_evaluate(p, t, worth, rest);
    value = best;
    for (uint32_t it = 1; it < steps && best > enough && u->cuts < CUTS; it++) {
        uint32_t had = b->n_scarce;

        note_cut(u, p, b, u->cuts++);
        if (note_scarce(p, b, rest)) {
            memset(u->best + u->scalars + had, 0,
                   (PRICE_SCARCE - had) * sizeof *u->best);
            begin(u, b, rest);
            for (uint32_t c = 0; c < u->cuts; c++)
                enter(u, b, c, worth);
        } else {
            enter(u, b, u->cuts - 1, worth);
        }
        mix = solve(u, best);
        p->work += 40 * (uint64_t)u->rows;
        if (best - mix <= NEAR * best)
            break;
        read_multipliers(u, u->multiplier);
        for (uint32_t r = 0; half && r + 1 < u->rows; r++)
            u->multiplier[r] = 0.5 * (u->multiplier[r] + u->best[r]);
        set_multipliers(u, b, u->multiplier);
        value = price_evaluate(p, t, worth, rest);
        if (value < best) {
            best = value;
            memcpy(u->best, u->multiplier, (u->rows - 1) * sizeof *u->best);
            half = true;
        } else {
            half = !half;
        }
    }
    if (!rest)
        keep_warm(u, b);
    set_multipliers(u, b, u->best);
    if (value > best)
        price_evaluate(p, t, worth, rest);
    return best;
}

void price_mix(const struct price *p, uint32_t t, double *ret)
{
    const struct tuner *u = p->tuner;

    memset(ret, 0, p->bin[t].n * sizeof *ret);
    for (uint32_t r = 0; r < u->rows; r++) {
        const struct tuner_cut *cut;

        if (u->basis[r] < u->max_rows || u->rhs[r] <= 0)
            continue;
        cut = &u->cut[u->basis[r] - u->max_rows];
        for (uint32_t k = 0; k < cut->take.n; k++)
            ret[cut->take.v[k].item] += u->rhs[r] * cut->take.v[k].count;
    }
}
