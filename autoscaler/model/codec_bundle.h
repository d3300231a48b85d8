/*
 * codec_bundle.h - the part of the codec that bundles, demands and node types
 * share; for the codec's own files only.
 */
#ifndef MODEL_CODEC_BUNDLE_H
#define MODEL_CODEC_BUNDLE_H

#include "snapshot.h"
#include "jin.h"

#define COUNT_MAX 10000000  /* of identical bundles, and of all together */

/* What an object with the keys of a bundle may have, for readers that allow
 * more keys beside these. */
#define BUNDLE_KEYS                                                           \
    "resources", "count", "accelerator_type", "accelerator_types", "labels",  \
        "label_selector", "selector", "tolerations", "any_of"

enum quantity_rule {
    QUANTITY_ANY,       /* what a node reports */
    QUANTITY_OFFERED,   /* whole devices only */
    QUANTITY_ASKED,     /* devices: whole, or a fraction of one if they can be
                         * shared */
};

/* An object of quantities by resource name.  Kubernetes' device names become
 * Ray's; "accelerator_type:X" stays among them for the caller. */
bool resources_read(struct jin *in, const struct jpath *at, const json_t *v,
                    enum quantity_rule rule, struct qtys *ret);
json_t *resources_write(const struct qtys *q);

struct term_vec { VEC(struct term) all; };

/* One condition in Ray's spelling: "a", "!a", "in(a,b)", "!in(a,b)". */
bool selector_add(struct jin *in, const struct jpath *at, const char *key,
                  const char *text, struct term_vec *to);
/* Adds what the keys accelerator_type(s), labels, label_selector and selector
 * of v say. */
bool selector_read(struct jin *in, const struct jpath *at, const json_t *v,
                   struct term_vec *to);
void selector_write(json_t *o, const struct terms *t);

/* codec_taint.c: "taints" of a node or type; "tolerations" of a bundle, which
 * are added to what is there.  Kubernetes' objects, or "key=value:Effect". */
struct toleration_vec { VEC(struct toleration) all; };
bool taints_read(struct jin *in, const struct jpath *at, const json_t *o,
                 struct taints *ret);
void taints_write(json_t *o, const struct taints *t);
bool tolerations_read(struct jin *in, const struct jpath *at, const json_t *o,
                      struct toleration_vec *to);
void tolerations_write(json_t *o, const struct tolerations *t);

/* codec_limits.c: the keys "limits" (and "max_nodes") and "queues" of a
 * snapshot. */
#define COUNT32_MAX (UNLIMITED - 1)
bool limits_read(struct jin *in, const json_t *root, struct snap_limits *ret);
json_t *limits_write(const struct snap_limits *l);
bool queues_read(struct jin *in, const json_t *root, struct snapshot *f);
json_t *queues_write(const struct snap_queue *v, uint32_t n);

/* v has the structured form and its keys were checked. */
bool bundle_read_checked(struct jin *in, const struct jpath *at,
                         const json_t *v, struct snap_bundle *ret);
/* Either form. */
bool bundle_read(struct jin *in, const struct jpath *at, const json_t *v,
                 struct snap_bundle *ret);
/* Puts the bundle's keys into o. */
void bundle_write_into(json_t *o, const struct snap_bundle *b);

/* The list under a key: a node's "holds"; and the root's "proposed". */
bool previous_read(struct jin *in, const struct jpath *at, const json_t *o,
                const char *key, struct snap_placements *ret);
bool proposed_read(struct jin *in, const json_t *root, struct snapshot *ret);
json_t *proposed_write(const struct snap_proposal *v, uint32_t n);

#endif
