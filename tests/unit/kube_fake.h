/*
 * kube_fake.h - an API server of one node for the drain's tests: it keeps the
 * node, its pods and budgets as JSON, patches as the real one does, and
 * answers evictions as each pod's annotation "test/evict" says.
 */
#ifndef TESTS_KUBE_FAKE_H
#define TESTS_KUBE_FAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "kit/json.h"
#include "kit/kube_drain.h"

#define NOW INT64_C(1800000000000)

struct fake {
    json_t *node, *pods, *pdbs;
    char log[8192]; /* "GET /path\n" of every request */
    int fail_code;  /* of every request with fail_path in it */
    const char *fail_path, *fail_reply;
    int conflicts; /* PATCHes that are answered 409 first */
    uint32_t rv;
    int page;          /* pods per page, 0: all */
    int64_t server_ms; /* its clock, in each answer; 0: it tells none */
    struct kube_io io;
};

static json_t *status_object(int code, const char *reason, const char *message)
{
    return json_pack("{s:s, s:i, s:s, s:s}", "kind", "Status", "code", code,
                     "reason", reason, "message", message);
}

static void merge(json_t *to, const json_t *patch)
{
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)patch, key, v) {
        if (json_is_null(v)) {
            json_object_del(to, key);
        } else if (json_is_object(v)) {
            if (!json_is_object(json_object_get(to, key)))
                json_object_set_new(to, key, json_object());
            merge(json_object_get(to, key), v);
        } else {
            json_object_set_new(to, key, json_deep_copy(v));
        }
    }
}

static const char *annotation_of(const json_t *o, const char *key)
{
    const char *s = json_string_value(
        json_object_get(kit_json_at(o, "metadata.annotations"), key));
    return s ? s : "";
}

static void answer(struct kube_ask *q, int code, json_t *reply)
{
    q->code = code;
    q->reply = reply;
}

static void patch_node(struct fake *f, struct kube_ask *q)
{
    char rv[16];
    if (f->conflicts > 0) {
        f->conflicts--;
        answer(q, 409, status_object(409, "Conflict", "modified"));
        return;
    }
    assert_string_equal(q->content_type, "application/merge-patch+json");
    /* what a reader of this node would have seen: its taints are one list */
    assert_string_equal(kit_json_text(q->body, "metadata.resourceVersion"),
                        kit_json_text(f->node, "metadata.resourceVersion"));
    merge(f->node, q->body);
    snprintf(rv, sizeof rv, "%u", ++f->rv);
    json_object_set_new(json_object_get(f->node, "metadata"), "resourceVersion",
                        json_string(rv));
    answer(q, 200, json_deep_copy(f->node));
}

static size_t pod_at(struct fake *f, const char *name)
{
    size_t i;
    json_t *p;
    json_array_foreach(f->pods, i, p)
        if (strcmp(kit_json_text(p, "metadata.name"), name) == 0)
            return i;
    return SIZE_MAX;
}

/* The last second of a pod that was evicted with this grace period. */
static void leave(json_t *pod, int64_t at_ms)
{
    char text[40];
    time_t s = (time_t)(at_ms / 1000);
    struct tm tm;
    gmtime_r(&s, &tm);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    json_object_set_new(json_object_get(pod, "metadata"), "deletionTimestamp",
                        json_string(text));
}

static void evict_pod(struct fake *f, struct kube_ask *q)
{
    char name[80] = "";
    const char *how;
    size_t i;
    json_t *pod;

    sscanf(strstr(q->path, "/pods/") + 6, "%79[^/]", name);
    i = pod_at(f, name);
    if (i == SIZE_MAX) {
        answer(q, 404, status_object(404, "NotFound", "no such pod"));
        return;
    }
    pod = json_array_get(f->pods, i);
    assert_string_equal(kit_json_text(q->body, "kind"), "Eviction");
    assert_string_equal(kit_json_text(q->body, "metadata.name"), name);
    assert_string_equal(
        kit_json_text(q->body, "deleteOptions.preconditions.uid"),
        kit_json_text(pod, "metadata.uid"));
    how = annotation_of(pod, "test/evict");
    if (strcmp(how, "budget") == 0) {
        json_t *r = status_object(429, "TooManyRequests",
                                  "Cannot evict pod "
                                  "as it would violate the pod's disruption "
                                  "budget.");
        json_object_set_new(
            r, "details",
            json_pack("{s:[{s:s, s:s}]}", "causes", "reason",
                      "DisruptionBudget", "message",
                      "The disruption budget web needs 2 healthy pods and "
                      "has 2 currently"));
        answer(q, 429, r);
    } else if (strcmp(how, "busy") == 0) {
        q->retry_after_ms = 3000;
        answer(q, 429, status_object(429, "TooManyRequests", "too many"));
    } else if (strcmp(how, "two") == 0) {
        answer(q, 500,
               status_object(500, "InternalError",
                             "This pod has more "
                             "than one PodDisruptionBudget, which the "
                             "eviction subresource does not support."));
    } else if (strcmp(how, "forbidden") == 0) {
        answer(q, 403,
               status_object(403, "Forbidden",
                             "pods \"x\" is "
                             "forbidden: cannot create pods/eviction"));
    } else if (strcmp(how, "ending") == 0) {
        answer(q, 403,
               status_object(403, "Forbidden",
                             "unable to create new "
                             "content in namespace n because it is "
                             "being terminated"));
    } else if (strcmp(how, "other") == 0) {
        answer(q, 409, status_object(409, "Conflict", "uid"));
    } else if (strcmp(how, "silence") == 0) {
        snprintf(q->text, sizeof q->text, "no connection");
    } else {
        leave(pod,
              NOW + 1000 * kit_json_int(
                               q->body, "deleteOptions.gracePeriodSeconds",
                               kit_json_int(
                                   pod, "spec.terminationGracePeriodSeconds",
                                   30)));
        answer(q, 201, json_object());
    }
}

