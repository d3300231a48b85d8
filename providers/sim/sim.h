/*
 * sim.h - what the files of the simulated cloud share.
 *
 * sim.c is the plug-in's table and its operations, rules.c what the cloud is
 * short of and when it errs, store.c the file that is the cloud: whoever reads
 * it sees the same machines, so a daemon killed and started again finds them.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>

#include "kit/options.h"
#include "kit/text.h"

#define NTH_MAX 64

struct sim_type {
    struct sim *sim;
    char *name;
    char **zones;
    size_t n_zones;
    char *accelerator;                        /* "T4", "" */
    struct davit_kv *taints, *gives, *labels; /* offers say so of machines */
    size_t n_taints, n_gives, n_labels;
    uint32_t gpus;
    bool spot_only;
    int64_t boot_min_ms, boot_max_ms;
};

/* A type that cannot be had: always, or so long since it was first asked for,
 * or the first times it is asked for. */
enum dry_kind { DRY_ALWAYS, DRY_FOR_MS, DRY_TIMES };
struct dry {
    char type[64], zone[48]; /* zone "": in all */
    enum dry_kind kind;
    int64_t value;
};

struct cap {
    char what[64];
    uint32_t max;
}; /* "machines", "gpus", a name */
struct nth {
    uint32_t v[NTH_MAX];
    size_t n;
}; /* counted from 1 */

struct sim {
    const struct davit_host *host;
    struct kit_keep keep; /* of all of the below */
    char *cluster, *path, *lock_path;
    struct sim_type *types;
    size_t n_types;
    int64_t boot_min_ms, boot_max_ms; /* of types that say nothing */
    int64_t latency_ms, terminate_ms, list_lag_ms;
    struct dry *dry;
    size_t n_dry;
    struct cap *caps;
    size_t n_caps;
    bool all_or_nothing; /* a launch over quota gives none, not some */
    struct nth fail_nth, lost_nth;
    double fail_rate;
    uint32_t seed, fail_as;
    uint32_t throttle_every, throttle_per_minute;
    int64_t throttle_rest_ms;
    uint32_t error_every, error_as;
    /* An API counts its callers, not its machines: per handle, in memory. */
    atomic_uint calls;
    pthread_mutex_t lock; /* of the minute below */
    int64_t minute_from_ms;
    uint32_t minute_calls;
};

/* One operation at work on the file. */
struct op {
    struct sim *sim;
    const char *name; /* "list" */
    struct davit_call *call;
    struct davit_error *error;
    json_t *root; /* the cloud, as it is in the file */
    int64_t now_ms;
    int lock_fd; /* -1: reading only */
    bool dirty;
};

/* store.c */
int store_read(struct op *op);          /* a snapshot: rename() is atomic */
int store_lock_and_read(struct op *op); /* one writer at a time */
/* The same, unless another one writes: then RETRY at once. */
int store_try_lock_and_read(struct op *op);
int store_write(struct op *op); /* all of it or nothing */
void store_done(struct op *op);
int64_t field_int(const json_t *o, const char *key);
const char *field_text(const json_t *o, const char *key);

/* daemons.c: after a list. */
void daemons_meet(struct op *op);

/* options.c, rules.c */
extern const struct kit_option sim_options[];
int rules_read(struct sim *s, const struct davit_setup *setup,
               struct davit_error *e);
const struct sim_type *rules_type(const struct sim *s, const char *name);
/* OK, or what the API says before it looks at the request. */
int rules_admit(struct op *op);
/* STOCKOUT when the type cannot be had there now; counts the attempt. */
/* Is it being upgraded?  Then the fault says so. */
#define SIM_MAINTAINED "being upgraded (simulated)"
bool rules_maintained(const struct op *op, const char *type, const char *zone);
int rules_stock(struct op *op, const char *type, const char *zone);
/* How many of want more machines of the type are allowed now. */
uint32_t rules_room(struct op *op, const struct sim_type *t, uint32_t want,
                    char *ret_why, size_t size);
bool rules_boot_fails(struct op *op, uint32_t nth);
bool rules_reply_lost(struct op *op, uint32_t nth_launch);
/* faults.hidden: lists lack it, though it is there. */
bool rules_hidden(const struct op *op, const char *id);
/* faults.kill: machines that vanish, as a preempted or broken one does. */
void rules_kill(struct op *op);
int64_t rules_boot_ms(const struct sim *s, const struct sim_type *t,
                      uint32_t nth);

/* sim.c: where a machine is in its life, by the clock alone. */
enum life {
    LIFE_STARTING,
    LIFE_RUNNING,
    LIFE_STOPPING,
    LIFE_FAILED,
    LIFE_GONE
};
enum life machine_life(const json_t *m, int64_t now_ms);

#endif
