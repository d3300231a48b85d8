/*
 * changes.c - the exchanges that change something: requests, protection,
 * reload.
 *
 * The input is checked here; the control loop does the rest and the reply is
 * made when its effect is on disk and in a plan.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../base/clock.h"
#include "../codec/codec.h"
#include "inside.h"

static void post(struct pending *p, void *mailbox)
{
    mailbox_post(mailbox, &p->cmd.mail);
}

void control_send(struct exchange *ex, struct pending *p, route_fn *answer)
{
    ex->answer = answer;
    ex->sent = pending_send(p, ex, post, ex->server->mailbox);
    if (!ex->sent) {
        pending_unref(p);
        exchange_error(
            ex, 503, "RETRY", "",
            "too many requests wait for the control loop, or the daemon is "
            "stopping; try again");
    }
}

static void reply_outcome(struct exchange *ex, const char *owner,
                          enum request_fate fate, int64_t expires_ms)
{
    struct outcome x = {.satisfied = true};
    struct view v;
    struct buf b;
    struct out o;

    view_open(&v, ex->pending->cmd.seen);
    v.reader = ex->trusted ? NULL : ex->caller.who;
    if (fate == REQUEST_STANDS)
        outcome_of(&v, owner, &x);
    reply_begin(&b, &o);
    outcome_write(&o, NULL, &v, owner, fate, expires_ms);
    view_done(&v);
    exchange_reply(ex, x.satisfied ? 200 : 202, &b, "application/json");
}

/* Without a page the outcome is not known. */
bool command_refused(struct exchange *ex)
{
    const struct command *cmd = &ex->pending->cmd;
    struct err e = cmd->err;

    if (cmd->status == ST_OK && cmd->seen)
        return false;
    if (cmd->another) {
        exchange_error(ex, 409, "CONFLICT", "", "%s", cmd->err.text);
        return true;
    }
    if (cmd->status == ST_OK)
        err_set(&e, ST_RETRY, "it was taken, but there is no plan yet");
    e.status = cmd->status == ST_OK ? ST_RETRY : cmd->status;
    exchange_err(ex, &e);
    return true;
}

static void request_put_answer(struct exchange *ex)
{
    if (!command_refused(ex))
        reply_outcome(ex, ex->pending->cmd.owner, REQUEST_STANDS,
                      ex->pending->cmd.expires_ms);
}

/* Clearing what is not there is no mistake of who clears. */
static void request_clear_answer(struct exchange *ex)
{
    struct command *cmd = &ex->pending->cmd;
    enum request_fate fate = REQUEST_CLEARED;

    if (cmd->status == ST_NOT_FOUND) {
        fate = REQUEST_WAS_NOT;
        cmd->status = ST_OK;
        if (!cmd->seen)
            cmd->seen = status_get(ex->server->board);
    }
    if (!command_refused(ex))
        reply_outcome(ex, cmd->owner, fate, 0);
}

static void request_drop_answer(struct exchange *ex)
{
    if (!command_refused(ex))
        reply_outcome(ex, ex->pending->cmd.owner, REQUEST_CLEARED, 0);
}

/* The body into the pending's command; its owner also when it is refused. */
static enum status request_fill(struct command *cmd, const struct caller *by,
                                struct buf *text, struct err *err)
{
    int64_t now = clock_steady_ms(); /* as the loop counts */
    struct request_in r = {.owner = ""};
    json_t *body = NULL;
    enum status s = codec_parse(text->s, text->n, &body, err);

    if (s != ST_OK)
        err_prefix(err, "body");
    else
        s = request_read(body, "default", now, &cmd->arena, &r, err);
    json_decref(body);
    buf_done(text);
    cmd->owner = r.owner;
    if (s == ST_OK)
        s = caller_may_ask(by, r.owner, r.clear ? NULL : r.demand.queue,
                           r.demand.priority, err);
    if (s != ST_OK)
        return s;
    cmd->kind = r.clear ? COMMAND_REQUEST_DROP : COMMAND_REQUEST_PUT;
    if (!r.clear) {
        cmd->body = r.body;
        cmd->demand = r.demand;
        cmd->asked_ms = now;
        cmd->expires_ms = r.ttl_ms ? now + r.ttl_ms : 0;
    }
    return ST_OK;
}

