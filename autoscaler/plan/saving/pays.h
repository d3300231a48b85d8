/*
 * pays.h - is it worth a move?  What a node's work moves to is bought first, or is
 * idle and would have gone, so a move costs both machines for a while, and work that
 * begins again.
 *
 * Who moves when staying has cost that much already has paid for the move once,
 * whatever prices do next, and has the past against moving back: prices that change
 * places every few minutes move nothing.
 */
#ifndef PLAN_PAYS_H
#define PLAN_PAYS_H

#include "../candidate.h"
#include "../host_group.h"

struct move {
    const struct host_groups *groups;
    const struct candidate *d; /* the plan with it */
    uint32_t first, other; /* what goes: the first of its host group; NONE */
    const bool *over;      /* per node: it takes work over, and would have gone */
    bool busy;             /* work runs there */
    int64_t price, gain;   /* an hour: of what goes; what is saved */
};

bool move_pays(const struct move *m);

#endif
