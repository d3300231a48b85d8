/*
 * call.c - one operation of a provider, on a worker.
 *
 * The call owns its arguments and its answer; the control thread gets it back
 * through the mailbox.  A plug-in is a guest: whatever it returns, the answer
 * is a known status with a text, and a count that was asked for.  A hang costs
 * one worker until the plug-in returns; the call and its arena stay its own.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../base/clock.h"
#include "console.h"
#include "inside.h"

#define RETRY_AFTER_MAX_MS (3600u * 1000)
/* The clocks it is told from are read one after the other. */
#define SLEPT_LEAST_MS 1000

static const char *const op_names[] = {[CALL_LIST] = "list",
                                       [CALL_LAUNCH] = "launch",
                                       [CALL_TERMINATE] = "terminate",
                                       [CALL_OFFERS] = "offers",
                                       [CALL_FIND] = "find"};

static bool has_ids(const struct call *c)
{
    return c->op == CALL_TERMINATE || c->op == CALL_FIND;
}

struct call *call_new(struct provider *p, enum call_op op, int kind)
{
    struct call *c = MEM_NEW(struct call);
    c->job.mail.kind = kind;
    c->provider = p;
    c->op = op;
    c->type = c->zone = c->request_id = c->join_token = c->who = "";
    /* Should the pool drop it unrun: an empty list must not look like truth. */
    c->status = err_set(&c->err, ST_CANCELLED, "%s was never begun",
                        op_names[op]);
    atomic_fetch_add(&p->calls, 1);
    return c;
}

void call_free(struct call *c)
{
    if (!c)
        return;
    atomic_fetch_sub(&c->provider->calls, 1);
    arena_done(&c->arena);
    free(c);
}

struct offer_key call_offer_key(const struct call *c)
{
    return (struct offer_key){c->provider->name, c->type, c->zone, c->spot};
}

static int run_launch(struct call *c, struct davit_call *dc,
                      struct davit_sink *sink, struct davit_error *e)
{
    const struct provider *p = c->provider;
    const struct davit_kv tags[] = {{"davit-cluster", p->cluster},
                                    {"davit-type", c->type},
                                    {"davit-request", c->request_id}};
    const struct davit_launch launch = {.size = sizeof launch,
                                        .offer = c->type,
                                        .zone = c->zone,
                                        .request_id = c->request_id,
                                        .count = c->count,
                                        .tags = tags,
                                        .n_tags = sizeof tags / sizeof *tags,
                                        .spot = c->spot,
                                        .join_token = c->join_token};
    return p->table->launch(p->self, dc, &launch, sink, sink_put_machine, e);
}

/* ---- what machines printed, before they are ended */

enum { CONSOLES_MOST = 4, CONSOLE_MS = 4000, CONSOLE_SHOWN = 1500 };

/* Of a sink of its own: a plug-in's mistake here must not keep a machine. */
static const char *console_read(struct call *c, struct davit_call *dc,
                                const char *id)
{
    const struct provider *p = c->provider;
    struct davit_sink *sink = ARENA_NEW(&c->arena, struct davit_sink);
    struct davit_error e = {.size = sizeof e};
    const char *tail;
    sink_init(sink, c);
    buf_init(&sink->text, CONSOLE_MAX);
    p->table->console(p->self, dc, id, sink, sink_put_text, &e);
    tail = console_tail(&c->arena, sink->text.n ? sink->text.s : "",
                        sink->text.n, CONSOLE_SHOWN);
    buf_done(&sink->text);
    return tail;
}

/* It may take a while, for a few machines of many: where one did not join, the
 * others have the same to say. */
static void consoles_read(struct call *c, struct davit_call *dc)
{
    const struct davit_provider *t = c->provider->table;
    int64_t end = dc->deadline_mono_ms;
    uint32_t n = 0;
    if (!c->consoles || !DAVIT_HAS(t, struct davit_provider, console) ||
        !t->console)
        return;
    c->console = ARENA_ARRAY(&c->arena, const char *, c->n_ids);
    for (uint32_t i = 0; i < c->n_ids; i++) {
        int64_t until = clock_mono_ms() + CONSOLE_MS;
        c->console[i] = "";
        if (!c->consoles[i] || n++ >= CONSOLES_MOST)
            continue;
        dc->deadline_mono_ms = until < end ? until : end;
        c->console[i] = console_read(c, dc, c->ids[i]);
    }
    dc->deadline_mono_ms = end;
}

static int run_terminate(struct call *c, struct davit_call *dc,
                         struct davit_sink *sink, struct davit_error *e)
{
    const struct provider *p = c->provider;
    consoles_read(c, dc);
    return p->table->terminate(p->self, dc, c->ids, c->n_ids, sink,
                               sink_put_done, e);
}

static int run_op(struct call *c, struct davit_call *dc,
                  struct davit_sink *sink, struct davit_error *e)
{
    struct provider *p = c->provider;
    switch (c->op) {
    case CALL_LIST:
        return p->table->list(p->self, dc, sink, sink_put_machine, e);
    case CALL_LAUNCH: return run_launch(c, dc, sink, e);
    case CALL_TERMINATE: return run_terminate(c, dc, sink, e);
    case CALL_OFFERS:
        if ((atomic_load(&p->caps) & DAVIT_CAP_OFFERS) == 0)
            return DAVIT_UNSUPPORTED;
        return p->table->offers(p->self, dc, sink, sink_put_offer, e);
    case CALL_FIND:
        if (!provider_finds(p)) /* by now */
            return DAVIT_UNSUPPORTED;
        return p->table->find(p->self, dc, c->ids, c->n_ids, sink,
                              sink_put_done, e);
    }
    return DAVIT_UNSUPPORTED;
}

