/*
 * sides.h - items that need no column in common.
 *
 * A request lies on what a machine has in all, other work on what is free there: with both, every
 * column is there twice (fleet/program.c, buy/problem.c).  No column is then shared by items
 * of two sides, so the best fill of a bin is the best one of each side, and bounds of the sides
 * add up to one of the bin.
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_SIDES_H
#define PLAN_COVER_SIDES_H

#include "view.h"

struct sides {
    uint32_t n;         /* 1 or more */
    uint32_t *of_item;  /* per item of the view */
    uint32_t *of_plain; /* per plain column */
};

/* An item that needs one plain column, which no other needs, is on the first side: a seat
 * (seats/), say.  There is nothing to gain from telling it apart.  In the view's arena. */
void sides_make(const struct view *v, struct sides *ret);

#endif
