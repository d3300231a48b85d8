/*
 * env.h - the ground under the steps of the loop: the times of this step, what
 * happened, where work is sent.
 *
 * Every step has a pointer to the one there is and may change it through these
 * functions.  It knows no step.  Control thread only, but for the metrics and
 * the events, which any thread may read.
 */
#ifndef CONTROL_ENV_H
#define CONTROL_ENV_H

#include "../base/worker.h"
#include "../store/journal.h"
#include "event.h"
#include "outside.h"
#include "shadow/shadow.h"
#include "status.h"

/* What may lie in the inbox: control.c gives each to its step. */
enum mail_kind {
    MAIL_CALL = 1,
    MAIL_SOURCE,
    MAIL_COMMAND,
    MAIL_COPY,
    MAIL_CONFIG,
    MAIL_IMPROVEMENT,
    MAIL_CERTIFICATE,
    MAIL_CLOSED,
    MAIL_JOURNAL
};

struct env {
    const struct outside *outside; /* who plays it; {0}: nobody */
    int64_t now_ms;                /* wall (steady), of this step */
    int64_t mono_ms;               /* the same moment, for intervals */
    int64_t slept_ms;              /* the computer, in all, until now */
    int64_t due_ms;        /* mono: when the next step runs at the latest */
    int64_t started_ms;    /* wall, of the daemon */
    bool news;             /* something is known that no plan knows yet */
    bool stopping;         /* answers still come, and change nothing */
    struct shadow *shadow; /* NULL: what is done is real.  Borrowed */
    struct mailbox inbox;
    struct workers *workers; /* for what may block */
    struct journal *journal; /* NULL before it is open */
    struct event_ring events;
    const char *caller; /* whose command is carried out; NULL: nobody's */
    struct metrics metrics;
    /* Called with every event; may be NULL. */
    void (*on_event)(void *arg, const struct event *e);
    void *arg;
};

/* A step begins: reads the clocks; nothing is due yet. */
void env_begin(struct env *e);
/* Runs a step at that time at the latest; INT64_MAX: never.  Whoever is asked
 * while a plan is made gets a plan then. */
void env_wake_mono(struct env *e, int64_t mono_ms);
void env_wake_wall(struct env *e, int64_t wall_ms);

/* Threads of its own for who may block for long; they answer to the inbox. */
struct workers *env_workers(struct env *e, unsigned n_threads,
                            unsigned max_stuck);

/* One event: to the log, to listeners, to the journal.  See event.h. */
void emit(struct env *e, const char *kind, const char *subject,
          const char *reason, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* The same with a text as it is, of any length. */
void emit_text(struct env *e, const char *kind, const char *subject,
               const char *reason, const char *text);
/* Opens the ring of events with what the journal has of them. */
void env_load_events(struct env *e);

#endif
