/*
 * draft.h - what a dialect has read, before it is made into settings.
 *
 * Every dialect fills the same draft; draft_finish() looks machines up, merges
 * what is given over them, checks the whole and writes the generation.  All of
 * it lives in the generation's arena.
 */
#ifndef CONFIG_DRAFT_H
#define CONFIG_DRAFT_H

#include "catalogue.h"
#include "config.h"
#include "grammar.h"

/* A type's "never": longer than any machine lives, far from overflowing. */
#define DRAFT_NEVER_MS (INT64_C(36500) * 86400000)

enum draft_market { MARKET_ON_DEMAND, MARKET_SPOT };

struct draft_type {
    const char *name, *where;       /* where: "node_types.t4" for messages */
    const struct ynode *key, *map;  /* its place in the file */
    const struct ynode *machine_at; /* where its machine is said, NULL: map */
    const char *provider, *machine, *pool, *accelerator;  /* "" not given */
    VEC(struct qty) resources;      /* as given; 0 takes one away */
    VEC(struct pair) labels;
    struct taints taints;
    VEC(struct qty) shares;         /* into what each GPU is cut */
    VEC(const char *) zones;
    enum draft_market markets[2];
    uint32_t n_markets;             /* 0: on-demand */
    uint32_t min, max, hosts;
    int64_t idle_timeout_ms, boot_ms;
    int32_t priority;
    int64_t price, spot_price;      /* micros an hour, -1 not given */
    bool pod;                       /* a part of machine: price and accelerator
                                     * are the machine's, resources are not */
    uint32_t memory_percent;        /* of the machine's that Ray offers */
    const struct conf_pair *options;
    uint32_t n_options;
    struct cat_machine found;       /* in the catalogue, by draft_finish() */
};

struct draft_queue {
    const char *where;
    const struct ynode *key, *types_at, *selector_at;
    struct pairs selector;
    struct snap_queue fact;
};

struct draft {
    struct reader r;
    struct config *c;
    const char *catalogue;          /* a user's file, "" */
    const struct ynode *catalogue_at;
    VEC(struct conf_provider) providers;
    VEC(struct draft_type *) types;
    VEC(struct draft_queue *) queues;
};

struct draft_type *draft_type_new(struct draft *d, const char *name,
                                  const char *where, const struct ynode *key,
                                  const struct ynode *map);
/* The place of a key of the type, the type's own when it is not given. */
const struct ynode *draft_at(const struct draft_type *t, const char *key);
/* Adds a provider that has no entry of its own yet. */
void draft_provider(struct draft *d, const char *name, const struct ynode *at);
/* Is it one that comes with us? */
bool draft_shipped(const char *provider);
void draft_finish(struct draft *d);

/* ---- shape.c: resources and labels of a type ---- */

/* One resource as people write it: Kubernetes' names become Ray's, an
 * accelerator_type:T4 becomes the accelerator.  Mistakes are told. */
void shape_put(struct draft *d, struct draft_type *t, const struct ynode *key,
               const struct ynode *value, const char *where);
void shape_set(struct draft *d, struct draft_type *t, const char *name,
               int64_t amount);
void shape_label(struct draft *d, struct draft_type *t, const char *key,
                 const char *value);
/* Kubernetes' rules for a label; both checks tell what is wrong. */
void shape_labels_read(struct draft *d, struct draft_type *t,
                       const struct ynode *map, const char *where);
/* accelerator_type: */
void shape_accelerator(struct draft *d, struct draft_type *t,
                       const struct ynode *v, const char *where);
/* The accelerator a node selector stands for, "" none. */
const char *shape_selector_accelerator(const char *key, const char *value);

/* ---- shares.c, queues.c: what the whole file decides ---- */

struct qtys shares_apply(struct draft *d, const struct draft_type *t,
                         struct qtys resources);
/* Before the types are finished: they get a label. */
void queues_finish(struct draft *d);

/* ---- foreign.c: what the foreign dialects share ---- */

/* The text of a node; "" when there is none, or it is no text. */
const char *foreign_text(const struct ynode *v);
/* Readers for grammar tables: minutes into limits.idle_timeout_ms of a struct
 * config, a mapping into the resources of a struct draft_type. */
void foreign_minutes(struct reader *r, const struct ynode *v,
                     const char *where, void *target);
void foreign_resources(struct reader *r, const struct ynode *v,
                       const char *where, void *target);
/* The davit: block over what the file's own language said, then the provider
 * of its types: one of the block, else usual when we ship it, else sim. */
const char *foreign_provider(struct draft *d, const struct ynode *block,
                             const struct ynode *at, const char *usual);
/* A type under a name that must be fit for a node type; NULL is told. */
struct draft_type *foreign_type(struct draft *d, const struct ynode *name,
                                const char *where, const struct ynode *map);
/* A node selector's labels, and the accelerator and machine among them. */
void foreign_selector(struct draft *d, struct draft_type *t,
                      const struct ynode *map, const char *where);
/* A priority in a foreign file makes priority the policy. */
void foreign_priority(struct draft *d, const struct draft_type *t,
                      const struct ynode *block);
/* Resources of a Kubernetes container: limits first, then requests. */
void foreign_container(struct draft *d, struct draft_type *t,
                       const struct ynode *container, const char *where);
/* A quantity rounded up to a whole number, as Ray does; false is told. */
bool foreign_whole(struct draft *d, const struct ynode *v, const char *where,
                   int64_t *ret);
void foreign_check(struct draft *d);

/* ---- misspelt.c ---- */

enum foreign_keys {
    FOREIGN_RAY_FILE, FOREIGN_RAY_TYPE, FOREIGN_PODS_FILE, FOREIGN_PODS_TYPE,
    FOREIGN_KUBERAY_SPEC, FOREIGN_KUBERAY_GROUP, FOREIGN_KUBERAY_OPTIONS,
    FOREIGN_KUBERAY_PARAMS,
};

/* Tells the keys of a mapping that look like a known one but are none. */
void foreign_keys(struct draft *d, enum foreign_keys which,
                  const struct ynode *map, const char *where);

/* ---- the dialects ---- */

void davit_read(struct draft *d, const struct yaml_docs *docs);
/* The davit: block of a foreign file: everything but node_types. */
void davit_block_read(struct draft *d, const struct ynode *block);
bool ray_is(const struct ynode *root);
void ray_read(struct draft *d, const struct ynode *root);
bool pods_is(const struct ynode *root);
/* spec: what holds podTypes; name: the cluster's or NULL; block: davit: */
void pods_read(struct draft *d, const struct ynode *spec,
               const struct ynode *name, const struct ynode *block);
/* Is it a Kubernetes manifest?  The read finds the RayCluster among them. */
bool kuberay_is(const struct ynode *root);
void kuberay_read(struct draft *d, const struct yaml_docs *docs);

#endif
