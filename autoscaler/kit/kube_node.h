/*
 * kube_node.h - the Node object's side of a drain, for kube_drain.c.
 */
#ifndef KIT_KUBE_NODE_H
#define KIT_KUBE_NODE_H

#include "kube_drain.h"

/* That it was us who made it unschedulable, for a drain. */
#define KUBE_DRAIN_CORDONED "davit.io/cordoned"

/* Sends it; anything but 2xx becomes an error in words (reply stays there). */
enum davit_status kube_ask(const struct kube_io *io, struct kube_ask *q,
                           struct davit_error *e);

enum davit_status kube_node_get(const struct kube_io *io, const char *name,
                                json_t **ret, bool *ret_there,
                                struct davit_error *e);
/* When our drain of it began, wall ms; 0: none did.  A time that makes no
 * sense counts as now. */
int64_t kube_node_drained_since(const json_t *node, int64_t now_wall_ms);
/* A merge patch of the node as it was read: another writer's change in between
 * is RETRY "Conflict".  Steals the patch, which has "metadata". */
enum davit_status kube_node_patch(const struct kube_io *io, const json_t *node,
                                  json_t *patch, struct davit_error *e);
enum davit_status kube_node_cordon(const struct kube_io *io, const json_t *node,
                                   int64_t now_wall_ms, struct davit_error *e);

#endif
