/*
 * match.c - which of our node types a node of the present autoscaler is of.
 *
 * By name where there is one: the type's, its pool's, the cloud's name of the
 * machine; a Ray node that has none of them by what it has.
 */
#include <string.h>

#include "../../model/accel.h"
#include "inside.h"

/* Labels that name a node pool: cloud.google.com/kubernetes-engine/docs,
 * docs.aws.amazon.com/eks, learn.microsoft.com/azure/aks, karpenter.sh/docs,
 * docs.ray.io (ray.io/node-group). */
static const char *const pool_labels[] = {
    "cloud.google.com/gke-nodepool",  "eks.amazonaws.com/nodegroup",
    "kubernetes.azure.com/agentpool", "agentpool",
    "karpenter.sh/nodepool",          "ray.io/node-group"};
/* Label and value of a node that may be taken back. */
static const char *const spot_labels[][2] = {
    {"ray.io/market-type", "spot"},
    {"cloud.google.com/gke-spot", "true"},
    {"eks.amazonaws.com/capacityType", "SPOT"},
    {"kubernetes.azure.com/scalesetpriority", "spot"},
    {"karpenter.sh/capacity-type", "spot"}};

static const char *label_of(const struct source_node *n, const char *key)
{
    for (uint32_t i = 0; i < n->labels.n; i++)
        if (strcmp(n->labels.v[i].key, key) == 0)
            return n->labels.v[i].value;
    return "";
}

bool match_spot(const struct source_node *n)
{
    for (size_t i = 0; i < sizeof spot_labels / sizeof *spot_labels; i++)
        if (strcmp(label_of(n, spot_labels[i][0]), spot_labels[i][1]) == 0)
            return true;
    return false;
}

static bool is_named(const struct conf_type *t, const char *name)
{
    return name && *name &&
           (strcmp(name, t->fact.name) == 0 ||
            (t->fact.pool && strcmp(name, t->fact.pool) == 0));
}

static bool by_name(const struct conf_type *t, const struct source_node *n)
{
    if (is_named(t, n->type))
        return true;
    for (size_t i = 0; i < sizeof pool_labels / sizeof *pool_labels; i++)
        if (is_named(t, label_of(n, pool_labels[i])))
            return true;
    return false;
}

static bool by_machine(const struct conf_type *t, const struct source_node *n)
{
    return t->fact.machine && *t->fact.machine && n->machine &&
           strcmp(t->fact.machine, n->machine) == 0;
}

static int64_t amount_of(const struct qtys *q, const char *name)
{
    for (uint32_t i = 0; i < q->n; i++)
        if (strcmp(q->v[i].name, name) == 0)
            return q->v[i].amount;
    return 0;
}

static bool same_label(const struct conf_type *t, const struct source_node *n,
                       const char *key)
{
    const char *has = "";

    for (uint32_t i = 0; i < t->fact.labels.n; i++)
        if (strcmp(t->fact.labels.v[i].key, key) == 0)
            has = t->fact.labels.v[i].value;
    return strcmp(has, label_of(n, key)) == 0;
}

/* As many CPUs, and each device and resource of its own. */
static bool by_content(const struct conf_type *t, const struct source_node *n)
{
    const struct qtys *q = &t->fact.resources;

    for (uint32_t i = 0; i < q->n; i++)
        if (!resource_is_rounded(q->v[i].name) &&
            amount_of(&n->total, q->v[i].name) != q->v[i].amount)
            return false;
    return amount_of(&n->total, "CPU") == amount_of(q, "CPU") &&
           amount_of(&n->total, "GPU") == amount_of(q, "GPU") &&
           same_label(t, n, ACCEL_LABEL);
}

const struct conf_type *match_type(const struct config *c,
                                   const struct source_node *n)
{
    bool (*const how[])(const struct conf_type *,
                        const struct source_node *) = {by_name, by_machine,
                                                       by_content};

    for (size_t k = 0; c && k < sizeof how / sizeof *how; k++)
        for (uint32_t i = 0; i < c->n_types; i++)
            if (how[k](&c->types[i], n))
                return &c->types[i];
    return NULL;
}
