/*
 * reach.c - see reach.h.
 */
#include "reach.h"

#include <string.h>

enum { ROUGH = 64 }; /* units of a grid that only tells prices apart */

void reach_make(const struct view *v, struct price *price, struct reach *ret)
{
    struct arena *a = v->arena;
    uint32_t n = v->n_items;
    size_t rows = n + 1;

    ret->v = v;
    ret->price = price;
    ret->place = ARENA_ARRAY(a, uint32_t, n);
    ret->worth = ARENA_ARRAY(a, double, n);
    ret->profit = ARENA_ARRAY(a, double, n);
    ret->in_cells = ARENA_ARRAY(a, uint32_t, n);
    ret->whole = ARENA_ARRAY(a, uint32_t, n);
    ret->limit = ARENA_ARRAY(a, uint32_t, n);
    ret->plain_suffix = ARENA_ARRAY(a, double, rows);
    ret->part_table = ARENA_ARRAY(a, double, rows *(price->max_cells + 1));
    ret->whole_table = ARENA_ARRAY(a, double, rows *(MAX_DEVICES + 1));
    ret->grid_table = ARENA_ARRAY(a, double, rows *(GRID + 1));
    ret->units = ARENA_ARRAY(a, uint32_t, n);
}

/* ---- the items */

static void add_place(struct reach *x, uint32_t k, const struct price_run *run,
                      const double *worth)
{
    const struct price_bin *b = x->b;
    double profit = worth[b->item[k]];

    if (profit <= 0 || !b->fits[k] ||
        x->price->sides.of_item[b->item[k]] != x->side)
        return;
    for (uint32_t s = 0; s < x->v->n_plain; s++)
        profit -= b->lambda[s] * b->share[(size_t)k * x->price->scalars + s];
    x->place[x->n] = k;
    x->worth[x->n] = worth[b->item[k]];
    x->profit[x->n] = profit;
    x->in_cells[x->n] = run->dev == UINT32_MAX ? 0 : run->cells;
    x->whole[x->n] = run->dev == UINT32_MAX ? 0 : run->whole;
    x->limit[x->n] = b->fits[k];
    x->n++;
}

/* Whole-device items, then parts, then the rest. */
static void order_places(struct reach *x, const double *worth)
{
    const struct price_bin *b = x->b;

    x->n = 0;
    for (uint32_t r = b->n_runs; r-- > 0;)
        for (uint32_t k = 0;
             b->run[r].dev != UINT32_MAX && b->run[r].whole && k < b->run[r].n;
             k++)
            add_place(x, b->run[r].first + k, &b->run[r], worth);
    x->n_whole = x->n;
    for (uint32_t r = 0; r < b->n_runs; r++)
        for (uint32_t k = 0;
             b->run[r].dev != UINT32_MAX && !b->run[r].whole && k < b->run[r].n;
             k++)
            add_place(x, b->run[r].first + k, &b->run[r], worth);
    x->n_parts = x->n - x->n_whole;
    for (uint32_t r = 0; r < b->n_runs; r++)
        for (uint32_t k = 0; b->run[r].dev == UINT32_MAX && k < b->run[r].n;
             k++)
            add_place(x, b->run[r].first + k, &b->run[r], worth);
}

/* ---- by devices */

/* Without a branch, and without a dependence from cell to cell. */
static void row_raise(double *restrict row, const double *restrict from,
                      double by, uint32_t n)
{
    for (uint32_t c = 0; c < n; c++) {
        double x = from[c] + by;

        row[c] = x > row[c] ? x : row[c];
    }
}

/* row = best of taking up to limit of k in units of `size`. */
static void relax(const double *next, double *row, uint32_t top, uint32_t size,
                  double profit, uint32_t limit)
{
    memcpy(row, next, (top + 1) * sizeof *row);
    for (uint32_t n = 1; profit > 0 && n <= limit && n * size <= top; n++)
        row_raise(row + n * size, next, n * profit, top + 1 - n * size);
}

static void make_tables(struct reach *x)
{
    double *last;

    x->stride = x->cells + 1;
    x->plain_suffix[x->n] = 0;
    for (uint32_t k = x->n; k-- > x->n_whole + x->n_parts;)
        x->plain_suffix[k] = x->plain_suffix[k + 1] +
                             (x->profit[k] > 0 ? x->profit[k] * x->limit[k]
                                               : 0);
    last = reach_part_row(x, x->n_whole + x->n_parts);
    memset(last, 0, x->stride * sizeof *last);
    for (uint32_t k = x->n_whole + x->n_parts; k-- > x->n_whole;)
        relax(reach_part_row(x, k + 1), reach_part_row(x, k), x->cells,
              x->in_cells[k], x->profit[k], x->limit[k]);
    last = reach_whole_row(x, x->n_whole);
    for (uint32_t j = 0; j <= x->devices; j++)
        last[j] = j *
                  (x->n_parts ? reach_part_row(x, x->n_whole)[x->cells] : 0);
    for (uint32_t k = x->n_whole; k-- > 0;)
        relax(reach_whole_row(x, k + 1), reach_whole_row(x, k), x->devices,
              x->whole[k], x->profit[k], x->limit[k]);
    x->work += (uint64_t)(x->n + 1) * x->cells;
}

