/*
 * source.h - where demand comes from and nodes join: a Ray head, a Kubernetes
 * API server.  Each fills the same view, offers the same operations and states
 * its capabilities; control has an array of them and needs no other difference.
 *
 * One handle serves one thread at a time, so control makes several of each: one
 * is read, the others are written to.  All calls may block: workers make them.
 */
#ifndef WIRE_SOURCE_H
#define WIRE_SOURCE_H

#include <stdatomic.h>

#include "../base/arena.h"
#include "../model/snapshot.h"

/* The first five are Ray's numbers. */
enum source_status {
    SOURCE_UNSPECIFIED,
    SOURCE_RUNNING,
    SOURCE_DEAD,
    SOURCE_IDLE,
    SOURCE_DRAINING, /* it is being drained, by us or somebody */
    SOURCE_UNREADY,  /* it has not joined: known, takes no work */
};

struct source_node {
    const char *node_id;     /* the source's: Ray's hex, the name of a
                                 * Kubernetes node */
    const char *uid;         /* Kubernetes: metadata.uid, which no other node
                              * of this name has, here or in another cluster;
                              * "" or NULL */
    const char *instance_id; /* RAY_CLOUD_INSTANCE_ID; the last element of
                                 * a Kubernetes node's spec.providerID; "" */
    struct names aliases;    /* what else a machine of ours may call it:
                                 * host name, label, addresses */
    uint32_t n_vouched;      /* of the aliases, the first: the API server or
                                 * the cloud stands for them, and for
                                 * instance_id; 0: all are the node's own words */
    uint32_t n_given;        /* the next: a label, as Davit or who starts
                                 * the machine gave it */
    const char *mark; /* its label SOURCE_JOIN_LABEL, which is none of labels:
                       * as its start script made it of its join token; "" or
                       * NULL */
    const char *type, *machine; /* our node type, the cloud's name; "" */
    const char *zone;           /* "" */
    const char *address;
    const char *activity; /* what runs there, for a person */
    const char *note;     /* what it lacks yet, for a person; "" */
    const char *leaving;  /* what says that its cloud takes it back soon, for
                           * a person; "" or NULL: nothing does */
    int64_t leaving_ms;   /* duration: what it has from that word on */
    bool head;            /* has the resource node:__internal_head__ */
    bool unschedulable;   /* cordoned */
    bool cordoned_by_us;  /* ... for a person, and the source was told */
    bool settling;        /* joined, but a resource of its type is not
                           * there yet (a GPU without its device
                           * plug-in): total has what it will offer */
    enum source_status status;
    int64_t idle_ms; /* when IDLE, or UNREADY with no work; else -1 */
    struct qtys total, available; /* of Ray: without node:*;
                                   * accelerator_type:X became ACCEL_LABEL */
    struct pairs labels;
    struct taints taints;
    struct names hosted;             /* its pods: a Ray node of such a name lies
                          * on it */
    const struct snap_bundle *works; /* Kubernetes, when asked for: its pods,
                                      * as if they waited, those of DaemonSets
                                      * left out; else NULL */
    uint32_t n_works;
    struct qtys fixed; /* Kubernetes: what its static pods take; its like will
                        * have them too */
};

/* Of a view that a shadow has changed (control/shadow/): what is true. */
struct source_present {
    const struct source_node *nodes; /* of the other autoscaler; type: ours */
    uint32_t n_nodes;
    uint32_t unmatched; /* nodes that match no node type: left as they are */
    uint32_t waiting;   /* bundles that wait */
};

/* A pod of a RayCluster, which is or will be a Ray node. */
struct source_hosted {
    const char *name;    /* the Ray node's instance id */
    const char *cluster; /* "namespace/name" */
    bool worker;         /* false: its head */
    const char *zone;    /* of the node it is on; "" */
    struct qtys offers;  /* as a Ray node */
    struct pairs labels;
};

/* The session of an API server that does not show which cluster it is of. */
#define SOURCE_NAMELESS "kubernetes"

