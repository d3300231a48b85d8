/*
 * ec2.h - what the files of this plug-in share.
 *
 * Bare EC2 instances, one RunInstances for a launch.  options.c reads the
 * configuration, params.c writes what it says as RunInstances wants it, join.c
 * makes the user data by which a machine joins, launch.c, list.c and end.c are
 * the operations, offers.c says what there is.  kit/aws/ signs and sends.  Why
 * it is so: README.md.
 */
#ifndef EC2_EC2_H
#define EC2_EC2_H

#include "kit/aws/aws.h"
#include "kit/join.h"
#include "provider.h"

#define TAG_CLUSTER "davit-cluster"
#define TAG_REQUEST "davit-request"
#define TAG_TYPE "davit-type"
#define ENDED_MAX 256    /* instances that we ended are remembered */
#define SETTLE_MS 120000 /* so long a list may lack what was launched */
#define HELD_MAX 64      /* and those that EC2 would not end */

struct param { /* "BlockDeviceMapping.1.Ebs.VolumeSize" -> "100" */
    char *name, *value;
};

struct params {
    struct param *v;
    size_t n;
};

struct subnet { /* zone and free: ec2.lock; "": not known yet */
    char *id;
    char zone[32];
    int64_t free; /* addresses */
};

struct ec2_type {
    char *name, *machine;
    bool spot;
    char *given;    /* the InstanceType of node_config; NULL: it says none */
    bool says_spot; /* so does its MarketType */
    struct params params; /* of RunInstances, without what launch.c adds */
    struct subnet *subnets;
    size_t n_subnets;
    char **zones;
    size_t n_zones;
    char *join, *user; /* the script by which it joins, who runs it; "" none */
    char *resources;   /* JSON, for Ray */
    struct ec2 *ec2;
};

struct kept { /* an instance that EC2 would not end, and until when it is let be */
    char id[32], why[200];
    int64_t until_ms;
};

/* What AWS is asked about machines now and then. */
struct ec2_watch {
    json_t *all; /* id -> {why, at}; NULL: not asked yet */
    int64_t asked_ms;
    bool told; /* that there is no right to ask */
};
enum { EC2_WATCHED = 2 };

struct ec2 {
    struct aws aws;
    struct kit_keep keep; /* of the configuration */
    char *cluster;
    struct kit_head head;
    struct ec2_type all; /* what every type has unless it says otherwise */
    struct ec2_type *types;
    size_t n_types;
    pthread_mutex_t lock; /* of what was learnt */
    bool zones_known;
    char ended[ENDED_MAX][32];
    size_t n_ended;
    struct kept held[HELD_MAX];
    size_t n_held;
    struct ec2_watch watch[EC2_WATCHED]; /* events.c */
    bool has_spot;                       /* the last list had such a machine */
};

struct op { /* one running operation */
    struct aws_op a;
    struct ec2 *e;
};

/* options.c */
extern const struct kit_option ec2_options[];
int options_read(struct ec2 *e, const struct davit_setup *s,
                 struct davit_error *err);
const struct ec2_type *type_find(const struct ec2 *e, const char *name);

/* params.c: a member of RunInstances as AWS's API has it ("SubnetId",
 * "BlockDeviceMappings.0.Ebs.VolumeSize") under the name that the request has
 * it. */
void params_set(struct kit_keep *k, struct params *p, const char *member,
                const char *value);
void params_set_base64(struct kit_keep *k, struct params *p, const char *member,
                       const char *value);
const char *params_get(const struct params *p, const char *name); /* NULL */
bool params_has(const struct params *p, const char *member); /* or below it */
/* Of `from`, what `p` has nothing of at the top. */
void params_inherit(struct kit_keep *k, struct params *p,
                    const struct params *from);

/* join.c: base64, for free(); *ret NULL: the machine has none of ours. */
int join_user_data(struct op *op, const struct ec2_type *t,
                   const struct davit_launch *l, char **ret);
size_t join_size(const struct ec2_type *t);

/* zones.c: a subnet for the zone, the one with most free addresses; NULL with
 * OK: the account's default one. */
int zone_subnet(struct op *op, const struct ec2_type *t, const char *zone,
                const char **ret);
int zones_learn(struct op *op); /* asks anew */
/* The i-th zone that its subnets are in, each once; "": there are no more. */
void zone_nth(const struct ec2_type *t, size_t i, char *ret, size_t size);

/* list.c */
typedef void each_instance(void *arg, const struct xml *instance);
/* Those with our tag, in any state; request NULL: of every request. */
int instances_read(struct op *op, const char *request, each_instance *each,
                   void *arg);
void ended_note(struct ec2 *e, const char *id);
/* EC2 would not end it, for this reason: it is held for a while. */
void held_note(struct ec2 *e, const char *id, const char *why);
/* events: of events_read(), or NULL. */
void instance_put(struct ec2 *e, const struct xml *i, const json_t *events,
                  struct davit_sink *sink, davit_put_machine *put);
int ec2_list(void *self, struct davit_call *call, struct davit_sink *sink,
             davit_put_machine *put, struct davit_error *error);

/* events.c: id -> {"why", "at"} of those that AWS is going to stop, restart or
 * retire, or whose host it finds broken; for json_decref(). */
json_t *events_read(struct op *op);

/* launch.c, end.c, offers.c, console.c */
int ec2_launch(void *self, struct davit_call *call,
               const struct davit_launch *l, struct davit_sink *sink,
               davit_put_machine *put, struct davit_error *error);
int ec2_terminate(void *self, struct davit_call *call, const char *const *ids,
                  size_t n_ids, struct davit_sink *sink, davit_put_done *done,
                  struct davit_error *error);
int ec2_offers(void *self, struct davit_call *call, struct davit_sink *sink,
               davit_put_offer *put, struct davit_error *error);
int ec2_console(void *self, struct davit_call *call, const char *id,
                struct davit_sink *sink, davit_put_text *put,
                struct davit_error *error);

/* ec2.c */
struct op op_begin(struct ec2 *e, struct davit_call *call,
                   struct davit_error *error);

#endif
