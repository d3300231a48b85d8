/*
 * shape.c - what a pod needs of a node: conditions and tolerations, and with
 * shape_needs.c and affinity_read.c the rest.  See inside.h.
 *
 * A pod that cannot be served in full gets a code and a sentence instead of
 * being served in part.
 */
#include "inside.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"

/* ---- where it may go */

/* A GPU of another vendor does not do. */
static void vendor_add(struct arena *a, const char *vendor, struct req_vec *to)
{
    static const char *const others[] = {
        "amd.com.gpu",
        "gpu.intel.com.i915",
        "gpu.intel.com.xe",
    };
    const char **v;

    if (!vendor)
        return;
    v = ARENA_ARRAY(a, const char *, 3);
    if (*vendor) {
        v[0] = pods_vendor(a, vendor);
        VEC_PUSH(a, &to->all, ((struct req){GPU_LABEL, REQ_IN, {v, 1}}));
        return;
    }
    memcpy(v, others, sizeof others);
    VEC_PUSH(a, &to->all, ((struct req){GPU_LABEL, REQ_NOT_IN, {v, 3}}));
}

static void garbled(struct pod_shape *s, const char *what)
{
    pods_refuse(s, "BadSelector", "its %s makes no sense or is too long", what);
}

static bool names_nodes(const json_t *fields)
{
    for (size_t i = 0; i < json_array_size(fields); i++)
        if (strcmp(pods_text(json_array_get(fields, i), "operator", NULL),
                   "NotIn") != 0)
            return true;
    return false;
}

/* One nodeSelectorTerm as an alternative; one with nothing in it fits no
 * node, as in the scheduler. */
static void term_add(struct pod_shape *s, const struct req_vec *base,
                     const json_t *term, struct reqs *alts)
{
    const json_t *fields = json_object_get(term, "matchFields");
    const json_t *labels = json_object_get(term, "matchExpressions");
    struct req_vec to = {{0}};

    for (uint32_t i = 0; i < base->all.n; i++)
        VEC_PUSH(&s->arena, &to.all, base->all.v[i]);
    if (!json_array_size(fields) && !json_array_size(labels))
        return;
    if (!pods_expressions(labels, &s->arena, &to) ||
        !pods_expressions(fields, &s->arena, &to)) {
        garbled(s, "node affinity");
        return;
    }
    /* metadata.name In: one node, this one; NotIn holds for every new one */
    if (names_nodes(fields)) {
        pods_refuse(s, "NamesNode",
                    "it names the node it must run on: a new one is no help");
        return;
    }
    alts[s->n_alts++] = (struct reqs){to.all.v, to.all.n};
}

static void conditions_read(struct pod_shape *s, const json_t *spec,
                            const char *vendor)
{
    const json_t *required = pods_at(
        spec, "affinity", "nodeAffinity",
        "requiredDuringSchedulingIgnoredDuringExecution", NULL);
    const json_t *terms = json_object_get(required, "nodeSelectorTerms");
    size_t n = json_array_size(terms);
    struct reqs *alts = ARENA_ARRAY(&s->arena, struct reqs, PODS_MAX_ALTS);
    struct req_vec base = {{0}};

    s->alts = alts;
    vendor_add(&s->arena, vendor, &base);
    if (!pods_pairs(json_object_get(spec, "nodeSelector"), &s->arena, &base))
        garbled(s, "nodeSelector");
    if (!json_is_object(required)) {
        alts[s->n_alts++] = (struct reqs){base.all.v, base.all.n};
        return;
    }
    for (size_t i = 0; i < n && i < PODS_MAX_ALTS; i++)
        term_add(s, &base, json_array_get(terms, i), alts);
    if (!s->n_alts) {
        pods_refuse(s, "BadSelector",
                    "its node affinity has no term that could fit a node");
        alts[s->n_alts++] = (struct reqs){base.all.v, base.all.n};
    } else if (s->code && strcmp(s->code, "NamesNode") == 0) {
        s->code = s->text = NULL; /* another term leaves it free */
    }
}

/* Gt and Lt compare numbers (an alpha feature): they count as no toleration,
 * which buys too little rather than the wrong machine. */
