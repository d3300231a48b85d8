/*
 * inside.h - what the files of pods/ share; nobody else includes it
 * (tests and fuzzers do).
 *
 * An object becomes a small record once, when its event comes.  What many pods
 * share (needs and conditions, labels) is kept once, with a count of references.
 * The store's lock covers all of it but the parsing.
 */
#ifndef WIRE_PODS_INSIDE_H
#define WIRE_PODS_INSIDE_H

#include <jansson.h>
#include <pthread.h>

#include "../../base/buf.h"
#include "../../base/hash.h"
#include "labels/selector.h"
#include "pods.h"
#include "profiles/profiles.h"
#include "topology/rules.h"
#include "volumes/records.h"

enum {
    PODS_MAX_TEXT = 1024, /* bytes of a name, key or value */
    PODS_MAX_LIST = 512,  /* containers, terms, tolerations, labels */
    PODS_MAX_ALTS = 64,   /* nodeSelectorTerms that are looked at */
    PODS_MAX_NEEDS = 64,  /* resources of one pod or node */
    PODS_MAX_SAID = 500,  /* bytes of a scheduler's sentence */
    HIDDEN_MAX = 16,
    PODS_SELF_MAX = 1 << 20, /* bytes of a shape's key */
};

/* ---- text.c: texts and quantities */

/* The text at a path of keys below o, NULL-terminated; "" when there is none
 * or it is too long.  Borrowed. */
const char *pods_text(const json_t *o, ...) __attribute__((sentinel));
const json_t *pods_at(const json_t *o, ...) __attribute__((sentinel));
/* A copy with no control characters. */
const char *pods_clean(struct arena *a, const char *s);
/* Kubernetes' quantity ("500m", "1.5Gi", "12e3") in 1/10,000, rounded up or
 * down; false: none, negative, or beyond AMOUNT_MAX. */
bool pods_quantity(const json_t *v, bool up, int64_t *ret);

/* The value of GPU_LABEL for an extended resource: "amd.com.gpu". */
const char *pods_vendor(struct arena *a, const char *resource);

/* Needs that are added up; names are Ray's, in the arena. */
struct pods_sum {
    struct qty v[PODS_MAX_NEEDS];
    uint32_t n;
    bool full;
};
int64_t *pods_sum_of(struct pods_sum *s, struct arena *a, const char *name);
struct qtys pods_sum_qtys(struct pods_sum *s, struct arena *a); /* sorted */
int64_t pods_amount(const struct qtys *q, const char *name);    /* 0: none */
/* Of a metadata; 0: none, or no number.  Later changes have larger ones, of all
 * objects. */
uint64_t pods_version(const json_t *metadata);

/* ---- shape.c: what a pod needs */

enum affinity_kind {
    AFFINITY_ANTI,
    AFFINITY_BESIDE,
    AFFINITY_SPREAD,
    AFFINITY_PORT
};
struct affinity { /* towards other pods, per topology domain */
    enum affinity_kind kind;
    const char *key;     /* topologyKey; PORT: the host's */
    bool self;           /* PORT: it takes the port on all addresses of that
                              * name */
    struct names spaces; /* pods of these namespaces are meant */
    bool by_space;       /* and of those with such labels; neither: of its
                              * own */
    struct reqs space_reqs;
    struct reqs reqs;       /* on the other pods' labels */
    uint32_t skew, domains; /* SPREAD: maxSkew, minDomains; 0: not given */
    bool any_labels;        /* nodes of other labels are domains too */
    bool heeds_taints;      /* nodes of taints it does not tolerate are not */
    const char *name;       /* unique: a column's name */
};

struct shared {      /* first member of what is kept once and counted */
    uint64_t hash;   /* of the table */
    uint64_t digest; /* of the key: the same after a restart */
    const char *key; /* all that makes it, as text */
    uint32_t refs;
};

