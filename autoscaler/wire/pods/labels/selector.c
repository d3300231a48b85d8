/*
 * selector.c - label conditions and taints by Kubernetes' rules.  See
 * inside.h.
 */
#include "../inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/buf.h"
#include "../../../model/accel.h"

/* Keys that were called something else once. */
const char *pods_key_now(const char *key)
{
    static const struct {
        const char *was, *is;
    } old[] = {
        {"failure-domain.beta.kubernetes.io/zone",
         "topology.kubernetes.io/zone"},
        {"failure-domain.beta.kubernetes.io/region",
         "topology.kubernetes.io/region"},
        {"beta.kubernetes.io/instance-type",
         "node.kubernetes.io/instance-type"},
        {"beta.kubernetes.io/arch", "kubernetes.io/arch"},
        {"beta.kubernetes.io/os", "kubernetes.io/os"},
    };

    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        if (strcmp(old[i].was, key) == 0)
            return old[i].is;
    return key;
}

static bool op_read(const char *name, enum req_op *ret)
{
    static const char *const names[] = {"In",           "NotIn", "Exists",
                                        "DoesNotExist", "Gt",    "Lt"};

    for (int i = 0; i < 6; i++)
        if (strcmp(names[i], name) == 0) {
            *ret = (enum req_op)i;
            return true;
        }
    return false;
}

static bool is_number(const char *s, long long *ret)
{
    char *end;

    *ret = strtoll(s, &end, 10);
    return *s && !*end;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool pods_expressions(const json_t *list, struct arena *a, struct req_vec *to)
{
    size_t n = json_array_size(list);

    if (n > PODS_MAX_LIST)
        return false;
    for (size_t i = 0; i < n; i++) {
        const json_t *e = json_array_get(list, i);
        const json_t *values = json_object_get(e, "values");
        size_t n_values = json_array_size(values);
        const char **v = ARENA_ARRAY(a, const char *, n_values);
        const char *key = pods_text(e, "key", NULL);
        struct req r = {.key = pods_clean(a, pods_key_now(key))};
        long long number;

        if (!*key || !op_read(pods_text(e, "operator", NULL), &r.op) ||
            n_values > PODS_MAX_LIST)
            return false;
        for (size_t k = 0; k < n_values; k++) {
            const char *s = json_string_value(json_array_get(values, k));
            if (!s || strlen(s) > PODS_MAX_TEXT)
                return false;
            v[k] = pods_clean(a, s);
        }
        if (r.op == REQ_EXISTS || r.op == REQ_ABSENT)
            n_values = 0;
        else if (!n_values)
            return false;
        if ((r.op == REQ_GT || r.op == REQ_LT) &&
            (n_values != 1 || !is_number(v[0], &number)))
            return false;
        qsort(v, n_values, sizeof *v, by_text);
        r.values = (struct names){v, (uint32_t)n_values};
        VEC_PUSH(a, &to->all, r);
    }
    return true;
}

bool pods_pairs(const json_t *map, struct arena *a, struct req_vec *to)
{
    const char *key;
    json_t *v;

    if (json_object_size(map) > PODS_MAX_LIST)
        return false;
    json_object_foreach((json_t *)(uintptr_t)map, key, v) {
        const char *s = json_string_value(v), **one;
        if (!s || strlen(s) > PODS_MAX_TEXT || strlen(key) > PODS_MAX_TEXT)
            return false;
        one = ARENA_NEW(a, const char *);
        *one = pods_clean(a, s);
        VEC_PUSH(
            a, &to->all,
            ((struct req){pods_clean(a, pods_key_now(key)), REQ_IN, {one, 1}}));
    }
    return true;
}

bool pods_listed(const struct names *v, const char *s)
{
    for (uint32_t i = 0; i < v->n; i++)
        if (strcmp(v->v[i], s) == 0)
            return true;
    return false;
}

bool pods_names_product(const char *key)
{
    return strcmp(key, ACCEL_LABEL) != 0 &&
           (*accel_type_of_label(key, "x") ||
            strcmp(key, "cloud.google.com/gke-tpu-accelerator") == 0);
}

/* A node whose product nobody has labelled yet, by its accelerator's type. */
static bool product_serves(const struct req *r, const struct pairs *labels)
{
    const char *has = pairs_value(labels, ACCEL_LABEL);
    bool in = false;

    for (uint32_t i = 0; has && i < r->values.n && !in; i++)
        in = accel_type_serves(has,
                               accel_type_of_label(r->key, r->values.v[i]));
    return in;
}

bool pods_req_holds(const struct req *r, const struct pairs *labels)
{
    const char *v = pairs_value(labels, r->key);
    long long has, limit;

    if (!v && pods_names_product(r->key)) {
        if (r->op == REQ_IN)
            return product_serves(r, labels);
        if (r->op == REQ_NOT_IN)
            return !product_serves(r, labels);
        if (r->op == REQ_EXISTS || r->op == REQ_ABSENT)
            return (pairs_value(labels, ACCEL_LABEL) != NULL) ==
                   (r->op == REQ_EXISTS);
    }
    switch (r->op) {
    case REQ_IN: return v && pods_listed(&r->values, v);
    case REQ_NOT_IN: return !v || !pods_listed(&r->values, v);
    case REQ_EXISTS: return v;
    case REQ_ABSENT: return !v;
    case REQ_GT:
    case REQ_LT:
        return v && is_number(v, &has) && is_number(r->values.v[0], &limit) &&
               (r->op == REQ_GT ? has > limit : has < limit);
    }
    return false;
}

bool pods_reqs_hold(const struct reqs *r, const struct pairs *labels)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (!pods_req_holds(&r->v[i], labels))
            return false;
    return true;
}

