/*
 * joint.h - the most that a bin can earn with its devices and one plain column
 * exact at once, by dynamic programming.
 *
 * The Lagrangian of price.c has devices exact and every plain column at a price: where
 * large bundles share a machine it promises up to 1.4 of what any fill is worth.
 * Here a device's best fill is known for each amount of the exact column (in what all needs
 * are multiples of, or on a grid, needs rounded down), devices are added one after the
 * other, then what needs none.  The price of the exact column pays for what rounding left
 * out.
 * Private to price.c and joint.c.
 */
#ifndef PLAN_COVER_JOINT_H
#define PLAN_COVER_JOINT_H

#include "price.h"

struct joint;

struct joint *joint_make(struct price *p);

/* The most that items with p->profit (worth less what prices take) can earn in
 * the bin; adds to p->taken with how many of each.  False: its items are of several device
 * columns, or there are too many devices, or items of use, for the tables; nothing is
 * written. */
bool joint_most(struct joint *x, struct price *p, uint32_t bin, double *ret);

#endif
