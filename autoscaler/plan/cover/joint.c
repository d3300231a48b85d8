/*
 * joint.c - see joint.h.
 *
 * Three tables, each with what was taken at every step so that the answer can be
 * read back: one device (cells x grid), whole devices (devices x grid), what needs no
 * device (grid).  n copies of an item are steps of 1, 2, 4, ... copies.
 *
 * A unit of the grid is what all needs of the exact column are multiples of, so nothing is
 * rounded, unless that is too little.  A table has a row for each sum of sizes alone.
 */
#include "joint.h"

#include "sums.h"

#include <string.h>

enum {
    JOINT_MOST = 1024, /* units of the exact column, at most; */
    JOINT_GRID = 512,  /* where they are parts that needs are rounded to */
    JOINT_DEVICES = 16 /* more are not looked at */
};
#define JOINT_BYTES ((size_t)8 << 20) /* of what was taken, at most */

/* An item of use: in cells of a device, or whole devices, and units of the grid. */
struct joint_item {
    uint32_t place, size, units, most;
    double profit;
};

/* Some copies of one item. */
struct joint_step {
    uint32_t place, copies, size, units;
};

struct joint_table {
    double *value;  /* rows x (grid + 1): with at most so much */
    uint32_t first; /* its steps */
    uint32_t end;
    size_t took;         /* where they begin in took[] */
    uint32_t *sum, rows; /* what a row has of the size; from 0 on */
};

struct joint {
    struct joint_item *item;
    uint32_t n;
    uint32_t side; /* whose items they are */
    uint32_t grid; /* units that the bin has, and */
    int64_t unit;  /* what one is; 0: a part of what the bin has */
    VEC(struct joint_step) step;
    uint8_t *took;
    size_t used;
    uint64_t compared; /* items with one another */
    uint64_t joined;   /* values of two tables */
    struct joint_table part, whole, plain;
    /* The best of k devices with parts, and how much the k-th has of it. */
    double *parts[JOINT_DEVICES + 1];
    uint16_t *last[JOINT_DEVICES + 1];
    uint32_t wholes[JOINT_MOST + 1]; /* whose row, of each amount, */
    uint16_t split[JOINT_MOST + 1];  /* and their part of it */
    struct arena *arena;
};

static double *row(const struct joint *x, const struct joint_table *t,
                   uint32_t number)
{
    return t->value + (size_t)number * (x->grid + 1);
}

/* The last row that has no more than so much. */
static uint32_t row_below(const struct joint_table *t, uint32_t size)
{
    uint32_t r = t->rows - 1;

    while (t->sum[r] > size)
        r--;
    return r;
}

static double *values_make(struct arena *a, uint32_t rows)
{
    return ARENA_ARRAY(a, double, (size_t)rows *(JOINT_MOST + 1));
}

static void table_make(struct arena *a, uint32_t rows, struct joint_table *ret)
{
    ret->value = values_make(a, rows);
    ret->sum = ARENA_ARRAY(a, uint32_t, rows);
}

struct joint *joint_make(struct price *p)
{
    struct arena *a = p->v->arena;
    struct joint *x = ARENA_NEW(a, struct joint);

    x->arena = a;
    x->item = ARENA_ARRAY(a, struct joint_item, p->v->n_items);
    x->took = ARENA_ARRAY(a, uint8_t, JOINT_BYTES);
    p->work += JOINT_BYTES / 8; /* that is cleared */
    table_make(a, p->max_cells + 1, &x->part);
    table_make(a, JOINT_DEVICES + 1, &x->whole);
    table_make(a, 1, &x->plain);
    for (uint32_t k = 0; k <= JOINT_DEVICES; k++) {
        x->parts[k] = values_make(a, 1);
        x->last[k] = ARENA_ARRAY(a, uint16_t, JOINT_MOST + 1);
    }
    return x;
}

/* ---- the items of use */

static uint32_t copies_in(uint32_t most, uint32_t size, uint32_t top)
{
    return size && top / size < most ? top / size : most;
}

