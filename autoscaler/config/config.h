/*
 * config.h - one generation of settings, read from YAML with line and column.
 *
 * A generation is immutable and is in one shared arena: who points into it
 * keeps a reference.  A reload builds a new one and swaps it in, or keeps the
 * old and says why.  Other dialects (Ray cluster YAML, podTypes, KubeRay
 * RayCluster) are translated into the same struct.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include "../base/buf.h"
#include "../base/shared.h"
#include "../model/snapshot.h"

/* A setting with its place in the file, for messages about it later on. */
struct conf_pair {
    const char *key, *value;
    uint32_t line, column;
};

struct conf_provider {
    const char *name;                /* the key under providers: */
    const char *plugin;              /* path of the .so; "": davit-NAME.so from
                                      * the plug-in directories */
    const struct conf_pair *options; /* flattened: "a.b" -> "c" */
    uint32_t n_options;
    uint32_t line, column;
};

/* Capacity that is paid for anyway. */
struct conf_reserved {
    bool given;
    const char *id;          /* the cloud's, "" */
    uint32_t count;          /* machines */
    int64_t from_ms;         /* wall; 0: it has begun */
    int64_t until_ms;        /* wall; 0: it has no end */
    int64_t drain_before_ms; /* its machines are left so long before that */
};

struct conf_type {
    struct snap_type fact; /* offers: zones x markets as configured */
    const char *hash;      /* 16 hex digits over what a machine is made
                            * of (not min, max, timeouts, prices) */
    const char *made;      /* likewise, whatever the provider is called */
    const struct conf_pair *options; /* options: of the type, flattened */
    uint32_t n_options;
    struct conf_reserved reserved;
    struct names startup; /* taints of its nodes' start; "prefix*" */
    struct qtys kept;     /* by its kubelet from pods; n == 0: not said */
    uint32_t line, column;
};

/* Nodes with all these labels are ended after being idle for so long. */
struct conf_idle {
    struct pairs labels;
    int64_t ms;
};

enum conf_dialect {
    DIALECT_DAVIT,
    DIALECT_RAY,
    DIALECT_POD_TYPES,
    DIALECT_RAYCLUSTER
};

struct config {
    struct shared *memory; /* all of it, this struct too */
    const char *path;
    uint64_t digest; /* of the text */
    enum conf_dialect dialect;
    const char *cluster;
    const char *head_type;      /* another dialect's type of the head,
                                 * which is never launched; "" : not known */
    const char *ray_address;    /* "" : demand by REST only */
    const char *ray_token_file; /* "" : RAY_AUTH_TOKEN, RAY_AUTH_TOKEN_PATH,
                                 * ~/.ray/auth_token as Ray itself does */
    bool kube;                  /* head.kubernetes is given */
    const char *kube_kubeconfig, *kube_context; /* "" : looked for */
    struct names kube_namespaces;               /* n == 0: all */
    struct names kube_schedulers;               /* whose pods are demand */
    const char *kube_label;            /* of a node: the machine's id */
    struct names kube_startup;         /* taints of a node's start; "prefix*" */
    const char *kube_scheduler_config; /* a file; "configmap:space/name"; "" */
    int64_t kube_drain_timeout_ms;     /* of a drain; then it is a refusal */
    int64_t kube_drain_grace_ms; /* longer grace periods are cut; 0: none */
    bool kube_drain_local, kube_drain_bare; /* such pods move too */
    bool kube_reserve;            /* take the system's share off new types */
    int64_t kube_join_timeout_ms; /* a device may be missing for so long */
    const char *api_host;         /* "127.0.0.1"; "": api.socket only */
    uint32_t api_port;            /* 8790 */
    const char *metrics_host;     /* /metrics alone, for everybody; "" : not */
    uint32_t metrics_port;
    const char *api_token_file, *api_tls_cert, *api_tls_key; /* "" : none */
    const char *api_client_ca;  /* "" : clients need no certificate */
    const char *api_client_crl; /* those of them that were taken back; "" */
    bool api_anonymous; /* whoever reaches a loopback address may everything */
    struct names api_hosts; /* names of ours besides api_host */
    const char *api_tokens; /* file or folder of who may what; "" : none */
    bool api_kube;          /* api.kubernetes is given */
    const char *api_kube_audience;      /* "" : the API server's own */
    const char *api_kube_namespace;     /* "" : the pod's own */
    int64_t api_kube_cache_ms;          /* an answer is good for so long */
    const char *api_socket, *api_audit; /* paths that are made; "" : none */
    bool shadow;              /* of this run, not of a file: control/shadow/ */
    const char *state;        /* the journal as the file has it, "davit.db":
                               * see config_journal_path() */
    bool ha;                  /* state: kubernetes */
    const char *ha_namespace; /* "" : the pod's own */
    const char *ha_name;      /* "" : "davit-" and the cluster */
    const char *ha_identity;  /* "" : the host's name and a random part */
    int64_t ha_lease_ms;
    const char *plugin_dir; /* "" : the built-in search path */
    struct snap_limits limits;
    uint32_t max_ends;        /* unconfirmed ends in ten minutes; 0: a tenth */
    int64_t start_timeout_ms; /* no visible progress for so long: failed */
    bool end_unjoined;        /* also machines of others that never joined */
    int64_t think_ms;         /* how long a launch may wait for a better
                               * plan; limits.think */
    const struct conf_provider *providers;
    uint32_t n_providers;
    const struct conf_type *types;
    uint32_t n_types;
    const struct snap_queue *queues; /* selectors resolved to types */
    uint32_t n_queues;
    const struct snap_bundle *spare; /* head-room: limits.spare */
    uint32_t n_spare;
    const struct conf_idle *idle; /* limits.idle_timeouts, in order */
    uint32_t n_idle;
    const char *const *warnings; /* "file:line:col: ..." worth a warning */
    uint32_t n_warnings;
};

/* Reads a file.  On failure *ret is NULL and errors holds one line a mistake,
 * "path:line:col: what was found, what is allowed", all of them at once. */
enum status config_load(const char *path, struct config **ret,
                        struct buf *errors);
/* The same from memory; path is used in messages only. */
enum status config_parse(const char *path, const char *text, size_t n,
                         struct config **ret, struct buf *errors);
/* A setting in place of the file's: limits.idle_timeout, 2m. */
struct conf_set {
    const char *path, *value;
};
/* Like config_load(), with some settings in place of the file's. */
enum status config_load_with(const char *path, const struct conf_set *sets,
                             uint32_t n_sets, struct config **ret,
                             struct buf *errors);
/* Like config_parse(), to look for more: also after mistakes *ret is what could
 * be read, which nothing may be run with. */
enum status config_judge(const char *path, const char *text, size_t n,
                         struct config **ret, struct buf *errors);
void config_free(struct config *c); /* gives the reference back */

/* The journal's file, in the arena: a relative `state` is beside the file that
 * c was read from.  *elsewhere: "", or why it is where this process runs, as in
 * earlier versions.  INVALID: there is one at both places. */
enum status config_journal_path(const struct config *c, struct arena *a,
                                const char **ret, const char **elsewhere,
                                struct err *err);

/* Is it a provider that comes with us, and may be used without an entry? */
bool provider_shipped(const char *provider);

/* The first rule of limits.idle_timeouts that fits an offer of this type, for
 * snap_offer.idle_timeout_ms; 0: none does, or the type has its own. */
int64_t config_idle_ms(const struct config *c, const struct snap_type *t,
                       const char *zone, bool spot);
/* The demand for head-room; false when none is configured. */
bool config_spare(const struct config *c, struct snap_demand *ret);

#endif
