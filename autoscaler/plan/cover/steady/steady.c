/*
 * steady.c - first plans of large problems: mostly the same when one item more
 * or less is wanted.
 *
 * The first base of a problem has its counts rounded down to coarse steps, and
 * nothing of which little is wanted.  It is planned as a whole.  The next base has
 * finer steps: what it has more goes into what is free in the bins of that plan,
 * then the greedy buys for what is left, with the weights that the plan teaches; and
 * so on, at last for the problem itself.  So when a count changes, most bases are
 * the same, and whoever remembers their plans has little left to do.  The plans are
 * no dearer: filling up what is free gains what the division loses
 * (docs/notes/packing.md).
 */
#include "../first.h"
#include "../rebuy.h"
#include "../weight.h"
#include "layout.h"

#include <string.h>

#define FEW_SHAPES 16    /* fewer are soon planned as a whole */
#define MOST_SHAPES 1000 /* more are another problem: first.c */
/* Of a base: counts are rounded down to steps, which are powers of two up to a
 * `part`th of the count, `most` at most; of fewer than `few` there are none. */
static const struct base {
    uint32_t part, most, few;
} bases[COVER_BASES] = {{3, 128, 8}, {12, 16, 1}};
/* So many tenths of the items must be in the base. */
#define BASE_TENTHS 7
/* The limits must allow so many times of what is wanted: near them a base is in
 * the way, and the whole is planned after it. */
#define SPARE 1.25

static const unsigned SIZES = 1u << BY_SUM | 1u << BY_LARGEST;

/* ---- the base */

/* Of base 0: 8 10 12 16 20 24 32 40 48 64 80 ... 384 512 640 768 896 ... */
static uint32_t base_count(const struct base *base, uint32_t count)
{
    uint32_t step = 1;

    while (step < base->most && count / 2 / base->part >= step)
        step *= 2;
    return count < base->few ? 0 : count - count % step;
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

bool cover_steady(const struct cover_problem *p, struct arena *arena)
{
    uint64_t all = 0, base = 0, shapes = 0;

    for (uint32_t i = 0; i < p->n_items; i++) {
        all += p->items[i].count;
        shapes += p->items[i].count > 0;
        base += base_count(&bases[0], p->items[i].count);
    }
    return layout_large(p) && shapes >= FEW_SHAPES && shapes <= MOST_SHAPES &&
           base < all && base >= all / 10 * BASE_TENTHS && !tight(p, arena);
}

void cover_base(const struct cover_problem *p, uint32_t number,
                struct arena *arena, struct cover_problem *ret)
{
    struct cover_item *items = arena_copy(arena, p->items,
                                          p->n_items * sizeof *items);

    for (uint32_t i = 0; i < p->n_items; i++)
        items[i].count = base_count(&bases[number], items[i].count);
    *ret = *p;
    ret->items = items;
}

/* ---- the rest */

struct steady {
    struct view v;
    struct partial d;
    struct space space;
    double *weight;              /* per item */
    uint32_t *order, n_order;    /* items of the rest, the heaviest first */
    int64_t *least;              /* per plain column: none of them needs less */
    VEC(struct cover_part) part; /* scratch */
    uint64_t work;
};

static void measure_rest(struct steady *x)
{
    for (uint32_t c = 0; c < x->v.n_plain; c++) {
        x->least[c] = INT64_MAX;
        for (uint32_t k = 0; k < x->n_order; k++) {
            const int64_t need = view_need(&x->v, x->order[k])[c];

            x->least[c] = need < x->least[c] ? need : x->least[c];
        }
    }
}

static void sort_rest(struct steady *x)
{
    const double *w = x->weight;

    x->order = ARENA_ARRAY(x->v.arena, uint32_t, x->v.n_items);
    x->least = ARENA_ARRAY(x->v.arena, int64_t, x->v.n_plain);
    for (uint32_t i = 0; i < x->v.n_items; i++) {
        uint32_t at = x->n_order;

        if (!x->d.left[i])
            continue;
        for (; at > 0 && w[x->order[at - 1]] < w[i]; at--)
            x->order[at] = x->order[at - 1];
        x->order[at] = i;
        x->n_order++;
    }
    measure_rest(x);
    x->work += 8 * (uint64_t)x->n_order;
}

/* Items of the rest that no bin can take any more leave the order. */
static void trim_rest(struct steady *x)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < x->n_order; k++)
        if (x->d.left[x->order[k]])
            x->order[n++] = x->order[k];
    if (n < x->n_order) {
        x->n_order = n;
        measure_rest(x);
    }
}

