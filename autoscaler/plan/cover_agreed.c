/*
 * cover_agreed.c - see cover_agreed.h.
 */
#include "cover_agreed.h"

#include "cover_view.h"

enum { PARTS = 6 };          /* up to a seventh of a bin */

/* need/has, by the function of `parts`; 0: as it is.  Exact where it decides:
 * (parts + 1) * need stays far below 2^63. */
static double share(int64_t need, int64_t has, int64_t parts)
{
    int64_t times = (parts + 1) * need;

    if (parts == 0 || times % has == 0)
        return (double)need / (double)has;
    return (double)(times / has) / (double)parts;
}

/* Devices that it takes, parts of them by the function. */
static double devices(struct view_share s, int64_t parts)
{
    return s.whole + (s.part > 0 ? share(s.part, AMOUNT_ONE, parts) : 0);
}

/* Bins of kind t that the items need together, at least. */
static double least(const struct view *v, uint32_t t, const uint32_t *items,
                    uint32_t n, int64_t parts)
{
    double most = 0;

    for (uint32_t c = 0; c < v->n_plain; c++) {
        double sum = 0;

        for (uint32_t k = 0; k < n && view_has(v, t)[c] > 0; k++)
            sum += v->count[items[k]] *
                   share(view_need(v, items[k])[c], view_has(v, t)[c], parts);
        most = sum > most ? sum : most;
    }
    for (uint32_t d = 0; d < v->n_dev; d++) {
        uint32_t has = v->devices[(size_t)t * v->n_dev + d];
        double sum = 0, whole = 0;

        for (uint32_t k = 0; k < n && has > 0; k++) {
            struct view_share s = v->share[(size_t)items[k] * v->n_dev + d];

            sum += v->count[items[k]] * devices(s, parts) / has;
            whole += v->count[items[k]] * share(s.whole, has, parts);
        }
        most = sum > most ? sum : most;
        most = whole > most ? whole : most;
    }
    return most;
}

static uint32_t rounded_up(double x)
{
    uint32_t n = x > 0 ? (uint32_t)x : 0;

    return n < x ? n + 1 : n;
}

/* The only kind of bin that the item may lie in, or UINT32_MAX. */
static uint32_t only_bin(const struct view *v, uint32_t item)
{
    uint32_t only = UINT32_MAX;

    for (uint32_t t = 0; t < v->n_bins; t++) {
        if (!view_can(v, t, item))
            continue;
        if (only != UINT32_MAX)
            return UINT32_MAX;
        only = t;
    }
    return only;
}

void cover_agreed(const struct cover_problem *p,
                  const struct cover_plan *first, struct arena *arena,
                  uint32_t *ret)
{
    uint32_t *items, *only;
    struct view v;

    for (uint32_t b = 0; b < p->n_bins; b++)
        ret[b] = 0;
    for (uint32_t i = 0; i < p->n_items; i++)
        if (first->unplaced[i] > 0)
            return;
    view_make(p, arena, &v);
    items = ARENA_ARRAY(arena, uint32_t, v.n_items);
    only = ARENA_ARRAY(arena, uint32_t, v.n_items);
    for (uint32_t i = 0; i < v.n_items; i++)
        only[i] = only_bin(&v, i);
    for (uint32_t t = 0; t < v.n_bins; t++) {
        double most = 0;
        uint32_t n = 0;

        for (uint32_t i = 0; i < v.n_items; i++)
            if (only[i] == t)
                items[n++] = i;
        for (int64_t parts = 0; n > 0 && parts <= PARTS; parts++) {
            double x = least(&v, t, items, n, parts);

            most = x > most ? x : most;
        }
        ret[v.bin_of[t]] = rounded_up(most * (1 - 1e-9) - 1e-6);
    }
}
