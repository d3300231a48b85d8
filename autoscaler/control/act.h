/*
 * act.h - a plan becomes intents in the ledger; send.h turns these into calls.
 *
 * Reads the plan, the configuration, the sources' views.  Adds machines to the
 * ledger, moves those that end, notes which are needed.  Sends nothing, so a
 * restart needs nothing else than the ledger.  Control thread only.
 */
#ifndef CONTROL_ACT_H
#define CONTROL_ACT_H

#include "snapshot_take.h"

struct act {
    struct env *env;
    struct ledger *ledger;
    const struct configuration *conf;
    const struct providers *providers;
    const struct sources *sources;
};

/* waits: launches that are not final are left out.  Machines intended. */
uint32_t act(struct act *a, const struct taken *taken,
             const struct problem *now, const struct plan *plan, bool waits);

#endif