/* Is there always one more of those that earn more and are no larger, however
 * many of them lie beside it? */
static bool outdone(struct joint *x, const struct joint_item *it, uint32_t top)
{
    uint32_t size = UINT32_MAX, units = UINT32_MAX, n = 0;

    for (uint32_t k = 0; k < x->n; k++) {
        const struct joint_item *o = &x->item[k];
        uint32_t most = UINT32_MAX;

        x->compared++;
        if (o->size > it->size || o->units > it->units)
            continue;
        n += o->most;
        size = o->size < size ? o->size : size;
        units = o->units < units ? o->units : units;
        most = copies_in(most, size, top - it->size);
        most = copies_in(most, units, x->grid - it->units);
        if (n > most)
            return true;
    }
    return false;
}

/* Puts it where it belongs by profit, the best first. */
static void insert(struct joint *x, struct joint_item it)
{
    uint32_t k = x->n++;

    for (; k && x->item[k - 1].profit < it.profit; k--, x->compared++)
        x->item[k] = x->item[k - 1];
    x->item[k] = it;
}

/* The grid for the side's exact column. */
static void choose_grid(struct joint *x, const struct price *p, uint32_t t)
{
    const struct view *v = p->v;
    const struct price_bin *b = &p->bin[t];
    const uint32_t column = b->column[x->side];
    int64_t unit = 0;

    for (uint32_t k = 0; k < b->n; k++)
        if (p->sides.of_item[b->item[k]] == x->side)
            unit = sums_gcd(unit, view_need(v, b->item[k])[column]);
    x->unit = unit;
    x->grid = JOINT_GRID;
    if (unit == 0 || view_has(v, t)[column] / unit > JOINT_MOST)
        x->unit = 0;
    else
        x->grid = (uint32_t)(view_has(v, t)[column] / unit);
}

static uint32_t units_of(const struct joint *x, const struct price *p,
                         const struct price_bin *b, uint32_t k)
{
    const uint32_t column = b->column[x->side];

    if (x->unit)
        return (uint32_t)(view_need(p->v, b->item[k])[column] / x->unit);
    return (uint32_t)(b->share[(size_t)k * p->scalars + column] * x->grid *
                      (1 - 1e-12));
}

/* The bin's items of whole devices (1), parts (0), or none (2). */
static void collect(struct joint *x, const struct price *p, uint32_t t,
                    int kind, uint32_t top)
{
    const struct price_bin *b = &p->bin[t];
    uint32_t all, n = 0;

    x->n = 0;
    for (uint32_t r = 0; r < b->n_runs; r++) {
        const struct price_run *run = &b->run[r];
        bool none = run->dev == UINT32_MAX;
        uint32_t size = none ? 0 : run->whole ? run->whole : run->cells;

        if (kind != (none ? 2 : run->whole ? 1 : 0) || size > top)
            continue;
        for (uint32_t k = run->first; k < run->first + run->n; k++)
            if (p->profit[k] > 0 && b->fits[k] &&
                p->sides.of_item[b->item[k]] == x->side)
                insert(x, (struct joint_item){k, size, units_of(x, p, b, k),
                                              b->fits[k], p->profit[k]});
    }
    all = x->n;
    for (uint32_t k = 0; k < all; k++) {
        x->n = n;
        if (!outdone(x, &x->item[k], top))
            x->item[n++] = x->item[k];
    }
    x->n = n;
}

/* ---- tables */

/* Without a branch. */
static void raise_row(double *restrict to, const double *restrict from,
                      double gain, uint32_t n, uint8_t *restrict took)
{
    for (uint32_t c = 0; c < n; c++) {
        double v = from[c] + gain;
        bool more = v > to[c];

        to[c] = more ? v : to[c];
        took[c] = more;
    }
}

/* Rows for all sums of the items' sizes up to the top. */
static void rows_make(const struct joint *x, uint32_t top,
                      struct joint_table *t)
{
    bool any[PRICE_CELLS + 1] = {true};

