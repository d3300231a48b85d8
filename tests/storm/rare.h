/*
 * rare.h - which rare legal ways (control/rare.h) a world goes, and how often.
 */
#ifndef STORM_RARE_H
#define STORM_RARE_H

#include <stdint.h>
#include <stdio.h>

#include "control/rare.h"

/* Of each way, how many of 1,000 times it is taken; 0: never. */
struct rare_ways {
    uint32_t of_1000[RARES];
};

/* A world begins: from now on these, by chance from that seed.  NULL: none. */
void rare_begin(const struct rare_ways *w, uint64_t seed);
uint64_t rare_count(enum rare way); /* since the program began */
const char *rare_word(enum rare way);

/* In half of the worlds none, in the others some.  Its chance is its own, so
 * that all else drawn from a seed stays as it is. */
void rare_draw(struct rare_ways *w, uint64_t seed);
/* Lines "rare WORD N" of a script. */
void rare_write(const struct rare_ways *w, FILE *f);
bool rare_read(struct rare_ways *w, const char *line);

#endif