/* Of a node that a start script of Davit's began (kit/join.c has it too). */
#define SOURCE_JOIN_LABEL "davit.io/join"
/* Of a Kubernetes node that Davit drains (kit/kube_pod.h has it too). */
#define SOURCE_DRAIN_TAINT "davit.io/draining"
/* Annotation of one that is cordoned for a person (kit/kube_drain.h). */
#define SOURCE_CORDON_NOTE "davit.io/cordoned-by-user"

struct pods_view;

/* A part of the demand that is not planned for, and why. */
struct source_note {
    const char *kind, *space, *name, *uid; /* "Pod", namespace ... */
    const char *code, *text;               /* "GpuLimit", a sentence */
};

/* So many pods wait for this reason. */
struct source_count {
    const char *code, *text; /* "Gated"; a sentence */
    uint32_t n;
};

/* What is not as the plan takes it to be, for /readyz: see stops. */
struct source_word {
    const char *kind, *subject, *text;
};

/* The state of a source at one moment.  It and all it points to live until the
 * last reference is given back, on any thread.  Its maker may change it as long
 * as nobody else has a reference. */
struct source_view {
    struct arena arena; /* owns all below */
    atomic_uint refs;
    int64_t version;     /* Ray: cluster_resource_state_version, which rises
                          * with each answer; 0: it has none */
    const char *session; /* another one: the source began anew, or is another.
                          * Kubernetes: its cluster, by the uid of the namespace
                          * kube-system; SOURCE_NAMELESS where that is hidden */
    bool v2;             /* false: a Ray head started without
                          * RAY_enable_autoscaler_v2=1: it keeps no
                          * request_resources for us, and `ray status`
                          * shows nothing */
    int64_t read_mono_ms, took_us;
    const struct source_node *nodes; /* DEAD ones included */
    uint32_t n_nodes;
    /* Ray: pending tasks and actors (one demand, source TASK), placement groups
     * (GANG, id = hex of the group), request_resources (REQUEST, owner "ray");
     * Kubernetes: POD */
    const struct snap_demand *demands;
    uint32_t n_demands;
    uint32_t n_elsewhere;  /* shapes left out because a new machine is no
                           * help: they name a node, or lie inside a
                           * placement group that has its place */
    uint32_t n_garbled;    /* left out: they make no sense */
    uint32_t n_crowded;    /* bundles left out: there are too many, or of too
                           * many names */
    uint32_t n_names_left; /* names of resources left out, likewise */
    const struct source_note *notes;
    uint32_t n_notes;
    const struct source_word *words;
    uint32_t n_words;
    const struct source_count *counts; /* Kubernetes: each pod that has no node
                                        * is in one */
    uint32_t n_counts;
    const struct source_hosted *rays; /* Kubernetes: all that live, by cluster */
    uint32_t n_rays;
    bool spreads; /* who places work prefers the emptiest node with room */
    const struct pods_view *pods; /* Kubernetes: for pods.h; else NULL */
    const struct source_present *present; /* NULL: this is the truth */
    struct source_view *base; /* what it points into beside its arena, with a
                               * reference; NULL */
};

/* What the source shows its own users about us (`ray status`). */
struct source_report {
    int64_t seen_version; /* of the view it is based on */
    int64_t version;      /* ours: unix ms, grows */
    struct source_pending {
        const char *type, *machine, *id, *address, *detail;
    } const *pending; /* machines on their way */
    uint32_t n_pending;
    struct source_failed {
        const char *type, *machine, *reason;
        int64_t start_s, failed_s;
        uint32_t count;
    } const *failed;
    uint32_t n_failed;
    const struct snap_demand *infeasible; /* TASK, GANG, REQUEST */
    const char *const *why; /* one per infeasible demand, or NULL */
    uint32_t n_infeasible;
};

enum source_drained {
    SOURCE_DRAIN_REFUSED,  /* see why; the node is as it was before */
    SOURCE_DRAIN_WAITS,    /* under way: ask again; see why */
    SOURCE_DRAIN_ACCEPTED, /* the source ends the node itself: wait until
                            * it is DEAD */
    SOURCE_DRAIN_ABSENT,   /* who answered has no such node, and may be another
                            * source than the view is of */
    SOURCE_DRAIN_DONE,     /* no work is left: the machine may go */
};

