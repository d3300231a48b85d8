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

/* The most that is paid for an item that has a place. */
static double dearest(const struct view *v, const double *put,
                      const double *paid)
{
    double most = 0;

    for (uint32_t i = 0; i < v->n_items; i++)
        if (put[i] > 0 && paid[i] / put[i] > most)
            most = paid[i] / put[i];
    return most;
}

void weight_learn(const struct partial *d, const double *price,
                  const struct alike *like, bool whole, double *weight)
{
    const struct view *v = d->v;
    double *paid = ARENA_ARRAY(v->arena, double, v->n_items);
    double *put = ARENA_ARRAY(v->arena, double, v->n_items);
    double most = 1e300;

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
    if (whole && d->n_left && d->n_left < v->total)
        most = dearest(v, put, paid);
    for (uint32_t i = 0; i < v->n_items; i++) {
        double w = weight[i];

        if (put[i] > 0)
            w = 0.5 * w + 0.5 * paid[i] / put[i];
        if (d->left[i])
            w *= 2;
        w = w < most ? w : most;
        weight[i] = w > 1e-6 ? w : 1e-6;
    }
}

/* Of the bins of a limit, when it allows no more of them. */
struct toll {
    double worth, price,
        bins; /* of all that is in them, of themselves, how many */
    bool reached;
};

static void toll_add(struct toll *x, double worth, double price, uint32_t bins)
{
    x->worth += worth;
    x->price += price * bins;
    x->bins += bins;
}

/* By how much more than its price a bin is worth. */
static double toll_of(const struct toll *x)
{
    if (!x->reached || x->bins <= 0 || x->worth <= x->price)
        return 0;
    return (x->worth - x->price) / x->bins;
}

/* Per family, or NULL. */
static const struct toll *family_tolls(const struct partial *d,
                                       const double *worth, double more)
{
    const struct view *v = d->v;
    struct toll *ret;

    if (!v->p->n_families)
        return NULL;
    ret = ARENA_ARRAY(v->arena, struct toll, v->p->n_families);
    for (uint32_t f = 0; f < v->p->n_families; f++)
        ret[f].reached = d->family_bought[f] >= v->p->family_max[f];
    for (uint32_t t = 0; t < v->n_bins; t++)
        toll_add(&ret[v->family[t]], worth[t], (double)v->price[t] + more,
                 d->bought[t]);
    return ret;
}

void weight_price_limits(const struct partial *d, const double *weight,
                         double *price)
{
    const struct view *v = d->v;
    const struct arena_mark since = arena_mark(v->arena);
    double *worth = ARENA_ARRAY(v->arena, double, v->n_bins);
    struct toll all = {.reached = d->n_bought >= v->p->max_bins};
    const struct toll *family;

    for (uint32_t k = 0; k < d->pattern.n; k++) {
        const struct partial_pattern *x = &d->pattern.v[k];

        worth[x->bin] += worth_of(d, k, weight) * x->count;
    }
    for (uint32_t t = 0; t < v->n_bins; t++)
        toll_add(&all, worth[t], (double)v->price[t], d->bought[t]);
    family = family_tolls(d, worth, toll_of(&all));
    for (uint32_t t = 0; t < v->n_bins; t++) {
        double to = (double)v->price[t] + toll_of(&all);
        uint32_t n = d->bought[t];

        if (family)
            to += toll_of(&family[v->family[t]]);
        if (n && n >= v->max[t] && worth[t] > to * n)
            to = worth[t] / n;
        price[t] = 0.5 * price[t] + 0.5 * to;
    }
    arena_rewind(v->arena, since); /* this is done hundreds of times */
}
