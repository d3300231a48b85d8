/*
 * joint.c - see joint.h.
 *
 * Three tables, each with what was taken at every step so that the answer can be
 * read back: one device (cells x grid), whole devices (devices x grid), what needs no
 * device (grid).  n copies of an item are steps of 1, 2, 4, ... copies.
 */
#include "joint.h"

#include <string.h>

enum {
    JOINT_GRID = 192,  /* units of the exact column */
    JOINT_DEVICES = 16 /* more are not looked at */
};
#define JOINT_BYTES ((size_t)6 << 20) /* of what was taken, at most */

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
    double *value;  /* (top + 1) x (JOINT_GRID + 1): with at most so much */
    uint32_t first; /* its steps */
    uint32_t end;
    size_t took; /* where they begin in took[] */
    uint32_t top;
};

struct joint {
    struct joint_item *item;
    uint32_t n;
    uint32_t side; /* whose items they are */
    VEC(struct joint_step) step;
    uint8_t *took;
    size_t used;
    uint64_t compared; /* items with one another */
    struct joint_table part, whole, plain;
    /* The best of k devices with parts, and how much the k-th has of it. */
    double *parts[JOINT_DEVICES + 1];
    uint16_t *last[JOINT_DEVICES + 1];
    uint32_t wholes[JOINT_GRID + 1]; /* devices taken whole, of each amount, */
    uint16_t split[JOINT_GRID + 1];  /* and their part of it */
    struct arena *arena;
};

static double *row(const struct joint_table *t, uint32_t size)
{
    return t->value + (size_t)size * (JOINT_GRID + 1);
}

static double *table_make(struct arena *a, uint32_t top)
{
    return ARENA_ARRAY(a, double, (size_t)(top + 1) * (JOINT_GRID + 1));
}

struct joint *joint_make(struct price *p)
{
    struct arena *a = p->v->arena;
    struct joint *x = ARENA_NEW(a, struct joint);

