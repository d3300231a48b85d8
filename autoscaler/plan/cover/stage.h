/*
 * stage.h - the stages into which counted work is divided.
 *
 * The ends are fixed, whatever the budget: it only says where the work is cut
 * off, so what is done with less of it is a prefix of what is done with more.
 * A stage must be long against all before it, else its dive comes to nothing.
 * Budgets that people give are ends of stages: none of their work is cut short.
 */
#ifndef PLAN_COVER_STAGE_H
#define PLAN_COVER_STAGE_H

#include "cover.h"

enum { STAGES = 9 };

/* In counted steps; the last has no end. */
static inline uint64_t stage_end(uint32_t k)
{
    static const uint64_t ms[STAGES - 1] = {1,   5,    20,   100,
                                            500, 2000, 5000, 20000};

    return k < STAGES - 1 ? ms[k] * COVER_STEPS_PER_MS : UINT64_MAX;
}

#endif
