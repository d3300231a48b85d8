/*
 * leaf.c - see leaf.h.
 */
#include "leaf.h"

#include <math.h>
#include <string.h>

#define WHOLE 1e-4 /* as near to a whole number is one */
#define NEAR 1e-5  /* a bound as near to the value is as good */

void leaves_make(struct generate *g, const struct seats *seats,
                 struct leaves *ret)
{
    const struct cover_problem *p = g->v->p;
    struct arena *a = g->v->arena;

    *ret = (struct leaves){.g = g, .p = seats ? &seats->p : p};
    ret->used = ARENA_ARRAY(a, double, p->n_families + 1);
    ret->of_use = ARENA_ARRAY(a, uint64_t, (p->n_bins + 63) / 64);
    for (uint32_t t = 0; t < p->n_bins; t++)
        for (uint32_t i = 0; i < p->n_items; i++)
            if (p->items[i].count && seats_fits(p, t, i)) {
                ret->of_use[t / 64] |= UINT64_C(1) << (t % 64);
                break;
            }
    g->extra += (uint64_t)p->n_bins * p->n_items;
}

void leaves_done(struct leaves *x)
{
    arena_done(&x->arena);
    x->leaf = NULL;
}

/* ---- its problem */

static struct seats_set set_of(struct leaves *x,
                               const struct cover_range *range)
{
    const struct cover_problem *p = x->p;
    struct seats_set set = {.least = {.bins = range->least}};
    uint64_t *bins = ARENA_ARRAY(&x->arena, uint64_t, (p->n_bins + 63) / 64);

    for (uint32_t t = 0; t < p->n_bins; t++)
        if (p->bins[t].family == range->family)
            bins[t / 64] |= x->of_use[t / 64] & UINT64_C(1) << (t % 64);
    set.bins = bins;
    return set;
}

static struct cover_problem problem_of(struct leaves *x,
                                       const struct leaf *leaf)
{
    struct seats_set *set = ARENA_ARRAY(&x->arena, struct seats_set,
                                        leaf->n_ranges);
    uint32_t *most = arena_copy(&x->arena, x->p->family_max,
                                x->p->n_families * sizeof *most);
    struct cover_problem p;
    uint32_t n = 0;

    for (uint32_t k = 0; k < leaf->n_ranges; k++) {
        const struct cover_range *r = &leaf->range[k];

        if (r->most < most[r->family])
            most[r->family] = r->most;
        if (r->least > 0)
            set[n++] = set_of(x, r);
    }
    seats_add(x->p, &x->arena, set, n, &p);
    p.family_max = most;
    return p;
}

/* ---- its bound */

/* Where the leaf has the worth of an item of its program; k: of its ranges, those
 * before are done. */
static double *worth_at(const struct leaves *x, const struct leaf *leaf,
                        uint32_t item, uint32_t *k)
{
    if (item < x->p->n_items)
        return &leaf->worth[item];
    while (leaf->range[*k].least == 0)
        ++*k;
    return &leaf->range[(*k)++].worth;
}

static const double *worth_here(struct leaves *x, const struct leaf *leaf)
{
    const struct view *v = &x->program->v;
    double *ret = ARENA_ARRAY(&x->arena, double, v->n_items);
    uint32_t k = 0;

    for (uint32_t i = 0; i < v->n_items; i++)
        ret[i] = *worth_at(x, leaf, v->item_of[i], &k);
    return ret;
}

/* The bound of g, whose items are the leaf's, if it is better. */
static void bound_read(const struct leaves *x, struct leaf *leaf,
                       const struct generate *g)
{
    uint32_t k = 0;

    if (g->bound <= leaf->bound)
        return;
    leaf->bound = g->bound;
    leaf->money = g->money;
    for (uint32_t i = 0; i < g->v->n_items; i++)
        *worth_at(x, leaf, g->v->item_of[i], &k) = g->dual[i] > 0 ? g->dual[i]
                                                                  : 0;
}

/* ---- what to divide it by */

static void used(struct leaves *x, const struct generate *g)
{
    const struct master *m = &g->master;
    double amount;

    memset(x->used, 0, x->p->n_families * sizeof *x->used);
    for (uint32_t k = 0; k < lp_rows(m->lp); k++) {
        uint32_t column = lp_basic(m->lp, k, &amount);

        if (column < m->column.n && m->column.v[column].n)
            x->used[g->v->family[m->column.v[column].bin]] += amount;
    }
}

/* Is the number between two that the leaf may have? */
static bool between(const struct leaf *leaf, uint32_t family, double number)
{
    for (uint32_t k = 0; k < leaf->n_ranges; k++)
        if (leaf->range[k].family == family)
            return number > leaf->range[k].least &&
                   number < leaf->range[k].most;
    return true;
}