static void list_pods(struct fake *f, struct kube_ask *q)
{
    const char *more = strstr(q->path, "continue=");
    size_t from = more ? strtoul(more + 9, NULL, 10) : 0, i;
    size_t n = json_array_size(f->pods);
    size_t to = f->page && from + (size_t)f->page < n ? from + (size_t)f->page
                                                      : n;
    json_t *items = json_array();
    char next[24] = "";

    for (i = from; i < to; i++)
        json_array_append(items, json_array_get(f->pods, i));
    if (to < n)
        snprintf(next, sizeof next, "%zu", to);
    answer(q, 200,
           json_pack("{s:{s:s}, s:o}", "metadata", "continue", next, "items",
                     items));
}

static void fake_send(void *ctx, struct kube_ask *q)
{
    struct fake *f = ctx;
    size_t n = strlen(f->log);

    snprintf(f->log + n, sizeof f->log - n, "%s %s\n", q->method, q->path);
    q->server_ms = f->server_ms;
    if (f->fail_path && strstr(q->path, f->fail_path)) {
        if (f->fail_code == 0)
            snprintf(q->text, sizeof q->text, "%s", f->fail_reply);
        else
            answer(q, f->fail_code,
                   status_object(f->fail_code, "Failed", f->fail_reply));
    } else if (strstr(q->path, "/eviction")) {
        evict_pod(f, q);
    } else if (strstr(q->path, "/poddisruptionbudgets")) {
        answer(q, 200, json_pack("{s:O}", "items", f->pdbs));
    } else if (strncmp(q->path, "/api/v1/pods?", 13) == 0) {
        list_pods(f, q);
    } else if (!f->node) {
        answer(q, 404, status_object(404, "NotFound", "no such node"));
    } else if (strcmp(q->method, "PATCH") == 0) {
        patch_node(f, q);
    } else if (strcmp(q->method, "DELETE") == 0) {
        assert_string_equal(kit_json_text(q->body, "preconditions.uid"),
                            kit_json_text(f->node, "metadata.uid"));
        json_decref(f->node);
        f->node = NULL;
        answer(q, 200, json_object());
    } else {
        answer(q, 200, json_deep_copy(f->node));
    }
}

static int fake_setup(void **state)
{
    struct fake *f = calloc(1, sizeof *f);
    f->node = json_pack("{s:{s:s, s:s, s:s, s:{s:s}}, s:{s:s, s:[{s:s, s:s}]}}",
                        "metadata", "name", "n1", "uid", "node-uid",
                        "resourceVersion", "1", "labels", "a", "b", "spec",
                        "providerID", "gce://p/z/n1", "taints", "key",
                        "nvidia.com/gpu", "effect", "NoSchedule");
    f->pods = json_array();
    f->pdbs = json_array();
    f->rv = 1;
    f->io = (struct kube_io){f, fake_send};
    *state = f;
    return 0;
}

static int fake_teardown(void **state)
{
    struct fake *f = *state;
    json_decref(f->node);
    json_decref(f->pods);
    json_decref(f->pdbs);
    free(f);
    return 0;
}

/* A running, ready pod of a ReplicaSet; more: JSON merged over it, or NULL. */
static json_t *add_pod(struct fake *f, const char *name, const char *more)
{
    json_t *p = json_pack(
        "{s:{s:s, s:s, s:s, s:{s:s}, s:[{s:s, s:s, s:b}]}, s:{s:i},"
        " s:{s:s, s:[{s:s, s:s}]}}",
        "metadata", "name", name, "namespace", "ns", "uid", name, "labels",
        "app", "web", "ownerReferences", "kind", "ReplicaSet", "name", "rs",
        "controller", 1, "spec", "terminationGracePeriodSeconds", 30, "status",
        "phase", "Running", "conditions", "type", "Ready", "status", "True");
    assert_non_null(p);
    if (more) {
        json_t *patch = json_loads(more, 0, NULL);
        assert_non_null(patch);
        merge(p, patch);
        json_decref(patch);
    }
    json_array_append_new(f->pods, p);
    return p;
}

static void add_pdb(struct fake *f, const char *name, int allowed)
{
    json_array_append_new(
        f->pdbs, json_pack("{s:{s:s, s:s}, s:{s:{s:{s:s}}}, s:{s:i, s:i, s:i}}",
                           "metadata", "name", name, "namespace", "ns", "spec",
                           "selector", "matchLabels", "app", "web", "status",
                           "disruptionsAllowed", allowed, "currentHealthy", 2,
                           "desiredHealthy", 2 - allowed));
}

static uint32_t count_of(const struct fake *f, const char *what)
{
    uint32_t n = 0;
    for (const char *p = f->log; (p = strstr(p, what)); p++)
        n++;
    return n;
}

static void remove_leaving(struct fake *f)
{
    for (size_t i = json_array_size(f->pods); i-- > 0;)
        if (*kit_json_text(json_array_get(f->pods, i),
                           "metadata.deletionTimestamp"))
            json_array_remove(f->pods, i);
}

#endif