double reach_by_devices(const struct reach *x, uint32_t k, uint32_t untouched,
                        const uint32_t *level, uint32_t n)
{
    double sum = x->plain_suffix[x->n_whole + x->n_parts];
    const double *row;

    if (k < x->n_whole)
        return sum + reach_whole_row(x, k)[untouched];
    if (k >= x->n_whole + x->n_parts)
        return x->plain_suffix[k];
    row = reach_part_row(x, k);
    sum += untouched * row[x->cells];
    for (uint32_t d = 0; d < n; d++)
        sum += row[level[d]];
    return sum;
}

/* What any fill with item k is at least below the best by the tables. */
static double loss_of(const struct reach *x, uint32_t k)
{
    const double *row;

    if (k < x->n_whole) {
        row = reach_whole_row(x, 0);
        return x->whole[k] > x->devices ? 1e300
                                        : row[x->devices] - x->profit[k] -
                                              row[x->devices - x->whole[k]];
    }
    if (k < x->n_whole + x->n_parts) {
        row = reach_part_row(x, x->n_whole);
        return row[x->cells] - x->profit[k] - row[x->cells - x->in_cells[k]];
    }
    return x->profit[k] < 0 ? -x->profit[k] : 0;
}

/* Items that cannot be in a fill above the goal by the tables alone. */
static void drop_hopeless(struct reach *x, double goal)
{
    double root = 0;
    uint32_t n = 0, wholes = 0, parts = 0;

    for (uint32_t c = 0; c < x->v->n_plain; c++)
        if (reach_column(x, c))
            root += x->b->lambda[c];
    root += reach_by_devices(x, 0, x->devices, NULL, 0);
    for (uint32_t k = 0; k < x->n; k++) {
        if (root - loss_of(x, k) <= goal)
            continue;
        x->place[n] = x->place[k];
        x->worth[n] = x->worth[k];
        x->profit[n] = x->profit[k];
        x->in_cells[n] = x->in_cells[k];
        x->whole[n] = x->whole[k];
        x->limit[n] = x->limit[k];
        wholes += k < x->n_whole;
        parts += k >= x->n_whole && k < x->n_whole + x->n_parts;
        n++;
    }
    x->n = n;
    x->n_whole = wholes;
    x->n_parts = parts;
}

/* ---- by one plain column */

/* On a grid of so many units, GRID at most. */
static void fill_grid(struct reach *x, uint32_t grid)
{
    const struct price_bin *b = x->b;
    double *row = reach_grid_row(x, x->n);

    memset(row, 0, (grid + 1) * sizeof *row);
    for (uint32_t k = x->n; k-- > 0;) {
        const double *share = b->share +
                              (size_t)x->place[k] * x->price->scalars;
        const double *next = reach_grid_row(x, k + 1);
        double profit = x->worth[k] - x->cell_price * (x->whole[k] * x->cells +
                                                       x->in_cells[k]);

        for (uint32_t c = 0; c < x->v->n_plain; c++)
            if (c != x->column)
                profit -= b->lambda[c] * share[c];
        x->units[k] = (uint32_t)(share[x->column] * grid * (1 - 1e-12));
        row = reach_grid_row(x, k);
        if (x->units[k]) {
            relax(next, row, grid, x->units[k], profit, x->limit[k]);
            continue;
        }
        for (uint32_t c = 0; c <= grid; c++)
            row[c] = next[c] + (profit > 0 ? profit * x->limit[k] : 0);
    }
    x->work += (uint64_t)x->n * grid / 2;
}

/* The column that costs most is the exact one; devices at the price, of a few,
 * that makes the bound least on a rough grid. */
static void make_grid(struct reach *x, double cell_value)
{
    static const double tries[] = {1, 0.85, 0.7, 0.5, 0.25};
    double best = 1e300, at = 0;

    x->column = UINT32_MAX;
    for (uint32_t c = 0; c < x->v->n_plain; c++)
        if (reach_column(x, c) && (x->column == UINT32_MAX ||
                                   x->b->lambda[c] > x->b->lambda[x->column]))
            x->column = c;
    for (uint32_t q = 0; q < sizeof tries / sizeof *tries; q++) {
        double bound;

        x->cell_price = cell_value * tries[q];
        fill_grid(x, ROUGH);
        bound = x->cell_price * x->cells * x->devices +
                reach_grid_row(x, 0)[ROUGH];
        if (bound < best) {
            best = bound;
            at = x->cell_price;
        }
    }
    x->cell_price = at;
    fill_grid(x, GRID);
}

/* The worth of a cell by the tables of the first relaxation. */
static double root_cell_value(const struct reach *x)
{
    double all = 0;

    if (!x->devices)
        return 0;
    all = x->n_whole   ? reach_whole_row(x, 0)[x->devices]
          : x->n_parts ? x->devices * reach_part_row(x, 0)[x->cells]
                       : 0;
    return all / ((double)x->devices * x->cells);
}

void reach_open(struct reach *x, uint32_t t, uint32_t side, uint32_t dev,
                const double *worth, double goal)
{
    const struct view *v = x->v;

    x->b = &x->price->bin[t];
    x->side = side;
    x->devices = dev == UINT32_MAX ? 0 : v->devices[(size_t)t * v->n_dev + dev];
    x->cells = dev == UINT32_MAX ? 1 : x->price->cells[dev];
    order_places(x, worth);
    make_tables(x);
    drop_hopeless(x, goal);
    make_tables(x);
    make_grid(x, root_cell_value(x));
}
