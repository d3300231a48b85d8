/*
 * serve.h - the demand of a sketch, in order of priority.
 *
 * One sketch serves all demand once.  Which nodes are kept back for the cover
 * and which side goes first are free choices: the planner tries a few and
 * keeps the cheapest.
 */
#ifndef PLAN_SERVE_H
#define PLAN_SERVE_H

#include "sketch.h"

/* Nodes that the first fit leaves alone, so that what was bought for a demand
 * is covered as it was bought. */
enum keep_back { KEEP_BACK_NONE, KEEP_BACK_STARTING, KEEP_BACK_WHOLE };

void serve_mins(struct sketch *d);
void serve_all(struct sketch *d, enum keep_back keep, bool work_first);

#endif
