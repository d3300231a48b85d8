/*
 * gang.h - bundles that come whole or not at all.
 *
 * One gang is settled, nodes to buy included, before the next is looked at;
 * what does not come out whole is taken back to the last bundle.
 */
#ifndef PLAN_GANG_H
#define PLAN_GANG_H

#include "candidate.h"
#include "gang_facts.h"

/* False: nothing of it is placed, and the candidate is as before. */
bool gang_place(struct candidate *d, uint32_t gang);

#endif
