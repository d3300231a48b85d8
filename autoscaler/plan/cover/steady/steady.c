/*
 * steady.c - first plans of large problems: mostly the same when one item more
 * or less is wanted.
 *
 * The base of a problem has its counts rounded down to coarse steps, and nothing
 * of which little is wanted.  It is planned as a whole.  The rest goes into what
 * is free in the bins of that plan, then the greedy buys for what is left, with
 * the weights that the plan of the base teaches.  So when a count changes, the
 * base is mostly the same, and whoever remembers its plan has a tenth of the
 * work.  The plans are no dearer: filling up what is free gains what the
 * division loses (docs/notes/packing.md).
 */
#include "../first.h"
#include "../rebuy.h"
#include "../weight.h"
#include "layout.h"

#include <string.h>

#define MANY_SHAPES 1000 /* more are another problem: first.c */
#define FEW 3            /* fewer of a shape are not in the base */
#define COARSE 32        /* the largest step */
/* So many tenths of the items must be in the base. */
#define BASE_TENTHS 7
/* The limits must allow so many times of what is wanted: near them a base is in
 * the way, and the whole is planned after it. */
#define SPARE 1.25

static const unsigned SIZES = 1u << BY_SUM | 1u << BY_LARGEST;

/* ---- the base */

/* Steps are powers of two, at most a third of the count: 3 4 5 6 8 10 12 16 20
 * 24 32 40 48 64 80 96 128 160 ... */
static uint32_t base_count(uint32_t count)
{
    uint32_t step = 1;

    while (step < COARSE && count / 2 / FEW >= step)
        step *= 2;
    return count < FEW ? 0 : count - count % step;
}

/* What all bins have of a column that the limits allow. */
static double most_of(const struct cover_problem *p, uint32_t column,
                      uint32_t *family_left)
{
    double sum = 0, largest = 0;

    if (p->n_families)
        memcpy(family_left, p->family_max, p->n_families * sizeof *family_left);
    for (uint32_t b = 0; b < p->n_bins; b++) {
        const struct cover_bin *x = &p->bins[b];
        uint32_t *left = &family_left[p->n_families ? x->family : 0];
        uint32_t n = x->max;

        if (p->n_families && *left < n)
            n = *left;
        if (p->n_families && *left != UNLIMITED)
            *left -= n;
        sum += (n == UNLIMITED ? 1e9 : (double)n) * (double)x->has[column];
        if (n && (double)x->has[column] > largest)
            largest = (double)x->has[column];
    }
    if (p->max_bins != UNLIMITED && largest * p->max_bins < sum)
        sum = largest * p->max_bins;
    return sum;
}

/* Will limits be in the way? */
static bool tight(const struct cover_problem *p, struct arena *arena)
{
    uint32_t *left = ARENA_ARRAY(arena, uint32_t, p->n_families + 1);

    for (uint32_t c = 0; c < p->n_columns; c++) {
        double sum = 0;

        for (uint32_t i = 0; i < p->n_items; i++)
            sum += (double)p->items[i].need[c] * p->items[i].count;
        if (sum > 0 && most_of(p, c, left) < SPARE * sum)
            return true;
    }
    return false;
}

bool cover_base(const struct cover_problem *p, struct arena *arena,
                struct cover_problem *ret)
{
    struct cover_item *items = arena_copy(arena, p->items,
                                          p->n_items * sizeof *items);
    uint64_t all = 0, base = 0, shapes = 0;

    for (uint32_t i = 0; i < p->n_items; i++) {
        all += items[i].count;
        shapes += items[i].count > 0;
        items[i].count = base_count(items[i].count);
        base += items[i].count;
    }
    if (!layout_large(p) || shapes > MANY_SHAPES || base == all ||
        base < all / 10 * BASE_TENTHS || tight(p, arena))
        return false;
    *ret = *p;
    ret->items = items;
    return true;
}

/* ---- the rest */

struct steady {
    struct view v;
    struct partial d;
    struct space space;
    struct greedy *greedy;
    double *weight;
    uint32_t *order, n_order;    /* items of the rest, the heaviest first */
    VEC(struct cover_part) part; /* scratch */
    uint64_t work;
};

static void sort_rest(struct steady *x)
{
    const double *w = x->weight;

    x->order = ARENA_ARRAY(x->v.arena, uint32_t, x->v.n_items);
    for (uint32_t i = 0; i < x->v.n_items; i++) {
        uint32_t at = x->n_order;

        if (!x->d.left[i])
            continue;
        for (; at > 0 && w[x->order[at - 1]] < w[i]; at--)
            x->order[at] = x->order[at - 1];
        x->order[at] = i;
        x->n_order++;
    }
    x->work += 8 * (uint64_t)x->n_order;
}

/* Items of the rest that no bin can take any more leave the order. */
static void trim_rest(struct steady *x)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < x->n_order; k++)
        if (x->d.left[x->order[k]])
            x->order[n++] = x->order[k];
    x->n_order = n;
}

