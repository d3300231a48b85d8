/*
 * send.h - the calls that the ledger says are due, and the journal.
 *
 * Nothing leaves before what it follows from is on disk, and with a copy in the
 * cluster, there too: it was written by an earlier step, and this one has looked
 * at what happened since.  A restart finds the same calls again, with the same
 * request ids.  Reads the ledger and the configuration; marks machines as busy,
 * gives calls to providers and sources.  Control thread only.
 */
#ifndef CONTROL_SEND_H
#define CONTROL_SEND_H

#include "providers/providers.h"
#include "requests.h"
#include "sources/sources.h"

struct send {
    struct env *env;
    struct ledger *ledger;
    const struct configuration *conf;
    const struct requests *requests;
    struct providers *providers;
    struct sources *sources;
};

void send_due(struct send *s);
/* Does an end wait for a reading that begins after it was decided? */
bool send_awaits_view(const struct send *s);
/* Could an end leave that waited for a reading? */
bool send_may_end(const struct send *s);
/* The journal alone.  Waits for the disk, at the daemon's end; false: it could not
 * be written. */
bool send_commit(struct send *s);
/* The same by the ledger's writer, as the last thing that a step does: the journal
 * is lent to it until it has landed. */
void send_commit_begin(struct send *s);

/* The journal could not be written: launches that are not in it are none.  They are
 * planned again when it can be, if they are needed still. */
void send_undo(struct send *s);

#endif
