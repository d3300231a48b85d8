/*
 * nodes.h - drains of Kubernetes nodes: kit/kube_drain.h over one connection.
 * For kube_source_ops; each call makes a few requests and never waits.
 */
#ifndef WIRE_KUBE_NODES_H
#define WIRE_KUBE_NODES_H

#include "../source.h"
#include "kube.h"

enum status kube_nodes_drain(struct kube *k, struct source_drain *d,
                             int64_t deadline_mono_ms, struct err *err);
enum status kube_nodes_undrain(struct kube *k, const char *node,
                               int64_t deadline_mono_ms, struct err *err);
enum status kube_nodes_cordon(struct kube *k, const char *node, bool on,
                              int64_t deadline_mono_ms, struct err *err);
enum status kube_nodes_forget(struct kube *k, const char *node,
                              const char *instance, int64_t deadline_mono_ms,
                              struct err *err);

#endif
