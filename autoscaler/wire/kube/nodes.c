/*
 * nodes.c - see nodes.h.
 */
#include "nodes.h"

#include <stdio.h>
#include <stdlib.h>

#include "../../base/clock.h"
#include "../../kit/kube_drain.h"

/* So long a node is kept that is empty, for a pod that the scheduler was just
 * binding to it when the taint came. */
enum { SETTLE_MS = 2000 };

struct link {
    struct kube *k;
    int64_t deadline_mono_ms;
    struct err err;
};

static void send_one(void *ctx, struct kube_ask *ask)
{
    struct link *l = ctx;
    char *body = ask->body ? json_dumps(ask->body, JSON_COMPACT) : NULL;
    struct kube_call call = {
        .method = ask->method,
        .path = ask->path,
        .content_type = ask->content_type,
        .body = body,
        .deadline_mono_ms = l->deadline_mono_ms,
    };

    l->err = (struct err){0};
    kube_do(l->k, &call, &l->err);
    ask->code = call.code;
    ask->reply = call.reply;
    ask->server_ms = call.server_ms;
    ask->retry_after_ms = l->err.retry_after_ms;
    snprintf(ask->text, sizeof ask->text, "%.*s", (int)sizeof ask->text - 1,
             l->err.text);
    free(body);
}

/* The wire's own text when the last request failed: they name the server, and
 * the rule that is missing. */
static enum status status_of(const struct link *l, enum davit_status s,
                             const struct davit_error *e, struct err *err)
{
    if (s == DAVIT_OK)
        return ST_OK;
    err_set(err, (enum status)s, "%s", *l->err.text ? l->err.text : e->text);
    snprintf(err->code, sizeof err->code, "%s", e->code);
    err->retry_after_ms = e->retry_after_ms;
    return (enum status)s;
}

enum status kube_nodes_drain(struct kube *k, struct source_drain *d,
                             int64_t deadline_mono_ms, struct err *err)
{
    static const enum source_drained got[] = {
        [KUBE_DRAIN_REFUSED] = SOURCE_DRAIN_REFUSED,
        [KUBE_DRAIN_WAITS] = SOURCE_DRAIN_WAITS,
        [KUBE_DRAIN_ABSENT] = SOURCE_DRAIN_ABSENT,
        [KUBE_DRAIN_DONE] = SOURCE_DRAIN_DONE,
    };
    struct link l = {.k = k, .deadline_mono_ms = deadline_mono_ms};
    const struct kube_io io = {&l, send_one};
    struct davit_error e = {.size = sizeof e};
    struct kube_drain x = {
        .node = d->node_id,
        .uid = d->uid,
        .now_wall_ms = clock_wall_ms(),
        .limit_ms = d->limit_ms,
        .settle_ms = SETTLE_MS,
        .most_grace_s = d->most_grace_ms / 1000,
        .wait = d->preempt,
        .idle = d->idle,
        .rules = {.move_local = d->move_local, .move_bare = d->move_bare},
    };
    enum davit_status s = kube_drain_step(&io, &x, &e);

    d->got = got[x.got];
    d->moved = x.moved;
    snprintf(d->why, sizeof d->why, "%s", x.why);
    return status_of(&l, s, &e, err);
}

enum status kube_nodes_undrain(struct kube *k, const char *node,
                               int64_t deadline_mono_ms, struct err *err)
{
    struct link l = {.k = k, .deadline_mono_ms = deadline_mono_ms};
    const struct kube_io io = {&l, send_one};
    struct davit_error e = {.size = sizeof e};

    return status_of(&l, kube_drain_undo(&io, node, &e), &e, err);
}

enum status kube_nodes_cordon(struct kube *k, const char *node, bool on,
                              int64_t deadline_mono_ms, struct err *err)
{
    struct link l = {.k = k, .deadline_mono_ms = deadline_mono_ms};
    const struct kube_io io = {&l, send_one};
    struct davit_error e = {.size = sizeof e};

    return status_of(&l, kube_cordon(&io, node, on, &e), &e, err);
}

enum status kube_nodes_forget(struct kube *k, const char *node,
                              const char *instance, int64_t deadline_mono_ms,
                              struct err *err)
{
    struct link l = {.k = k, .deadline_mono_ms = deadline_mono_ms};
    const struct kube_io io = {&l, send_one};
    struct davit_error e = {.size = sizeof e};
    bool deleted;

    return status_of(&l, kube_node_forget(&io, node, instance, &deleted, &e),
                     &e, err);
}
