/*
 * explain.h - why a bundle is placed nowhere.
 *
 * For each offer the first obstacle: what the offer is, then what the limits
 * say.  Equal bundles share their refusals.
 */
#ifndef PLAN_EXPLAIN_H
#define PLAN_EXPLAIN_H

#include "candidate.h"

struct refusals {
    VEC(struct plan_refusal) list;
};

/* Could a node of any configured type, or a node that is there, ever hold it
 * (for a gang: all of it)?  If so it waits, if not it is infeasible. */
bool explain_could_ever(const struct candidate *d, uint32_t group);

/* Adds the refusals of one group, for its first bundle. */
void explain_group(const struct candidate *d, uint32_t group,
                   struct refusals *out, uint32_t *ret_first, uint32_t *ret_n);

#endif
