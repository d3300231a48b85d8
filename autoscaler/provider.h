/*
 * provider.h - the whole contract between the daemon and a provider plug-in.
 *
 * A plug-in is one shared object exporting one function, davit_provider_v1().
 * It includes this file and nothing else of ours, and links against no daemon
 * symbol.  Operations block; the daemon calls them on worker threads, may call
 * several at once on one handle, and bounds each with a deadline.
 *
 * Memory: whoever allocated it frees it.  Arguments live until the call
 * returns; what a plug-in hands to a sink is copied before put() returns; what
 * the host hands back (an HTTP body) lives until the operation returns.
 *
 * Growth: fields are appended at a struct's end, and a reader tests DAVIT_HAS()
 * first.  Any other change is a new entry symbol: davit_provider_v2().
 * All rules here are Davit's own, but for those that name the page they follow.
 */
#ifndef DAVIT_PROVIDER_H
#define DAVIT_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DAVIT_HAS(p, type, field) \
    ((p)->size >= offsetof(type, field) + sizeof((p)->field))

/* How an operation ended.  The text is what the daemon does about it: Davit's
 * own rules and times, in autoscaler/cloud/backoff.c.  An offer is a node type
 * in one zone and market.  Stockout and quota are told apart because clouds do:
 * InsufficientInstanceCapacity is not InstanceLimitExceeded
 * (docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html). */
#define DAVIT_STATUS_MAP(X) \
    X(OK, 0, "go on") \
    X(RETRY, 1, "again, same request id; offer backs off 1 s to 60 s") \
    X(THROTTLED, 2, "provider backs off retry_after_ms, or 2 s to 2 min") \
    X(STOCKOUT, 3, "offer backs off 60 s to 30 min; plan without it") \
    X(QUOTA, 4, "launch half as many; at one it backs off 2 min to 1 h") \
    X(AUTH, 5, "the provider backs off 30 s to 10 min: then a launch probes") \
    X(INVALID, 6, "the node type backs off 5 min to 1 h, or until reload") \
    X(NOT_FOUND, 7, "end: it is gone, as asked; launch: as STOCKOUT") \
    X(CANCELLED, 8, "drop the answer and list again") \
    X(UNSUPPORTED, 9, "offers() and find(): never call it again") \
    X(BROKEN, 10, "as RETRY, for the whole provider")

#define DAVIT_ENUM_(name, value, text) DAVIT_##name = value,
enum davit_status { DAVIT_STATUS_MAP(DAVIT_ENUM_) };
#undef DAVIT_ENUM_

struct davit_error { /* caller's storage: failing never allocates */
    uint32_t size;
    uint32_t retry_after_ms; /* 0: the daemon's own back-off.  RFC 9110,
                              * 10.2.3: the Retry-After of a 429 or 503 */
    char code[48];           /* the cloud's own code, for the log */
    char text[208];          /* one sentence for a person */
};

struct davit_call; /* one running operation; the host's, opaque */
struct davit_sink; /* where results go; the host's, opaque */
struct davit_kv {
    const char *key, *value;
};

struct davit_http { /* request in the first part, reply after */
    uint32_t size;
    const char *method, *url;
    const struct davit_kv *headers;
    size_t n_headers;
    const void *body;
    size_t body_len;
    int reply_status;
    const char *reply_body; /* NUL-terminated; capped by the host */
    size_t reply_len;
    const struct davit_kv *reply_headers; /* names in lower case */
    size_t n_reply_headers;
    /* files for https, NULL: ca_file: of the provider's settings or the
     * system's CAs; no client certificate */
    const char *ca_file, *cert_file, *key_file;
    /* The reply lives only until the operation's next request: for long lists
     * in pages. */
    bool brief;
    /* The exchange may take so long, within the operation's own time; 0: all of
     * that.  For what is good to know and nobody shall wait for. */
    uint32_t timeout_ms;
};

struct davit_host { /* services: all that a plug-in may use of the daemon */
    uint32_t size;
    int (*http)(struct davit_call *, struct davit_http *, struct davit_error *);
    bool (*sleep)(struct davit_call *, uint32_t ms); /* false: stop now */
    uint32_t (*remaining_ms)(const struct davit_call *);
    int64_t (*wall_ms)(void);
    void (*log)(int level, const char *line); /* 0 error .. 3 debug */
    /* While list() runs: the name of the daemon that asks, to be left where the
     * machines are, with a stamp (the time, a count) that is another one each time.
     * "": nobody who stays. */
    const char *(*who)(const struct davit_call *);
    /* What another daemon of the same cluster has left there, up to 16 of them: one
     * whose stamp changes is at work. */
    void (*neighbour)(struct davit_call *, const char *who, int64_t stamp);
};

