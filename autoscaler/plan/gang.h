/*
 * gang.h - bundles that come whole or not at all.
 *
 * One gang is settled, nodes to buy included, before the next is looked at;
 * what does not come out whole is taken back to the last bundle.
 */
#ifndef PLAN_GANG_H
#define PLAN_GANG_H

#include "candidate.h"

/* False: nothing of it is placed, and the sketch is as before. */
bool gang_place(struct candidate *d, uint32_t gang);

bool gang_settled(const struct candidate *d, uint32_t gang);

/* Is this room large enough for all of it, first alternatives only? */
bool gang_fits(const struct candidate *d, uint32_t gang, struct room room);

/* Would whole gang number b fail because a did?  (The same, word for word.) */
bool gang_same(const struct tables *t, uint32_t a, uint32_t b);

#endif
