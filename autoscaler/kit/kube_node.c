/*
 * kube_node.c - a node cordoned, given back, and forgotten.
 *
 * What we change is written beside it, so that a node somebody else had
 * cordoned stays cordoned when a drain is taken back.  Every patch carries the
 * resourceVersion it was made from: taints are one list, and another writer's
 * must not be lost.
 */
#include "kube_node.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "str.h"

/* Load balancers send nothing new to a node with this label. */
#define NO_BALANCER "node.kubernetes.io/exclude-from-external-load-balancers"
#define OURS "davit"

static enum davit_status status_of(int code)
{
    switch (code) {
    case 401:
    case 403: return DAVIT_AUTH;
    case 404: return DAVIT_NOT_FOUND;
    case 400:
    case 422: return DAVIT_INVALID;
    default: return DAVIT_RETRY;
    }
}

enum davit_status kube_ask(const struct kube_io *io, struct kube_ask *q,
                           struct davit_error *e)
{
    const char *words;

    q->code = 0;
    q->reply = NULL;
    io->send(io->ctx, q);
    if (q->code >= 200 && q->code < 300)
        return DAVIT_OK;
    words = kit_json_text(q->reply, "message");
    if (q->code == 0)
        words = *q->text ? q->text : "no answer";
    snprintf(e->text, sizeof e->text, "%s %.60s: %.130s", q->method, q->path,
             *words ? words : "the API server gave no reason");
    snprintf(e->code, sizeof e->code, "%s",
             *kit_json_text(q->reply, "reason")
                 ? kit_json_text(q->reply, "reason")
                 : "");
    e->retry_after_ms = q->retry_after_ms;
    return status_of(q->code);
}

static void node_path(struct kit_str *path, const char *name)
{
    kit_str_puts(path, "/api/v1/nodes/");
    kit_str_encode(path, name, strlen(name), "");
}

enum davit_status kube_node_get(const struct kube_io *io, const char *name,
                                json_t **ret, bool *ret_there,
                                struct davit_error *e)
{
    struct kit_str path = {0};
    struct kube_ask q = {.method = "GET"};
    enum davit_status st;

    *ret = NULL;
    node_path(&path, name);
    q.path = kit_str_text(&path);
    st = kube_ask(io, &q, e);
    kit_str_done(&path);
    *ret_there = st == DAVIT_OK;
    if (st == DAVIT_OK)
        *ret = q.reply;
    else
        json_decref(q.reply);
    return st == DAVIT_NOT_FOUND ? DAVIT_OK : st;
}

static bool is_ours(const json_t *taint)
{
    return strcmp(kit_json_text(taint, "key"), KUBE_DRAIN_TAINT) == 0;
}

int64_t kube_node_drained_since(const json_t *node, int64_t now_wall_ms)
{
    const json_t *taints = kit_json_at(node, "spec.taints"), *t;
    size_t i;

    json_array_foreach(taints, i, t)
        if (is_ours(t)) {
            int64_t s = kit_json_int(t, "value", 0);
            return s > 0 && s <= now_wall_ms / 1000 ? s * 1000 : now_wall_ms;
        }
    return 0;
}

static bool label_is_ours(const json_t *node)
{
    const char *s = json_string_value(
        json_object_get(kit_json_at(node, "metadata.labels"), NO_BALANCER));

    return s && strcmp(s, OURS) == 0;
}

/* Its taints without ours; the caller's. */
static json_t *other_taints(const json_t *node)
{
    const json_t *taints = kit_json_at(node, "spec.taints"), *t;
    json_t *list = json_array();
    size_t i;

    json_array_foreach(taints, i, t)
        if (!is_ours(t))
            json_array_append(list, (json_t *)t);
    return list;
}

enum davit_status kube_node_patch(const struct kube_io *io, const json_t *node,
                                  json_t *patch, struct davit_error *e)
{
    struct kube_ask q = {.method = "PATCH",
                         .content_type = "application/merge-patch+json",
                         .body = kit_must(patch)};
    struct kit_str path = {0};
    enum davit_status st;

    json_object_set_new(
        json_object_get(patch, "metadata"), "resourceVersion",
        json_string(kit_json_text(node, "metadata.resourceVersion")));
    node_path(&path, kit_json_text(node, "metadata.name"));
    q.path = kit_str_text(&path);
    st = kube_ask(io, &q, e);
    json_decref(q.reply);
    json_decref(patch);
    kit_str_done(&path);
    return st;
}

