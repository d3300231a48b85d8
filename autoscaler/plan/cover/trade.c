/*
 * trade.c - see trade.h.
 *
 * A fill by worth over size leaves some of the bin free.  One step is the trade that
 * gains the most; a few are enough.
 */
#include "trade.h"

#include <string.h>

/* With more parts a fill is good as it is, and pairs to look at are many. */
enum { TRADES = 3, MOST_PARTS = 16 };

/* One of part `part` goes out, one of `item` comes in. */
struct swap {
    uint32_t part, item;
    double gain;
};

void trade_make(const struct view *v, struct trade *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->v = v;
    space_make(v, &ret->space);
    ret->free = ARENA_ARRAY(v->arena, int64_t, v->n_plain);
    ret->inside = ARENA_ARRAY(v->arena, uint32_t, v->n_items);
}

static bool same_devices(const struct view *v, uint32_t a, uint32_t b)
{
    for (uint32_t d = 0; d < v->n_dev; d++)
        if (view_device_amount(v, a, d) != view_device_amount(v, b, d))
            return false;
    return true;
}

/* By the plain columns alone. */
static bool has_room(const struct trade *x, uint32_t in, uint32_t out)
{
    const int64_t *more = view_need(x->v, in), *less = view_need(x->v, out);

    for (uint32_t c = 0; c < x->v->n_plain; c++)
        if (more[c] > x->free[c] + less[c])
            return false;
    return true;
}

/* trial = the fill after the swap. */
static void swap_try(struct trade *x, const struct fill *fill,
                     const struct swap *s)
{
    x->trial.part.n = 0;
    for (uint32_t q = 0; q < fill->part.n; q++) {
        struct cover_part part = fill->part.v[q];

        if (q == s->part)
            part.count--;
        if (part.count)
            VEC_PUSH(x->v->arena, &x->trial.part, part);
        if (q == s->part)
            fill_add(&x->trial, s->item, 1, x->v->arena);
    }
}

/* Does the bin hold it?  Then it is in x->space. */
static bool put_all(struct trade *x, uint32_t bin, const struct fill *fill)
{
    space_open(&x->space, bin);
    for (uint32_t q = 0; q < fill->part.n; q++) {
        struct cover_part part = fill->part.v[q];

        x->work += 12;
        if (space_put(&x->space, part.item, part.count) != part.count)
            return false;
    }
    return true;
}

/* With the same need of devices the order of parts holds as it is. */
static bool fits(struct trade *x, uint32_t bin, const struct fill *fill,
                 const struct swap *s)
{
    uint32_t out = fill->part.v[s->part].item;

    if (!has_room(x, s->item, out))
        return false;
    if (same_devices(x->v, s->item, out))
        return true;
    swap_try(x, fill, s);
    return put_all(x, bin, &x->trial);
}

/* The first part stays where it is what a bin with accelerators must hold. */
static bool best_swap(struct trade *x, const struct trade_from *from,
                      const struct fill *fill, struct swap *ret)
{
    ret->gain = 0;
    for (uint32_t k = 0; k < from->n; k++) {
        uint32_t in = from->order[k];

        if (from->left[in] <= x->inside[in])
            continue;
        for (uint32_t q = x->v->seeded[from->bin]; q < fill->part.n; q++) {
            double gain = from->worth[in] - from->worth[fill->part.v[q].item];
            struct swap s = {q, in, gain};

            if (gain > ret->gain && fits(x, from->bin, fill, &s))
                *ret = s;
        }
        x->work += 4 * (uint64_t)fill->part.n;
    }
    x->work += 3 * (uint64_t)from->n;
    return ret->gain > 0;
}

/* What else goes in, into a fill that is in x->space. */
static void top_up(struct trade *x, const struct trade_from *from,
                   struct fill *fill)
{
    for (uint32_t k = 0; k < from->n; k++) {
        uint32_t i = from->order[k], put;

        if (from->left[i] <= x->inside[i] || !space_fits(&x->space, i))
            continue;
        put = space_put(&x->space, i, from->left[i] - x->inside[i]);
        fill_add(fill, i, put, x->v->arena);
        fill->value += from->worth[i] * put;
        x->inside[i] += put;
    }
    x->work += 3 * (uint64_t)from->n;
}

static void swap_do(struct trade *x, const struct trade_from *from,
                    struct fill *fill, const struct swap *s)
{
    x->inside[fill->part.v[s->part].item]--;
    x->inside[s->item]++;
    swap_try(x, fill, s);
    fill->part.n = 0;
    for (uint32_t q = 0; q < x->trial.part.n; q++)
        VEC_PUSH(x->v->arena, &fill->part, x->trial.part.v[q]);
    fill->value += s->gain;
    put_all(x, from->bin, fill);
    top_up(x, from, fill);
}

void trade_run(struct trade *x, const struct trade_from *from,
               struct fill *fill)
{
    struct swap s;

    if (fill->part.n > MOST_PARTS)
        return;
    for (uint32_t q = 0; q < fill->part.n; q++)
        x->inside[fill->part.v[q].item] += fill->part.v[q].count;
    put_all(x, from->bin, fill);
    for (int k = 0; k < TRADES && fill->part.n <= MOST_PARTS; k++) {
        memcpy(x->free, x->space.plain, x->v->n_plain * sizeof *x->free);
        if (!best_swap(x, from, fill, &s))
            break;
        swap_do(x, from, fill, &s);
    }
    for (uint32_t q = 0; q < fill->part.n; q++)
        x->inside[fill->part.v[q].item] = 0;
}
