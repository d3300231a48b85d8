/*
 * snapshot.c - the names of the enums in snapshot.h, the default limits, and
 * the rules of taints and queues that need no more than the text of both.
 */
#include "snapshot.h"

#include <string.h>

#include "../base/glob.h"

const struct snap_limits snap_limits_default = {
    .max_nodes = UNLIMITED,
    .idle_timeout_ms = 60000,
    .max_cost_micros_hour = -1,
    .max_launching = UNLIMITED,
    .conserve = true,
    .policy = POLICY_CHEAPEST,
    .consolidate = CONSOLIDATE_EMPTY,
    .consolidate_saving = 2000,
    .consolidate_age_ms = 600000,
};

/* what_name() and what_from_name() of an enum, of which these are the names. */
#define NAME_OF(what, type, ...) \
    static const char *const what##_names[] = {__VA_ARGS__}; \
    const char *what##_name(type v) \
    { \
        const size_t n = sizeof what##_names / sizeof *what##_names; \
\
        return (size_t)v < n ? what##_names[v] : "unknown"; \
    }
#define NAMES_OF(what, type, ...) \
    NAME_OF(what, type, __VA_ARGS__) \
    bool what##_from_name(const char *name, type *ret) \
    { \
        const size_t n = sizeof what##_names / sizeof *what##_names; \
\
        for (size_t i = 0; i < n; i++) \
            if (strcmp(what##_names[i], name) == 0) { \
                *ret = (type)i; \
                return true; \
            } \
        return false; \
    }

NAME_OF(source, enum demand_source, "task", "gang", "request", "pod", "spare")
NAMES_OF(strategy, enum strategy, "", "PACK", "SPREAD", "STRICT_PACK",
         "STRICT_SPREAD")
NAMES_OF(policy, enum policy, "cheapest", "priority", "least_waste", "ray")
NAMES_OF(effect, enum taint_effect, "", "NoSchedule", "PreferNoSchedule",
         "NoExecute")
NAMES_OF(end_key, enum end_key, "spot", "on-demand", "least_used",
         "most_expensive", "longest_idle", "oldest", "newest")
NAMES_OF(consolidate, enum consolidate, "off", "empty", "on")

bool taint_of_start(const char *key)
{
    static const char *const known[] = {
        "node.kubernetes.io/network-unavailable",
        "node.cloudprovider.kubernetes.io/uninitialized",
        "node.cilium.io/agent-not-ready",
        "ebs.csi.aws.com/agent-not-ready",
        "efs.csi.aws.com/agent-not-ready",
        "karpenter.sh/unregistered",
    };
    static const char *const begins[] = {
        "startup-taint.cluster-autoscaler.kubernetes.io/",
        "ignore-taint.cluster-autoscaler.kubernetes.io/",
        "readiness.k8s.io/",
    };
    static const char *const ends[] = {"not-ready", "uninitialized"};
    size_t n = strlen(key);

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(key, known[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(key, begins[i], strlen(begins[i])) == 0)
            return true;
    /* as agents call it: "example.com/driver-not-ready" */
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (n > strlen(ends[i]) &&
            strcmp(key + n - strlen(ends[i]), ends[i]) == 0)
            return true;
    return false;
}

bool toleration_covers(const struct toleration *t, const struct taint *x)
{
    if (t->effect != EFFECT_ANY && t->effect != x->effect)
        return false;
    if (t->key[0] && strcmp(t->key, x->key) != 0)
        return false;
    return t->op == TOLERATE_EXISTS || strcmp(t->value, x->value) == 0;
}

const struct snap_queue *queue_find(const struct snap_queue *v, uint32_t n,
                                    const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(v[i].name, name) == 0)
            return &v[i];
    return NULL;
}

bool queue_allows(const struct snap_queue *q, const char *owner)
{
    for (uint32_t i = 0; i < q->owners.n; i++)
        if (glob_fits(q->owners.v[i], owner ? owner : ""))
            return true;
    return q->owners.n == 0;
}

const char *pairs_value(const struct pairs *p, const char *key)
{
    for (uint32_t i = 0; i < p->n; i++)
        if (strcmp(p->v[i].key, key) == 0)
            return p->v[i].value;
    return NULL;
}

int64_t qtys_amount(const struct qtys *q, const char *name)
{
    for (uint32_t i = 0; i < q->n; i++)
        if (strcmp(q->v[i].name, name) == 0)
            return q->v[i].amount;
    return 0;
}

bool resource_is_rounded(const char *name)
{
    return strcmp(name, "CPU") == 0 || strcmp(name, "memory") == 0 ||
           strcmp(name, "object_store_memory") == 0;
}
