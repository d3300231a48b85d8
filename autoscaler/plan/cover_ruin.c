/*
 * cover_ruin.c - see cover_ruin.h.
 *
 * Bins are picked by what they lose (price less the worth of their content).
 * Recreating is a small greedy with a little noise in the worths; at every
 * step the cheapest single bin for all the rest is tried as the end, which is
 * what makes small last bins.
 */
#include "cover_ruin.h"
#include "cover_column.h"

#include <string.h>

enum { MOST_BINS = 6, MOST_ITEMS = 96 };

struct ruin {
    const struct view *v;
    double *key;              /* n_bins x n_items: worth over size */
    double *worth, *noisy;
    uint32_t *useful;         /* bins that are seldom a waste */
    uint32_t n_useful;
    struct room room;
    struct draft best;
    uint32_t *mine;           /* per item: how many are in hand */
    uint32_t item[MOST_ITEMS], n;   /* in hand */
    uint32_t order[MOST_ITEMS];
    VEC(struct cover_part) trial, top;
    VEC(uint32_t) alive;      /* patterns with bins */
    uint64_t seed, work;
};

static void make_keys(struct ruin *r, struct price *p, uint32_t t)
{
    const struct view *v = r->v;
    const struct price_bin *b = &p->bin[t];
    double ub = price_tune(p, t, r->worth, NULL, 0, 30);

    for (uint32_t q = 0; q < b->n_runs; q++) {
        const struct price_run *run = &b->run[q];
        double device = 0;

        if (run->dev != UINT32_MAX)
            device = p->cell_value[run->dev] *
                     (run->whole ? (double)run->whole * p->cells[run->dev]
                                 : run->cells);
        for (uint32_t k = run->first; k < run->first + run->n; k++) {
            double size = device;

            for (uint32_t s = 0; s < p->scalars; s++)
                size += b->lambda[s] * b->share[(size_t)k * p->scalars + s];
            r->key[(size_t)t * v->n_items + b->item[k]] =
                size > 0 ? r->worth[b->item[k]] / size : 1e9;
        }
    }
    if (ub >= 0.8 * (double)v->price[t])
        r->useful[r->n_useful++] = t;
}

struct ruin *ruin_make(const struct view *v, struct price *price,
                       const double *worth)
{
    struct arena *a = v->arena;
    struct ruin *r = ARENA_NEW(a, struct ruin);

    r->v = v;
    r->key = ARENA_ARRAY(a, double, (size_t)v->n_bins * v->n_items);
    r->worth = arena_copy(a, worth, v->n_items * sizeof *worth);
    r->noisy = ARENA_ARRAY(a, double, v->n_items);
    r->useful = ARENA_ARRAY(a, uint32_t, v->n_bins);
    r->mine = ARENA_ARRAY(a, uint32_t, v->n_items);
    room_make(v, &r->room);
    draft_make(v, &r->best);
    for (uint32_t t = 0; t < v->n_bins; t++)
        make_keys(r, price, t);
    r->seed = 7;
    return r;
}

static double unit(struct ruin *r)
{
    return column_random(&r->seed) / 2147483648.0;
}

static void list_alive(struct ruin *r, const struct draft *d)
{
    r->alive.n = 0;
    for (uint32_t k = 0; k < d->pattern.n; k++)
        if (d->pattern.v[k].count)
            VEC_PUSH(r->v->arena, &r->alive, k);
}

static double loss(const struct ruin *r, const struct draft *d, uint32_t k)
{
    const struct draft_pattern *x = &d->pattern.v[k];
    double sum = (double)r->v->price[x->bin];

    for (uint32_t q = 0; q < x->n; q++)
        sum -= r->worth[d->part.v[x->first + q].item] *
               d->part.v[x->first + q].count;
    return sum;
}

/* The one of a few random patterns that loses most. */
static uint32_t pick(struct ruin *r, const struct draft *d, uint32_t tries)
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

/* Takes one bin of the pattern apart. */
static bool take_apart(struct ruin *r, struct draft *d, uint32_t k)
{
    const struct draft_pattern *x = &d->pattern.v[k];
    uint32_t fresh = 0;

    for (uint32_t q = 0; q < x->n; q++)
        fresh += !r->mine[d->part.v[x->first + q].item];
    if (r->n + fresh > MOST_ITEMS)
        return false;
    for (uint32_t q = 0; q < x->n; q++) {
        struct cover_part part = d->part.v[x->first + q];

        if (!r->mine[part.item])
            r->item[r->n++] = part.item;
        r->mine[part.item] += part.count;
    }
    draft_sell(d, k, 1);
    return true;
}

/* Fills bin t from what is in hand; the worth. */
static double fill(struct ruin *r, uint32_t t)
{
    const struct view *v = r->v;
    const double *key = r->key + (size_t)t * v->n_items;
    uint32_t n = 0;
    double value = 0;
    bool seed = !v->seeded[t];

    r->trial.n = 0;
    for (uint32_t k = 0; k < r->n; k++) {
        uint32_t i = r->item[k], at;
        double mine;

        if (!r->mine[i] || !view_can(v, t, i))
            continue;
        mine = key[i] * r->noisy[i];
        for (at = n; at && key[r->order[at - 1]] * r->noisy[r->order[at - 1]] <
                               mine; at--)
            r->order[at] = r->order[at - 1];
        r->order[at] = i;
        n++;
    }
    r->work += 12 * (uint64_t)n + 16;
    if (!n)
        return 0;
    room_open(&r->room, t);
    if (!seed)
        for (uint32_t k = 0; k < n && !seed; k++) {
            uint32_t i = r->order[k];

            if (!v->needs_accel[i] || !room_put(&r->room, i, 1))
                continue;
            VEC_PUSH(v->arena, &r->trial, ((struct cover_part){i, 1}));
            value += r->worth[i];
            r->mine[i]--;
            seed = true;
        }
    for (uint32_t k = 0; k < n && seed; k++) {
        uint32_t i = r->order[k], put;

        if (!r->mine[i] || !room_fits(&r->room, i))
            continue;
        put = room_put(&r->room, i, r->mine[i]);
        r->work += 12;
        if (!put)
            continue;
        VEC_PUSH(v->arena, &r->trial, ((struct cover_part){i, put}));
        value += r->worth[i] * put;
    }
    if (!v->seeded[t] || !r->trial.n)
        return value;
    r->mine[r->trial.v[0].item]++;
    return value;
}

