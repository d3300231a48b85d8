/*
 * ledger.h - our machines, what follows when one changes its state, and how
 * all of it is kept: in the journal, and in the cluster when we lead (ha.h).
 *
 * Ground, like env.h: every step may read it; who changes a machine says so in
 * its own header, and does it through these functions or sets fields and calls
 * fleet_touch().  Control thread only.
 */
#ifndef CONTROL_LEDGER_H
#define CONTROL_LEDGER_H

#include "../cloud/cloud.h"
#include "../model/fleet.h"
#include "../model/mark.h"
#include "env.h"
#include "ha/ha.h"

/* A launch that failed lately, for people. */
struct failure_note {
    char machine[48], type[64], text[208];
    enum status why;
    int64_t at_ms;
};
enum { FAILURES_KEPT = 16 };

/* A type of which one was bought in vain: for bundles of this shape, or
 * because its nodes have a taint that nobody told us of. */
struct unhelped_note {
    char type[64];
    uint64_t shape; /* pb_shape.plain; 0: it is the taint */
    char key[320], value[64];
    enum taint_effect effect;
    int64_t until_ms, delay_ms;
};

/* A spot machine was taken back: report/interrupted.h. */
struct interruption {
    int64_t at_ms; /* wall */
    char provider[32], type[64], zone[48];
};

/* Whose journal it is: ours.h. */
struct provider_facts {
    char *name, *place; /* heap; place "": not known yet */
    bool listed;        /* a good list of it was seen in this journal's life */
};
struct ours {
    char owner[MARK_OWNER + 1];     /* six hexadecimal digits */
    char join_key[65];              /* "": no launch has needed one */
    char *cluster;                  /* heap; NULL: not said yet */
    bool began_empty;               /* it had no machines when it was opened */
    struct incarnation incarnation; /* of this process */
    int64_t alone_s; /* wall: before it launches that are not known may be of
                      * an earlier process of this very journal */
    int64_t last_s;  /* of the last request id, */
    uint32_t nth;    /* so many of that second */
    char elder[40], younger[40]; /* a launch of a daemon that has a copy of this
                                  * journal, and began earlier, later; "" */
    VEC(struct provider_facts) providers;
};

/* What a node type is, or was, by its name: type_names.h. */
struct type_fact {
    char *provider, *name;  /* heap */
    char hash[20];          /* conf_type.hash; "": nothing is known */
    char made[20];          /* conf_type.made; "": not known */
    int64_t micros_hour[2]; /* of one on demand, of a spot one; -1: unknown */
};

/* A machine whose end was asked for, and that a list may have again. */
struct ended_note {
    char provider[32], cloud_id[128], request_id[40];
};
enum { ENDED_KEPT = 256 };

struct ledger {
    struct env *env;
    struct ha *ha;    /* NULL: we are alone */
    const char *path; /* of the journal, for messages */
    struct ours ours;
    VEC(struct type_fact) types;
    bool limit_known; /* max_cost_per_hour of the last file in force: */
    int64_t limit_micros_hour; /* -1: none; prices/agreed.h */
    int64_t source_read_ms;    /* wall: the last good view of its machines */
    char head_session[256];    /* of the head that they joined; "": not known */
    char file[20]; /* digest of the configuration that a person wants; "" */
    struct fleet fleet;
    struct backoffs *backoffs;          /* what failed launches taught */
    VEC(struct unhelped_note) unhelped; /* and those that came: unhelped.h */
    VEC(struct interruption) interruptions; /* oldest first; heap */
    VEC(struct ended_note) ended;           /* the last ones; heap */
    uint32_t n_ended;                       /* ever */
    struct failure_note failures[FAILURES_KEPT];
    uint32_t n_failures;    /* ever */
    struct workers *writer; /* commits, one at a time; NULL: they take no time */
    bool committing; /* a batch is with it: the journal is not to be touched */
    uint64_t batch, saved; /* the number of the one that collects; of the last
                             * that is on disk */
    bool journal_ok;       /* the last commit was good */
    struct err problem;    /* or why it was not */
    bool stale;            /* memory is ahead: all is written again */
    int64_t again_ms;      /* mono: if it was not, it is tried again then, */
    int64_t pause_ms;      /* after such a pause */
    bool copy_filling;     /* the ConfigMaps are nearly full */
    bool copy_ok;          /* and the last write of its copy was good */
};

