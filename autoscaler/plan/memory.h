/*
 * memory.h - what covers have said is kept for the next plan.
 *
 * The answers of cover.h are functions of what is asked, so one that was given to
 * the very same question may be given again: with a memory a plan is the same,
 * bit for bit and to the counted step, as without one.  Questions are told apart
 * by all that is in them, not by a hash alone.  Of a large demand the answer is made
 * from answers to problems with rounded counts, so that a bundle more or less
 * finds those here.
 *
 * Kept is what the last plan asked for and what this one does, up to 16 MiB; up to half
 * of that also answers to problems with rounded counts that one of the last 64 plans
 * asked for.
 * All of it may be thrown away at any time.  Thread: one plan at a time; the
 * owner zeroes it at first and ends it with memory_done().
 */
#ifndef PLAN_MEMORY_H
#define PLAN_MEMORY_H

#include "cover/cover.h"

struct memory_kind; /* problems that differ in counts alone */

struct memory {
    struct memory_kind *first;
    uint64_t plan; /* counted */
    size_t bytes;
    struct arena scratch; /* of the plan: pages are not asked for each time */
    size_t scratch_bytes; /* of its one chunk, 0: none */
    uint64_t asked,
        known; /* questions, and those that were answered from here */
};

/* A new plan begins: what the last ones did not ask for is forgotten. */
void memory_begin(struct memory *m);
/* It is over, and copied: what a large one took is given back. */
void memory_end(struct memory *m);
void memory_done(struct memory *m);

/* The functions of cover.h, for m NULL just these.  Answers are in the arena or
 * in m: they hold until memory_begin(). */
void memory_first(struct memory *m, const struct cover_problem *p,
                  struct arena *arena, struct cover_plan *ret);
/* first: of the same problem. */
void memory_improve(struct memory *m, const struct cover_problem *p,
                    const struct cover_plan *first, uint64_t budget,
                    struct arena *arena, struct cover_plan *ret);
int64_t memory_bound(struct memory *m, const struct cover_problem *p,
                     uint64_t missing, const double *hint, int64_t enough,
                     uint64_t budget, struct arena *arena, uint64_t *work,
                     struct cover_proof *ret_proof);

#endif
