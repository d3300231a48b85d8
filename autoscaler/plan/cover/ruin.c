/*
 * ruin.c - see ruin.h.
 *
 * Bins are picked by what they lose (price less the worth of their content).
 * Recreating is a small greedy with a little noise in the worths: of all bins
 * the fill with the most worth for its price; fills are looked at in the order
 * of what they could earn at most, so most bins need none.  At every step the
 * cheapest single bin for all the rest is tried as the end, which is what makes
 * small last bins.  A little dearer is let pass now and then, less and less as
 * the work runs out; the best plan met is the answer.
 */
#include "ruin.h"
#include "column.h"

#include <string.h>

/* How much dearer at first, of a mean bin; how far the noise in the worths is
 * one in a bin's rate too. */
#define WARM 0.1
#define RATE_NOISE 0.3
enum { MOST_BINS = 6, MOST_ITEMS = 96 };

/* What a bin would be filled with from the items in hand. */
struct refill {
    uint32_t order[MOST_ITEMS], n; /* best first */
    VEC(struct cover_part) part;
    double rate; /* worth for price, at most */
    double noise;
    bool sorted, fresh;
};

struct ruin {
    const struct view *v;
    float *key;                   /* n_items x n_bins: worth over size */
    double *worth, *noisy, *most; /* most: that a bin can earn */
    uint32_t *useful;             /* bins that are seldom a waste */
    uint32_t n_useful;
    struct refill *refill; /* n_bins */
    struct space space;
    struct partial best;
    uint32_t *mine;               /* per item: how many are in hand */
    uint32_t item[MOST_ITEMS], n; /* in hand */
    uint32_t sorted[MOST_ITEMS];  /* the same, as sorted last */
    uint64_t n_mine;
    double worth_mine;
    int64_t *plain; /* what is in hand needs of each column */
    uint64_t *device;
    VEC(uint32_t) alive; /* patterns with bins */
    uint64_t seed, work;
};

static void make_keys(struct ruin *r, struct price *p, uint32_t t)
{
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
    if (ub >= 0.8 * (double)v->price[t])
        r->useful[r->n_useful++] = t;
}

struct ruin *ruin_make(const struct view *v, struct price *price,
                       const double *worth)
{
    struct arena *a = v->arena;
    struct ruin *r = ARENA_NEW(a, struct ruin);

    r->v = v;
    r->key = ARENA_ARRAY(a, float, (size_t)v->n_items * v->n_bins);
    r->worth = arena_copy(a, worth, v->n_items * sizeof *worth);
    r->noisy = ARENA_ARRAY(a, double, v->n_items);
    r->most = ARENA_ARRAY(a, double, v->n_bins);
    r->useful = ARENA_ARRAY(a, uint32_t, v->n_bins);
    r->refill = ARENA_ARRAY(a, struct refill, v->n_bins);
    r->mine = ARENA_ARRAY(a, uint32_t, v->n_items);
    r->plain = ARENA_ARRAY(a, int64_t, v->n_plain);
    r->device = ARENA_ARRAY(a, uint64_t, v->n_dev);
    space_make(v, &r->space);
    partial_make(v, &r->best);
    for (uint32_t t = 0; t < v->n_bins; t++)
        make_keys(r, price, t);
    r->seed = 7;
    return r;
}

static double unit(struct ruin *r)
{
    return column_random(&r->seed) / 2147483648.0;
}

static void list_alive(struct ruin *r, const struct partial *d)
{
    r->alive.n = 0;
    for (uint32_t k = 0; k < d->pattern.n; k++)
        if (d->pattern.v[k].count)
            VEC_PUSH(r->v->arena, &r->alive, k);
    r->work += d->pattern.n;
}

static double loss(const struct ruin *r, const struct partial *d, uint32_t k)
{
    const struct partial_pattern *x = &d->pattern.v[k];
    double sum = (double)r->v->price[x->bin];

    for (uint32_t q = 0; q < x->n; q++)
        sum -= r->worth[d->part.v[x->first + q].item] *
               d->part.v[x->first + q].count;
    return sum;
}

/* The one of a few random patterns that loses most. */
static uint32_t pick(struct ruin *r, const struct partial *d, uint32_t tries)
{
    uint32_t best = UINT32_MAX;
    double most = -1e300;

    for (uint32_t k = 0; k < tries; k++) {
        uint32_t p = r->alive.v[column_random(&r->seed) % r->alive.n];
        double l;

        if (!d->pattern.v[p].count)
            continue;
        l = loss(r, d, p);
        if (best == UINT32_MAX || l > most) {
            best = p;
            most = l;
        }
        r->work += 16;
    }
    return best;
}

