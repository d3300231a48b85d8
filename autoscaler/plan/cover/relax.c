/*
 * relax.c - a bound from prices of resources.
 *
 * Give each resource a price, and an item the worth of what it needs.  Divided
 * by the worst ratio of worth to price that a bin which may hold the item has,
 * worths are feasible for the dual of the covering program (Farley's scaling),
 * whatever the prices are; so the search for good ones need not be exact.
 * Resources are the columns of sums.h.  Items that may lie in the same bins
 * count as one.
 *
 * A bin of price zero that has a limit (nodes that are there) scales nothing:
 * what all of them could earn at most is taken off.
 */
#include "relax.h"

#include "sums.h"

#include <string.h>

#define SAFE 1e-9

struct relax {
    const struct view *v;
    uint32_t n;            /* columns */
    double *has;           /* bins x n */
    double *total;         /* classes x n: need of all its items */
    uint32_t words;        /* of a class's bins */
    struct alike classes;  /* items by their bins */
    double *ratio, *worst; /* per bin, per class: of the last prices */
    double *earns, *least; /* per bin that is free: what it holds is worth, the
                            * least worst[] of its classes */
    double free;           /* what the free bins take off */
    bool any_free;
    uint64_t missing;    /* so many items may be left out */
    double net, *best;   /* the best prices, of that */
    uint64_t step, work; /* steps of one trial, of all */
};

static bool is_free(const struct view *v, uint32_t t)
{
    return v->price[t] == 0 && v->max[t] != UNLIMITED;
}

static void relax_make(const struct view *v, uint64_t missing, struct relax *x)
{
    *x = (struct relax){
        .v = v, .n = sums_columns(v), .missing = missing, .net = -1e300};
    x->best = ARENA_ARRAY(v->arena, double, x->n);
    view_classes(v, &x->classes);
    x->words = (v->n_bins + 63) / 64;
    x->work = (uint64_t)v->n_items * v->n_bins;
    x->has = ARENA_ARRAY(v->arena, double, (size_t)v->n_bins * x->n);
    x->total = ARENA_ARRAY(v->arena, double, (size_t)x->classes.n * x->n);
    x->ratio = ARENA_ARRAY(v->arena, double, v->n_bins);
    x->worst = ARENA_ARRAY(v->arena, double, x->classes.n);
    x->earns = ARENA_ARRAY(v->arena, double, v->n_bins);
    x->least = ARENA_ARRAY(v->arena, double, v->n_bins);
    for (uint32_t t = 0; t < v->n_bins; t++)
        x->any_free |= is_free(v, t);
    for (uint32_t t = 0; t < v->n_bins; t++)
        for (uint32_t c = 0; c < x->n; c++)
            x->has[(size_t)t * x->n + c] = sums_has(v, t, c);
    for (uint32_t i = 0; i < v->n_items; i++)
        for (uint32_t c = 0; c < x->n; c++)
            x->total[(size_t)x->classes.class_of[i] * x->n + c] +=
                sums_need(v, i, c) * v->count[i];
    x->step = (uint64_t)(v->n_bins + x->classes.n) * x->n;
    for (uint32_t k = 0; k < x->classes.n; k++)
        for (uint32_t w = 0; w < x->words; w++)
            x->step += (uint64_t)__builtin_popcountll(x->classes.mask[k][w]);
    x->work += (uint64_t)v->n_items * x->n;
}

/* ---- prices */

static double worth_of(const double *row, const double *y, uint32_t n)
{
    double sum = 0;

    for (uint32_t c = 0; c < n; c++)
        sum += y[c] * row[c];
    return sum;
}

/* Per bin the ratio of what it holds to its price. */
static void rate_bins(struct relax *x, const double *y)
{
    const struct view *v = x->v;

    for (uint32_t t = 0; t < v->n_bins; t++) {
        double earns = worth_of(x->has + (size_t)t * x->n, y, x->n);

        x->earns[t] = earns;
        x->least[t] = 1e300;
        x->ratio[t] = earns <= 0 || is_free(v, t) ? 0
                      : v->price[t] > 0           ? earns / (double)v->price[t]
                                                  : 1e300;
    }
}

/* The worst ratio of the bins of class k. */
static double rate_class(const struct relax *x, uint32_t k)
{
    const uint64_t *bins = x->classes.mask[k];
    double worst = 0;

    for (uint32_t w = 0; w < x->words; w++)
        for (uint64_t bits = bins[w]; bits; bits &= bits - 1) {
            double r = x->ratio[w * 64 + (uint32_t)__builtin_ctzll(bits)];

            worst = r > worst ? r : worst;
        }
    return worst;
}

