/*
 * prove.c - see prove.h.
 *
 * Depth first over the items, whole devices first, then large parts, then what
 * needs no device.  A branch is cut when its worth so far and the most that the
 * remaining items can add (reach.h) are together not above the goal.  Copies of
 * an item go to devices by falling free space, so no fill is seen twice.  Sides of a
 * bin (sides.h) are searched one after the other; each may need at most one device
 * column.
 */
#include "prove.h"

#include "reach.h"

#include <string.h>

enum { MAX_DEPTH = 1024 };

/* An item that was put, with the number of its device. */
struct step {
    uint32_t k, device;
};

struct prove {
    const struct view *v;
    struct reach r;
    /* What is free, exactly and as the relaxations count it. */
    int64_t *free;
    uint32_t level[MAX_DEVICES], n_level, untouched; /* devices */
    double lambda_free, other_free;
    int64_t units_left, cells_left;
    uint32_t *used; /* per item of the reach */
    struct step *path, *best_path;
    uint32_t depth, best_depth;
    double goal, best;
    VEC(struct cover_part) part; /* of all sides */
    double *most;                /* of each side, when there are several */
    uint32_t *device;            /* its device column */
    uint64_t nodes, limit_nodes, work, limit_work;
    bool over;
};

struct prove *prove_make(const struct view *v, struct price *price)
{
    struct arena *a = v->arena;
    struct prove *x = ARENA_NEW(a, struct prove);

    x->v = v;
    x->limit_work = UINT64_MAX;
    reach_make(v, price, &x->r);
    x->most = ARENA_ARRAY(a, double, price->sides.n);
    x->device = ARENA_ARRAY(a, uint32_t, price->sides.n);
    x->used = ARENA_ARRAY(a, uint32_t, v->n_items);
    x->path = ARENA_ARRAY(a, struct step, MAX_DEPTH);
    x->best_path = ARENA_ARRAY(a, struct step, MAX_DEPTH);
    x->free = ARENA_ARRAY(a, int64_t, v->n_plain);
    return x;
}

uint64_t prove_work(const struct prove *x)
{
    return x->work + x->r.work;
}

void prove_stop_at(struct prove *x, uint64_t work)
{
    x->limit_work = work;
}

/* Takes item k's plain columns (sign 1; false: it does not fit) or gives them
 * back (-1). */
static bool takes_plain(struct prove *x, uint32_t k, int sign)
{
    const struct reach *r = &x->r;
    const struct price_bin *b = r->b;
    const int64_t *need = view_need(x->v, b->item[r->place[k]]);

    if (sign > 0)
        for (uint32_t c = 0; c < x->v->n_plain; c++)
            if (need[c] > x->free[c])
                return false;
    for (uint32_t c = 0; c < x->v->n_plain; c++) {
        double price = b->lambda[c] *
                       b->share[(size_t)r->place[k] * r->price->scalars + c];

        x->free[c] -= sign * need[c];
        x->lambda_free -= sign * price;
        if (c != r->column)
            x->other_free -= sign * price;
    }
    x->units_left -= sign * (int64_t)r->units[k];
    x->cells_left -= sign * (int64_t)(r->whole[k] * r->cells + r->in_cells[k]);
    return true;
}

static void search(struct prove *x, uint32_t k, uint32_t highest, double value);

/* One more of item k on the device at `at` (n_level: an untouched one). */
static void put_part(struct prove *x, uint32_t k, uint32_t at, double value)
{
    uint32_t had = at < x->n_level ? x->level[at] : x->r.cells;
    bool opened = at == x->n_level;

    if (opened) {
        x->n_level++;
        x->untouched--;
    }
    x->level[at] = had - x->r.in_cells[k];
    x->path[x->depth - 1].device = at;
    search(x, k, had, value);
    x->level[at] = had;
    if (opened) {
        x->n_level--;
        x->untouched++;
    }
}

/* Part k on each device in turn, of equal ones on one only. */
static void put_everywhere(struct prove *x, uint32_t k, uint32_t highest,
                           double value)
{
    for (uint32_t d = 0; d < x->n_level && !x->over; d++) {
        uint32_t q;

        if (x->level[d] < x->r.in_cells[k] || x->level[d] > highest)
            continue;
        for (q = 0; q < d && x->level[q] != x->level[d]; q++)
            ;
        if (q == d)
            put_part(x, k, d, value);
    }
    if (x->untouched && highest >= x->r.cells && !x->over)
        put_part(x, k, x->n_level, value);
}

static void place_one(struct prove *x, uint32_t k, uint32_t highest,
                      double value)
{
    const struct reach *r = &x->r;

    if (x->depth == MAX_DEPTH) {
        x->over = true;
        return;
    }
    x->used[k]++;
    x->path[x->depth++] = (struct step){k, UINT32_MAX};
    if (k >= r->n_whole + r->n_parts) {
        search(x, k, highest, value);
    } else if (k < r->n_whole) {
        x->untouched -= r->whole[k];
        search(x, k, highest, value);
        x->untouched += r->whole[k];
    } else {
        put_everywhere(x, k, highest, value);
    }
    x->depth--;
    x->used[k]--;
}

/* From here on only better ones count. */
static void note_best(struct prove *x, double value)
{
    if (value <= x->best)
        return;
    x->best = value;
    if (value > x->goal) {
        x->goal = value;
        x->best_depth = x->depth;
        memcpy(x->best_path, x->path, x->depth * sizeof *x->path);
    }
}

