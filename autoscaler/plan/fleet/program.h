/*
 * program.h - the fleet as a cover problem.
 *
 * Private to plan/fleet/.
 */
#ifndef PLAN_FLEET_PROGRAM_H
#define PLAN_FLEET_PROGRAM_H

#include "../candidate.h"
#include "../cover/cover.h"

/* What an item stands for; n 0: bundles of its shape. */
struct fleet_stand {
    bool whole;              /* equal gangs, each on one machine; else the */
    uint32_t gang;           /* bundles of a shape of equal gangs like this */
    const uint32_t *demands; /* that lie apart; their demands */
    uint32_t n;
};

struct fleet_program {
    struct cover_problem p;
    /* Per item. */
    uint32_t *shape; /* of a whole gang: one of them */
    enum side *side;
    struct fleet_stand *stand;
    bool strict; /* any item stands for gangs */
    /* Per bin: a node that is there and that a fleet may do without. */
    bool *optional;
    bool any_optional;
    bool *is_min;  /* per bin: one that a min pays for */
    bool empty;    /* no node is there */
    int64_t cost;  /* micros an hour: of the plan's fleet */
    int64_t paid;  /* part of it: every fleet has these nodes, or such mins */
    int64_t there; /* of all nodes that are there, kept or not */
};

/* All in the candidate's arena. */
void fleet_program_make(const struct candidate *best,
                        const struct candidate *base, const struct plan *plan,
                        struct fleet_program *ret);

#endif
