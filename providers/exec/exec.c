/*
 * exec.c - a provider written in any language: a child process that speaks JSON
 * lines on its stdin and stdout.  docs/exec.md is the protocol.
 *
 * This file is the table and the workers' side of its operations: a request is
 * handed to the supervisor, and its answer lines are put() as they come, so that
 * what exists is reported even when the program fails in the middle.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "exec.h"

enum { LOOK_MS = 20 }; /* how late a cancel is seen */

static void exec_close(void *self)
{
    struct exec *x = self;

    if (!x)
        return;
    pthread_mutex_lock(&x->lock);
    x->closing = true;
    pthread_mutex_unlock(&x->lock);
    if (x->supervisor_runs) {
        supervisor_wake(x);
        pthread_join(x->supervisor, NULL);
    }
    for (struct ask *a = x->asks, *next; a; a = next) {
        next = a->next;
        ask_free(a);
    }
    for (int i = 0; i < 2; i++)
        if (x->wake[i] >= 0)
            close(x->wake[i]);
    pthread_mutex_destroy(&x->lock);
    options_done(x);
    free(x);
}

static int exec_open(const struct davit_host *host,
                     const struct davit_setup *setup, void **ret_self,
                     struct davit_error *e)
{
    struct exec *x = kit_zeroed(1, sizeof *x);
    int status;

    x->host = host;
    x->wake[0] = x->wake[1] = -1;
    x->next_id = 1;
    pthread_mutex_init(&x->lock, NULL);
    status = options_read(x, setup, e);
    if (status != DAVIT_OK) {
        exec_close(x);
        x = NULL;
    }
    *ret_self = x;
    return status;
}

/* ---- asking */

/* The lock is held.  The supervisor takes no signal: those are the daemon's, and
 * a SIGPIPE of its own must not end it. */
static bool supervisor_start(struct exec *x)
{
    sigset_t all, before;

    if (x->supervisor_runs)
        return true;
    if (x->wake[0] < 0 && pipe2(x->wake, O_CLOEXEC | O_NONBLOCK) != 0) {
        x->wake[0] = x->wake[1] = -1;
        return false;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    x->supervisor_runs = pthread_create(&x->supervisor, NULL, supervisor_run,
                                        x) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return x->supervisor_runs;
}

static int tell(const struct verdict *v, struct davit_error *e)
{
    kit_error(e, (enum davit_status)v->status, v->code, "%s", v->text);
    e->retry_after_ms = v->retry_after_ms;
    return v->status;
}

/* The lock is held: true when the program has failed and has to wait. */
static bool resting(const struct exec *x, struct verdict *v)
{
    int64_t left = x->start_at_ms - mono_ms();

    if (left <= 0)
        return false;
    *v = x->why;
    if (v->status == DAVIT_RETRY || v->status == DAVIT_BROKEN) {
        v->status = DAVIT_RETRY;
        snprintf(v->text, sizeof v->text, "started again in %lld ms: %.150s",
                 (long long)left, x->why.text);
    }
    if (v->retry_after_ms < (uint32_t)left)
        v->retry_after_ms = (uint32_t)left;
    return true;
}

/* Takes args.  NULL: *v says why not. */
static struct ask *ask_new(struct exec *x, struct davit_call *call,
                           const char *op, json_t *args, struct verdict *v)
{
    struct ask *a = KIT_NEW(struct ask), **at = &x->asks;
    int64_t left = x->host->remaining_ms(call);
    pthread_condattr_t attr;

    if (x->timeout_ms > 0 && left > x->timeout_ms)
        left = x->timeout_ms;
    a->op = op;
    a->args = args ? json_dumps(args, JSON_COMPACT) : NULL;
    a->last = &a->first;
    a->deadline_ms = mono_ms() + left;
    json_decref(args);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&a->cond, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_lock(&x->lock);
    if (!a->args)
        verdict_set(v, DAVIT_INVALID, "NOT_UTF8",
                    "%s: a name in the request is not UTF-8", op);
    else if (resting(x, v))
        ;
    else if (!supervisor_start(x))
        verdict_set(v, DAVIT_RETRY, "THREAD", "no thread to be had for %.60s",
                    x->shown);
    else {
        a->id = x->next_id++;
        while (*at)
            at = &(*at)->next;
        *at = a;
        supervisor_wake(x);
        pthread_mutex_unlock(&x->lock);
        return a;
    }
    pthread_mutex_unlock(&x->lock);
    ask_free(a);
    return NULL;
}

/* The lock is held.  The worker has done with it. */
static void ask_leave(struct exec *x, struct ask *a)
{
    struct ask **at = &x->asks;

    for (struct line *l = a->first; l; l = l->next)
        x->queued_bytes -= l->bytes;
    if (a->state == ASK_SENT) { /* the answer is still to come */
        a->left = true;
        for (struct line *l = a->first, *next; l; l = next) {
            next = l->next;
            json_decref(l->json);
            free(l);
        }
        a->first = NULL;
        a->last = &a->first;
    } else {
        while (*at != a)
            at = &(*at)->next;
        *at = a->next;
        ask_free(a);
    }
    supervisor_wake(
        x); /* its timers, and the room in the queue, have changed */
}

static struct line *pop(struct exec *x, struct ask *a)
{
    struct line *l = a->first;

    if (!l)
        return NULL;
    a->first = l->next;
    if (!a->first)
        a->last = &a->first;
    if (x->queued_bytes >= QUEUE_MAX_BYTES &&
        x->queued_bytes - l->bytes < QUEUE_MAX_BYTES)
        supervisor_wake(x);
    x->queued_bytes -= l->bytes;
    return l;
}

static void wait_at(struct exec *x, struct ask *a)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += LOOK_MS * 1000000L;
    if (t.tv_nsec >= 1000000000L) {
        t.tv_nsec -= 1000000000L;
        t.tv_sec++;
    }
    pthread_cond_timedwait(&a->cond, &x->lock, &t);
}

