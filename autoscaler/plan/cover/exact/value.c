/*
 * value.c - what prices come to.
 *
 * Any prices give a bound: an item is worth what it costs in the bin where it costs
 * the least.
 */
#include "inside.h"

#include <string.h>

bool exact_price_bin(struct exact *x, uint32_t t)
{
    struct bin *b = &x->bin[t];
    double *price = x->price + (size_t)t * x->n, sum = 0;

    b->cap = (double)x->v->price[t];
    for (uint32_t k = 0; k < b->tie.n; k++)
        b->cap -= b->tie.v[k].coef * x->extra.v[b->tie.v[k].extra].price;
    for (uint32_t c = 0; c < x->n; c++)
        sum += price[c];
    for (uint32_t c = 0; c < x->n && sum > 0; c++)
        price[c] *= b->cap / sum;
    return b->cap >= 0;
}

/* What something that needs so much costs in bin t. */
static double cost(const struct exact *x, uint32_t t, const double *need)
{
    const double *price = x->price + (size_t)t * x->n;
    const double *has = x->has + (size_t)t * x->n;
    double sum = 0;

    for (uint32_t c = 0; c < x->n; c++)
        if (price[c] > 0)
            sum += price[c] * need[c] / has[c];
    return sum;
}

/* In the bin where it costs the least; x->of: in each bin. */
static double least_cost(struct exact *x, uint32_t item, const double *need)
{
    const struct view *v = x->v;
    double least = EXACT_NEVER;

    for (uint32_t t = 0; t < v->n_bins; t++) {
        x->of[t] = view_can(v, t, item) ? cost(x, t, need) : EXACT_NEVER;
        least = x->of[t] < least ? x->of[t] : least;
    }
    return least;
}

/* Bins where a group costs at most `near` times the least come into the program. */
static void pairs_add(struct exact *x, double near)
{
    for (uint32_t g = 0; g < x->group.n; g++) {
        double least = least_cost(x, x->some[g],
                                  x->group_need + (size_t)g * x->n);

        x->dear[g] = least;
        for (uint32_t t = 0; t < x->v->n_bins; t++)
            if (x->of[t] < EXACT_NEVER && x->of[t] <= near * least)
                x->pair[(size_t)g * x->words + t / 64] |= UINT64_C(1)
                                                          << (t % 64);
    }
}

static void note(struct exact *x, double bound)
{
    const struct view *v = x->v;
    struct cover_least *least;

    if (bound <= x->bound)
        return;
    x->bound = bound;
    memcpy(x->best_price, x->price, (size_t)v->n_bins * x->n * sizeof(double));
    for (uint32_t k = 0; k < x->extra.n; k++)
        x->best_extra[k] = x->extra.v[k].price;
    memcpy(x->best, x->dear, x->group.n * sizeof *x->best);
    view_proof(v, x->worth,
               x->money == EXACT_NONE ? 0 : x->extra.v[x->money].price,
               &x->proof);
    least = ARENA_ARRAY(v->arena, struct cover_least, x->n_sets);
    for (uint32_t k = 0; k < x->n_sets; k++) {
        least[k] = x->set[k].least;
        least[k].worth = x->extra.v[x->first_set + k].price;
    }
    x->proof.least = least;
    x->proof.n_least = x->n_sets;
}

double exact_value(struct exact *x, double near)
{
    const struct view *v = x->v;
    double sum = 0, off = 0;

    for (uint32_t t = 0; t < v->n_bins; t++)
        if (!exact_price_bin(x, t))
            return 0;
    pairs_add(x, near);
    for (uint32_t i = 0; i < v->n_items; i++) {
        x->worth[i] = least_cost(x, i, x->need + (size_t)i * x->n);
        sum += x->worth[i] * v->count[i];
    }
    for (uint32_t k = 0; k < x->extra.n; k++) {
        double gain = x->extra.v[k].gain * x->extra.v[k].price;

        sum += gain > 0 ? gain : 0;
        off -= gain < 0 ? gain : 0;
    }
    x->work += ((uint64_t)v->n_items + x->group.n) * v->n_bins * (x->n + 4) / 4;
    sum = sum * (1 - VIEW_SAFE) - off * (1 + VIEW_SAFE);
    note(x, sum);
    return sum;
}