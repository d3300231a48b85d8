/*
 * init.h - what `davit init` finds, and how it is written down.
 *
 * Each finder (ray.c, nodes.c, file.c) adds what it knows to one struct found;
 * write.c makes a configuration of it.  What a finder could not know goes into
 * `unknown` in words for a person.  Everything lies in the arena.  Names and
 * labels come from other systems: write.c quotes them.  Thread: main.
 */
#ifndef CLI_INIT_INIT_H
#define CLI_INIT_INIT_H

#include "../../config/catalogue.h"
#include "../../model/snapshot.h"
#include "../cli.h"

struct init_provider {
    const char *name;
    VEC(struct pair) options;
};

/* A node type to be. */
struct init_pool {
    const char *name, *provider, *pool; /* pool "": it has none */
    const char *machine;                /* "": `resources` says all */
    const char *accelerator;            /* "": none, or the machine's */
    VEC(struct qty)
    resources; /* written unless the catalogue has the machine */
    VEC(struct pair) labels;
    VEC(const char *) taints; /* "nvidia.com/gpu=present:NoSchedule" */
    VEC(const char *) zones;
    bool spot, on_demand;                       /* neither: on-demand */
    uint32_t min, max, hosts;                   /* max UNLIMITED: not known */
    int64_t price_micros_hour, idle_timeout_ms; /* -1: not said */
    uint32_t seen;                              /* machines there now */
    const char *note;                           /* "" */
};

struct found {
    struct arena arena;
    const struct catalogue *catalogue;
    const char *cluster;              /* "" until somebody knows */
    const char *ray;                  /* the head's address, or "" */
    bool kube;                        /* an API server answers */
    const char *kubeconfig, *context; /* as they were given, or "" */
    int64_t idle_timeout_ms;          /* -1: not said */
    uint32_t max_nodes;               /* UNLIMITED: not said */
    VEC(struct init_provider) providers;
    VEC(struct init_pool *) pools;
    VEC(const char *) found, unknown; /* lines for the person */
};

/* A line for `found`, or for `unknown`. */
#define INIT_FOUND(f, ...) \
    VEC_PUSH(&(f)->arena, &(f)->found, arena_printf(&(f)->arena, __VA_ARGS__))
#define INIT_UNKNOWN(f, ...) \
    VEC_PUSH(&(f)->arena, &(f)->unknown, arena_printf(&(f)->arena, __VA_ARGS__))

struct init_pool *init_pool_new(struct found *f, const char *name);
bool init_has_zone(const struct init_pool *p, const char *zone);
struct init_provider *init_provider_of(struct found *f, const char *name);
void init_option(struct found *f, struct init_provider *p, const char *key,
                 const char *value);

/* Asks a head, for three seconds.  `asked`: the person named it, so that it
 * is worth a word when it does not answer. */
void init_ray(struct found *f, const char *address, bool asked);
/* The nodes of an API server and the pools they are of.  The same for asked:
 * false when what was asked for could not be read, after a message. */
bool init_nodes(struct found *f, const char *kubeconfig, const char *context,
                bool asked);
/* A file of another program: its types and limits; false after a message. */
bool init_file(struct found *f, const char *path);

/* Pools of a cloud by their names, as its plug-in describes them; sets are the
 * provider's settings, KEY=VALUE.  False after a message. */
bool init_cloud(struct found *f, const char *provider,
                const struct cli_list *sets, const struct cli_list *pools);

/* pools.c: what a node's labels say of its pool and its cloud. */
struct node_facts {
    const char *provider, *pool, *machine, *accelerator, *zone, *region;
    bool spot;
    VEC(struct pair) labels; /* those that are the owner's own */
};
void init_node_facts(struct arena *a, const char *provider_id,
                     const struct pairs *labels, struct node_facts *ret);
/* A label of the system's or the cloud's, which its owner did not choose. */
bool init_label_is_systems(const char *key);
/* The provider's settings as far as a node and the context tell. */
void init_node_provider(struct found *f, const char *provider_id,
                        const struct pairs *labels,
                        const struct node_facts *facts);

/* The file, NUL-terminated, in the arena. */
const char *init_text(struct found *f);

#endif
