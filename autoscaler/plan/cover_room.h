/*
 * cover_room.h - what is free in one bin, device by device.
 *
 * A part of a device goes to the fullest device that still holds it, else to a
 * whole free one.  So a list of items that came from filling one device after
 * the other can always be put again in its order; every plan keeps that order.
 * Private to cover_*.c.  All buffers are the view's arena's.
 */
#ifndef PLAN_COVER_ROOM_H
#define PLAN_COVER_ROOM_H

#include "cover_view.h"

/* Shared devices of one column in one bin; more are left unopened. */
#define ROOM_PARTS 256

struct room_devices {
    uint32_t whole;               /* untouched devices */
    uint32_t n;                   /* shared devices with something free */
    uint16_t *free;               /* of each shared one, the fullest first */
};

struct room {
    const struct view *v;
    int64_t *plain;               /* free, n_plain */
    struct room_devices *dev;     /* n_dev */
};

void room_make(const struct view *v, struct room *ret);
void room_open(struct room *r, uint32_t bin);      /* an empty bin */
void room_copy(struct room *to, const struct room *from);

/* Puts up to `most` of the item in; how many went. */
uint32_t room_put(struct room *r, uint32_t item, uint32_t most);

static inline bool room_plain_fits(const struct room *r, const int64_t *need)
{
    for (uint32_t c = 0; c < r->v->n_plain; c++)
        if (need[c] > r->plain[c])
            return false;
    return true;
}

/* Would one of the item go in? */
static inline bool room_fits(const struct room *r, uint32_t item)
{
    const struct view *v = r->v;
    const struct view_share *s = v->share + (size_t)item * v->n_dev;

    for (uint32_t d = 0; d < v->n_dev; d++) {
        const struct room_devices *dev = &r->dev[d];

        if (s[d].whole > dev->whole)
            return false;
        if (s[d].part && (!dev->n || dev->free[dev->n - 1] < s[d].part) &&
            (!dev->whole || dev->n == ROOM_PARTS))
            return false;
    }
    return room_plain_fits(r, view_need(v, item));
}

#endif
