/*
 * kube_pod.h - what a drain may do with a pod, and what a disruption budget
 * says about it.  No I/O: the API server's objects in, a judgement out.
 *
 * The rules are those people know from Cluster Autoscaler and Karpenter; the
 * list is in docs/draining.md.  Strings of a judgement point into the pod.
 */
#ifndef KIT_KUBE_POD_H
#define KIT_KUBE_POD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* What marks a node that is being drained, by Davit or its plug-ins; the value
 * is when it began, in seconds since 1970, as ToBeDeletedByClusterAutoscaler's
 * is. */
#define KUBE_DRAIN_TAINT "davit.io/draining"
#define KUBE_HOLD_ANNOTATION "davit.io/do-not-disrupt"

enum kube_pod_fate {
    KUBE_POD_ENDED,  /* finished, or lost with its kubelet: no matter */
    KUBE_POD_STAYS,  /* static, of a DaemonSet, or at home on a node that
                      * is drained: left alone until the machine ends */
    KUBE_POD_LEAVES, /* its deletion is under way */
    KUBE_POD_MOVES,  /* is to be evicted */
    KUBE_POD_HOLDS,  /* must not be: why says so */
};

struct kube_pod {
    const char *space, *name, *uid;
    enum kube_pod_fate fate;
    bool works;      /* one that a node with it is not idle for: not ended, nor
                      * leaving, static or of a DaemonSet */
    bool critical;   /* system-node-critical, system-cluster-critical */
    bool unready;    /* runs, and is not Ready */
    bool pending;    /* has never run: no budget counts it */
    int64_t grace_s; /* its own grace period */
    char why[160];   /* of HOLDS: "is annotated ..." */
};

struct kube_pod_rules {
    bool move_local; /* pods with an emptyDir or hostPath move too */
    bool move_bare;  /* pods that nothing makes again, too */
};

/* server_ms: the API server's clock, by which a pod's grace is over; 0: not known,
 * and a pod that leaves is there until no list has it. */
void kube_pod_judge(const json_t *pod, const struct kube_pod_rules *rules,
                    int64_t server_ms, struct kube_pod *ret);

/* A node's own "no": "" or why it must not be drained. */
const char *kube_node_holds(const json_t *node);

/* Does a LabelSelector take these labels?  NULL takes nothing, {} all. */
bool kube_selector_takes(const json_t *selector, const json_t *labels);

/* Does a budget forbid this pod's eviction now? */
bool kube_budget_covers(const json_t *pdb, const json_t *pod);
bool kube_budget_forbids(const json_t *pdb, const struct kube_pod *pod);

#endif
