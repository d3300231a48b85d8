/*
 * demand.c - the visits that change something: requests, protection, reload.
 *
 * The input is checked here; the control loop does the rest and the reply is
 * made when its effect is on disk and in a plan.
 */
#include <string.h>

#include "../base/clock.h"
#include "../codec/codec.h"
#include "inside.h"

static void post(struct ask *a, void *mailbox)
{
    mailbox_post(mailbox, &a->cmd.mail);
}

static void ask_control(struct visit *w, struct ask *a, route_fn *answer)
{
    w->answer = answer;
    if (!ask_send(a, w, post, w->server->mailbox)) {
        ask_unref(a);
        visit_error(w, 503, "RETRY", "", "too many requests wait for the "
                    "control loop, or the daemon is stopping; try again");
    }
}

static void reply_outcome(struct visit *w, const char *owner, bool cleared,
                          int64_t expires_ms)
{
    struct outcome x = {.satisfied = true};
    struct view v;
    struct buf b;
    struct out o;

    view_open(&v, w->ask->cmd.seen);
    if (!cleared)
        outcome_of(&v, owner, &x);
    buf_init(&b, REPLY_MAX);
    out_init(&o, &b);
    outcome_write(&o, &v, owner, cleared, expires_ms);
    view_done(&v);
    visit_reply(w, x.satisfied ? 200 : 202, &b,
                "application/json");
}

/* Without a page there is nothing to tell the outcome from. */
static bool refused(struct visit *w)
{
    const struct command *cmd = &w->ask->cmd;
    struct err e = cmd->err;

    if (cmd->status == ST_OK && cmd->seen)
        return false;
    if (cmd->status == ST_OK)
        err_set(&e, ST_RETRY, "it was taken, but there is no plan yet");
    e.status = cmd->status == ST_OK ? ST_RETRY : cmd->status;
    visit_err(w, &e);
    return true;
}

static void request_put_answer(struct visit *w)
{
    if (!refused(w))
        reply_outcome(w, w->ask->cmd.owner, false, w->ask->cmd.expires_ms);
}

/* Clearing what is not there is no mistake of who clears. */
static void request_clear_answer(struct visit *w)
{
    struct command *cmd = &w->ask->cmd;

    if (cmd->status == ST_NOT_FOUND) {
        cmd->status = ST_OK;
        if (!cmd->seen)
            cmd->seen = status_get(w->server->board);
    }
    if (!refused(w))
        reply_outcome(w, cmd->owner, true, 0);
}

static void request_drop_answer(struct visit *w)
{
    if (!refused(w))
        reply_outcome(w, w->ask->cmd.owner, true, 0);
}

void put_request(struct visit *w)
{
    struct ask *a = ask_new(w->server->yard, COMMAND_REQUEST_PUT);
    int64_t now = clock_steady_ms();  /* as the loop counts */
    struct request_in r;
    json_t *body = NULL;
    struct err err = {0};
    enum status s;

    s = codec_parse(w->body.s, w->body.n, &body, &err);
    if (s != ST_OK)
        err_prefix(&err, "body");
    else
        s = request_read(body, "default", now, &a->cmd.arena, &r, &err);
    json_decref(body);
    buf_done(&w->body);
    if (s != ST_OK) {
        ask_unref(a);
        visit_err(w, &err);
        return;
    }
    a->cmd.owner = r.owner;
    if (r.clear) {
        a->cmd.kind = COMMAND_REQUEST_DROP;
        ask_control(w, a, request_clear_answer);
        return;
    }
    a->cmd.body = r.body;
    a->cmd.demand = r.demand;
    a->cmd.expires_ms = r.ttl_ms ? now + r.ttl_ms : 0;
    ask_control(w, a, request_put_answer);
}

void drop_request(struct visit *w)
{
    struct ask *a;

    if (!owner_valid(w->arg)) {
        visit_error(w, 400, "INVALID", "owner", "an owner has 1 to 128 of the "
                    "letters A-Z a-z 0-9 . _ : @ -");
        return;
    }
    if (strcmp(w->arg, "ray") == 0) {
        visit_error(w, 400, "INVALID", "owner", "\"ray\" stands for what Ray "
                    "itself asks for; clear it there with "
                    "ray.autoscaler.sdk.request_resources(bundles=[])");
        return;
    }
    a = ask_new(w->server->yard, COMMAND_REQUEST_DROP);
    a->cmd.owner = arena_strdup(&a->cmd.arena, w->arg);
    ask_control(w, a, request_drop_answer);
}

/* ---- protection */

static void protect_answer(struct visit *w)
{
    const struct command *cmd = &w->ask->cmd;
    struct buf b;
    struct out o;

    if (refused(w))
        return;
    buf_init(&b, REPLY_MAX);
    out_init(&o, &b);
    out_object(&o, NULL);
    out_str(&o, "node", cmd->machine);
    out_bool(&o, "protected", cmd->on);
    out_strf(&o, "text", cmd->on ? "%s is not ended until it is unprotected"
                                 : "%s may be ended again", cmd->machine);
    out_close(&o);
    visit_reply(w, 200, &b, "application/json");
}

/* The API takes any name of a node; the loop knows ours alone. */
static void protect(struct visit *w, bool on)
{
    struct status_page *page = visit_page(w);
    struct view v;
    struct ask *a;
    uint32_t i;

    if (!page)
        return;
    view_open(&v, page);
    i = node_find(&v, w->arg);
    if (i == NONE) {
        visit_error(w, 404, "NOT_FOUND", w->arg, "there is no node of this "
                    "name; see /v1/nodes");
    } else if (v.snapshot->nodes[i].unmanaged || v.snapshot->nodes[i].head) {
        visit_error(w, 400, "INVALID", w->arg, "this node is %s: it is never "
                    "ended anyway", v.snapshot->nodes[i].head ? "the Ray head"
                                                           : "not ours");
    } else {
        a = ask_new(w->server->yard, COMMAND_PROTECT);
        a->cmd.machine = arena_strdup(&a->cmd.arena, v.snapshot->nodes[i].id);
        a->cmd.on = on;
        ask_control(w, a, protect_answer);
    }
    view_done(&v);
    status_unref(page);
}

void protect_node(struct visit *w)
{
    protect(w, true);
}

void unprotect_node(struct visit *w)
{
    protect(w, false);
}

/* ---- reload */

static void reload_answer(struct visit *w)
{
    struct command *cmd = &w->ask->cmd;
    struct buf b;
    struct out o;

    if (cmd->status != ST_OK) {
        /* the message is the file's own: path:line:column: ... */
        visit_error(w, cmd->status == ST_INVALID ? 400 : 503,
                    status_name(cmd->status), "", "%s", cmd->err.text);
        return;
    }
    if (refused(w))
        return;
    buf_init(&b, REPLY_MAX);
    out_init(&o, &b);
    out_object(&o, NULL);
    out_bool(&o, "reloaded", true);
    out_str(&o, "path", cmd->seen->config_path);
    out_time(&o, "loaded_at", cmd->seen->config_loaded_ms);
    out_str(&o, "text", "the configuration is taken over");
    out_close(&o);
    visit_reply(w, 200, &b, "application/json");
}

void post_reload(struct visit *w)
{
    ask_control(w, ask_new(w->server->yard, COMMAND_RELOAD), reload_answer);
}
