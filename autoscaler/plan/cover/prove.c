/*
 * prove.c - see prove.h.
 *
 * Depth first over the items, whole devices first, then large parts, then what
 * needs no device.  A node is cut when its worth so far, the price of what is
 * free by the multipliers and the best the remaining items could do with each
 * device by itself are together not above the goal.  Copies of an item go to
 * devices by falling room, so no fill is seen twice.  Only bins whose items
 * need at most one device column are searched.
 */
#include "prove.h"

#include <string.h>

enum { MAX_DEVICES = 16, MAX_DEPTH = 1024, GRID = 400 };

struct prove {
    const struct view *v;
    struct price *price;
    const struct price_bin *b;
    /* Items in the order of the search. */
    uint32_t *place, n, n_whole, n_parts;
    double *worth, *profit;
    uint32_t *cells, *whole, *limit, *used;
    double *part_table;   /* (n_parts + 1) x (cells + 1) */
    double *whole_table;  /* (n_whole + 1) x (devices + 1) */
    double *plain_suffix; /* n + 1 */
    /* The other relaxation: one plain column exact on a grid (rounded down),
     * the others and the devices at a price. */
    double *grid_table; /* (n + 1) x (GRID + 1) */
    double *grid_profit, cell_price, other_free;
    uint32_t *units, column;
    int64_t units_left, cells_left;
    uint32_t stride, dev, all_cells;
    int64_t *free;
    uint32_t level[MAX_DEVICES], n_level, untouched; /* devices */
    double lambda_free, goal, best;
    /* The items put, in order, each with the number of its device. */
    struct step {
        uint32_t k, device;
    } * path, *best_path;
    uint32_t depth, max_depth, best_depth;
    VEC(struct cover_part) part;
    uint64_t nodes, limit_nodes, work;
    bool over;
};

struct prove *prove_make(const struct view *v, struct price *price)
{
    struct arena *a = v->arena;
    struct prove *x = ARENA_NEW(a, struct prove);
    uint32_t n = v->n_items;

    x->v = v;
    x->price = price;
    x->place = ARENA_ARRAY(a, uint32_t, n);
    x->worth = ARENA_ARRAY(a, double, n);
    x->profit = ARENA_ARRAY(a, double, n);
    x->cells = ARENA_ARRAY(a, uint32_t, n);
    x->whole = ARENA_ARRAY(a, uint32_t, n);
    x->limit = ARENA_ARRAY(a, uint32_t, n);
    x->used = ARENA_ARRAY(a, uint32_t, n);
    x->plain_suffix = ARENA_ARRAY(a, double, n + 1);
    x->grid_table = ARENA_ARRAY(a, double, (size_t)(n + 1) * (GRID + 1));
    x->grid_profit = ARENA_ARRAY(a, double, n);
    x->units = ARENA_ARRAY(a, uint32_t, n);
    x->part_table =
        ARENA_ARRAY(a, double, (size_t)(n + 1) * (price->max_cells + 1));
    x->whole_table =
        ARENA_ARRAY(a, double, (size_t)(n + 1) * (MAX_DEVICES + 1));
    x->path = ARENA_ARRAY(a, struct step, MAX_DEPTH);
    x->best_path = ARENA_ARRAY(a, struct step, MAX_DEPTH);
    x->free = ARENA_ARRAY(a, int64_t, v->n_plain);
    return x;
}

uint64_t prove_work(const struct prove *x)
{
    return x->work;
}

static void add_place(struct prove *x, uint32_t k, const struct price_run *run,
                      const double *worth)
{
    const struct price_bin *b = x->b;
    double profit = worth[b->item[k]];

    if (profit <= 0 || !b->fits[k])
        return;
    for (uint32_t s = 0; s < x->v->n_plain; s++)
        profit -= b->lambda[s] * b->share[(size_t)k * x->price->scalars + s];
    x->place[x->n] = k;
    x->worth[x->n] = worth[b->item[k]];
    x->profit[x->n] = profit;
    x->cells[x->n] = run->dev == UINT32_MAX ? 0 : run->cells;
    x->whole[x->n] = run->dev == UINT32_MAX ? 0 : run->whole;
    x->limit[x->n] = b->fits[k];
    x->n++;
}

