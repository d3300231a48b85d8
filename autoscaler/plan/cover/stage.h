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

/* The ends of the first are told, the others end at four times the one before: the last
 * after ten years, so that parts of a stage are reckoned in 64 bits. */
enum { STAGES_TOLD = 8, STAGES = 20 };

/* In counted steps. */
static inline uint64_t stage_end(uint32_t k)
{
    static const uint64_t ms[STAGES_TOLD] = {1,   5,    20,   100,
                                             500, 2000, 5000, 20000};

    if (k < STAGES_TOLD)
        return ms[k] * COVER_STEPS_PER_MS;
    return ms[STAGES_TOLD - 1] * COVER_STEPS_PER_MS
           << 2 * (k - STAGES_TOLD + 1);
}

#endif
