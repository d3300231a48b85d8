/*
 * ends.h - the one road to a machine's end, whatever the cause: idle, over a
 * max, outdated, failed, taken back, of no use any more.
 *
 *   what it is (settle.h)         the road
 *   planned                       forgotten
 *   asked, accepted               its launch is not sent again; a list tells
 *   there, with a demand source   drained: the source is asked on this occasion
 *                                 (one that did not join: whether it has now)
 *   there, without                ended
 *
 * Two brakes.  An end that is confirmed is free: the demand source agreed that
 * the node is idle, the cloud takes the machine back itself, it never joined,
 * or the request that needed it has ended.  All others pass limits.max_ends:
 * so many in ten minutes, a tenth of the machines by default, at least one.
 * Past that they wait, until nothing more is wanted of them or a person says go
 * on (`davit release`).
 *
 * Changes machines in the ledger.  Control thread only.
 */
#ifndef CONTROL_ENDS_H
#define CONTROL_ENDS_H

#include "../model/plan.h"
#include "configuration.h"
#include "ledger.h"
#include "sources/sources.h"

/* Ends of one step that were not confirmed. */
struct ends_then {
    int64_t at_ms; /* wall */
    uint32_t n;
};

struct ends {
    struct env *env;
    struct ledger *ledger;
    struct configuration *conf; /* a start's may be held here */
    const struct sources *sources;
    VEC(struct ends_then) recent;   /* in the journal, too; heap */
    bool unwritten;                 /* it is not, as it is now */
    uint32_t allowed;               /* a person let so many go on, */
    int64_t allowed_ms;             /* wall: then */
    bool agreed;                    /* or to these (machine.end_agreed), then */
    uint32_t held;                  /* in this step: wanted, and not allowed */
    uint32_t held_last;             /* in the step before */
    uint32_t by_file, by_file_last; /* likewise: of a file that is held */
    uint32_t risen; /* in this step: over the budget by a price that
                                   * rose, and kept; not the brake's */
    bool rose;      /* there were such in the step before */
    bool shut;      /* from the first that was held to the release */
    uint32_t there; /* machines, as this step began */
    VEC(const char *)
    dropped;   /* request ids of intents that this step dropped,
                                * one for each; heap */
    bool wave; /* in this step: so many raylets are dead at once that who
                     * says so may be wrong */
};

/* The fields before recent are set: reads what the journal has, so that a daemon
 * that begins again and again does not let a tenth go each time. */
void ends_open(struct ends *e);
void ends_close(struct ends *e);
/* A step begins.  Begun on another file than the one that was in force last, with a
 * plan that would end more than may go at once, it ends none of these before a person
 * approves: an edit while davit was down, or a held file and a restart, is no
 * approval. */
void ends_begin(struct ends *e, const struct problem *now,
                const struct plan *plan);
struct planned {
    const struct problem *now;
    const struct plan *plan;
};
/* What the file wants to be ended, by a max, the budget, another image, or as nothing
 * needs it any more under that file (a lowered quota): how many, their dollars, and
 * their names with a blank between. */
struct ends_by_file {
    uint32_t n, unneeded;
    int64_t micros_hour;
    char *names; /* in the arena */
};
/* before: under the file in force, at the same moment; NULL: not compared. */
struct ends_by_file ends_by_file(const struct planned *after,
                                 const struct planned *before, struct arena *a);
/* "would end 7 machines of 4.90 $/h (a, b, c and 4 more)" */
char *ends_by_file_text(const struct ends_by_file *x, struct arena *a);
/* Forgets what is planned and was not sent. */
void ends_planned(struct ends *e);
/* Takes the road, for that reason; false: it is held. */
bool machine_end(struct ends *e, struct machine *m, enum reason why);
/* What has failed, or is taken back by its cloud. */
void ends_due(struct ends *e);
/* The step is over: tells when the brake was shut or opened, and when prices hold
 * ends. */
void ends_finish(struct ends *e);
/* How many may go at once under these settings. */
uint32_t ends_most(const struct ends *e, const struct config *conf);
/* So many of the next that are not confirmed go all the same. */
void ends_allow(struct ends *e, uint32_t n);
/* A person has seen that this one would be ended, and says so be it. */
void ends_agree(struct ends *e, struct machine *m);
/* A person says: what the file in force wants to be ended may go, whatever was saved
 * since, and could not be read.  named: those that he agreed to, and no other. */
void ends_approve(struct ends *e, bool named);
/* A person says: those that the brake holds may go, also those that a price that rose
 * would have ended; named as above. */
void ends_release(struct ends *e, const char *by, bool named);

#endif
