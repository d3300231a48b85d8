/*
 * observe.h - what did not happen in time: machines that show no progress,
 * drains that do not end, launches that could not be sent.
 *
 * What did happen is folded by the step that asked (providers, sources).  Reads
 * the configuration and how fresh providers and sources are; changes machines
 * in the ledger.  Decides nothing, sends nothing.  Control thread only.
 */
#ifndef CONTROL_OBSERVE_H
#define CONTROL_OBSERVE_H

#include "providers/providers.h"
#include "sources/sources.h"

struct observe {
    struct env *env;
    struct ledger *ledger;
    const struct configuration *conf;
    const struct providers *providers;
    const struct sources *sources;
    uint32_t stages; /* of all reservations, when they were looked at last */
};

void observe_deadlines(struct observe *o);

#endif
