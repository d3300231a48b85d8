/*
 * object.c - pods, DaemonSets and PodGroups to records.  See
 * inside.h.
 *
 * A pod is demand when the scheduler has looked at it and found no place, and
 * a new node could be one.
 */
#include "inside.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"
#include "../../base/buf.h"
#include "../../base/clock.h"
#include "../../base/text.h"

/* ---- one block for a record and its strings */

struct packer {
    char *at;
    size_t n;
    bool measuring;
};

/* lines: its newlines stay. */
static const char *pack(struct packer *p, const char *s, bool lines)
{
    size_t n = strlen(s) + 1;
    char *to = p->at;

    if (n == 1)
        return "";
    p->n += n;
    if (p->measuring)
        return s;
    memcpy(to, s, n);
    if (!lines)
        text_clean(to, n - 1);
    p->at += n;
    return to;
}

/* ---- its group, by labels and annotations */

static void gang_of(const json_t *meta, const json_t *spec, char *ret,
                    size_t size, uint32_t *ret_n)
{
    static const char *const labels[] = {
        "scheduling.x-k8s.io/pod-group",
        "kueue.x-k8s.io/pod-group-name",
        "pod-group.scheduling.sigs.k8s.io",
        "pod-group.scheduling.sigs.k8s.io/name",
    };
    static const char *const notes[] = {
        "scheduling.x-k8s.io/pod-group",
        "pod-group.scheduling.sigs.k8s.io",
        "scheduling.k8s.io/group-name",
        "scheduling.volcano.sh/group-name",
    };
    static const char *const counts[] = {
        "kueue.x-k8s.io/pod-group-total-count",
        "pod-group.scheduling.sigs.k8s.io/min-available",
        "scheduling.x-k8s.io/min-available",
    };
    const char *name = "", *part = "", *space;

    for (size_t i = 0; i < sizeof labels / sizeof *labels && !*name; i++)
        name = pods_text(meta, "labels", labels[i], NULL);
    for (size_t i = 0; i < sizeof notes / sizeof *notes && !*name; i++)
        name = pods_text(meta, "annotations", notes[i], NULL);
    if (!*name)
        name = pods_text(spec, "schedulingGroup", "podGroupName", NULL);
    if (!*name) {
        name = pods_text(spec, "workloadRef", "name", NULL);
        part = pods_text(spec, "workloadRef", "podGroup", NULL);
    }
    *ret = '\0';
    *ret_n = 0;
    if (!*name)
        return;
    space = pods_text(meta, "namespace", NULL);
    snprintf(ret, size, "%.253s/%.253s%s%.253s", space, name, *part ? "/" : "",
             part);
    for (size_t i = 0; i < sizeof counts / sizeof *counts && !*ret_n; i++) {
        const char *v = pods_text(meta, "annotations", counts[i], NULL);
        if (!*v)
            v = pods_text(meta, "labels", counts[i], NULL);
        if (strlen(v) <= 6 && strspn(v, "0123456789") == strlen(v))
            *ret_n = (uint32_t)strtoul(*v ? v : "0", NULL, 10);
    }
}

/* The claims that it names or that are made for it, by name. */
static void claims_of(const json_t *meta, const json_t *spec, struct buf *to)
{
    const json_t *list = json_object_get(spec, "volumes");

    for (size_t i = 0; i < json_array_size(list) && i < PODS_MAX_LIST; i++) {
        const json_t *v = json_array_get(list, i);
        const char *claim = pods_text(v, "persistentVolumeClaim", "claimName",
                                      NULL);

        if (*claim)
            buf_printf(to, "%s\n", claim);
        else if (json_is_object(json_object_get(v, "ephemeral")))
            buf_printf(to, "%s-%s\n", pods_text(meta, "name", NULL),
                       pods_text(v, "name", NULL));
    }
}

static void owner_of(const json_t *meta, char *ret, size_t size, bool *daemon,
                     bool *fixed)
{
    const json_t *list = json_object_get(meta, "ownerReferences");

    *ret = '\0';
    *daemon = false;
    *fixed = *pods_text(meta, "annotations", "kubernetes.io/config.mirror",
                        NULL) != '\0';
    for (size_t i = 0; i < json_array_size(list) && i < PODS_MAX_LIST; i++) {
        const json_t *o = json_array_get(list, i);
        const char *kind = pods_text(o, "kind", NULL);
        if (!json_is_true(json_object_get(o, "controller")))
            continue;
        *daemon = strcmp(kind, "DaemonSet") == 0;
        *fixed = *fixed || strcmp(kind, "Node") == 0;
        snprintf(ret, size, "%.63s/%.253s/%.253s", kind,
                 pods_text(meta, "namespace", NULL),
                 pods_text(o, "name", NULL));
        return;
    }
}

