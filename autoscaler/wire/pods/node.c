/*
 * node.c - a Node to a record.  See inside.h.
 *
 * Labels for which we have names of our own are added under these too: the
 * accelerator's type, the market, the vendor of its GPUs.
 */
#include "inside.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"
#include "../../base/buf.h"
#include "../../base/clock.h"
#include "../../model/accel.h"
#include "../../model/amount.h"

#define MARKET_LABEL "ray.io/market-type"

static void add(struct arena *a, struct pair *v, uint32_t *n, const char *key,
                const char *value)
{
    for (uint32_t i = 0; i < *n; i++)
        if (strcmp(v[i].key, key) == 0)
            return;
    v[*n] = (struct pair){pods_clean(a, key), pods_clean(a, value)};
    ++*n;
}

static void labels_read(struct knode *n, const json_t *labels)
{
    struct arena *a = &n->arena;
    size_t most = json_object_size(labels);
    struct pair *v;
    uint32_t kept = 0;
    const char *key, *accel = "", *market = "";
    json_t *x;

    if (most > PODS_MAX_LIST)
        most = PODS_MAX_LIST;
    v = ARENA_ARRAY(a, struct pair, most + 4);
    json_object_foreach((json_t *)(uintptr_t)labels, key, x) {
        const char *s = json_string_value(x);
        if (!s || kept == most || strlen(s) > PODS_MAX_TEXT ||
            strlen(key) > PODS_MAX_TEXT)
            continue;
        if (strcmp(key, SOURCE_JOIN_LABEL) == 0) {
            n->mark = pods_clean(a, s);
            continue;
        }
        add(a, v, &kept, key, s);
        if (!*accel)
            accel = accel_type_of_label(v[kept - 1].key, v[kept - 1].value);
        if (!*market)
            market = pods_market(key, s);
    }
    if (*accel)
        add(a, v, &kept, ACCEL_LABEL, accel);
    if (*market)
        add(a, v, &kept, MARKET_LABEL, market);
    add(a, v, &kept, "metadata.name", n->item.id); /* for matchFields */
    n->labels = (struct pairs){v, kept};
}

static struct qtys amounts_read(struct knode *n, const json_t *list,
                                const char **vendor)
{
    struct pods_sum sum = {0};
    const char *name;
    json_t *v;

    json_object_foreach((json_t *)(uintptr_t)list, name, v) {
        int64_t amount, *to;
        const char *of;
        if (strlen(name) > PODS_MAX_TEXT || !pods_quantity(v, false, &amount))
            continue;
        to = pods_sum_of(&sum, &n->arena, pods_resource(name, &of));
        *to = amount_add(*to, amount);
        if (*of && amount)
            *vendor = pods_vendor(&n->arena, of);
    }
    return pods_sum_qtys(&sum, &n->arena);
}

/* Taints that repeat the Ready condition, which is what counts here: they come
 * and go later than it, and in between we would buy for nothing. */
static bool of_condition(const char *key)
{
    return strcmp(key, "node.kubernetes.io/not-ready") == 0 ||
           strcmp(key, "node.kubernetes.io/unreachable") == 0;
}

/* A node that is uncordoned carries it a moment longer: spec decides. */
static bool of_cordon(const struct knode *n, const char *key)
{
    return !n->unschedulable &&
           strcmp(key, "node.kubernetes.io/unschedulable") == 0;
}

static bool is_listed(const char *s, const char *key)
{
    size_t n = strlen(s);

    return n && s[n - 1] == '*' ? strncmp(s, key, n - 1) == 0
                                : strcmp(s, key) == 0;
}

bool pods_taint_listed(struct names startup, const char *key)
{
    for (uint32_t i = 0; i < startup.n; i++)
        if (is_listed(startup.v[i], key))
            return true;
    return false;
}

/* type: the node's; "": it does not say, so that of any type counts. */
static bool of_start(const struct pods_rules *rules, const char *type,
                     const char *key)
{
    for (uint32_t i = 0; i < rules->type_startup.n; i++) {
        const struct pair *p = &rules->type_startup.v[i];

        if ((!*type || strcmp(p->key, type) == 0) && is_listed(p->value, key))
            return true;
    }
    return pods_taint_listed(rules->startup, key) || taint_of_start(key);
}

static void taints_read(struct knode *n, const json_t *list,
                        const struct pods_rules *rules)
{
    size_t most = json_array_size(list);
    struct taint *v;
    uint32_t kept = 0;

    if (most > PODS_MAX_LIST)
        most = PODS_MAX_LIST;
    v = ARENA_ARRAY(&n->arena, struct taint, most);
    for (int start = 0; start < 2; start++) {
        for (size_t i = 0; i < most; i++) {
            const json_t *t = json_array_get(list, i);
            const char *key = pods_text(t, "key", NULL);
            struct taint x = {.effect = EFFECT_NO_SCHEDULE};
            if (strcmp(key, SOURCE_DRAIN_TAINT) == 0)
                n->draining = true;
            if (!*key || of_condition(key) || of_cordon(n, key) ||
                of_start(rules, n->type, key) != start ||
                !effect_from_name(pods_text(t, "effect", NULL), &x.effect))
                continue;
            x.key = pods_clean(&n->arena, key);
            x.value = pods_clean(&n->arena, pods_text(t, "value", NULL));
            v[kept++] = x;
        }
        if (!start)
            n->n_lasting = kept;
    }
    n->taints = (struct taints){v, kept};
}

