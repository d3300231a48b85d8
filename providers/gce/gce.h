/*
 * gce.h - what the files of this plug-in share.
 *
 * Bare Compute Engine instances, one instances.insert for each, under a name
 * made of the request id.  options.c reads the configuration, body.c makes an
 * instance's description, join.c the startup script, api.c sends and waits,
 * launch.c, list.c, end.c and offers.c are the operations.  kit/gcp/ has tokens
 * and codes.  Why it is so: README.md.
 */
#ifndef GCE_GCE_H
#define GCE_GCE_H

#include <stdatomic.h>

#include "kit/gcp/gcp.h"
#include "kit/join.h"
#include "kit/str.h"
#include "provider.h"

#define NAME_SIZE 64 /* an instance's name has up to 63 bytes */
#define LABEL_CLUSTER "davit-cluster"
#define LABEL_REQUEST "davit-request"
#define LABEL_TYPE "davit-type"

enum own_gpus { OWN_UNKNOWN, OWN_NONE, OWN_SOME };

struct gce_type {
    char *name, *machine;
    bool spot;
    char **zones;
    size_t n_zones;
    json_t *node; /* as instances.insert takes it, without what body.c adds */
    /* Has the machine type GPUs of its own?  UNKNOWN until Google was asked. */
    atomic_int own_gpus;
    char *given;    /* the machine type of node_config; NULL: it says none */
    char *template; /* an instance template to begin with; NULL: none */
    char *join, *user, *resources; /* of the startup script; NULL: none */
};

struct gce {
    struct gcp gcp;
    struct kit_keep keep; /* of the configuration */
    char *cluster, *project, *url;
    struct kit_head head;
    struct gce_type all; /* what every type has unless it says otherwise */
    struct gce_type *types;
    size_t n_types;
    /* Google answers a request id that it knows with its first operation, also
     * one that failed: after a failure the ids are new ones.  Two instances of
     * one name there cannot be. */
    atomic_uint salt;
};

struct op { /* one running operation */
    struct gce *g;
    struct davit_call *call;
    struct davit_error *e;
};

/* options.c */
extern const struct kit_option gce_options[];
int options_read(struct gce *g, const struct davit_setup *s,
                 struct davit_error *e);
void options_done(struct gce *g);
const struct gce_type *type_find(const struct gce *g, const char *name);

/* body.c: of one instance; for json_decref().  What the type's node_config says
 * stands; the rest is made to be right for GPUs and for the market. */
json_t *body_make(const struct gce *g, const struct gce_type *t,
                  const struct davit_launch *l, const char *name,
                  const char *script);
/* What is attached to a machine of this type; "" and 0: nothing is. */
void body_accelerator(const struct gce_type *t, char ret[64], int64_t *count);
/* Any text as a label's value, and back: a-z, 0-9 and - stay, others are _ and
 * two hex digits.  False: it does not fit 63 bytes. */
bool label_make(const char *text, char ret[NAME_SIZE]);
void label_read(const char *label, char *ret, size_t size);

/* join.c: for free(); *ret NULL: the type has none.  A startup script that the
 * user's own metadata have is run first, by it. */
int join_script(struct op *op, const struct gce_type *t,
                const struct davit_launch *l, char **ret);
#define STARTUP_SCRIPT "startup-script"

/* api.c: path is below /compute/v1/projects/PROJECT/. */
int api_send(struct op *op, const char *method, const char *path, json_t *body,
             json_t **ret);
/* Until the zone's operation is done: what came of it.  *ret_told: it is that;
 * otherwise nobody knows, and the status is RETRY or CANCELLED; OK, when Google
 * has forgotten the operation. */
int api_wait(struct op *op, const char *zone, const char *operation,
             bool *ret_told);
/* Are these letters of a name, so that they may go into a path? */
bool name_plain(const char *name);
/* "zones/Z/instances/N" of a machine's id, for free(); NULL: no id of ours. */
char *instance_path(const char *id);

/* offers.c: the type in a zone, as Google has it; for json_decref().  NOT_FOUND:
 * the zone does not have it. */
int machine_ask(struct op *op, const struct gce_type *t, const char *zone,
                json_t **ret);

/* list.c, launch.c, end.c, offers.c, console.c */
int gce_list(void *self, struct davit_call *call, struct davit_sink *sink,
             davit_put_machine *put, struct davit_error *e);
int gce_launch(void *self, struct davit_call *call,
               const struct davit_launch *l, struct davit_sink *sink,
               davit_put_machine *put, struct davit_error *e);
int gce_terminate(void *self, struct davit_call *call, const char *const *ids,
                  size_t n_ids, struct davit_sink *sink, davit_put_done *done,
                  struct davit_error *e);
int gce_find(void *self, struct davit_call *call, const char *const *ids,
             size_t n_ids, struct davit_sink *sink, davit_put_done *done,
             struct davit_error *e);
int gce_offers(void *self, struct davit_call *call, struct davit_sink *sink,
               davit_put_offer *put, struct davit_error *e);
int gce_console(void *self, struct davit_call *call, const char *id,
                struct davit_sink *sink, davit_put_text *put,
                struct davit_error *e);

#endif
