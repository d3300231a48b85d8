/*
 * worker.h - who runs blocking jobs and posts the answers back: threads, or,
 * in a simulation, whoever plays them in its own time and order.
 *
 * A job owns its inputs; run() executes on a worker; afterwards the job is
 * posted to the pool's mailbox with mail.kind as the submitter set it.  A job
 * past its deadline is abandoned: its worker is replaced (within max_stuck),
 * and when run() returns after all, the job is posted all the same with
 * abandoned set, so that its owner can free it.  Nothing is ever cancelled
 * by force.  Thread: submit from any; workers_check from the owner.
 */
#ifndef BASE_WORKER_H
#define BASE_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "mailbox.h"

struct job {
    struct mail mail; /* first: the job is its own answer */
    void (*run)(struct job *);
    int64_t deadline_mono_ms; /* 0: none */
    bool abandoned;           /* set by the pool, read after it is posted */
    bool must;                /* it runs although its pool ends meanwhile */
    bool brief; /* for who plays it: it takes no time but what it calls does */
};

/* Of any kind: each has this first. */
struct workers {
    const struct workers_ops *ops;
};

/* As the functions below. */
struct workers_ops {
    bool (*free)(struct workers *w, int64_t wait_ms);
    void (*submit)(struct workers *w, struct job *job);
    unsigned (*check)(struct workers *w, int64_t mono_ms);
};

/* Threads. */
struct workers *workers_new(unsigned n_threads, unsigned max_stuck,
                            struct mailbox *answers);
/* For a job that only computes, in a pool of its own: from now on its thread has
 * the lowest priority of the process, where the system lets it. */
void workers_yield(void);
/* Queued jobs are posted abandoned but for those that must run; these and
 * running ones are waited for.  False when
 * some still run after wait_ms: then the pool stays as it is, and only the end
 * of the process ends them. */
bool workers_free(struct workers *w, int64_t wait_ms);
void workers_submit(struct workers *w, struct job *job);
/* Replaces workers whose job is past its deadline; returns how many jobs are
 * stuck now.  Call it from a timer. */
unsigned workers_check(struct workers *w, int64_t mono_ms);

#endif
