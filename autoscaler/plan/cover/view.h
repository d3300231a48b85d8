/*
 * view.h - a cover_problem laid out for speed: only columns in use, plain
 * amounts apart from devices, no dominated bins, and a bit per bin and item:
 * does the item fit an empty bin?
 *
 * Private to plan/cover/.  Immutable once made; lives in the arena.  Items and
 * bins have numbers of their own here: item_of[] and bin_of[] lead back.
 */
#ifndef PLAN_COVER_VIEW_H
#define PLAN_COVER_VIEW_H

#include "../../model/amount.h"
#include "alike.h"
#include "cover.h"

/* An item's need in one device column: whole devices, or a part of one. */
struct view_share {
    uint32_t whole; /* devices for itself */
    uint32_t part;  /* 1..9999 of one device, 0: none */
};

/* Taken off or put on for floating point: see docs/notes/packing.md. */
#define VIEW_SAFE 1e-9

struct view {
    const struct cover_problem *p;
    struct arena *arena;

    uint32_t n_plain, n_dev; /* columns in use */

    uint32_t n_items;        /* wanted, and fitting some bin */
    const uint32_t *item_of; /* into p->items */
    const uint32_t *count;
    const int64_t *need;            /* n_items x n_plain */
    const struct view_share *share; /* n_items x n_dev */
    const bool *needs_accel;        /* fits no bin without accelerators */

    uint32_t n_bins;
    const uint32_t *bin_of;  /* into p->bins */
    const int64_t *has;      /* n_bins x n_plain */
    const uint32_t *devices; /* n_bins x n_dev */
    const int64_t *price;
    const uint32_t *max; /* 0..UNLIMITED, never above its family's */
    const uint32_t *family;
    const bool *seeded; /* conserve: must hold a needs_accel item */

    uint32_t words;      /* of a row of can[] */
    const uint64_t *can; /* n_bins x words: fits alone */
    uint64_t total;      /* sum of count[] */
    uint64_t no_home;    /* items that fit no bin at all */
};

void view_make(const struct cover_problem *p, struct arena *arena,
               struct view *ret);

static inline bool view_can(const struct view *v, uint32_t bin, uint32_t item)
{
    return v->can[(size_t)bin * v->words + item / 64] >> (item % 64) & 1;
}

/* The view of a problem that differs in counts alone (none of them 0 in one and
 * more in the other), from that of the other. */
void view_again(const struct view *like, const struct cover_problem *p,
                struct arena *arena, struct view *ret);

/* The view's number of each of the problem's bins, UINT32_MAX: not in it. */
uint32_t *view_bin_numbers(const struct view *v);

/* Items by the bins that they fit. */
void view_classes(const struct view *v, struct alike *ret);
/* Items that fit the same bins and need about the same.  Bits of an amount, as a
 * double, that are left out: none, all but its power of two and eighths, quarters or the
 * half of it, all but the power, all. */
enum view_leave {
    VIEW_LEAVE_NONE = 0,
    VIEW_LEAVE_EIGHTH = 49,
    VIEW_LEAVE_QUARTER = 50,
    VIEW_LEAVE_HALF = 51,
    VIEW_LEAVE_POWER = 52,
    VIEW_LEAVE_ALL = 63
};
struct view_rough {
    enum view_leave device, plain;
};
void view_groups(const struct view *v, struct view_rough rough,
                 struct alike *ret);

/* One item for each of these groups: as many as they are, with the mean of their plain
 * needs (of its last item the devices and bins, which they share).  Of no use but for
 * prices. */
void view_condense(const struct view *v, const struct alike *groups,
                   struct view *ret);

/* Needs a at least what b needs, of every column? */
bool view_covers(const struct view *v, uint32_t a, uint32_t b);

/* What so many items, those that are worth the most, are worth together: a bound
 * loses that when any may be left out.  Rounded up. */
double view_dearest(const struct view *v, const double *worth,
                    uint64_t missing);

/* Every plan costs a multiple of what divides all prices: the bound (>= 0),
 * rounded up to one. */
int64_t view_whole(const struct view *v, double bound);
/* Worths of the view's items as a proof; below zero is none. */
void view_proof(const struct view *v, const double *worth, double money,
                struct cover_proof *ret);

static inline const int64_t *view_need(const struct view *v, uint32_t item)
{
    return v->need + (size_t)item * v->n_plain;
}

static inline const int64_t *view_has(const struct view *v, uint32_t bin)
{
    return v->has + (size_t)bin * v->n_plain;
}

/* Size of an item as a part of a bin in device column d, 1/10,000 devices. */
static inline int64_t view_device_amount(const struct view *v, uint32_t item,
                                         uint32_t d)
{
    const struct view_share *s = v->share + (size_t)item * v->n_dev + d;

    return (int64_t)s->whole * AMOUNT_ONE + s->part;
}

#endif