/* n of the item come into the hand or, n < 0, leave it. */
static void hold(struct ruin *r, uint32_t item, int64_t n)
{
    const struct view *v = r->v;

    r->mine[item] = (uint32_t)(r->mine[item] + n);
    r->n_mine = (uint64_t)((int64_t)r->n_mine + n);
    r->worth_mine += (double)n * r->worth[item];
    for (uint32_t c = 0; c < v->n_plain; c++)
        r->plain[c] += n * view_need(v, item)[c];
    for (uint32_t d = 0; d < v->n_dev; d++)
        r->device[d] += (uint64_t)(n * view_device_amount(v, item, d));
}

/* Takes one bin of the pattern apart. */
static bool take_apart(struct ruin *r, struct partial *d, uint32_t k)
{
    const struct partial_pattern *x = &d->pattern.v[k];
    uint32_t fresh = 0;

    for (uint32_t q = 0; q < x->n; q++)
        fresh += !r->mine[d->part.v[x->first + q].item];
    if (r->n + fresh > MOST_ITEMS)
        return false;
    for (uint32_t q = 0; q < x->n; q++) {
        struct cover_part part = d->part.v[x->first + q];

        if (!r->mine[part.item])
            r->item[r->n++] = part.item;
        hold(r, part.item, part.count);
    }
    partial_sell(d, k, 1);
    return true;
}

/* All that was in hand, for bin t by worth over size.  The last order of
 * another bin is nearly right. */
static void sort(struct ruin *r, uint32_t t)
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

/* Fills bin t from what is in hand; the worth. */
static double fill(struct ruin *r, uint32_t t)
{
    const struct view *v = r->v;
    struct refill *f = &r->refill[t];
    uint32_t seed = UINT32_MAX;
    double value = 0;

    if (!f->sorted)
        sort(r, t);
    f->part.n = 0;
    space_open(&r->space, t);
    if (v->seeded[t]) {
        for (uint32_t k = 0; k < f->n && seed == UINT32_MAX; k++)
            if (r->mine[f->order[k]] && v->needs_accel[f->order[k]])
                seed = f->order[k];
        if (seed == UINT32_MAX || !space_put(&r->space, seed, 1))
            return 0;
        VEC_PUSH(v->arena, &f->part, ((struct cover_part){seed, 1}));
        value += r->worth[seed];
    }
    for (uint32_t k = 0; k < f->n; k++) {
        uint32_t i = f->order[k], most = r->mine[i] - (i == seed), put;

        if (!most || !space_fits(&r->space, i))
            continue;
        put = space_put(&r->space, i, most);
        VEC_PUSH(v->arena, &f->part, ((struct cover_part){i, put}));
        value += r->worth[i] * put;
        r->work += 12;
    }
    r->work += 3 * (uint64_t)f->n + 16;
    return value;
}

static void buy(struct ruin *r, struct partial *d, uint32_t t)
{
    const struct refill *f = &r->refill[t];

    partial_buy(d, t, 1, f->part.v, f->part.n);
    for (uint32_t q = 0; q < f->part.n; q++)
        hold(r, f->part.v[q].item, -(int64_t)f->part.v[q].count);
    for (uint32_t u = 0; u < r->n_useful; u++)
        r->refill[r->useful[u]].fresh = false;
}

/* Does the bin hold so much, by the sums of its columns? */
static bool enough(const struct ruin *r, uint32_t t)
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
static bool finish(struct ruin *r, struct partial *d, int64_t most)
{
    const struct view *v = r->v;

    r->work += v->n_bins;
    for (uint32_t t = 0; t < v->n_bins && v->price[t] <= most; t++) {
        uint64_t put = 0;
        uint32_t k = 0;

        if (!enough(r, t) || !partial_allows(d, t))
            continue;
        while (k < r->n && (!r->mine[r->item[k]] || view_can(v, t, r->item[k])))
            k++;
        if (k < r->n)
            continue;
        fill(r, t);
        for (uint32_t q = 0; q < r->refill[t].part.n; q++)
            put += r->refill[t].part.v[q].count;
        r->refill[t].fresh = false;
        if (put != r->n_mine)
            continue;
        buy(r, d, t);
        return true;
    }
    return false;
}

/* The useful bin whose fill has the best rate, UINT32_MAX: none. */
static uint32_t best_bin(struct ruin *r, const struct partial *d, int64_t room)
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
        if (f->fresh)
            return best;
        f->rate = partial_allows(d, best) ? fill(r, best) * f->noise /
                                                ((double)v->price[best] + 1e-3)
                                          : 0;
        f->fresh = true;
    }
}

