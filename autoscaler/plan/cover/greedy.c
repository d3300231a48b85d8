/*
 * greedy.c - the price-aware greedy.
 *
 * Per bin the items are sorted once by weight over size; a fill is one pass
 * over that order.  Fills are kept while their items are left, and made again
 * only when they come first (what is left only shrinks, so an old value is an
 * upper bound).  The one that comes first is filled anew a few times, by chance,
 * for a better one: this is what makes first plans good.  It is bought
 * min(left / part) times at once: the cost is per shape, not per pod.
 */
#include "greedy.h"

#include "anew.h"
#include "blocks.h"

#include <string.h>

/* So many of an order are filled anew from: few, where items are many of a shape;
 * more, where there are so many shapes that most have one item. */
enum { ANEW_LOOK = 96, ANEW_LOOK_WIDE = 1000, WIDE_SHAPES = 2000 };
#define NOT_BETTER 1e-9 /* less is a matter of rounding */
#define NOT_LOOKED_AT UINT32_MAX

struct candidate {
    struct density_order order[BY_N];
    struct blocks blocks[BY_N]; /* of the orders */
    int64_t *least;             /* per plain column: none of them needs less */
    struct fill best;
    double score;
    uint32_t live; /* the orders hold so many that are wanted */
    bool dead, fresh;
};

struct greedy {
    const struct view *v;
    struct density *density;
    struct candidate *bin;
    struct fill trial;
    struct space space;
    struct anew anew;
    uint32_t tries;              /* so often a fill is filled anew */
    uint32_t look;               /* from so many */
    double *price;               /* what bins cost, as the caller sees it */
    uint32_t live, live_at_trim; /* items with something left */
    uint64_t work;
};

/* Orders of the bin for as many items as may be wanted. */
static void candidate_make(const struct view *v, uint32_t bin,
                           const uint64_t *wanted, struct candidate *ret)
{
    const uint64_t *can = v->can + (size_t)bin * v->words;
    uint32_t n = 0;

    for (uint32_t w = 0; w < v->words; w++)
        n += (uint32_t)__builtin_popcountll(can[w] & wanted[w]);
    for (int s = 0; s < BY_N; s++) {
        ret->order[s].item = ARENA_ARRAY(v->arena, uint32_t, n);
        blocks_make(v, n, &ret->blocks[s]);
    }
    ret->least = ARENA_ARRAY(v->arena, int64_t, v->n_plain);
}

struct greedy *greedy_make(const struct view *v, struct price *price,
                           uint32_t anew)
{
    return greedy_make_for(v, price, anew, v->count);
}

struct greedy *greedy_make_for(const struct view *v, struct price *price,
                               uint32_t anew, const uint32_t *left)
{
    struct arena *a = v->arena;
    struct greedy *g = ARENA_NEW(a, struct greedy);
    uint64_t *wanted = ARENA_ARRAY(a, uint64_t, v->words);

    g->v = v;
    g->density = density_make(v, price);
    g->bin = ARENA_ARRAY(a, struct candidate, v->n_bins);
    for (uint32_t i = 0; i < v->n_items; i++)
        wanted[i / 64] |= (uint64_t)(left[i] > 0) << (i % 64);
    for (uint32_t t = 0; t < v->n_bins; t++)
        candidate_make(v, t, wanted, &g->bin[t]);
    space_make(v, &g->space);
    anew_make(v, &g->space, &g->anew);
    g->tries = anew;
    g->look = ANEW_LOOK;
    g->price = ARENA_ARRAY(a, double, v->n_bins);
    for (uint32_t t = 0; t < v->n_bins; t++)
        g->price[t] = (double)v->price[t];
    return g;
}

void greedy_look(struct greedy *g, enum greedy_look how)
{
    if (g->v->n_items > WIDE_SHAPES)
        g->look = how == LOOK_AT_ALL ? g->v->n_items : ANEW_LOOK_WIDE;
}

/* Drops items of which nothing is left from a bin's orders. */
static void trim(struct greedy *g, struct candidate *cand, unsigned sizes,
                 const uint32_t *left)
{
    for (int s = 0; s < BY_N; s++) {
        struct density_order *order = &cand->order[s];
        uint32_t *item = order->item, all = order->n, n = 0;

        if (!(sizes >> s & 1))
            continue;
        for (uint32_t k = 0; k < all; k++) {
            item[n] = item[k];
            n += left[item[k]] > 0;
        }
        g->work += 2 * (uint64_t)all;
        order->n = n;
        blocks_measure(g->v, item, n, &cand->blocks[s], cand->least);
    }
    cand->live = g->live_at_trim;
}

static void fill_put(struct greedy *g, uint32_t item, uint32_t most,
                     const double *weight, struct fill *f)
{
    uint32_t n = space_put(&g->space, item, most);

    g->work += 4;
    fill_add(f, item, n, g->v->arena);
    f->value += weight[item] * n;
}

static void fill_bin(struct greedy *g, uint32_t bin, int kind,
                     const double *weight, const uint32_t *left, struct fill *f)
{
    const struct view *v = g->v;
    const struct candidate *cand = &g->bin[bin];
    const uint32_t *order = cand->order[kind].item;
    uint32_t n = cand->order[kind].n, seed = n, k;

    f->part.n = 0;
    f->value = 0;
    g->work += 16;
    space_open(&g->space, bin);
    if (v->seeded[bin]) {
        /* One item that needs the accelerator goes first. */
        for (k = 0; k < n && seed == n; k++)
            if (left[order[k]] && v->needs_accel[order[k]])
                seed = k;
        g->work += k;
        if (seed == n)
            return;
        fill_put(g, order[seed], 1, weight, f);
    }
    for (k = 0; k < n; k++) {
        uint32_t item = order[k], most = left[item] - (k == seed);

        if (blocks_skip(&cand->blocks[kind], &g->space, &k)) {
            g->work += 2;
            continue;
        }
        g->work++;
        if (!most || !space_fits(&g->space, item))
            continue;
        fill_put(g, item, most, weight, f);
        if (space_spent(&g->space, cand->least))
            break;
    }
}

