/*
 * first.h - the first plan of a problem as a whole: see first.c.
 *
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_FIRST_H
#define PLAN_COVER_FIRST_H

#include "cover.h"

/* bounded: with a lower bound and its proof, and ending when near it; else
 * neither (bound 0), and for a base: with four fifths of the work. */
void first_make(const struct cover_problem *p, bool bounded,
                struct arena *arena, struct cover_plan *ret);

#endif
