/*
 * greedy.c - the price-aware greedy.
 *
 * Per bin the items are sorted once by weight over size; a fill is one pass
 * over that order.  Fills are kept until the demand no longer has them, and
 * made again only when they are at the head of the race (what is left only
 * shrinks, so an old value is as good as an upper bound).  A fill is bought
 * min(left / part) times at once: the cost is per shape, not per pod.
 */
#include "greedy.h"

#include <string.h>

struct fill {
    struct cover_part *part;
    uint32_t n, cap;
    double value;
};

struct candidate {
    uint32_t *order[BY_N]; /* item numbers, best density first */
    uint32_t n[BY_N];
    struct fill best;
    double score;
    uint32_t live; /* the orders hold so many that are wanted */
    bool dead, fresh;
};

struct greedy {
    const struct view *v;
    struct price *price;
    struct candidate *bin;
    struct fill trial;
    struct space space;
    uint64_t *key[BY_N], *tmp;   /* scratch of the sort */
    uint64_t *wanted;            /* bit per item with something left */
    double *amount;              /* item x (plain, then device) column */
    double *per_has, *scarcity;  /* of the bin at hand, per column */
    int64_t *least;              /* per plain column: smallest need left */
    uint32_t live, live_at_trim; /* items with something left */
    uint64_t work;
};

static void fill_push(struct arena *a, struct fill *f, uint32_t item,
                      uint32_t count)
{
    if (f->n && f->part[f->n - 1].item == item) {
        f->part[f->n - 1].count += count;
        return;
    }
    if (f->n == f->cap)
        arena_grow_(a, (void **)&f->part, &f->cap, f->n, sizeof *f->part);
    f->part[f->n++] = (struct cover_part){item, count};
}

static void measure_amounts(struct greedy *g)
{
    const struct view *v = g->v;
    uint32_t n = v->n_plain + v->n_dev;
    double *to;

    to = g->amount = ARENA_ARRAY(v->arena, double, (size_t)v->n_items *n);
    for (uint32_t i = 0; i < v->n_items; i++) {
        for (uint32_t c = 0; c < v->n_plain; c++)
            *to++ = (double)view_need(v, i)[c];
        for (uint32_t d = 0; d < v->n_dev; d++)
            *to++ = (double)view_device_amount(v, i, d);
    }
}

struct greedy *greedy_make(const struct view *v, struct price *price)
{
    struct arena *a = v->arena;
    struct greedy *g = ARENA_NEW(a, struct greedy);

    g->v = v;
    g->price = price;
    g->bin = ARENA_ARRAY(a, struct candidate, v->n_bins);
    for (uint32_t t = 0; t < v->n_bins; t++) {
        uint32_t n = 0;

        for (uint32_t i = 0; i < v->n_items; i++)
            n += view_can(v, t, i);
        for (int s = 0; s < BY_N; s++)
            g->bin[t].order[s] = ARENA_ARRAY(a, uint32_t, n);
    }
    space_make(v, &g->space);
    for (int s = 0; s < BY_N; s++)
        g->key[s] = ARENA_ARRAY(a, uint64_t, v->n_items);
    g->tmp = ARENA_ARRAY(a, uint64_t, v->n_items);
    g->wanted = ARENA_ARRAY(a, uint64_t, v->words);
    g->per_has = ARENA_ARRAY(a, double, v->n_plain + v->n_dev);
    g->scarcity = ARENA_ARRAY(a, double, v->n_plain + v->n_dev);
    measure_amounts(g);
    g->least = ARENA_ARRAY(a, int64_t, v->n_plain);
    return g;
}

/* A key sorts by its upper half, the item is the lower one; equal keys keep
 * the items' order. */
static uint64_t key_of(double density, uint32_t item)
{
    float f = density < 1e37 ? (float)density : 1e37F;
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits); /* of floats >= 0: in their order */
    return (uint64_t)(0x7fffffff - bits) << 32 | item;
}

