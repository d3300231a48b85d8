/*
 * snapshot.h - what is known, as text: names, quantities, labels.
 *
 * Observers fill it (configuration, ledger, Ray head, requests), the codec
 * reads and writes it as snapshot.json, problem_make() turns it into arrays.
 * Everything it points to lives in one arena, usually the tick's.  Times are
 * wall-clock milliseconds; a duration ends in _ms and says so.
 */
#ifndef MODEL_SNAPSHOT_H
#define MODEL_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "../base/err.h"
#include "reason.h"
#include "state.h"

#define UNLIMITED UINT32_MAX

struct qty {
    const char *name;
    int64_t amount;
}; /* 1/10,000 */
struct qtys {
    const struct qty *v;
    uint32_t n;
};
struct pair {
    const char *key, *value;
};
struct pairs {
    const struct pair *v;
    uint32_t n;
};
struct names {
    const char *const *v;
    uint32_t n;
};

/* Ray's operators: in ("a" or "in(a,b)"), not in ("!a", "!in(a,b)"). */
enum term_op { TERM_IN, TERM_NOT_IN };
struct term {
    const char *key;
    enum term_op op;
    struct names values;
};
struct terms {
    const struct term *v;
    uint32_t n;
}; /* all must hold */

/* Kubernetes' taints and tolerations.  A node with a NoSchedule or NoExecute
 * taint takes only who tolerates it; PreferNoSchedule refuses nobody. */
enum taint_effect {
    EFFECT_ANY,
    EFFECT_NO_SCHEDULE,
    EFFECT_PREFER_NO_SCHEDULE,
    EFFECT_NO_EXECUTE
}; /* ANY: of a toleration only */
struct taint {
    const char *key, *value;
    enum taint_effect effect;
};
struct taints {
    const struct taint *v;
    uint32_t n;
};
enum toleration_op { TOLERATE_EQUAL, TOLERATE_EXISTS };
struct toleration {
    const char *key; /* "" : any, with EXISTS only */
    enum toleration_op op;
    const char *value; /* EXISTS: "" */
    enum taint_effect effect;
};
struct tolerations {
    const struct toleration *v;
    uint32_t n;
};

/* One way to satisfy a bundle.  accelerator_type is a term on ACCEL_LABEL. */
struct snap_alt {
    struct qtys resources;
    struct terms selector;
    struct tolerations tolerations;
    int64_t after_ms; /* duration: tried when the one before it was not
                       * had for so long (any_of); 0: at once */
};

struct snap_bundle {
    const struct snap_alt *alts; /* in order of preference, at least one */
    uint32_t n_alts;
    uint32_t count;   /* identical ones, at least 1 */
    bool unconfirmed; /* seen by one view only (confirm.h), or
                       * perhaps placed a moment ago: it
                       * may lie on nodes that are there, nothing
                       * is bought for it.  Of a request it means
                       * nothing. */
};

enum demand_source {
    SOURCE_TASK,
    SOURCE_GANG,
    SOURCE_REQUEST,
    SOURCE_POD,
    SOURCE_SPARE
};
/* What the last plan put on one node, by name: `count` of the bundles of that
 * demand which have this shape (problem_digest()), by that alternative.  The
 * next plan starts from it, so that what was bought for something stays for
 * it. */
struct snap_placement {
    enum demand_source source;
    const char *owner, *id;
    uint64_t shape;
    uint32_t alt, count;
};
struct snap_placements {
    const struct snap_placement *v;
    uint32_t n;
};

enum strategy {
    STRATEGY_NONE,
    STRATEGY_PACK,
    STRATEGY_SPREAD,
    STRATEGY_STRICT_PACK,
    STRATEGY_STRICT_SPREAD
};

/* Bundles that were asked for together.  TASK: each on its own, on what is
 * free.  GANG: whole or not at all, on what is free.  REQUEST: a total that
 * running work counts towards, so it is packed on what nodes have in all; with
 * a strategy it is whole or not at all too. */
struct snap_demand {
    enum demand_source source;
    const char *owner; /* request owner; "ray" for the head's; never NULL */
    const char *id;    /* placement group id and the like, or "" */
    enum strategy strategy;
    int64_t since_ms;  /* first seen, 0 unknown */
    int32_t priority;  /* higher first; 0 by default */
    const char *queue; /* of snapshot.queues; "" or NULL: none.  One that is
                        * not there, or not for the owner, denies it */
    const struct snap_bundle *bundles;
    uint32_t n_bundles;
    const char *said; /* what its own scheduler says of it, for a person; NULL:
                       * nothing */
    /* Of a request: who asked, in whose share it counts, such as "token/ci"; NULL: of
     * a demand source, or not known. */
    const char *asked_by;
};

/* What the cloud lets one have of several offers together.  Those that give the
 * same name share it; where they say different things the least counts. */
struct snap_quota {
    const char *name;
    uint32_t left; /* in units of its own */
    uint32_t each; /* what a machine takes of it, > 0 */
};
struct snap_quotas {
    const struct snap_quota *v;
    uint32_t n;
};