    for (uint32_t k = 0; k < x->n; k++)
        for (uint32_t s = x->item[k].size; s && s <= top; s++)
            any[s] |= any[s - x->item[k].size];
    t->rows = 0;
    for (uint32_t s = 0; s <= top; s++)
        if (any[s])
            t->sum[t->rows++] = s;
    memset(t->value, 0, t->rows * (x->grid + 1) * sizeof *t->value);
}

/* One step more; false: no room to note it. */
static bool step_add(struct joint *x, struct joint_table *t,
                     const struct joint_item *it, uint32_t copies)
{
    const uint32_t width = x->grid + 1;
    uint32_t size = it->size * copies, units = it->units * copies;
    size_t bytes = (size_t)t->rows * width;
    uint8_t *took = x->took + x->used;

    if (x->used + bytes > JOINT_BYTES)
        return false;
    x->used += bytes;
    memset(took, 0, bytes);
    for (uint32_t r = t->rows; r-- > 0 && t->sum[r] >= size;) {
        double *to = row(x, t, r);

        if (size) {
            raise_row(to + units, row(x, t, row_below(t, t->sum[r] - size)),
                      it->profit * copies, width - units,
                      took + r * width + units);
            continue;
        }
        for (uint32_t c = width; c-- > units;) {
            double v = to[c - units] + it->profit * copies;

            if (v > to[c]) {
                to[c] = v;
                took[r * width + c] = 1;
            }
        }
    }
    VEC_PUSH(x->arena, &x->step,
             ((struct joint_step){it->place, copies, size, units}));
    return true;
}

/* All items into a table that has its first values. */
static bool table_fill(struct joint *x, struct joint_table *t)
{
    const uint32_t top = t->sum[t->rows - 1];

    t->first = x->step.n;
    t->took = x->used;
    for (uint32_t k = 0; k < x->n; k++) {
        const struct joint_item *it = &x->item[k];
        uint32_t left = copies_in(copies_in(it->most, it->size, top), it->units,
                                  x->grid);

        for (uint32_t n = 1; left; left -= n, n *= 2) {
            n = n < left ? n : left;
            if (!step_add(x, t, it, n))
                return false;
        }
    }
    t->end = x->step.n;
    return true;
}

/* What the table's value in the row, with so many units, is made of. */
static void table_read(const struct joint *x, const struct joint_table *t,
                       uint32_t number, uint32_t units, uint32_t *into)
{
    const size_t width = x->grid + 1, bytes = t->rows * width;

    for (uint32_t k = t->end; k-- > t->first;) {
        const struct joint_step *s = &x->step.v[k];

        if (!x->took[t->took + (k - t->first) * bytes + number * width + units])
            continue;
        into[s->place] += s->copies;
        number = row_below(t, t->sum[number] - s->size);
        units -= s->units;
    }
}

/* to[c] = the best of a[y] + b[c - y], and that y in at[c] where it is better. */
static bool join(struct joint *x, const double *a, const double *b,
                 double *restrict to, uint16_t *restrict at)
{
    bool any = false;

    for (uint32_t y = 0; y <= x->grid; y++) {
        if (y && a[y] <= a[y - 1])
            continue; /* one unit less does as well */
        for (uint32_t c = y; c <= x->grid; c++) {
            double v = a[y] + b[c - y];
            bool more = v > to[c];

            to[c] = more ? v : to[c];
            at[c] = more ? (uint16_t)y : at[c];
            any |= more;
        }
        x->joined += x->grid + 1 - y;
    }
    return any;
}

/* Devices one after the other, then those that are taken whole beside them: into the
 * table of what needs no device. */
