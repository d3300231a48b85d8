/*
 * blocks.c - see blocks.h.
 */
#include "blocks.h"

#include <string.h>

void blocks_make(const struct view *v, uint32_t n, struct blocks *ret)
{
    for (int l = 0; l < BLOCK_LEVELS; l++) {
        n = (n + BLOCK - 1) / BLOCK;
        ret->level[l].need = ARENA_ARRAY(v->arena, int64_t,
                                         (size_t)n * v->n_plain);
        ret->level[l].share = ARENA_ARRAY(v->arena, struct view_share,
                                          (size_t)n * v->n_dev);
    }
}

/* Something that needs so much is among them too. */
static void add(const struct view *v, const int64_t *need,
                const struct view_share *share, int64_t *least,
                struct view_share *parts)
{
    for (uint32_t c = 0; c < v->n_plain; c++)
        least[c] = need[c] < least[c] ? need[c] : least[c];
    for (uint32_t d = 0; d < v->n_dev; d++) {
        if (share[d].whole < parts[d].whole)
            parts[d].whole = share[d].whole;
        if (share[d].part < parts[d].part)
            parts[d].part = share[d].part;
    }
}

static void measure_none(const struct view *v, int64_t *least,
                         struct view_share *parts)
{
    for (uint32_t c = 0; c < v->n_plain; c++)
        least[c] = INT64_MAX;
    memset(parts, 0xff, v->n_dev * sizeof *parts);
}

/* What n items need at least.  The columns are mostly two
 * and one kind of device, and this is a good part of a first plan's time. */
static void measure_block(const struct view *v, const uint32_t *item,
                          uint32_t n, int64_t *need, struct view_share *share)
{
    const int64_t *mine = v->need;
    const struct view_share *parts = v->share;
    int64_t x = INT64_MAX, y = INT64_MAX;
    struct view_share least = {UINT32_MAX, UINT32_MAX};

    if (v->n_plain != 2 || v->n_dev != 1) {
        measure_none(v, need, share);
        for (uint32_t k = 0; k < n; k++)
            add(v, view_need(v, item[k]), v->share + (size_t)item[k] * v->n_dev,
                need, share);
        return;
    }
    for (uint32_t k = 0; k < n; k++) {
        size_t i = item[k];
        struct view_share part = parts[i];

        x = mine[2 * i] < x ? mine[2 * i] : x;
        y = mine[2 * i + 1] < y ? mine[2 * i + 1] : y;
        least.whole = part.whole < least.whole ? part.whole : least.whole;
        least.part = part.part < least.part ? part.part : least.part;
    }
    need[0] = x;
    need[1] = y;
    *share = least;
}

/* What any of n blocks needs at least. */
static void measure_blocks(const struct view *v, const struct block_level *low,
                           uint32_t from, uint32_t n, int64_t *need,
                           struct view_share *share)
{
    measure_none(v, need, share);
    for (uint32_t k = from; k < from + n; k++)
        add(v, low->need + (size_t)k * v->n_plain,
            low->share + (size_t)k * v->n_dev, need, share);
}

void blocks_measure(const struct view *v, const uint32_t *item, uint32_t n,
                    struct blocks *b, int64_t *ret_least)
{
    const struct block_level *low = &b->level[0], *high = &b->level[1];
    uint32_t blocks = (n + BLOCK - 1) / BLOCK;

    for (uint32_t k = 0; k < blocks; k++) {
        uint32_t from = k * BLOCK;

        measure_block(v, item + from, n - from < BLOCK ? n - from : BLOCK,
                      low->need + (size_t)k * v->n_plain,
                      low->share + (size_t)k * v->n_dev);
    }
    for (uint32_t c = 0; c < v->n_plain; c++)
        ret_least[c] = INT64_MAX;
    for (uint32_t k = 0; k * BLOCK < blocks; k++) {
        uint32_t from = k * BLOCK;
        int64_t *need = high->need + (size_t)k * v->n_plain;

        measure_blocks(v, low, from,
                       blocks - from < BLOCK ? blocks - from : BLOCK, need,
                       high->share + (size_t)k * v->n_dev);
        for (uint32_t c = 0; c < v->n_plain; c++)
            ret_least[c] = need[c] < ret_least[c] ? need[c] : ret_least[c];
    }
}
