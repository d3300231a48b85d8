/*
 * k8s.h - what the files of the Kubernetes plug-in share.
 *
 * k8s.c is the table and open(); options.c finds the API server; api.c sends
 * requests, errors.c turns the server's answers into reactions; cluster.c reads
 * the RayCluster and writes it, whole or not at all; annotation.c is our note in its
 * annotation; pods.c reads pods, judge.c says how one fares; share.c tells
 * whose they are; list.c, launch.c, end.c and offers.c are the operations;
 * writer.c names whoever else writes replicas.
 */
#ifndef K8S_K8S_H
#define K8S_K8S_H

#include <pthread.h>

#include "kit/exchange.h"
#include "kit/str.h"

#define LAUNCH_MAX 100000   /* machines of one launch */
#define TOKEN_HOLD_MS 60000 /* its file is read anew after so long */
#define REQUEST_MAX 63      /* of a request id, in bytes */
#define TRIES 10            /* of one change, against other writers */
#define MOST_REPLICAS 2147483647u

struct k8s_type {
    char *name, *group;
    uint32_t min;             /* machines, by Davit's configuration */
    int64_t unschedulable_ms; /* -1: the provider's */
};

struct ask; /* a launch that waits: launch.c */

/* Read-only after open() but for what the lock holds. */
struct k8s {
    const struct davit_host *host;
    struct kit_keep keep;   /* of the configuration */
    struct kit_token token; /* of its file */
    char *endpoint, *ns, *cluster, *account;
    const char *version;
    char *token_file, *ca_file, *cert_file, *key_file; /* NULL: none */
    int64_t unschedulable_ms, gate_ms, trouble_ms, coalesce_ms;
    struct k8s_type *types;
    size_t n_types;
    pthread_mutex_t lock; /* of what is below */
    pthread_cond_t woken; /* an ask is done, or nobody leads */
    json_t *owner;        /* pod -> the request it was made for, "" */
    json_t *named;        /* pods this handle named to be deleted */
    json_t *ending;       /* hosts of host groups that we are to end */
    json_t *wrote;        /* group -> replicas as we wrote them last */
    uint64_t writes;      /* patches sent so far */
    uint32_t writing;     /* under way */
    json_t *live;         /* group -> units in the last list */
    json_t *troubled;     /* pod -> since when a container of it cannot start */
    int64_t told_ms;      /* when another writer was last reported */
    struct ask *asks;
    bool leading; /* somebody sends the asks */
};

/* One operation at work. */
struct op {
    struct k8s *k;
    struct davit_call *call;
    struct davit_error *e;
    int64_t server_ms; /* wall, of the API server: its last answer's Date; 0:
                        * it told none */
};

/* ---- options.c */
extern const struct kit_option k8s_options[];
int options_read(struct k8s *k, const struct davit_setup *setup,
                 struct davit_error *e);
const struct k8s_type *type_find(const struct k8s *k, const char *name);
const struct k8s_type *type_of_group(const struct k8s *k, const char *group);

/* ---- api.c */
struct request {
    const char *method, *path; /* "/api/v1/..." with its query */
    const char *type;          /* of the body */
    const json_t *body;        /* borrowed; NULL: none */
    const char *verb, *what;   /* "patch", "rayclusters": for messages */
};
/* OK: *ret is the reply, the caller's.  Else the error is filled; *ret_http is
 * the server's code, 0 when it did not answer. */
int api_send(struct op *op, const struct request *r, json_t **ret,
             int *ret_http);

/* ---- errors.c */
struct asked {
    const struct k8s *k;
    const struct request *r;
};
/* arg: a struct asked. */
int error_http(void *arg, const struct davit_http *x, const json_t *reply,
               struct davit_error *e);

/* ---- annotation.c: what we wrote about our launches into the annotation
 * davit.io/launches, so that a launch whose reply was lost is found, also by a
 * new process: {"requests": {ID: {"group", "asked", "left", "at"}},
 * "cancelled": [ids of promised machines]}; in units. */
#define ANNOTATION "davit.io/launches"
json_t *annotation_read(const json_t *raycluster);
bool annotation_known(const json_t *annotation, const char *request);
void annotation_add(json_t *annotation, const char *request, const char *group,
                    uint32_t units, int64_t now_ms);
/* One unit of this request is ended. */
void annotation_less(json_t *annotation, const char *request);
int64_t annotation_left(const json_t *annotation, const char *request);
const char *annotation_group(const json_t *annotation, const char *request);
int64_t annotation_at(const json_t *annotation, const char *request);
void annotation_cancel(json_t *annotation, const char *id);
bool annotation_cancelled(const json_t *annotation, const char *id);
/* Forgets what nobody will ask about any more. */
void annotation_prune(json_t *annotation, int64_t now_ms);

