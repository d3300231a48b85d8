/*
 * raw.h - the raw configuration: what a dialect has read, before it becomes
 * settings.
 *
 * Every dialect fills the same struct; raw_finish() looks machines up, merges
 * what is given over them, checks the whole and writes the generation.  All of
 * it lives in the generation's arena.
 */
#ifndef CONFIG_RAW_H
#define CONFIG_RAW_H

#include "catalogue.h"
#include "config.h"
#include "grammar.h"

/* A type's "never": longer than any machine lives, far from overflowing. */
#define RAW_NEVER_MS (INT64_C(36500) * 86400000)

enum raw_market { MARKET_ON_DEMAND, MARKET_SPOT };

struct raw_type {
    const char *name, *where;       /* where: "node_types.t4" for messages */
    const struct ynode *key, *map;  /* its place in the file */
    const struct ynode *machine_at; /* where its machine is given, NULL: map */
    const char *provider, *machine, *pool, *accelerator; /* "" not given */
    VEC(struct qty) resources; /* as given; 0 takes one away */
    VEC(struct pair) labels;
    struct taints taints;
    struct names startup;
    struct qtys kept;       /* by its kubelet from pods */
    VEC(struct qty) shares; /* into what each GPU is cut */
    VEC(const char *) zones;
    enum raw_market markets[2];
    uint32_t n_markets; /* 0: on-demand */
    bool market_reserved;
    struct conf_reserved reserved;
    uint32_t min, max, hosts;
    int64_t idle_timeout_ms, boot_ms;
    int32_t priority;
    int64_t price, spot_price; /* micros an hour, -1 not given */
    bool pod;                  /* a part of machine: price and accelerator
                                * are the machine's, resources are not */
    uint32_t memory_percent;   /* of the machine's that Ray offers */
    const struct conf_pair *options;
    uint32_t n_options;
    struct cat_machine found; /* in the catalogue, by raw_finish() */
};

struct raw_queue {
    const char *where;
    const struct ynode *key, *types_at, *selector_at;
    struct pairs selector;
    struct snap_queue queue;
};

struct raw {
    struct reader r;
    struct config *c;
    const char *text; /* the whole file, n bytes */
    size_t n;
    const char *catalogue; /* a user's file, "" */
    const struct ynode *catalogue_at;
    VEC(struct conf_provider) providers;
    VEC(struct raw_type *) types;
    VEC(struct raw_queue *) queues;
    /* Where a setting is that the whole file is held against, NULL or none: the
     * bundles of c->spare and the rules of c->idle, one each. */
    VEC(const struct ynode *) spare_at;
    VEC(const struct ynode *) idle_at;
    const struct ynode *limits_at; /* the mapping */
    const struct ynode *ha_at;
};

struct raw_type *raw_type_new(struct raw *d, const char *name,
                              const char *where, const struct ynode *key,
                              const struct ynode *map);
/* The place of a key of the type, the type's own when it is not given. */
const struct ynode *raw_at(const struct raw_type *t, const char *key);
/* What is given of a resource; -1: nothing. */
int64_t raw_given(const struct raw_type *t, const char *name);
/* Adds a provider that has no entry of its own yet. */
void raw_provider_add(struct raw *d, const char *name, const struct ynode *at);
void raw_finish(struct raw *d);

/* ---- shape.c: resources and labels of a type ---- */

/* Reports a name that is nearly one of Ray's or a vendor's: "cpu" would be a
 * resource of its own that no work ever asks for.  False: it is a mistake. */
bool shape_name_check(struct raw *d, const struct ynode *at, const char *name,
                      const char *where);
/* One resource as people write it: Kubernetes' names become Ray's, an
 * accelerator_type:T4 becomes the accelerator.  Mistakes are reported. */
void shape_put(struct raw *d, struct raw_type *t, const struct ynode *key,
               const struct ynode *value, const char *where);
void shape_set(struct raw *d, struct raw_type *t, const char *name,
               int64_t amount);
void shape_label(struct raw *d, struct raw_type *t, const char *key,
                 const char *value);
/* Kubernetes' rules for a label; both checks report what is wrong. */
void shape_labels_read(struct raw *d, struct raw_type *t,
                       const struct ynode *map, const char *where);
/* accelerator_type: */
void shape_accelerator(struct raw *d, struct raw_type *t, const struct ynode *v,
                       const char *where);
/* The accelerator that a node selector asks for, "" none. */
const char *shape_selector_accelerator(const char *key, const char *value);

/* ---- shares.c, queues.c: what the whole file decides ---- */

struct qtys shares_apply(struct raw *d, const struct raw_type *t,
                         struct qtys resources);
