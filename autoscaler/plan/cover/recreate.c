/*
 * recreate.c - see recreate.h.
 *
 * Of all bins the fill with the most worth for its price is bought, again and
 * again; fills are looked at in the order of what they could earn at most, so
 * some bins need none, and bins that are seldom bought are seldom looked at.  The
 * one to buy is made better by trades: then few steps find what many did not.  At
 * every step the cheapest single bin for all the rest is tried as the end, which is
 * what makes small last bins.
 */
#include "recreate.h"

#include "column.h"

#include <string.h>

#define USEFUL 0.8      /* of its price a bin must be able to earn */
#define RATE_NOISE 0.3  /* how far the noise in the worths is one in a rate */
#define LEAST_PRICE 0.7 /* of its worth what is in hand will cost */
/* A bin is looked at so often at least, of all times, and so many times as often as
 * it is bought when it is. */
#define LOOKED_AT 0.05
#define FOR_BOUGHT 20

enum { LANES = 4 };

/* What a bin would be filled with from the items in hand. */
struct refill {
    struct fill fill;
    double noise;
    bool useful, fresh;
};

void recreate_make(const struct view *v, struct price *price,
                   struct recreate *ret)
{
    struct arena *a = v->arena;
    struct recreate *r = ret;

    r->v = v;
    r->price = price;
    r->worth = ARENA_ARRAY(a, double, v->n_items);
    r->most = ARENA_ARRAY(a, double, v->n_bins);
    r->useful = ARENA_ARRAY(a, uint32_t, v->n_bins);
    r->rate = ARENA_ARRAY(a, double, v->n_bins);
    r->looked = ARENA_ARRAY(a, uint32_t, v->n_bins);
    r->bought = ARENA_ARRAY(a, uint32_t, v->n_bins);
    orders_make(v, &r->work, &r->orders);
    r->refill = ARENA_ARRAY(a, struct refill, v->n_bins);
    r->count = ARENA_ARRAY(a, uint32_t, v->n_items);
    r->plain = ARENA_ARRAY(a, int64_t, v->n_plain);
    r->device = ARENA_ARRAY(a, uint64_t, v->n_dev);
    space_make(v, &r->space);
    trade_make(v, &r->trade);
    r->seed = 7;
}

/* The bins that can earn about what they cost, and their orders. */
void recreate_value(struct recreate *r, const double *worth)
{
    const struct view *v = r->v;
    uint32_t n = 0;

    memcpy(r->worth, worth, v->n_items * sizeof *worth);
    r->orders.n = 0;
    for (uint32_t t = v->n_bins; t-- > 0;) {
        struct refill *f = &r->refill[t];

        r->most[t] = price_tune(r->price, t, worth, NULL, 0, 30);
        f->useful = r->most[t] >= USEFUL * (double)v->price[t];
        n += f->useful;
        if (f->useful)
            orders_add(&r->orders, r->price, worth, t);
    }
    r->n_useful = n;
    for (uint32_t t = v->n_bins; t-- > 0;)
        if (r->refill[t].useful)
            r->useful[--n] = t;
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
        if (!r->count[part[q].item]) {
            orders_fetch(&r->orders, part[q].item);
            r->item[r->n++] = part[q].item;
        }
        hold(r, part[q].item, part[q].count);
    }
    return true;
}

/* ---- fills */

static void put(struct recreate *r, struct fill *fill, uint32_t item,
                uint32_t count)
{
    fill_add(fill, item, count, r->v->arena);
    fill->value += r->worth[item] * count;
    r->work += 12;
}

/* Items in the order in which they go into a bin; some may not lie there. */
struct queue {
    const uint32_t *item;
    uint32_t n;
};

/* Where little is earned, or all is to go in, any order does. */
static struct queue queue_for(struct recreate *r, uint32_t t)
{
    const struct order *o;

    if (!r->refill[t].useful)
        return (struct queue){r->item, r->n};
    o = order_of(&r->orders, t);
    return (struct queue){o->item, o->n};
}

static void trade(struct recreate *r, uint32_t t)
{
    struct queue q = queue_for(r, t);
    uint32_t item[MOST_ITEMS], n = 0;
    uint64_t had = r->trade.work;

    for (uint32_t k = 0; k < q.n; k++)
        if (view_can(r->v, t, q.item[k]))
            item[n++] = q.item[k];
    trade_run(&r->trade, &(struct trade_from){t, item, n, r->count, r->worth},
              &r->refill[t].fill);
    r->work += r->trade.work - had + q.n;
}

