/*
 * cover_greedy.c - the price-aware greedy.
 *
 * Per bin the items are sorted once by weight over size; a fill is one pass
 * over that order.  Fills are kept until the demand no longer has them, and
 * made again only when they are at the head of the race (what is left only
 * shrinks, so an old value is as good as an upper bound).  A fill is bought
 * min(left / part) times at once: the cost is per shape, not per pod.
 */
#include "cover_greedy.h"

#include <string.h>

struct fill {
    struct cover_part *part;
    uint32_t n, cap;
    double value;
};

struct candidate {
    uint32_t *order[BY_N];      /* item numbers, best density first */
    uint32_t n[BY_N];
    struct fill best;
    double score;
    bool dead, fresh;
};

struct greedy {
    const struct view *v;
    struct price *price;
    struct candidate *bin;
    struct fill trial;
    struct room room;
    double *key;                  /* scratch of the sort */
    uint32_t *tmp;
    double *scarcity;             /* per plain, then per device column */
    int64_t *least;               /* per plain column: smallest need left */
    uint32_t live, live_at_trim;  /* items with something left */
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
    room_make(v, &g->room);
    g->key = ARENA_ARRAY(a, double, v->n_items);
    g->tmp = ARENA_ARRAY(a, uint32_t, v->n_items);
    g->scarcity = ARENA_ARRAY(a, double, v->n_plain + v->n_dev);
    g->least = ARENA_ARRAY(a, int64_t, v->n_plain);
    return g;
}

/* Descending by key, equal keys keep their order. */
static void sort_by_key(const double *key, uint32_t *v, uint32_t n,
                        uint32_t *tmp)
{
    uint32_t half = n / 2, a = 0, b = half;

    if (n <= 12) {
        for (uint32_t i = 1; i < n; i++) {
            uint32_t x = v[i], k = i;

            for (; k && key[v[k - 1]] < key[x]; k--)
                v[k] = v[k - 1];
            v[k] = x;
        }
        return;
    }
    sort_by_key(key, v, half, tmp);
    sort_by_key(key, v + half, n - half, tmp);
    memcpy(tmp, v, half * sizeof *v);
    for (uint32_t k = 0; a < half; k++)
        v[k] = b == n || key[tmp[a]] >= key[v[b]] ? tmp[a++] : v[b++];
}

static double item_size(const struct greedy *g, uint32_t bin, uint32_t item,
                        int kind)
{
    const struct view *v = g->v;
    const int64_t *need = view_need(v, item), *has = view_has(v, bin);
    double size = 0;

    for (uint32_t c = 0; c < v->n_plain + v->n_dev; c++) {
        double share;

        if (c < v->n_plain) {
            if (!need[c])
                continue;
            share = (double)need[c] / (double)has[c];
        } else {
            uint32_t d = c - v->n_plain;
            int64_t amount = view_device_amount(v, item, d);

            if (!amount)
                continue;
            share = (double)amount /
                    ((double)v->devices[(size_t)bin * v->n_dev + d] * 1e4);
        }
        if (kind == BY_LARGEST)
            size = share > size ? share : size;
        else if (kind == BY_SCARCE)
            size += share * g->scarcity[c];
        else
            size += share;
    }
    return size;
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
    for (uint32_t i = 0; i < v->n_items; i++) {
        if (!left[i] || !view_can(v, bin, i))
            continue;
        for (uint32_t c = 0; c < v->n_plain; c++)
            g->scarcity[c] += (double)left[i] * (double)view_need(v, i)[c];
        for (uint32_t d = 0; d < v->n_dev; d++)
            g->scarcity[v->n_plain + d] +=
                (double)left[i] * (double)view_device_amount(v, i, d);
    }
    for (uint32_t c = 0; c < n; c++) {
        double has = c < v->n_plain
                         ? (double)view_has(v, bin)[c]
                         : (double)v->devices[(size_t)bin * v->n_dev + c -
                                              v->n_plain] * 1e4;

        g->scarcity[c] = has > 0 ? g->scarcity[c] / has : 0;
        sum += g->scarcity[c];
    }
    for (uint32_t c = 0; c < n && sum > 0; c++)
        g->scarcity[c] = g->scarcity[c] / sum + 0.02;
}

/* Sizes as the multipliers of the bound have them. */
static void priced_keys(struct greedy *g, uint32_t bin, const double *weight)
{
    struct price *p = g->price;
    const struct price_bin *b = &p->bin[bin];

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
            g->key[b->item[k]] =
                size > 0 ? weight[b->item[k]] / size : 1e300;
        }
    }
}

static void make_order(struct greedy *g, uint32_t bin, int kind,
                       const double *weight, const uint32_t *left)
{
    const struct view *v = g->v;
    struct candidate *cand = &g->bin[bin];
    uint32_t n = 0;

    if (kind == BY_SCARCE)
        measure_scarcity(g, bin, left);
    if (kind == BY_PRICED)
        priced_keys(g, bin, weight);
    for (uint32_t i = 0; i < v->n_items; i++) {
        double size;

        if (!left[i] || !view_can(v, bin, i))
            continue;
        if (kind != BY_PRICED) {
            size = item_size(g, bin, i, kind);
            g->key[i] = size > 0 ? weight[i] / size : 1e300;
        }
        cand->order[kind][n++] = i;
    }
    cand->n[kind] = n;
    sort_by_key(g->key, cand->order[kind], n, g->tmp);
    g->work += 8 * (uint64_t)n;
}

