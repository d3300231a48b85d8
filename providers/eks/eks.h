/*
 * eks.h - what the files of this plug-in share.
 *
 * options.c reads the configuration, kit/aws/ sends signed requests and names
 * the reaction to errors, view.c reads the groups and their instances, ledger.c
 * keeps who asked for what in the group's tags, failure.c reads why machines did
 * not come, and eks.c has the operations.  Why it is so: README.md.
 */
#ifndef EKS_EKS_H
#define EKS_EKS_H

#include <pthread.h>
#include <stdatomic.h>

#include "kit/aws/aws.h"
#include "provider.h"

#define LAUNCH_MAX 10000 /* machines of one launch */
#define RECORD_PREFIX "davit-request/"
#define SLOT_PREFIX "slot:"
#define TAG_CLUSTER "davit-cluster"
#define TAG_REQUEST "davit-request"
#define TAG_TYPE "davit-type"
#define LEFT_MAX 32 /* groups of ours that no type has any more */

struct eks_pool { /* a managed node group, or a bare group */
    char *name;
    bool bare; /* "asg/NAME": no node group around it */
    size_t type;
    /* under eks.lock: what DescribeNodegroup said */
    char group[256]; /* its Auto Scaling group, "" unknown */
    int64_t read_ms;
    bool spot;
    bool block; /* capacityType CAPACITY_BLOCK */
    char status[24], machines[200], issue[200], issue_code[48];
    struct record *known; /* the group's, as we saw or wrote them last */
    size_t n_known;
};

struct eks_route {
    char *zone;
    size_t pool;
}; /* zone "": any */

enum { BY_DESIRED, BY_INSTANCES };

struct eks_type {
    char *name, *machine;
    struct eks_route *routes;
    size_t n_routes;
    char **zones;
    size_t n_zones;
    bool spot;
    uint32_t how; /* launch: */
    struct eks *eks;
};

struct eks {
    struct aws aws;
    struct kit_keep keep; /* of the configuration */
    char *tag, *cluster;
    struct eks_type *types;
    size_t n_types;
    struct eks_pool *pools; /* of types, then room for LEFT_MAX more */
    size_t n_typed;
    atomic_size_t n_pools;
    int64_t launch_timeout_ms;
    bool protect;
    pthread_mutex_t lock; /* of the pools' facts and what follows */
    bool left_known;      /* such groups were looked for */
};

struct op { /* one running operation */
    struct aws_op a;
    struct eks *e;
};

struct op op_begin(struct eks *e, struct davit_call *call,
                   struct davit_error *error);

/* options.c */
int options_read(struct eks *e, const struct davit_setup *s,
                 struct davit_error *err);
extern const struct kit_option eks_options[];
const struct eks_type *type_find(const struct eks *e, const char *name);

/* offers.c: DescribeNodegroup of a pool that has one. */
int api_node_group(struct op *op, const struct eks_pool *p, json_t **ret);

/* view.c */
enum life {
    LIFE_STARTING,
    LIFE_RUNNING,
    LIFE_STOPPING,
    LIFE_RETAINED, /* out of the group's hands, and billed until it is ended */
    LIFE_GONE
};

struct record { /* a request, as the group's tag has it */
    char hash[17];
    char request[128];
    uint32_t want, got;
    int64_t at_ms;
    int status;   /* not OK: given up, for this */
    bool settled; /* its failed slots were ended */
    char code[48];
    bool changed;
};

struct instance {
    const char *id, *zone, *stage; /* stage: the group's LifecycleState */
    const char *request, *cluster, *address, *state; /* "" unknown */
    bool in_group, described, ours, foreign, protected, spot;
    enum life life;
};

struct group {
    size_t pool;
    char name[256];
    bool found;
    uint32_t min, max, desired, n_zones;
    struct record *records;
    size_t n_records;
    struct instance *v;
    size_t n;
    uint32_t tags;          /* other people's: there are 50 in all */
    bool units;             /* its target counts instances */
    bool no_launch, no_end; /* somebody suspended that process */
    int closed_as;          /* OK, or how a launch is refused */
    char closed_code[24], closed[160];
    char held_code[24], held[160]; /* why none must end now, or "" */
    struct kit_keep keep;          /* strings the instances point to */
};

struct view {
    struct group *groups;
    size_t n_groups;
    struct xml_doc **docs; /* the strings above lie in them */
    size_t n_docs;
    bool seeks; /* describe() notes groups of ours */
};

/* state.c: may we launch there, may we end there?  Fills closed and held. */
void group_state(struct op *op, struct group *g);
int group_closed(struct op *op, const struct group *g); /* closed_as, said */

int view_read(struct op *op, const size_t *pools, size_t n, bool with_ec2,
              struct view *ret);
/* Groups with machines of ours that no node type has: they become pools. */
int view_seek(struct op *op);
void view_free(struct view *v);
int group_sure(struct op *op, const struct group *g);
int pool_resolve(struct op *op, size_t pool, bool again, char *ret_group,
                 size_t size);

/* ledger.c */
struct count {
    uint32_t owned, loose, open;
};
/* owned: live and known; loose: live, not yet anybody's; open: wanted by
 * requests that still wait. */
struct count ledger_count(const struct group *g);
/* What the group's target must be for all that was asked for. */
uint32_t ledger_needed(const struct group *g);
void ledger_hash(const char *request, char ret[17]);
struct record *ledger_find(struct group *g, const char *hash);
uint32_t record_open(const struct group *g, const struct record *r);
void record_parse(struct group *g, const char *key, const char *value);
int ledger_open(struct op *op, struct group *g, const char *request,
                uint32_t want, struct record **ret);
/* Tags these as ours and as the request's. */
int tags_put(struct op *op, struct group *g, const char *request,
             struct instance **v, size_t n);
int ledger_assign(struct op *op, struct group *g); /* tags what came */
int ledger_save(struct op *op, struct group *g);   /* the changed ones */
/* Puts back what somebody removed from the group's tags. */
void ledger_recall(struct op *op, struct group *g);
int group_target(struct op *op, struct group *g, uint32_t target);
int group_protect(struct op *op, struct group *g);

/* failure.c */
int failure_judge(struct op *op, struct group *g); /* marks records */

/* launch.c */
int eks_launch(void *self, struct davit_call *call,
               const struct davit_launch *l, struct davit_sink *sink,
               davit_put_machine *put, struct davit_error *error);
bool pool_lock(struct op *op, const char *group); /* false: out of time */
void pool_unlock(const char *group);
int out_of_time(struct op *op);
void group_put(struct op *op, const struct group *g, const char *request,
               struct davit_sink *sink, davit_put_machine *put);

/* terminate.c, offers.c */
int eks_terminate(void *self, struct davit_call *call, const char *const *ids,
                  size_t n_ids, struct davit_sink *sink, davit_put_done *done,
                  struct davit_error *error);
int eks_offers(void *self, struct davit_call *call, struct davit_sink *sink,
               davit_put_offer *put, struct davit_error *error);

#endif
