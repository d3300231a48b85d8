/*
 * gangs.h - gangs and other work of one purchase, bought for together.
 *
 * Groups of equal bundles, of whatever gangs, are one item of the cover.  So are equal
 * gangs that must lie on one node each (STRICT_PACK), with all that one needs.  The
 * answer's places are then given to the bundles.  Those of STRICT_SPREAD mostly find
 * places apart; the caller looks, and asks for a column of the cover for gangs that did
 * not: in it each bundle takes a seat, and a bin has as many as there are such gangs.
 *
 * For buy.c and problem.c only.
 */
#ifndef PLAN_BUY_GANGS_H
#define PLAN_BUY_GANGS_H

#include "problem.h"

/* For n groups. */
void buy_gangs_begin(const struct candidate *d, struct purchase *q, uint32_t n);
/* False: another group of its gang, which must lie on one node, stands for it. */
bool buy_gangs_stands(const struct candidate *d, uint32_t group);
/* Notes the group, of which `count` may be bought for, or its whole gang. */
void buy_gangs_add(const struct candidate *d, struct purchase *q,
                   uint32_t group, uint32_t alt, uint32_t count);

/* Is the item just a bundle of its shape? */
bool buy_gangs_bundle(const struct purchase *q, uint32_t item);

/* After bins and limits: where gangs fit as a whole, and how far they are spread. */
void buy_gangs_bins(const struct candidate *d, struct purchase *q);

/* What the parts are places for, on each node of the class. */
void buy_gangs_place(struct candidate *d, struct purchase *q,
                     const struct cover_part *parts, uint32_t n, uint32_t i);

#endif