/* Whole-device items, then parts, then the rest. */
static void order_places(struct prove *x, const double *worth)
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

static double *part_row(struct prove *x, uint32_t k)
{
    return x->part_table + (size_t)(k - x->n_whole) * x->stride;
}

static double *whole_row(struct prove *x, uint32_t k)
{
    return x->whole_table + (size_t)k * (MAX_DEVICES + 1);
}

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

static void make_tables(struct prove *x, uint32_t cells, uint32_t devices)
{
    double *last;

    x->stride = cells + 1;
    x->plain_suffix[x->n] = 0;
    for (uint32_t k = x->n; k-- > x->n_whole + x->n_parts;)
        x->plain_suffix[k] =
            x->plain_suffix[k + 1] +
            (x->profit[k] > 0 ? x->profit[k] * x->limit[k] : 0);
    last = part_row(x, x->n_whole + x->n_parts);
    memset(last, 0, x->stride * sizeof *last);
    for (uint32_t k = x->n_whole + x->n_parts; k-- > x->n_whole;)
        relax(part_row(x, k + 1), part_row(x, k), cells, x->cells[k],
              x->profit[k], x->limit[k]);
    last = whole_row(x, x->n_whole);
    for (uint32_t j = 0; j <= devices; j++)
        last[j] = j * (x->n_parts ? part_row(x, x->n_whole)[cells] : 0);
    for (uint32_t k = x->n_whole; k-- > 0;)
        relax(whole_row(x, k + 1), whole_row(x, k), devices, x->whole[k],
              x->profit[k], x->limit[k]);
    x->work += (uint64_t)(x->n + 1) * cells;
}

static double *grid_row(struct prove *x, uint32_t k)
{
    return x->grid_table + (size_t)k * (GRID + 1);
}

static void fill_grid(struct prove *x, uint32_t cells)
{
    const struct price_bin *b = x->b;
    double *row = grid_row(x, x->n);

    memset(row, 0, (GRID + 1) * sizeof *row);
    for (uint32_t k = x->n; k-- > 0;) {
        const double *share =
            b->share + (size_t)x->place[k] * x->price->scalars;
        const double *next = grid_row(x, k + 1);
        double profit =
            x->worth[k] - x->cell_price * (x->whole[k] * cells + x->cells[k]);

        for (uint32_t c = 0; c < x->v->n_plain; c++)
            if (c != x->column)
                profit -= b->lambda[c] * share[c];
        x->grid_profit[k] = profit;
        x->units[k] = (uint32_t)(share[x->column] * GRID * (1 - 1e-12));
        row = grid_row(x, k);
        if (x->units[k]) {
            relax(next, row, GRID, x->units[k], profit, x->limit[k]);
            continue;
        }
        for (uint32_t c = 0; c <= GRID; c++)
            row[c] = next[c] + (profit > 0 ? profit * x->limit[k] : 0);
    }
    x->work += (uint64_t)x->n * GRID / 2;
}

/* The column that costs most is the exact one; devices at the price, of a few,
 * that makes the bound least. */
static void make_grid(struct prove *x, uint32_t cells, uint32_t devices,
                      double cell_value)
{
    static const double tries[] = {1, 0.85, 0.7, 0.5, 0.25};
    double best = 1e300, at = 0;

    x->column = 0;
    for (uint32_t c = 1; c < x->v->n_plain; c++)
        if (x->b->lambda[c] > x->b->lambda[x->column])
            x->column = c;
    x->other_free = 0;
    for (uint32_t c = 0; c < x->v->n_plain; c++)
        if (c != x->column)
            x->other_free += x->b->lambda[c];
    for (uint32_t q = 0; q < sizeof tries / sizeof *tries; q++) {
        double bound;

        x->cell_price = cell_value * tries[q];
        fill_grid(x, cells);
        bound = x->cell_price * cells * devices + grid_row(x, 0)[GRID];
        if (bound < best) {
            best = bound;
            at = x->cell_price;
        }
    }
    x->cell_price = at;
    fill_grid(x, cells);
    x->units_left = GRID;
    x->cells_left = (int64_t)cells * devices;
}

