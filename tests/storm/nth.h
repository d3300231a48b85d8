/*
 * nth.h - the n-th outside call fails: fixed scenarios, each call of them, each
 * kind of failure.
 */
#ifndef STORM_NTH_H
#define STORM_NTH_H

#include "script.h"

struct nth { /* what came of a scenario */
    const char *name;
    uint32_t calls, played, broken;
    char first[512]; /* that broke a law */
};

uint32_t nth_scenarios(void);
/* Every step-th of its calls fails, in each way. */
void nth_play(uint32_t scenario, uint32_t step, struct nth *ret);
/* One of these, to look at; false: there is none. */
bool nth_script(struct script *s, uint32_t scenario, uint32_t n,
                uint32_t failure);

#endif