/* Opens the journal and reads the machines.  With ha, what the last leader
 * knew is put into it first.  path and ha are borrowed. */
enum status ledger_open(struct ledger *l, struct env *env, struct ha *ha,
                        const char *path, struct err *err);
void ledger_close(struct ledger *l); /* fine after a failed open */

/* A look that may tell of its join: the one before it was begun then. */
void machine_looked(struct ledger *l, struct machine *m, int64_t before_ms);
/* The only way to another state: counts, tells, remembers how long it took. */
void machine_to(struct ledger *l, struct machine *m, enum machine_state to);
/* Its drain, or an end that came to nothing, is not wanted any more: back to use.
 * Not once its source has accepted the drain, or the cloud may be ending it. */
void machine_take_back(struct ledger *l, struct machine *m);
/* Its launch has failed; the caller moves it. */
void machine_fail(struct ledger *l, struct machine *m, enum status why,
                  const char *text);
/* One that was ready, or not, is no more, and nobody wanted that: when it died so
 * soon that it was of no use, its offer backs off likewise. */
void machine_died(struct ledger *l, struct machine *m, const struct err *e);
/* That alone, for one that is gone already. */
void machine_short_life(struct ledger *l, const struct machine *m,
                        const struct err *e);
/* The same of one whose node joined and is not ready any more before it has proved
 * itself: once.  It may be ready again yet. */
void machine_vain(struct ledger *l, struct machine *m);
/* It has lived for long enough to be of use. */
void machine_proved(struct ledger *l, struct machine *m);
/* From when on, wall. */
int64_t machine_proves_ms(const struct machine *m);
/* machine_fail() for one that existed and was paid for, and never came to be of
 * use: its offer backs off for longer each time. */
void machine_fail_life(struct ledger *l, struct machine *m,
                       const struct err *e);
/* Its launch left and is not answered: it is not sent again, and counts until a
 * list tells what came of it. */
void machine_doubt(struct ledger *l, struct machine *m, const struct err *e);
/* May something be asked about it now?  Not while something is, before its next
 * try, or before it is in the copy. */
bool machine_due(const struct ledger *l, const struct machine *m);
/* Its cloud is to be asked for its end. */
bool machine_end_due(const struct ledger *l, const struct machine *m);

/* Was its end asked for before it was gone?  Of the last few hundred. */
bool ledger_had_ended(const struct ledger *l, const char *provider,
                      const char *cloud_id, const char *request_id);

/* The head whose nodes the machines are has that session. */
void ledger_head_is(struct ledger *l, const char *session);

/* This configuration is in force, and what it ends is what a person wants. */
void ledger_file_is(struct ledger *l, uint64_t digest);
/* Another one was when this journal was written last. */
bool ledger_file_differs(const struct ledger *l, uint64_t digest);

/* Puts all machines into the batch again, in place of what the journal has. */
void ledger_rewrite(struct ledger *l);
/* What was written since the last one is on disk; false: it is not, and
 * nothing may be done on the strength of it.  Waits for the disk, whatever that
 * takes.  For send_commit() alone: after one that failed all of memory has to be
 * written. */
bool ledger_commit(struct ledger *l);
/* The same by the writer, if there is a batch: its answer is MAIL_JOURNAL. */
void ledger_commit_begin(struct ledger *l);
void ledger_committed(struct ledger *l, struct mail *mail);
/* Stops the writer.  False: a commit hangs, the journal is not to be touched. */
bool ledger_writer_stop(struct ledger *l, int64_t wait_ms);
/* Is the batch of this number not on disk yet? */
bool ledger_unsaved(const struct ledger *l, uint64_t batch);
/* Sends what was committed to the copy in the cluster, and folds the answer. */
void ledger_copy(struct ledger *l);
void ledger_copied(struct ledger *l, struct mail *mail);
/* Is what the journal has of it not in the copy yet?  kind: "machine",
 * "request". */
bool ledger_waits(const struct ledger *l, const char *kind, const char *id);
/* Is its last change not on disk yet, or not in the copy? */
bool machine_waits(const struct ledger *l, const struct machine *m);
/* May anything leave?  Not while the lease may be another's; wakes the loop. */
bool ledger_leads(struct ledger *l);

#endif