/* What goes into one bin of the pattern beside what it holds: part[from, ..).
 * In how many bins of the pattern there is enough left for that; 0: nothing goes
 * in. */
static uint32_t more_for(struct steady *x, const struct partial_pattern *p,
                         uint32_t from)
{
    const struct view *v = &x->v;
    uint32_t times = p->count;

    for (uint32_t k = 0; k < x->n_order; k++) {
        const uint32_t i = x->order[k];
        uint32_t put;

        if (!x->d.left[i] || !view_can(v, p->bin, i) ||
            !space_fits(&x->space, i))
            continue;
        put = space_put(&x->space, i, x->d.left[i]);
        if (put == 0)
            continue;
        VEC_PUSH(v->arena, &x->part, ((struct cover_part){i, put}));
        if (x->d.left[i] / put < times)
            times = x->d.left[i] / put;
    }
    x->work += 2 * (uint64_t)x->n_order + 8;
    return x->part.n > from ? times : 0;
}

/* Fills one bin of the pattern, and as many others as there is enough for; how
 * many. */
static uint32_t fill_some(struct steady *x, uint32_t pattern)
{
    struct partial_pattern p = x->d.pattern.v[pattern];
    uint32_t times;

    x->part.n = 0;
    space_open(&x->space, p.bin);
    for (uint32_t k = 0; k < p.n; k++) {
        struct cover_part part = x->d.part.v[p.first + k];

        space_put(&x->space, part.item, part.count);
        VEC_PUSH(x->v.arena, &x->part, part);
    }
    x->work += 4 * (uint64_t)p.n;
    times = p.count ? more_for(x, &p, p.n) : 0;
    if (times == 0)
        return 0;
    partial_sell(&x->d, pattern, times);
    partial_buy(&x->d, p.bin, times, x->part.v, x->part.n);
    return times;
}

static void fill_free(struct steady *x)
{
    const uint32_t n = x->d.pattern.n;

    sort_rest(x);
    for (uint32_t k = 0; k < n && x->n_order > 0; k++)
        while (fill_some(x, k) > 0)
            trim_rest(x);
    partial_compact(&x->d);
}

static void prepare(struct steady *x, const struct cover_problem *p,
                    const struct cover_layout *layout,
                    const struct cover_plan *base, struct arena *arena)
{
    view_again(&layout->v, p, arena, &x->v);
    partial_make(&x->v, &x->d);
    space_make(&x->v, &x->space);
    x->greedy = greedy_make(&x->v, NULL, ANEW);
    x->weight = arena_copy(arena, layout->weight,
                           x->v.n_items * sizeof *x->weight);
    partial_import(&x->d, base, &x->space);
    for (int twice = 0; twice < 2; twice++)
        weight_learn(&x->d, greedy_prices(x->greedy), x->weight);
    x->work += (uint64_t)x->v.n_items * x->v.n_bins / 4 + 16 * base->n_parts;
}

/* Does the plan of the base leave out what has a home? */
static bool base_left_out(const struct steady *x, const struct cover_plan *base)
{
    for (uint32_t i = 0; i < x->v.n_items; i++)
        if (base->unplaced[x->v.item_of[i]])
            return true;
    return false;
}

static void buy_rest(struct steady *x)
{
    uint32_t kept;

    fill_free(x);
    kept = x->d.pattern.n;
    x->work += greedy_run(x->greedy, x->weight, SIZES, false, &x->d);
    partial_downgrade(&x->d, kept, &x->space);
}

void cover_first_from(const struct cover_problem *p,
                      const struct cover_layout *layout,
                      const struct cover_plan *base,
                      const struct cover_duals *duals, struct arena *arena,
                      struct cover_plan *ret)
{
    struct steady x = {0};
    struct cover_proof proof;
    int64_t bound;

    prepare(&x, p, layout, base, arena);
    if (!base_left_out(&x, base))
        buy_rest(&x);
    if (x.d.n_left) { /* limits are in the way */
        first_make(p, true, arena, ret);
        ret->work += base->work + x.work;
        return;
    }
    bound = duals_prove(&x.v, duals, 0, &proof);
    partial_export(&x.d, ret);
    ret->bound = bound < ret->cost ? bound : ret->cost;
    ret->proof = proof;
    ret->work = base->work + duals->work + x.work;
}

void cover_first_base(const struct cover_problem *base, struct arena *arena,
                      struct cover_plan *ret)
{
    first_make(base, false, arena, ret);
}

void cover_first(const struct cover_problem *p, struct arena *arena,
                 struct cover_plan *ret)
{
    const struct cover_layout *layout;
    struct cover_problem base, rounded;
    struct cover_duals duals;
    struct cover_plan plan;

    if (!cover_base(p, arena, &base) || !cover_rounded(p, arena, &rounded)) {
        first_make(p, true, arena, ret);
        return;
    }
    layout = cover_layout(p, arena);
    cover_first_base(&base, arena, &plan);
    cover_duals(&rounded, layout, arena, &duals);
    cover_first_from(p, layout, &plan, &duals, arena, ret);
}