/* What items from k on can add at best, multipliers paid. */
static double rest(struct prove *x, uint32_t k, uint32_t cells)
{
    double sum = x->plain_suffix[x->n_whole + x->n_parts];
    const double *row;

    if (k < x->n_whole)
        return sum + whole_row(x, k)[x->untouched];
    if (k >= x->n_whole + x->n_parts)
        return x->plain_suffix[k];
    row = part_row(x, k);
    sum += x->untouched * row[cells];
    for (uint32_t d = 0; d < x->n_level; d++)
        sum += row[x->level[d]];
    return sum;
}

static bool takes_plain(struct prove *x, uint32_t k, int sign)
{
    const struct price_bin *b = x->b;
    const int64_t *need = view_need(x->v, b->item[x->place[k]]);

    if (sign > 0)
        for (uint32_t c = 0; c < x->v->n_plain; c++)
            if (need[c] > x->free[c])
                return false;
    for (uint32_t c = 0; c < x->v->n_plain; c++) {
        double price = b->lambda[c] *
                       b->share[(size_t)x->place[k] * x->price->scalars + c];

        x->free[c] -= sign * need[c];
        x->lambda_free -= sign * price;
        if (c != x->column)
            x->other_free -= sign * price;
    }
    x->units_left -= sign * (int64_t)x->units[k];
    x->cells_left -= sign * (int64_t)(x->whole[k] * x->all_cells + x->cells[k]);
    return true;
}

static void search(struct prove *x, uint32_t k, uint32_t highest, double value,
                   uint32_t cells);

/* One more of item k on the device at `at` (n_level: an untouched one). */
static void put_part(struct prove *x, uint32_t k, uint32_t at, double value,
                     uint32_t cells)
{
    uint32_t had = at < x->n_level ? x->level[at] : cells;
    bool opened = at == x->n_level;

    if (opened) {
        x->n_level++;
        x->untouched--;
    }
    x->level[at] = had - x->cells[k];
    x->path[x->depth - 1].device = at;
    search(x, k, had, value, cells);
    x->level[at] = had;
    if (opened) {
        x->n_level--;
        x->untouched++;
    }
}

static void place_one(struct prove *x, uint32_t k, uint32_t highest,
                      double value, uint32_t cells)
{
    if (x->depth == MAX_DEPTH) {
        x->over = true;
        return;
    }
    x->used[k]++;
    x->path[x->depth++] = (struct step){k, UINT32_MAX};
    if (k >= x->n_whole + x->n_parts) {
        search(x, k, highest, value, cells);
    } else if (k < x->n_whole) {
        x->untouched -= x->whole[k];
        search(x, k, highest, value, cells);
        x->untouched += x->whole[k];
    } else {
        for (uint32_t d = 0; d < x->n_level && !x->over; d++) {
            uint32_t q;

            if (x->level[d] < x->cells[k] || x->level[d] > highest)
                continue;
            for (q = 0; q < d && x->level[q] != x->level[d]; q++)
                ;
            if (q == d)
                put_part(x, k, d, value, cells);
        }
        if (x->untouched && highest >= cells && !x->over)
            put_part(x, k, x->n_level, value, cells);
    }
    x->depth--;
    x->used[k]--;
}

static void search(struct prove *x, uint32_t k, uint32_t highest, double value,
                   uint32_t cells)
{
    if (value > x->best) {
        x->best = value;
        if (value > x->goal) {
            /* From here on only better ones count. */
            x->goal = value;
            x->best_depth = x->depth;
            memcpy(x->best_path, x->path, x->depth * sizeof *x->path);
        }
    }
    for (; k < x->n && !x->over; k++, highest = UINT32_MAX) {
        x->work += 8;
        if (++x->nodes > x->limit_nodes) {
            x->over = true;
            return;
        }
        if (value + x->other_free + x->cell_price * (double)x->cells_left +
                    grid_row(x, k)[x->units_left] <=
                x->goal ||
            value + x->lambda_free + rest(x, k, cells) <= x->goal)
            return;
        if (x->used[k] >= x->limit[k] ||
            (k < x->n_whole && x->untouched < x->whole[k]))
            continue;
        if (!takes_plain(x, k, 1))
            continue;
        place_one(x, k, highest, value + x->worth[k], cells);
        takes_plain(x, k, -1);
    }
}

