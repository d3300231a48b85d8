/*
 * branch.h - all plans divided by how many bins of a family they have: the bound
 * is the least of those of the leaves.
 *
 * The program buys 6.7 bins of a kind; a plan has 6 at most, or 7 at least.  The
 * leaf with the least bound is divided again.
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_BRANCH_H
#define PLAN_COVER_BRANCH_H

#include "leaf.h"

struct branch;

/* seats, seated: g's problem with seats, or NULL. */
struct branch *branch_make(struct generate *g, const struct seats *seats,
                           const struct seated *seated);

/* Divides on until g's work is `until`, the bound is `enough` or nothing is left
 * to divide.  nodes: as for seated_run(). */
void branch_run(struct branch *b, double enough, uint64_t nodes,
                uint64_t until);
/* Gives back what running on needs. */
void branch_done(struct branch *b);

/* Is nothing left to divide? */
bool branch_ended(const struct branch *b);

double branch_bound(const struct branch *b);
/* ret: the proof without a branch, with a least for each of the seats; gets the
 * leaves. */
void branch_proof(const struct branch *b, struct cover_proof *ret);

#endif