/* Is less of a plain column free in its bins than any of the rest needs? */
static bool spent(const struct steady *x, const struct partial_pattern *p)
{
    const struct cover_part *part = x->d.part.v + p->first;

    for (uint32_t c = 0; c < x->v.n_plain; c++) {
        int64_t free = view_has(&x->v, p->bin)[c] - x->least[c];

        for (uint32_t k = 0; k < p->n; k++)
            free -= view_need(&x->v, part[k].item)[c] * part[k].count;
        if (free < 0)
            return true;
    }
    return false;
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

    x->work += 4 * (uint64_t)p.n;
    if (p.count == 0 || spent(x, &p))
        return 0;
    x->part.n = 0;
    space_open(&x->space, p.bin);
    for (uint32_t k = 0; k < p.n; k++) {
        struct cover_part part = x->d.part.v[p.first + k];

        space_put(&x->space, part.item, part.count);
        VEC_PUSH(x->v.arena, &x->part, part);
    }
    times = more_for(x, &p, p.n);
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
    double *price;

    view_again(&layout->v, p, arena, &x->v);
    partial_make(&x->v, &x->d);
    space_make(&x->v, &x->space);
    x->weight = arena_copy(arena, layout->weight,
                           x->v.n_items * sizeof *x->weight);
    price = ARENA_ARRAY(arena, double, x->v.n_bins);
    for (uint32_t t = 0; t < x->v.n_bins; t++)
        price[t] = (double)x->v.price[t];
    partial_import(&x->d, base, NULL);
    for (int twice = 0; twice < 2; twice++)
        weight_learn(&x->d, price, NULL, false, x->weight);
    x->work += 8 * (uint64_t)base->n_parts;
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
    struct greedy *greedy;
    uint32_t kept;

    fill_free(x);
    if (x->d.n_left == 0)
        return;
    kept = x->d.pattern.n;
    greedy = greedy_make_for(&x->v, NULL, ANEW, x->d.left);
    x->work += (uint64_t)x->v.n_items * x->v.n_bins / 16 +
               greedy_run(greedy, x->weight, SIZES, false, &x->d);
    partial_downgrade(&x->d, kept, &x->space);
}

/* From the plan of a base that is in p. */
static void complete(struct steady *x, const struct cover_problem *p,
                     const struct cover_layout *layout,
                     const struct cover_plan *base, struct arena *arena)
{
    prepare(x, p, layout, base, arena);
    if (!base_left_out(x, base))
        buy_rest(x);
}

void cover_first_base(const struct cover_problem *base,
                      const struct cover_layout *layout,
                      const struct cover_plan *before, struct arena *arena,
                      struct cover_plan *ret)
{
    struct steady x = {0};

    if (!before) {
        first_make(base, false, arena, ret);
        return;
    }
    complete(&x, base, layout, before, arena);
    partial_export(&x.d, ret);
    ret->work = before->work + x.work;
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

    complete(&x, p, layout, base, arena);
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

void cover_first(const struct cover_problem *p, struct arena *arena,
                 struct cover_plan *ret)
{
    const struct cover_layout *layout;
    struct cover_plan plan[COVER_BASES];
    struct cover_problem base, rounded;
    struct cover_duals duals;

    if (!cover_steady(p, arena) || !cover_rounded(p, arena, &rounded)) {
        first_make(p, true, arena, ret);
        return;
    }
    layout = cover_layout(p, arena);
    for (uint32_t k = 0; k < COVER_BASES; k++) {
        cover_base(p, k, arena, &base);
        cover_first_base(&base, layout, k ? &plan[k - 1] : NULL, arena,
                         &plan[k]);
    }
    cover_duals(&rounded, layout, arena, &duals);
    cover_first_from(p, layout, &plan[COVER_BASES - 1], &duals, arena, ret);
}
