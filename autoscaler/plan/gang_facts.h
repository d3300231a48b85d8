/*
 * gang_facts.h - tests on a gang in a candidate.
 */
#ifndef PLAN_GANG_FACTS_H
#define PLAN_GANG_FACTS_H

#include "candidate.h"

/* Has every bundle of it a place? */
bool gang_settled(const struct candidate *d, uint32_t gang);

/* Is this room large enough for all of it, first alternatives only? */
bool gang_fits(const struct candidate *d, uint32_t gang, struct room room);

/* Are the two equal, so that b fails where a did? */
bool gang_same(const struct tables *t, uint32_t a, uint32_t b);

#endif
