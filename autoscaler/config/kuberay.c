/*
 * kuberay.c - a KubeRay manifest: the worker groups of a RayCluster, also the
 * one inside a RayJob, RayService or List.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../model/accel.h"
#include "../model/amount.h"
#include "extras.h"

/* ---- finding the cluster ---- */

/* The RayCluster's spec inside an object, NULL when there is none. */
static const struct ynode *cluster_spec(const struct ynode *object)
{
    const char *kind = dialect_text(ynode_get(object, "kind"));
    const struct ynode *spec = ynode_get(object, "spec"), *v;

    if (strcmp(kind, "RayCluster") == 0)
        return spec;
    if (strcmp(kind, "RayCronJob") == 0)
        spec = ynode_get(spec, "jobTemplate");
    else if (strcmp(kind, "RayJob") != 0 && strcmp(kind, "RayService") != 0)
        return NULL;
    v = ynode_map(ynode_get(spec, "rayClusterSpec"));
    return v ? v : ynode_map(ynode_get(spec, "rayClusterConfig"));
}

struct search {
    const struct ynode *object, *spec, *block;
    const char *kinds; /* what else there was */
};

static const char *object_name(struct raw *d, const struct ynode *object)
{
    return diag_quote(
        d->r.arena, dialect_text(ynode_path(object, "metadata", "name", NULL)));
}

static void object_look(struct raw *d, struct search *s,
                        const struct ynode *object)
{
    const struct ynode *items = ynode_get(object, "items");
    const struct ynode *spec = cluster_spec(object);
    const char *kind = dialect_text(ynode_get(object, "kind"));
    size_t n = strlen(kind);

    if (ynode_get(object, "davit"))
        s->block = ynode_get(object, "davit");
    if (n >= 4 && strcmp(kind + n - 4, "List") == 0 && items &&
        items->kind == YNODE_LIST) {
        for (uint32_t i = 0; i < items->n; i++)
            if (items->items[i]->kind == YNODE_MAP &&
                !ynode_get(items->items[i], "items"))
                object_look(d, s, items->items[i]);
    } else if (spec && s->spec) {
        diag_add(
            d->r.diag, object,
            "a second Ray cluster, %s, after %s on line %u; one configuration "
            "is for one cluster",
            object_name(d, object), object_name(d, s->object), s->object->line);
    } else if (spec) {
        s->object = object;
        s->spec = spec;
    } else if (n && n < 64 && strlen(s->kinds) < 200) {
        s->kinds = arena_printf(d->r.arena, "%s%s%s", s->kinds,
                                *s->kinds ? ", " : "", kind);
    }
}

bool kuberay_is(const struct ynode *root)
{
    return ynode_get(root, "apiVersion") || ynode_get(root, "kind");
}

/* ---- the cluster ---- */

/* A mode of a later KubeRay is no reason to run nothing. */
static void mode_read(struct reader *r, const struct ynode *v,
                      const char *where, void *target)
{
    static const char *const modes[] = {"Default", "Aggressive",
                                        "Conservative"};
    struct config *c = target;

    for (size_t i = 0; i < 3; i++)
        if (strcmp(dialect_text(v), modes[i]) == 0) {
            upscaling_read(r, v, where, target);
            return;
        }
    c->limits.upscaling_speed = 0;
    diag_warn(r->diag, v, "unknown %s %s, taken for Default%s", where,
              ynode_shown(r->arena, v),
              grammar_hint(r->arena, dialect_text(v), modes, 3));
}

static const struct key option_keys[] = {
    {"idleTimeoutSeconds", KEY_TIME,
     .offset = offsetof(struct config, limits.idle_timeout_ms),
     .max = INT64_C(30) * 86400000},
    {"upscalingMode", KEY_CUSTOM, .read = mode_read},
    KEYS_END,
};

/* The namespace is where the provider finds the cluster. */
static void namespace_put(struct raw *d, const char *provider,
                          const struct ynode *ns)
{
    struct conf_pair *pair = ARENA_NEW(d->r.arena, struct conf_pair);

    if (!*dialect_text(ns) || strcmp(provider, "k8s") != 0)
        return;
    *pair = (struct conf_pair){"namespace", ns->text, ns->line, ns->column};
    for (uint32_t i = 0; i < d->providers.n; i++)
        if (strcmp(d->providers.v[i].name, "k8s") == 0 &&
            !d->providers.v[i].n_options) {
            d->providers.v[i].options = pair;
            d->providers.v[i].n_options = 1;
        }
}

static void cluster_read(struct raw *d, const struct search *s)
{
    static const struct key cluster = {.type = KEY_NAME};
    const struct ynode *groups = ynode_get(s->spec, "workerGroupSpecs");
    const struct ynode *options = ynode_get(s->spec, "autoscalerOptions");
    const struct ynode *meta = ynode_get(s->object, "metadata");
    const struct ynode *name = ynode_get(meta, "name");
    const char *provider;

    d->c->head_type = "headgroup";
    if (name)
        grammar_value(&d->r, &cluster, name, "metadata.name", &d->c->cluster);
    else
        d->c->cluster = "raycluster";
    unknown_keys(d, KEYS_KUBERAY_SPEC, s->spec, "spec");
    if (options)
        grammar_read_some(&d->r, option_keys, options, "autoscalerOptions",
                          d->c);
    unknown_keys(d, KEYS_KUBERAY_OPTIONS, options, "autoscalerOptions");
    provider = dialect_provider(d, s->block, s->spec, "k8s");
    namespace_put(d, provider, ynode_get(meta, "namespace"));
    if (groups && groups->kind != YNODE_LIST && groups->kind != YNODE_NULL)
        diag_add(d->r.diag, groups,
                 "workerGroupSpecs must be a list of groups, got %s",
                 ynode_shown(d->r.arena, groups));
    for (uint32_t i = 0; groups && groups->kind == YNODE_LIST && i < groups->n;
         i++)
        kuberay_group_read(d, groups->items[i], i, provider, s->block);
    dialect_check(d);
}

void kuberay_read(struct raw *d, const struct yaml_docs *docs)
{
    struct search s = {.kinds = ""};

    for (uint32_t i = 0; i < docs->n; i++)
        object_look(d, &s, docs->v[i]);
    if (!s.spec) {
        diag_add(
            d->r.diag, docs->v[0],
            "no Ray cluster in this manifest, only %s; allowed: a RayCluster, "
            "or a RayJob or RayService with a cluster inside",
            *s.kinds ? s.kinds : "things without a kind");
        return;
    }
    s.block = note_read(d, s.object, s.block);
    if (ynode_get(s.spec, "podTypes") &&
        !ynode_get(s.spec, "workerGroupSpecs")) {
        d->c->dialect = DIALECT_POD_TYPES; /* the first operator's resource */
        pods_read(d, s.spec, ynode_path(s.object, "metadata", "name", NULL),
                  s.block);
        return;
    }
    cluster_read(d, &s);
}
