/*
 * attempt.h - one try to place a gang, by its strategy.
 *
 * For gang.c only, which checks that it is placed whole and undoes it if not.
 */
#ifndef PLAN_GANG_ATTEMPT_H
#define PLAN_GANG_ATTEMPT_H

#include "../buy/buy.h"
#include "../candidate.h"

struct attempt {
    struct candidate *d;
    const struct gang *g;
    uint32_t ix; /* of the gang */
    const uint32_t *groups, *alts;
    uint32_t *left; /* of each group before the attempt */
    struct buy_for what;
    bool there; /* nothing is bought */
};

/* Places what it can: on nodes that are there first, then on bought ones. */
void attempt_place(const struct attempt *a);
/* As it was at the mark and before the attempt. */
void attempt_undo(const struct attempt *a, struct mark mark);

#endif