static void request_answer(struct exchange *ex)
{
    if (ex->pending->cmd.kind == COMMAND_REQUEST_DROP)
        request_clear_answer(ex);
    else
        request_put_answer(ex);
}

/* A large one is read on the thread for long work. */
struct request_job {
    struct task task;
    struct buf body;
};

static void request_job_free(struct task *task)
{
    struct request_job *j = (struct request_job *)task;

    buf_done(&j->body);
    free(j);
}

static bool request_job_run(struct task *task)
{
    struct request_job *j = (struct request_job *)task;
    struct pending *p = task->pending;

    p->cmd.status = request_fill(&p->cmd, &p->caller, &j->body, &p->cmd.err);
    return true;
}

/* It was read; the caller's rights are those of now, so they are looked at again. */
static void large_answer(struct exchange *ex)
{
    struct pending *read = ex->pending, *p;
    struct command *from = &read->cmd;

    snprintf(ex->owner, sizeof ex->owner, "%s", from->owner);
    if (from->status == ST_OK)
        from->status = caller_may_ask(
            &ex->caller, from->owner,
            from->kind == COMMAND_REQUEST_PUT ? from->demand.queue : NULL,
            from->demand.priority, &from->err);
    if (from->status != ST_OK) {
        exchange_err(ex, &from->err);
        return;
    }
    p = pending_new(ex->server->pending, from->kind);
    p->cmd.arena = from->arena;
    from->arena = (struct arena){0};
    p->cmd.owner = from->owner;
    p->cmd.body = from->body;
    p->cmd.demand = from->demand;
    p->cmd.asked_ms = from->asked_ms;
    p->cmd.expires_ms = from->expires_ms;
    from->owner = from->body = "";
    ex->pending = NULL;
    pending_unref(read);
    control_send(ex, p, request_answer);
}

static void put_large(struct exchange *ex)
{
    struct request_job *j = MEM_NEW(struct request_job);

    j->task.run = request_job_run;
    j->task.free = request_job_free;
    j->body = ex->body;
    buf_init(&ex->body, BODY_MAX);
    tasks_send(ex->server->tasks, ex, &j->task, COMMAND_REQUEST_PUT,
               large_answer);
}

void put_request(struct exchange *ex)
{
    struct pending *p;
    struct err err = {0};
    enum status s;

    if (!exchange_charge_tree(ex))
        return;
    if (ex->body.n > LARGE) {
        put_large(ex);
        return;
    }
    p = pending_new(ex->server->pending, COMMAND_REQUEST_PUT);
    s = request_fill(&p->cmd, &ex->caller, &ex->body, &err);
    snprintf(ex->owner, sizeof ex->owner, "%s", p->cmd.owner);
    if (s != ST_OK) {
        pending_unref(p);
        exchange_err(ex, &err);
        return;
    }
    control_send(ex, p, request_answer);
}

void drop_request(struct exchange *ex)
{
    struct pending *p;

    if (!owner_valid(ex->arg)) {
        exchange_error(
            ex, 400, "INVALID", "owner",
            "an owner has 1 to 128 of the letters A-Z a-z 0-9 . _ : @ -");
        return;
    }
    if (owner_of_source(ex->arg)) {
        exchange_error(ex, 400, "INVALID", "owner", "%s",
                       owner_of_source(ex->arg));
        return;
    }
    p = pending_new(ex->server->pending, COMMAND_REQUEST_DROP);
    p->cmd.owner = arena_strdup(&p->cmd.arena, ex->arg);
    control_send(ex, p, request_drop_answer);
}

/* ---- what a user says of a node */

struct mark {
    enum command_kind kind;
    const char *key, *on, *off; /* of the reply */
};

static const struct mark marks[] = {
    {COMMAND_PROTECT, "protected", "%s is not ended until it is unprotected",
     "%s may be ended again"},
    {COMMAND_CORDON, "cordoned",
     "nothing new is planned onto %s; it is ended when it is idle, like any "
     "other",
     "%s is used again"},
    {COMMAND_DRAIN, "asked_to_end",
     "%s is drained and ended; `davit why` says how far it is",
     "%s is not to be ended any more"},
};

static const struct mark *mark_of(enum command_kind kind)
{
    size_t i = 0;

    while (i + 1 < sizeof marks / sizeof *marks && marks[i].kind != kind)
        i++;
    return &marks[i];
}

