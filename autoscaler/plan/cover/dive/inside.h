/*
 * inside.h - what the two kinds of dives have in common.
 *
 * Private to plan/cover/dive/.
 */
#ifndef PLAN_COVER_DIVE_INSIDE_H
#define PLAN_COVER_DIVE_INSIDE_H

#include "dive.h"

/* The program is solved for what the partial solution has left, with the numbers of
 * bins that are asked for; by its dual simplex.  false: the work is used up up to
 * `until`; then the next thing is dive_undo(). */
bool dive_follow(struct dive *x, uint64_t until);
/* It comes back to where it is now by dive_undo(). */
void dive_keep(struct dive *x);
/* What items are worth by the program's duals. */
void dive_read_worth(struct dive *x);
/* Buys what is whole, and more of what the program still costs until it is one of
 * so many steps; how many bins. */
uint32_t dive_step(struct dive *x, double steps);

/* numbers.c: the number of one dear bin becomes whole; false: they all are, or work
 * is used up up to `until`. */
bool numbers_fix(struct dive *x, uint64_t until);
/* Any number will do; false: it was so. */
bool numbers_clear(struct dive *x);

#endif
