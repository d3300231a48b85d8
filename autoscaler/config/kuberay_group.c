/*
 * kuberay_group.c - one worker group of a RayCluster as a node type.
 *
 * What a node of a group offers is found as Ray's own autoscaler finds it: the
 * group's resources, rayStartParams, the Ray container's limits, its requests,
 * in this order; CPU rounds up.  Groups are told apart by name; the operator
 * launches, so a group is the k8s provider's pool.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../model/accel.h"
#include "../model/amount.h"
#include "extras.h"

#define MOST_REPLICAS INT64_C(2147483647) /* KubeRay's "no maximum" */

/* ---- a group's resources ---- */

/* What was given before wins. */
static void put(struct raw *d, struct raw_type *t, const char *name,
                int64_t amount)
{
    if (raw_given(t, name) < 0)
        shape_set(d, t, name, amount);
}

/* A rayStartParams value: Ray wants text that is a whole number. */
static void param_put(struct raw *d, struct raw_type *t,
                      const struct ynode *params, const char *key,
                      const char *resource, const char *where)
{
    const struct ynode *v = ynode_get(params, key);
    int64_t a;

    if (!v || v->kind == YNODE_NULL)
        return;
    if (v->kind != YNODE_TEXT || !amount_parse(v->text, &a) || a % AMOUNT_ONE ||
        strspn(v->text, "0123456789") != strlen(v->text))
        diag_add(d->r.diag, v,
                 "%s.%s must be a whole number in quotes such as \"2\", got %s",
                 where, key, ynode_shown(d->r.arena, v));
    else
        put(d, t, resource, a);
}

/* resources: '"{\"Custom1\": 1}"': JSON in quotes of its own, or plain. */
static void param_resources(struct raw *d, struct raw_type *t,
                            const struct ynode *v, const char *where)
{
    struct diag quiet = {.arena = d->r.arena, .path = ""};
    struct yaml_docs docs;
    char *json = arena_strdup(d->r.arena, dialect_text(v)), *to = json;
    const struct ynode *map;
    int64_t a;

    for (const char *p = json; *p; p++)
        if (*p != '\\')
            *to++ = *p;
    *to = '\0';
    while (to > json && strchr(" \"'\n", to[-1]))
        *--to = '\0';
    json += strspn(json, " \"'\n");
    /* JSON is YAML. */
    map = yaml_read(d->r.arena, json, strlen(json), &quiet, &docs) == ST_OK &&
                  docs.n == 1
              ? ynode_map(docs.v[0])
              : NULL;
    for (uint32_t i = 0; map && i < map->n; i++) {
        const struct ypair *p = &map->pairs[i];
        if (p->value->kind != YNODE_TEXT || !amount_parse(p->value->text, &a))
            map = NULL;
        else if (accel_type_of_resource(p->key->text))
            t->accelerator = accel_type_canonical(
                accel_type_of_resource(p->key->text));
        else
            put(d, t, p->key->text, a);
        if (!map)
            break;
    }
    if (!map)
        diag_add(d->r.diag, v,
                 "%s.resources must be JSON in quotes such as "
                 "'\"{\\\"Custom1\\\": 1}\"', got %s",
                 where, ynode_shown(d->r.arena, v));
}

/* "a=b,c=d" of ray start --labels. */
static void param_labels(struct raw *d, struct raw_type *t,
                         const struct ynode *v)
{
    const char *p = dialect_text(v);

    while (*p) {
        size_t n = strcspn(p, ","), k = strcspn(p, "=,");
        if (k && k < n) {
            const char *key = arena_strndup(d->r.arena, p, k);
            const char *value = arena_strndup(d->r.arena, p + k + 1, n - k - 1);
            if (strcmp(key, ACCEL_LABEL) == 0)
                t->accelerator = accel_type_canonical(value);
            else
                shape_label(d, t, key, value);
        }
        p += n + (p[n] == ',');
    }
}

static void params_read(struct raw *d, struct raw_type *t,
                        const struct ynode *params, const char *where)
{
    const struct ynode *v;

    if (!grammar_map(&d->r, params, where, ""))
        return;
    unknown_keys(d, KEYS_KUBERAY_PARAMS, params, where);
    v = ynode_get(params, "resources");
    if (v && v->kind != YNODE_NULL)
        param_resources(d, t, v, where);
    param_put(d, t, params, "num-cpus", "CPU", where);
    param_put(d, t, params, "num-gpus", "GPU", where);
    param_put(d, t, params, "memory", "memory", where);
    v = ynode_get(params, "labels");
    if (v)
        param_labels(d, t, v);
}

/* The group's own resources go before everything else. */
static void group_resources(struct raw *d, struct raw_type *t,
                            const struct ynode *map, const char *where)
{
    int64_t a;

    if (!grammar_map(&d->r, map, where, ""))
        return;
    for (uint32_t i = 0; i < map->n; i++) {
        const char *name = map->pairs[i].key->text;
        const char *type = accel_type_of_resource(name);
        if (!dialect_whole(d, map->pairs[i].value,
                           grammar_where(&d->r, where, name), &a))
            continue;
        if (type)
            t->accelerator = accel_type_canonical(type);
        else
            shape_set(d, t, name, a);
    }
}

/* The head of a TPU slice carries a marker by which a slice is asked for:
 * tpu-v4-podslice of 2x2x2 is 8 chips of 2 cores, "TPU-v4-16-head". */
