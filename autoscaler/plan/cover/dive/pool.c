/*
 * pool.c - see pool.h.
 */
#include "pool.h"

#include <string.h>

/* So many fills at most, and places for their hashes. */
enum { FILLS = 1 << 14, SEEN = 1 << 15 };

struct pool_fill {
    uint32_t bin, first, n; /* into part */
    bool fed;               /* it is a column */
};

struct pool_rate {
    double rate; /* worth for price */
    uint32_t fill;
};

void pool_make(const struct view *v, struct pool *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->v = v;
    ret->seen = ARENA_ARRAY(v->arena, uint64_t, SEEN);
    ret->asked = ARENA_ARRAY(v->arena, double, v->n_bins);
    ret->rate = ARENA_ARRAY(v->arena, struct pool_rate, FILLS);
}

static uint64_t mixed(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* The same for any order of the parts; never 0. */
static uint64_t hash(uint32_t bin, const struct cover_part *part, uint32_t n)
{
    uint64_t h = mixed(bin + 1);

    for (uint32_t k = 0; k < n; k++)
        h += mixed((uint64_t)part[k].item + 1000003) * part[k].count;
    return mixed(h) | 1;
}

static double worth_of(const struct cover_part *part, uint32_t n,
                       const double *worth)
{
    double sum = 0;

    for (uint32_t k = 0; k < n; k++)
        sum += worth[part[k].item] * part[k].count;
    return sum;
}

/* Is it new?  Then it is known from now on. */
static bool note(struct pool *x, uint64_t hash)
{
    uint32_t at = (uint32_t)(hash >> 40) % SEEN;

    while (x->seen[at] && x->seen[at] != hash)
        at = (at + 1) % SEEN;
    if (x->seen[at])
        return false;
    x->seen[at] = hash;
    return true;
}

static void keep(struct pool *x, uint32_t bin, const struct cover_part *part,
                 uint32_t n)
{
    struct pool_fill f = {bin, x->part.n, n, false};

    if (!note(x, hash(bin, part, n)))
        return;
    for (uint32_t k = 0; k < n; k++)
        VEC_PUSH(x->v->arena, &x->part, part[k]);
    VEC_PUSH(x->v->arena, &x->fill, f);
    x->work += 4 * (uint64_t)n;
}

void pool_keep(struct pool *x, const struct partial *d, uint32_t from,
               const double *weight, const double *price)
{
    for (uint32_t k = from; k < d->pattern.n; k++) {
        const struct partial_pattern *p = &d->pattern.v[k];
        const struct cover_part *part = d->part.v + p->first;

        x->work += p->n + 1;
        if (!p->count || worth_of(part, p->n, weight) < price[p->bin])
            continue;
        if (x->fill.n == FILLS) {
            x->fill.n = x->part.n = 0;
            memset(x->seen, 0, SEEN * sizeof *x->seen);
        }
        keep(x, p->bin, part, p->n);
    }
}

/* The order of a heap: is a a worse choice than b? */
static bool worse(struct pool_rate a, struct pool_rate b)
{
    return a.rate < b.rate || (a.rate == b.rate && a.fill > b.fill);
}

/* heap[0] is the worst of n. */
static void sink(struct pool_rate *heap, uint32_t n)
{
    uint32_t at = 0;

    for (;;) {
        uint32_t low = at, left = 2 * at + 1;
        struct pool_rate swap = heap[at];

        for (uint32_t k = left; k < n && k <= left + 1; k++)
            if (worse(heap[k], heap[low]))
                low = k;
        if (low == at)
            return;
        heap[at] = heap[low];
        heap[low] = swap;
        at = low;
    }
}

static void rise(struct pool_rate *heap, uint32_t at)
{
    while (at > 0 && worse(heap[at], heap[(at - 1) / 2])) {
        struct pool_rate swap = heap[at];

        heap[at] = heap[(at - 1) / 2];
        heap[(at - 1) / 2] = swap;
        at = (at - 1) / 2;
    }
}

/* Into rate[]: the best `most`; how many. */
static uint32_t choose(struct pool *x, const double *worth, double least,
                       uint32_t most)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < x->fill.n; k++) {
        const struct pool_fill *f = &x->fill.v[k];
        const struct cover_part *part = x->part.v + f->first;
        struct pool_rate r = {0, k};

        if (f->fed)
            continue;
        r.rate = worth_of(part, f->n, worth) / x->asked[f->bin];
        x->work += f->n + 2;
        if (r.rate <= least)
            continue;
        if (n < most) {
            x->rate[n] = r;
            rise(x->rate, n++);
        } else if (n > 0 && worse(x->rate[0], r)) {
            x->rate[0] = r;
            sink(x->rate, n);
        }
    }
    return n;
}

uint32_t pool_feed(struct pool *x, struct master *m, const double *worth,
                   double least, uint32_t most)
{
    uint32_t n;

    for (uint32_t t = 0; t < x->v->n_bins; t++) {
        double price = (double)x->v->price[t] - master_number_worth(m, t);

        x->asked[t] = price > 1e-3 ? price : 1e-3;
    }
    n = choose(x, worth, least, most < FILLS ? most : FILLS);
    for (uint32_t k = 0; k < n; k++) {
        struct pool_fill *f = &x->fill.v[x->rate[k].fill];

        f->fed = true;
        master_add(m, f->bin, x->part.v + f->first, f->n);
    }
    x->work += 8 * (uint64_t)n;
    return n;
}
