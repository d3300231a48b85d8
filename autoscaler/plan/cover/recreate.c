/*
 * recreate.c - see recreate.h.
 *
 * Of all bins the fill with the most worth for its price is bought, again and
 * again; fills are looked at in the order of what they could earn at most, so
 * some bins need none.  The one to buy is made better by trades: then few steps find
 * what many did not.  At every step the cheapest single bin for all the rest
 * is tried as the end, which is what makes small last bins.
 */
#include "recreate.h"

#include "column.h"

#include <string.h>

#define USEFUL 0.8      /* of its price a bin must be able to earn */
#define RATE_NOISE 0.3  /* how far the noise in the worths is one in a rate */
#define LEAST_PRICE 0.7 /* of its worth what is in hand will cost */

/* What a bin would be filled with from the items in hand. */
struct refill {
    uint32_t order[MOST_ITEMS], n; /* best first */
    struct fill fill;
    double rate; /* worth for price, at most */
    double noise;
    bool sorted, fresh;
};

static void make_keys(struct recreate *r, uint32_t t)
{
    struct price *p = r->price;
    const struct view *v = r->v;
    const struct price_bin *b = &p->bin[t];
    double ub = price_tune(p, t, r->worth, NULL, 0, 30);

    for (uint32_t q = 0; q < b->n_runs; q++)
        for (uint32_t k = b->run[q].first; k < b->run[q].first + b->run[q].n;
             k++) {
            double size = price_size(p, b, &b->run[q], k);

            r->key[(size_t)b->item[k] * v->n_bins + t] =
                size > 0 ? (float)(r->worth[b->item[k]] / size) : 1e9F;
        }
    r->most[t] = ub;
    if (ub >= USEFUL * (double)v->price[t])
        r->useful[r->n_useful++] = t;
}

void recreate_make(const struct view *v, struct price *price,
                   struct recreate *ret)
{
    struct arena *a = v->arena;
    struct recreate *r = ret;

    r->v = v;
    r->price = price;
    r->key = ARENA_ARRAY(a, float, (size_t)v->n_items * v->n_bins);
    r->worth = ARENA_ARRAY(a, double, v->n_items);
    r->noisy = ARENA_ARRAY(a, double, v->n_items);
    r->most = ARENA_ARRAY(a, double, v->n_bins);
    r->useful = ARENA_ARRAY(a, uint32_t, v->n_bins);
    r->refill = ARENA_ARRAY(a, struct refill, v->n_bins);
    r->count = ARENA_ARRAY(a, uint32_t, v->n_items);
    r->plain = ARENA_ARRAY(a, int64_t, v->n_plain);
    r->device = ARENA_ARRAY(a, uint64_t, v->n_dev);
    space_make(v, &r->space);
    trade_make(v, &r->trade);
    r->seed = 7;
}

void recreate_value(struct recreate *r, const double *worth)
{
    memcpy(r->worth, worth, r->v->n_items * sizeof *worth);
    r->n_useful = 0;
    for (uint32_t t = 0; t < r->v->n_bins; t++)
        make_keys(r, t);
}

/* ---- the hand */

void recreate_begin(struct recreate *r)
{
    for (uint32_t k = 0; k < r->n; k++)
        r->count[r->item[k]] = 0;
    r->n = 0;
    r->all = 0;
    r->worth_all = 0;
    memset(r->plain, 0, r->v->n_plain * sizeof *r->plain);
    memset(r->device, 0, r->v->n_dev * sizeof *r->device);
}

/* n of the item come into the hand or, n < 0, leave it. */
static void hold(struct recreate *r, uint32_t item, int64_t n)
{
    const struct view *v = r->v;

    r->count[item] = (uint32_t)(r->count[item] + n);
    r->all = (uint64_t)((int64_t)r->all + n);
    r->worth_all += (double)n * r->worth[item];
    for (uint32_t c = 0; c < v->n_plain; c++)
        r->plain[c] += n * view_need(v, item)[c];
    for (uint32_t d = 0; d < v->n_dev; d++)
        r->device[d] += (uint64_t)(n * view_device_amount(v, item, d));
}