enum davit_status kube_node_cordon(const struct kube_io *io, const json_t *node,
                                   int64_t now_wall_ms, struct davit_error *e)
{
    bool before = kit_json_true(node, "spec.unschedulable");
    const json_t *labels = kit_json_at(node, "metadata.labels");
    json_t *taints = other_taints(node), *set = json_object();
    char now[32];

    snprintf(now, sizeof now, "%" PRId64, now_wall_ms / 1000);
    json_array_append_new(
        taints, json_pack("{s:s, s:s, s:s}", "key", KUBE_DRAIN_TAINT, "value",
                          now, "effect", "NoSchedule"));
    if (!json_object_get(labels, NO_BALANCER))
        json_object_set_new(set, NO_BALANCER, json_string(OURS));
    return kube_node_patch(
        io, node,
        json_pack("{s:{s:{s:o}, s:o}, s:{s:b, s:o}}", "metadata", "annotations",
                  KUBE_DRAIN_CORDONED,
                  before ? json_null() : json_string("true"), "labels", set,
                  "spec", "unschedulable", 1, "taints", taints),
        e);
}

enum davit_status kube_drain_undo(const struct kube_io *io, const char *name,
                                  struct davit_error *e)
{
    enum { TRIES = 3 };
    enum davit_status st = DAVIT_OK;

    for (int i = 0; i < TRIES; i++) {
        json_t *node, *patch, *labels;
        bool there;

        st = kube_node_get(io, name, &node, &there, e);
        if (st != DAVIT_OK)
            return st;
        if (!there || kube_node_drained_since(node, 1) == 0) {
            json_decref(node);
            return DAVIT_OK;
        }
        labels = json_object();
        if (label_is_ours(node))
            json_object_set_new(labels, NO_BALANCER, json_null());
        patch = json_pack("{s:{s:{s:n}, s:o}, s:{s:o}}", "metadata",
                          "annotations", KUBE_DRAIN_CORDONED, "labels", labels,
                          "spec", "taints", other_taints(node));
        if (patch && json_object_get(kit_json_at(node, "metadata.annotations"),
                                     KUBE_DRAIN_CORDONED))
            json_object_set_new(json_object_get(patch, "spec"), "unschedulable",
                                json_false());
        st = kube_node_patch(io, node, patch, e);
        json_decref(node);
        if (st == DAVIT_OK || strcmp(e->code, "Conflict") != 0)
            return st;
    }
    return st;
}

/* ---- forgetting */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0 &&
           (n == m || text[n - m - 1] == '/');
}

enum davit_status kube_node_forget(const struct kube_io *io, const char *name,
                                   const char *instance, bool *ret_deleted,
                                   struct davit_error *e)
{
    struct kube_ask q = {.method = "DELETE",
                         .content_type = "application/json"};
    struct kit_str path = {0};
    json_t *node, *body;
    const char *provider_id;
    enum davit_status st;
    bool there;

    *ret_deleted = false;
    st = kube_node_get(io, name, &node, &there, e);
    if (st != DAVIT_OK || !there)
        return st;
    provider_id = kit_json_text(node, "spec.providerID");
    if (kit_json_ready(node)) {
        snprintf(e->text, sizeof e->text, "node %.100s is Ready yet", name);
        json_decref(node);
        return DAVIT_RETRY;
    }
    if ((*instance != '\0' && *provider_id != '\0' &&
         !ends_with(provider_id, instance))) {
        json_decref(node);
        return DAVIT_OK;
    }
    body = json_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind",
                     "DeleteOptions", "preconditions", "uid",
                     kit_json_text(node, "metadata.uid"));
    node_path(&path, name);
    q.path = kit_str_text(&path);
    q.body = body;
    st = kube_ask(io, &q, e);
    *ret_deleted = st == DAVIT_OK;
    json_decref(q.reply);
    json_decref(body);
    json_decref(node);
    kit_str_done(&path);
    return st == DAVIT_NOT_FOUND ? DAVIT_OK : st;
}