static bool toleration_read(struct arena *a, const json_t *t,
                            struct toleration *ret)
{
    const char *op = pods_text(t, "operator", NULL);
    const char *effect = pods_text(t, "effect", NULL);

    *ret = (struct toleration){
        .key = pods_clean(a, pods_text(t, "key", NULL)),
        .op = strcmp(op, "Exists") == 0 ? TOLERATE_EXISTS : TOLERATE_EQUAL,
        .value = pods_clean(a, pods_text(t, "value", NULL)),
        .effect = EFFECT_ANY,
    };
    if ((*effect && !effect_from_name(effect, &ret->effect)) ||
        (*op && strcmp(op, "Exists") != 0 && strcmp(op, "Equal") != 0))
        return false;
    if (ret->op == TOLERATE_EXISTS)
        ret->value = "";
    return ret->op == TOLERATE_EXISTS || *ret->key;
}

struct toleration_vec {
    VEC(struct toleration) all;
};

/* Taints called like an extended resource of this list are tolerated: by the
 * names that Kubernetes knows them by, not ours. */
static void tolerate_extended(struct arena *a, const json_t *list,
                              struct toleration_vec *to)
{
    const char *name;
    json_t *v;

    json_object_foreach((json_t *)(uintptr_t)list, name, v) {
        bool there = !pods_is_extended(name) || strlen(name) > PODS_MAX_TEXT ||
                     to->all.n == PODS_MAX_LIST + PODS_MAX_NEEDS;

        for (uint32_t i = 0; i < to->all.n && !there; i++)
            there = to->all.v[i].op == TOLERATE_EXISTS &&
                    to->all.v[i].effect == EFFECT_ANY &&
                    strcmp(to->all.v[i].key, name) == 0;
        if (!there)
            VEC_PUSH(a, &to->all,
                     ((struct toleration){pods_clean(a, name), TOLERATE_EXISTS,
                                          "", EFFECT_ANY}));
    }
}

static void containers_tolerate(struct arena *a, const json_t *list,
                                struct toleration_vec *to)
{
    for (size_t i = 0; i < json_array_size(list) && i < PODS_MAX_LIST; i++) {
        const json_t *r = json_object_get(json_array_get(list, i), "resources");

        tolerate_extended(a, json_object_get(r, "requests"), to);
        tolerate_extended(a, json_object_get(r, "limits"), to);
    }
}

static void tolerations_read(struct pod_shape *s, const json_t *spec,
                             bool lenient)
{
    const json_t *list = json_object_get(spec, "tolerations");
    size_t n = json_array_size(list);
    struct toleration_vec v = {{0}};

    if (n > PODS_MAX_LIST) {
        pods_refuse(s, "TooLarge", "it has too many tolerations");
        n = 0;
    }
    for (size_t i = 0; i < n; i++) {
        struct toleration t;

        if (toleration_read(&s->arena, json_array_get(list, i), &t))
            VEC_PUSH(&s->arena, &v.all, t);
    }
    if (lenient) {
        containers_tolerate(&s->arena, json_object_get(spec, "containers"), &v);
        containers_tolerate(&s->arena, json_object_get(spec, "initContainers"),
                            &v);
    }
    s->tolerations = (struct tolerations){v.all.v, v.all.n};
}

struct pod_shape *pods_shape_read(const json_t *metadata, const json_t *spec,
                                  bool lenient)
{
    struct pod_shape *s = MEM_NEW(struct pod_shape);
    const char *ray = pods_ray_command(metadata, spec);
    const char *vendor = pods_needs_read(s, spec);

    if (ray)
        pods_ray_read(spec, ray, s);
    conditions_read(s, spec, vendor);
    tolerations_read(s, spec, lenient);
    if (json_array_size(json_object_get(spec, "resourceClaims")))
        pods_refuse(s, "ResourceClaims",
                    "it has resourceClaims (dynamic resource allocation), "
                    "which node types cannot state yet");
    pods_affinities_read(metadata, spec, s);
    return s;
}

void pods_shape_free(struct pod_shape *s)
{
    if (!s)
        return;
    free(s->said);
    arena_done(&s->arena);
    free(s);
}
