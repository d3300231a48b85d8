/*
 * settle.h - what is not known for sure, and what settles it: the table that
 * the ledger goes by.
 *
 *   standing    state                 billed  room   is forgotten by
 *   PLANNED     intended, not sent    no      yes    the plan, any time
 *   ASKED       intended, sent        yes     (*)    two good lists without it,
 *                                                    a settle time apart, begun
 *                                                    a settle time and a minute
 *                                                    after the last send, no
 *                                                    call being under way
 *   ACCEPTED    requested             yes     until  the same, after
 *                                             late   start_timeout
 *   THERE       starting, ready,      yes     yes    two good lists without it,
 *               draining                             a settle time apart
 *   ENDING      stopping              yes     when   the same
 *                                             void
 *   ENDED       stopping, confirmed   yes     no     two good lists without it,
 *                                                    the second begun after the
 *                                                    confirmation
 *
 * (*) While it is sent; then, as long as its provider can be read, until a good
 * list lacks it that was begun a settle time after the last send.  Who bought in
 * its place before might pay twice; when lists fail, work is not kept waiting.
 *
 * Billed: it counts towards max, max_nodes, max_launching and cost.  Room: the
 * plan may put work on it.  A good list is one that went well, is not short (see
 * lists.c) and is the provider's of this place (ours.h).  The settle time is
 * the provider's word: how long its list may lag (provider.h).  Nothing else
 * makes a machine leave the ledger but a person (`davit forget`).
 *
 * Pure but for what is said; control thread only.
 */
#ifndef CONTROL_SETTLE_H
#define CONTROL_SETTLE_H

#include "../model/fleet.h"

enum standing {
    STANDING_PLANNED,
    STANDING_ASKED,
    STANDING_ACCEPTED,
    STANDING_THERE,
    STANDING_ENDING,
    STANDING_ENDED,
    STANDING_GONE
};

enum standing standing_of(const struct machine *m);
/* Nobody knows whether it exists, and its launch is not sent again: it counts,
 * and no plan relies on it but while m->maybe.unlisted is false: the next good
 * lists may have it. */
bool standing_lost_sight(const struct machine *m);
/* Its end was never sent, or is refused for sure: nothing has happened to it,
 * and it may be used again.  Of machines that no demand source was asked to
 * drain; now_ms is wall. */
bool settle_end_void(const struct machine *m, int64_t now_ms);
/* A launch that nobody answered has come in by then, wall, or never will; an earlier
 * process may have sent it until this one began.  0: nothing of it is to come. */
int64_t settle_comes_ms(const struct machine *m, int64_t started_ms);
/* A good list that was begun then lacks the machine.  True: it is not there.
 * Remembers when it was missed first (m->maybe.missing_ms), and that lists do
 * not have what its launch may have led to (m->maybe.unlisted). */
bool settle_absent(struct machine *m, int64_t list_begun_ms, int64_t settle_ms);

#endif
