/*
 * kube_pod.c - see kube_pod.h.
 */
#include "kube_pod.h"

#include <stdio.h>
#include <string.h>

#include "json.h"

/* After its last second a pod that is still there has lost its kubelet. */
enum { LOST_AFTER_MS = 30000, GRACE_DEFAULT_S = 30 };

#define CA "cluster-autoscaler.kubernetes.io/"

/* ---- small readers */

static const char *annotation(const json_t *object, const char *key)
{
    return kit_json_string(
        json_object_get(kit_json_at(object, "metadata.annotations"), key));
}

static bool annotated(const json_t *object, const char *key, const char *value)
{
    return strcmp(annotation(object, key), value) == 0;
}

static const json_t *controller_of(const json_t *pod)
{
    const json_t *owners = kit_json_at(pod, "metadata.ownerReferences"), *o;
    size_t i;
    json_array_foreach(owners, i, o)
        if (kit_json_true(o, "controller"))
            return o;
    return NULL;
}

static bool owned_by_node(const json_t *pod)
{
    const json_t *owners = kit_json_at(pod, "metadata.ownerReferences"), *o;
    size_t i;
    json_array_foreach(owners, i, o)
        if (strcmp(kit_json_text(o, "kind"), "Node") == 0)
            return true;
    return false;
}

/* Would it be at home on a node with our taint?  Evicted, it would come back
 * to the very node. */
static bool tolerates_drain(const json_t *pod)
{
    const json_t *list = kit_json_at(pod, "spec.tolerations"), *t;
    size_t i;
    json_array_foreach(list, i, t) {
        const char *key = kit_json_text(t, "key");
        const char *effect = kit_json_text(t, "effect");
        bool exists = strcmp(kit_json_text(t, "operator"), "Exists") == 0;
        if (*effect != '\0' && strcmp(effect, "NoSchedule") != 0)
            continue;
        if (exists && (*key == '\0' || strcmp(key, KUBE_DRAIN_TAINT) == 0))
            return true;
    }
    return false;
}

/* In a comma-separated list? */
static bool listed(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = list; *p != '\0'; p += *p == ',') {
        p += strspn(p, " ");
        size_t len = strcspn(p, ",");
        size_t used = len;
        while (used > 0 && p[used - 1] == ' ')
            used--;
        if (used == n && memcmp(p, name, n) == 0)
            return true;
        p += len;
    }
    return false;
}

/* The name of a volume that dies with the node, or NULL.  Memory (/dev/shm)
 * dies with the pod anyway. */
static const char *local_volume(const json_t *pod)
{
    const char *waived = annotation(pod, CA "safe-to-evict-local-volumes");
    const json_t *list = kit_json_at(pod, "spec.volumes"), *v;
    size_t i;
    json_array_foreach(list, i, v) {
        const json_t *empty = json_object_get(v, "emptyDir");
        bool local = json_object_get(v, "hostPath") ||
                     (empty &&
                      strcmp(kit_json_text(empty, "medium"), "Memory") != 0);
        const char *name = kit_json_text(v, "name");
        if (local && !listed(waived, name))
            return name;
    }
    return NULL;
}

/* ---- the judgement */

static enum kube_pod_fate holds(struct kube_pod *p, const char *fmt,
                                const char *what)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(p->why, sizeof p->why, fmt, what);
#pragma GCC diagnostic pop
    return KUBE_POD_HOLDS;
}

/* An annotation that forbids it; NULL: none does. */
static const char *forbidden_by(const json_t *pod)
{
    if (annotated(pod, CA "safe-to-evict", "false"))
        return CA "safe-to-evict: \"false\"";
    if (annotated(pod, "karpenter.sh/do-not-disrupt", "true"))
        return "karpenter.sh/do-not-disrupt: \"true\"";
    if (annotated(pod, "karpenter.sh/do-not-evict", "true"))
        return "karpenter.sh/do-not-evict: \"true\"";
    if (annotated(pod, KUBE_HOLD_ANNOTATION, "true"))
        return KUBE_HOLD_ANNOTATION ": \"true\"";
    return NULL;
}

static enum kube_pod_fate fate_of(const json_t *pod,
                                  const struct kube_pod_rules *rules,
                                  int64_t server_ms, struct kube_pod *p)
{
    const char *phase = kit_json_text(pod, "status.phase");
    const char *deleted = kit_json_text(pod, "metadata.deletionTimestamp");
    const json_t *controller = controller_of(pod);
    bool safe = annotated(pod, CA "safe-to-evict", "true");
    const char *what;

    if (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0)
        return KUBE_POD_ENDED;
    if (*annotation(pod, "kubernetes.io/config.mirror") != '\0' ||
        owned_by_node(pod))
        return KUBE_POD_STAYS;
    if ((controller &&
         strcmp(kit_json_text(controller, "kind"), "DaemonSet") == 0) ||
        annotated(pod, CA "daemonset-pod", "true"))
        return KUBE_POD_STAYS;
    if (*deleted != '\0') {
        /* It already counts the grace period. */
        int64_t at = kit_time_ms(deleted);
        return at >= 0 && server_ms > at + LOST_AFTER_MS ? KUBE_POD_ENDED
                                                         : KUBE_POD_LEAVES;
    }
    p->works = true;
    if ((what = forbidden_by(pod)))
        return holds(p, "is annotated %s", what);
    if (tolerates_drain(pod))
        return KUBE_POD_STAYS;
    if (!controller && !safe && !rules->move_bare)
        return holds(p, "has no controller that would make it again (%s)",
                     "annotate it " CA "safe-to-evict: \"true\" to let it go");
    if (!safe && !rules->move_local && (what = local_volume(pod)))
        return holds(p, "keeps data on the node in its volume \"%.60s\"", what);
    return KUBE_POD_MOVES;
}

