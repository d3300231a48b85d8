/*
 * nodes.c - the nodes of a Kubernetes cluster, grouped by pool.
 */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "../../base/clock.h"
#include "../../model/accel.h"
#include "../../model/amount.h"
#include "../../wire/kube/kube.h"
#include "init.h"

enum { PATIENCE_MS = 10000, PAGE = 500, MOST_PAGES = 100 };

static const char *text_of(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    return s ? s : "";
}

static struct pairs pairs_of(struct arena *a, json_t *o)
{
    VEC(struct pair) out = {0};
    const char *key;
    json_t *v;

    json_object_foreach(o, key, v) {
        if (json_is_string(v)) {
            struct pair p = {arena_strdup(a, key),
                             arena_strdup(a, json_string_value(v))};
            VEC_PUSH(a, &out, p);
        }
    }
    return (struct pairs){out.v, out.n};
}

/* What the machine has, by Ray's names; what is of the kubelet's own is left
 * out. */
static void capacity(struct found *f, struct init_pool *p, json_t *o)
{
    const char *key, *text;
    json_t *v;

    json_object_foreach(o, key, v) {
        const char *device = accel_from_k8s(key);
        const char *name = strcmp(key, "cpu") == 0      ? "CPU"
                           : strcmp(key, "memory") == 0 ? "memory"
                                                        : device;
        struct qty q = {name ? arena_strdup(&f->arena, name) : "", 0};

        text = json_string_value(v);
        if (name && text && amount_parse(text, &q.amount) && q.amount > 0)
            VEC_PUSH(&f->arena, &p->resources, q);
    }
}

/* A taint that a node has only while it starts or ends, or of ours. */
static bool passes(const char *key)
{
    static const char *const passing[] = {
        "node.kubernetes.io/", "node.cloudprovider.kubernetes.io/",
        "davit.io/",           "ToBeDeletedByClusterAutoscaler",
        "DeletionCandidate",   "node.cilium.io/"};

    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        if (strncmp(key, passing[i], strlen(passing[i])) == 0)
            return true;
    return false;
}

static void taints(struct found *f, struct init_pool *p, json_t *list)
{
    size_t i;
    json_t *t;

    json_array_foreach(list, i, t) {
        const char *key = text_of(t, "key"), *value = text_of(t, "value");
        if (*key && !passes(key))
            VEC_PUSH(
                &f->arena, &p->taints,
                arena_printf(&f->arena, "%s%s%s:%s", key, *value ? "=" : "",
                             value, text_of(t, "effect")));
    }
}

/* "n1-standard-8" with two T4s attached is "n1-standard-8+t4x2" where the
 * catalogue has such; else the accelerator is said beside the machine. */
static void machine(struct found *f, struct init_pool *p,
                    const struct node_facts *n)
{
    int64_t gpus = 0;
    struct cat_machine known;
    struct err err;
    const char *with;

    for (uint32_t i = 0; i < p->resources.n; i++)
        if (strcmp(p->resources.v[i].name, "GPU") == 0)
            gpus = p->resources.v[i].amount / AMOUNT_ONE;
    p->machine = n->machine;
    if (catalogue_find(f->catalogue, p->machine, &f->arena, &known, &err) ==
        ST_OK) {
        if (!gpus || *known.accelerator)
            return;
        with = arena_printf(&f->arena, "%s+%sx%lld", p->machine, n->accelerator,
                            (long long)gpus);
        if (catalogue_find(f->catalogue, with, &f->arena, &known, &err) ==
            ST_OK) {
            p->machine = with;
            return;
        }
        p->machine = ""; /* its resources say all */
    }
    if (gpus)
        p->accelerator = accel_type_canonical(n->accelerator);
}

/* Only labels that all nodes of the pool have are the pool's. */
static void common_labels(struct init_pool *p, const struct node_facts *n)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < p->labels.n; i++)
        for (uint32_t j = 0; j < n->labels.n; j++)
            if (strcmp(p->labels.v[i].key, n->labels.v[j].key) == 0 &&
                strcmp(p->labels.v[i].value, n->labels.v[j].value) == 0) {
                p->labels.v[kept++] = p->labels.v[i];
                break;
            }
    p->labels.n = kept;
}

static struct init_pool *pool_of(struct found *f, const struct node_facts *n)
{
    const char *name = *n->pool      ? n->pool
                       : *n->machine ? n->machine
                                     : "machines";

    for (uint32_t i = 0; i < f->pools.n; i++)
        if (strcmp(f->pools.v[i]->name, name) == 0 && f->pools.v[i]->seen)
            return f->pools.v[i];
    return NULL;
}