struct pod_shape {
    struct shared shared;
    struct arena arena;
    struct qtys needs;       /* with pods: 1 */
    struct qtys offers;      /* of a RayCluster's: as a Ray node */
    const struct reqs *alts; /* at least one; any of them will do */
    uint32_t n_alts;
    struct tolerations tolerations;
    const struct affinity *affinities;
    uint32_t n_affinities;
    /* Its scheduler's default constraints lie behind its own; whom they mean is
     * settled in each view. */
    uint32_t n_given, n_defaults;
    uint64_t resolved_for;
    const char *owner, *space; /* "ReplicaSet/space/name"; with defaults */
    struct pairs labels;
    const char *code, *text; /* why it cannot be served; NULL: it can */
    char *said;      /* by the scheduler, of the pod that came last; NULL */
    int64_t said_ms; /* mono: since when it says so, */
    uint64_t said_version; /* by this resourceVersion; 0: not known */
    uint32_t said_nodes;   /* how many nodes it knew of then; 0: not said */
    /* of the view that is being made; made[1]: of pods that wait */
    uint64_t made_for[2];
    const struct snap_alt *made[2];
};

/* What identifies a shape: everything pods_shape_read() looks at. */
char *pods_shape_key(const json_t *metadata, const json_t *spec);
/* Who it is, when that matters: joined to a key. */
void pods_shape_key_self(struct buf *b, const json_t *metadata);
/* lenient: taints named like its extended resources are tolerated, as in a
 * template that the admission plug-in ExtendedResourceToleration has not seen
 * yet; what it adds to a pod stands there. */
struct pod_shape *pods_shape_read(const json_t *metadata, const json_t *spec,
                                  bool lenient);