/* ---- cluster.c: the RayCluster as read, and a copy to change */
struct group {
    const char *name;
    size_t at; /* its place in workerGroupSpecs */
    const json_t *spec;
    uint32_t replicas; /* as the operator takes them: within min, max */
    uint32_t said;     /* as they stand there */
    uint32_t min, max, hosts;
    bool suspended;
    char gate[100]; /* why nothing may be scaled, "" */
    json_t *names;  /* of workersToDelete */
    bool replicas_new, names_new;
};
struct cluster {
    json_t *json;
    struct group *v;
    size_t n;
    bool suspended;
    json_t *annotation;
    bool annotation_new;
    uint64_t writes; /* k8s.writes when it was asked for */
};
int cluster_read(struct op *op, struct cluster *ret);
void cluster_done(struct cluster *c);
struct group *group_find(const struct cluster *c, const char *name);
bool group_names(const struct group *g, const char *pod);
void group_set_replicas(struct group *g, uint32_t replicas);
/* Adds a name to workersToDelete, or takes it out. */
void group_name(struct group *g, const char *pod);
void group_unname(struct group *g, const char *pod);
bool cluster_changed(const struct cluster *c);
/* Everything that was changed, in one patch, on what was read and nothing
 * else.  *ret_conflict: somebody was faster; read it again. */
int cluster_patch(struct op *op, struct cluster *c, bool *ret_conflict);
/* Before the next try; false: there is none. */
bool cluster_again(struct op *op, int tries);

/* ---- pods.c */
struct pod {
    char name[128], group[64], unit[64], ip[64];
    char created[32]; /* as the server writes it: sorts */
    enum davit_phase phase;
    uint32_t failure;
    char detail[200];
    bool going;                    /* has a deletionTimestamp */
    bool troubled;                 /* a container of it cannot start */
    bool surplus;                  /* more pods than replicas: nobody's yet */
    char request[REQUEST_MAX + 1]; /* share.c; "" : of none of ours */
};
struct pods {
    struct pod *v;
    size_t n, cap;
};
/* All workers of the RayCluster. */
int pods_read(struct op *op, struct pods *ret);
void pods_done(struct pods *ps);
struct pod *pod_find(const struct pods *ps, const char *name);

/* ---- judge.c */
struct patience {
    int64_t now_ms; /* by the server's clock, where it tells one */
    int64_t unschedulable_ms, gate_ms, trouble_ms;
    int64_t troubled_ms; /* a container of it cannot start since then; 0: so far
                          * as is known it can */
};
/* Phase, failure and detail of a pod by its JSON. */
void pod_judge(const json_t *pod, const struct patience *p, struct pod *ret);
/* Why the operator could not make pods, "" ; *ret_status is its reaction. */
void cluster_judge(const json_t *raycluster, char *ret, size_t size,
                   int *ret_status);

/* ---- share.c */
/* Fills pod.request: as remembered, else by the order in which they came. */
void pods_share(struct k8s *k, const struct cluster *c, struct pods *ps);
/* Is it one that counts: neither going nor named to go? */
bool pod_stays(const struct cluster *c, const struct pod *p);
/* Units of the group that stay; with a request, only its. */
uint32_t units_stay(const struct cluster *c, const struct pods *ps,
                    const struct group *g, const char *request);

/* ---- writer.c */
/* Looks whether replicas are not what we wrote, and says who did that. */
void writer_watch(struct op *op, const struct cluster *c);
void writer_begins(struct k8s *k);
/* unsure: it was sent, and nobody knows whether it was taken. */
void writer_ends(struct k8s *k, const struct cluster *c, bool good,
                 bool unsure);

/* ---- the operations */
int k8s_list(void *self, struct davit_call *call, struct davit_sink *sink,
             davit_put_machine *put, struct davit_error *e);
int k8s_launch(void *self, struct davit_call *call,
               const struct davit_launch *l, struct davit_sink *sink,
               davit_put_machine *put, struct davit_error *e);
int k8s_terminate(void *self, struct davit_call *call, const char *const *ids,
                  size_t n_ids, struct davit_sink *sink, davit_put_done *done,
                  struct davit_error *e);
int k8s_offers(void *self, struct davit_call *call, struct davit_sink *sink,
               davit_put_offer *put, struct davit_error *e);

int k8s_find(void *self, struct davit_call *call, const char *const *ids,
             size_t n_ids, struct davit_sink *sink, davit_put_done *done,
             struct davit_error *e);

/* At its minReplicas, and Davit's own minimum is lower: KubeRay makes a pod anew
 * that is named to be deleted, so none is.  live: units that stay. */
bool group_at_min(struct k8s *k, const struct group *g, uint32_t live);
/* An id of a replica that has no pod yet: "promised.REQUEST.N", or the group
 * in place of the request. */
#define PROMISED "promised."
/* Its middle part; false when it is no such id. */
bool promised_of(const char *id, char *ret, size_t size);

#endif