/* UINT32_MAX: none; false: its items need devices of several columns. */
static bool device_column(const struct price_bin *b, uint32_t *ret)
{
    *ret = UINT32_MAX;
    for (uint32_t r = 0; r < b->n_runs; r++) {
        uint32_t dev = b->run[r].dev;

        if (dev != UINT32_MAX && *ret != UINT32_MAX && dev != *ret)
            return false;
        if (dev != UINT32_MAX)
            *ret = dev;
    }
    return true;
}

/* Items that cannot be in a fill above the goal by the tables alone. */
static void drop_hopeless(struct prove *x, uint32_t cells, uint32_t devices)
{
    double root = x->lambda_free + rest(x, 0, cells);
    uint32_t n = 0, wholes = 0, parts = 0;

    for (uint32_t k = 0; k < x->n; k++) {
        double loss = 0;

        if (k < x->n_whole)
            loss = x->whole[k] > devices
                       ? 1e300
                       : whole_row(x, 0)[devices] - x->profit[k] -
                             whole_row(x, 0)[devices - x->whole[k]];
        else if (k < x->n_whole + x->n_parts)
            loss = part_row(x, x->n_whole)[cells] - x->profit[k] -
                   part_row(x, x->n_whole)[cells - x->cells[k]];
        else if (x->profit[k] < 0)
            loss = -x->profit[k];
        if (root - loss <= x->goal)
            continue;
        x->place[n] = x->place[k];
        x->worth[n] = x->worth[k];
        x->profit[n] = x->profit[k];
        x->cells[n] = x->cells[k];
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

/* The best path as parts, one device after the other. */
static void write_parts(struct prove *x)
{
    const struct price_bin *b = x->b;

    x->part.n = 0;
    for (uint32_t device = 0; device <= MAX_DEVICES; device++)
        for (uint32_t q = 0; q < x->best_depth; q++) {
            struct step s = x->best_path[q];
            uint32_t item = b->item[x->place[s.k]];

            if (s.device != device &&
                !(s.device == UINT32_MAX && device == MAX_DEVICES))
                continue;
            if (x->part.n && x->part.v[x->part.n - 1].item == item)
                x->part.v[x->part.n - 1].count++;
            else
                VEC_PUSH(x->v->arena, &x->part, ((struct cover_part){item, 1}));
        }
}

/* The worth of a cell by the tables of the first relaxation. */
static double root_cell_value(struct prove *x, uint32_t devices, uint32_t cells)
{
    double all = 0;

    if (!devices)
        return 0;
    all = x->n_whole   ? whole_row(x, 0)[devices]
          : x->n_parts ? devices * part_row(x, 0)[cells]
                       : 0;
    return all / ((double)devices * cells);
}

bool prove_search(struct prove *x, uint32_t t, const double *worth,
                  double above, uint64_t nodes, double *ret_best,
                  const struct cover_part **ret_part, uint32_t *ret_n)
{
    const struct view *v = x->v;
    uint32_t devices, cells;

    x->b = &x->price->bin[t];
    *ret_best = above;
    *ret_n = 0;
    if (x->price->scalars > v->n_plain || !v->n_plain ||
        !device_column(x->b, &x->dev))
        return false;
    devices =
        x->dev == UINT32_MAX ? 0 : v->devices[(size_t)t * v->n_dev + x->dev];
    cells = x->dev == UINT32_MAX ? 1 : x->price->cells[x->dev];
    if (devices > MAX_DEVICES)
        return false;
    order_places(x, worth);
    x->lambda_free = 0;
    for (uint32_t c = 0; c < v->n_plain; c++) {
        x->free[c] = view_has(v, t)[c];
        x->lambda_free += x->b->lambda[c];
    }
    x->n_level = 0;
    x->untouched = devices;
    x->goal = above;
    x->best = 0;
    x->nodes = 0;
    x->depth = x->best_depth = 0;
    x->limit_nodes = nodes;
    x->over = false;
    memset(x->used, 0, v->n_items * sizeof *x->used);
    make_tables(x, cells, devices);
    drop_hopeless(x, cells, devices);
    make_tables(x, cells, devices);
    x->all_cells = cells;
    make_grid(x, cells, devices, root_cell_value(x, devices, cells));
    search(x, 0, UINT32_MAX, 0, cells);
    write_parts(x);
    *ret_best = x->goal;
    *ret_part = x->part.v;
    *ret_n = x->part.n;
    return !x->over;
}