/* Before the types are finished: they get a label. */
void queues_finish(struct raw *d);

/* ---- note.c ---- */

/* The annotation davit.io/config of a RayCluster: limits and queues, as
 * whoever may edit it may say them.  Returns the davit: block (may be NULL) with
 * what the annotation says below it, as with `davit run --kuberay`. */
const struct ynode *note_read(struct raw *d, const struct ynode *object,
                              const struct ynode *block);

/* ---- sense.c: what is right by itself and makes no sense together ---- */

/* types: as they are finished, one for each of d->types. */
void sense_check(struct raw *d, const struct conf_type *types);
/* A rule of limits.idle_timeouts: does it fit such an offer? */
bool idle_rule_fits(const struct conf_idle *rule, const struct snap_type *t,
                    const char *zone, bool spot);

/* ---- raw_hash.c ---- */

/* 16 hex digits over what a machine of the type is made of. */
const char *raw_type_hash(struct raw *d, const struct raw_type *t);
/* The same, whatever its provider is called. */
const char *raw_type_made(struct raw *d, const struct raw_type *t);

/* ---- dialect.c: what the dialects of others share: a Ray cluster's YAML,
 * podTypes, a KubeRay manifest ---- */

/* The text of a node; "" when there is none, or it is no text. */
const char *dialect_text(const struct ynode *v);
/* Readers for grammar tables: minutes into limits.idle_timeout_ms of a struct
 * config, a mapping into the resources or labels of a struct raw_type. */
void dialect_minutes(struct reader *r, const struct ynode *v, const char *where,
                     void *target);
void dialect_resources(struct reader *r, const struct ynode *v,
                       const char *where, void *target);
void dialect_labels(struct reader *r, const struct ynode *v, const char *where,
                    void *target);
/* The davit: block over what the file's own language gave, then the provider
 * of its types: one of the block, else usual when we ship it, else sim. */
const char *dialect_provider(struct raw *d, const struct ynode *block,
                             const struct ynode *at, const char *usual);
/* A type under a name that must be fit for a node type; NULL after a
 * report. */
struct raw_type *dialect_type(struct raw *d, const struct ynode *name,
                              const char *where, const struct ynode *map);
/* A node selector's labels, and the accelerator and machine among them. */
void dialect_selector(struct raw *d, struct raw_type *t,
                      const struct ynode *map, const char *where);
/* A priority in a file of another dialect makes priority the policy. */
void dialect_priority(struct raw *d, const struct raw_type *t,
                      const struct ynode *block);
/* Resources of a Kubernetes container: limits first, then requests. */
void dialect_container(struct raw *d, struct raw_type *t,
                       const struct ynode *container, const char *where);
/* A quantity rounded up to a whole number, as Ray does; false after a
 * report. */
bool dialect_whole(struct raw *d, const struct ynode *v, const char *where,
                   int64_t *ret);
void dialect_check(struct raw *d);

/* ---- unknown.c ---- */

enum known_keys {
    KEYS_RAY_FILE,
    KEYS_RAY_TYPE,
    KEYS_RAY_PROVIDER, /* of aws, gcp and azure */
    KEYS_RAY_AUTH,
    KEYS_RAY_DOCKER,
    KEYS_PODS_FILE,
    KEYS_PODS_TYPE,
    KEYS_KUBERAY_SPEC,
    KEYS_KUBERAY_GROUP,
    KEYS_KUBERAY_OPTIONS,
    KEYS_KUBERAY_PARAMS,
};

/* Warns of keys of a mapping that are none of theirs. */
void unknown_keys(struct raw *d, enum known_keys which, const struct ynode *map,
                  const char *where);

/* ---- the dialects ---- */

void davit_read(struct raw *d, const struct yaml_docs *docs);
/* The davit: block in a file of another dialect: everything but node_types. */
void davit_block_read(struct raw *d, const struct ynode *block);
bool ray_is(const struct ynode *root);
void ray_read(struct raw *d, const struct ynode *root);
bool pods_is(const struct ynode *root);
/* spec: what holds podTypes; name: the cluster's or NULL; block: davit: */
void pods_read(struct raw *d, const struct ynode *spec,
               const struct ynode *name, const struct ynode *block);
/* Is it a Kubernetes manifest?  The read finds the RayCluster among them. */
bool kuberay_is(const struct ynode *root);
void kuberay_read(struct raw *d, const struct yaml_docs *docs);
/* kuberay_group.c: the ix-th of workerGroupSpecs. */
void kuberay_group_read(struct raw *d, const struct ynode *group, uint32_t ix,
                        const char *provider, const struct ynode *block);

#endif
