/*
 * drop.h - bought nodes that turn out not to be needed.
 */
#ifndef PLAN_DROP_H
#define PLAN_DROP_H

#include "candidate.h"

/* Gives back bought nodes whose work fits into what is free on the others;
 * how many. */
uint32_t drop_unneeded(struct candidate *d);

#endif
