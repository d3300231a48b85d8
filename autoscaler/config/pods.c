/*
 * pods.c - podTypes, the language of Ray's first Kubernetes operator: the map
 * of its Helm chart (as in the Ray book) and the list of its custom resource.
 */
#include <stddef.h>
#include <string.h>

#include "../model/amount.h"
#include "raw.h"

/* The counts of one entry. */
struct pod_type {
    uint32_t min, max;
};

static const struct key count_keys[] = {
    {"minWorkers", KEY_COUNT, .offset = offsetof(struct pod_type, min),
     .max = 1000000},
    {"maxWorkers", KEY_COUNT, .offset = offsetof(struct pod_type, max),
     .max = 1000000},
    KEYS_END,
};

/* rayResources over CPU, GPU and memory over the container's own. */
static void resources_read(struct raw *d, struct raw_type *t,
                           const struct ynode *map)
{
    static const char *const own[] = {"CPU", "GPU", "memory"};
    const struct ynode *ray = ynode_get(map, "rayResources"), *v;
    const struct ynode *containers = ynode_path(map, "podConfig", "spec",
                                                "containers", NULL);
    const char *where = grammar_where(&d->r, t->where, "rayResources");
    int64_t amount;

    if (ray)
        dialect_resources(&d->r, ray, where, t);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        v = ynode_get(map, own[i]);
        if (!v || v->kind == YNODE_NULL || ynode_get(ray, own[i]))
            continue;
        if (dialect_whole(d, v, grammar_where(&d->r, t->where, own[i]),
                          &amount))
            shape_set(d, t, own[i], amount);
    }
    if (containers && containers->kind == YNODE_LIST && containers->n)
        dialect_container(d, t, containers->items[0],
                          grammar_where(&d->r, t->where, "podConfig"));
}

static void type_read(struct raw *d, const struct ynode *name,
                      const struct ynode *map, const char *provider)
{
    struct pod_type p = {.max = UNLIMITED};
    struct raw_type *t;
    const struct ynode *v;

    if (strcmp(dialect_text(name), d->c->head_type) == 0)
        return;
    t = dialect_type(d, name, "podTypes", map);
    if (!t)
        return;
    p.max = d->c->limits.max_nodes;
    grammar_read_some(&d->r, count_keys, map, t->where, &p);
    unknown_keys(d, KEYS_PODS_TYPE, map, t->where);
    v = ynode_get(map, "maxWorkers");
    if ((!v || v->kind == YNODE_NULL) && p.max == UNLIMITED)
        diag_add(d->r.diag, name,
                 "%s: maxWorkers is missing; the head's type needs none, and "
                 "is named %s or by headPodType",
                 t->where, "rayHeadType");
    t->min = p.min;
    t->max = p.max;
    t->pool = t->name;
    t->provider = provider;
    resources_read(d, t, map);
    v = ynode_get(map, "nodeSelector");
    if (!v)
        v = ynode_path(map, "podConfig", "spec", "nodeSelector", NULL);
    if (v)
        dialect_selector(d, t, v,
                         grammar_where(&d->r, t->where, "nodeSelector"));
}

#define AT(member) .offset = offsetof(struct config, member)

static const struct key file_keys[] = {
    {"maxWorkers", KEY_COUNT, AT(limits.max_nodes), .max = 1000000},
    {"upscalingSpeed", KEY_FACTOR, AT(limits.upscaling_speed), .max = 100000},
    {"idleTimeoutMinutes", KEY_CUSTOM, .read = dialect_minutes},
    {"headPodType", KEY_TEXT, AT(head_type)},
    KEYS_END,
};

/* The chart's values do not name the cluster: the file does. */
static const char *name_from_path(struct raw *d)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    const char *slash = strrchr(d->c->path, '/');
    const char *base = slash ? slash + 1 : d->c->path;
    size_t n = strspn(base, good);

    return n && n <= 63 && !strchr("-_", *base)
               ? arena_strndup(d->r.arena, base, n)
               : "ray";
}

bool pods_is(const struct ynode *root)
{
    return ynode_get(root, "podTypes");
}

void pods_read(struct raw *d, const struct ynode *spec,
               const struct ynode *name, const struct ynode *block)
{
    static const struct key cluster = {.type = KEY_NAME};
    const struct ynode *types = ynode_get(spec, "podTypes");
    const char *provider;

    d->c->head_type = "rayHeadType";
    d->c->limits.idle_timeout_ms = 5 * 60000;
    d->c->cluster = name_from_path(d);
    if (name)
        grammar_value(&d->r, &cluster, name, "metadata.name", &d->c->cluster);
    grammar_read_some(&d->r, file_keys, spec, "", d->c);
    unknown_keys(d, KEYS_PODS_FILE, spec, "");
    provider = dialect_provider(d, block, types, "k8s");
    if (types->kind == YNODE_MAP) {
        for (uint32_t i = 0; i < types->n; i++)
            type_read(d, types->pairs[i].key, types->pairs[i].value, provider);
    } else if (types->kind == YNODE_LIST) {
        for (uint32_t i = 0; i < types->n; i++) {
            const struct ynode *v = ynode_get(types->items[i], "name");
            if (v)
                type_read(d, v, types->items[i], provider);
            else
                diag_add(d->r.diag, types->items[i],
                         "podTypes[%u]: name is missing", i);
        }
    } else {
        diag_add(d->r.diag, types,
                 "podTypes must be a mapping or a list of types, got %s",
                 ynode_shown(d->r.arena, types));
    }
    dialect_check(d);
}