const char *pods_owner(struct arena *a, const json_t *meta)
{
    char owner[640];
    bool daemon, fixed;

    owner_of(meta, owner, sizeof owner, &daemon, &fixed);
    return pods_clean(a, owner);
}

/* ---- is it demand? */

static const json_t *scheduled(const json_t *status)
{
    const json_t *list = json_object_get(status, "conditions");

    for (size_t i = 0; i < json_array_size(list) && i < PODS_MAX_LIST; i++)
        if (strcmp(pods_text(json_array_get(list, i), "type", NULL),
                   "PodScheduled") == 0)
            return json_array_get(list, i);
    return NULL;
}

static const char *message_of(const json_t *condition)
{
    const char *s = json_string_value(json_object_get(condition, "message"));

    return s ? s : "";
}

/* Volcano says of the members of a group that lacks room for one of them that
 * they could be placed. */
static bool means_unschedulable(const char *reason)
{
    return strcmp(reason, "Unschedulable") == 0 ||
           strcmp(reason, "Schedulable") == 0 ||
           strcmp(reason, "Undetermined") == 0;
}

static void waits_for(struct pod *p, const char *code, const char *text)
{
    p->state = POD_WAITS;
    p->code = p->aside = code;
    p->text = text;
}

/* Why one without a node is no demand; NULL: it is. */
static const char *aside_of(const struct pod *p, const json_t *spec,
                            const struct pods_rules *rules,
                            const json_t *condition)
{
    const char *scheduler = pods_text(spec, "schedulerName", NULL);

    if (p->daemon)
        return WAITS_DAEMON;
    if (p->fixed)
        return WAITS_STATIC;
    if (p->ending)
        return WAITS_ENDING;
    if (json_array_size(json_object_get(spec, "schedulingGates")))
        return WAITS_GATED;
    if (!pods_listed(&rules->schedulers,
                     *scheduler ? scheduler : "default-scheduler"))
        return WAITS_SCHEDULER;
    if (rules->namespaces.n && !pods_listed(&rules->namespaces, p->space))
        return WAITS_SPACE;
    if (*p->node)
        return WAITS_NOMINATED;
    return strcmp(pods_text(condition, "status", NULL), "False") == 0 &&
                   means_unschedulable(pods_text(condition, "reason", NULL))
               ? NULL
               : WAITS_UNTRIED;
}

static void state_of(struct pod *p, const json_t *o,
                     const struct pods_rules *rules, const json_t *condition)
{
    const json_t *spec = json_object_get(o, "spec");
    const char *phase = pods_text(o, "status", "phase", NULL);

    p->code = p->text = "";
    if (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0) {
        p->state = POD_OVER;
        return;
    }
    p->node = pods_text(spec, "nodeName", NULL);
    if (*p->node) {
        p->state = POD_BOUND;
        return;
    }
    p->node = pods_text(o, "status", "nominatedNodeName", NULL);
    p->aside = aside_of(p, spec, rules, condition);
    p->state = p->aside ? POD_WAITS : POD_DEMAND;
}

struct pod *pods_pod_read(const json_t *o, const struct pods_rules *rules,
                          struct pods_store *s)
{
    const json_t *meta = json_object_get(o, "metadata");
    const json_t *spec = json_object_get(o, "spec");
    const json_t *condition = scheduled(json_object_get(o, "status"));
    const json_t *priority = json_object_get(spec, "priority");
    const char *uid = pods_text(meta, "uid", NULL);
    const char *name = pods_text(meta, "name", NULL);
    struct packer packer = {.measuring = true};
    char owner[640], gang[800];
    struct buf claims;
    struct pod p = {0}, *ret = NULL;

