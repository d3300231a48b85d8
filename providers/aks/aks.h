/*
 * aks.h - what the files of the AKS plug-in share.
 *
 * aks.c is the plug-in's table with list and launch, end.c ends machines;
 * options.c reads the configuration, api.c keeps to AKS's limits, pool.c reads
 * one agent pool, change.c writes it, seen.c says who tells which machines it
 * has, ledger.c is what we remember in its tags, offers.c asks what can be had,
 * labels.c knows which labels its nodes have.
 * kit/azure/ has tokens, requests, codes and machine sizes.
 */
#ifndef AKS_AKS_H
#define AKS_AKS_H

#include <pthread.h>

#include "kit/azure/azure.h"

#define AKS_API "2026-08-01"
#define SETTLE_MS 30000 /* a list may lag so much */
#define STOPPING_KEPT_MS 15000

struct aks_site {
    char *zone, *pool;
}; /* where a type can be had */

struct aks_type {
    char *name, *machine;
    bool spot;
    struct aks_site *sites;
    size_t n_sites;
};

/* What this process knows of a pool beyond Azure's answers. */
struct memory {
    char *pool;
    char *operation; /* URL of our last one, or NULL */
    char **stopping; /* names given to deleteMachines */
    int64_t *stopping_ms;
    size_t n_stopping, cap_stopping;
    bool told_missing, told_tags;
    struct azure_bucket puts;
    struct ledger *ledger; /* as we saw or wrote it last, or NULL */
    int64_t ledger_ms;
    char *scale_set; /* its resource, or NULL: not seen yet */
    json_t *seen;    /* the list of its machines, last read whole */
    char *seen_etag;
    int64_t seen_ms;
};

struct aks {
    struct azure azure;
    const struct davit_host *host;
    struct kit_keep keep; /* of the configuration */
    const char *cluster;  /* the tag's value */
    char *subscription, *group, *name, *location;
    int64_t poll_ms, wait_ms, abort_ms;
    struct azure_bucket puts; /* what each pool begins with */
    struct azure_bucket gets; /* under azure.lock */
    struct aks_type *types;
    size_t n_types;
    pthread_mutex_t lock;     /* of everything below; never over a call */
    struct memory **memories; /* one per pool, also of those left behind */
    size_t n_memories;
};

/* One running operation. */
struct op {
    struct aks *aks;
    struct davit_call *call;
    struct davit_error *error;
    json_t *keep;    /* documents that live as long as it */
    int64_t from_ms; /* when it began, wall */
};

/* options.c */
extern const struct kit_option aks_options[];
int aks_open(const struct davit_host *host, const struct davit_setup *setup,
             void **ret_self, struct davit_error *e);
void aks_close(void *self);

/* api.c */
/* AKS's own limits: the azure_pace of a struct aks. */
int arm_pace(void *arg, struct davit_call *call, const char *method,
             const char *url, struct davit_error *e);
int arm(struct op *op, const char *method, const char *url,
        const char *if_match, json_t *body, struct azure_reply *ret);
