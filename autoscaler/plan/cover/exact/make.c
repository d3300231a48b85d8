/*
 * make.c - columns that differ, groups of like items, the prices of limits.
 */
#include "inside.h"

#include "../sums.h"

/* Up to so many items each is a group of its own; else needs of a group differ by a
 * half at most. */
enum { ALONE = 100 };

static bool same_need(const struct exact *x, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < x->v->n_items; i++)
        if (sums_need(x->v, i, a) != sums_need(x->v, i, b))
            return false;
    for (uint32_t t = 0; t < x->v->n_bins; t++)
        if (sums_has(x->v, t, a) != sums_has(x->v, t, b))
            return false;
    return true;
}

static bool needed(const struct exact *x, uint32_t column)
{
    for (uint32_t i = 0; i < x->v->n_items; i++)
        if (sums_need(x->v, i, column) > 0)
            return true;
    return false;
}

static void columns_make(struct exact *x)
{
    const struct view *v = x->v;
    uint32_t all = sums_columns(v);

    x->column = ARENA_ARRAY(x->arena, uint32_t, all);
    for (uint32_t c = 0; c < all; c++) {
        bool good = needed(x, c);

        for (uint32_t k = 0; k < x->n && good; k++)
            good = !same_need(x, x->column[k], c);
        if (good)
            x->column[x->n++] = c;
    }
    x->need = ARENA_ARRAY(x->arena, double, (size_t)v->n_items * x->n);
    x->has = ARENA_ARRAY(x->arena, double, (size_t)v->n_bins * x->n);
    for (uint32_t c = 0; c < x->n; c++) {
        for (uint32_t i = 0; i < v->n_items; i++)
            x->need[(size_t)i * x->n + c] = sums_need(v, i, x->column[c]);
        for (uint32_t t = 0; t < v->n_bins; t++)
            x->has[(size_t)t * x->n + c] = sums_has(v, t, x->column[c]);
    }
    x->work += (uint64_t)all * x->n * v->n_items / 4;
}

static void groups_make(struct exact *x)
{
    const struct view *v = x->v;
    const bool alone = v->n_items <= ALONE;

    view_groups(v,
                alone ? (struct view_rough){VIEW_LEAVE_NONE, VIEW_LEAVE_NONE}
                      : EXACT_GROUPS,
                &x->group);
    x->some = ARENA_ARRAY(x->arena, uint32_t, x->group.n);
    x->count = ARENA_ARRAY(x->arena, double, x->group.n);
    x->group_need = ARENA_ARRAY(x->arena, double, (size_t)x->group.n * x->n);
    for (uint32_t i = 0; i < v->n_items; i++) {
        uint32_t g = x->group.class_of[i];

        x->some[g] = i;
        x->count[g] += v->count[i];
        for (uint32_t c = 0; c < x->n; c++)
            x->group_need[(size_t)g * x->n + c] +=
                x->need[(size_t)i * x->n + c] * v->count[i];
    }
    for (uint32_t g = 0; g < x->group.n; g++)
        for (uint32_t c = 0; c < x->n; c++)
            x->group_need[(size_t)g * x->n + c] /= x->count[g];
    x->work += (uint64_t)v->n_items * (x->n + 8) * 2;
}

uint32_t exact_extra(struct exact *x, double gain, double price)
{
    VEC_PUSH(x->arena, &x->extra, ((struct extra){gain, price}));
    return x->extra.n - 1;
}

void exact_tie(struct exact *x, uint32_t bin, uint32_t extra, double coef)
{
    VEC_PUSH(x->arena, &x->bin[bin].tie, ((struct tie){extra, coef}));
}

static double mean_price(const struct view *v)
{
    double sum = 0;

    for (uint32_t t = 0; t < v->n_bins; t++)
        sum += (double)v->price[t];
    return sum / v->n_bins + 1;
}

/* Of each bin, of a family's, of all; of the money. */
static void limits_make(struct exact *x)
{
    const struct view *v = x->v;
    const struct cover_problem *p = v->p;
    double mean = mean_price(v);
    uint32_t *family = ARENA_ARRAY(x->arena, uint32_t, p->n_families + 1);
    uint32_t bins = EXACT_NONE;

    for (uint32_t g = 0; g < p->n_families; g++)
        family[g] = p->family_max[g] == UNLIMITED
                        ? EXACT_NONE
                        : exact_extra(x, -(double)p->family_max[g],
                                      EXACT_LITTLE * mean);
    if (p->max_bins != UNLIMITED)
        bins = exact_extra(x, -(double)p->max_bins, EXACT_LITTLE * mean);
    x->money = p->max_cost < 0
                   ? EXACT_NONE
                   : exact_extra(x, -(double)p->max_cost, EXACT_LITTLE);
    for (uint32_t t = 0; t < v->n_bins; t++) {
        uint32_t max = p->bins[v->bin_of[t]].max;

        if (max != UNLIMITED)
            exact_tie(x, t,
                      exact_extra(x, -(double)max,
                                  v->price[t] ? EXACT_LITTLE * mean : mean),
                      -1);
        if (p->n_families && family[v->family[t]] != EXACT_NONE)
            exact_tie(x, t, family[v->family[t]], -1);
        if (bins != EXACT_NONE)
            exact_tie(x, t, bins, -1);
        if (x->money != EXACT_NONE)
            exact_tie(x, t, x->money, -(double)v->price[t]);
    }
}
void exact_lay_out(struct exact *x, const struct assign *a)
{
    const struct view *v = x->v;

    x->bin = ARENA_ARRAY(x->arena, struct bin, v->n_bins);
    columns_make(x);
    groups_make(x);
    limits_make(x);
    x->first_set = x->extra.n;
    x->pair = ARENA_ARRAY(x->arena, uint64_t, (size_t)x->group.n * x->words);
    x->worth = ARENA_ARRAY(x->arena, double, v->n_items);
    x->dear = ARENA_ARRAY(x->arena, double, x->group.n);
    x->box = ARENA_ARRAY(x->arena, double, x->group.n);
    x->best = ARENA_ARRAY(x->arena, double, x->group.n);
    x->of = ARENA_ARRAY(x->arena, double, v->n_bins);
    x->price = ARENA_ARRAY(x->arena, double, (size_t)v->n_bins * x->n);
    x->best_price = ARENA_ARRAY(x->arena, double, (size_t)v->n_bins * x->n);
    x->best_extra = ARENA_ARRAY(x->arena, double, x->extra.n + EXACT_SETS);
    for (uint32_t t = 0; t < v->n_bins; t++)
        for (uint32_t c = 0; c < x->n; c++)
            x->price[(size_t)t * x->n + c] = assign_part(
                a)[(size_t)t * sums_columns(v) + x->column[c]];
}
