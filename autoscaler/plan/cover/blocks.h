/*
 * blocks.h - an order of items in blocks, each with the least that any of its
 * items needs: where that does not go in, nothing of the block does.
 *
 * Like items are neighbours in an order by worth over size, so where shapes are
 * many a fill passes over most of them by blocks, and by blocks of blocks.
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_BLOCKS_H
#define PLAN_COVER_BLOCKS_H

#include "space.h"

enum { BLOCK = 16, BLOCK_LEVELS = 2 };

/* Of every 16 items, then of every 256. */
struct blocks {
    struct block_level {
        int64_t *need;            /* block x plain column */
        struct view_share *share; /* block x device column */
    } level[BLOCK_LEVELS];
};

/* Room for the blocks of n items. */
void blocks_make(const struct view *v, uint32_t n, struct blocks *ret);
/* Of the items of an order; ret_least (per plain column): what none needs less
 * than. */
void blocks_measure(const struct view *v, const uint32_t *item, uint32_t n,
                    struct blocks *b, int64_t *ret_least);

static inline bool block_goes_in(const struct block_level *level,
                                 const struct space *r, uint32_t at)
{
    const struct view *v = r->v;

    if (v->n_plain == 2 && v->n_dev == 1)
        return space_takes(r, level->need + (size_t)at * 2, 2,
                           level->share + at, 1);
    return space_takes(r, level->need + (size_t)at * v->n_plain, v->n_plain,
                       level->share + (size_t)at * v->n_dev, v->n_dev);
}

/* At place k of the order: does a block begin there of which nothing would go
 * in?  Then k is its last place. */
static inline bool blocks_skip(const struct blocks *b, const struct space *r,
                               uint32_t *k)
{
    const uint32_t many = BLOCK * BLOCK;

    if (*k % BLOCK)
        return false;
    if (*k % many == 0 && !block_goes_in(&b->level[1], r, *k / many)) {
        *k += many - 1;
        return true;
    }
    if (block_goes_in(&b->level[0], r, *k / BLOCK))
        return false;
    *k += BLOCK - 1;
    return true;
}

#endif
