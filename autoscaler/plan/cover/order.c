/*
 * order.c - see order.h.
 *
 * The last order of another kind of bin is nearly right for the next, so sorting by
 * insertion is short.
 */
#include "order.h"

#include "column.h"

#include <string.h>

enum { SAMPLES = 256 };
#define ALIKE 1.1 /* so far may sizes be apart, but for the factor */
#define LEAST_KEY (UINT64_C(1) << 32)

void orders_make(const struct view *v, uint64_t *work, struct orders *ret)
{
    struct arena *a = v->arena;

    *ret = (struct orders){
        .v = v,
        .all = ARENA_ARRAY(a, struct order, v->n_bins),
        .of = ARENA_ARRAY(a, uint32_t, v->n_bins),
        .key = ARENA_ARRAY(a, float, (size_t)v->n_items * v->n_bins),
        .noisy = ARENA_ARRAY(a, float, (size_t)MOST_ITEMS * v->n_bins),
        .work = work,
    };
}

static float *key_of(const struct orders *o, uint32_t item)
{
    return o->key + (size_t)item * o->v->n_bins;
}

/* ---- which bins have one */

static void make_keys(struct orders *o, const struct price *p,
                      const double *worth, uint32_t at)
{
    const struct price_bin *b = &p->bin[o->all[at].bin];

    for (uint32_t i = 0; i < o->v->n_items; i++)
        key_of(o, i)[at] = -1;
    for (uint32_t q = 0; q < b->n_runs; q++)
        for (uint32_t k = b->run[q].first; k < b->run[q].first + b->run[q].n;
             k++) {
            double size = price_size(p, b, &b->run[q], k);

            key_of(o, b->item[k])[at] = size > 0
                                            ? (float)(worth[b->item[k]] / size)
                                            : 1e9F;
        }
}

/* Does the order at `at` do for what the one at `last` is for? */
static bool alike(const struct orders *o, uint32_t at, uint32_t last)
{
    const struct view *v = o->v;
    const uint64_t *wide = v->can + (size_t)o->all[at].bin * v->words;
    const uint64_t *can = v->can + (size_t)o->all[last].bin * v->words;
    float low = 1e30F, high = 0;

    for (uint32_t w = 0; w < v->words; w++)
        if (can[w] & ~wide[w])
            return false;
    for (uint32_t i = 0; i < v->n_items; i += 1 + v->n_items / SAMPLES) {
        const float *key = key_of(o, i);

        if (key[at] > 0 && key[last] > 0) {
            float ratio = key[at] / key[last];

            low = ratio < low ? ratio : low;
            high = ratio > high ? ratio : high;
        }
    }
    return high < ALIKE * low;
}

void orders_add(struct orders *o, const struct price *p, const double *worth,
                uint32_t bin)
{
    uint32_t at = 0;

    o->all[o->n].bin = bin;
    make_keys(o, p, worth, o->n);
    while (at < o->n && !alike(o, at, o->n))
        at++;
    o->of[bin] = at;
    o->n += at == o->n;
}

/* ---- what is in hand */

void orders_begin(struct orders *o, const uint32_t *item, uint32_t n,
                  double noise, uint64_t *seed)
{
    o->hand = item;
    o->n_hand = n;
    for (uint32_t k = 0; k < n; k++) {
        const float *key = key_of(o, item[k]);
        float *noisy = o->noisy + (size_t)k * o->n;
        float x = (float)(1 + noise * (2 * column_fraction(seed) - 1));

        for (uint32_t at = 0; at < o->n; at++)
            noisy[at] = key[at] * x;
        o->sorted[k] = k;
    }
    for (uint32_t at = 0; at < o->n; at++)
        o->all[at].sorted = false;
    *o->work += (uint64_t)n * (o->n + 4);
}

/* One number that is higher where the key is, and tells the place; under LEAST_KEY
 * when the item cannot lie there. */
static uint64_t packed(float key, uint32_t place)
{
    uint32_t bits = 0;

    if (key >= 0) {
        memcpy(&bits, &key, sizeof bits);
        bits++;
    }
    return (uint64_t)bits << 32 | place;
}

static void sort(struct orders *o, uint32_t order)
{
    struct order *ret = &o->all[order];
    uint64_t mine[MOST_ITEMS];

    for (uint32_t k = 0; k < o->n_hand; k++) {
        uint32_t place = o->sorted[k], at;
        uint64_t x = packed(o->noisy[(size_t)place * o->n + order], place);

        for (at = k; at && mine[at - 1] < x; at--)
            mine[at] = mine[at - 1];
        mine[at] = x;
    }
    ret->n = 0;
    for (uint32_t k = 0; k < o->n_hand; k++) {
        o->sorted[k] = (uint32_t)mine[k];
        if (mine[k] >= LEAST_KEY)
            ret->item[ret->n++] = o->hand[o->sorted[k]];
    }
    ret->sorted = true;
    *o->work += 8 * (uint64_t)o->n_hand;
}

const struct order *order_of(struct orders *o, uint32_t bin)
{
    uint32_t at = o->of[bin];

    if (!o->all[at].sorted)
        sort(o, at);
    return &o->all[at];
}