/* A launchable choice: node type x zone x market. */
struct snap_offer {
    const char *zone; /* "" when the provider chooses */
    bool spot;
    int64_t price_micros_hour; /* -1: unknown, will be estimated */
    int64_t backoff_until_ms;  /* 0: not */
    enum status backoff_for;   /* the class of the failure */
    int64_t failed_ms;         /* wall, the last failure if nothing has come
                                * of it since; 0: none */
    uint32_t room;             /* how many more may be launched now (quota),
                                * UNLIMITED when not known */
    int64_t idle_timeout_ms;   /* duration, of its nodes; 0: the type's */
    struct taints taints;      /* of its nodes, beside the type's */
    struct qtys less;          /* of its nodes, beside the type's: DaemonSets of
                                * their zone take it.  Not stored: it has made
                                * taints */
    uint32_t interruptions;    /* its machines that were taken back lately: see
                                * pb_offer */
    bool closed;               /* the provider says it is not to be had; room
                                * is 0 then */
    const char *note;          /* what goes on there, for a person; "" */
    struct snap_quotas quotas; /* room is within them already */
    int64_t mean_micros_hour;  /* its price in the mean, */
    int64_t mean_ms;           /* duration: over so long; 0: it has always been
                                * what it is */
};

struct snap_type {
    const char *name, *provider, *machine, *pool;
    const char *arch; /* of its machine, by the catalogue; "" or NULL: it does
                       * not say */
    struct qtys resources;
    struct pairs labels;
    struct taints taints;            /* of every node of it */
    uint32_t min, max;               /* max UNLIMITED when not given */
    int64_t idle_timeout_ms;         /* duration; -1: limits.idle_timeout */
    int64_t boot_ms;                 /* expected time to join; -1 unknown */
    int32_t priority;                /* higher first (policy priority) */
    uint32_t hosts;                  /* machines in one unit, bought and ended
                                      * together; 1 */
    enum reason unavailable;         /* NONE, PROVIDER_DOWN, TYPE_DISABLED,
                                      * OFFERS_AWAITED */
    const struct snap_offer *offers; /* at least one */
    uint32_t n_offers;
    struct pairs origins; /* shown: "label KEY" or the resource's name -> where
                           * that is from */
};

struct snap_node {
    const char *id;   /* the ledger's, or the head's for a foreign one */
    const char *type; /* "" or a name no longer configured */
    const char *zone;
    bool spot, head;   /* head: the Ray head, never touched */
    bool unmanaged;    /* not in our ledger: never ended */
    bool outdated;     /* launched from another configuration */
    bool cordoned;     /* nothing new is placed on it: of its room there is what
                      * is in use */
    bool asked_to_end; /* it is drained and ended, whatever runs on it */
    bool moves;        /* it drains since its running work fits cheaper
                        * elsewhere, and that place is kept until it is gone */
    enum machine_state state;
    bool end_void; /* its end was asked for, and nothing has come of that: it
                    * can be taken back, as a drain can */
    struct qtys total, available; /* n == 0 before it joined: the type's */
    struct pairs labels;
    struct taints taints;   /* beside its type's */
    const char *host_group; /* shared by the machines of one unit; ""
                             * or NULL: a unit of its own */
    int64_t progress_ms;    /* wall, last visible progress on its way; 0:
                             * none since since_ms */
    int64_t idle_ms;  /* duration; -1: has work, or not known.  On its way:
                             * nothing needs it for so long, and its cloud has it in
                             * a queue, which may take days */
    int64_t since_ms; /* in this state since */
    int64_t created_ms;
    int64_t price_micros_hour; /* -1: the offer's */
    int64_t agreed_micros_hour; /* what of that a person has agreed to; -1: all */
    bool counted_on;  /* by a request or a min, in the last plan; said where
                      * nothing tells of work (work_unknown) */
    enum reason hold; /* KEEP_STALE, KEEP_REFUSED, KEEP_PROTECTED ...:
                                * must not be ended now; NONE */
    int64_t hold_until_ms;           /* 0: until the observer changes it */
    struct snap_placements previous; /* of the last plan */
    const char *activity;            /* what it is doing, for a person; "" */
    /* shown, never decided on: */
    const char *cloud_id, *address, *ray_id, *provider, *request_id, *note;
    /* Who asked for cordon or end, and whose request made it necessary; NULL or
     * "": nobody. */
    const char *asked_by, *because;
};

/* `count` nodes of this offer that a longer look at an earlier snapshot would
 * buy, and what each would hold.  A plan may buy them as far as that is still
 * of use. */
struct snap_proposal {
    const char *type, *zone;
    bool spot;
    uint32_t count;
    struct snap_placements previous;
};

enum policy {
    POLICY_CHEAPEST,
    POLICY_PRIORITY,
    POLICY_LEAST_WASTE,
    POLICY_RAY
};

/* The order in which nodes that may go are ended: the first key that tells
 * two apart decides. */
enum end_key {
    END_KEY_SPOT,
    END_KEY_ON_DEMAND,
    END_KEY_LEAST_USED,
    END_KEY_MOST_EXPENSIVE,
    END_KEY_LONGEST_IDLE,
    END_KEY_OLDEST,
    END_KEY_NEWEST
};
enum { END_KEYS = 7 };