/* What the free bins could earn: their content at the dearest class's worth. */
static double take_off(struct relax *x)
{
    const struct view *v = x->v;
    double sum = 0;

    for (uint32_t t = 0; t < v->n_bins; t++) {
        if (!is_free(v, t) || x->earns[t] <= 0)
            continue;
        for (uint32_t k = 0; k < x->classes.n; k++)
            if (x->classes.mask[k][t / 64] >> (t % 64) & 1 && x->worst[k] > 0 &&
                x->worst[k] < x->least[t])
                x->least[t] = x->worst[k];
        sum += x->earns[t] / x->least[t] * v->max[t];
    }
    return sum;
}

/* The bound that these prices give. */
static double value_of(struct relax *x, const double *y)
{
    double sum = 0;

    rate_bins(x, y);
    for (uint32_t k = 0; k < x->classes.n; k++) {
        double worst = x->worst[k] = rate_class(x, k);

        if (worst > 0)
            sum += worth_of(x->total + (size_t)k * x->n, y, x->n) / worst;
    }
    x->free = x->any_free ? take_off(x) : 0;
    x->work += x->step;
    return sum - x->free;
}

static double item_worth(const struct relax *x, const double *y, uint32_t item)
{
    double worst = x->worst[x->classes.class_of[item]], worth = 0;

    for (uint32_t c = 0; c < x->n; c++)
        worth += y[c] * sums_need(x->v, item, c);
    return worst > 0 ? worth / worst : 0;
}

/* What prices, the last that were tried, give when items are left out. */
static void note(struct relax *x, const double *y, double value)
{
    double dearest = 0;

    for (uint32_t i = 0; x->missing && i < x->v->n_items; i++) {
        double one = item_worth(x, y, i);

        dearest = one > dearest ? one : dearest;
    }
    if (x->missing)
        x->work += (uint64_t)x->v->n_items * x->n;
    value -= (double)x->missing * dearest * (1 + SAFE);
    if (value <= x->net)
        return;
    x->net = value;
    memcpy(x->best, y, x->n * sizeof *y);
}

/* Each resource alone, then all by what each gave. */
static double first_prices(struct relax *x, double *y, double *alone)
{
    double best = 0, *one = ARENA_ARRAY(x->v->arena, double, x->n);
    double *trial = ARENA_ARRAY(x->v->arena, double, x->n);

    for (uint32_t c = 0; c < x->n; c++) {
        double most = 0, value;

        one[c] = 1;
        value = value_of(x, one);
        one[c] = 0;
        for (uint32_t t = 0; t < x->v->n_bins; t++)
            most = x->ratio[t] > most ? x->ratio[t] : most;
        alone[c] = most > 0 && most < 1e300 ? 1 / most : 0;
        trial[c] = value > 0 ? alone[c] * value : 0; /* none below zero */
        if (value > best) {
            best = value;
            memset(y, 0, x->n * sizeof *y);
            y[c] = alone[c];
        }
    }
    if (best > 0 && value_of(x, trial) > best) {
        best = value_of(x, trial);
        memcpy(y, trial, x->n * sizeof *y);
        for (uint32_t c = 0; c < x->n; c++)
            y[c] /= best;
    }
    return best;
}

/* One price after the other, up and down by ever smaller steps. */
static void search_prices(struct relax *x, double *y, uint64_t until)
{
    static const double steps[] = {8,    4,    2,    2,    1.5,  1.25,
                                   1.25, 1.12, 1.06, 1.03, 1.03, 1.015};
    double *alone = ARENA_ARRAY(x->v->arena, double, x->n);
    double best = first_prices(x, y, alone);

    note(x, y, value_of(x, y));
    for (size_t s = 0; s < sizeof steps / sizeof *steps; s++)
        for (uint32_t c = 0; c < x->n && x->work < until; c++) {
            const double was = y[c];
            const double tries[2] = {
                was > 0 ? was * steps[s] : alone[c] * (steps[s] - 1) / 8,
                was / steps[s]};

            for (int k = 0; k < 2; k++) {
                const double kept = y[c];
                double value;

                y[c] = tries[k];
                value = value_of(x, y);
                if (value > best) {
                    best = value;
                    note(x, y, value);
                } else {
                    y[c] = kept;
                }
            }
        }
}

int64_t relax_bound(const struct view *v, uint64_t missing, uint64_t steps,
                    uint64_t *work, double *worth, double *ret_off)
{
    struct relax x;
    double bound, dearest = 0;

    if (!v->n_items || !v->n_bins)
        return 0;
    relax_make(v, missing, &x);
    search_prices(&x, ARENA_ARRAY(v->arena, double, x.n), steps);
    bound = value_of(&x, x.best);
    bound = (bound + x.free) * (1 - SAFE) - x.free * (1 + SAFE);
    for (uint32_t i = 0; i < v->n_items; i++) {
        worth[i] = item_worth(&x, x.best, i);
        dearest = worth[i] > dearest ? worth[i] : dearest;
    }
    *ret_off = x.free;
    bound -= (double)missing * dearest * (1 + SAFE);
    *work += x.work;
    return bound > 0 ? view_whole(v, bound) : 0;
}
