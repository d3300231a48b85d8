/*
 * inside.h - what the files of the codec share; for them only.
 *
 * A noun has a file, with its reading and its writing.  A function named
 * x_read(in, at, o, ...) reads a key of o, or all of o, and returns false with
 * in->err filled; at is the path of o.
 */
#ifndef CODEC_INSIDE_H
#define CODEC_INSIDE_H

#include "../model/snapshot.h"
#include "reader.h"

#define COUNT_MAX 10000000 /* of identical bundles, and of all together */

/* What an object with the keys of a bundle may have, for readers that allow
 * more keys beside these. */
#define BUNDLE_KEYS \
    "resources", "count", "accelerator_type", "accelerator_types", "labels", \
        "label_selector", "selector", "tolerations", "any_of", "unconfirmed"

enum quantity_rule {
    QUANTITY_ANY,     /* what a node reports */
    QUANTITY_OFFERED, /* whole devices only */
    QUANTITY_ASKED,   /* devices: whole, or a fraction of one if they can be
                       * shared */
};

/* The quantities by resource name under a key, which may be absent.
 * Kubernetes' device names become Ray's; "accelerator_type:X" stays among them
 * for the caller. */
bool resources_get(struct reader *in, const struct path *at, const json_t *o,
                   const char *key, enum quantity_rule rule, struct qtys *ret);
json_t *resources_write(const struct qtys *q);

struct term_vec {
    VEC(struct term) all;
};

/* One condition in Ray's spelling: "a", "!a", "in(a,b)", "!in(a,b)". */
bool selector_add(struct reader *in, const struct path *at, const char *key,
                  const char *text, struct term_vec *to);
/* Adds what the keys accelerator_type(s), labels, label_selector and selector
 * of v ask for. */
bool selector_read(struct reader *in, const struct path *at, const json_t *v,
                   struct term_vec *to);
void selector_write(json_t *o, const struct terms *t);

/* taint.c: "taints" of a node or type; "tolerations" of a bundle, which
 * are added to what is there.  Kubernetes' objects, or "key=value:Effect". */
struct toleration_vec {
    VEC(struct toleration) all;
};
bool taints_read(struct reader *in, const struct path *at, const json_t *o,
                 struct taints *ret);
void taints_write(json_t *o, const struct taints *t);
bool tolerations_read(struct reader *in, const struct path *at, const json_t *o,
                      struct toleration_vec *to);
void tolerations_write(json_t *o, const struct tolerations *t);

/* limits.c: the keys "limits" (and "max_nodes") and "queues". */
#define COUNT32_MAX (UNLIMITED - 1)
bool limits_read(struct reader *in, const json_t *root,
                 struct snap_limits *ret);
json_t *limits_write(const struct snap_limits *l);
bool queues_read(struct reader *in, const json_t *root, struct snapshot *ret);
json_t *queues_write(const struct snap_queue *v, uint32_t n);

/* bundle.c.  v has the structured form and its keys were checked: */
bool bundle_read_checked(struct reader *in, const struct path *at,
                         const json_t *v, struct snap_bundle *ret);
/* Either form. */
bool bundle_read(struct reader *in, const struct path *at, const json_t *v,
                 struct snap_bundle *ret);
/* Puts the bundle's keys into o. */
void bundle_write_into(json_t *o, const struct snap_bundle *b);

/* labels.c: "labels", and the ACCEL_LABEL that "accelerator_type", or a marker
 * among the resources (which is taken out of them), stands for. */
bool labels_read(struct reader *in, const struct path *at, const json_t *o,
                 struct qtys *resources, struct pairs *ret);
void labels_write(json_t *o, const struct pairs *p);

/* type.c, node.c, demand.c: the lists of these names at the root. */
bool types_read(struct reader *in, const json_t *root, struct snapshot *ret);
json_t *types_write(const struct snapshot *s);
bool nodes_read(struct reader *in, const json_t *root, struct snapshot *ret);
json_t *nodes_write(const struct snapshot *s);
bool demands_read(struct reader *in, const json_t *root, struct snapshot *ret);
void demands_write(json_t *root, const struct snapshot *s);

/* previous.c: a node's "previous"; the root's "proposed". */
bool previous_read(struct reader *in, const struct path *at, const json_t *o,
                   const char *key, struct snap_placements *ret);
bool proposed_read(struct reader *in, const json_t *root, struct snapshot *ret);
json_t *proposed_write(const struct snap_proposal *v, uint32_t n);
bool unhelped_read(struct reader *in, const json_t *root, struct snapshot *ret);
json_t *unhelped_write(const struct snap_unhelped *v, uint32_t n);

/* snapshot.c: names of enums, as reader_get_word() takes them */
const char *reason_word(size_t i);
const char *source_word(size_t i);

#endif
