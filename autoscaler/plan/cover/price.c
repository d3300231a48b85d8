/*
 * price.c - the Lagrangian bound of one bin, device-exact up to the
 * number of copies over several devices.
 *
 * Doubles: a sum of at most some thousand terms, none larger than the result,
 * so it is right to better than 1e-11; a proof takes 1e-9 off.
 */
#include "price.h"
#include "sums.h"
#include "tune.h"

#include <string.h>

#define NO_DEVICE UINT32_MAX

#define MAX_WHOLE 128 /* devices in the exact whole-device table */

static void choose_cells(struct price *p)
{
    const struct view *v = p->v;

    p->cells = ARENA_ARRAY(v->arena, uint32_t, v->n_dev);
    for (uint32_t d = 0; d < v->n_dev; d++) {
        uint32_t g = (uint32_t)AMOUNT_ONE;

        for (uint32_t i = 0; i < v->n_items; i++)
            g = (uint32_t)sums_gcd(g, v->share[(size_t)i * v->n_dev + d].part);
        p->cells[d] = (uint32_t)AMOUNT_ONE / g;
        if (p->cells[d] > PRICE_CELLS)
            p->cells[d] = PRICE_CELLS;
        if (p->cells[d] > p->max_cells)
            p->max_cells = p->cells[d];
    }
}

/* The device column an item is placed by: its first; others count as sums. */
static struct price_run device_of(const struct price *p, uint32_t item)
{
    const struct view *v = p->v;
    struct price_run run = {0, 0, NO_DEVICE, 0, 0};

    for (uint32_t d = 0; d < v->n_dev; d++) {
        struct view_share s = v->share[(size_t)item * v->n_dev + d];
        uint32_t cells;

        if (!s.whole && !s.part)
            continue;
        cells = (uint32_t)((uint64_t)s.part * p->cells[d] /
                           (uint64_t)AMOUNT_ONE);
        if (!s.whole && !cells)
            continue;
        run.dev = d;
        run.whole = s.whole;
        run.cells = cells;
        return run;
    }
    return run;
}

static bool run_before(const struct price_run *a, const struct price_run *b)
{
    if (a->dev != b->dev)
        return a->dev < b->dev;
    if (a->whole != b->whole)
        return a->whole < b->whole;
    return a->cells > b->cells;
}

static uint32_t fits_alone(const struct view *v, uint32_t t, uint32_t i)
{
    uint32_t most = v->count[i];

    for (uint32_t c = 0; c < v->n_plain; c++) {
        int64_t need = view_need(v, i)[c];

        if (need && view_has(v, t)[c] / need < (int64_t)most)
            most = (uint32_t)(view_has(v, t)[c] / need);
    }
    for (uint32_t d = 0; d < v->n_dev; d++) {
        struct view_share s = v->share[(size_t)i * v->n_dev + d];
        uint64_t devices = v->devices[(size_t)t * v->n_dev + d], k = most;

        if (s.whole)
            k = devices / s.whole;
        else if (s.part)
            k = devices * ((uint64_t)AMOUNT_ONE / s.part);
        if (k < most)
            most = (uint32_t)k;
    }
    return most;
}

