/*
 * fills.h - the most worth that one bin can hold, by trying all fills: for few items.
 *
 * An item needs devices of one column at most, and a bin has up to FILLS_DEVICES in all.
 */
#ifndef TESTS_UNIT_FILLS_H
#define TESTS_UNIT_FILLS_H

#include "../../autoscaler/plan/cover/view.h"

enum { FILLS_PLAIN = 4, FILLS_DEVICES = 6 };

struct fills {
    const struct view *v;
    const double *worth; /* per item of the view */
};

struct fills_rest {
    int64_t free[FILLS_PLAIN], level[FILLS_DEVICES]; /* of each device */
    uint32_t column[FILLS_DEVICES], devices;
};

static double fills_from(const struct fills *x, uint32_t i, uint32_t used,
                         struct fills_rest f);

/* One more of item i, its plain needs taken off already. */
static double fills_with(const struct fills *x, uint32_t i, uint32_t used,
                         struct fills_rest f)
{
    uint32_t dev = 0, whole = 0, part = 0;
    double most = -1, more;

    for (uint32_t d = 0; d < x->v->n_dev; d++)
        if (view_device_amount(x->v, i, d)) {
            dev = d;
            whole = x->v->share[(size_t)i * x->v->n_dev + d].whole;
            part = x->v->share[(size_t)i * x->v->n_dev + d].part;
        }
    for (uint32_t k = 0; k < f.devices && whole; k++)
        if (f.column[k] == dev && f.level[k] == AMOUNT_ONE) {
            f.level[k] = 0;
            whole--;
        }
    if (whole)
        return most;
    if (!part)
        return x->worth[i] + fills_from(x, i, used + 1, f);
    for (uint32_t k = 0; k < f.devices; k++) {
        struct fills_rest g = f;

        if (f.column[k] != dev || (g.level[k] -= part) < 0)
            continue;
        more = x->worth[i] + fills_from(x, i, used + 1, g);
        most = more > most ? more : most;
    }
    return most;
}

/* The most that items from i on, `used` of it in already, can add. */
static double fills_from(const struct fills *x, uint32_t i, uint32_t used,
                         struct fills_rest f)
{
    double most, more;

    if (i == x->v->n_items)
        return 0;
    most = fills_from(x, i + 1, 0, f);
    if (used == x->v->count[i])
        return most;
    for (uint32_t c = 0; c < x->v->n_plain; c++)
        if ((f.free[c] -= view_need(x->v, i)[c]) < 0)
            return most;
    more = fills_with(x, i, used, f);
    return more > most ? more : most;
}

static double fills_best(const struct view *v, uint32_t bin,
                         const double *worth)
{
    struct fills x = {v, worth};
    struct fills_rest f = {0};

    for (uint32_t c = 0; c < v->n_plain; c++)
        f.free[c] = view_has(v, bin)[c];
    for (uint32_t d = 0; d < v->n_dev; d++)
        for (uint32_t k = 0; k < v->devices[(size_t)bin * v->n_dev + d]; k++) {
            f.column[f.devices] = d;
            f.level[f.devices++] = AMOUNT_ONE;
        }
    return fills_from(&x, 0, 0, f);
}

#endif