static void tpu_head(struct raw *d, struct raw_type *t,
                     const struct ynode *selector)
{
    static const struct {
        const char *name, *generation;
        int64_t cores; /* of a chip */
    } g[] = {
        {"tpu-v4-podslice", "v4", 2},
        {"tpu-v5-lite-device", "v5litepod", 1},
        {"tpu-v5-lite-podslice", "v5litepod", 1},
        {"tpu-v5p-slice", "v5p", 2},
        {"tpu-v6e-slice", "v6e", 1},
        {"tpu7x", "v7x", 2},
    };
    const char *topology = dialect_text(
        ynode_get(selector, "cloud.google.com/gke-tpu-topology"));
    const char *name = dialect_text(
        ynode_get(selector, "cloud.google.com/gke-tpu-accelerator"));
    int64_t chips = 1;
    char *end;

    if (!*topology || !*name || raw_given(t, "TPU") <= 0)
        return;
    for (const char *p = topology; *p; p = *end ? end + 1 : end) {
        long n = strtol(p, &end, 10);
        if (end == p || n < 1 || n > 4096 || (*end && *end != 'x') ||
            chips > 100000)
            return;
        chips *= n;
    }
    for (size_t i = 0; i < sizeof g / sizeof *g; i++)
        if (strcmp(name, g[i].name) == 0)
            shape_set(
                d, t,
                arena_printf(d->r.arena, "TPU-%s-%lld-head", g[i].generation,
                             (long long)(chips * g[i].cores)),
                AMOUNT_ONE);
}

/* ---- groups ---- */

struct group {
    uint32_t min, max, hosts;
    bool suspend;
};

#define AT(member) .offset = offsetof(struct group, member)
static const struct key group_keys[] = {
    {"minReplicas", KEY_COUNT, AT(min), .max = MOST_REPLICAS},
    {"maxReplicas", KEY_COUNT, AT(max), .max = MOST_REPLICAS},
    {"numOfHosts", KEY_COUNT, AT(hosts), .min = 1, .max = 4096},
    {"suspend", KEY_BOOL, AT(suspend)},
    KEYS_END,
};
#undef AT

#define AT(member) .offset = offsetof(struct raw_type, member)
static const struct key worker_keys[] = {
    {"idleTimeoutSeconds", KEY_TIME, AT(idle_timeout_ms),
     .max = INT64_C(30) * 86400000},
    {"priority", KEY_INT, AT(priority), .min = -2147483647, .max = 2147483647},
    KEYS_END,
};
#undef AT

static uint32_t times(uint32_t replicas, uint32_t hosts)
{
    uint64_t n = (uint64_t)replicas * hosts;

    return replicas >= MOST_REPLICAS || n >= UNLIMITED ? UNLIMITED
                                                       : (uint32_t)n;
}

static void pod_read(struct raw *d, struct raw_type *t,
                     const struct ynode *group)
{
    const struct ynode *spec = ynode_path(group, "template", "spec", NULL);
    const struct ynode *containers = ynode_get(spec, "containers");
    const struct ynode *selector = ynode_get(spec, "nodeSelector");
    const char *where = grammar_where(&d->r, t->where, "template.spec");

    /* The Ray container is always the first. */
    if (containers && containers->kind == YNODE_LIST && containers->n)
        dialect_container(d, t, containers->items[0],
                          grammar_where(&d->r, where, "containers[0]"));
    else if (containers)
        diag_add(d->r.diag, containers,
                 "%s.containers must be a list with the Ray container first, "
                 "got %s",
                 where, ynode_shown(d->r.arena, containers));
    if (selector) {
        /* Said by the group's own resources, it stays. */
        const char *kept = t->accelerator;
        dialect_selector(d, t, selector,
                         grammar_where(&d->r, where, "nodeSelector"));
        if (*kept)
            t->accelerator = kept;
        tpu_head(d, t, selector);
    }
}

void kuberay_group_read(struct raw *d, const struct ynode *group, uint32_t ix,
                        const char *provider, const struct ynode *block)
{
    const struct ynode *name = ynode_get(group, "groupName"), *v;
    struct group g = {.max = UNLIMITED, .hosts = 1};
    struct raw_type *t;

    unknown_keys(d, KEYS_KUBERAY_GROUP, group,
                 arena_printf(d->r.arena, "workerGroupSpecs[%u]", ix));
    if (!name) {
        diag_add(d->r.diag, group, "workerGroupSpecs[%u]: groupName is missing",
                 ix);
        return;
    }
    t = dialect_type(d, name, "workerGroupSpecs", group);
    if (!t)
        return;
    grammar_read_some(&d->r, group_keys, group, t->where, &g);
    grammar_read_some(&d->r, worker_keys, group, t->where, t);
    t->provider = provider;
    t->pool = t->name;
    t->hosts = g.hosts;
    t->min = times(g.min, g.hosts);
    t->max = times(g.max, g.hosts);
    if (g.suspend) {
        diag_warn(d->r.diag, name, "%s is suspended: nothing is launched",
                  t->where);
        d->types.n--;
        return;
    }
    group_resources(d, t, ynode_get(group, "resources"),
                    grammar_where(&d->r, t->where, "resources"));
    params_read(d, t, ynode_get(group, "rayStartParams"),
                grammar_where(&d->r, t->where, "rayStartParams"));
    v = ynode_get(group, "labels");
    pod_read(d, t, group);
    if (v)
        shape_labels_read(d, t, v, grammar_where(&d->r, t->where, "labels"));
    if (raw_given(t, "CPU") < 0)
        diag_add(d->r.diag, name,
                 "%s: no CPU is given anywhere: set num-cpus in rayStartParams "
                 "or a cpu limit of the Ray container",
                 t->where);
    dialect_priority(d, t, block);
}