/* What must be in the bin first, or it cannot be had; UINT32_MAX: there is none. */
static uint32_t seed_of(const struct recreate *r, uint32_t t, struct queue q)
{
    for (uint32_t k = 0; k < q.n; k++)
        if (r->count[q.item[k]] && r->v->needs_accel[q.item[k]] &&
            view_can(r->v, t, q.item[k]))
            return q.item[k];
    return UINT32_MAX;
}

/* Fills bin t from what is in hand; the worth. */
static double fill(struct recreate *r, uint32_t t)
{
    const struct view *v = r->v;
    struct fill *f = &r->refill[t].fill;
    struct queue q = queue_for(r, t);
    uint32_t seed = UINT32_MAX;

    f->part.n = 0;
    f->value = 0;
    space_open(&r->space, t);
    if (v->seeded[t]) {
        seed = seed_of(r, t, q);
        if (seed == UINT32_MAX || !space_put(&r->space, seed, 1))
            return 0;
        put(r, f, seed, 1);
    }
    for (uint32_t k = 0; k < q.n; k++) {
        uint32_t i = q.item[k], most = r->count[i] - (i == seed);

        if (most && view_can(v, t, i) && space_fits(&r->space, i))
            put(r, f, i, space_put(&r->space, i, most));
    }
    r->work += 3 * (uint64_t)q.n + 16;
    return f->value;
}

static void buy(struct recreate *r, struct partial *d, uint32_t t)
{
    const struct refill *f = &r->refill[t];

    partial_buy(d, t, 1, f->fill.part.v, f->fill.part.n);
    r->bought[t]++;
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

/* What the best fill of the bin is worth for its price. */
static double rate(struct recreate *r, const struct partial *d, uint32_t t)
{
    struct refill *f = &r->refill[t];

    f->fresh = true;
    if (!partial_allows(d, t))
        return 0;
    r->looked[t]++;
    return fill(r, t) * f->noise / ((double)r->v->price[t] + 1e-3);
}

/* Where the first of the highest is; n: none is over 0.  In lanes, since a processor
 * cannot guess which is higher. */
static uint32_t highest(const double *x, uint32_t n)
{
    double most[LANES] = {0};
    uint32_t at = 0;

    for (; at + LANES <= n; at += LANES)
        for (uint32_t k = 0; k < LANES; k++)
            most[k] = x[at + k] > most[k] ? x[at + k] : most[k];
    for (; at < n; at++)
        most[0] = x[at] > most[0] ? x[at] : most[0];
    for (uint32_t k = 1; k < LANES; k++)
        most[0] = most[k] > most[0] ? most[k] : most[0];
    for (at = 0; at < n && x[at] < most[0]; at++)
        ;
    return most[0] > 0 ? at : n;
}

/* The useful bin whose fill has the best rate, and is made better; UINT32_MAX:
 * none. */
static uint32_t best_bin(struct recreate *r, const struct partial *d,
                         int64_t room)
{
    const struct view *v = r->v;
    uint32_t n = r->n_useful;

    while (n && v->price[r->useful[n - 1]] > room)
        n--;
    while (n) {
        uint32_t best = highest(r->rate, n), t;

        r->work += n / 2;
        if (best == n)
            break;
        t = r->useful[best];
        if (r->refill[t].fresh) {
            trade(r, t);
            return t;
        }
        r->rate[best] = rate(r, d, t);
    }
    return UINT32_MAX;
}

/* Is the bin to be looked at this time?  One that is seldom bought is seldom. */
static bool looks_at(struct recreate *r, uint32_t t)
{
    double often = (double)(1 + r->bought[t]) / (double)(1 + r->looked[t]);

    return column_fraction(&r->seed) < LOOKED_AT + FOR_BOUGHT * often;
}

/* Before it is filled; 0 when it is not looked at. */
static double rate_at_most(struct recreate *r, uint32_t t, double noise)
{
    struct refill *f = &r->refill[t];
    double worth = r->worth_all < r->most[t] ? r->worth_all : r->most[t];

    f->noise = 1 + RATE_NOISE * noise * (2 * column_fraction(&r->seed) - 1);
    f->fresh = false;
    return looks_at(r, t) ? worth * f->noise / ((double)r->v->price[t] + 1e-3)
                          : 0;
}

/* Packs what is in hand for at most `most`; false when it cannot. */
bool recreate_run(struct recreate *r, struct partial *d, int64_t most,
                  double noise)
{
    const struct view *v = r->v;
    int64_t from = d->cost;

    orders_begin(&r->orders, r->item, r->n, noise, &r->seed);
    for (uint32_t u = 0; u < r->n_useful; u++)
        r->rate[u] = rate_at_most(r, r->useful[u], noise);
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