    if (!*uid || !*name || !json_is_object(spec))
        return NULL;
    p.name = name;
    p.space = pods_text(meta, "namespace", NULL);
    owner_of(meta, owner, sizeof owner, &p.daemon, &p.fixed);
    gang_of(meta, spec, gang, sizeof gang, &p.gang_size);
    buf_init(&claims, 65536);
    claims_of(meta, spec, &claims);
    p.queue = pods_text(meta, "labels", QUEUE_LABEL, NULL);
    p.ray = *pods_text(meta, "labels", "ray.io/cluster", NULL) != '\0';
    p.ending = json_object_get(meta, "deletionTimestamp");
    p.created_ms = clock_from_iso(pods_text(meta, "creationTimestamp", NULL));
    p.since_ms = clock_from_iso(
        pods_text(condition, "lastTransitionTime", NULL));
    state_of(&p, o, rules, condition);
    if (json_is_integer(priority)) {
        json_int_t v = json_integer_value(priority);
        p.priority = v > INT32_MAX   ? INT32_MAX
                     : v < INT32_MIN ? INT32_MIN
                                     : (int32_t)v;
    }
    for (int i = 0; i < 2; i++) {
        struct pod q = p;
        if (i) {
            ret = mem_alloc(sizeof *ret + packer.n);
            packer = (struct packer){.at = (char *)(ret + 1)};
        }
        q.item.id = pack(&packer, uid, false);
        q.name = pack(&packer, p.name, false);
        q.space = pack(&packer, p.space, false);
        q.node = pack(&packer, p.node ? p.node : "", false);
        q.owner = pack(&packer, owner, false);
        q.gang = pack(&packer, gang, false);
        q.queue = pack(&packer, p.queue, false);
        q.claims = pack(&packer, claims.n ? claims.s : "", true);
        if (i)
            *ret = q;
    }
    buf_done(&claims);
    if (ret->state != POD_OVER) {
        json_t *held = ret->state == POD_BOUND
                           ? pods_resized(spec, json_object_get(o, "status"))
                           : NULL;

        ret->shape = pods_shape_intern(s, meta, held ? held : spec);
        json_decref(held);
        ret->labels = pods_labels_intern(s, json_object_get(meta, "labels"));
        if (ret->state == POD_DEMAND)
            said_keep(ret->shape, message_of(condition), pods_version(meta));
    }
    if (ret->state == POD_DEMAND && ret->shape->code)
        waits_for(ret, ret->shape->code, ret->shape->text);
    return ret;
}

/* ---- DaemonSets and PodGroups */

/* A zeroed record of so many bytes with the id "space/name" behind it; NULL:
 * it has no name. */
static void *record_new(const json_t *o, size_t size)
{
    const json_t *meta = json_object_get(o, "metadata");
    const char *name = pods_text(meta, "name", NULL);
    const char *space = pods_text(meta, "namespace", NULL);
    size_t n = strlen(space) + strlen(name) + 2;
    struct item *x;

    if (!*name)
        return NULL;
    x = mem_zeroed(1, size + n);
    snprintf((char *)x + size, n, "%s/%s", space, name);
    x->id = (char *)x + size;
    return x;
}

struct daemon *pods_daemon_read(const json_t *o)
{
    const json_t *template = pods_at(o, "spec", "template", NULL);
    const json_t *spec = json_object_get(template, "spec");
    struct daemon *d = json_is_object(spec) ? record_new(o, sizeof *d) : NULL;

    if (d) {
        const json_t *meta = json_object_get(template, "metadata");
        const char *space = pods_text(o, "metadata", "namespace", NULL);
        json_t *own = json_is_object(meta)
                          ? json_copy((json_t *)(uintptr_t)meta)
                          : json_object();

        /* a template has no namespace of its own */
        json_object_set_new(own, "namespace", json_string(space));
        d->shape = pods_shape_read(own, spec, true);
        d->space = arena_strdup(&d->shape->arena, space);
        d->labels = pods_pairs_copy(&d->shape->arena,
                                    json_object_get(meta, "labels"));
        json_decref(own);
    }
    return d;
}

/* Volcano's conditions, one of each type: which is newer, "Unschedulable" or
 * "Scheduled"?  NULL: its pods do not wait, or it does not say why. */
static const char *group_said(const json_t *o, struct arena *a)
{
    const json_t *list = pods_at(o, "status", "conditions", NULL);
    const json_t *last = NULL;
    int64_t last_ms = INT64_MIN;
    char text[PODS_MAX_SAID + 1];

    for (size_t i = 0; i < json_array_size(list) && i < PODS_MAX_LIST; i++) {
        const json_t *c = json_array_get(list, i);
        const char *type = pods_text(c, "type", NULL);
        int64_t ms = clock_from_iso(pods_text(c, "lastTransitionTime", NULL));

        if (strcmp(pods_text(c, "status", NULL), "True") == 0 &&
            (strcmp(type, "Unschedulable") == 0 ||
             strcmp(type, "Scheduled") == 0) &&
            ms >= last_ms) {
            last = c;
            last_ms = ms;
        }
    }
    if (!last || strcmp(pods_text(last, "type", NULL), "Unschedulable") != 0)
        return NULL;
    snprintf(
        text, sizeof text, "%s",
        *message_of(last) ? message_of(last) : pods_text(last, "reason", NULL));
    text_clean(text, strlen(text));
    return *text ? arena_strdup(a, text) : NULL;
}

struct pod_group *pods_group_read(const json_t *o)
{
    json_int_t min = json_integer_value(pods_at(o, "spec", "minMember", NULL));
    const char *queue = pods_text(o, "spec", "queue", NULL);
    struct arena *a;
    struct pod_group *g = object_new(o, sizeof *g, &a);

    if (g)
        g->min = min > 0 && min <= 1000000 ? (uint32_t)min : 1;
    if (g && *queue)
        g->queue = pods_clean(a, queue);
    if (g)
        g->said = group_said(o, a);
    return g;
}
