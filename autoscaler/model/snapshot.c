/*
 * snapshot.c - the names of the enums in snapshot.h, the default limits, and the
 * rules of taints and queues that words alone decide.
 */
#include "snapshot.h"

#include <string.h>

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

static const char *const sources[] = {"task", "gang", "request", "pod",
                                      "spare"};
static const char *const strategies[] = {"", "PACK", "SPREAD", "STRICT_PACK",
                                         "STRICT_SPREAD"};
static const char *const policies[] = {"cheapest", "priority", "least_waste",
                                       "ray"};

static const char *const effects[] = {"", "NoSchedule", "PreferNoSchedule",
                                      "NoExecute"};
static const char *const end_keys[] = {
    "spot",         "on-demand", "least_used", "most_expensive",
    "longest_idle", "oldest",    "newest"};
static const char *const consolidates[] = {"off", "empty", "on"};

#define COUNT(v) (sizeof(v) / sizeof *(v))

static bool find(const char *const *names, size_t n, const char *name,
                 size_t *ret)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0) {
            *ret = i;
            return true;
        }
    return false;
}

const char *source_name(enum demand_source s)
{
    return (size_t)s < COUNT(sources) ? sources[s] : "unknown";
}

const char *strategy_name(enum strategy s)
{
    return (size_t)s < COUNT(strategies) ? strategies[s] : "unknown";
}

const char *policy_name(enum policy p)
{
    return (size_t)p < COUNT(policies) ? policies[p] : "unknown";
}

bool strategy_from_name(const char *name, enum strategy *ret)
{
    size_t i;

    if (!find(strategies, COUNT(strategies), name, &i))
        return false;
    *ret = (enum strategy)i;
    return true;
}

bool policy_from_name(const char *name, enum policy *ret)
{
    size_t i;

    if (!find(policies, COUNT(policies), name, &i))
        return false;
    *ret = (enum policy)i;
    return true;
}

const char *effect_name(enum taint_effect v)
{
    return (size_t)v < COUNT(effects) ? effects[v] : "unknown";
}

bool effect_from_name(const char *name, enum taint_effect *ret)
{
    size_t i;

    if (!find(effects, COUNT(effects), name, &i))
        return false;
    *ret = (enum taint_effect)i;
    return true;
}

const char *end_key_name(enum end_key v)
{
    return (size_t)v < COUNT(end_keys) ? end_keys[v] : "unknown";
}

bool end_key_from_name(const char *name, enum end_key *ret)
{
    size_t i;

    if (!find(end_keys, COUNT(end_keys), name, &i))
        return false;
    *ret = (enum end_key)i;
    return true;
}

const char *consolidate_name(enum consolidate v)
{
    return (size_t)v < COUNT(consolidates) ? consolidates[v] : "unknown";
}

bool consolidate_from_name(const char *name, enum consolidate *ret)
{
    size_t i;

    if (!find(consolidates, COUNT(consolidates), name, &i))
        return false;
    *ret = (enum consolidate)i;
    return true;
}

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
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(key, known[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(key, begins[i], strlen(begins[i])) == 0)
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

/* Greedy with one way back: linear but for the text between two stars. */
static bool glob(const char *pattern, const char *s)
{
    const char *star = NULL, *back = s;

    while (*s) {
        if (*pattern == '*') {
            star = ++pattern;
            back = s;
        } else if (*pattern == *s) {
            pattern++;
            s++;
        } else if (star) {
            pattern = star;
            s = ++back;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

bool queue_allows(const struct snap_queue *q, const char *owner)
{
    for (uint32_t i = 0; i < q->owners.n; i++)
        if (glob(q->owners.v[i], owner ? owner : ""))
            return true;
    return q->owners.n == 0;
}