void kube_pod_judge(const json_t *pod, const struct kube_pod_rules *rules,
                    int64_t server_ms, struct kube_pod *ret)
{
    static const struct kube_pod_rules none = {false, false};
    const char *class = kit_json_text(pod, "spec.priorityClassName");

    *ret = (struct kube_pod){
        .space = kit_json_text(pod, "metadata.namespace"),
        .name = kit_json_text(pod, "metadata.name"),
        .uid = kit_json_text(pod, "metadata.uid"),
        .critical = strcmp(class, "system-node-critical") == 0 ||
                    strcmp(class, "system-cluster-critical") == 0,
        .pending = strcmp(kit_json_text(pod, "status.phase"), "Pending") == 0,
        .unready = !kit_json_ready(pod),
        .grace_s = kit_json_int(pod, "spec.terminationGracePeriodSeconds",
                                GRACE_DEFAULT_S),
    };
    ret->fate = fate_of(pod, rules ? rules : &none, server_ms, ret);
}

const char *kube_node_holds(const json_t *node)
{
    if (annotated(node, KUBE_HOLD_ANNOTATION, "true"))
        return "is annotated " KUBE_HOLD_ANNOTATION ": \"true\"";
    if (annotated(node, "karpenter.sh/do-not-disrupt", "true"))
        return "is annotated karpenter.sh/do-not-disrupt: \"true\"";
    if (annotated(node, CA "scale-down-disabled", "true"))
        return "is annotated " CA "scale-down-disabled: \"true\"";
    return "";
}

/* ---- budgets */

static bool in_values(const json_t *values, const char *text)
{
    const json_t *v;
    size_t i;
    json_array_foreach(values, i, v)
        if (json_is_string(v) && strcmp(json_string_value(v), text) == 0)
            return true;
    return false;
}

static bool expression_holds(const json_t *e, const json_t *labels)
{
    const char *op = kit_json_text(e, "operator");
    const char *value = json_string_value(
        json_object_get(labels, kit_json_text(e, "key")));
    const json_t *values = json_object_get(e, "values");

    if (strcmp(op, "Exists") == 0)
        return value;
    if (strcmp(op, "DoesNotExist") == 0)
        return !value;
    if (strcmp(op, "In") == 0)
        return value && in_values(values, value);
    if (strcmp(op, "NotIn") == 0)
        return !value || !in_values(values, value);
    return false;
}

bool kube_selector_takes(const json_t *selector, const json_t *labels)
{
    const json_t *match = json_object_get(selector, "matchLabels");
    const json_t *all = json_object_get(selector, "matchExpressions"), *e;
    const char *key;
    json_t *want;
    size_t i;

    if (!json_is_object(selector))
        return false;
    json_object_foreach((json_t *)match, key, want) {
        const char *have = json_string_value(json_object_get(labels, key));
        if (!have || !json_is_string(want) ||
            strcmp(have, json_string_value(want)) != 0)
            return false;
    }
    json_array_foreach(all, i, e)
        if (!expression_holds(e, labels))
            return false;
    return true;
}

bool kube_budget_covers(const json_t *pdb, const json_t *pod)
{
    return strcmp(kit_json_text(pdb, "metadata.namespace"),
                  kit_json_text(pod, "metadata.namespace")) == 0 &&
           kube_selector_takes(kit_json_at(pdb, "spec.selector"),
                               kit_json_at(pod, "metadata.labels"));
}

/* The eviction's own rules: a pod that never ran is no disruption; one that is
 * not Ready goes when the policy says so, or when enough others are healthy. */
bool kube_budget_forbids(const json_t *pdb, const struct kube_pod *pod)
{
    const char *policy = kit_json_text(pdb, "spec.unhealthyPodEvictionPolicy");
    int64_t healthy = kit_json_int(pdb, "status.currentHealthy", 0);
    int64_t wanted = kit_json_int(pdb, "status.desiredHealthy", 0);

    if (pod->pending)
        return false;
    if (pod->unready && (strcmp(policy, "AlwaysAllow") == 0 ||
                         (wanted > 0 && healthy >= wanted)))
        return false;
    return kit_json_int(pdb, "status.disruptionsAllowed", 0) <= 0;
}
