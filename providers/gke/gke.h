/*
 * gke.h - what the files of the GKE plug-in share.
 *
 * gke.c is the table and open(); options.c reads the configuration; pools.c
 * finds the instance groups behind the node pools; list.c, launch.c, end.c and
 * offers.c are the operations; api.c sends requests (kit/gcp/ has tokens and
 * codes), names.c makes the names that carry a request id into the cloud and
 * back.
 */
#ifndef GKE_GKE_H
#define GKE_GKE_H

#include "kit/gcp/gcp.h"

#define LAUNCH_MAX 10000    /* machines of one launch */
#define POOLS_HOLD_MS 30000 /* so long the list of pools is held, */
#define POOLS_DEED_MS 1000  /* the same for a launch or an end */
#define SETTLE_MS 30000     /* a list may lag so much beside that */
#define NAME_MAX_ 63        /* of an instance, in bytes */

struct gke_type {
    char *name;
    char *pool, *spot_pool; /* NULL: none of this market */
    char *reservation;      /* that its pool is to consume; NULL: not said */
    int64_t queue_wait_ms;  /* in the cloud's queue, at most */
    char **zones;           /* as configured; none: the pool's */
    size_t n_zones;
    int64_t cpu, gpus, tpus; /* as configured, -1: not given */
    uint32_t hosts, max;     /* likewise; max: UINT32_MAX is none */
};

/* Read-only after open() but for token, cache and salt. */
struct gke {
    const struct davit_host *host;
    struct kit_keep keep; /* of the configuration */
    char *project, *location, *cluster;
    char *container_url, *compute_url; /* without a slash at the end */
    struct gcp gcp;
    bool take_over; /* switch off GKE's autoscaling of a pool */
    struct gke_type *types;
    size_t n_types;
    char tag[5];          /* of our cluster's name, in machines' names */
    pthread_mutex_t lock; /* of what is below */
    json_t *pools;        /* the last answer of nodePools.list */
    int64_t pools_ms;
    json_t *addresses; /* instance number -> IP address */
    uint32_t salt;     /* failed creations: a new one is a new one */
    json_t *left;      /* "ZONE/GROUP" of pools that no type has any
                        * more and that hold machines of ours; NULL:
                        * not looked yet */
};

/* One operation at work. */
struct op {
    struct gke *g;
    struct davit_call *call;
    struct davit_error *e;
};

/* The instance group of one node pool in one zone. */
struct group {
    char project[64], zone[48], name[64];
    uint32_t together; /* machines of one resize request, 0: they are made by
                        * name, without one */
    uint32_t hosts;    /* of the TPU slice that its pool is; 1: it is none */
    const struct gke_type *type; /* NULL: of a pool that no type has */
    const json_t *pool;          /* as GKE describes it; lives with groups */
    bool spot;
    bool held;    /* GKE works on its pool: nothing is ended */
    bool leaving; /* ... and nothing is launched: the half that
                   * goes of a blue-green upgrade, or the only one */
};
struct groups {
    struct gke *g;
    json_t *pools; /* shared */
    struct group *v;
    size_t n;
};

/* An instance of a group, as the group manager lists it; strings live with the
 * replies. */
struct member {
    const struct group *group;
    const char *name, *number, *action, *status;
    enum davit_phase phase;
    uint32_t failure;
    char detail[160];
    char held[120];     /* why it must not be ended now, or "" */
    const char *resize; /* the request that it waits for, or that has failed;
                         * "": it is made */
    bool over;          /* that has failed for good */
    int64_t ends_ms;    /* when Google deletes it; 0: not known */
};
struct members {
    struct member *v;
    size_t n, cap;
    json_t *replies; /* array */
};

/* options.c */
int options_read(struct gke *g, const struct davit_setup *setup,
                 struct davit_error *e);
extern const struct kit_option gke_options[];

/* api.c */
struct request {
    const char *method;
    bool compute;      /* else container */
    const char *path;  /* "projects/..." */
    const char *query; /* encoded, "" */
    json_t *body;      /* borrowed; NULL: none */
};
/* OK: *ret is the reply, the caller's.  Else the error is filled. */
int api_send(struct op *op, const struct request *r, json_t **ret);
/* A method of an instance group manager; takes the body.  The request id that
 * Google knows a repetition by is made of the body's instances and the salt. */
