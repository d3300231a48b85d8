/*
 * anew.c - see anew.h.
 *
 * What did not fit once does not fit later, so the second pass looks only at
 * what chance left out in the first, and at what has more of it.
 */
#include "anew.h"

void anew_make(const struct view *v, struct space *space, struct anew *ret)
{
    *ret = (struct anew){.v = v, .space = space, .seed = 20260101};
    ret->put = ARENA_ARRAY(v->arena, uint32_t, v->n_items);
    ret->again = ARENA_ARRAY(v->arena, uint32_t, v->n_items);
}

static uint32_t chance(struct anew *x)
{
    x->seed = x->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(x->seed >> 33);
}

static void put(struct anew *x, uint32_t item, uint32_t most,
                const double *worth, struct fill *f)
{
    uint32_t n = space_put(x->space, item, most);

    if (!n)
        return;
    x->work += 10;
    x->put[item] += n;
    f->value += worth[item] * n;
    fill_add(f, item, n, x->v->arena);
}

/* Of every eight `out` are taken out. */
static void keep_some(struct anew *x, const struct anew_from *from,
                      const struct fill *fill, uint32_t out, struct fill *ret)
{
    for (uint32_t k = 0; k < fill->part.n; k++) {
        struct cover_part part = fill->part.v[k];
        uint32_t stay = 0;

        for (uint32_t c = 0; c < part.count; c++)
            stay += chance(x) % 8 >= out;
        if (!k && !stay && x->v->seeded[from->bin])
            stay = 1;
        if (stay)
            put(x, part.item, stay, from->worth, ret);
        x->work += 2 * part.count;
    }
}

/* One of each that fits, but for gaps. */
static void fill_with_gaps(struct anew *x, const struct anew_from *from,
                           struct fill *ret)
{
    x->n_again = 0;
    for (uint32_t k = 0; k < from->n; k++) {
        uint32_t i = from->order[k];

        if (blocks_skip(from->blocks, x->space, &k)) {
            x->work += 2;
            continue;
        }
        x->work += 2;
        if (from->left[i] <= x->put[i] || !space_fits(x->space, i))
            continue;
        x->again[x->n_again++] = i;
        if (chance(x) % 4 == 0)
            continue;
        put(x, i, 1, from->worth, ret);
        if (space_spent(x->space, from->least))
            break;
    }
}

/* What is left of them, the best first. */
static void fill_gaps(struct anew *x, const struct anew_from *from,
                      struct fill *ret)
{
    for (uint32_t k = 0; k < x->n_again && !space_spent(x->space, from->least);
         k++) {
        uint32_t i = x->again[k];

        if (from->left[i] > x->put[i] && space_fits(x->space, i))
            put(x, i, from->left[i] - x->put[i], from->worth, ret);
    }
    x->work += 2 * (uint64_t)x->n_again;
}

void anew_fill(struct anew *x, const struct anew_from *from,
               const struct fill *fill, struct fill *ret)
{
    uint32_t out = 2 + chance(x) % 4;

    x->work += 32;
    ret->part.n = 0;
    ret->value = 0;
    space_open(x->space, from->bin);
    keep_some(x, from, fill, out, ret);
    fill_with_gaps(x, from, ret);
    fill_gaps(x, from, ret);
    for (uint32_t k = 0; k < ret->part.n; k++)
        x->put[ret->part.v[k].item] = 0;
}