/* Packs what is in hand for at most `most`; false when it cannot. */
static bool recreate(struct ruin *r, struct partial *d, int64_t most,
                     double noise)
{
    const struct view *v = r->v;
    int64_t from = d->cost;

    for (uint32_t k = 0; k < r->n; k++)
        r->noisy[r->item[k]] = 1 + noise * (2 * unit(r) - 1);
    memcpy(r->sorted, r->item, r->n * sizeof *r->item);
    for (uint32_t t = 0; t < v->n_bins; t++)
        r->refill[t].sorted = false;
    for (uint32_t u = 0; u < r->n_useful; u++) {
        struct refill *f = &r->refill[r->useful[u]];
        double worth = r->most[r->useful[u]];

        if (r->worth_mine < worth)
            worth = r->worth_mine;
        f->noise = 1 + RATE_NOISE * noise * (2 * unit(r) - 1);
        f->rate = worth * f->noise / ((double)v->price[r->useful[u]] + 1e-3);
        f->fresh = false;
    }
    r->work += r->n_useful * 4 + v->n_bins;
    while (r->n_mine) {
        int64_t room = most - (d->cost - from);
        uint32_t bin;

        /* One more bin may do: its worth cannot be much over its price. */
        if (r->worth_mine * 0.7 > (double)room)
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

/* Drops patterns without bins: the list grows with every change. */
static void compact(struct partial *d)
{
    uint32_t n = 0, parts = 0;

    for (uint32_t k = 0; k < d->pattern.n; k++) {
        struct partial_pattern x = d->pattern.v[k];

        if (!x.count)
            continue;
        memmove(d->part.v + parts, d->part.v + x.first,
                x.n * sizeof *d->part.v);
        x.first = parts;
        parts += x.n;
        d->pattern.v[n++] = x;
    }
    d->pattern.n = n;
    d->part.n = parts;
}

/* `more`: how much dearer the new bins may be. */
static void step(struct ruin *r, struct partial *d, double more)
{
    static const double noises[4] = {0, 0.05, 0.2, 0.5};
    uint32_t sold[MOST_BINS], n = 0, patterns = d->pattern.n;
    uint32_t parts = d->part.n;
    uint32_t want = 2 + column_random(&r->seed) % (MOST_BINS - 1);
    int64_t cost = d->cost, gone;

    r->n = 0;
    r->n_mine = 0;
    r->worth_mine = 0;
    memset(r->plain, 0, r->v->n_plain * sizeof *r->plain);
    memset(r->device, 0, r->v->n_dev * sizeof *r->device);
    for (uint32_t k = 0; k < want; k++) {
        uint32_t p = pick(r, d, k ? 2 : 4);

        if (p != UINT32_MAX && take_apart(r, d, p))
            sold[n++] = p;
    }
    gone = cost - d->cost;
    gone += (int64_t)(more * unit(r));
    if (!n || !recreate(r, d, gone, noises[column_random(&r->seed) % 4])) {
        /* As it was. */
        for (uint32_t k = patterns; k < d->pattern.n; k++)
            partial_sell(d, k, d->pattern.v[k].count);
        d->pattern.n = patterns;
        d->part.n = parts;
        for (uint32_t k = 0; k < n; k++)
            partial_unsell(d, sold[k]);
    } else {
        for (uint32_t k = patterns; k < d->pattern.n; k++)
            VEC_PUSH(r->v->arena, &r->alive, k);
    }
    for (uint32_t k = 0; k < r->n; k++)
        r->mine[r->item[k]] = 0;
    r->work += 128;
}

/* A copy is dear where bins are many: it is made now and then, and while the
 * best plan has none only what is not dearer is let pass. */
uint64_t ruin_run(struct ruin *r, struct partial *d, uint64_t work)
{
    double mean = d->n_bought ? (double)d->cost / (double)d->n_bought : 0;
    bool copied = true;
    uint64_t next = 0;
    uint32_t full;

    r->work = 0;
    compact(d);
    list_alive(r, d);
    full = r->alive.n;
    partial_copy(&r->best, d);
    while (r->work < work && r->alive.n > 1) {
        double cool = 1 - (double)r->work / (double)work;

        step(r, d, copied ? WARM * mean * cool * cool : 0);
        copied = copied && !partial_better(d, &r->best);
        if (!copied && r->work >= next) {
            partial_copy(&r->best, d);
            r->work += d->pattern.n + d->part.n;
            next = r->work + 16 * (uint64_t)(d->pattern.n + d->part.n);
            copied = true;
        }
        if (r->alive.n > 2 * full + 256) {
            compact(d);
            list_alive(r, d);
            full = r->alive.n;
        }
    }
    if (copied)
        partial_copy(d, &r->best);
    compact(d);
    return r->work;
}
