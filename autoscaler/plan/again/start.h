/*
 * start.h - what a plan starts with, for the next one: tables, and a candidate with
 * nothing placed.
 *
 * Both depend on all of a problem but its counts and most of its times (facts.h), so
 * one bundle more leaves them as they are.  Lives in the planner's memory.
 */
#ifndef PLAN_AGAIN_START_H
#define PLAN_AGAIN_START_H

#include "packed.h"

struct start {          /* zero-initialised is valid: nothing is known */
    struct arena arena; /* of all of it but packed and fleet */
    const uint64_t *facts;
    uint32_t n_facts;
    struct tables tables; /* in the arena; groups as counted then */
    struct candidate base;
    struct packed packed; /* of these nodes */
    struct arena fleet_arena;
    struct fleet_known *fleet; /* fleet/known.h, in its arena; NULL: nothing */
    uint64_t known;            /* so often it was */
};

void start_done(struct start *x); /* it is empty again */
size_t start_bytes(const struct start *x);

/* x: what is known of the last plan and is to be of this one, NULL: none.  Tables
 * and base may point into it; they hold until the next call. */
void start_make(struct start *x, const struct problem *now,
                const enum leaving *gone, struct arena *arena,
                struct tables *ret_tables, struct candidate *ret_base);

#endif
