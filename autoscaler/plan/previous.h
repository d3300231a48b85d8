/*
 * hold.h - what was bought for something stays for it.
 *
 * A first fit on new nodes does not find the clever patterns they were bought
 * for.  So each node remembers what the last plan put on it, and a sketch may
 * start from that: whatever made the plan, once it is carried out the same
 * plan is found again, and nothing is bought twice.
 */
#ifndef PLAN_PREVIOUS_H
#define PLAN_PREVIOUS_H

#include "candidate.h"

/* Puts on the nodes that are there what they hold, as far as it is still
 * wanted, fits and is allowed.  A gang comes back whole or is left out. */
void previous_restore(struct candidate *d);

/* What the nodes hold of a gang that has lost some of them.  False: nothing,
 * or it must lie on one node. */
bool previous_gang(struct candidate *d, uint32_t gang);

/* Buys what the advice says, as far as its demand is still there and the
 * limits allow. */
void hints_obtain(struct candidate *d);

#endif
