/*
 * weight.c - see weight.h.
 *
 * Learning: a pattern's price is split over its items by their weights.  Items
 * that mostly lie in badly filled bins come out dearer, so the next run packs
 * them while there is still choice.
 */
#include "weight.h"

#include <string.h>

static double largest_share(const struct view *v, uint32_t bin, uint32_t item)
{
    const int64_t *need = view_need(v, item), *has = view_has(v, bin);
    double most = 0;

    for (uint32_t c = 0; c < v->n_plain; c++)
        if (need[c] && (double)need[c] > most * (double)has[c])
            most = (double)need[c] / (double)has[c];
    for (uint32_t d = 0; d < v->n_dev; d++) {
        double amount = (double)view_device_amount(v, item, d);
        double all = (double)v->devices[(size_t)bin * v->n_dev + d] * 1e4;

        if (amount > 0 && amount > most * all)
            most = amount / all;
    }
    return most;
}

void weight_from_prices(const struct view *v, double *ret)
{
    for (uint32_t i = 0; i < v->n_items; i++)
        ret[i] = -1;
    for (uint32_t t = 0; t < v->n_bins; t++) {
        double price = (double)v->price[t] + 1e-3;

        for (uint32_t i = 0; i < v->n_items; i++) {
            double w;

            if (!view_can(v, t, i))
                continue;
            w = price * largest_share(v, t, i);
            if (ret[i] < 0 || w < ret[i])
                ret[i] = w;
        }
    }
    for (uint32_t i = 0; i < v->n_items; i++)
        ret[i] = ret[i] > 1e-6 ? ret[i] : 1e-6;
}

static double worth_of(const struct partial *d, uint32_t pattern,
                       const double *weight)
{
    const struct partial_pattern *x = &d->pattern.v[pattern];
    double sum = 0;

    for (uint32_t q = x->first; q < x->first + x->n; q++)
        sum += weight[d->part.v[q].item] * d->part.v[q].count;
    return sum;
}

/* paid[] of an item becomes the mean of itself and of what its group paid, in
 * proportion to the weights. */
static void paid_by_groups(const struct view *v, const struct alike *like,
                           const double *weight, const double *put,
                           double *paid)
{
    double *sum = ARENA_ARRAY(v->arena, double, like->n);
    double *all = ARENA_ARRAY(v->arena, double, like->n);

    for (uint32_t i = 0; i < v->n_items; i++) {
        sum[like->class_of[i]] += paid[i];
        all[like->class_of[i]] += weight[i] * put[i];
    }
    for (uint32_t i = 0; i < v->n_items; i++) {
        uint32_t g = like->class_of[i];

        if (all[g] > 0)
            paid[i] = 0.5 * paid[i] +
                      0.5 * weight[i] * put[i] * sum[g] / all[g];
    }
}

void weight_learn(const struct partial *d, const double *price,
                  const struct alike *like, double *weight)
{
    const struct view *v = d->v;
    double *paid = ARENA_ARRAY(v->arena, double, v->n_items);
    double *put = ARENA_ARRAY(v->arena, double, v->n_items);

    for (uint32_t k = 0; k < d->pattern.n; k++) {
        const struct partial_pattern *x = &d->pattern.v[k];
        const struct cover_part *part = d->part.v + x->first;
        double sum = worth_of(d, k, weight);
        double rate = sum > 0 ? price[x->bin] / sum : 1;

        for (uint32_t q = 0; q < x->n; q++) {
            double n = (double)part[q].count * x->count;

            paid[part[q].item] += n * rate * weight[part[q].item];
            put[part[q].item] += n;
        }
    }
    if (like)
        paid_by_groups(v, like, weight, put, paid);
    for (uint32_t i = 0; i < v->n_items; i++) {
        double w = weight[i];

        if (put[i] > 0)
            w = 0.5 * w + 0.5 * paid[i] / put[i];
        if (d->left[i])
            w *= 2;
        weight[i] = w > 1e-6 ? w : 1e-6;
    }
}

void weight_price_limits(const struct partial *d, const double *weight,
                         double *price)
{
    const struct view *v = d->v;
    double *worth = ARENA_ARRAY(v->arena, double, v->n_bins);

    for (uint32_t k = 0; k < d->pattern.n; k++) {
        const struct partial_pattern *x = &d->pattern.v[k];

        worth[x->bin] += worth_of(d, k, weight) * x->count;
    }
    for (uint32_t t = 0; t < v->n_bins; t++) {
        double to = (double)v->price[t];

        if (d->bought[t] && !partial_allows(d, t) &&
            worth[t] > to * d->bought[t])
            to = worth[t] / d->bought[t];
        price[t] = 0.5 * price[t] + 0.5 * to;
    }
}
