/*
 * reach.h - the most that items can add to a fill of one bin: two relaxations
 * of it, by dynamic programming, for the search of prove.c.
 *
 * One takes each device by itself exactly and plain columns at the bin's
 * multipliers; the other takes the dearest plain column exactly (on a grid,
 * rounded down) and the other columns and devices at a price.
 * Private to prove.c and reach.c.
 */
#ifndef PLAN_COVER_REACH_H
#define PLAN_COVER_REACH_H

#include "price.h"

enum { MAX_DEVICES = 16, GRID = 400 };

struct reach {
    const struct view *v;
    struct price *price;
    const struct price_bin *b;
    uint32_t side;
    uint32_t devices, cells; /* of the bin, of a device */

    /* Items in the order of the search: those of whole devices, of parts, of
     * none.  place: in b->item; profit: worth less plain columns' price. */
    uint32_t *place, n, n_whole, n_parts;
    double *worth, *profit;
    uint32_t *in_cells, *whole, *limit;

    /* By devices: the most of items k.., per cells or devices that are free. */
    double *part_table;   /* (n_parts + 1) x (cells + 1) */
    double *whole_table;  /* (n_whole + 1) x (devices + 1) */
    double *plain_suffix; /* n + 1 */
    uint32_t stride;

    /* By one plain column. */
    double *grid_table; /* (n + 1) x (GRID + 1) */
    double cell_price;
    uint32_t *units, column;
    uint64_t work;
};

void reach_make(const struct view *v, struct price *price, struct reach *ret);

/* Lays out a side of bin t, whose multipliers are tuned to worth.  dev: the device
 * column of its items, UINT32_MAX: none.  Items that cannot be in a fill worth more
 * than `goal` are left out. */
void reach_open(struct reach *r, uint32_t t, uint32_t side, uint32_t dev,
                const double *worth, double goal);

/* Is the plain column one of the side's? */
static inline bool reach_column(const struct reach *r, uint32_t c)
{
    return r->price->sides.of_plain[c] == r->side;
}

static inline double *reach_part_row(const struct reach *r, uint32_t k)
{
    return r->part_table + (size_t)(k - r->n_whole) * r->stride;
}

static inline double *reach_whole_row(const struct reach *r, uint32_t k)
{
    return r->whole_table + (size_t)k * (MAX_DEVICES + 1);
}

static inline double *reach_grid_row(const struct reach *r, uint32_t k)
{
    return r->grid_table + (size_t)k * (GRID + 1);
}

/* What items from k on can add at best by the first relaxation, plain columns
 * paid: `untouched` devices and n of so many free cells each are left. */
double reach_by_devices(const struct reach *r, uint32_t k, uint32_t untouched,
                        const uint32_t *level, uint32_t n);

#endif
