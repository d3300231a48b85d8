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

/* Per type, how many more machines it has than its min.  In d's arena. */
uint32_t *types_spare(const struct candidate *d);
/* Does a node that nothing needs go, some time?  Else nothing is saved on it.  Takes
 * one from spare. */
bool node_goes_when_idle(const struct problem *s, const struct pb_node *n,
                         uint32_t *spare);
/* Per node, whether something is placed on it.  In d's arena. */
bool *nodes_needed(const struct candidate *d);

struct move {
    const struct host_groups *groups;
    const struct candidate *d; /* the plan with it */
    uint32_t first, other; /* what goes: the first of its host group; NONE */
    const bool *over;    /* per node: it takes work over, and would have gone */
    bool busy;           /* work runs there */
    int64_t price, gain; /* an hour: of what goes; what is saved */
};

bool move_pays(const struct move *m);

#endif