int arm_get(struct op *op, const char *url, json_t **ret);
/* Every page's value[]; ret is kept by the operation. */
int arm_pages(struct op *op, const char *url, json_t **ret);
/* A URL under the cluster ("/agentPools"), to be freed. */
char *arm_cluster_url(const struct aks *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
char *arm_url(const struct aks *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void op_keep(struct op *op, json_t *doc); /* takes the reference */

/* ledger.c: requests remembered in a pool's tags */
#define RECORDS_MAX 64
#define TO_OPEN (-1) /* the newest: all from there on */
#define TO_NONE (-2) /* none is left */
struct record {
    char id[128];
    uint32_t count;   /* machines it was granted */
    int64_t from, to; /* their numbers */
    int64_t at_s;
};
struct ledger {
    struct record v[RECORDS_MAX];
    size_t n;
}; /* oldest first */
void ledger_read(const json_t *tags, struct ledger *ret);
/* Replaces our tags; false when there is no room for all. */
bool ledger_write(const struct ledger *l, json_t *tags);
uint32_t ledger_granted(const struct ledger *l, const char *id);
void ledger_drop(struct ledger *l, size_t i);
bool ledger_id_fits(const char *id);
const char *ledger_owner(const json_t *tags); /* "" : nobody's yet */
void ledger_own(json_t *tags, const char *cluster);

/* pool.c: one agent pool as it is */
struct vm {
    const char *name, *zone, *address, *resource;
    int64_t number;              /* -1: the name has none */
    const struct record *record; /* whose it is, or NULL */
    bool ghost, stopping;        /* ghost: listed, and never came up */
};
struct pool {
    const char *name, *etag, *state;
    const json_t *props; /* as Azure gave them */
    int64_t count;       /* the target */
    bool busy, failed, spot;
    bool maintained; /* Azure upgrades or moves it: busy, and not for us */
    struct ledger ledger;
    struct vm *v; /* by number; after pool_machines() */
    size_t n;
    uint32_t missing;      /* of the newest request: failed to come */
    enum davit_status why; /* why the last operation failed */
    struct davit_error failure;
};
int pools_get(struct op *op, json_t **ret); /* all, as Azure describes them */
const json_t *pool_named(const json_t *pools, const char *name);
int pool_get(struct op *op, const char *name, struct pool *ret);
void pool_take(const json_t *doc, struct pool *ret);
/* at_rest: a remembered list will do for a pool that nothing happens to. */
int pool_machines(struct op *op, struct pool *p, bool at_rest);
void pool_done(struct pool *p);
/* The instance's number in its scale set; -1: the name has none. */
int64_t name_number(const char *name);
struct record *pool_open_record(struct pool *p); /* NULL: none */
/* The name under which the n-th machine that failed to come is listed. */
void missing_name(const struct pool *p, uint32_t n, char *ret, size_t size);

/* recall.c: puts back what somebody removed from the pool's tags */
void ledger_recall(struct op *op, struct pool *p);
void ledger_note(struct op *op, const struct pool *p);

/* seen.c */
/* So long a list of a pool at rest is remembered, at most. */
int64_t seen_rest_ms(struct aks *a);
int machines_read(struct op *op, const struct pool *p, bool at_rest,
                  json_t **ret);
void scale_set_note(struct op *op, const struct pool *p);
/* The instances of its scale set; false: they cannot be read. */
bool scale_set_read(struct op *op, const struct pool *p, json_t **ret);
/* How many machines it has, by two witnesses: the larger number. */
int pool_living(struct op *op, const struct pool *p, int64_t *ret);

/* change.c: one agent pool as it shall be */
/* May we scale it?  Else INVALID with a text that says what to change. */
int pool_check(struct op *op, const struct pool *p, const struct aks_type *t,
               const struct aks_site *site, bool spot);
/* n more, written down under this request. */
int pool_raise(struct op *op, struct pool *p, const char *request, uint32_t n);
/* The target comes down to what lives; what failed to come is forgotten. */
int pool_lower(struct op *op, struct pool *p);
int pool_delete(struct op *op, struct pool *p, const char *const *names,
                size_t n);
/* Breaks off a raise of ours that takes longer than abort_after. */
void pool_abort_old(struct op *op, struct pool *p);
bool pool_contested(const struct op *op); /* the error: another writer */
int pool_busy(struct op *op, const struct pool *p); /* RETRY, with why */
/* What Azure does with a pool that is maintained, for a person. */
void pool_work(const struct pool *p, char *ret, size_t size);
bool pool_wait(struct op *op); /* true: there is time for another look */
struct memory *memory_of(struct aks *a, const char *pool); /* under lock */
const char *memory_pool(struct aks *a, size_t i);          /* NULL: no more */

/* seen.c: the scale sets' word on machines that AKS's list lacks */
int aks_find(void *self, struct davit_call *call, const char *const *ids,
             size_t n_ids, struct davit_sink *sink, davit_put_done *done,
             struct davit_error *e);

/* end.c */
/* By its name. */
bool id_of_pool(const char *id, const char *pool);
int aks_terminate(void *self, struct davit_call *call, const char *const *ids,
                  size_t n_ids, struct davit_sink *sink, davit_put_done *done,
                  struct davit_error *e);

/* labels.c */
struct cluster {
    const char *location, *nodes; /* the resource group of its nodes */
};
struct kit_offer;
void labels_take(struct kit_offer *o, const struct pool *p, const char *zone,
                 const struct cluster *c);

/* offers.c */
int aks_offers(void *self, struct davit_call *call, struct davit_sink *sink,
               davit_put_offer *put, struct davit_error *e);
void op_begin(struct op *op, void *self, struct davit_call *call,
              struct davit_error *e);
void op_end(struct op *op);

#endif
