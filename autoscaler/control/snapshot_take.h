/*
 * snapshot_take.h - all that is known, as the planner's snapshot.
 *
 * Pure queries: they read every step's struct and change none.  What lives
 * longer than the step (configuration, views, requests) is pointed into, and the
 * page keeps a reference; the rest is copied into the page's arena.
 */
#ifndef CONTROL_SNAPSHOT_TAKE_H
#define CONTROL_SNAPSHOT_TAKE_H

#include "look/improvement.h"
#include "previous.h"
#include "providers/providers.h"
#include "requests.h"
#include "sources/sources.h"

/* What a snapshot is taken of. */
struct known {
    const struct env *env;
    const struct ledger *ledger;
    const struct configuration *conf;
    const struct providers *providers;
    const struct sources *sources;
    const struct requests *requests;
    const struct previous *previous;
    const struct improvement *improvement;
};

/* Whose nodes and demands they are: by the numbers of the snapshot (see
 * pb_node.from, pb_demand.from).  NULL: nobody's of ours. */
struct taken {
    const struct snapshot *snapshot;
    struct machine *const *machines; /* per node */
    struct request *const *requests; /* of the first demands */
    uint32_t n_requests;
    bool unconfirmed;     /* some demand needs a second view */
    int64_t confirmed_ms; /* mono: when some of it is in doubt no longer
                           * (sources/lately.h); INT64_MAX: none is */
};

/* In the page's arena; the page gets the references. */
struct taken snapshot_take(const struct known *k, struct status_page *page);
/* When it will say something else though nothing happens, wall; INT64_MAX:
 * never. */
int64_t snapshot_changes_ms(const struct known *k);

#endif
