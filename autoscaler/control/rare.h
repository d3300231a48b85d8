/*
 * rare.h - the rare legal way, taken by chance where the world is played.
 *
 * A place at which something may come late, be full, be forgotten or be cut
 * short asks RARE(NAME), and goes that way when told so.  In the daemon the
 * answer is false when it is compiled, and nothing of it is left.  The program
 * of the storm (tests/storm/) compiles the files that have such places a second
 * time, with DAVIT_RARE, and answers from its seed: FoundationDB does the same
 * and calls it BUGGIFY (apple.github.io/foundationdb/testing.html).
 *
 * Each way must be one that the daemon may go without: it keeps its promises on
 * all of them.
 */
#ifndef CONTROL_RARE_H
#define CONTROL_RARE_H

#include <stdbool.h>

/*   name, word in a script; the way */
#define RARE_MAP(X) \
    /* an answer comes a step later: its thread was held up before the post */ \
    X(MAIL_LATE, "mail-late") \
    /* a plan is made though nothing is new */ \
    X(PLAN_AGAIN, "plan-again") \
    /* what is known to find nothing is tried again: a cache that forgot */ \
    X(SETTLED_FORGOTTEN, "settled-forgotten") \
    /* the view before this one is not there: demand waits for another look */ \
    X(VIEW_FORGOTTEN, "view-forgotten") \
    /* a call waits: so many are in flight */ \
    X(CALLS_FULL, "calls-full") \
    /* ends leave in several calls: a batch is full sooner */ \
    X(BATCH_SMALL, "batch-small") \
    /* a source's writer is at work: the question waits */ \
    X(WRITER_BUSY, "writer-busy") \
    /* where things were to go is too long to be kept with the machine */ \
    X(PREVIOUS_LONG, "previous-long") \
    /* the copy of the journal is written row by row */ \
    X(COPY_SMALL, "copy-small")

enum rare {
#define RARE_ENUM_(name, word) RARE_##name,
    RARE_MAP(RARE_ENUM_)
#undef RARE_ENUM_
        RARES
};

bool rare_taken(enum rare way); /* tests/storm/rare.c; no daemon has it */

#ifdef DAVIT_RARE
#define RARE(name) rare_taken(RARE_##name)
#else
#define RARE(name) false
#endif

#endif