int api_post_group(struct op *op, const struct group *in, const char *method,
                   json_t *body, int64_t salt, json_t **ret);
/* Polls a zone's operation until it is done.  *ret_told: the status is what it
 * came to; otherwise that is not known, and the status RETRY or CANCELLED. */
int api_wait_zone(struct op *op, const struct group *in, const json_t *reply,
                  bool *ret_told);
/* The same for an operation of GKE itself. */
int api_wait_container(struct op *op, const json_t *reply);
/* pools.c */
/* What calls share: *which, and later given back.  Under the lock, since
 * jansson looks at its count of references without one. */
json_t *shared_take(struct gke *g, json_t *const *which);
void shared_drop(struct gke *g, json_t *j);
/* *which is j from now on; the caller keeps j too, to drop it. */
void shared_set(struct gke *g, json_t **which, json_t *j);
/* Those remembered, when they are not older than hold_ms. */
int pools_get(struct op *op, int64_t hold_ms, struct groups *ret);
void pools_done(struct groups *gs);
void pools_forget(struct gke *g);
/* What GKE does with the group's pool, for a person. */
void group_work(const struct group *g, char *ret, size_t size);
/* The groups of one type and market; INVALID with what there is when there is
 * none. */
int pools_of_type(struct op *op, const struct gke_type *t, bool spot,
                  struct groups *ret);
const struct gke_type *type_find(const struct gke *g, const char *name);

/* list.c */
int members_read(struct op *op, const struct group *of, struct members *ret);
void members_done(struct members *ms);
/* One that no reply lists yet, or any more. */
struct member *member_new(struct op *op, const struct group *of,
                          const char *name, struct members *ms);
/* Ours: all of a pool of ours; of another, what has our tag in its name. */
bool member_ours(const struct gke *g, const struct member *m);
void member_put(const struct op *op, const struct member *m,
                const char *address, struct davit_sink *sink,
                davit_put_machine *put);
int gke_list(void *self, struct davit_call *call, struct davit_sink *sink,
             davit_put_machine *put, struct davit_error *e);

/* queue.c */
/* Of a TPU machine type; 0: it has none. */
int64_t machine_chips(const char *machine);
/* How many machines of a pool one resize request makes; ret_hosts: of its slice. */
uint32_t pool_together(const json_t *pool, uint32_t *ret_hosts);
/* What waits in the group's queue, and what failed there, beside the members that
 * are of this group from `from` on. */
int queue_read(struct op *op, const struct group *of, struct members *ms,
               size_t from);
/* All of these instances at once, or none. */
int queue_ask(struct op *op, const struct group *in, const char *name,
              json_t *instances, int64_t salt);
/* Takes the request of this machine back; one that failed is deleted. */
int queue_end(struct op *op, const struct member *m);
/* Deletes requests of ours that are over and have nothing to tell. */
void queue_sweep(struct op *op, const struct group *in);

/* launch.c, end.c, offers.c */
int gke_launch(void *self, struct davit_call *call,
               const struct davit_launch *l, struct davit_sink *sink,
               davit_put_machine *put, struct davit_error *e);
int gke_terminate(void *self, struct davit_call *call, const char *const *ids,
                  size_t n_ids, struct davit_sink *sink, davit_put_done *done,
                  struct davit_error *e);
int gke_find(void *self, struct davit_call *call, const char *const *ids,
             size_t n_ids, struct davit_sink *sink, davit_put_done *done,
             struct davit_error *e);
int gke_offers(void *self, struct davit_call *call, struct davit_sink *sink,
               davit_put_offer *put, struct davit_error *e);

/* names.c */
void name_tag(char ret[5], const char *cluster);
bool name_possible(const char *request_id);
void name_make(char ret[NAME_MAX_ + 1], const char *group, const char *tag,
               const char *request_id, uint32_t i);
/* The request id in a name, "" when it has none. */
void name_request(const char *name, char ret[64]);
/* Is it a name of ours, with this tag? */
bool name_tagged(const char *name, const char *tag);
/* Could an instance of this group have this name? */
bool name_likely(const char *name, const char *group);

#endif