/* The plug-in's own text, made safe; a text of ours when it gave none. */
static void take_error(struct call *c, int got, const struct davit_error *e)
{
    const char *op = op_names[c->op];
    char text[sizeof e->text];
    if (got < 0 || got >= ST_COUNT) {
        err_set(&c->err, ST_BROKEN,
                "%s() returned %d, which is no davit_status (0 to %d)", op, got,
                ST_COUNT - 1);
        return;
    }
    plugin_text_clean(e->text, sizeof e->text, text, sizeof text);
    if (text[0] != '\0')
        err_set(&c->err, (enum status)got, "%s", text);
    else
        err_set(&c->err, (enum status)got, "%s failed with %s and no text", op,
                status_name((enum status)got));
    plugin_text_clean(e->code, sizeof e->code, c->err.code, sizeof c->err.code);
    c->err.retry_after_ms = e->retry_after_ms < RETRY_AFTER_MAX_MS
                                ? e->retry_after_ms
                                : RETRY_AFTER_MAX_MS;
}

static void judge(struct call *c, struct davit_sink *sink)
{
    if (atomic_load(&sink->other_thread))
        err_set(&sink->broken, ST_BROKEN,
                "%s() used its sink from another thread", op_names[c->op]);
    if (sink->broken.status != ST_OK) {
        /* What went wrong in the cloud is reported too, but the plug-in's fault
         * decides what is done. */
        c->err = sink->broken;
    } else if (c->op == CALL_LAUNCH && c->machines.n > c->count) {
        err_set(&c->err, ST_BROKEN,
                "launch() put() %u machines when %u were asked for",
                c->machines.n, c->count);
    } else if (c->err.status == ST_CANCELLED && !atomic_load(&c->cancel)) {
        c->err.status = ST_RETRY;
        err_prefix(&c->err, "%s did not end within its time limit",
                   op_names[c->op]);
    } else if (c->err.status == ST_UNSUPPORTED && c->op != CALL_OFFERS &&
               c->op != CALL_FIND) {
        err_set(&c->err, ST_BROKEN,
                "%s() says UNSUPPORTED, but every provider must have it",
                op_names[c->op]);
    }
    if (c->err.status == ST_UNSUPPORTED && c->op == CALL_OFFERS)
        atomic_fetch_and(&c->provider->caps,
                         ~(unsigned long long)DAVIT_CAP_OFFERS);
    if (c->err.status == ST_UNSUPPORTED && c->op == CALL_FIND)
        atomic_store(&c->provider->no_find, true);
    c->status = c->err.status;
}

static void call_enter(struct call *c, int64_t deadline)
{
    struct davit_error e = {.size = sizeof e};
    struct davit_call dc = {.provider = c->provider,
                            .call = c,
                            .cancel = &c->cancel,
                            .deadline_mono_ms = deadline,
                            .op = op_names[c->op],
                            .recorded = {c->request_id, c->type, c->zone,
                                         c->spot, recording_call_id(), 0}};
    struct davit_sink *sink = ARENA_NEW(&c->arena, struct davit_sink);
    sink_init(sink, c);
    host_enter(&dc);
    int got = run_op(c, &dc, sink, &e);
    host_leave(&dc);
    if (got != DAVIT_OK)
        take_error(c, got, &e);
    sink_settle(sink);
    judge(c, sink);
}

/* In all, since it was started. */
static int64_t computer_slept_ms(void)
{
    return clock_boot_ms() - clock_mono_ms();
}

/* What it was decided on is of before the computer slept. */
static bool is_overslept(const struct call *c)
{
    return (c->op == CALL_LAUNCH || c->op == CALL_TERMINATE) &&
           computer_slept_ms() - c->slept_ms >= SLEPT_LEAST_MS;
}

static void call_run(struct job *job)
{
    struct call *c = (struct call *)job;
    int64_t deadline = job->deadline_mono_ms - CALL_GRACE_MS;
    int64_t now = clock_mono_ms();
    c->err = (struct err){0};
    c->status = ST_OK;
    if (has_ids(c))
        c->done = ARENA_ARRAY(&c->arena, enum status, c->n_ids);
    for (uint32_t i = 0; has_ids(c) && i < c->n_ids; i++)
        c->done[i] = ST_COUNT; /* not reported */
    if (atomic_load(&c->cancel))
        c->status = err_set(&c->err, ST_CANCELLED,
                            "%s was cancelled before it began",
                            op_names[c->op]);
    else if (now >= deadline)
        c->status = err_set(
            &c->err, ST_RETRY, "%s found no free worker for %lld ms",
            op_names[c->op], (long long)(now - c->started_mono_ms));
    else if (is_overslept(c))
        c->status = err_set(&c->err, ST_RETRY,
                            "%s had not begun when the computer fell asleep",
                            op_names[c->op]);
    else
        call_enter(c, deadline);
    /* Nobody is called gone by an answer about something else. */
    for (uint32_t i = 0; has_ids(c) && i < c->n_ids; i++)
        if (c->done[i] == ST_COUNT ||
            (c->op == CALL_FIND && c->status == ST_BROKEN))
            c->done[i] = c->op == CALL_FIND ? ST_RETRY : c->status;
    c->took_ms = clock_mono_ms() - c->started_mono_ms;
}

void call_submit(struct workers *w, struct call *c, int64_t timeout_ms)
{
    assert(timeout_ms > 0);
    assert(c->op != CALL_LAUNCH || (c->count > 0 && c->request_id[0] != '\0'));
    assert(!has_ids(c) || c->n_ids > 0);
    c->job.run = call_run;
    c->started_mono_ms = clock_mono_ms();
    c->slept_ms = computer_slept_ms();
    c->job.deadline_mono_ms = c->started_mono_ms + timeout_ms + CALL_GRACE_MS;
    workers_submit(w, &c->job);
}