struct answer { /* who takes the lines of one operation */
    struct davit_sink *sink;
    davit_put_machine *put;
    davit_put_offer *offer;
    davit_put_done *done;
    struct davit_call *call; /* of a list: other daemons are told of it */
    const struct davit_host *host;
    const char *word; /* the member that holds what done() is told */
    size_t lines;
    const char *wrong; /* the first that was, NULL: none */
    char room[200];
};

static void take_line(struct answer *to, const json_t *line)
{
    const json_t *m = json_object_get(line, "machine");
    const json_t *o = json_object_get(line, "offer");
    const json_t *n = json_object_get(line, "daemon");
    const json_t *d = to->word ? json_object_get(line, to->word) : NULL;
    const json_t *stamp;
    const char *wrong = NULL, *id, *status;
    struct davit_machine machine;
    struct davit_offer offer;
    struct kit_keep keep = {0};
    char room[200];

    to->lines++;
    if (m && to->put) {
        wrong = machine_read(m, &machine, room, sizeof room);
        if (!wrong)
            to->put(to->sink, &machine);
    } else if (n && to->call) {
        id = json_string_value(json_object_get(n, "name"));
        stamp = json_object_get(n, "stamp");
        if (!id || !json_is_integer(stamp))
            wrong = "\"daemon\" must be an object with a name and a stamp, a "
                    "whole number";
        else if (DAVIT_HAS(to->host, struct davit_host, neighbour))
            to->host->neighbour(to->call, id, json_integer_value(stamp));
    } else if (o && to->offer) {
        wrong = offer_read(o, &offer, &keep, room, sizeof room);
        if (!wrong)
            to->offer(to->sink, &offer);
        kit_keep_done(&keep);
    } else if (d && to->done) {
        id = json_string_value(json_object_get(d, "id"));
        status = json_string_value(json_object_get(d, "status"));
        if (!id || !status || status_of(status) < 0)
            wrong = "\"ended\" and \"found\" must be objects with an id and a "
                    "status";
        else
            to->done(to->sink, id, status_of(status));
    } else {
        wrong = to->put     ? "a line has neither machine nor status"
                : to->offer ? "a line has neither offer nor status"
                            : "a line has neither ended (found) nor status";
    }
    if (wrong && !to->wrong) {
        snprintf(to->room, sizeof to->room, "%s", wrong);
        to->wrong = to->room;
    }
}

/* Sends it and takes the answer, line by line, to its end. */
static int exchange(struct exec *x, struct davit_call *call, const char *op,
                    json_t *args, struct answer *to, struct davit_error *e)
{
    struct verdict v;
    struct ask *a = ask_new(x, call, op, args, &v);
    struct line *l;

    if (!a)
        return tell(&v, e);
    pthread_mutex_lock(&x->lock);
    for (;;) {
        while ((l = pop(x, a))) {
            pthread_mutex_unlock(&x->lock);
            take_line(to, l->json);
            json_decref(l->json);
            free(l);
            pthread_mutex_lock(&x->lock);
        }
        if (a->state == ASK_DONE) {
            v = a->verdict;
            break;
        }
        if (x->host->remaining_ms(call) == 0) {
            verdict_set(
                &v, DAVIT_CANCELLED, "NO_ANSWER", "the program %s %s",
                a->state == ASK_SENT ? "has not answered" : "was not ready for",
                op);
            break;
        }
        if (mono_ms() >= a->deadline_ms) {
            verdict_set(&v, DAVIT_RETRY, "NO_ANSWER",
                        "the program has not answered %s within %lld ms "
                        "(timeout)",
                        op, (long long)x->timeout_ms);
            break;
        }
        wait_at(x, a);
    }
    ask_leave(x, a);
    pthread_mutex_unlock(&x->lock);
    /* A broken line must not pass as the whole truth. */
    if (to->wrong && v.status != DAVIT_CANCELLED)
        verdict_set(&v, DAVIT_BROKEN, "BAD_ANSWER",
                    "the program's answer to %s: %.160s", op, to->wrong);
    return tell(&v, e);
}