bool recreate_take(struct recreate *r, const struct cover_part *part,
                   uint32_t n)
{
    uint32_t fresh = 0;

    for (uint32_t q = 0; q < n; q++)
        fresh += !r->count[part[q].item];
    if (r->n + fresh > MOST_ITEMS)
        return false;
    for (uint32_t q = 0; q < n; q++) {
        if (!r->count[part[q].item])
            r->item[r->n++] = part[q].item;
        hold(r, part[q].item, part[q].count);
    }
    return true;
}

/* ---- fills */

/* All that was in hand, for bin t by worth over size.  The last order of
 * another bin is nearly right. */
static void sort(struct recreate *r, uint32_t t)
{
    const struct view *v = r->v;
    struct refill *f = &r->refill[t];
    double mine[MOST_ITEMS];

    for (uint32_t k = 0; k < r->n; k++) {
        uint32_t i = r->sorted[k], at;
        double x = (double)r->key[(size_t)i * v->n_bins + t] * r->noisy[i];

        for (at = k; at && mine[at - 1] < x; at--) {
            mine[at] = mine[at - 1];
            r->sorted[at] = r->sorted[at - 1];
        }
        mine[at] = x;
        r->sorted[at] = i;
    }
    f->n = 0;
    for (uint32_t k = 0; k < r->n; k++)
        if (view_can(v, t, r->sorted[k]))
            f->order[f->n++] = r->sorted[k];
    f->sorted = true;
    r->work += 8 * (uint64_t)r->n;
}

static void put(struct recreate *r, struct fill *fill, uint32_t item,
                uint32_t count)
{
    fill_add(fill, item, count, r->v->arena);
    fill->value += r->worth[item] * count;
    r->work += 12;
}

static void trade(struct recreate *r, uint32_t t)
{
    struct refill *f = &r->refill[t];
    struct trade_from from = {t, f->order, f->n, r->count, r->worth};
    uint64_t had = r->trade.work;

    trade_run(&r->trade, &from, &f->fill);
    r->work += r->trade.work - had;
}

/* Fills bin t from what is in hand; the worth. */
static double fill(struct recreate *r, uint32_t t)
{
    const struct view *v = r->v;
    struct refill *f = &r->refill[t];
    uint32_t seed = UINT32_MAX;

    if (!f->sorted)
        sort(r, t);
    f->fill.part.n = 0;
    f->fill.value = 0;
    space_open(&r->space, t);
    if (v->seeded[t]) {
        for (uint32_t k = 0; k < f->n && seed == UINT32_MAX; k++)
            if (r->count[f->order[k]] && v->needs_accel[f->order[k]])
                seed = f->order[k];
        if (seed == UINT32_MAX || !space_put(&r->space, seed, 1))
            return 0;
        put(r, &f->fill, seed, 1);
    }
    for (uint32_t k = 0; k < f->n; k++) {
        uint32_t i = f->order[k], most = r->count[i] - (i == seed);

        if (most && space_fits(&r->space, i))
            put(r, &f->fill, i, space_put(&r->space, i, most));
    }
    r->work += 3 * (uint64_t)f->n + 16;
    return f->fill.value;
}

static void buy(struct recreate *r, struct partial *d, uint32_t t)
{
    const struct refill *f = &r->refill[t];

    partial_buy(d, t, 1, f->fill.part.v, f->fill.part.n);
    for (uint32_t q = 0; q < f->fill.part.n; q++)
        hold(r, f->fill.part.v[q].item, -(int64_t)f->fill.part.v[q].count);
    for (uint32_t u = 0; u < r->n_useful; u++)
        r->refill[r->useful[u]].fresh = false;
}