/* One byte of the keys, from lowest to highest. */
static void sort_byte(const uint64_t *from, uint64_t *to, uint32_t n,
                      unsigned shift)
{
    uint32_t at[256] = {0}, sum = 0;

    for (uint32_t k = 0; k < n; k++)
        at[from[k] >> shift & 255]++;
    for (unsigned b = 0; b < 256; b++) {
        uint32_t here = at[b];

        at[b] = sum;
        sum += here;
    }
    for (uint32_t k = 0; k < n; k++)
        to[at[from[k] >> shift & 255]++] = from[k];
}

static void sort_few(uint64_t *v, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        uint64_t x = v[i];
        uint32_t k = i;

        for (; k && v[k - 1] > x; k--)
            v[k] = v[k - 1];
        v[k] = x;
    }
}

/* Many keys are told apart by the 16 (of thousands: 24) highest bits in which
 * they differ at all: a ten-thousandth of a density is no reason. */
static void sort_keys(uint64_t *v, uint32_t n, uint64_t *tmp)
{
    unsigned bits = n > 2048 ? 24 : 16, shift = 32;
    uint64_t least = UINT64_MAX, most = 0;

    if (n <= 40) {
        sort_few(v, n);
        return;
    }
    for (uint32_t k = 0; k < n; k++) {
        least = v[k] < least ? v[k] : least;
        most = v[k] > most ? v[k] : most;
    }
    least = least >> 32 << 32;
    while ((most - least) >> shift >> bits)
        shift++;
    for (uint32_t k = 0; k < n; k++)
        v[k] -= least;
    for (unsigned done = 0; done < bits; done += 16) {
        sort_byte(v, tmp, n, shift + done);
        if (done + 8 == bits)
            memcpy(v, tmp, n * sizeof *v);
        else
            sort_byte(tmp, v, n, shift + done + 8);
    }
}

/* How much of the bin's columns all that is left (and fits it) would take,
 * relative to each other. */
static void measure_scarcity(struct greedy *g, uint32_t bin,
                             const uint32_t *left)
{
    const struct view *v = g->v;
    uint32_t n = v->n_plain + v->n_dev;
    double sum = 0;

    for (uint32_t c = 0; c < n; c++)
        g->scarcity[c] = 0;
    for (uint32_t w = 0; w < v->words; w++) {
        uint64_t set = g->wanted[w] & v->can[(size_t)bin * v->words + w];

        for (; set; set &= set - 1) {
            uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(set);
            const double *amount = g->amount + (size_t)i * n;

            for (uint32_t c = 0; c < n; c++)
                g->scarcity[c] += (double)left[i] * amount[c];
        }
    }
    for (uint32_t c = 0; c < n; c++) {
        g->scarcity[c] *= g->per_has[c];
        sum += g->scarcity[c];
    }
    for (uint32_t c = 0; c < n && sum > 0; c++)
        g->scarcity[c] = g->scarcity[c] / sum + 0.02;
}

static void measure_bin(struct greedy *g, uint32_t bin)
{
    const struct view *v = g->v;

    for (uint32_t c = 0; c < v->n_plain + v->n_dev; c++) {
        double has =
            c < v->n_plain
                ? (double)view_has(v, bin)[c]
                : (double)v->devices[(size_t)bin * v->n_dev + c - v->n_plain] *
                      1e4;

        g->per_has[c] = has > 0 ? 1 / has : 0;
    }
}

