/*
 * space.h - what is free in one bin, device by device.
 *
 * A part of a device goes to the fullest device that still holds it, else to a
 * whole free one.  So a list of items that came from filling one device after
 * the other can always be put again in its order; every plan keeps that order.
 * Private to plan/cover/.  All buffers are the view's arena's.
 */
#ifndef PLAN_COVER_SPACE_H
#define PLAN_COVER_SPACE_H

#include "view.h"

/* Shared devices of one column in one bin; more are left unopened. */
#define SPACE_PARTS 256

/* What is put in one bin. */
struct fill {
    VEC(struct cover_part) part; /* in the order in which it was put */
    double value;                /* sum of worth */
};

/* Neighbours of one item are one part. */
static inline void fill_add(struct fill *f, uint32_t item, uint32_t count,
                            struct arena *arena)
{
    if (f->part.n && f->part.v[f->part.n - 1].item == item)
        f->part.v[f->part.n - 1].count += count;
    else
        VEC_PUSH(arena, &f->part, ((struct cover_part){item, count}));
}

struct space_devices {
    uint32_t whole; /* untouched devices */
    uint32_t n;     /* shared devices with something free */
    uint32_t part;  /* the largest part that goes in */
    uint16_t *free; /* of each shared one, the fullest first */
};

struct space {
    const struct view *v;
    int64_t *plain;            /* free, n_plain */
    struct space_devices *dev; /* n_dev */
};

void space_make(const struct view *v, struct space *ret);
void space_open(struct space *r, uint32_t bin); /* an empty bin */

/* Puts up to `most` of the item in; how many went. */
uint32_t space_put(struct space *r, uint32_t item, uint32_t most);

/* Is less of a plain column free than any item needs? */
static inline bool space_spent(const struct space *r, const int64_t *least)
{
    for (uint32_t c = 0; c < r->v->n_plain; c++)
        if (r->plain[c] < least[c])
            return true;
    return false;
}

/* Would one go in that needs so much? */
static inline bool space_takes(const struct space *r, const int64_t *need,
                               uint32_t n_plain, const struct view_share *share,
                               uint32_t n_dev)
{
    for (uint32_t d = 0; d < n_dev; d++)
        if (share[d].whole > r->dev[d].whole || share[d].part > r->dev[d].part)
            return false;
    for (uint32_t c = 0; c < n_plain; c++)
        if (need[c] > r->plain[c])
            return false;
    return true;
}

/* Would one of the item go in? */
static inline bool space_fits(const struct space *r, uint32_t item)
{
    const struct view *v = r->v;

    /* Two columns and one kind of device are nearly always what there is. */
    if (v->n_plain == 2 && v->n_dev == 1)
        return space_takes(r, v->need + (size_t)item * 2, 2, v->share + item,
                           1);
    return space_takes(r, view_need(v, item), v->n_plain,
                       v->share + (size_t)item * v->n_dev, v->n_dev);
}

#endif