struct davit_node_type { /* one entry of node_types:, as configured */
    uint32_t size;
    const char *name;           /* the key under node_types: */
    const char *pool, *machine; /* "" when not given */
    /* "CPU" -> "4", "GPU" -> "1", by Ray's names for them:
     * docs.ray.io/en/latest/ray-core/scheduling/resources.html */
    const struct davit_kv *resources, *labels;
    size_t n_resources, n_labels;
    const char *const *zones; /* none: the provider's own choice */
    size_t n_zones;
    uint32_t min, max; /* UINT32_MAX: no maximum */
    bool spot;
    const struct davit_kv *options; /* the entry's options: block, flattened */
    size_t n_options; /*   ("boot" -> "5s", "tags.team" -> "ml") */
    uint32_t hosts;   /* machines that come and go as one; 1: each by itself */
};

struct davit_setup { /* what open() is given */
    uint32_t size;
    const char *cluster; /* the tag's value: machines are ours by it */
    const char *head;    /* the Ray head's host:port, "" without one */
    const struct davit_kv *options; /* providers.NAME:, flattened */
    size_t n_options;
    const struct davit_node_type *const *types;
    size_t n_types;
};

/* A limit of the cloud's on machines of several offers together, such as GPUs
 * of a region (cloud.google.com/compute/resource-usage).  Offers of one provider
 * that give the same name share it.  The struct never grows. */
struct davit_quota {
    const char *name; /* "us-central1 NVIDIA_T4_GPUS", 1 to 127 bytes */
    uint32_t left;    /* in units of its own, when offers() asks, by whomever
                       * the rest is used; the daemon counts from there */
    uint32_t each;    /* what a machine of the offer takes of it, 1 or more */
};

/* Something that could be launched.  Its resources, labels and taints (each
 * none when not known) are compared with the node type, and the user sees what
 * differs.  With Kubernetes as the demand source the planner also uses taints
 * that the configuration lacks: an empty pool has no node to learn them from.
 * Amounts: kubernetes.io/docs/reference/kubernetes-api/common-definitions/
 * quantity/; taints: .../docs/concepts/scheduling-eviction/taint-and-toleration/
 */
struct davit_offer {
    uint32_t size;
    const char *name, *zone; /* name: the node type in our config */
    const struct davit_kv *resources, *labels; /* "memory" -> "16Gi" */
    size_t n_resources, n_labels;
    int64_t price_micros_hour; /* -1: unknown */
    bool spot, available;
    /* key -> "value:effect": "nvidia.com/gpu" -> "present:NoSchedule" */
    const struct davit_kv *taints;
    size_t n_taints;
    /* What goes on there, for a person: why it is not available, such as an
     * upgrade of its pool; "" or NULL. */
    const char *note;
    /* How many more of it may be launched, by the cloud's limits less what is
     * used when offers() asks; the daemon counts from there.  0: not known.
     * None at all is not `available`, with a note. */
    uint32_t most;
    /* Limits that it may share with other offers; up to 16. */
    const struct davit_quota *quotas;
    size_t n_quotas;
};

enum davit_phase {
    DAVIT_STARTING,
    DAVIT_RUNNING,
    DAVIT_STOPPING,
    DAVIT_FAILED
};

/* Something that exists and carries our tag.  Strings are "" when unknown,
 * never NULL; an id has up to 127 bytes. */
struct davit_machine {
    uint32_t size;
    const char *id, *request_id, *offer, *zone, *address;
    uint32_t phase; /* enum davit_phase */
    bool spot;
    uint32_t failure;   /* enum davit_status when phase is FAILED */
    const char *detail; /* progress or failure for a person, or NULL */
    /* The same text for machines that are ended together, such as the hosts
     * of one TPU slice (cloud.google.com/kubernetes-engine/docs/concepts/tpus);
     * "" or NULL. */
    const char *unit;
    /* Why the cloud must not be asked to end it now: an upgrade that moves it,
     * a minimum of the cloud's own.  It is kept, with this text, until a list
     * says otherwise.  "" or NULL: it may end. */
    const char *held;
    /* Why the cloud is going to end, stop or restart it: maintenance that is
     * planned, a host that fails.  It is drained, and another is bought in its
     * place at once; a list without this text takes it back.  "" or NULL: nothing
     * is known. */
    const char *leaving;
    int64_t leaves_ms; /* about then, wall: its work has until then; 0: at any
                        * moment */
    /* On its way in a queue of the cloud's, which takes as long as it takes
     * (cloud.google.com/compute/docs/instance-groups/about-resize-requests-mig):
     * no time of it is counted as late. */
    bool queued;
};

/* The same request id makes the same machines, once, also after a restart.  As
 * docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html has it; but
 * most clouds forget a token after a while, and Davit does not. */
struct davit_launch {
    uint32_t size;
    const char *offer, *zone, *request_id;
    uint32_t count;
    const struct davit_kv *tags;
    size_t n_tags;
    bool spot;
    /* For DAVIT_CAP_JOIN, else "": a secret of this launch, the same each time
     * that its request id is.  32 hexadecimal digits. */
    const char *join_token;
};