static void make_bin(struct price *p, uint32_t t, const uint32_t *sorted,
                     const struct price_run *kind)
{
    const struct view *v = p->v;
    struct arena *a = v->arena;
    struct price_bin *b = &p->bin[t];
    uint32_t n = 0, runs = 0;

    for (uint32_t k = 0; k < v->n_items; k++)
        n += view_can(v, t, sorted[k]);
    b->item = ARENA_ARRAY(a, uint32_t, n);
    b->share = ARENA_ARRAY(a, double, (size_t)n * p->scalars);
    b->fits = ARENA_ARRAY(a, uint32_t, n);
    b->lambda = ARENA_ARRAY(a, double, p->scalars);
    for (uint32_t k = 0; k < v->n_items; k++) {
        uint32_t i = sorted[k];

        if (!view_can(v, t, i))
            continue;
        if (!b->n || run_before(&kind[b->item[b->n - 1]], &kind[i]))
            runs++;
        for (uint32_t c = 0; c < v->n_plain; c++)
            b->share[(size_t)b->n * p->scalars + c] =
                view_need(v, i)[c]
                    ? (double)view_need(v, i)[c] / (double)view_has(v, t)[c]
                    : 0;
        for (uint32_t d = 0; v->n_plain + d < p->scalars; d++)
            if (view_device_amount(v, i, d))
                b->share[(size_t)b->n * p->scalars + v->n_plain + d] =
                    (double)view_device_amount(v, i, d) /
                    (1e4 * (double)v->devices[(size_t)t * v->n_dev + d]);
        b->fits[b->n] = fits_alone(v, t, i);
        b->item[b->n++] = i;
    }
    b->run = ARENA_ARRAY(a, struct price_run, runs);
    for (uint32_t k = 0; k < b->n; k++) {
        if (!k || run_before(&kind[b->item[k - 1]], &kind[b->item[k]])) {
            b->run[b->n_runs] = kind[b->item[k]];
            b->run[b->n_runs++].first = k;
        }
        b->run[b->n_runs - 1].n++;
    }
}

struct price *price_make(const struct view *v)
{
    struct arena *a = v->arena;
    struct price *p = ARENA_NEW(a, struct price);
    struct price_run *kind = ARENA_ARRAY(a, struct price_run, v->n_items);
    uint32_t *sorted = ARENA_ARRAY(a, uint32_t, v->n_items);
    bool several = false;

    p->v = v;
    sides_make(v, &p->sides);
    choose_cells(p);
    for (uint32_t i = 0; i < v->n_items; i++) {
        uint32_t k, columns = 0;

        kind[i] = device_of(p, i);
        for (uint32_t d = 0; d < v->n_dev; d++)
            columns += view_device_amount(v, i, d) > 0;
        several |= columns > 1;
        for (k = i; k && run_before(&kind[i], &kind[sorted[k - 1]]); k--)
            sorted[k] = sorted[k - 1];
        sorted[k] = i;
    }
    p->scalars = v->n_plain + (several ? v->n_dev : 0);
    for (uint32_t c = 1; c <= p->max_cells; c++)
        p->max_stages += p->max_cells / c;
    p->bin = ARENA_ARRAY(a, struct price_bin, v->n_bins);
    for (uint32_t t = 0; t < v->n_bins; t++)
        make_bin(p, t, sorted, kind);
    p->tuner = tuner_make(a, p->scalars);
    p->taken = ARENA_ARRAY(a, uint32_t, v->n_items);
    p->device_taken = ARENA_ARRAY(a, uint32_t, v->n_items);
    p->cell_value = ARENA_ARRAY(a, double, v->n_dev);
    p->profit = ARENA_ARRAY(a, double, v->n_items);
    p->table = ARENA_ARRAY(a, double, p->max_cells + 1);
    p->whole_table = ARENA_ARRAY(a, double, MAX_WHOLE + 1);
    p->max_stages += MAX_WHOLE * 6;
    p->took = ARENA_ARRAY(
        a, uint8_t,
        (size_t)(p->max_stages + 1) *
            ((p->max_cells > MAX_WHOLE ? p->max_cells : MAX_WHOLE) + 1));
    p->stage_item = ARENA_ARRAY(a, uint32_t, p->max_stages + 1);
    p->stage_cells = ARENA_ARRAY(a, uint32_t, p->max_stages + 1);
    p->stage_many = ARENA_ARRAY(a, bool, p->max_stages + 1);
    p->order = ARENA_ARRAY(a, uint32_t, v->n_items);
    return p;
}

bool price_one_device(const struct price *p, uint32_t t, uint32_t side,
                      uint32_t *ret)
{
    const struct price_bin *b = &p->bin[t];

    *ret = NO_DEVICE;
    for (uint32_t r = 0; r < b->n_runs; r++) {
        uint32_t dev = b->run[r].dev;

        /* A run on devices is of one side: they have a column. */
        if (dev == NO_DEVICE ||
            p->sides.of_item[b->item[b->run[r].first]] != side)
            continue;
        if (*ret != NO_DEVICE && dev != *ret)
            return false;
        *ret = dev;
    }
    return true;
}

