/*
 * serve.h - the demand of a candidate, in order of priority.
 *
 * One candidate serves all demand once.  How is a choice of tactics:
 * the planner tries a few and keeps the cheapest.
 */
#ifndef PLAN_SERVE_H
#define PLAN_SERVE_H

#include "candidate.h"

/* What is held, mins, proposed nodes, then all demand. */
void serve_all(struct candidate *d, struct tactics how);

#endif
