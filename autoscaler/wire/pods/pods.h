/*
 * pods.h - a Kubernetes API server as a source of demand: its pending pods are
 * the demand of the view, its nodes are the nodes.
 *
 * The first read() of a handle starts its watches (pods, nodes, DaemonSets,
 * PodGroups), so a handle that only drains has none.  read() waits: it returns
 * 5 ms after something that matters changed, or with NULL at its deadline.
 * Resource names are Ray's, as in the configuration: see pods_resource().
 */
#ifndef WIRE_PODS_H
#define WIRE_PODS_H

#include "../source.h"

struct kube_source_opts {
    const char *kubeconfig, *context; /* "" : see kube_access_find() */
    const char *cluster_dir;          /* NULL: the usual one; for tests */
    struct names namespaces;          /* whose pods are demand; n == 0: all */
    struct names scheduler_names;     /* n == 0: default-scheduler */
    const char *label;                /* of a node: our machine's id; "" :
                                       * davit.io/machine */
    struct names zones;               /* of the configured offers */
    struct qtys most;                 /* the largest configured node type has of
                                       * each resource; n == 0: not known */
    bool no_reserve;                  /* pods get all of a type's resources:
                                       * the system keeps nothing */
    struct names startup_taints;      /* keys, or "prefix*" */
    struct pairs type_startup;        /* node type -> one of its nodes */
    const char *scheduler_config; /* a file, or "configmap:space/name"; "" */
    bool works;                   /* nodes tell what each pod takes */
};

/* Finds the access (files only, no I/O on the network). */
enum status kube_source_new(const struct kube_source_opts *o, void **ret,
                            struct err *err);
extern const struct source_ops kube_source_ops;

/* "nvidia.com/gpu" -> "GPU", "cpu" -> "CPU", "aws.amazon.com/neuroncore" ->
 * "neuron_cores"; what is not in the table of accelerators keeps its name.
 * *ret_vendor: of a GPU that is not NVIDIA's its extended resource, else "". */
const char *pods_resource(const char *k8s, const char **ret_vendor);
/* On a node type or node whose GPU is not NVIDIA's: "amd.com.gpu".  A pod that
 * asks amd.com/gpu has a term on it, one that asks nvidia.com/gpu excludes
 * other values.  A type has it by its labels, or by an accelerator_type that
 * begins with AMD-. */
#define GPU_LABEL "davit.io/gpu"

/* The pods behind a demand of the view. */
struct pods_ref {
    const char *space, *name, *uid;
};
const struct pods_ref *pods_of(const struct source_view *view, uint32_t demand,
                               uint32_t *ret_n);

/* The view's demand with the snapshot's types and nodes known: pods with rules by
 * domains other than hosts are bound to those where the scheduler will put them.
 * In the arena, or the view's own. */
const struct snap_demand *pods_demands_settle(const struct source_view *view,
                                              struct arena *arena,
                                              const struct snapshot *s);

/* What its provider tells of all offers of a type, and the configuration. */
struct pods_cloud {
    struct pairs labels;
    struct qtys resources; /* the least of each */
    struct qtys kept; /* of the configuration: by its kubelet from pods; n == 0:
                       * by GKE's rule, if it is not switched off */
};
/* Is the key one of these taints of a start ("prefix*")? */
bool pods_taint_listed(struct names startup, const char *key);

/* What a new node of this type will offer pods: t is a copy in the tick's
 * arena whose resources and labels are replaced.  like: living nodes of the
 * type (none is fine): allocatable and labels are learned from them.  cloud:
 * what its provider tells of all its offers.  Taken
 * off: the system's reserve and the DaemonSets that would run there; added:
 * pods, ephemeral-storage, the labels every node has, and what stands for the
 * conditions of this view's demand (columns for conditions on other pods,
 * labels for those that no term can express). */
void pods_type_fit(const struct source_view *view,
                   const struct source_node *const *like, uint32_t n_like,
                   struct pods_cloud cloud, struct arena *arena,
                   struct snap_type *t);

#endif