/* Without a branch, which could not be predicted. */
static inline bool raised(double *cell, double value)
{
    bool more = value > *cell;

    *cell = more ? value : *cell;
    return more;
}

/* Puts a run's best items, up to `copies` in all, through stages of a
 * knapsack table of `size` units where each takes `units`. */
static uint32_t add_run(struct price *p, const struct price_bin *b,
                        const struct price_run *run, uint32_t units,
                        uint32_t size, double *table, uint32_t stage,
                        uint32_t row, const struct price_rest *rest)
{
    uint32_t copies = size / units, n = 0;

    for (uint32_t k = run->first; k < run->first + run->n; k++)
        if (p->profit[k] > 0 && price_limit(b, k, rest))
            p->order[n++] = k;
    for (uint32_t o = 0; o < n && copies; o++) {
        uint32_t best = o, k, most;
        bool many;

        for (uint32_t q = o + 1; q < n; q++)
            if (p->profit[p->order[q]] > p->profit[p->order[best]])
                best = q;
        k = p->order[best];
        p->order[best] = p->order[o];
        most = price_limit(b, k, rest);
        many = most >= copies;
        if (many)
            most = 1;
        for (uint32_t c = 0; c < most && stage < p->max_stages; c++, stage++) {
            uint8_t *took = p->took + (size_t)stage * row;
            double gain = p->profit[k];

            memset(took, 0, units);
            p->stage_item[stage] = k;
            p->stage_cells[stage] = units;
            p->stage_many[stage] = many;
            if (many)
                for (uint32_t x = units; x <= size; x++)
                    took[x] = raised(&table[x], table[x - units] + gain);
            else
                for (uint32_t x = size; x >= units; x--)
                    took[x] = raised(&table[x], table[x - units] + gain);
            p->work += size;
        }
        copies = many ? 0 : copies - most;
    }
    p->work += run->n;
    return stage;
}

static void trace(struct price *p, uint32_t stage, uint32_t size, uint32_t row,
                  uint32_t times, uint32_t *into)
{
    uint32_t x = size;

    while (stage) {
        if (!p->took[(size_t)(stage - 1) * row + x]) {
            stage--;
            continue;
        }
        x -= p->stage_cells[stage - 1];
        into[p->stage_item[stage - 1]] += times;
        if (!p->stage_many[stage - 1])
            stage--;
    }
}

/* What one shared device of the column takes, so many times. */
static void take_shared(struct price *p, const struct price_bin *b, uint32_t d,
                        uint32_t devices)
{
    for (uint32_t r = 0; r < b->n_runs; r++) {
        const struct price_run *run = &b->run[r];

        if (run->dev != d || run->whole)
            continue;
        for (uint32_t k = run->first; k < run->first + run->n; k++)
            p->taken[k] += p->device_taken[k] * devices;
    }
}

/* One device column: K devices of F each, or whole ones in their place. */
static double device_value(struct price *p, uint32_t t, uint32_t d,
                           uint32_t devices, const struct price_rest *rest)
{
    const struct price_bin *b = &p->bin[t];
    uint32_t cells = p->cells[d], stage = 0, best = 0;
    uint32_t row = (p->max_cells > MAX_WHOLE ? p->max_cells : MAX_WHOLE) + 1;
    double each, value, most = 0;

    memset(p->table, 0, (cells + 1) * sizeof *p->table);
    for (uint32_t r = 0; r < b->n_runs; r++)
        if (b->run[r].dev == d && !b->run[r].whole)
            stage = add_run(p, b, &b->run[r], b->run[r].cells, cells, p->table,
                            stage, row, rest);
    each = p->table[cells];
    trace(p, stage, cells, row, 1, p->device_taken);
    if (devices > MAX_WHOLE) {
        /* Too many for a table: every device at the best rate. */
        for (uint32_t r = 0; r < b->n_runs; r++)
            for (uint32_t k = b->run[r].first;
                 b->run[r].dev == d && b->run[r].whole &&
                 k < b->run[r].first + b->run[r].n;
                 k++)
                if (p->profit[k] / b->run[r].whole > most)
                    most = p->profit[k] / b->run[r].whole;
        value = (most > each ? most : each) * (double)devices;
        p->cell_value[d] = value / ((double)devices * cells);
        take_shared(p, b, d, devices);
        return value;
    }
    memset(p->whole_table, 0, (devices + 1) * sizeof *p->whole_table);
    stage = 0;
    for (uint32_t r = 0; r < b->n_runs; r++)
        if (b->run[r].dev == d && b->run[r].whole && b->run[r].whole <= devices)
            stage = add_run(p, b, &b->run[r], b->run[r].whole, devices,
                            p->whole_table, stage, row, rest);
    value = -1;
    for (uint32_t j = 0; j <= devices; j++)
        if (p->whole_table[j] + (devices - j) * each > value) {
            value = p->whole_table[j] + (devices - j) * each;
            best = j;
        }
    trace(p, stage, best, row, 1, p->taken);
    take_shared(p, b, d, devices - best);
    p->cell_value[d] = devices ? value / ((double)devices * cells) : 0;
    return value;
}

