/*
 * facts.h - what is known, in words: names, quantities, labels.
 *
 * Observers fill it (configuration, ledger, Ray head, requests), the codec
 * reads and writes it as snapshot.json, snapshot_make() turns it into arrays.
 * Everything it points to lives in one arena, usually the tick's.  Times are
 * wall-clock milliseconds; a duration ends in _ms and says so.
 */
#ifndef MODEL_FACTS_H
#define MODEL_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "../base/err.h"
#include "reason.h"
#include "state.h"

#define UNLIMITED UINT32_MAX

struct qty { const char *name; int64_t amount; };   /* 1/10,000 */
struct qtys { const struct qty *v; uint32_t n; };
struct pair { const char *key, *value; };
struct pairs { const struct pair *v; uint32_t n; };
struct names { const char *const *v; uint32_t n; };

/* Ray's operators: in ("a" or "in(a,b)"), not in ("!a", "!in(a,b)"). */
enum term_op { TERM_IN, TERM_NOT_IN };
struct term { const char *key; enum term_op op; struct names values; };
struct terms { const struct term *v; uint32_t n; };  /* all must hold */

/* One way to satisfy a bundle.  accelerator_type is a term on ACCEL_LABEL. */
struct fact_alt {
    struct qtys resources;
    struct terms selector;
    int64_t after_ms;        /* duration: tried when the one before it was not
                              * had for so long (any_of); 0: at once */
};

struct fact_bundle {
    const struct fact_alt *alts;  /* in order of preference, at least one */
    uint32_t n_alts;
    uint32_t count;               /* identical ones, at least 1 */
};

enum demand_source { SOURCE_TASK, SOURCE_GANG, SOURCE_REQUEST, SOURCE_POD,
                     SOURCE_SPARE };
enum strategy { STRATEGY_NONE, STRATEGY_PACK, STRATEGY_SPREAD,
                STRATEGY_STRICT_PACK, STRATEGY_STRICT_SPREAD };

/* Bundles that were asked for together.  TASK: each on its own, on what is
 * free.  GANG: whole or not at all, on what is free.  REQUEST: a total that
 * running work counts towards, so it is packed on what nodes have in all; with
 * a strategy it is whole or not at all too. */
struct fact_demand {
    enum demand_source source;
    const char *owner;       /* request owner; "ray" for the head's; never NULL */
    const char *id;          /* placement group id and the like, or "" */
    enum strategy strategy;
    int64_t since_ms;        /* first seen, 0 unknown */
    int32_t priority;        /* higher first; 0 by default */
    const struct fact_bundle *bundles;
    uint32_t n_bundles;
};

/* A launchable choice: node type x zone x market. */
struct fact_offer {
    const char *zone;            /* "" when the provider chooses */
    bool spot;
    int64_t price_micros_hour;   /* -1: unknown, will be estimated */
    int64_t set_aside_until_ms;  /* 0: not */
    enum status set_aside_for;   /* the class of the failure */
    uint32_t room;               /* how many more may be launched now (quota),
                                  * UNLIMITED when not known */
};

struct fact_type {
    const char *name, *provider, *machine, *pool;
    struct qtys resources;
    struct pairs labels;
    uint32_t min, max;           /* max UNLIMITED when not given */
    int64_t idle_timeout_ms;     /* duration; -1: limits.idle_timeout */
    int64_t boot_ms;             /* expected time to join; -1 unknown */
    int32_t priority;            /* higher first (policy priority) */
    uint32_t hosts;              /* machines in one unit, 1 */
    enum reason unavailable;     /* NONE, PROVIDER_DOWN, TYPE_DISABLED */
    const struct fact_offer *offers;  /* at least one */
    uint32_t n_offers;
};

struct fact_node {
    const char *id;              /* the ledger's, or the head's for a foreign one */
    const char *type;            /* "" or a name no longer configured */
    const char *zone;
    bool spot, head;             /* head: the Ray head, never touched */
    bool foreign;                /* not in our ledger: never ended */
    bool outdated;               /* launched from another configuration */
    enum machine_state state;
    struct qtys total, available;  /* n == 0 before it joined: the type's */
    struct pairs labels;
    int64_t idle_ms;             /* duration; -1: has work, or not known */
    int64_t since_ms;            /* in this state since */
    int64_t created_ms;
    int64_t price_micros_hour;   /* -1: the offer's */
    enum reason hold;            /* KEEP_STALE, KEEP_REFUSED, KEEP_PROTECTED ...:
                                  * must not be ended now; NONE */
    int64_t hold_until_ms;       /* 0: until the observer says otherwise */
    const char *activity;        /* what it is doing, for a person; "" */
    /* shown, never decided on: */
    const char *cloud_id, *address, *ray_id, *provider, *request_id, *note;
};

enum policy { POLICY_CHEAPEST, POLICY_PRIORITY, POLICY_LEAST_WASTE, POLICY_RAY };

struct fact_limits {
    uint32_t max_nodes;              /* without the head; UNLIMITED */
    int64_t idle_timeout_ms;         /* -1: nodes are never idle-ended */
    int64_t max_cost_micros_hour;    /* -1: none */
    uint32_t max_launching;          /* machines on their way at once; UNLIMITED */
    int64_t upscaling_speed;         /* 1/10,000; 0: no limit */
    bool end_outdated;               /* end nodes of a changed type */
    bool conserve;                   /* accelerators not for work without one */
    enum policy policy;
};

struct facts {
    const char *cluster;
    int64_t now_ms;                  /* the only clock the planner has */
    bool head_fresh;                 /* the head's part is of a good read */
    struct fact_limits limits;
    const struct fact_type *types;
    uint32_t n_types;
    const struct fact_node *nodes;
    uint32_t n_nodes;
    const struct fact_demand *demands;
    uint32_t n_demands;
};

extern const struct fact_limits fact_limits_default;  /* 60 s idle, conserve */

const char *source_name(enum demand_source s);      /* "task" */
const char *strategy_name(enum strategy s);         /* "STRICT_PACK", "" */
const char *policy_name(enum policy p);             /* "cheapest" */
/* False when there is no such name. */
bool source_from_name(const char *name, enum demand_source *ret);
bool strategy_from_name(const char *name, enum strategy *ret);
bool policy_from_name(const char *name, enum policy *ret);

#endif
