/*
 * azurevm.h - what the files of this plug-in share.
 *
 * Bare Azure virtual machines, one PUT for each, under a name made of the
 * request id.  options.c reads the configuration, template.c what Ray's own
 * cluster YAML says, body.c makes a machine's description, network.c its
 * network, key.c its key, join.c the start script, api.c sends, view.c reads
 * what a machine is at, power.c whether machines run, health.c whether Azure finds them broken; launch.c, list.c, end.c,
 * console.c and offers.c are the operations.  kit/azure/ has tokens, codes and sizes.
 * Why it is so: README.md.
 */
#ifndef AZUREVM_AZUREVM_H
#define AZUREVM_AZUREVM_H

#include <stdatomic.h>

#include "kit/azure/azure.h"
#include "kit/join.h"
#include "kit/str.h"
#include "provider.h"

#define LAUNCH_MAX 1000 /* machines of one launch */
#define NAME_SIZE 64    /* a Linux machine's name has up to 64 bytes */
#define ZONE_SIZE 48
#define TAG_CLUSTER "davit-cluster"
#define TAG_REQUEST "davit-request"
#define TAG_TYPE "davit-type"

enum maybe { MAYBE, YES, NO }; /* MAYBE: not said */

struct vm_type {
    char *name, *machine;
    bool spot;
    char *given;    /* the size that node_config says; NULL: none */
    char *priority; /* likewise */
    bool says_spot; /* it speaks of evictions or of a price */
    bool own_data;  /* it has customData */
    char **zones;
    size_t n_zones;
    json_t *node; /* as the PUT takes it, without what body.c adds */
    char *subnet, *nsg, *identity, *key; /* NULL: not said */
    uint32_t public_ip, accelerated;     /* enum maybe */
    char *admin;                         /* the machine's first user */
    char *join, *user, *resources;       /* of the start script; NULL: none */
};

struct azurevm {
    struct azure azure;
    struct azure_bucket lists; /* under azure.lock */
    struct kit_keep keep;      /* of the configuration */
    char *cluster, *subscription, *group, *location;
    char *ray_cluster, *ray_id; /* whose network `ray up` made; NULL: none */
    struct kit_head head;
    struct vm_type all; /* what every type has unless it says otherwise */
    struct vm_type *types;
    size_t n_types;
    pthread_mutex_t lock; /* of what was learnt */
    char learnt[64];      /* the subscription; "": not yet */
    bool one_by_one;      /* power states: see power.c */
    size_t turn;
    json_t *powers;
    json_t *health;     /* what health.c has seen; NULL: nothing yet */
    int64_t health_ms;  /* asked then, wall; 0: never */
    bool health_untold; /* there is no right to read it, and that was said */
};

struct op { /* one running operation */
    struct azurevm *v;
    struct davit_call *call;
    struct davit_error *e;
    char subscription[64];
};

/* options.c */
extern const struct kit_option azurevm_options[];
int options_read(struct azurevm *v, const struct davit_setup *s,
                 struct davit_error *e);
void options_done(struct azurevm *v);
const struct vm_type *type_find(const struct azurevm *v, const char *name);
/* "1" of "1" or "westeurope-1"; "" of "".  NULL: it is no zone. */
const char *zone_number(const char *zone);
/* A leaf of a machine's description at "properties.osProfile.adminUsername". */
void node_set(struct vm_type *t, const char *path, const char *value);

/* template.c: a parameter of Ray's azure-vm-template.json. */
int template_read(struct kit_reading *r, struct vm_type *t, const char *name,
                  const char *value);

/* body.c: of one machine; for json_decref(). */
int body_make(struct op *op, const struct vm_type *t,
              const struct davit_launch *l, const char *name,
              const char *script, json_t **ret);
/* The object under a key, made when there is none. */
json_t *json_into(json_t *o, const char *key);
/* Sets what is not set yet; takes the value. */
void json_usual(json_t *o, const char *key, json_t *value);

/* network.c: an interface made and ended with the machine. */
void network_add(json_t *properties, const struct op *op,
                 const struct vm_type *t, const char *name);
void identity_add(json_t *body, const struct op *op, const struct vm_type *t);

/* key.c: of the type, or one to which nobody has the other half; for free(). */
int key_text(const struct vm_type *t, char **ret, struct davit_error *e);

/* join.c: for free(); *ret NULL: the type has none. */
int join_script(struct op *op, const struct vm_type *t,
                const struct davit_launch *l, char **ret);

/* api.c */
/* Learns what must be known first: the subscription. */
int op_begin(struct op *op, void *self, struct davit_call *call,
             struct davit_error *e);
/* The azure_pace of a struct azurevm: lists keep to half of Azure's limit. */
int list_pace(void *arg, struct davit_call *call, const char *method,
              const char *url, struct davit_error *e);
/* The azure_seen: no more at once when others have used the limit up. */
void list_limit_seen(void *arg, const struct davit_http *x);
/* Below the resource group's machines: "/NAME"; for free(). */
char *vm_url(const struct op *op, const char *name, const char *query);
bool name_plain(const char *name);

/* view.c: puts one machine; view is its instance view, or NULL; health what
 * health_read() has, or NULL. */
void vm_put(const struct op *op, const json_t *vm, const json_t *view,
            const json_t *health, struct davit_sink *sink,
            davit_put_machine *put);
/* Does it carry our cluster's tag? */
bool vm_ours(const struct azurevm *v, const json_t *vm);
/* Does nothing but its instance view tell what it is at? */
bool vm_unclear(const json_t *vm);

/* power.c: instance views by name, in small letters; what is not there is not
 * known. */
int power_read(struct op *op, const json_t *vms, json_t **ret);
int view_get(struct op *op, const char *name, json_t **ret);
char *name_small(const char *name); /* for free() */

/* health.c: why a machine is broken, by name in small letters; "": it may be a
 * moment's.  For json_decref(). */
json_t *health_read(struct op *op);

/* list.c, launch.c, end.c, console.c, offers.c */
int azurevm_list(void *self, struct davit_call *call, struct davit_sink *sink,
                 davit_put_machine *put, struct davit_error *e);
int azurevm_launch(void *self, struct davit_call *call,
                   const struct davit_launch *l, struct davit_sink *sink,
                   davit_put_machine *put, struct davit_error *e);
int azurevm_terminate(void *self, struct davit_call *call,
                      const char *const *ids, size_t n_ids,
                      struct davit_sink *sink, davit_put_done *done,
                      struct davit_error *e);
int azurevm_console(void *self, struct davit_call *call, const char *id,
                    struct davit_sink *sink, davit_put_text *put,
                    struct davit_error *e);
int azurevm_find(void *self, struct davit_call *call, const char *const *ids,
                 size_t n_ids, struct davit_sink *sink, davit_put_done *done,
                 struct davit_error *e);
int azurevm_offers(void *self, struct davit_call *call, struct davit_sink *sink,
                   davit_put_offer *put, struct davit_error *e);

#endif
