/*
 * alike.h - which items may lie in the same bins: one class each.
 *
 * A mask has a bit for each bin.  There are few different ones, so work that
 * depends on the bins alone is done once for a class.  Private to plan/cover/.
 */
#ifndef PLAN_COVER_ALIKE_H
#define PLAN_COVER_ALIKE_H

#include "../../base/arena.h"

struct alike {
    uint32_t *class_of;    /* per item */
    const uint64_t **mask; /* per class: as the first of its items has it */
    uint32_t n;            /* classes, in the order of their first items */
};

/* mask[i]: the bins of item i, `words` long, or NULL: any bin.  The masks
 * must outlive the answer, which is in the arena. */
void alike_make(const uint64_t *const *mask, uint32_t n_items, uint32_t words,
                struct arena *arena, struct alike *ret);

#endif