static void add_devices(struct joint *x, uint32_t devices)
{
    const size_t bytes = (x->grid + 1) * sizeof(double);
    double *all = row(x, &x->plain, 0);
    double had[JOINT_MOST + 1];

    memset(x->parts[0], 0, bytes);
    for (uint32_t k = 1; k <= devices; k++) {
        memset(x->parts[k], 0, bytes);
        memset(x->last[k], 0, (x->grid + 1) * sizeof *x->last[k]);
        join(x, row(x, &x->part, x->part.rows - 1), x->parts[k - 1],
             x->parts[k], x->last[k]);
    }
    memset(all, 0, bytes);
    memset(x->wholes, 0, sizeof x->wholes);
    memset(x->split, 0, sizeof x->split);
    for (uint32_t r = 0; r < x->whole.rows; r++) {
        uint32_t j = x->whole.sum[r];

        memcpy(had, all, bytes);
        if (join(x, row(x, &x->whole, r), x->parts[devices - j], all, x->split))
            for (uint32_t c = 0; c <= x->grid; c++)
                if (all[c] > had[c])
                    x->wholes[c] = r;
    }
}

static void read_devices(const struct joint *x, uint32_t devices,
                         uint32_t units, uint32_t *into)
{
    uint32_t r = x->wholes[units];

    table_read(x, &x->whole, r, x->split[units], into);
    units -= x->split[units];
    for (uint32_t k = devices - x->whole.sum[r]; k; k--) {
        table_read(x, &x->part, x->part.rows - 1, x->last[k][units], into);
        units -= x->last[k][units];
    }
}

static bool tables_make(struct joint *x, const struct price *p, uint32_t t,
                        uint32_t cells, uint32_t devices)
{
    x->step.n = 0;
    x->used = 0;
    x->compared = x->joined = 0;
    choose_grid(x, p, t);
    collect(x, p, t, 0, cells);
    rows_make(x, cells, &x->part);
    if (!table_fill(x, &x->part))
        return false;
    collect(x, p, t, 1, devices);
    rows_make(x, devices, &x->whole);
    if (!table_fill(x, &x->whole))
        return false;
    collect(x, p, t, 2, 0);
    rows_make(x, 0, &x->plain);
    add_devices(x, devices);
    return table_fill(x, &x->plain);
}

/* Of a side's one device column; false: there are several, or too many devices. */
static bool devices_of(const struct joint *x, const struct price *p, uint32_t t,
                       uint32_t *ret_cells, uint32_t *ret)
{
    const struct view *v = p->v;
    uint32_t dev;

    if (p->scalars > v->n_plain || !v->n_plain ||
        !price_one_device(p, t, x->side, &dev))
        return false;
    *ret = dev == UINT32_MAX ? 0 : v->devices[(size_t)t * v->n_dev + dev];
    *ret_cells = *ret ? p->cells[dev] : 0;
    return *ret <= JOINT_DEVICES;
}

/* Of a side. */
static bool side_most(struct joint *x, struct price *p, uint32_t t, double *ret)
{
    uint32_t cells, devices, units;
    const struct joint_table *last = &x->plain;
    bool made;

    if (!devices_of(x, p, t, &cells, &devices))
        return false;
    made = tables_make(x, p, t, cells, devices);
    p->work += 4 * (uint64_t)p->bin[t].n + x->compared + x->used / 4 +
               x->joined / 2;
    if (!made)
        return false;
    units = x->grid;
    *ret = row(x, last, 0)[units];
    for (uint32_t k = last->end; k-- > last->first;) {
        const struct joint_step *s = &x->step.v[k];

        if (!x->took[last->took + (k - last->first) * (x->grid + 1) + units])
            continue;
        p->taken[s->place] += s->copies;
        units -= s->units;
    }
    read_devices(x, devices, units, p->taken);
    return true;
}

bool joint_most(struct joint *x, struct price *p, uint32_t t, double *ret)
{
    *ret = 0;
    for (x->side = 0; x->side < p->sides.n; x->side++) {
        double most;

        if (!side_most(x, p, t, &most)) {
            memset(p->taken, 0, p->bin[t].n * sizeof *p->taken);
            return false;
        }
        *ret += most;
    }
    return true;
}
