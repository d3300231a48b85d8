/*
 * cover_draft.h - a plan while it is being made: patterns of parts, what is
 * still wanted, what the limits still allow.
 *
 * Private to cover_*.c.  parts of a pattern are in an order in which
 * room_put() can put them again (an item may appear twice).
 */
#ifndef PLAN_COVER_DRAFT_H
#define PLAN_COVER_DRAFT_H

#include "cover_room.h"

struct draft_pattern { uint32_t bin, count, first, n; };

struct draft {
    const struct view *v;
    VEC(struct draft_pattern) pattern;   /* count 0: none */
    VEC(struct cover_part) part;
    uint32_t *left;               /* per item */
    uint64_t n_left;
    uint32_t *bought, *group_bought;
    uint64_t n_bought;
    int64_t cost;
};

void draft_make(const struct view *v, struct draft *ret);
void draft_clear(struct draft *d);                /* nothing bought */
void draft_copy(struct draft *to, const struct draft *from);

/* How many more of this bin the limits allow. */
uint32_t draft_room(const struct draft *d, uint32_t bin);
/* Buys count bins with these parts; what is put beyond `left` is dropped from
 * the pattern by the caller, never here. */
void draft_buy(struct draft *d, uint32_t bin, uint32_t count,
               const struct cover_part *part, uint32_t n);
/* Gives one bin of the pattern back, its items are wanted again. */
void draft_sell(struct draft *d, uint32_t pattern, uint32_t count);

/* Undoes a draft_sell() of one bin. */
void draft_unsell(struct draft *d, uint32_t pattern);

/* Fewer items left, then cheaper, then fewer bins. */
bool draft_better(const struct draft *a, const struct draft *b);

/* Each bin becomes the cheapest that holds what is in it. */
void draft_downgrade(struct draft *d, struct room *scratch);

/* Can a bin of this kind hold the parts (capacity, device, labels, seed)? */
bool draft_holds(const struct view *v, uint32_t bin,
                 const struct cover_part *part, uint32_t n,
                 struct room *scratch);

/* Into the caller's numbers; merges equal patterns. */
void draft_export(const struct draft *d, struct cover_plan *ret);

#endif