void pods_shape_free(struct pod_shape *s);
/* It cannot be served: the first reason counts. */
void pods_refuse(struct pod_shape *s, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* resize.c: the spec with what its containers hold beyond it; a new reference,
 * or NULL: no more than that. */
json_t *pods_resized(const json_t *spec, const json_t *status);
/* Fills s->needs; returns the vendor of its GPUs, NULL: it asks for none. */
const char *pods_needs_read(struct pod_shape *s, const json_t *spec);
bool pods_is_extended(const char *resource);
/* Its controller, "Job/space/name"; "". */
const char *pods_owner(struct arena *a, const json_t *metadata);

/* affinity_read.c */
void pods_affinities_read(const json_t *metadata, const json_t *spec,
                          struct pod_shape *s);
/* The default constraints of its scheduler's profile, behind its own. */
void pods_affinities_default(const json_t *metadata,
                             const struct profile *profile,
                             struct pod_shape *s);

/* ---- ray.c: KubeRay's pods */
/* The line that starts Ray in it; "": not given; NULL: it is no such pod. */
const char *pods_ray_command(const json_t *meta, const json_t *spec);
void pods_ray_read(const json_t *spec, const char *command,
                   struct pod_shape *s);
struct builder;
/* Sorted by cluster and name. */
const struct source_hosted *pods_rays(struct builder *m, uint32_t *ret_n);

/* ---- object.c: an object of the API to a record */

struct pod_labels { /* one block */
    struct shared shared;
    struct pairs pairs;
    /* of the view that is being made */
    uint64_t made_for, match; /* conditions that mean them, a bit each */
};

enum pod_state {
    POD_OVER,   /* succeeded, failed: holds nothing */
    POD_BOUND,  /* has a node, runs or will */
    POD_WAITS,  /* no demand: see code */
    POD_DEMAND, /* the scheduler finds no place for it */
};

struct pod {          /* one block with its strings */
    struct item item; /* id: uid */
    const char *space, *name;
    const char *node;        /* bound to, or nominated; "" */
    const char *owner;       /* "Job/space/name"; "" */
    const char *gang;        /* "space/name" of its group; "" */
    const char *queue;       /* davit.io/queue; "" */
    const char *claims;      /* names, each with a newline behind it; "" */
    const char *code, *text; /* POD_WAITS: why, if a user should know; "" */
    const char *aside;       /* POD_WAITS: WAITS_..., or its code */
    uint32_t gang_size;      /* annotated; 0: not said */
    struct pod_shape *shape;
    struct pod_labels *labels;
    enum pod_state state;
    bool daemon, fixed, ray; /* of a DaemonSet; static; of a RayCluster */
    bool new_gang;           /* of scheduling.k8s.io's own kind */
    bool ending;             /* asked to go */
    int32_t priority;
    int64_t created_ms, since_ms;
    /* of the view that is being made; NULL: it has no claims */
    const struct pod_volumes *volumes;
};

struct knode {
    struct item item; /* id: name */
    struct arena arena;
    const char *uid, *provider_id, *address, *type, *zone, *machine, *note;
    const char *mark;     /* as in struct source_node, */
    struct names aliases; /* likewise */
    uint32_t n_vouched, n_given;
    struct qtys total;    /* allocatable; Ray's names */
    struct pairs labels;  /* GPU_LABEL, ACCEL_LABEL, market added */
    struct taints taints; /* those of its start behind the others */
    uint32_t n_lasting;   /* the others */
    bool ready, unschedulable, draining;
    bool up;             /* it was Ready without taints of its start, once */
    bool cordoned;       /* unschedulable by us, for a person */
    const char *leaving; /* what says that its cloud takes it back; "" */
    int64_t leaving_ms;  /* duration: what it gives from then on */
    int64_t created_ms, changed_ms; /* changed: became ready, or ceased to be */
    uint64_t hash;                  /* of all this */
    int64_t touched_ms; /* mono: it, or what runs there, last changed; */
    int64_t came_ms;    /* it itself did, */
    uint64_t version;   /* which is of this resourceVersion; 0: not known */
    /* the views' */
    int64_t idle_since_ms; /* mono; 0: it has work */
    uint32_t ix;           /* in the view that is being made */
};

struct daemon {
    struct item item;        /* id: "space/name" */
    struct pod_shape *shape; /* its own; the strings below live in it */
    const char *space;
    struct pairs labels; /* of its pods */
};

/* ---- others */
struct space { /* a namespace */
    struct object object;
    struct pairs labels;
    const char *uid;
};
struct pod_group {
    struct object object; /* id: "space/name" */
    uint32_t min;
    const char *queue; /* Volcano's; NULL */
    const char *said;  /* by its scheduler, why its pods wait; NULL */
};
struct pod_queue { /* Volcano's */
    struct object object;
    struct qtys most, used; /* what is not in `most` is not bounded */
    bool closed;
};

struct volume *pods_volume_read(const json_t *o);
struct claim *pods_claim_read(const json_t *o);
struct storage_class *pods_class_read(const json_t *o);
struct csi_node *pods_csi_read(const json_t *o);
struct space *pods_space_read(const json_t *o);
struct pod_queue *pods_queue_read(const json_t *o); /* queues.c */
/* A record of so many bytes, its strings in its arena; NULL: no name. */
void *object_new(const json_t *o, size_t size, struct arena **ret);
void object_free(struct item *x);

struct pods_rules { /* whose pods are demand; outlives the store */
    struct names namespaces, schedulers;
    const char *label;         /* of a node: the machine's id */
    struct pairs type_startup; /* the same of node types */
    struct names startup; /* taints of its start: keys, or what they begin with
                           * and a '*' */
};

struct pods_store;
/* NULL: it is no such object, or one without a uid, name ... */
struct pod *pods_pod_read(const json_t *o, const struct pods_rules *rules,
                          struct pods_store *s);
struct knode *pods_node_read(const json_t *o, const struct pods_rules *rules);
struct daemon *pods_daemon_read(const json_t *o);
struct pod_group *pods_group_read(const json_t *o);
void pods_node_free(struct knode *n);
void pods_leaving_read(struct knode *n, const json_t *o); /* leaving.c */

/* ---- store.c */

struct records { /* of one kind */
    struct pods_store *store;
    struct hash by_id; /* struct item, on the heap */
    uint32_t mark;     /* of the latest list */
    void (*free)(struct pods_store *s, struct item *x);
};

struct pods_store {
    const struct pods_rules *rules;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t wake;
    struct records pods, nodes, daemons, groups, volcano, queues;
    struct records volumes, claims, classes, csi, spaces;
    struct records services, controllers, replicas, stateful; /* chooser */
    struct records maps;       /* the ConfigMap of the scheduler's settings */
    struct profiles *profiles; /* NULL: not known */
    const char *profiles_from; /* for a person; NULL */
    char *profiles_text;       /* the ConfigMap's data; NULL */
    char *profiles_wrong;      /* why they cannot be read; NULL */
    bool relist_pods, relist_nodes; /* what they are read by changed */
    const char *hidden[HIDDEN_MAX]; /* what we may not read */
    uint32_t n_hidden;
    bool hides_volumes; /* we may not read one of these kinds, or there is none */
    bool hides_spaces;         /* nor namespaces */
    struct hash shapes;        /* struct pod_shape, by key */
    struct hash labels;        /* struct pod_labels, by key */
    uint64_t views;            /* made so far */
    uint64_t version;          /* grows with each change that matters */
    int64_t changed_mono_ms;   /* the first change since the last view */
    bool urgent;               /* work or room came */
    uint32_t garbled;          /* objects that were none, since the start */
    int64_t bound_ms, pace_us; /* when the scheduler bound a pod last, mono; and
                                * how long one takes it while it is busy */
};

void pods_store_init(struct pods_store *s, const struct pods_rules *rules);
void pods_store_done(struct pods_store *s);
/* For kube_watch_opts; ctx is the store's records of that kind.  They lock. */
void pods_put(void *records, const json_t *o, bool gone);
void nodes_put(void *records, const json_t *o, bool gone);
void daemons_put(void *records, const json_t *o, bool gone);
void groups_put(void *records, const json_t *o, bool gone);
void volumes_put(void *records, const json_t *o, bool gone);
void claims_put(void *records, const json_t *o, bool gone);
void classes_put(void *records, const json_t *o, bool gone);
void csi_put(void *records, const json_t *o, bool gone);
void spaces_put(void *records, const json_t *o, bool gone);
void services_put(void *records, const json_t *o, bool gone);
void controllers_put(void *records, const json_t *o, bool gone);
void replicas_put(void *records, const json_t *o, bool gone);
void stateful_put(void *records, const json_t *o, bool gone);
void maps_put(void *records, const json_t *o, bool gone);
void queues_put(void *records, const json_t *o, bool gone);
void records_list_begin(void *records);
void records_list_end(void *records);
void records_changed(void *records); /* wakes who waits for a view */
/* With the lock held. */
struct item *records_find(const struct records *r, const char *id);

/* ---- shared.c; with the lock held */
void pods_pod_free(struct pods_store *s, struct pod *p); /* NULL is fine */
struct pod_shape *pods_shape_intern(struct pods_store *s, const json_t *meta,
                                    const json_t *spec);
struct pod_labels *pods_labels_intern(struct pods_store *s,
                                      const json_t *labels);

/* ---- the view, while it is being made; the store is locked */

struct probe {
    const char *name;
    struct req req;
};
/* What the pods of DaemonSets make of it on a new node. */
enum column_rule {
    COLUMN_PLAIN,
    COLUMN_SELF,       /* none left where one carries it, a little less where
                        * one is meant */
    COLUMN_NONE_MEANT, /* none where one is meant */
    COLUMN_NO_CARRIER, /* none where one carries it */
    COLUMN_BESIDE,     /* there where one is meant */
    COLUMN_SPREAD,     /* one less for each that is meant */
};
enum { DAEMON_MEANT = 1, DAEMON_CARRIES = 2 };
struct column { /* a resource that stands for a condition on other pods */
    const char *name;
    int64_t fresh; /* what a new node has of it */
    bool learned;  /* living nodes of the type show how much that is */
    enum column_rule rule;
    const uint8_t *daemons; /* bits, by DaemonSet of the view; NULL: PLAIN */
};

/* A taint of offers whose nodes have less room than others of their type. */
#define LESS_ROOM "davit.io/less-room-"

struct daemon_need {
    const struct reqs *alts;
    uint32_t n_alts;
    struct tolerations tolerations;
    struct qtys needs;
};
struct pods_refs {
    const struct pods_ref *v;
    uint32_t n;
};
struct pods_view { /* what lives on with the view */
    const struct probe *probes;
    uint32_t n_probes;
    const struct column *columns;
    uint32_t n_columns;
    const struct daemon_need *daemons;
    uint32_t n_daemons;
    bool reserve; /* types without a node: take off the system's share */
    const struct pods_refs *refs; /* by demand */
    struct topology topology;
};

struct pods_view_in {
    struct pods_store *store;
    struct names zones; /* of the configuration */
    struct qtys most;   /* what the largest node type has of each resource */
    bool reserve, works;
    bool map_missing; /* the scheduler's settings are nowhere to be read */
    int64_t now_mono_ms, now_wall_ms;
};

struct more { /* of a column */
    const char *name;
    int64_t left, total;
};
struct view_node {
    struct knode *k;
    int64_t *left; /* beside k->total.v */
    uint32_t busy, n_pods;
    bool passing, lost; /* lost: not ready for too long */
    VEC(const char *) hosted, pods;
    VEC(struct more) more;          /* columns */
    VEC(struct snap_bundle) works;  /* when asked for: what runs there */
    VEC(struct pod_shape *) shapes; /* theirs */
    struct pods_sum fixed;          /* what its static pods take */
    bool *coming; /* by DaemonSet: a pod of it will be there; NULL: none */
};

struct machine;
struct queue_use;
struct note_share {
    const char *space;
    uint32_t n; /* of the notes */
};

struct builder {
    const struct pods_view_in *in;
    struct arena *arena;
    struct view_node *nodes; /* by name */
    uint32_t n_nodes;
    struct pod **bound; /* all pods that have a node, or nearly */
    uint32_t n_bound;
    VEC(struct machine *) machines; /* view.c's */
    VEC(struct probe) probes;
    VEC(struct column) columns;
    struct affinity_count *terms; /* affinity.c's */
    uint32_t n_terms, terms_over;
    uint32_t n_tried; /* nodes that the scheduler has had time to try */
    int64_t came_ms;  /* mono: of the node that came last */
    const struct daemon **daemons; /* coming.c's: all there are */
    uint32_t n_daemons;
    VEC(struct topo_key) keys;
    VEC(const struct topo_group *const *) groups;
    VEC(struct queue_use *) queues;
    VEC(struct source_note) notes;
    VEC(struct note_share) noted; /* of each namespace */
    VEC(struct snap_demand) demands;
    VEC(struct pods_refs) refs;
    uint32_t n_elsewhere, n_garbled, n_crowded;
    uint32_t n_pending, n_counted; /* pods without a node */
    uint32_t n_waiting;            /* of these the demand */
    VEC(struct source_count) waits;
    bool any_gang;
    int64_t due_mono_ms; /* the view changes by itself then; 0 */
};

/* ---- waits.c: every pod without a node is in one count */
#define WAITS_DAEMON "DaemonSet"
#define WAITS_STATIC "StaticPod"
#define WAITS_ENDING "Ending"
#define WAITS_GATED "Gated"
#define WAITS_NOMINATED "Nominated"
#define WAITS_SCHEDULER "OtherScheduler"
#define WAITS_SPACE "OtherNamespace"
#define WAITS_UNTRIED "NotTried"
void waits_count(struct builder *m, const char *code, uint32_t n);
/* Those of them that wait: others are of a gang, or leave their node. */
uint32_t waiting_in(struct pod *const *v, uint32_t n);
/* Is it all of them? */
void waits_end(const struct builder *m);

/* The view changes by itself so long after now. */
void builder_due(struct builder *m, int64_t ms);

/* ---- word.c: the scheduler's word */
/* waiting: so many pods are demand.  Once, before the nodes are made. */
void untried_begin(struct builder *m, uint32_t waiting);
/* Before that: how many nodes there has been time for. */
void untried_count(struct builder *m, uint32_t waiting);
/* It may have room that the scheduler is about to use, or will have it. */
bool node_is_untried(struct builder *m, const struct view_node *n,
                     uint32_t waiting);
/* Is what it says of such pods older than nodes that there has been time for? */
bool said_is_old(const struct builder *m, const struct pod_shape *s);
/* Keeps what the condition says, for a person; in that version of the pod. */
void said_keep(struct pod_shape *s, const char *message, uint64_t version);
/* The scheduler has bound a pod, which it could since then. */
void scheduler_bound(struct pods_store *s, int64_t since_mono_ms,
                     int64_t now_mono_ms);

/* ---- coming.c: pods of DaemonSets on nodes that have just come */
/* After the pods that run there, before conditions on pods are counted. */
void daemons_coming(struct builder *m, uint32_t waiting);

/* ---- machine.c: what names tell; "" when they tell nothing */
const char *machine_arch(const char *machine); /* "arm64" */
const char *machine_region(struct arena *a, const char *zone);

/* ---- volumes/volumes.c */
/* Of these pods, and columns for what nodes can attach. */
void volumes_begin(struct builder *m, struct pod **open, uint32_t n);

/* ---- view_nodes.c */
/* Its labels or its peers say that it will have a device, and it has none. */
bool view_node_settles(struct builder *m, const struct knode *k);
void view_nodes_begin(struct builder *m);
void view_pods_place(struct builder *m); /* those in m->bound */
/* What runs on them as demand, when asked for; after the demand that waits. */
void view_works_make(struct builder *m);
void view_machines_begin(struct builder *m);
/* Takes so much of its room. */
void view_node_use(struct view_node *n, const struct qtys *needs);
/* By its labels; by its taints, those of its start aside while it comes up. */
bool shape_may_lie(const struct pod_shape *s, const struct knode *k);
bool shape_tolerates(const struct pod_shape *s, const struct view_node *n);
/* So many more of the shape it can take by its resources. */
int64_t node_room_for(const struct view_node *n, const struct pod_shape *s);
void view_node_make(struct builder *m, const struct view_node *n,
                    struct source_node *h);

/* ---- view.c */
enum { PODS_MAX_PROBES = 256, PODS_MAX_COLUMNS = 64, PODS_MAX_NOTES = 1000 };
/* A new view.  ret_due: see due_mono_ms above */
struct source_view *pods_view_make(const struct pods_view_in *in,
                                   int64_t *ret_due);
struct qtys pods_qtys_copy(struct arena *a, struct qtys q);
/* x, then y; names are not copied. */
struct qtys pods_qtys_join(struct arena *a, struct qtys x, struct qtys y);
struct names pods_names_copy(struct arena *a, struct names n);
struct req pods_req_copy(struct arena *a, const struct req *r);
struct tolerations pods_tolerations_copy(struct arena *a, struct tolerations t);
struct pairs pods_pairs_copy(struct arena *a, const json_t *labels);

/* ---- profiles/words.c: what differs from what is planned with */
const struct source_word *pods_words(const struct builder *m, uint32_t *ret_n);

/* ---- terms.c: a shape's conditions as the model has them */
/* waits: for nodes that the scheduler may not have tried (word.c). */
const struct snap_alt *pods_alts(struct builder *m, struct pod_shape *s,
                                 bool waits);

/* Each of these alternatives with each of the volumes'; NULL: too many. */
const struct snap_alt *pods_alts_with(struct builder *m,
                                      const struct snap_alt *alts, uint32_t n,
                                      const struct pod_volumes *volumes,
                                      uint32_t *ret_n);

/* ---- share.c: puts them in a fair order, and leaves out what is too much; how many
 * are left.  Before the two below. */
uint32_t pods_share(struct builder *m, struct pod **v, uint32_t n);

/* ---- queues.c */
/* How many of these n pods of a group its queue has room for, from the first on;
 * whole: all or none.  They take it. */
uint32_t queue_room(struct builder *m, const struct pod_group *g,
                    struct pod *const *v, uint32_t n, bool whole);

/* ---- demand.c: pending pods to demands */
/* v: pods in POD_DEMAND and what else is of a gang, in any order */
void pods_demands(struct builder *m, struct pod **v, uint32_t n);
/* There is room for PODS_MAX_NOTES; the namespace that has most gives way. */
void pods_note(struct builder *m, const struct pod *p, const char *code,
               const char *text);

/* ---- affinity.c: conditions of pods on other pods */
/* What a group of equal pods asks of its nodes because of other pods. */
struct affinity_asked {
    struct qtys needs;             /* columns */
    const struct topo_group *topo; /* NULL: it has no such rules */
    const char *code, *text;       /* nobody can be placed, and why; NULL */
};
/* n equal pods of this one's namespace, labels and shape. */
struct affinity_asked pods_affinity_asked(struct builder *m,
                                          const struct pod *p, uint32_t n);
/* For topology.c. */
struct topology pods_topology(struct builder *m);
/* Once, before the demands: columns and what is left of them. */
void pods_affinity_begin(struct builder *m, struct pod **pending, uint32_t n);

#endif
