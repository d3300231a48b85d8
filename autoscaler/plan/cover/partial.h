/*
 * partial.h - a partial solution, a plan while it is being made: patterns of
 * parts, what is still wanted, what the limits still allow.
 *
 * Private to plan/cover/.  parts of a pattern are in an order in which
 * space_put() can put them again (an item may appear twice).
 */
#ifndef PLAN_COVER_PARTIAL_H
#define PLAN_COVER_PARTIAL_H

#include "space.h"

struct partial_pattern {
    uint32_t bin, count, first, n;
};

struct partial {
    const struct view *v;
    VEC(struct partial_pattern) pattern; /* count 0: none */
    VEC(struct cover_part) part;
    uint32_t *left; /* per item */
    uint64_t n_left;
    uint32_t *bought, *family_bought;
    uint64_t n_bought;
    int64_t cost;
    int64_t *plain, *device; /* scratch, per column */
};

void partial_make(const struct view *v, struct partial *ret);
void partial_clear(struct partial *d); /* nothing bought */
void partial_copy(struct partial *to, const struct partial *from);

/* How often all of these parts are left. */
uint32_t partial_times(const struct partial *d, const struct cover_part *part,
                       uint32_t n);
/* How many more of this bin the limits allow. */
uint32_t partial_allows(const struct partial *d, uint32_t bin);
/* Buys count bins with these parts; so many of the items must be left. */
void partial_buy(struct partial *d, uint32_t bin, uint32_t count,
                 const struct cover_part *part, uint32_t n);
/* Gives count bins of the pattern back: their items are left again. */
void partial_sell(struct partial *d, uint32_t pattern, uint32_t count);

/* Undoes a partial_sell() of one bin. */
void partial_unsell(struct partial *d, uint32_t pattern);

/* Drops patterns without bins: the list grows with every change. */
void partial_compact(struct partial *d);

/* Fewer items left, then cheaper, then fewer bins. */
bool partial_better(const struct partial *a, const struct partial *b);

/* Each bin of the patterns [from, all) becomes the cheapest that holds what is
 * in it. */
void partial_downgrade(struct partial *d, uint32_t from, struct space *scratch);

/* Can a bin of this kind hold the parts (capacity, device, labels, seed)? */
bool partial_holds(const struct view *v, uint32_t bin,
                   const struct cover_part *part, uint32_t n,
                   struct space *scratch);

/* A plan of the same problem; what does not hold (it always does) stays out.
 * scratch NULL: that is known, no bin is looked into. */
void partial_import(struct partial *d, const struct cover_plan *plan,
                    struct space *scratch);
/* Into the caller's numbers; merges equal patterns. */
void partial_export(const struct partial *d, struct cover_plan *ret);

#endif