/* Sizes as the multipliers of the bound have them.  Returns how many. */
static uint32_t priced_keys(struct greedy *g, uint32_t bin,
                            const double *weight, const uint32_t *left)
{
    struct price *p = g->price;
    const struct price_bin *b = &p->bin[bin];
    uint32_t n = 0;

    price_evaluate(p, bin, weight, NULL);
    for (uint32_t r = 0; r < b->n_runs; r++) {
        const struct price_run *run = &b->run[r];
        double device = 0;

        if (run->dev != UINT32_MAX)
            device = p->cell_value[run->dev] *
                     (run->whole ? (double)run->whole * p->cells[run->dev]
                                 : run->cells);
        for (uint32_t k = run->first; k < run->first + run->n; k++) {
            double size = device;

            for (uint32_t s = 0; s < p->scalars; s++)
                size += b->lambda[s] * b->share[(size_t)k * p->scalars + s];
            if (left[b->item[k]])
                g->key[BY_PRICED][n++] = key_of(
                    size > 0 ? weight[b->item[k]] / size : 1e300, b->item[k]);
        }
    }
    return n;
}

/* Item numbers by weight over size, the best first, for each of the sizes. */
static void make_orders(struct greedy *g, uint32_t bin, unsigned sizes,
                        const double *weight, const uint32_t *left)
{
    const struct view *v = g->v;
    struct candidate *cand = &g->bin[bin];
    uint32_t columns = v->n_plain + v->n_dev, n = 0;

    measure_bin(g, bin);
    if (sizes >> BY_SCARCE & 1)
        measure_scarcity(g, bin, left);
    for (uint32_t w = 0; w < v->words; w++) {
        uint64_t set = g->wanted[w] & v->can[(size_t)bin * v->words + w];

        for (; set; set &= set - 1) {
            uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(set);
            const double *amount = g->amount + (size_t)i * columns;
            double size[BY_N] = {0};

            for (uint32_t c = 0; c < columns; c++) {
                double share = amount[c] * g->per_has[c];

                size[BY_SUM] += share;
                size[BY_SCARCE] += share * g->scarcity[c];
                if (share > size[BY_LARGEST])
                    size[BY_LARGEST] = share;
            }
            for (int s = 0; s < BY_PRICED; s++)
                if (sizes >> s & 1)
                    g->key[s][n] =
                        key_of(size[s] > 0 ? weight[i] / size[s] : 1e300, i);
            n++;
        }
    }
    for (int s = 0; s < BY_N; s++) {
        if (!(sizes >> s & 1))
            continue;
        cand->n[s] = s == BY_PRICED ? priced_keys(g, bin, weight, left) : n;
        sort_keys(g->key[s], cand->n[s], g->tmp);
        for (uint32_t k = 0; k < cand->n[s]; k++)
            cand->order[s][k] = (uint32_t)g->key[s][k];
        g->work += 8 * (uint64_t)cand->n[s];
    }
}

/* The smallest needs left; bins are trimmed when they are looked at. */
static void measure_least(struct greedy *g, const uint32_t *left)
{
    const struct view *v = g->v;

    for (uint32_t c = 0; c < v->n_plain; c++)
        g->least[c] = INT64_MAX;
    for (uint32_t i = 0; i < v->n_items; i++) {
        const int64_t *need = view_need(v, i);

        for (uint32_t c = 0; left[i] && c < v->n_plain; c++)
            if (need[c] < g->least[c])
                g->least[c] = need[c];
    }
    g->live_at_trim = g->live;
    g->work += v->n_items;
}

/* Drops items of which nothing is left from a bin's orders. */
static void trim(struct greedy *g, struct candidate *cand, unsigned sizes,
                 const uint32_t *left)
{
    for (int s = 0; s < BY_N; s++) {
        uint32_t *order = cand->order[s], n = 0;

        if (!(sizes >> s & 1))
            continue;
        for (uint32_t k = 0; k < cand->n[s]; k++) {
            order[n] = order[k];
            n += left[order[k]] > 0;
        }
        g->work += cand->n[s];
        cand->n[s] = n;
    }
    cand->live = g->live_at_trim;
}

static bool space_is_spent(const struct greedy *g)
{
    for (uint32_t c = 0; c < g->v->n_plain; c++)
        if (g->space.plain[c] < g->least[c])
            return true;
    return false;
}