/* Drops items of which nothing is left, and looks for the smallest needs. */
static void trim(struct greedy *g, const uint32_t *left, unsigned sizes)
{
    const struct view *v = g->v;

    for (uint32_t t = 0; t < v->n_bins; t++)
        for (int s = 0; s < BY_N; s++) {
            struct candidate *c = &g->bin[t];
            uint32_t n = 0;

            if (!(sizes >> s & 1))
                continue;
            for (uint32_t k = 0; k < c->n[s]; k++)
                if (left[c->order[s][k]])
                    c->order[s][n++] = c->order[s][k];
            g->work += c->n[s];
            c->n[s] = n;
        }
    for (uint32_t c = 0; c < v->n_plain; c++) {
        g->least[c] = INT64_MAX;
        for (uint32_t i = 0; i < v->n_items; i++)
            if (left[i] && view_need(v, i)[c] < g->least[c])
                g->least[c] = view_need(v, i)[c];
    }
    g->live_at_trim = g->live;
}

static bool room_is_spent(const struct greedy *g)
{
    for (uint32_t c = 0; c < g->v->n_plain; c++)
        if (g->room.plain[c] < g->least[c])
            return true;
    return false;
}

static void fill_one(struct greedy *g, uint32_t item, const uint32_t *left,
                     const double *weight, struct fill *f)
{
    uint32_t n;

    if (!room_plain_fits(&g->room, view_need(g->v, item)))
        return;
    n = room_put(&g->room, item, left[item]);
    g->work += 4;
    if (n) {
        fill_push(g->v->arena, f, item, n);
        f->value += weight[item] * n;
    }
}

static void fill_bin(struct greedy *g, uint32_t bin, int kind,
                     const double *weight, const uint32_t *left,
                     struct fill *f)
{
    const struct view *v = g->v;
    const struct candidate *cand = &g->bin[bin];
    const uint32_t *order = cand->order[kind];
    uint32_t n = cand->n[kind], k;

    f->n = 0;
    f->value = 0;
    room_open(&g->room, bin);
    if (v->seeded[bin]) {
        /* One item that needs the accelerator goes first. */
        for (k = 0; k < n; k++)
            if (left[order[k]] && v->needs_accel[order[k]])
                break;
        if (k == n)
            return;
        fill_push(v->arena, f, order[k], 1);
        f->value += weight[order[k]];
        room_put(&g->room, order[k], 1);
        for (uint32_t q = 0; q < n; q++) {
            uint32_t item = order[q], had = left[item] - (q == k);
            uint32_t put;

            if (!had || !room_plain_fits(&g->room, view_need(v, item)))
                continue;
            put = room_put(&g->room, item, had);
            if (put) {
                fill_push(v->arena, f, item, put);
                f->value += weight[item] * put;
            }
        }
        g->work += n;
        return;
    }
    for (k = 0; k < n; k++) {
        uint32_t before = f->n;

        if (!left[order[k]])
            continue;
        fill_one(g, order[k], left, weight, f);
        if (f->n != before && room_is_spent(g))
            break;
    }
    g->work += k;
}

static void refill(struct greedy *g, uint32_t bin, unsigned sizes,
                   const double *weight, bool by_value, const uint32_t *left)
{
    struct candidate *cand = &g->bin[bin];
    double price = (double)g->v->price[bin];

    cand->best.n = 0;
    cand->best.value = 0;
    for (int s = 0; s < BY_N; s++) {
        struct fill swap;

        if (!(sizes >> s & 1))
            continue;
        fill_bin(g, bin, s, weight, left, &g->trial);
        if (!g->trial.n || (cand->best.n &&
                            g->trial.value <= cand->best.value))
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

static uint32_t pick(struct greedy *g, const struct draft *d)
{
    uint32_t best = g->v->n_bins;

    for (uint32_t t = 0; t < g->v->n_bins; t++) {
        struct candidate *c = &g->bin[t];

        if (c->dead || (best < g->v->n_bins &&
                        c->score <= g->bin[best].score))
            continue;
        if (!draft_room(d, t)) {
            c->dead = true;
            continue;
        }
        best = t;
    }
    g->work += g->v->n_bins;
    return best;
}

uint64_t greedy_run(struct greedy *g, const double *weight, unsigned sizes,
                    bool by_value, struct draft *d)
{
    const struct view *v = g->v;

    g->work = 0;
    g->live = 0;
    for (uint32_t i = 0; i < v->n_items; i++)
        g->live += d->left[i] > 0;
    for (uint32_t t = 0; t < v->n_bins; t++) {
        g->bin[t].dead = false;
        g->bin[t].fresh = false;
        g->bin[t].score = 1e300;
        g->bin[t].best.n = 0;
        for (int s = 0; s < BY_N; s++)
            if (sizes >> s & 1)
                make_order(g, t, s, weight, d->left);
    }
    trim(g, d->left, sizes);
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
        room = draft_room(d, t);
        draft_buy(d, t, n < room ? n : room, c->best.part, c->best.n);
        for (uint32_t k = 0; k < c->best.n; k++) {
            uint32_t item = c->best.part[k].item;
            bool again = false;

            for (uint32_t q = 0; q < k; q++)
                again |= c->best.part[q].item == item;
            g->live -= !d->left[item] && !again;
        }
        if (g->live < g->live_at_trim - g->live_at_trim / 8)
            trim(g, d->left, sizes);
    }
    return g->work;
}