const char *pods_req_text(const struct req *r, struct arena *a)
{
    struct buf b;
    const char *s;

    if (r->op == REQ_EXISTS)
        return arena_printf(a, "%s exists", r->key);
    if (r->op == REQ_ABSENT)
        return arena_printf(a, "%s does not exist", r->key);
    if (r->op == REQ_GT || r->op == REQ_LT)
        return arena_printf(a, "%s %s %s", r->key, r->op == REQ_GT ? ">" : "<",
                            r->values.v[0]);
    buf_init(&b, 65536);
    buf_printf(&b, "%s %sin (", r->key, r->op == REQ_NOT_IN ? "not " : "");
    for (uint32_t i = 0; i < r->values.n; i++)
        buf_printf(&b, "%s%s", i ? ", " : "", r->values.v[i]);
    buf_str(&b, ")");
    s = arena_strndup(a, b.s, b.n);
    buf_done(&b);
    return s;
}

static const struct market_label {
    const char *key, *value;
    bool spot;
} market_labels[] = {
    {"cloud.google.com/gke-spot", "true", true},
    {"cloud.google.com/gke-preemptible", "true", true},
    {"eks.amazonaws.com/capacityType", "SPOT", true},
    {"eks.amazonaws.com/capacityType", "ON_DEMAND", false},
    {"karpenter.sh/capacity-type", "spot", true},
    {"karpenter.sh/capacity-type", "on-demand", false},
    {"kubernetes.azure.com/scalesetpriority", "spot", true},
    {"kubernetes.azure.com/scalesetpriority", "regular", false},
    {"ray.io/market-type", "spot", true},
    {"ray.io/market-type", "on-demand", false},
};
enum { MARKET_LABELS = sizeof market_labels / sizeof *market_labels };

const char *pods_market(const char *key, const char *value)
{
    for (size_t i = 0; i < MARKET_LABELS; i++)
        if (strcmp(market_labels[i].key, key) == 0 &&
            strcmp(market_labels[i].value, value) == 0)
            return market_labels[i].spot ? "spot" : "on-demand";
    return "";
}

const char *pods_market_value(const char *key, bool spot)
{
    for (size_t i = 0; i < MARKET_LABELS; i++)
        if (strcmp(market_labels[i].key, key) == 0 &&
            market_labels[i].spot == spot)
            return market_labels[i].value;
    return "";
}

bool pods_tolerated(const struct tolerations *t, const struct taints *x)
{
    for (uint32_t i = 0; i < x->n; i++) {
        bool covered = x->v[i].effect == EFFECT_PREFER_NO_SCHEDULE;

        for (uint32_t k = 0; k < t->n && !covered; k++)
            covered = toleration_covers(&t->v[k], &x->v[i]);
        if (!covered)
            return false;
    }
    return true;
}
