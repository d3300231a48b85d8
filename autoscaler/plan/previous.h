/*
 * previous.h - starting from what the last plan placed.
 *
 * A first fit on new nodes does not find the patterns that they were bought for.
 * So the problem says what the last plan put on each node, and a candidate may
 * start from that: once a plan is carried out the same plan is found again, and
 * nothing is bought twice.  The result of background improvement comes in the
 * same form: proposed nodes and what is placed on them.
 */
#ifndef PLAN_PREVIOUS_H
#define PLAN_PREVIOUS_H

#include "candidate.h"

/* Puts on the nodes that are there what they hold, as far as it is still
 * wanted, fits and is allowed.  A gang comes back whole or is left out. */
void previous_restore(struct candidate *d);

/* What the nodes hold of a group that previous_restore() has left out, which has its
 * turn now: as far as there is room still. */
void previous_group(struct candidate *d, uint32_t group);

/* What the nodes hold of a gang that has lost some of them.  False: nothing,
 * or it must lie on one node. */
bool previous_gang(struct candidate *d, uint32_t gang);

/* Buys the proposed nodes, as far as the demand that each is for is still
 * there and the limits allow, and puts that on them. */
void previous_propose(struct candidate *d);

#endif
