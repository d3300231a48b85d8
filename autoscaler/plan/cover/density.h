/*
 * density.h - the items of a bin by weight over size, the best first: the order
 * that a greedy fill goes by, for several notions of size.
 *
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_DENSITY_H
#define PLAN_COVER_DENSITY_H

#include "price.h"

/* How the size of an item in a bin is measured. */
enum size_by {
    BY_SUM,     /* of its shares of all columns */
    BY_LARGEST, /* its largest share */
    BY_SCARCE,  /* shares weighted by what the demand makes scarce */
    BY_PRICED,  /* by the multipliers of price.h, if there are any */
    BY_N
};

struct density_order {
    uint32_t *item; /* room for all that fit the bin */
    uint32_t n;
};

struct density;

/* price may be NULL: then BY_PRICED must not be asked for. */
struct density *density_make(const struct view *v, struct price *price);

/* From now on only items with something left are sorted. */
void density_want(struct density *d, const uint32_t *left);

/* order[s] for each s of the set `sizes` (of 1 << enum size_by); the counted
 * work. */
uint64_t density_sort(struct density *d, uint32_t bin, unsigned sizes,
                      const double *weight, const uint32_t *left,
                      struct density_order *order);

#endif