static void node(struct found *f, json_t *o)
{
    json_t *meta = json_object_get(o, "metadata");
    json_t *spec = json_object_get(o, "spec");
    struct pairs labels = pairs_of(&f->arena, json_object_get(meta, "labels"));
    const char *id = arena_strdup(&f->arena, text_of(spec, "providerID"));
    struct node_facts n;
    struct init_pool *p;

    for (uint32_t i = 0; i < labels.n; i++)
        if (strcmp(labels.v[i].key, "node-role.kubernetes.io/control-plane") ==
            0)
            return;
    init_node_facts(&f->arena, id, &labels, &n);
    p = pool_of(f, &n);
    if (!p) {
        p = init_pool_new(f, *n.pool      ? n.pool
                             : *n.machine ? n.machine
                                          : "machines");
        p->provider = n.provider;
        p->pool = n.pool;
        p->spot = n.spot;
        p->labels.v = n.labels.v;
        p->labels.n = n.labels.n;
        capacity(f, p,
                 json_object_get(json_object_get(o, "status"), "capacity"));
        taints(f, p, json_object_get(spec, "taints"));
        machine(f, p, &n);
        if (*n.provider)
            init_node_provider(f, id, &labels, &n);
    }
    common_labels(p, &n);
    if (*n.zone && !init_has_zone(p, n.zone))
        VEC_PUSH(&f->arena, &p->zones, n.zone);
    p->seen++;
}

/* What a pool's nodes cannot say, once all were seen. */
static void finish(struct found *f, struct init_pool *p)
{
    p->max = p->seen;
    if (!*p->provider) {
        p->provider = "sim";
        init_provider_of(f, "sim");
        p->note = "? who launches them; sim only pretends";
        INIT_UNKNOWN(f,
                     "node type %s: no cloud of these nodes is known; "
                     "docs/guides/on-premise.md shows a provider of your own",
                     p->name);
    }
    /* In a group over several zones the cloud chooses. */
    if (strcmp(p->provider, "gke") != 0 && p->zones.n > 1) {
        INIT_UNKNOWN(f,
                     "node type %s: its nodes are in %u zones; a pool for each "
                     "of them lets Davit choose (options: {pools: ...})",
                     p->name, p->zones.n);
        p->zones.n = 0;
    }
    INIT_FOUND(f, "pool %s: %u nodes, %s", p->name, p->seen,
               *p->machine ? p->machine : "a machine of its own kind");
}

/* All nodes, page by page; false with err filled. */
static bool read_nodes(struct found *f, struct kube *k, struct err *err)
{
    const char *from = "";

    for (int page = 0; page < MOST_PAGES; page++) {
        struct kube_call call = {
            .path = arena_printf(&f->arena, "/api/v1/nodes?limit=%d%s%s", PAGE,
                                 *from ? "&continue=" : "", from),
            .deadline_mono_ms = clock_mono_ms() + PATIENCE_MS};
        bool good = kube_do(k, &call, err) == ST_OK;
        size_t i;
        json_t *o;

        json_array_foreach(json_object_get(call.reply, "items"), i, o) {
            if (good)
                node(f, o);
        }
        from = arena_strdup(
            &f->arena,
            text_of(json_object_get(call.reply, "metadata"), "continue"));
        json_decref(call.reply);
        if (!good || !*from)
            return good;
    }
    return true;
}

/* "context prod of /home/u/.kube/config" -> "prod" */
static const char *context_of(struct found *f, const char *source)
{
    const char *end = strstr(source, " of ");

    if (strncmp(source, "context ", 8) != 0 || !end)
        return "";
    return arena_strndup(&f->arena, source + 8, (size_t)(end - source - 8));
}

bool init_nodes(struct found *f, const char *kubeconfig, const char *context,
                bool asked)
{
    struct kube_access_opts o = {.kubeconfig = kubeconfig, .context = context};
    struct kube_access *access;
    struct kube *k;
    struct err err;
    uint32_t before = f->pools.n;
    bool good;

    if (kube_access_find(&o, &access, &err) != ST_OK) {
        if (asked)
            fprintf(stderr, "davit: %s\n", err.text);
        return !asked;
    }
    f->kubeconfig = arena_strdup(&f->arena, kubeconfig);
    f->context = *context ? arena_strdup(&f->arena, context)
                          : context_of(f, kube_access_source(access));
    k = kube_new(access);
    good = read_nodes(f, k, &err);
    if (good) {
        f->kube = true;
        INIT_FOUND(f, "Kubernetes at %s", kube_access_server(access));
        for (uint32_t i = before; i < f->pools.n; i++)
            finish(f, f->pools.v[i]);
        INIT_UNKNOWN(f, "pools without a node now cannot be seen; max is what "
                        "is there, raise it");
    } else if (asked) {
        fprintf(stderr, "davit: %s: %s\n", kube_access_server(access),
                err.text);
    } else {
        INIT_UNKNOWN(f, "Kubernetes at %s was found and does not answer: %s",
                     kube_access_server(access), err.text);
    }
    kube_free(k);
    kube_access_free(access);
    return good || !asked;
}
