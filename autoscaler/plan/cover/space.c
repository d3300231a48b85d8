/*
 * space.c - putting items into one bin, exactly as its devices are.
 *
 * The only judge of "does it fit" that the planner's covers have: integers
 * only, and every pattern that is ever offered has been put by space_put().
 */
#include "space.h"

#include <string.h>

void space_make(const struct view *v, struct space *ret)
{
    ret->v = v;
    ret->plain = ARENA_ARRAY(v->arena, int64_t, v->n_plain);
    ret->dev = ARENA_ARRAY(v->arena, struct space_devices, v->n_dev);
    for (uint32_t d = 0; d < v->n_dev; d++)
        ret->dev[d].free = ARENA_ARRAY(v->arena, uint16_t, SPACE_PARTS);
}

static void measure_part(struct space_devices *dev)
{
    dev->part = dev->n ? dev->free[dev->n - 1] : 0;
    if (dev->whole && dev->n < SPACE_PARTS)
        dev->part = AMOUNT_ONE;
}

void space_open(struct space *r, uint32_t bin)
{
    const struct view *v = r->v;

    for (uint32_t c = 0; c < v->n_plain; c++)
        r->plain[c] = view_has(v, bin)[c];
    for (uint32_t d = 0; d < v->n_dev; d++) {
        r->dev[d].whole = v->devices[(size_t)bin * v->n_dev + d];
        r->dev[d].n = 0;
        measure_part(&r->dev[d]);
    }
}

/* Puts up to `most` parts, each on the fullest device that still holds it, else
 * on a free one; a device that took one and holds more stays the fullest. */
static uint32_t device_take(struct space_devices *dev, uint32_t part,
                            uint32_t most)
{
    uint32_t done = 0;

    while (done < most) {
        uint32_t k = 0, here, rest;

        while (k < dev->n && dev->free[k] < part)
            k++;
        if (k == dev->n) {
            if (!dev->whole || dev->n == SPACE_PARTS)
                break;
            dev->whole--;
            dev->free[dev->n++] = AMOUNT_ONE;
        }
        rest = dev->free[k];
        here = 1;
        if (most - done > 1 && rest >= 2 * part)
            here = rest / part < most - done ? rest / part : most - done;
        done += here;
        rest -= here * part;
        for (; k && dev->free[k - 1] > rest; k--)
            dev->free[k] = dev->free[k - 1];
        dev->free[k] = (uint16_t)rest;
        if (!rest) {
            dev->n--;
            memmove(dev->free, dev->free + 1, dev->n * sizeof *dev->free);
        }
    }
    return done;
}

/* How many fit as far as plain columns and whole devices go. */
static uint32_t upper(const struct space *r, uint32_t item, uint32_t most)
{
    const struct view *v = r->v;
    const int64_t *need = view_need(v, item);
    const struct view_share *s = v->share + (size_t)item * v->n_dev;

    for (uint32_t c = 0; c < v->n_plain; c++) {
        if (!need[c])
            continue;
        if (need[c] > r->plain[c])
            return 0;
        if (need[c] > r->plain[c] - need[c])
            most = most > 1 ? 1 : most; /* mostly so: no division */
        else if (most > 1 && (int64_t)most > r->plain[c] / need[c])
            most = (uint32_t)(r->plain[c] / need[c]);
    }
    for (uint32_t d = 0; d < v->n_dev; d++)
        if (s[d].whole && most > r->dev[d].whole / s[d].whole)
            most = r->dev[d].whole / s[d].whole;
    return most;
}

uint32_t space_put(struct space *r, uint32_t item, uint32_t most)
{
    const struct view *v = r->v;
    const int64_t *need = view_need(v, item);
    const struct view_share *s = v->share + (size_t)item * v->n_dev;
    uint32_t done = 0, parts = 0, shared = 0;

    most = upper(r, item, most);
    for (uint32_t d = 0; d < v->n_dev; d++)
        if (s[d].part) {
            parts++;
            shared = d;
        }
    if (parts <= 1) {
        done = parts ? device_take(&r->dev[shared], s[shared].part, most)
                     : most;
        for (uint32_t d = 0; d < v->n_dev; d++) {
            r->dev[d].whole -= done * s[d].whole;
            measure_part(&r->dev[d]);
        }
    } else {
        for (; done < most && space_fits(r, item); done++)
            for (uint32_t d = 0; d < v->n_dev; d++) {
                r->dev[d].whole -= s[d].whole;
                device_take(&r->dev[d], s[d].part, s[d].part > 0);
                measure_part(&r->dev[d]);
            }
    }
    for (uint32_t c = 0; c < v->n_plain; c++)
        r->plain[c] -= need[c] * (int64_t)done;
    return done;
}
