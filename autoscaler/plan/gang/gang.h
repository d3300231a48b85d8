/*
 * gang.h - bundles that are placed all together or not at all.
 *
 * One gang is placed, nodes to buy included, before the next.  One that cannot
 * be placed whole is undone to the last bundle.
 */
#ifndef PLAN_GANG_H
#define PLAN_GANG_H

#include "../candidate.h"
#include "../gang_facts.h"

/* False: nothing of it is placed, and the candidate is as before. */
bool gang_place(struct candidate *d, uint32_t gang);

/* Likewise without buying, but for what is missing after a part was lost. */
bool gang_place_there(struct candidate *d, uint32_t gang);

/* The rest of one that is placed in part; false: the part is as before. */
bool gang_complete(struct candidate *d, uint32_t gang);

#endif