static double score(const struct greedy *g, uint32_t bin, bool by_value)
{
    double value = g->bin[bin].best.value, price = g->price[bin];

    /* A free bin is taken before any that costs. */
    return by_value ? value : value / (price > 0 ? price : 1e-9);
}

static void refill(struct greedy *g, uint32_t bin, unsigned sizes,
                   const double *weight, bool by_value, const uint32_t *left)
{
    struct candidate *cand = &g->bin[bin];

    if (cand->live != g->live_at_trim)
        trim(g, cand, sizes, left);
    cand->best.part.n = 0;
    cand->best.value = 0;
    for (int s = 0; s < BY_N; s++) {
        struct fill swap;

        if (!(sizes >> s & 1))
            continue;
        fill_bin(g, bin, s, weight, left, &g->trial);
        if (!g->trial.part.n ||
            (cand->best.part.n && g->trial.value <= cand->best.value))
            continue;
        swap = cand->best;
        cand->best = g->trial;
        g->trial = swap;
    }
    cand->fresh = true;
    cand->dead = !cand->best.part.n;
    cand->score = score(g, bin, by_value);
}

/* The fill that is to be bought, filled anew a few times. */
static void better_fill(struct greedy *g, uint32_t bin, unsigned sizes,
                        bool by_value, const double *weight,
                        const uint32_t *left)
{
    struct candidate *cand = &g->bin[bin];
    struct fill swap;
    int s = 0;

    /* By each size in turn. */
    for (uint32_t k = 0; k < g->tries; k++) {
        struct anew_from from = {bin, NULL, NULL, 0, left, cand->least, weight};

        do
            s = (s + 1) % BY_N;
        while (!(sizes >> s & 1));
        from.order = cand->order[s].item;
        from.blocks = &cand->blocks[s];
        from.n = cand->order[s].n < g->look ? cand->order[s].n : g->look;
        anew_fill(&g->anew, &from, &cand->best, &g->trial);
        if (g->trial.value <= cand->best.value * (1 + NOT_BETTER))
            continue;
        swap = cand->best;
        cand->best = g->trial;
        g->trial = swap;
    }
    cand->score = score(g, bin, by_value);
}

static uint32_t pick(struct greedy *g, const struct partial *d)
{
    uint32_t best = g->v->n_bins;

    for (uint32_t t = 0; t < g->v->n_bins; t++) {
        struct candidate *c = &g->bin[t];

        if (c->dead || (best < g->v->n_bins && c->score <= g->bin[best].score))
            continue;
        if (!partial_allows(d, t)) {
            c->dead = true;
            continue;
        }
        best = t;
    }
    g->work += g->v->n_bins;
    return best;
}

/* Every bin may be bought; none has a fill yet. */
static void begin(struct greedy *g, const double *weight, unsigned sizes,
                  const uint32_t *left)
{
    const struct view *v = g->v;

    g->work = 0;
    g->live = 0;
    for (uint32_t i = 0; i < v->n_items; i++)
        g->live += left[i] > 0;
    density_want(g->density, left);
    for (uint32_t t = 0; t < v->n_bins; t++) {
        struct candidate *c = &g->bin[t];

        c->dead = false;
        c->fresh = false;
        c->score = 1e300;
        c->best.part.n = 0;
        c->live = NOT_LOOKED_AT;
        g->work += density_sort(g->density, t, sizes, weight, left, c->order);
    }
    g->live_at_trim = g->live;
}

/* Buys the bin's fill up to `most` times. */
static void buy(struct greedy *g, uint32_t bin, uint32_t most,
                struct partial *d)
{
    const struct fill *f = &g->bin[bin].best;
    uint32_t allowed = partial_allows(d, bin);

    partial_buy(d, bin, most < allowed ? most : allowed, f->part.v, f->part.n);
    for (uint32_t k = 0; k < f->part.n; k++) {
        uint32_t item = f->part.v[k].item;
        bool again = false;

        for (uint32_t q = 0; q < k; q++)
            again |= f->part.v[q].item == item;
        g->live -= !d->left[item] && !again;
    }
    if (g->live < g->live_at_trim - g->live_at_trim / 8)
        g->live_at_trim = g->live;
}

double *greedy_prices(struct greedy *g)
{
    return g->price;
}

uint64_t greedy_run(struct greedy *g, const double *weight, unsigned sizes,
                    bool by_value, struct partial *d)
{
    begin(g, weight, sizes, d->left);
    g->anew.work = 0;
    while (g->live) {
        uint32_t t = pick(g, d), n;
        const struct candidate *c;

        if (t == g->v->n_bins)
            break;
        c = &g->bin[t];
        n = c->best.part.n ? partial_times(d, c->best.part.v, c->best.part.n)
                           : 0;
        if (!n || !c->fresh) {
            refill(g, t, sizes, weight, by_value, d->left);
            continue;
        }
        better_fill(g, t, sizes, by_value, weight, d->left);
        n = partial_times(d, c->best.part.v, c->best.part.n);
        buy(g, t, n, d);
    }
    return g->work + g->anew.work;
}
