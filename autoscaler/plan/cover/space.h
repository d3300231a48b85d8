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

static inline bool space_plain_fits(const struct space *r, const int64_t *need)
{
    for (uint32_t c = 0; c < r->v->n_plain; c++)
        if (need[c] > r->plain[c])
            return false;
    return true;
}

/* Would one of the item go in? */
static inline bool space_fits(const struct space *r, uint32_t item)
{
    const struct view *v = r->v;
    const struct view_share *s = v->share + (size_t)item * v->n_dev;

    for (uint32_t d = 0; d < v->n_dev; d++) {
        const struct space_devices *dev = &r->dev[d];

        if (s[d].whole > dev->whole)
            return false;
        if (s[d].part && (!dev->n || dev->free[dev->n - 1] < s[d].part) &&
            (!dev->whole || dev->n == SPACE_PARTS))
            return false;
    }
    return space_plain_fits(r, view_need(v, item));
}

#endif
