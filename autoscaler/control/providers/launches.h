/*
 * launches.h - what is known of each launch that may be sent, or sent again, in one
 * pass over the machines: their launches are looked at one by one, and those of a
 * purchase are many.
 *
 * It is of a moment: what happens to a launch afterwards is not in it, and each is
 * acted on once.  Control thread only.
 */
#ifndef CONTROL_LAUNCHES_H
#define CONTROL_LAUNCHES_H

#include "providers.h"

struct launch_sum {
    const char *request_id;
    uint32_t n;       /* its machines that the ledger has */
    int64_t unneeded; /* wall, since one of them keeps it from being sent
                         * again; INT64_MAX: none does */
    bool waits;       /* for the disk, or the copy, one of them */
};

struct launches { /* {0}: not looked at yet */
    struct arena arena;
    struct hash by_request;
    bool known;
};

/* Of the machine's launch, of which one is INTENDED still. */
const struct launch_sum *launch_sum(struct launches *l,
                                    const struct ledger *ledger,
                                    const struct machine *m);
/* Since when (wall ms) its launch is not to be sent again: one machine of the
 * request has ended or, on its way, is not needed, and the same request can ask for
 * no less.  INT64_MAX: all are needed; 0: some are in the ledger no more. */
int64_t launch_unneeded_since(struct launches *l, const struct ledger *ledger,
                              const struct machine *m);
void launches_done(struct launches *l);
/* Of each provider over_ms, in one pass over the machines. */
void launches_over_note(const struct providers *p);

#endif