/* Can items from k on take the fill above the goal, by both relaxations? */
static bool hopeful(const struct prove *x, uint32_t k, double value)
{
    const struct reach *r = &x->r;

    return value + x->other_free + r->cell_price * (double)x->cells_left +
                   reach_grid_row(r, k)[x->units_left] >
               x->goal &&
           value + x->lambda_free +
                   reach_by_devices(r, k, x->untouched, x->level, x->n_level) >
               x->goal;
}

/* highest: the next copy of item k goes to no device with more free cells. */
static void search(struct prove *x, uint32_t k, uint32_t highest, double value)
{
    const struct reach *r = &x->r;

    note_best(x, value);
    for (; k < r->n && !x->over; k++, highest = UINT32_MAX) {
        x->work += 8;
        if (++x->nodes > x->limit_nodes || prove_work(x) > x->limit_work) {
            x->over = true;
            return;
        }
        if (!hopeful(x, k, value))
            return;
        if (x->used[k] >= r->limit[k] ||
            (k < r->n_whole && x->untouched < r->whole[k]))
            continue;
        if (!takes_plain(x, k, 1))
            continue;
        place_one(x, k, highest, value + r->worth[k]);
        takes_plain(x, k, -1);
    }
}

/* The best path as parts, one device after the other. */
static void write_parts(struct prove *x)
{
    for (uint32_t device = 0; device <= MAX_DEVICES; device++)
        for (uint32_t q = 0; q < x->best_depth; q++) {
            struct step s = x->best_path[q];
            uint32_t item = x->r.b->item[x->r.place[s.k]];

            if (s.device != device &&
                !(s.device == UINT32_MAX && device == MAX_DEVICES))
                continue;
            if (x->part.n && x->part.v[x->part.n - 1].item == item)
                x->part.v[x->part.n - 1].count++;
            else
                VEC_PUSH(x->v->arena, &x->part, ((struct cover_part){item, 1}));
        }
}

/* The bin is empty. */
static void begin(struct prove *x, uint32_t t, double above, uint64_t nodes)
{
    const struct view *v = x->v;
    const struct reach *r = &x->r;

    x->lambda_free = 0;
    x->other_free = 0;
    for (uint32_t c = 0; c < v->n_plain; c++) {
        x->free[c] = view_has(v, t)[c];
        if (!reach_column(r, c))
            continue;
        x->lambda_free += r->b->lambda[c];
        if (c != r->column)
            x->other_free += r->b->lambda[c];
    }
    x->units_left = GRID;
    x->cells_left = (int64_t)r->cells * r->devices;
    x->n_level = 0;
    x->untouched = r->devices;
    x->goal = above;
    x->best = 0;
    x->nodes = 0;
    x->depth = x->best_depth = 0;
    x->limit_nodes = nodes;
    x->over = false;
    memset(x->used, 0, v->n_items * sizeof *x->used);
}

/* Can its sides be searched?  devices: the device column of each. */
static bool searchable(const struct prove *x, uint32_t t, uint32_t *device)
{
    const struct view *v = x->v;
    const struct price *price = x->r.price;

    if (price->scalars > v->n_plain)
        return false;
    for (uint32_t side = 0; side < price->sides.n; side++) {
        uint32_t dev, c = 0;

        while (c < v->n_plain && price->sides.of_plain[c] != side)
            c++;
        if (c == v->n_plain || !price_one_device(price, t, side, &dev) ||
            (dev != UINT32_MAX &&
             v->devices[(size_t)t * v->n_dev + dev] > MAX_DEVICES))
            return false;
        device[side] = dev;
    }
    return true;
}

/* The most that each side can hold, by the relaxation. */
static void most_of_sides(struct prove *x, uint32_t t, const double *worth)
{
    struct price *price = x->r.price;

    if (price->sides.n > 1) {
        price_evaluate(price, t, worth, NULL);
        price_of_sides(price, t, x->most);
    }
}

/* What a side must be worth more than, for all to be worth more than `above`: those
 * before it are worth `had`, those after it the most that they can be. */
static double goal_of(const struct prove *x, uint32_t side, double above,
                      double had)
{
    for (uint32_t k = side + 1; k < x->r.price->sides.n; k++)
        above -= x->most[k] * (1 + VIEW_SAFE);
    return above - had;
}

bool prove_search(struct prove *x, uint32_t t, const double *worth,
                  double above, uint64_t nodes, double *ret_best,
                  const struct cover_part **ret_part, uint32_t *ret_n)
{
    const uint32_t sides = x->r.price->sides.n;
    double had = 0;
    bool all = true;

    *ret_best = above;
    *ret_n = 0;
    if (!searchable(x, t, x->device))
        return false;
    most_of_sides(x, t, worth);
    x->part.n = 0;
    for (uint32_t side = 0; side < sides; side++) {
        double goal = goal_of(x, side, above, had);

        reach_open(&x->r, t, side, x->device[side], worth, goal);
        begin(x, t, goal, nodes);
        search(x, 0, UINT32_MAX, 0);
        all = all && !x->over;
        if (x->goal <= goal && goal >= 0)
            return all; /* no fill that was met is worth so much */
        had += x->goal > goal ? x->goal : 0;
        write_parts(x);
    }
    *ret_best = had > above ? had : above;
    *ret_part = x->part.v;
    *ret_n = had > above ? x->part.n : 0;
    return all;
}
