/*
 * cover_room.c - putting items into one bin, exactly as its devices are.
 *
 * The only judge of "does it fit" that the planner's covers have: integers
 * only, and every pattern that is ever offered has been put by room_put().
 */
#include "cover_room.h"

#include <string.h>

void room_make(const struct view *v, struct room *ret)
{
    ret->v = v;
    ret->plain = ARENA_ARRAY(v->arena, int64_t, v->n_plain);
    ret->dev = ARENA_ARRAY(v->arena, struct room_devices, v->n_dev);
    for (uint32_t d = 0; d < v->n_dev; d++)
        ret->dev[d].free = ARENA_ARRAY(v->arena, uint16_t, ROOM_PARTS);
}

void room_open(struct room *r, uint32_t bin)
{
    const struct view *v = r->v;

    for (uint32_t c = 0; c < v->n_plain; c++)
        r->plain[c] = view_has(v, bin)[c];
    for (uint32_t d = 0; d < v->n_dev; d++) {
        r->dev[d].whole = v->devices[(size_t)bin * v->n_dev + d];
        r->dev[d].n = 0;
    }
}

void room_copy(struct room *to, const struct room *from)
{
    const struct view *v = from->v;

    memcpy(to->plain, from->plain, v->n_plain * sizeof *to->plain);
    for (uint32_t d = 0; d < v->n_dev; d++) {
        to->dev[d].whole = from->dev[d].whole;
        to->dev[d].n = from->dev[d].n;
        memcpy(to->dev[d].free, from->dev[d].free,
               from->dev[d].n * sizeof *to->dev[d].free);
    }
}

/* The fullest shared device that still holds the part, or n. */
static uint32_t tightest(const struct room_devices *dev, uint32_t part)
{
    uint32_t best = dev->n, best_free = UINT32_MAX;

    for (uint32_t k = 0; k < dev->n; k++)
        if (dev->free[k] >= part && dev->free[k] < best_free) {
            best = k;
            best_free = dev->free[k];
        }
    return best;
}

static bool device_fits(const struct room_devices *dev,
                        const struct view_share *s)
{
    if (s->whole > dev->whole)
        return false;
    if (!s->part || tightest(dev, s->part) < dev->n)
        return true;
    return dev->whole && dev->n < ROOM_PARTS;
}

static void device_take(struct room_devices *dev, const struct view_share *s)
{
    uint32_t k;

    dev->whole -= s->whole;
    if (!s->part)
        return;
    k = tightest(dev, s->part);
    if (k == dev->n) {
        dev->whole--;
        dev->free[dev->n++] = (uint16_t)(AMOUNT_ONE - (int64_t)s->part);
        return;
    }
    dev->free[k] = (uint16_t)(dev->free[k] - s->part);
    if (!dev->free[k])
        dev->free[k] = dev->free[--dev->n];
}

/* How many fit as far as plain columns and whole devices go. */
static uint32_t upper(const struct room *r, uint32_t item, uint32_t most)
{
    const struct view *v = r->v;
    const int64_t *need = view_need(v, item);
    const struct view_share *s = v->share + (size_t)item * v->n_dev;

    for (uint32_t c = 0; c < v->n_plain; c++) {
        if (!need[c])
            continue;
        if (need[c] > r->plain[c])
            return 0;
        if ((int64_t)most > r->plain[c] / need[c])
            most = (uint32_t)(r->plain[c] / need[c]);
    }
    for (uint32_t d = 0; d < v->n_dev; d++)
        if (s[d].whole && most > r->dev[d].whole / s[d].whole)
            most = r->dev[d].whole / s[d].whole;
    return most;
}

uint32_t room_put(struct room *r, uint32_t item, uint32_t most)
{
    const struct view *v = r->v;
    const int64_t *need = view_need(v, item);
    const struct view_share *s = v->share + (size_t)item * v->n_dev;
    uint32_t done = 0;
    bool parts = false;

    most = upper(r, item, most);
    for (uint32_t d = 0; d < v->n_dev; d++)
        parts |= s[d].part > 0;
    if (!parts) {
        /* Only sums are concerned: all at once. */
        for (uint32_t d = 0; d < v->n_dev; d++)
            r->dev[d].whole -= most * s[d].whole;
        done = most;
    }
    for (; done < most; done++) {
        uint32_t d;

        for (d = 0; d < v->n_dev && device_fits(&r->dev[d], &s[d]); d++)
            ;
        if (d < v->n_dev)
            break;
        for (d = 0; d < v->n_dev; d++)
            device_take(&r->dev[d], &s[d]);
    }
    for (uint32_t c = 0; c < v->n_plain; c++)
        r->plain[c] -= need[c] * (int64_t)done;
    return done;
}