static void ready_read(struct knode *n, const json_t *list)
{
    n->note = "its kubelet has not reported yet";
    n->changed_ms = n->created_ms;
    for (size_t i = 0; i < json_array_size(list) && i < PODS_MAX_LIST; i++) {
        const json_t *c = json_array_get(list, i);
        int64_t at;
        if (strcmp(pods_text(c, "type", NULL), "Ready") != 0)
            continue;
        n->ready = strcmp(pods_text(c, "status", NULL), "True") == 0;
        n->note = n->ready
                      ? ""
                      : arena_printf(&n->arena, "not ready: %.150s",
                                     pods_clean(&n->arena,
                                                pods_text(c, "message", NULL)));
        at = clock_from_iso(pods_text(c, "lastTransitionTime", NULL));
        if (at)
            n->changed_ms = at;
    }
}

/* The names a machine of ours may have for it, in the order of who stands for
 * them.  Its own name: the API server lets the kubelet of that name alone be it.
 * spec.providerID: cannot be changed once it is there, and a cloud's controller
 * sets it.  The label, and addresses, are what its kubelet says. */
static void names_read(struct knode *n, const json_t *o, const char *label)
{
    struct arena *a = &n->arena;
    const json_t *list = pods_at(o, "status", "addresses", NULL);
    const char *provider = pods_text(o, "spec", "providerID", NULL);
    const char *path = strstr(provider, "://"), *own;
    struct {
        VEC(const char *) all;
    } v = {{0}};

    n->provider_id = n->address = "";
    VEC_PUSH(a, &v.all, n->item.id);
    own = pairs_value(&n->labels, label);
    if (*provider) {
        const char *last = strrchr(provider, '/');
        n->provider_id = pods_clean(a, last ? last + 1 : provider);
        VEC_PUSH(a, &v.all, pods_clean(a, provider));
        if (path && path[3] == '/' && path[4])
            VEC_PUSH(a, &v.all, pods_clean(a, path + 4));
        if (path && path[3])
            VEC_PUSH(a, &v.all, pods_clean(a, path + 3));
    }
    n->n_vouched = v.all.n;
    if (own && *own)
        VEC_PUSH(a, &v.all, own);
    n->n_given = v.all.n - n->n_vouched;
    for (size_t i = 0; i < json_array_size(list) && i < 32; i++) {
        const json_t *x = json_array_get(list, i);
        const char *type = pods_text(x, "type", NULL);
        const char *address = pods_clean(a, pods_text(x, "address", NULL));
        if (!*address)
            continue;
        VEC_PUSH(a, &v.all, address);
        if (strcmp(type, "InternalIP") == 0 && !*n->address)
            n->address = address;
    }
    n->aliases = (struct names){v.all.v, v.all.n};
}

/* Of the parts that matter: heartbeats and images do not. */
static uint64_t hash_of(const json_t *o, const struct knode *n)
{
    const json_t *parts[] = {
        pods_at(o, "metadata", "labels", NULL),
        json_object_get(o, "spec"),
        pods_at(o, "status", "allocatable", NULL),
        pods_at(o, "status", "capacity", NULL),
        pods_at(o, "status", "addresses", NULL),
    };
    uint64_t h = hash_text(hash_text(n->ready + 2u * n->cordoned, n->leaving),
                           n->uid);

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char *text = parts[i]
                         ? json_dumps(parts[i], JSON_COMPACT | JSON_SORT_KEYS)
                         : NULL;
        h = hash_text(h, text ? text : "");
        free(text);
    }
    return h;
}

static const char *label_of(const struct knode *n, const char *key)
{
    const char *v = pairs_value(&n->labels, key);

    return v ? v : "";
}

struct knode *pods_node_read(const json_t *o, const struct pods_rules *rules)
{
    const json_t *meta = json_object_get(o, "metadata");
    const json_t *labels = json_object_get(meta, "labels");
    const char *name = pods_text(meta, "name", NULL), *vendor = "";
    struct knode *n;

    if (!*name)
        return NULL;
    n = MEM_NEW(struct knode);
    n->item.id = pods_clean(&n->arena, name);
    n->uid = arena_strdup(&n->arena, pods_text(meta, "uid", NULL));
    n->mark = "";
    n->created_ms = clock_from_iso(pods_text(meta, "creationTimestamp", NULL));
    n->unschedulable = json_is_true(pods_at(o, "spec", "unschedulable", NULL));
    n->cordoned = *pods_text(meta, "annotations", SOURCE_CORDON_NOTE, NULL);
    ready_read(n, pods_at(o, "status", "conditions", NULL));
    labels_read(n, labels);
    /* it names the vendor before the devices can be allocated */
    amounts_read(n, pods_at(o, "status", "capacity", NULL), &vendor);
    n->total = amounts_read(n, pods_at(o, "status", "allocatable", NULL),
                            &vendor);
    if (*vendor) {
        struct pair *v = (struct pair *)(uintptr_t)n->labels.v; /* has room */
        add(&n->arena, v, &n->labels.n, GPU_LABEL, vendor);
    }
    n->type = label_of(n, "davit.io/node-type");
    taints_read(n, pods_at(o, "spec", "taints", NULL), rules);
    n->up = n->ready && n->n_lasting == n->taints.n;
    names_read(n, o, rules->label);
    n->zone = label_of(n, "topology.kubernetes.io/zone");
    if (!*n->zone)
        n->zone = label_of(n, "failure-domain.beta.kubernetes.io/zone");
    n->machine = label_of(n, "node.kubernetes.io/instance-type");
    pods_leaving_read(n, o);
    n->version = pods_version(meta);
    n->hash = hash_of(o, n);
    return n;
}

void pods_node_free(struct knode *n)
{
    if (!n)
        return;
    arena_done(&n->arena);
    free(n);
}