static void buy(struct ruin *r, struct draft *d, uint32_t t)
{
    draft_buy(d, t, 1, r->top.v, r->top.n);
    for (uint32_t q = 0; q < r->top.n; q++)
        r->mine[r->top.v[q].item] -= r->top.v[q].count;
}

static void keep_trial(struct ruin *r)
{
    r->top.n = 0;
    for (uint32_t q = 0; q < r->trial.n; q++)
        VEC_PUSH(r->v->arena, &r->top, r->trial.v[q]);
}

static uint64_t in_hand(const struct ruin *r)
{
    uint64_t sum = 0;

    for (uint32_t k = 0; k < r->n; k++)
        sum += r->mine[r->item[k]];
    return sum;
}

/* The cheapest bin for all that is in hand, if it costs at most `most`. */
static bool finish(struct ruin *r, struct draft *d, int64_t most)
{
    const struct view *v = r->v;
    uint64_t all = in_hand(r);

    for (uint32_t t = 0; t < v->n_bins && v->price[t] <= most; t++) {
        uint64_t put = 0;
        uint32_t k;

        for (k = 0; k < r->n; k++)
            if (r->mine[r->item[k]] &&
                (!view_can(v, t, r->item[k])))
                break;
        if (k < r->n || !draft_room(d, t))
            continue;
        fill(r, t);
        for (uint32_t q = 0; q < r->trial.n; q++)
            put += r->trial.v[q].count;
        if (put != all)
            continue;
        keep_trial(r);
        buy(r, d, t);
        return true;
    }
    return false;
}

/* Packs what is in hand for at most `most`; false when it cannot. */
static bool recreate(struct ruin *r, struct draft *d, int64_t most,
                     double noise)
{
    const struct view *v = r->v;
    int64_t from = d->cost;

    for (uint32_t k = 0; k < r->n; k++)
        r->noisy[r->item[k]] = 1 + noise * (2 * unit(r) - 1);
    for (;;) {
        double best = 0, rest = 0;
        uint32_t bin = UINT32_MAX;
        int64_t room = most - (d->cost - from);

        for (uint32_t k = 0; k < r->n; k++)
            rest += r->mine[r->item[k]] * r->worth[r->item[k]];
        if (!in_hand(r))
            return true;
        if (rest * 0.7 > (double)room)
            return false;
        /* One more bin may do: its worth cannot be much over its price. */
        if (finish(r, d, room))
            return true;
        for (uint32_t u = 0; u < r->n_useful; u++) {
            uint32_t t = r->useful[u];
            double rate;

            if (v->price[t] > room || !draft_room(d, t))
                continue;
            rate = fill(r, t) / ((double)v->price[t] + 1e-3) *
                   (1 + 0.1 * noise * (2 * unit(r) - 1));
            if (r->trial.n && rate > best) {
                best = rate;
                bin = t;
                keep_trial(r);
            }
        }
        if (bin == UINT32_MAX)
            return false;
        buy(r, d, bin);
    }
}

/* Drops patterns without bins: the list grows with every change. */
static void compact(struct draft *d)
{
    uint32_t n = 0, parts = 0;

    for (uint32_t k = 0; k < d->pattern.n; k++) {
        struct draft_pattern x = d->pattern.v[k];

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

static void step(struct ruin *r, struct draft *d)
{
    static const double noises[4] = {0, 0.05, 0.2, 0.5};
    uint32_t sold[MOST_BINS], n = 0, patterns = d->pattern.n;
    uint32_t parts = d->part.n;
    uint32_t want = 2 + column_random(&r->seed) % (MOST_BINS - 1);
    int64_t cost = d->cost, gone;

    r->n = 0;
    for (uint32_t k = 0; k < want; k++) {
        uint32_t p = pick(r, d, k ? 2 : 8);

        if (p != UINT32_MAX && take_apart(r, d, p))
            sold[n++] = p;
    }
    gone = cost - d->cost;
    if (!n || !recreate(r, d, gone, noises[column_random(&r->seed) % 4])) {
        /* As it was. */
        for (uint32_t k = patterns; k < d->pattern.n; k++)
            draft_sell(d, k, d->pattern.v[k].count);
        d->pattern.n = patterns;
        d->part.n = parts;
        for (uint32_t k = 0; k < n; k++)
            draft_unsell(d, sold[k]);
    } else {
        list_alive(r, d);
        r->work += d->pattern.n;
    }
    for (uint32_t k = 0; k < r->n; k++)
        r->mine[r->item[k]] = 0;
    if (d->pattern.n > 2 * r->alive.n + 256) {
        compact(d);
        list_alive(r, d);
    }
    r->work += 128;
}

uint64_t ruin_run(struct ruin *r, struct draft *d, uint64_t work)
{
    r->work = 0;
    compact(d);
    list_alive(r, d);
    while (r->work < work && r->alive.n > 1)
        step(r, d);
    compact(d);
    return r->work;
}