    x->arena = a;
    x->item = ARENA_ARRAY(a, struct joint_item, p->v->n_items);
    x->took = ARENA_ARRAY(a, uint8_t, JOINT_BYTES);
    p->work += JOINT_BYTES / 8; /* that is cleared */
    x->part.value = table_make(a, p->max_cells);
    x->whole.value = table_make(a, JOINT_DEVICES);
    x->plain.value = table_make(a, 0);
    for (uint32_t k = 0; k <= JOINT_DEVICES; k++) {
        x->parts[k] = table_make(a, 0);
        x->last[k] = ARENA_ARRAY(a, uint16_t, JOINT_GRID + 1);
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
        most = copies_in(most, units, JOINT_GRID - it->units);
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
        for (uint32_t k = run->first; k < run->first + run->n; k++) {
            double share =
                b->share[(size_t)k * p->scalars + b->column[x->side]];

            if (p->profit[k] > 0 && b->fits[k] &&
                p->sides.of_item[b->item[k]] == x->side)
                insert(x, (struct joint_item){
                              k, size,
                              (uint32_t)(share * JOINT_GRID * (1 - 1e-12)),
                              b->fits[k], p->profit[k]});
        }
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

/* One step more; false: no room to note it. */
static bool step_add(struct joint *x, struct joint_table *t,
                     const struct joint_item *it, uint32_t copies)
{
    const uint32_t width = JOINT_GRID + 1;
    uint32_t size = it->size * copies, units = it->units * copies;
    size_t bytes = (size_t)(t->top + 1) * width;
    uint8_t *took = x->took + x->used;

    if (x->used + bytes > JOINT_BYTES)
        return false;
    x->used += bytes;
    memset(took, 0, bytes);
    for (uint32_t s = t->top + 1; s-- > size;) {
        double *to = row(t, s);

        if (size) {
            raise_row(to + units, row(t, s - size), it->profit * copies,
                      width - units, took + s * width + units);
            continue;
        }
        for (uint32_t c = width; c-- > units;) {
            double v = to[c - units] + it->profit * copies;

            if (v > to[c]) {
                to[c] = v;
                took[s * width + c] = 1;
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
    t->first = x->step.n;
    t->took = x->used;
    for (uint32_t k = 0; k < x->n; k++) {
        const struct joint_item *it = &x->item[k];
        uint32_t left = copies_in(copies_in(it->most, it->size, t->top),
                                  it->units, JOINT_GRID);

        for (uint32_t n = 1; left; left -= n, n *= 2) {
            n = n < left ? n : left;
            if (!step_add(x, t, it, n))
                return false;
        }
    }
    t->end = x->step.n;
    return true;
}

/* What the table's value at (size, units) is made of. */
static void table_read(const struct joint *x, const struct joint_table *t,
                       uint32_t size, uint32_t units, uint32_t *into)
{
    const size_t bytes = (size_t)(t->top + 1) * (JOINT_GRID + 1);

    for (uint32_t k = t->end; k-- > t->first;) {
        const struct joint_step *s = &x->step.v[k];

        if (!x->took[t->took + (k - t->first) * bytes +
                     (size_t)size * (JOINT_GRID + 1) + units])
            continue;
        into[s->place] += s->copies;
        size -= s->size;
        units -= s->units;
    }
}

/* to[c] = the best of a[y] + b[c - y], and that y in at[c] where it is better. */
static bool join(const double *a, const double *b, double *restrict to,
                 uint16_t *restrict at)
{
    bool any = false;

    for (uint32_t y = 0; y <= JOINT_GRID; y++)
        for (uint32_t c = y; c <= JOINT_GRID; c++) {
            double v = a[y] + b[c - y];
            bool more = v > to[c];

            to[c] = more ? v : to[c];
            at[c] = more ? (uint16_t)y : at[c];
            any |= more;
        }
    return any;
}

/* Devices one after the other, then those that are taken whole beside them: into the
 * table of what needs no device. */
static void add_devices(struct joint *x, uint32_t devices)
{
    const size_t bytes = (JOINT_GRID + 1) * sizeof(double);
    double *all = row(&x->plain, 0);
    double had[JOINT_GRID + 1];

    memset(x->parts[0], 0, bytes);
    for (uint32_t k = 1; k <= devices; k++) {
        memset(x->parts[k], 0, bytes);
        memset(x->last[k], 0, (JOINT_GRID + 1) * sizeof *x->last[k]);
        join(row(&x->part, x->part.top), x->parts[k - 1], x->parts[k],
             x->last[k]);
    }
    memset(all, 0, bytes);
    memset(x->wholes, 0, sizeof x->wholes);
    memset(x->split, 0, sizeof x->split);
    for (uint32_t j = 0; j <= devices; j++) {
        memcpy(had, all, bytes);
        if (join(row(&x->whole, j), x->parts[devices - j], all, x->split))
            for (uint32_t c = 0; c <= JOINT_GRID; c++)
                if (all[c] > had[c])
                    x->wholes[c] = j;
    }
}

static void read_devices(const struct joint *x, uint32_t devices,
                         uint32_t units, uint32_t *into)
{
    uint32_t j = x->wholes[units];

    table_read(x, &x->whole, j, x->split[units], into);
    units -= x->split[units];
    for (uint32_t k = devices - j; k; k--) {
        table_read(x, &x->part, x->part.top, x->last[k][units], into);
        units -= x->last[k][units];
    }
}

static bool tables_make(struct joint *x, const struct price *p, uint32_t t,
                        uint32_t cells, uint32_t devices)
{
    x->step.n = 0;
    x->used = 0;
    x->compared = 0;
    x->part.top = cells;
    x->whole.top = devices;
    x->plain.top = 0;
    memset(x->part.value, 0, (cells + 1) * (JOINT_GRID + 1) * sizeof(double));
    memset(x->whole.value, 0,
           (devices + 1) * (JOINT_GRID + 1) * sizeof(double));
    collect(x, p, t, 0, cells);
    if (!table_fill(x, &x->part))
        return false;
    collect(x, p, t, 1, devices);
    if (!table_fill(x, &x->whole))
        return false;
    add_devices(x, devices);
    collect(x, p, t, 2, 0);
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
    uint32_t cells, devices, units = JOINT_GRID;
    const struct joint_table *last = &x->plain;
    bool made;

    if (!devices_of(x, p, t, &cells, &devices))
        return false;
    made = tables_make(x, p, t, cells, devices);
    p->work += 4 * (uint64_t)p->bin[t].n + x->compared + x->used / 4 +
               (uint64_t)devices * JOINT_GRID * JOINT_GRID / 2;
    if (!made)
        return false;
    *ret = row(last, 0)[JOINT_GRID];
    for (uint32_t k = last->end; k-- > last->first;) {
        const struct joint_step *s = &x->step.v[k];

        if (!x->took[last->took + (k - last->first) * (JOINT_GRID + 1) + units])
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