struct source_drain {
    const char *node_id;
    const char *uid; /* of struct source_node; "" */
    bool preempt;    /* false: only when nothing is against it now;
                   * true: wait for what is, until deadline */
    bool idle;       /* only when nothing runs there: what came since stays, and
                   * is a refusal */
    const char *message;
    int64_t deadline_wall_ms;   /* Ray: its work has until then */
    int64_t limit_ms;           /* duration. Kubernetes: what is not gone so
                                 * long after its beginning is a refusal */
    int64_t most_grace_ms;      /* longer grace periods are cut; 0: none is */
    bool move_local, move_bare; /* pods with data on the node, without a
                                 * controller: move them too */
    /* what came of it */
    enum source_drained got;
    bool moved; /* work has been sent away: no way back */
    char why[256];
};

enum { SOURCE_WRITERS = 10 };

struct source_ops {
    const char *kind;     /* "ray", "kubernetes" */
    bool waits;           /* read() returns when something changed, or
                           * at its deadline: it follows upon itself */
    bool by_address;      /* its nodes are found by address as well */
    bool two_looks;       /* one view may count work both as running and
                           * as pending: it takes two to be sure, and some
                           * time where room went (control/sources/lately.h) */
    bool numbered;        /* each answer has a version of its own: one that
                           * comes again is an old answer, repeated */
    bool drains_in_steps; /* a node is asked to drain until no work is
                           * left on it, and is given back by undrain();
                           * else it ends itself once it accepted */
    bool late_devices;    /* a node joins before its devices do */
    uint32_t writers;     /* so many calls but read() may be under way
                           * at once, each with a handle; at most
                           * SOURCE_WRITERS */
    /* *ret: a new view, the reference is the caller's; NULL with ST_OK: as it
     * was the last time.  NULL after a failure. */
    enum status (*read)(void *handle, int64_t deadline_mono_ms,
                        struct source_view **ret, struct err *err);
    /* One step of a drain; asked again as long as it WAITS. */
    enum status (*drain)(void *handle, struct source_drain *d,
                         int64_t deadline_mono_ms, struct err *err);
    /* Takes a drain back, as far as it has come; a node that is not drained is
     * left alone.  NULL: cannot be. */
    enum status (*undrain)(void *handle, const char *node_id,
                           int64_t deadline_mono_ms, struct err *err);
    /* Nothing new is to run there, for a person; or again, where it was us who
     * said so.  NULL: the source has no such thing. */
    enum status (*cordon)(void *handle, const char *node_id, bool on,
                          int64_t deadline_mono_ms, struct err *err);
    /* The machine has gone for good: what the source still has of it may go.
     * NULL: it sees to that itself. */
    enum status (*forget)(void *handle, const char *node_id,
                          const char *instance_id, int64_t deadline_mono_ms,
                          struct err *err);
    /* NULL: shows nothing. */
    enum status (*report)(void *handle, const struct source_report *r,
                          int64_t deadline_mono_ms, struct err *err);
    /* New machines may be in these zones; startup: node type -> a taint of its
     * nodes' start; no_reserve: the system's share is not taken off them.  Any
     * thread.  NULL: it is of no use to it. */
    void (*configure)(void *handle, struct names zones, struct qtys most,
                      struct pairs startup, bool no_reserve);
    void (*stop)(void *handle); /* any thread: a waiting read() returns soon;
                                 * NULL: none waits */
    void (*free)(void *handle); /* NULL is fine as a handle */
};

/* Is it another session, for sure? */
bool source_session_is_other(const char *was, const char *now);

/* Empty, with one reference. */
struct source_view *source_view_new(void);
struct source_view *source_view_ref(struct source_view *v); /* returns v */
void source_view_unref(struct source_view *v);              /* NULL is fine */

/* Are they equal, apart from how long nodes have been idle?  For views of a Ray
 * head: one with data that only Kubernetes has counts as different. */
bool source_view_same(const struct source_view *a, const struct source_view *b);

#endif
