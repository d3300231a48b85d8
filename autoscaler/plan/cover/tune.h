/*
 * tune.h - the multipliers that make the bound of one bin smallest.
 *
 * Private to price.c and tune.c.
 */
#ifndef PLAN_COVER_TUNE_H
#define PLAN_COVER_TUNE_H

#include "price.h"

/* One answer of the relaxation: which places of the bin it took. */
struct tuner_cut {
    VEC(struct cover_part) take; /* item: place in bin.item */
};

struct tuner *tuner_make(struct arena *arena, uint32_t scalars);

#endif
