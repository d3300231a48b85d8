/*
 * cover_agreed.h - bins that every plan buys, however good it is.
 *
 * An item that may lie in bins of one kind only (it fits no other, or another
 * is never needed: cover_view.h) lies in one of these in every plan that
 * places all.  All such items of a kind together need at least so many bins:
 * column by column the sum of their shares, rounded up, and also with what is
 * more than a half (a third, ...) of a bin counted for more (Fekete and
 * Schepers' functions: no bin holds more than 1 of them either).  So many are
 * bought by the first plan and by any better one.
 */
#ifndef PLAN_COVER_AGREED_H
#define PLAN_COVER_AGREED_H

#include "cover.h"

/* ret: per bin of p, all 0 when `first` leaves something out. */
void cover_agreed(const struct cover_problem *p,
                  const struct cover_plan *first, struct arena *arena,
                  uint32_t *ret);

#endif