/* Does the bin hold so much, by the sums of its columns? */
static bool enough(const struct recreate *r, uint32_t t)
{
    const struct view *v = r->v;

    for (uint32_t c = 0; c < v->n_plain; c++)
        if (r->plain[c] > view_has(v, t)[c])
            return false;
    for (uint32_t d = 0; d < v->n_dev; d++)
        if (r->device[d] >
            (uint64_t)AMOUNT_ONE * v->devices[(size_t)t * v->n_dev + d])
            return false;
    return true;
}

/* The cheapest bin for all that is in hand, if it costs at most `most`. */
static bool finish(struct recreate *r, struct partial *d, int64_t most)
{
    const struct view *v = r->v;

    r->work += v->n_bins;
    for (uint32_t t = 0; t < v->n_bins && v->price[t] <= most; t++) {
        uint64_t put = 0;
        uint32_t k = 0;

        if (!enough(r, t) || !partial_allows(d, t))
            continue;
        while (k < r->n &&
               (!r->count[r->item[k]] || view_can(v, t, r->item[k])))
            k++;
        if (k < r->n)
            continue;
        fill(r, t);
        for (uint32_t q = 0; q < r->refill[t].fill.part.n; q++)
            put += r->refill[t].fill.part.v[q].count;
        r->refill[t].fresh = false;
        if (put != r->all)
            continue;
        buy(r, d, t);
        return true;
    }
    return false;
}

/* The useful bin whose fill has the best rate, and is made better; UINT32_MAX:
 * none. */
static uint32_t best_bin(struct recreate *r, const struct partial *d,
                         int64_t room)
{
    const struct view *v = r->v;

    for (;;) {
        uint32_t best = UINT32_MAX;
        struct refill *f;

        for (uint32_t u = 0; u < r->n_useful; u++) {
            uint32_t t = r->useful[u];

            if (v->price[t] > room)
                break; /* cheapest first */
            if (r->refill[t].rate > 0 &&
                (best == UINT32_MAX ||
                 r->refill[t].rate > r->refill[best].rate))
                best = t;
        }
        r->work += r->n_useful;
        if (best == UINT32_MAX)
            return best;
        f = &r->refill[best];
        if (f->fresh) {
            trade(r, best);
            return best;
        }
        f->rate = partial_allows(d, best) ? fill(r, best) * f->noise /
                                                ((double)v->price[best] + 1e-3)
                                          : 0;
        f->fresh = true;
    }
}

/* Packs what is in hand for at most `most`; false when it cannot. */
bool recreate_run(struct recreate *r, struct partial *d, int64_t most,
                  double noise)
{
    const struct view *v = r->v;
    int64_t from = d->cost;

    for (uint32_t k = 0; k < r->n; k++)
        r->noisy[r->item[k]] = 1 + noise * (2 * column_fraction(&r->seed) - 1);
    memcpy(r->sorted, r->item, r->n * sizeof *r->item);
    for (uint32_t t = 0; t < v->n_bins; t++)
        r->refill[t].sorted = false;
    for (uint32_t u = 0; u < r->n_useful; u++) {
        struct refill *f = &r->refill[r->useful[u]];
        double worth = r->most[r->useful[u]];

        if (r->worth_all < worth)
            worth = r->worth_all;
        f->noise = 1 + RATE_NOISE * noise * (2 * column_fraction(&r->seed) - 1);
        f->rate = worth * f->noise / ((double)v->price[r->useful[u]] + 1e-3);
        f->fresh = false;
    }
    r->work += r->n_useful * 4 + v->n_bins;
    while (r->all) {
        int64_t room = most - (d->cost - from);
        uint32_t bin;

        /* One more bin may do: its worth cannot be much over its price. */
        if (r->worth_all * LEAST_PRICE > (double)room)
            return false;
        if (finish(r, d, room))
            return true;
        bin = best_bin(r, d, room);
        if (bin == UINT32_MAX)
            return false;
        buy(r, d, bin);
    }
    return true;
}