/* OFFERS: offers() is there.  SPOT: launch() knows spot; without it a node type
 * with spot: is refused when the configuration is read, with its line.
 * RAYCLUSTER: machines are pods of the RayCluster that the options kubeconfig,
 * namespace and cluster name; Kubernetes Events are written for them.  JOIN:
 * launch() gives each machine the join token at its start, and the node says what
 * follows from it (docs/provider.md, "The join token"). */
enum {
    DAVIT_CAP_OFFERS = 1u << 0,
    DAVIT_CAP_SPOT = 1u << 2,
    DAVIT_CAP_RAYCLUSTER = 1u << 3,
    DAVIT_CAP_JOIN = 1u << 4
};

/* How an operation hands one result to its sink: put() in the comments. */
typedef void davit_put_machine(struct davit_sink *,
                               const struct davit_machine *);
typedef void davit_put_offer(struct davit_sink *, const struct davit_offer *);
typedef void davit_put_done(struct davit_sink *, const char *id, int status);
typedef void davit_put_text(struct davit_sink *, const char *text, size_t n);

struct davit_provider {
    uint32_t size;
    const char *name, *version;
    uint64_t caps;
    /* Key and one-line help; {0} ends.  A key ending in '*' allows that prefix;
     * "types.KEY" is a node type's option. */
    const struct davit_kv *options;

    /* Checks the config and remembers it; no I/O (there is no call yet, so no
     * deadline): tokens are fetched by the first operation that needs one.
     * When it refuses, error.code may name the option ("zone", or "TYPE.boot"
     * for a node type's): the message then points at its line.
     * A reload opens a second handle before the first is closed. */
    int (*open)(const struct davit_host *, const struct davit_setup *,
                void **ret_self, struct davit_error *);
    void (*close)(void *self); /* no call is running */

    /* Every machine with our tag, whoever started it, also those on their way.
     * A machine not put() by a list that returned OK does not exist. */
    int (*list)(void *self, struct davit_call *, struct davit_sink *,
                davit_put_machine *, struct davit_error *);
    /* Asynchronous clouds return OK once accepted; list() shows the rest
     * (learn.microsoft.com/azure/azure-resource-manager/management/
     * async-operations).
     * Partial success: put() what exists, then return the error.  An error other
     * than RETRY, BROKEN and CANCELLED is sure: what was not put() was not made.
     * What was accepted and cannot be followed, throttled say, is RETRY. */
    int (*launch)(void *self, struct davit_call *, const struct davit_launch *,
                  struct davit_sink *, davit_put_machine *,
                  struct davit_error *);
    /* Ends exactly these machines.  done() may report some ids one by one with
     * their enum davit_status; ids not reported take the returned status. */
    int (*terminate)(void *self, struct davit_call *, const char *const *ids,
                     size_t n_ids, struct davit_sink *, davit_put_done *,
                     struct davit_error *);
    int (*offers)(void *self, struct davit_call *, struct davit_sink *,
                  davit_put_offer *, struct davit_error *);
    /* ms after which list() shows every machine whose launch has left: until
     * then its absence says nothing, and a request id is not forgotten.  NULL:
     * 30 s.  Clouds' lists lag (docs.aws.amazon.com/ec2/latest/devguide/
     * eventual-consistency.html). */
    uint32_t (*settle_ms)(void *self);
    /* Options that say where machines are (an account, a project, a cluster);
     * NULL ends.  When one of them changes, machines that are known are held
     * and told, not taken for lost.  NULL: none. */
    const char *const *places;
    /* What a machine has printed, as much as its cloud keeps, put() in order.
     * Asked before a machine that has not joined is ended: it says why, and is
     * gone with it.  Its failure has no consequence.  NULL: there is none. */
    int (*console)(void *self, struct davit_call *, const char *id,
                   struct davit_sink *, davit_put_text *, struct davit_error *);
    /* Machines that one launch() takes at most: more are several launches, each
     * with a request id of its own.  0: 1,000. */
    uint32_t launch_most;
    /* Asks the cloud for each of these by its id, and not by a list: a second
     * witness for machines that a list lacks.  done(): OK, it is there, whatever
     * its state; NOT_FOUND, the cloud says of this id that there is no such
     * machine, or that it has ended.  What is not reported is not known.  A
     * reply that speaks of something else (a project, a group, a subscription
     * that is not found) is an error.  NULL: only lists tell. */
    int (*find)(void *self, struct davit_call *, const char *const *ids,
                size_t n_ids, struct davit_sink *, davit_put_done *,
                struct davit_error *);
};

#define DAVIT_EXPORT __attribute__((visibility("default")))
DAVIT_EXPORT const struct davit_provider *davit_provider_v1(void);

#endif
