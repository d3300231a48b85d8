/*
 * serve.h - the demand of a candidate, in order of priority.
 *
 * A candidate serves all demand once, by some tactics: the planner tries a few
 * and keeps the cheapest.
 */
#ifndef PLAN_SERVE_H
#define PLAN_SERVE_H

#include "candidate.h"

/* Previous placements, mins, proposed nodes, then all demand. */
void serve_all(struct candidate *d, struct tactics how);

#endif