/* Its drain was accepted, or its cloud ends it: there is no way back. */
static bool leaves_anyway(const struct command *cmd)
{
    bool leaves;
    struct view v;
    uint32_t i;

    if (cmd->on || cmd->kind == COMMAND_PROTECT)
        return false;
    view_open(&v, cmd->seen);
    i = node_find(&v, cmd->machine);
    leaves = i == NONE || v.snapshot->nodes[i].state > STATE_READY;
    view_done(&v);
    return leaves;
}

static void mark_answer(struct exchange *ex)
{
    const struct command *cmd = &ex->pending->cmd;
    const struct mark *m = mark_of(cmd->kind);
    struct buf b;
    struct out o;

    if (command_refused(ex))
        return;
    reply_begin(&b, &o);
    out_object(&o, NULL);
    out_str(&o, "node", cmd->machine);
    out_bool(&o, m->key, cmd->on);
    out_strf(&o, "text",
             leaves_anyway(cmd) ? "%s is ended all the same: its drain was "
                                  "accepted already, or its cloud ends it"
             : cmd->on          ? m->on
                                : m->off,
             cmd->machine);
    out_close(&o);
    exchange_reply(ex, 200, &b, "application/json");
}

/* The API takes any name of a node; the loop knows ours alone. */
static void mark_send(struct exchange *ex, enum command_kind kind, bool on)
{
    struct status_page *page = exchange_page(ex);
    struct view v;
    struct pending *p;
    uint32_t i;

    if (!page)
        return;
    view_open(&v, page);
    i = node_find(&v, ex->arg);
    if (i == NONE) {
        exchange_error(ex, 404, "NOT_FOUND", ex->arg,
                       "there is no node of this name%s; see /v1/nodes",
                       view_hint(&v, ex->arg, true));
    } else if (v.snapshot->nodes[i].unmanaged || v.snapshot->nodes[i].head) {
        exchange_error(ex, 400, "INVALID", ex->arg,
                       "this node is %s: it is never ended anyway",
                       v.snapshot->nodes[i].head ? "the Ray head" : "not ours");
    } else {
        p = pending_new(ex->server->pending, kind);
        p->cmd.machine = arena_strdup(&p->cmd.arena, v.snapshot->nodes[i].id);
        p->cmd.on = on;
        control_send(ex, p, mark_answer);
    }
    view_done(&v);
    status_unref(page);
}

void protect_node(struct exchange *ex)
{
    mark_send(ex, COMMAND_PROTECT, true);
}

void unprotect_node(struct exchange *ex)
{
    mark_send(ex, COMMAND_PROTECT, false);
}

void cordon_node(struct exchange *ex)
{
    mark_send(ex, COMMAND_CORDON, true);
}

void uncordon_node(struct exchange *ex)
{
    mark_send(ex, COMMAND_CORDON, false);
}

void drain_node(struct exchange *ex)
{
    mark_send(ex, COMMAND_DRAIN, true);
}

void undrain_node(struct exchange *ex)
{
    mark_send(ex, COMMAND_DRAIN, false);
}

/* ---- reload */

void configuration_answer(struct exchange *ex, const char *done,
                          const char *text)
{
    struct command *cmd = &ex->pending->cmd;
    struct buf b;
    struct out o;

    if (!cmd->another &&
        (cmd->status == ST_INVALID || cmd->status == ST_RETRY)) {
        /* the message is the file's own: path:line:column: ... */
        exchange_error(ex, cmd->status == ST_INVALID ? 400 : 503,
                       status_name(cmd->status), "", "%s", cmd->err.text);
        return;
    }
    if (command_refused(ex))
        return;
    reply_begin(&b, &o);
    out_object(&o, NULL);
    out_bool(&o, done, true);
    out_str(&o, "path", cmd->seen->config_path);
    out_time(&o, "loaded_at", cmd->seen->config_loaded_ms);
    out_str(&o, "text", text);
    out_close(&o);
    exchange_reply(ex, 200, &b, "application/json");
}

static void reload_answer(struct exchange *ex)
{
    configuration_answer(ex, "reloaded", "the configuration is taken over");
}

void post_reload(struct exchange *ex)
{
    control_send(ex, pending_new(ex->server->pending, COMMAND_RELOAD),
                 reload_answer);
}
