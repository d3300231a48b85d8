/*
 * serve.h - the demand of a sketch, in order of priority.
 *
 * One sketch serves all demand once.  How is a choice of tactics: the planner
 * tries a few and keeps the cheapest.
 */
#ifndef PLAN_SERVE_H
#define PLAN_SERVE_H

#include "sketch.h"

struct tactics {
    enum keep_back keep;   /* plan it as if these were still to be bought */
    bool work_first;       /* tasks and gangs before requests */
    bool gangs_last;       /* of the same priority */
    bool scatter;          /* a PACK gang fills gaps rather than one node */
    bool pool;             /* the cover packs the nodes that are there too */
    bool tight;            /* the fullest node first, ready or not */
};

/* Mins, then all demand. */
void serve_all(struct sketch *d, struct tactics how);

#endif
