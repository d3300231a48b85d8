/*
 * requests.h - what owners asked for, one request each, kept until overridden.
 *
 * A request is in force once it is on disk; requests of different owners add
 * up.  What comes through Ray's SDK is owner "ray" and lives in the head.
 * Reads the configuration (for its queues); writes the journal's rows of
 * requests, and changes nothing else.  Control thread only.
 */
#ifndef CONTROL_REQUESTS_H
#define CONTROL_REQUESTS_H

#include "asked.h"
#include "command.h"
#include "configuration.h"
#include "ledger.h"

/* As it stands; it lies in its memory, as all that demand points to. */
struct request {
    struct shared *memory;
    const char *owner, *body; /* body: canonical JSON */
    struct snap_demand demand;
    const char *share; /* who asked, in whose share it counts; "" : not known */
    int64_t created_ms, expires_ms; /* wall; 0 never */
    const char *problem; /* "", or why this version cannot read the body: it
                          * is kept and asks for nothing until replaced */
    bool aside;          /* it can be read, and to plan for it takes too long */
};

/* What could not be planned for in time is left out of the plan for a while, whoever
 * asks for it. */
struct set_aside {
    enum demand_source source;
    char owner[256], id[256];
    int64_t until_ms; /* mono */
};

struct requests {
    struct env *env;
    const struct ledger *ledger;
    const struct configuration *conf;
    VEC(struct request *) all;   /* sorted by owner; heap */
    struct asked asked;          /* all of them together */
    VEC(struct set_aside) aside; /* of sources; heap */
};

/* Reads those of the journal; one that does not validate is kept as it is. */
enum status requests_open(struct requests *r, struct env *env,
                          const struct ledger *l,
                          const struct configuration *conf, struct err *err);
/* Planning for it takes too long: a request asks for nothing until its owner
 * replaces or clears it, other demand for ten minutes. */
void requests_set_aside(struct requests *r, const struct snap_demand *d,
                        const char *why);
bool requests_leave_out(const struct requests *r, const struct snap_demand *d);
/* Tells of those that could not be read. */
void requests_tell(const struct requests *r);
void requests_close(struct requests *r);
/* COMMAND_REQUEST_PUT and DROP: takes effect, or says why not. */
void requests_fold(struct requests *r, struct command *cmd);
/* Its batch cannot be written: what stood before stands again. */
void requests_undo(struct requests *r, struct command *cmd);
/* It is on disk: what stood before is freed. */
void requests_done(struct command *cmd);
void requests_expire(struct requests *r);
/* A request that names a queue must be able to use it.  Later, when a reload takes the
 * queue away, the plan says why it waits. */
enum status request_queue_check(const struct snap_queue *queues, uint32_t n,
                                const struct snap_demand *d, struct err *err);
/* Puts all of them into the batch again. */
void requests_rewrite(const struct requests *r);

/* ---- request_fallback.c: the times of any_of
 *
 * An alternative's turn comes when the ones before it were not had for its
 * time.  While the first is had, on nodes that are ready, that time begins
 * now: a node that is lost after a day is asked for again before anything else
 * is.  Only in memory: after a restart it is that of the request until the
 * first plan. */
/* After each plan.  asked: the requests that the first n demands of the
 * snapshot are (struct taken). */
void requests_fallback(struct env *env, const struct problem *now,
                       const struct plan *plan, struct request *const *asked,
                       uint32_t n);

#endif
