/*
 * unplaced.h - demand that waits: who, why, and when it is over.
 *
 * A note is one owner and one reason, however many bundles.  It is emitted when it
 * has lasted for a moment, and not again within a minute, so that demand that
 * flickers does not push everything else out of the ring; its end when it has lasted,
 * too: a view that lacks it may be one between two places.  That a second look
 * follows is no obstacle, and is not told.  There is a ceiling
 * on notes: whoever has most of them gives way to another one; the API and the
 * metrics show all.  Reads the page of
 * this step, changes nothing but its notes.  Control thread only.
 */
#ifndef CONTROL_UNPLACED_H
#define CONTROL_UNPLACED_H

#include "../../base/buf.h"
#include "../env.h"

struct unplaced_note {
    char owner[96];
    char share[96]; /* who asked for it, or the owner */
    bool infeasible, emitted;
    enum reason why;
    uint32_t count, bundle;       /* in this step; the first of them */
    int64_t since_ms, emitted_ms; /* mono; 0: not now, never */
    int64_t over_ms; /* mono: nothing of it waits since; 0: it does */
};
enum { UNPLACED_NOTES = 64 };

struct unplaced {
    struct env *env;
    struct unplaced_note notes[UNPLACED_NOTES];
    uint32_t n;
    uint32_t most; /* notes of one share; as one was made last */
};

/* After each plan. */
void unplaced_emit(struct unplaced *u, const struct status_page *page);

/* "t4 lacks GPU: 16 needed, 4 there; a100 ..." of a bundle's refusals, with what its
 * own scheduler says of it. */
void unplaced_obstacles(const struct status_page *page, uint32_t bundle,
                        struct buf *b);
/* Has the daemon only just started, and are there no first lists yet?  Then
 * that demand waits is no news. */
bool unplaced_is_early(const struct env *env, enum reason why);

#endif
