/*
 * proof.h - the valid lower bound of a column generation, stage by stage: by the
 * program, and by prices of resources and numbers of bins.
 *
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_PROOF_H
#define PLAN_COVER_PROOF_H

#include "../generate.h"

/* So many shapes at most are few: their program is solved soon. */
#define PROOF_FEW 250

/* Columns for the whole demand and the bound: up to three quarters of `stage`
 * steps from now on, up to `end` in all. */
void proof_stage(struct generate *g, uint64_t stage, uint64_t end);

/* Are there many shapes, and what is proved far from what the program buys for?  Then
 * it is not solved soon. */
bool proof_far(const struct generate *g);

/* Are there few, and is what prices prove so far from it that the time of a stage is of
 * more use to the bound than to the plan? */
bool proof_behind(const struct generate *g);

/* Is as much proved as is to be (generate's `enough`)? */
bool proof_enough(const struct generate *g);

/* Is there something that a later stage tries, or that is of use still? */
bool proof_may_rise(const struct generate *g);

/* The best bound so far and its proof (may be NULL). */
double proof_best(const struct generate *g, struct cover_proof *ret);

#endif
