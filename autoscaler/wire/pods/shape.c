/*
 * shape.c - what a pod needs of a node: resources, conditions,
 * tolerations.  See inside.h.
 *
 * Resources by the scheduler's own rule: containers and sidecars together, or
 * what the largest init container needs beside the sidecars started before
 * it, whichever is more; the pod's overhead on top.  What cannot be served as
 * it stands gets a code and a sentence instead of being served as less.
 */
#include "inside.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"
#include "../../base/buf.h"
#include "../../model/amount.h"

#define KEY_MAX ((size_t)1 << 20)

/* ---- what identifies it */

static void add_json(struct buf *b, const char *name, const json_t *v)
{
    char *text;

    if (!v || json_is_null(v))
        return;
    text = json_dumps(v, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    if (text) {
        buf_printf(b, "%s=", name);
        buf_str(b, text);
        buf_str(b, ";");
    }
    free(text);
}

static void add_containers(struct buf *b, const json_t *spec, const char *list)
{
    const json_t *v = json_object_get(spec, list), *ports;
    size_t n = json_array_size(v);

    for (size_t i = 0; i < n && i < PODS_MAX_LIST; i++) {
        const json_t *c = json_array_get(v, i);
        ports = json_object_get(c, "ports");
        buf_str(b, list[0] == 'i' ? "i" : "c");
        add_json(b, "r", json_object_get(c, "resources"));
        add_json(b, "p", json_object_get(c, "restartPolicy"));
        for (size_t k = 0; k < json_array_size(ports); k++)
            if (json_integer_value(json_object_get(json_array_get(ports, k),
                                                   "hostPort")))
                add_json(b, "h", json_array_get(ports, k));
    }
}

char *pods_shape_key(const json_t *metadata, const json_t *spec, bool lenient)
{
    static const char *const parts[] = {
        "nodeSelector", "tolerations", "overhead", "resources",
        "topologySpreadConstraints", "resourceClaims",
    };
    const json_t *affinity = json_object_get(spec, "affinity");
    const char *ray = pods_ray_command(metadata, spec);
    static const char *const others[] = { "podAffinity", "podAntiAffinity" };
    struct buf b;
    bool apart;

    buf_init(&b, KEY_MAX);
    buf_str(&b, lenient ? "l;" : "s;");
    add_containers(&b, spec, "initContainers");
    add_containers(&b, spec, "containers");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        add_json(&b, parts[i], json_object_get(spec, parts[i]));
    add_json(&b, "node", pods_at(affinity, "nodeAffinity",
             "requiredDuringSchedulingIgnoredDuringExecution", NULL));
    if (ray) {
        buf_str(&b, "ray=");
        buf_str(&b, ray);
        buf_str(&b, ";");
    }
    apart = json_object_get(spec, "topologySpreadConstraints");
    for (size_t i = 0; i < 2; i++) {
        const json_t *v = pods_at(affinity, others[i],
             "requiredDuringSchedulingIgnoredDuringExecution", NULL);
        add_json(&b, others[i], v);
        apart = apart || v;
    }
    if (apart) {  /* then it matters who it is itself */
        add_json(&b, "space", json_object_get(metadata, "namespace"));
        add_json(&b, "labels", json_object_get(metadata, "labels"));
    }
    return buf_take(&b);
}

/* ---- resources */

struct needs {
    struct pod_shape *shape;
    const char *vendor;          /* of its GPUs; NULL: it asks for none */
};

static void refuse(struct pod_shape *s, const char *code, const char *text)
{
    if (s->code)
        return;
    s->code = code;
    s->text = text;
}

static bool is_extended(const char *name)
{
    return strchr(name, '/') && strncmp(name, "kubernetes.io/", 14) != 0 &&
           !strstr(name, ".kubernetes.io/");
}

/* One list of quantities onto sum. */
static void list_add(struct needs *x, const json_t *list, struct pods_sum *sum)
{
    struct arena *a = &x->shape->arena;
    const char *name, *vendor;
    json_t *v;

    json_object_foreach((json_t *)(uintptr_t)list, name, v) {
        int64_t amount, *to;
        const char *word = strlen(name) <= PODS_MAX_WORD ? pods_word(a, name)
                                                         : "";
        if (!*word || !pods_quantity(v, true, &amount)) {
            refuse(x->shape, "BadQuantity", arena_printf(a, "its request of %s "
                   "is no quantity", *word ? word : "a resource"));
            continue;
        }
        if (is_extended(word) && amount % AMOUNT_ONE)
            refuse(x->shape, "ExtendedResource", arena_printf(a, "it asks a "
                   "part of one %s: extended resources are whole numbers",
                   word));
        to = pods_sum_of(sum, a, pods_resource(word, &vendor));
        *to = amount_add(*to, amount);
        if (amount && strcmp(pods_resource(word, &vendor), "GPU") == 0) {
            if (x->vendor && strcmp(x->vendor, vendor) != 0)
                refuse(x->shape, "TwoVendors", "it asks for GPUs of two "
                       "vendors: no node type has both");
            x->vendor = vendor;
        }
    }
}

/* Requests; where there is a limit and no request, the limit.  Extended
 * resources: both, and equal. */
static void container_add(struct needs *x, const json_t *c,
                          struct pods_sum *sum)
{
    const json_t *requests = pods_at(c, "resources", "requests", NULL);
    const json_t *limits = pods_at(c, "resources", "limits", NULL);
    struct arena *a = &x->shape->arena;
    json_t *own = json_object();
    const char *name;
    json_t *v;

    json_object_foreach((json_t *)(uintptr_t)limits, name, v) {
        const json_t *r = json_object_get(requests, name);
        int64_t asked, limit;
        if (!r)
            json_object_set(own, name, v);
        else if (is_extended(name) && pods_quantity(r, true, &asked) &&
                 pods_quantity(v, true, &limit) && asked != limit)
            refuse(x->shape, "ExtendedResource", arena_printf(a, "its request "
                   "and its limit of %.100s differ: for extended resources "
                   "they must be equal", pods_word(a, name)));
    }
    json_object_foreach((json_t *)(uintptr_t)requests, name, v) {
        int64_t asked;
        if (is_extended(name) && !json_object_get(limits, name) &&
            pods_quantity(v, true, &asked) && asked)
            refuse(x->shape, "ExtendedResource", arena_printf(a, "it requests "
                   "%.100s without a limit: for extended resources both must "
                   "be given and equal", pods_word(a, name)));
        json_object_set(own, name, v);
    }
    list_add(x, own, sum);
    json_decref(own);
}

static void sum_add(struct pods_sum *to, const struct pods_sum *from,
                    struct arena *a)
{
    for (uint32_t i = 0; i < from->n; i++) {
        int64_t *v = pods_sum_of(to, a, from->v[i].name);
        *v = amount_add(*v, from->v[i].amount);
    }
}

static void sum_max(struct pods_sum *to, const struct pods_sum *from,
                    struct arena *a)
{
    for (uint32_t i = 0; i < from->n; i++) {
        int64_t *v = pods_sum_of(to, a, from->v[i].name);
        if (from->v[i].amount > *v)
            *v = from->v[i].amount;
    }
}

static void needs_read(struct needs *x, const json_t *spec)
{
    struct arena *a = &x->shape->arena;
    const json_t *init = json_object_get(spec, "initContainers");
    const json_t *main = json_object_get(spec, "containers");
    const json_t *whole = pods_at(spec, "resources", "requests", NULL);
    struct pods_sum all = {0}, sidecars = {0}, peak = {0}, own = {0};
    const char *name, *vendor;
    json_t *v;

    for (size_t i = 0; i < json_array_size(init) && i < PODS_MAX_LIST; i++) {
        const json_t *c = json_array_get(init, i);
        struct pods_sum now = {0};
        container_add(x, c, &now);
        if (strcmp(pods_text(c, "restartPolicy", NULL), "Always") == 0) {
            sum_add(&sidecars, &now, a);
            sum_max(&peak, &sidecars, a);
        } else {
            sum_add(&now, &sidecars, a);
            sum_max(&peak, &now, a);
        }
    }
    for (size_t i = 0; i < json_array_size(main) && i < PODS_MAX_LIST; i++)
        container_add(x, json_array_get(main, i), &all);
    sum_add(&all, &sidecars, a);
    sum_max(&all, &peak, a);
    /* a pod's own requests stand for those of its containers */
    if (json_is_object(whole)) {
        list_add(x, whole, &own);
        json_object_foreach((json_t *)(uintptr_t)whole, name, v)
            *pods_sum_of(&all, a, pods_resource(name, &vendor)) =
                *pods_sum_of(&own, a, pods_resource(name, &vendor));
    }
    list_add(x, json_object_get(spec, "overhead"), &all);
    *pods_sum_of(&all, a, "pods") = AMOUNT_ONE;
    if (all.full || json_array_size(init) > PODS_MAX_LIST ||
        json_array_size(main) > PODS_MAX_LIST)
        refuse(x->shape, "TooLarge", arena_printf(a, "it has more than %d "
               "containers or %d resources", PODS_MAX_LIST, PODS_MAX_NEEDS));
    x->shape->needs = pods_sum_qtys(&all, a);
}

/* ---- where it may go */

/* Another vendor's GPU is no GPU to it. */
static void vendor_add(struct needs *x, struct req_vec *to)
{
    static const char *const others[] = {
        "amd.com.gpu", "gpu.intel.com.i915", "gpu.intel.com.xe",
    };
    struct arena *a = &x->shape->arena;
    const char **v;

    if (!x->vendor)
        return;
    v = ARENA_ARRAY(a, const char *, 3);
    if (*x->vendor) {
        v[0] = pods_vendor(a, x->vendor);
        VEC_PUSH(a, &to->all, ((struct req){ GPU_LABEL, REQ_IN, { v, 1 } }));
        return;
    }
    memcpy(v, others, sizeof others);
    VEC_PUSH(a, &to->all, ((struct req){ GPU_LABEL, REQ_NOT_IN, { v, 3 } }));
}

static void garbled(struct pod_shape *s, const char *what)
{
    refuse(s, "BadSelector", arena_printf(&s->arena, "its %s makes no sense "
                                          "or is too long", what));
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
    if (json_array_size(fields)) {  /* metadata.name: one node, this one */
        refuse(s, "NamesNode", "it names the node it must run on: a new one "
               "is no help");
        return;
    }
    alts[s->n_alts++] = (struct reqs){ to.all.v, to.all.n };
}

static void conditions_read(struct needs *x, const json_t *spec)
{
    struct pod_shape *s = x->shape;
    const json_t *required = pods_at(spec, "affinity", "nodeAffinity",
        "requiredDuringSchedulingIgnoredDuringExecution", NULL);
    const json_t *terms = json_object_get(required, "nodeSelectorTerms");
    size_t n = json_array_size(terms);
    struct reqs *alts = ARENA_ARRAY(&s->arena, struct reqs, PODS_MAX_ALTS);
    struct req_vec base = {{0}};

    s->alts = alts;
    vendor_add(x, &base);
    if (!pods_pairs(json_object_get(spec, "nodeSelector"), &s->arena, &base))
        garbled(s, "nodeSelector");
    if (!json_is_object(required)) {
        alts[s->n_alts++] = (struct reqs){ base.all.v, base.all.n };
        return;
    }
    for (size_t i = 0; i < n && i < PODS_MAX_ALTS; i++)
        term_add(s, &base, json_array_get(terms, i), alts);
    if (!s->n_alts) {
        refuse(s, "BadSelector", "its node affinity has no term that could "
               "fit a node");
        alts[s->n_alts++] = (struct reqs){ base.all.v, base.all.n };
    } else if (s->code && strcmp(s->code, "NamesNode") == 0) {
        s->code = s->text = NULL;  /* another term leaves it free */
    }
}

static void tolerations_read(struct pod_shape *s, const json_t *spec,
                             bool lenient)
{
    const json_t *list = json_object_get(spec, "tolerations");
    size_t n = json_array_size(list);
    struct toleration *v;
    uint32_t kept = 0;

    if (n > PODS_MAX_LIST) {
        refuse(s, "TooLarge", "it has too many tolerations");
        n = 0;
    }
    v = ARENA_ARRAY(&s->arena, struct toleration, n + PODS_MAX_NEEDS);
    for (size_t i = 0; i < n; i++) {
        const json_t *t = json_array_get(list, i);
        const char *op = pods_text(t, "operator", NULL);
        const char *effect = pods_text(t, "effect", NULL);
        struct toleration x = {
            .key = pods_word(&s->arena, pods_text(t, "key", NULL)),
            .op = strcmp(op, "Exists") == 0 ? TOLERATE_EXISTS : TOLERATE_EQUAL,
            .value = pods_word(&s->arena, pods_text(t, "value", NULL)),
            .effect = EFFECT_ANY,
        };
        /* Gt and Lt compare numbers (an alpha feature): taken for no
         * toleration, which buys too little rather than the wrong thing */
        if (*effect && !effect_from_name(effect, &x.effect))
            continue;
        if (*op && strcmp(op, "Exists") != 0 && strcmp(op, "Equal") != 0)
            continue;
        if (x.op == TOLERATE_EXISTS)
            x.value = "";
        else if (!*x.key)
            continue;
        v[kept++] = x;
    }
    s->tolerations = (struct tolerations){ v, kept };
    if (!lenient)
        return;
    /* the names that Kubernetes knows them by, not ours */
    for (int list_ix = 0; list_ix < 2; list_ix++) {
        const json_t *c = json_object_get(spec, list_ix ? "initContainers"
                                                        : "containers");
        for (size_t i = 0; i < json_array_size(c) && i < PODS_MAX_LIST; i++) {
            const json_t *lists[2] = {
                pods_at(json_array_get(c, i), "resources", "requests", NULL),
                pods_at(json_array_get(c, i), "resources", "limits", NULL) };
            for (int k = 0; k < 2; k++) {
                const char *name;
                json_t *q;
                json_object_foreach((json_t *)(uintptr_t)lists[k], name, q) {
                    bool there = !is_extended(name) ||
                                 kept == n + PODS_MAX_NEEDS ||
                                 strlen(name) > PODS_MAX_WORD;
                    for (uint32_t j = 0; j < kept && !there; j++)
                        there = v[j].op == TOLERATE_EXISTS &&
                                v[j].effect == EFFECT_ANY &&
                                strcmp(v[j].key, name) == 0;
                    if (there)
                        continue;
                    v[kept++] = (struct toleration){
                        pods_word(&s->arena, name), TOLERATE_EXISTS, "",
                        EFFECT_ANY };
                }
            }
        }
    }
    s->tolerations.n = kept;
}

struct pod_shape *pods_shape_read(const json_t *metadata, const json_t *spec,
                                  bool lenient)
{
    struct pod_shape *s = MEM_NEW(struct pod_shape);
    struct needs x = { .shape = s };
    const char *ray = pods_ray_command(metadata, spec);

    needs_read(&x, spec);
    if (ray)
        pods_ray_read(spec, ray, s);
    conditions_read(&x, spec);
    tolerations_read(s, spec, lenient);
    if (json_array_size(json_object_get(spec, "resourceClaims")))
        refuse(s, "ResourceClaims", "it has resourceClaims (dynamic resource "
               "allocation), which node types cannot state yet");
    pods_aparts_read(metadata, spec, s);
    return s;
}

void pods_shape_free(struct pod_shape *s)
{
    if (!s)
        return;
    arena_done(&s->arena);
    free(s);
}
