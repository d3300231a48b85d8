/*
 * serve.h - the demand of a sketch, in order of priority.
 *
 * One sketch serves all demand once.  How is a choice of tactics: the planner
 * tries a few and keeps the cheapest.
 */
#ifndef PLAN_SERVE_H
#define PLAN_SERVE_H

#include "sketch.h"

/* Nodes that the first fit leaves alone, so that what was bought for a demand
 * is covered as it was bought. */
enum keep_back { KEEP_BACK_NONE, KEEP_BACK_STARTING, KEEP_BACK_WHOLE };

struct tactics {
    enum keep_back keep;
    bool work_first;   /* tasks and gangs before requests */
    bool scatter;      /* a PACK gang fills gaps rather than one node */
    bool tight;        /* the fullest node first, ready or not */
};

void serve_mins(struct sketch *d);
void serve_all(struct sketch *d, struct tactics how);

#endif