/* ---- the operations */

static int exec_list(void *self, struct davit_call *call,
                     struct davit_sink *sink, davit_put_machine *put,
                     struct davit_error *e)
{
    struct exec *x = self;
    struct answer to = {
        .sink = sink, .put = put, .call = call, .host = x->host};
    const char *who = DAVIT_HAS(x->host, struct davit_host, neighbour)
                          ? x->host->who(call)
                          : "";
    json_t *args = json_pack("{ss}", "op", "list");

    if (*who)
        json_object_set_new(args, "daemon", json_string(who));
    return exchange(x, call, "list", args, &to, e);
}

static int exec_launch(void *self, struct davit_call *call,
                       const struct davit_launch *q, struct davit_sink *sink,
                       davit_put_machine *put, struct davit_error *e)
{
    struct answer to = {.sink = sink, .put = put};
    json_t *tags = json_object(), *args;

    for (size_t i = 0; i < q->n_tags; i++)
        json_object_set_new(tags, q->tags[i].key,
                            json_string(q->tags[i].value));
    args = json_pack("{ss ss ss ss sI sb so}", "op", "launch", "type", q->offer,
                     "zone", q->zone, "request_id", q->request_id, "count",
                     (json_int_t)q->count, "spot", (int)q->spot, "tags", tags);
    return exchange(self, call, "launch", args, &to, e);
}

static json_t *ids_args(const char *op, const char *const *ids, size_t n_ids)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n_ids; i++)
        json_array_append_new(list, json_string(ids[i]));
    return json_pack("{ss so}", "op", op, "ids", list);
}

static int exec_terminate(void *self, struct davit_call *call,
                          const char *const *ids, size_t n_ids,
                          struct davit_sink *sink, davit_put_done *done,
                          struct davit_error *e)
{
    struct answer to = {.sink = sink, .done = done, .word = "ended"};

    return exchange(self, call, "terminate", ids_args("terminate", ids, n_ids),
                    &to, e);
}

/* A program that did not say in hello that it has this is not asked for it: one that
 * was written before there was such an operation may end itself at it. */
static int exec_find(void *self, struct davit_call *call,
                     const char *const *ids, size_t n_ids,
                     struct davit_sink *sink, davit_put_done *done,
                     struct davit_error *e)
{
    struct exec *x = self;
    struct answer to = {.sink = sink, .done = done, .word = "found"};
    bool known, finds;

    pthread_mutex_lock(&x->lock);
    known = x->finds != FINDS_UNKNOWN;
    finds = x->finds == FINDS;
    pthread_mutex_unlock(&x->lock);
    if (!known)
        return kit_error(e, DAVIT_RETRY, "NOT_STARTED",
                         "the program has not answered hello yet");
    if (!finds)
        return kit_error(e, DAVIT_UNSUPPORTED, "NO_FIND",
                         "the program has no find");
    return exchange(x, call, "find", ids_args("find", ids, n_ids), &to, e);
}

static int exec_offers(void *self, struct davit_call *call,
                       struct davit_sink *sink, davit_put_offer *put,
                       struct davit_error *e)
{
    struct answer to = {.sink = sink, .offer = put};

    return exchange(self, call, "offers", json_pack("{ss}", "op", "offers"),
                    &to, e);
}

static uint32_t exec_settle_ms(void *self)
{
    return (uint32_t)((struct exec *)self)->settle_ms;
}

static struct davit_provider provider = {
    .size = sizeof provider,
    .name = "exec",
    .version = "1.0",
    .caps = DAVIT_CAP_OFFERS | DAVIT_CAP_SPOT, /* as far as the program has */
    .open = exec_open,
    .close = exec_close,
    .list = exec_list,
    .launch = exec_launch,
    .terminate = exec_terminate,
    .offers = exec_offers,
    .settle_ms = exec_settle_ms,
    .find = exec_find,
};

DAVIT_EXPORT const struct davit_provider *davit_provider_v1(void)
{
    provider.options = kit_options_help(exec_options);
    return &provider;
}