static void fill_put(struct greedy *g, uint32_t item, uint32_t most,
                     const double *weight, struct fill *f)
{
    uint32_t n = space_put(&g->space, item, most);

    g->work += 4;
    fill_push(g->v->arena, f, item, n);
    f->value += weight[item] * n;
}

static void fill_bin(struct greedy *g, uint32_t bin, int kind,
                     const double *weight, const uint32_t *left, struct fill *f)
{
    const struct view *v = g->v;
    const struct candidate *cand = &g->bin[bin];
    const uint32_t *order = cand->order[kind];
    uint32_t n = cand->n[kind], seed = n, k;

    f->n = 0;
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

        if (!most || !space_fits(&g->space, item))
            continue;
        fill_put(g, item, most, weight, f);
        if (space_is_spent(g))
            break;
    }
    g->work += k;
}

static void refill(struct greedy *g, uint32_t bin, unsigned sizes,
                   const double *weight, bool by_value, const uint32_t *left)
{
    struct candidate *cand = &g->bin[bin];
    double price = (double)g->v->price[bin];

    if (cand->live != g->live_at_trim)
        trim(g, cand, sizes, left);
    cand->best.n = 0;
    cand->best.value = 0;
    for (int s = 0; s < BY_N; s++) {
        struct fill swap;

        if (!(sizes >> s & 1))
            continue;
        fill_bin(g, bin, s, weight, left, &g->trial);
        if (!g->trial.n || (cand->best.n && g->trial.value <= cand->best.value))
            continue;
        swap = cand->best;
        cand->best = g->trial;
        g->trial = swap;
    }
    cand->fresh = true;
    cand->dead = !cand->best.n;
    /* A free bin is taken before any that costs. */
    cand->score = by_value ? cand->best.value
                           : cand->best.value / (price > 0 ? price : 1e-9);
}

/* How often the demand has the fill. */
static uint32_t times(const struct fill *f, uint32_t *left)
{
    uint32_t best = UINT32_MAX;

    for (uint32_t k = 0; k < f->n; k++) {
        uint32_t need = 0, item = f->part[k].item, n;

        for (uint32_t q = 0; q < f->n; q++)
            if (f->part[q].item == item)
                need += f->part[q].count;
        n = left[item] / need;
        best = n < best ? n : best;
    }
    return best;
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

uint64_t greedy_run(struct greedy *g, const double *weight, unsigned sizes,
                    bool by_value, struct partial *d)
{
    const struct view *v = g->v;

    g->work = 0;
    g->live = 0;
    memset(g->wanted, 0, v->words * sizeof *g->wanted);
    for (uint32_t i = 0; i < v->n_items; i++) {
        g->live += d->left[i] > 0;
        g->wanted[i / 64] |= (uint64_t)(d->left[i] > 0) << (i % 64);
    }
    for (uint32_t t = 0; t < v->n_bins; t++) {
        g->bin[t].dead = false;
        g->bin[t].fresh = false;
        g->bin[t].score = 1e300;
        g->bin[t].best.n = 0;
        g->bin[t].live = g->live;
        make_orders(g, t, sizes, weight, d->left);
    }
    measure_least(g, d->left);
    while (g->live) {
        uint32_t t = pick(g, d), n, room;
        struct candidate *c;

        if (t == v->n_bins)
            break;
        c = &g->bin[t];
        n = c->best.n ? times(&c->best, d->left) : 0;
        if (!n || !c->fresh) {
            refill(g, t, sizes, weight, by_value, d->left);
            continue;
        }
        room = partial_allows(d, t);
        partial_buy(d, t, n < room ? n : room, c->best.part, c->best.n);
        for (uint32_t k = 0; k < c->best.n; k++) {
            uint32_t item = c->best.part[k].item;
            bool again = false;

            for (uint32_t q = 0; q < k; q++)
                again |= c->best.part[q].item == item;
            g->live -= !d->left[item] && !again;
        }
        if (g->live < g->live_at_trim - g->live_at_trim / 8)
            measure_least(g, d->left);
    }
    return g->work;
}
