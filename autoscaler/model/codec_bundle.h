/*
 * codec_bundle.h - the part of the codec that bundles, demands and node types
 * share; for the codec's own files only.
 */
#ifndef MODEL_CODEC_BUNDLE_H
#define MODEL_CODEC_BUNDLE_H

#include "facts.h"
#include "jin.h"

#define COUNT_MAX 10000000  /* of identical bundles, and of all together */

/* What an object with the keys of a bundle may have, for readers that allow
 * more keys beside these. */
#define BUNDLE_KEYS                                                           \
    "resources", "count", "accelerator_type", "accelerator_types", "labels",  \
        "label_selector", "selector", "any_of"

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

/* v has the structured form and its keys were checked. */
bool bundle_read_checked(struct jin *in, const struct jpath *at,
                         const json_t *v, struct fact_bundle *ret);
/* Either form. */
bool bundle_read(struct jin *in, const struct jpath *at, const json_t *v,
                 struct fact_bundle *ret);
/* Puts the bundle's keys into o. */
void bundle_write_into(json_t *o, const struct fact_bundle *b);

#endif