/* What each place earns, the multipliers paid; returns the price of what is
 * free and of the scarce items. */
static double set_profits(struct price *p, const struct price_bin *b,
                          const double *worth, const struct price_rest *rest)
{
    double value = 0;

    for (uint32_t k = 0; k < b->n; k++) {
        double profit = worth[b->item[k]];

        for (uint32_t s = 0; s < p->scalars; s++)
            profit -= b->lambda[s] * b->share[(size_t)k * p->scalars + s];
        p->profit[k] = profit;
    }
    for (uint32_t q = 0; q < b->n_scarce; q++) {
        uint32_t k = b->scarce[q];

        p->profit[k] -= b->sigma[q];
        value += b->sigma[q] * price_limit(b, k, rest);
    }
    for (uint32_t s = 0; s < p->scalars; s++)
        value += b->lambda[s] * (rest ? rest->free[s] : 1);
    return value;
}

/* Items that need no device: each that earns something, as often as it is
 * left.  Adds to value. */
static double take_plain(struct price *p, const struct price_bin *b,
                         double value, const struct price_rest *rest)
{
    for (uint32_t r = 0; r < b->n_runs; r++) {
        if (b->run[r].dev != NO_DEVICE)
            continue;
        for (uint32_t k = b->run[r].first; k < b->run[r].first + b->run[r].n;
             k++)
            if (p->profit[k] > 0) {
                uint32_t most = price_limit(b, k, rest);

                p->taken[k] = most;
                value += p->profit[k] * most;
            }
    }
    return value;
}

double price_evaluate(struct price *p, uint32_t t, const double *worth,
                      const struct price_rest *rest)
{
    const struct view *v = p->v;
    const struct price_bin *b = &p->bin[t];
    double value;

    memset(p->taken, 0, b->n * sizeof *p->taken);
    memset(p->device_taken, 0, b->n * sizeof *p->device_taken);
    value = set_profits(p, b, worth, rest);
    value = take_plain(p, b, value, rest);
    for (uint32_t d = 0; d < v->n_dev; d++) {
        uint32_t devices = rest ? rest->devices[d]
                                : v->devices[(size_t)t * v->n_dev + d];

        p->cell_value[d] = 0;
        if (devices)
            value += device_value(p, t, d, devices, rest);
    }
    p->work += 2 * b->n;
    return value;
}

void price_of_sides(const struct price *p, uint32_t t, double *ret)
{
    const struct price_bin *b = &p->bin[t];
    const struct sides *sides = &p->sides;

    memset(ret, 0, sides->n * sizeof *ret);
    for (uint32_t c = 0; c < p->v->n_plain; c++)
        ret[sides->of_plain[c]] += b->lambda[c];
    for (uint32_t q = 0; q < b->n_scarce; q++)
        ret[sides->of_item[b->item[b->scarce[q]]]] += b->sigma[q] *
                                                      b->fits[b->scarce[q]];
    for (uint32_t k = 0; k < b->n; k++)
        ret[sides->of_item[b->item[k]]] += p->profit[k] * p->taken[k];
}
