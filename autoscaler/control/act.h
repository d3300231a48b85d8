/*
 * act.h - a plan becomes intents in the ledger; send.h turns these into calls.
 *
 * Reads the plan, the configuration, the sources' views.  Adds machines to the
 * ledger, sends those that end on their way (ends.h), notes which are needed.  Sends nothing, so a
 * restart needs nothing else than the ledger.  Control thread only.
 */
#ifndef CONTROL_ACT_H
#define CONTROL_ACT_H

#include "ends.h"
#include "report/decisions.h"
#include "report/displacing.h"
#include "snapshot_take.h"

struct act {
    struct env *env;
    struct ledger *ledger;
    const struct configuration *conf;
    const struct providers *providers;
    const struct sources *sources;
    struct ends *ends;
    const struct displacing *displacing;
    struct decisions *decisions; /* what is done is told there */
};

/* waits: launches that are not final are left out.  Machines intended. */
uint32_t act(struct act *a, const struct taken *taken,
             const struct problem *now, const struct plan *plan, bool waits);

#endif
