/*
 * leaving.c - nodes whose cloud says that it takes them back soon.
 *
 * Clouds tell it by a metadata service on the machine itself; agents that people
 * have there write it on the Node object, each in its own way:
 *   github.com/aws/aws-node-termination-handler  docs, taints
 *   cloud.google.com/kubernetes-engine/docs/concepts/spot-vms  graceful shutdown
 *   learn.microsoft.com/azure/aks/node-auto-drain  events and conditions
 * A rebalance recommendation is no such word: its taint alone keeps new work
 * away.  What another autoscaler drains goes too.
 */
#include "inside.h"

#include <string.h>

enum { WORDS = 3 };

static const struct notice {
    const char *taint, *condition; /* one of the two */
    const char *words[WORDS];      /* of the condition's reason or message, one
                                    * of them; none: it says it by itself */
    int32_t seconds;               /* from then on, by the cloud's word */
} notices[] = {
    {.taint = "aws-node-termination-handler/spot-itn", .seconds = 120},
    {.taint = "aws-node-termination-handler/asg-lifecycle-termination",
     .seconds = 120},
    {.taint = "aws-node-termination-handler/scheduled-maintenance",
     .seconds = 120},
    {.taint = "cloud.google.com/impending-node-termination", .seconds = 30},
    {.taint = "remediator.kubernetes.azure.com/unschedulable", .seconds = 30},
    {.taint = "remediator.aks.microsoft.com/unschedulable", .seconds = 30},
    {.taint = "node.kubernetes.io/out-of-service", .seconds = 30},
    {.taint = "karpenter.sh/disrupted", .seconds = 120},
    {.taint = "ToBeDeletedByClusterAutoscaler", .seconds = 120},
    {.condition = "VMEventScheduled",
     .words = {"Preempt", "Redeploy", "Terminat"},
     .seconds = 30},
    {.condition = "PreemptScheduled", .seconds = 30},
    {.condition = "PreemptionScheduled", .seconds = 30},
};

static bool says_so(const json_t *c, const struct notice *x)
{
    const char *reason = pods_text(c, "reason", NULL);
    const char *message = pods_text(c, "message", NULL);

    if (!x->words[0])
        return true;
    for (uint32_t i = 0; i < WORDS && x->words[i]; i++)
        if (strstr(reason, x->words[i]) || strstr(message, x->words[i]))
            return true;
    return false;
}

static const json_t *taint_there(const json_t *taints, const struct notice *x)
{
    for (size_t i = 0; i < json_array_size(taints) && i < PODS_MAX_LIST; i++) {
        const json_t *t = json_array_get(taints, i);

        if (strcmp(pods_text(t, "key", NULL), x->taint) == 0)
            return t;
    }
    return NULL;
}

static const json_t *condition_there(const json_t *conditions,
                                     const struct notice *x)
{
    for (size_t i = 0; i < json_array_size(conditions) && i < PODS_MAX_LIST;
         i++) {
        const json_t *c = json_array_get(conditions, i);

        if (strcmp(pods_text(c, "type", NULL), x->condition) == 0 &&
            strcmp(pods_text(c, "status", NULL), "True") == 0 && says_so(c, x))
            return c;
    }
    return NULL;
}

void pods_leaving_read(struct knode *n, const json_t *o)
{
    const json_t *taints = pods_at(o, "spec", "taints", NULL);
    const json_t *conditions = pods_at(o, "status", "conditions", NULL);

    n->leaving = "";
    for (size_t i = 0; i < sizeof notices / sizeof *notices; i++) {
        const struct notice *x = &notices[i];

        if (x->taint ? !taint_there(taints, x)
                     : !condition_there(conditions, x))
            continue;
        if (*n->leaving && n->leaving_ms <= x->seconds * 1000)
            continue;
        n->leaving_ms = x->seconds * 1000;
        n->leaving = arena_printf(&n->arena, "%s %s",
                                  x->taint ? "taint" : "condition",
                                  x->taint ? x->taint : x->condition);
    }
}
