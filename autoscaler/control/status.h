/*
 * status.h - what the world may see: the last tick, published whole.
 *
 * A page owns the arena of the step that made it (snapshot, problem, plan and
 * the few records below live there), keeps what that points into (configuration,
 * views, requests), and is immutable; the API renders its views from it on its
 * own threads.  Reference-counted; the last one out frees.
 */
#ifndef CONTROL_STATUS_H
#define CONTROL_STATUS_H

#include <pthread.h>
#include <stdatomic.h>

#include "../base/exposed.h"
#include "../base/shared.h"
#include "../cloud/traffic.h"
#include "../model/plan.h"
#include "figures/figures.h"

struct status_request {       /* one owner's request as it stands */
    const char *owner, *body; /* body: canonical JSON */
    int64_t created_ms, expires_ms;
    const char *problem; /* "", or why it cannot be read; body is "" then */
    const char *share;   /* who asked: "token/ci"; "": not known */
};

struct status_provider {
    const char *name, *plugin, *version;
    bool ready;
    const char *problem; /* "" when ready */
    bool elsewhere;      /* it waits: its machines are in another place */
    bool list_short;     /* its list waits: too many are missing */
    int64_t listed_ms;   /* last good list, wall; 0 never */
    uint32_t machines;
    struct traffic_sum traffic; /* HTTP exchanges with its cloud */
};

struct status_backoff { /* an offer or provider set aside */
    const char *provider, *type, *zone, *text;
    bool spot;
    enum status why;
    int64_t until_ms;
};

struct status_failure { /* a launch that failed lately */
    const char *machine, *type, *text;
    enum status why;
    int64_t at_ms;
};

struct status_stop { /* what stops a part of us, and how it ends */
    const char *kind, *subject, *text;
    bool failing; /* we are not ready while it lasts */
};

struct status_left { /* a pod that is left out of the plan, and why */
    const char *name, *code, *text;
};

struct status_displaced { /* one owner lost places to another */
    const char *owner, *by;
    const char *node;     /* the first of the places */
    const char *launches; /* bought for it: "1 x v100"; "": it waits */
    uint32_t bundles;
    int64_t at_ms, micros_hour;
    bool over; /* they have their places now */
};

struct status_held {
    void *what;
    void (*release)(void *what);
};

struct status_page {
    atomic_uint refs;
    struct arena arena;
    uint64_t tick;      /* grows by one per tick */
    int64_t started_ms; /* of the daemon */
    const char *version;
    const struct snapshot *snapshot;
    const struct problem *now;
    const struct plan *plan;   /* what was done */
    const struct plan *proved; /* the same one, of whose fleet more is proved:
                                * for those who read it; NULL: plan is */
    int64_t planned_us;        /* CPU time of the planner */
    int64_t thinking_until_ms; /* wall: launches that are not final wait so
                                * long at most; 0: none waits */
    /* Ray head; address "" without one */
    const char *ray_address, *ray_session, *ray_problem;
    bool ray_ok;
    int64_t ray_read_ms, ray_version;
    int64_t ray_began_ms; /* what it told last is of then, or later */
    const struct status_request *requests;
    uint32_t n_requests;
    const struct status_provider *providers;
    uint32_t n_providers;
    const struct status_backoff *backoffs;
    uint32_t n_backoffs;
    const struct status_failure *failures;
    uint32_t n_failures;
    const struct status_stop *stops;
    uint32_t n_stops;
    const struct status_left *left;
    uint32_t n_left;
    const struct status_waiting {
        const char *reason, *text;
        uint32_t n;
    } * waiting; /* pods without a node; each is in one */
    uint32_t n_waiting;
    uint32_t n_crowded; /* of what sources ask for: too many different ones */
    const struct status_displaced *displaced;
    uint32_t n_displaced;
    bool shadow;   /* nothing of it is real: shadow/shadow.h */
    bool insecure; /* an API server's certificate is not checked */
    const char *exposed[EXPOSED_MAX]; /* files that others may read or write */
    uint32_t n_exposed;
    const char *config_path, *config_problem; /* a reload that was refused */
    bool config_held;                         /* it waits for `davit apply` */
    const char *config_ends;   /* machines that it would end, a blank between */
    const char *config_digest; /* of what is held; "" */
    const char *another_head;  /* its session; "" */
    const char *copied; /* a launch of a daemon with a copy of this journal */
    const char *held_ends; /* machines whose end is held, a blank between */
    int64_t config_loaded_ms;
    bool journal_ok;
    const char *journal_problem; /* why not, in the words of the disk; "" */
    unsigned copy_percent;       /* how full the ConfigMaps are; 0 without */
    bool copy_filling;           /* nearly full */
    uint32_t n_unread;  /* rows of the journal, and requests, that this version
                         * does not know in full */
    const char *unread; /* the first of them; "" */
    VEC(struct status_held) held; /* what it points into beside its arena */
};

/* Where the current one is kept. */
struct status_board {
    pthread_mutex_t lock;
    struct status_page *now;
};

/* Micro-dollars an hour of all machines that are there and whose price is
 * known. */
int64_t status_cost(const struct status_page *s);

struct status_page *status_new(void); /* one reference, the caller's */
/* Takes a reference, released with the page; before it is published. */
void status_hold(struct status_page *s, void *what, void (*release)(void *));
void status_hold_shared(struct status_page *s, struct shared *what);

void status_board_init(struct status_board *b);
void status_board_done(struct status_board *b);
void status_publish(struct status_board *b,
                    struct status_page *s); /* takes it */
struct status_page *status_get(
    struct status_board *b); /* a reference, or NULL */
void status_unref(struct status_page *s);

/* Counters of the whole life, for /metrics: any thread adds and reads. */
#define METRIC_MAP(X) \
    X(ticks, "Loop iterations") \
    X(plans, "Plans that asked for an action") \
    X(launches, "Machines asked of providers") \
    X(launch_failures, "Launch calls that failed") \
    X(ends, "Machines ended") \
    X(end_failures, "Terminate calls that failed") \
    X(drains, "Drains asked of the head") \
    X(drains_refused, "Drains the head refused") \
    X(undrains, "Drains taken back") \
    X(joined, "Machines that became ready") \
    X(lost, "Machines that vanished without us") \
    X(source_reads, "Good reads of the Ray head") \
    X(source_failures, "Failed reads of the Ray head") \
    X(provider_calls, "Provider operations") \
    X(provider_failures, "Provider operations that failed") \
    X(requests, "Resource requests accepted") \
    X(reloads, "Configurations taken over") \
    X(reload_failures, "Configurations refused") \
    X(journal_failures, "Journal batches that failed")
struct metrics {
#define METRIC_FIELD_(name, help) atomic_ullong name;
    METRIC_MAP(METRIC_FIELD_)
#undef METRIC_FIELD_
    atomic_ullong plan_us_sum, plan_us_max, tick_us_sum;
    atomic_ullong steps;       /* of the loop, with and without a plan */
    atomic_ullong step_us_max; /* the longest since the start, by the wall */
    atomic_llong commit_ms; /* mono: a commit is under way since then; 0: none
                             * is */
    atomic_ullong spared;   /* plans that did not try to consolidate again */
    struct figures figures; /* those with labels */
};

#endif