/* Ending nodes whose work fits cheaper elsewhere: never, only those on which
 * nothing runs, or also those with running work. */
enum consolidate { CONSOLIDATE_OFF, CONSOLIDATE_EMPTY, CONSOLIDATE_ON };

struct snap_limits {
    uint32_t max_nodes;           /* without the head; UNLIMITED */
    int64_t idle_timeout_ms;      /* -1: nodes are never idle-ended */
    int64_t max_cost_micros_hour; /* -1: none */
    uint32_t max_launching;       /* machines on their way at once; UNLIMITED */
    int64_t upscaling_speed;      /* 1/10,000; 0: no limit */
    bool end_outdated;            /* end nodes of a changed type */
    bool conserve;                /* accelerators not for work without one */
    enum policy policy;
    enum end_key end_order[END_KEYS]; /* the first n_end_order of them */
    uint32_t n_end_order;             /* 0: as the planner likes */
    enum consolidate consolidate;
    int64_t consolidate_saving; /* 1/10,000 of a node's price that must be
                                 * saved, beside what replaces it */
    int64_t consolidate_age_ms; /* duration: nodes that exist for less are
                                 * left alone */
};

/* A machine of this type was bought for bundles of this shape (of one
 * alternative: pb_shape.plain), joined, and did not help.  None is
 * bought for it again before that time. */
struct snap_unhelped {
    const char *type;
    uint64_t shape;
    int64_t until_ms; /* wall */
};

/* A named set of node types for some of the demand.  A demand that names it
 * lies only on nodes of these types, and of all queues' quotas within its. */
struct snap_queue {
    const char *name;
    struct names types;  /* beside these: what has the label
                          * QUEUE_LABEL with its name */
    int64_t gpus, cpus;  /* quota in 1/10,000; -1: none */
    uint32_t nodes;      /* quota; UNLIMITED */
    int32_t priority;    /* added to its demands' */
    struct names owners; /* "train-*"; n == 0: everybody */
};

/* A pending pod needs a little of it, and a Kubernetes node has it only as long
 * as its scheduler may not have looked at it since it last changed: it has said
 * no to all others (wire/pods/word.c). */
#define UNTRIED_RESOURCE "davit.io/untried"

/* A bundle of a Ray task or gang names its queue by a term on this label, and
 * a node type or an unmanaged node may join a queue by it. */
#define QUEUE_LABEL "davit.io/queue"

struct snapshot {
    const char *cluster;
    int64_t now_ms;     /* the only clock the planner has */
    bool sources_fresh; /* the head's part is of a good read */
    bool work_unknown;  /* there is no demand source: nothing tells which nodes
                         * have work */
    bool work_spreads;  /* work that has to move goes to the emptiest node that
                         * takes it, not to the fullest */
    struct snap_limits limits;
    const struct snap_type *types;
    uint32_t n_types;
    const struct snap_node *nodes;
    uint32_t n_nodes;
    const struct snap_demand *demands;
    uint32_t n_demands;
    const struct snap_queue *queues;
    uint32_t n_queues;
    const struct snap_proposal *proposed;
    uint32_t n_proposed;
    const struct snap_unhelped *unhelped;
    uint32_t n_unhelped;
};

extern const struct snap_limits snap_limits_default; /* 60 s idle, conserve */

/* 0 when there is none of it. */
int64_t qtys_amount(const struct qtys *q, const char *name);
/* NULL: there is no such key. */
const char *pairs_value(const struct pairs *p, const char *key);
/* CPU and memory: systems keep some for themselves, so a node has a little less
 * than its type says, and has them from its first moment. */
bool resource_is_rounded(const char *name);

const char *source_name(enum demand_source s);    /* "task" */
const char *strategy_name(enum strategy s);       /* "STRICT_PACK", "" */
const char *policy_name(enum policy p);           /* "cheapest" */
const char *effect_name(enum taint_effect e);     /* "NoSchedule", "" */
const char *end_key_name(enum end_key k);         /* "most_expensive" */
const char *consolidate_name(enum consolidate c); /* "empty" */
/* False when there is no such name. */
bool strategy_from_name(const char *name, enum strategy *ret);
bool policy_from_name(const char *name, enum policy *ret);
bool effect_from_name(const char *name, enum taint_effect *ret);
bool end_key_from_name(const char *name, enum end_key *ret);
bool consolidate_from_name(const char *name, enum consolidate *ret);
/* Does a node carry it only until all of it is up?  By the documents of who
 * puts it there. */
bool taint_of_start(const char *key);
/* Kubernetes' rule for one taint and one toleration. */
bool toleration_covers(const struct toleration *t, const struct taint *x);
/* NULL when there is none. */
const struct snap_queue *queue_find(const struct snap_queue *v, uint32_t n,
                                    const char *name);
/* May this owner use it?  '*' in an entry of owners matches any text. */
bool queue_allows(const struct snap_queue *q, const char *owner);

#endif