/* What dividing by the family may gain, about; 0: it has whole numbers. */
static double hope(const struct leaves *x, const struct leaf *leaf,
                   const struct view *v, uint32_t family)
{
    double part = x->used[family] - floor(x->used[family]);
    int64_t price = INT64_MAX;

    part = part < 0.5 ? part : 1 - part;
    if (part < WHOLE || !between(leaf, family, x->used[family]))
        return 0;
    for (uint32_t t = 0; t < v->n_bins; t++)
        if (v->family[t] == family && v->price[t] > 0 && v->price[t] < price)
            price = v->price[t];
    return price < INT64_MAX ? part * (double)price : 0;
}

static void settle(struct leaves *x, struct leaf *leaf,
                   const struct generate *g)
{
    double best = 0;

    leaf->settled = true;
    leaf->value = lp_value(g->master.lp);
    leaf->family = UINT32_MAX;
    used(x, g);
    for (uint32_t f = 0; f < x->p->n_families; f++) {
        double gain = hope(x, leaf, g->v, f);

        if (gain <= best)
            continue;
        best = gain;
        leaf->family = f;
        leaf->most = (uint32_t)x->used[f];
    }
    x->g->extra += (uint64_t)x->p->n_families * g->v->n_bins;
}

/* ---- all */

void leaf_whole(struct leaves *x, const struct seated *seated, struct leaf *ret)
{
    *ret = (struct leaf){
        .worth = ARENA_ARRAY(x->g->v->arena, double, x->p->n_items),
        .bound = -1,
    };
    bound_read(x, ret, x->g);
    if (seated)
        bound_read(x, ret, &seated->g);
    settle(x, ret, seated ? &seated->g : x->g);
}

/* An item, or one of the seats, that no bin of the leaf holds; UINT32_MAX: none. */
static uint32_t homeless(struct leaves *x, const struct cover_problem *p)
{
    const struct view *v = x->g->v;
    bool *has = ARENA_ARRAY(&x->arena, bool, p->n_items);
    struct view here;

    view_make(p, &x->arena, &here);
    for (uint32_t i = 0; i < here.n_items; i++)
        has[here.item_of[i]] = true;
    for (uint32_t i = 0; i < v->n_items; i++)
        if (!has[v->item_of[i]])
            return v->item_of[i];
    for (uint32_t i = v->p->n_items; i < x->p->n_items; i++)
        if (!has[i])
            return i;
    return UINT32_MAX;
}

/* False: there is no plan.  What no bin holds may be worth anything then. */
static bool program_make(struct leaves *x, struct leaf *leaf)
{
    struct cover_problem p;
    uint32_t none;

    arena_reset(&x->arena);
    p = problem_of(x, leaf);
    none = homeless(x, &p);
    x->leaf = none == UINT32_MAX ? leaf : NULL;
    if (x->leaf) {
        x->program = seated_make(x->g, &p, &x->arena);
        return true;
    }
    leaf->bound = 2 * leaf->bound + 1;
    leaf->worth[none] += leaf->bound;
    leaf->value = leaf->bound;
    leaf->settled = true;
    leaf->family = UINT32_MAX;
    return false;
}

bool leaf_proved(const struct leaf *leaf, double value)
{
    return leaf->bound >= value * (1 - NEAR);
}

void leaf_run(struct leaves *x, struct leaf *leaf, uint64_t nodes,
              uint64_t until)
{
    bool all;

    if (x->leaf != leaf && !program_make(x, leaf))
        return;
    all = seated_run(x->program, x->g, leaf->bound, worth_here(x, leaf), nodes,
                     until);
    bound_read(x, leaf, &x->program->g);
    if (all || leaf_proved(leaf, lp_value(x->program->g.master.lp)))
        settle(x, leaf, &x->program->g);
}

/* One of its parts, that has the range of the family, which is returned. */
static struct cover_range *part_make(struct leaves *x, const struct leaf *leaf,
                                     struct leaf *ret)
{
    struct arena *a = x->g->v->arena;
    const uint32_t n = leaf->n_ranges;
    uint32_t k = 0;

    *ret = *leaf;
    ret->settled = false;
    ret->worth = arena_copy(a, leaf->worth, x->p->n_items * sizeof *ret->worth);
    ret->range = ARENA_ARRAY(a, struct cover_range, n + 1);
    if (n)
        memcpy(ret->range, leaf->range, n * sizeof *ret->range);
    while (k < n && ret->range[k].family != leaf->family)
        k++;
    if (k == n) {
        ret->range[k] = (struct cover_range){leaf->family, 0, UNLIMITED, 0};
        ret->n_ranges++;
    }
    return &ret->range[k];
}

void leaf_divide(struct leaves *x, const struct leaf *leaf,
                 struct leaf *ret_fewer, struct leaf *ret_more)
{
    part_make(x, leaf, ret_fewer)->most = leaf->most;
    part_make(x, leaf, ret_more)->least = leaf->most + 1;
}
