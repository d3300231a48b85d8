/*
 * aws.h - AWS as its plug-ins need it: credentials in the SDKs' order, signed
 * requests, replies read, codes turned into reactions.
 *
 * A plug-in embeds struct aws, fills in what its settings say (aws_options
 * names them), calls aws_init() and, for each operation, aws_op_begin().  All
 * goes through the host's HTTP.  A reply that is cut short or is not what it
 * says is RETRY, never half an answer.
 *
 * Order of credentials and names of variables:
 * docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html
 * Thread: a struct aws may be used by many operations at once; a struct aws_op
 * by its own.
 */
#ifndef KIT_AWS_AWS_H
#define KIT_AWS_AWS_H

#include <pthread.h>
#include <stdatomic.h>

#include "../json.h"
#include "../str.h"
#include "../token.h"
#include "../xml.h"

enum aws_service {
    AWS_EKS,
    AWS_AUTOSCALING,
    AWS_EC2,
    AWS_STS,
    AWS_SSO,
    AWS_SSO_OIDC,
    AWS_QUOTAS,
    AWS_SERVICES
};

struct aws {
    const struct davit_host *host;
    /* from the settings, kept by the plug-in; NULL: not given */
    char *profile, *region_given, *metadata;
    char *endpoints[AWS_SERVICES];
    const char *session; /* what role sessions are named after */
    /* aws_init() and what follows */
    struct kit_token keys;
    _Atomic int64_t clock_off_ms; /* AWS's clock minus ours; 0: about right */
    atomic_bool quotas_told;      /* that they cannot be read */
    pthread_mutex_t lock;         /* of what follows */
    char region[48];              /* "" not known yet */
    bool configured_read;         /* the profile's endpoints are known */
    bool fips, dual;              /* so the profile wants them */
    char *configured[AWS_SERVICES];
};

/* "https://ec2.us-east-1.amazonaws.com", by the region's partition. */
void aws_host(enum aws_service s, const char *region, bool fips, bool dual,
              struct kit_str *ret);

struct aws_op { /* one running operation */
    struct aws *aws;
    struct davit_call *call;
    struct davit_error *error; /* may be NULL */
    int64_t server_ms;         /* the cloud's clock, from its last answer */
};

/* The settings that every AWS plug-in has, for its table of options: `type` is
 * the plug-in's struct, `member` the struct aws in it. */
#define AWS_OPTIONS(type, member) \
    {"region", \
     "such as us-east-1; else AWS_REGION, the profile, the instance", \
     KIT_TEXT, KIT_AT(type, member.region_given)}, \
        {"profile", "of the AWS credentials and config files", KIT_TEXT, \
         KIT_AT(type, member.profile)}, \
        AWS_METADATA(type, member)
#define AWS_METADATA(type, member) \
    { \
        "endpoints.metadata", "its URL", KIT_URL, \
            KIT_AT(type, member.metadata), \
            .env = "AWS_EC2_METADATA_SERVICE_ENDPOINT", \
            .fallback = "http://169.254.169.254" \
    }

void aws_init(struct aws *a, const struct davit_host *host);
void aws_done(struct aws *a);
struct aws_op aws_op_begin(struct aws *a, struct davit_call *call,
                           struct davit_error *error);
/* "" is never returned with OK. */
int aws_region(struct aws_op *op, char *ret, size_t size);

/* The private address of the instance that this runs on, by its metadata. */
int aws_own_address(struct aws_op *op, char *ret, size_t size);

/* ---- requests: an operation's form, sent to a service; OK with its XML, for
 * xml_free(*ret_doc).  Credentials that the cloud calls too old are renewed,
 * and a clock that is wrong is corrected by the cloud's own, once. */
void aws_form_begin(struct kit_str *f, enum aws_service s, const char *action);
/* "Names.member." and n, from 1 */
void aws_form_nth(struct kit_str *f, const char *name, size_t n,
                  const char *value);
int aws_query(struct aws_op *op, enum aws_service s, const struct kit_str *form,
              struct xml_doc **ret_doc, const struct xml **ret);
/* The same, for an answer that says no more than that it was done. */
int aws_do(struct aws_op *op, enum aws_service s, const struct kit_str *form);
/* GET path (encoded) of a service that speaks JSON; for json_decref(*ret). */
int aws_json(struct aws_op *op, enum aws_service s, const char *path,
             json_t **ret);

/* The same of one that speaks JSON 1.1: the operation that `target` names. */
int aws_json_call(struct aws_op *op, enum aws_service s, const char *target,
                  const json_t *body, json_t **ret);

/* instances.c: EC2's word on each of these; done(): OK, or NOT_FOUND for one that
 * is not there or has ended.  Those it says nothing of are not reported. */
int aws_instances_find(struct aws_op *op, const char *const *ids, size_t n_ids,
                       struct davit_sink *sink, davit_put_done *done);

/* identity.c: a request by which AWS tells whoever sends it who we are, as
 * {"url", "method", "headers": [{"key", "value"}]}; url_form has "{region}" in
 * it, `bound` is a header that the signature covers.  For json_decref(). */
int aws_caller_identity(struct aws_op *op, const char *url_form,
                        struct davit_kv bound, json_t **ret);

/* ---- errors: AWS's codes, by the reaction each needs ---- */
int aws_status(const char *code, const char *text);
/* The code inside a sentence of AWS's, and its reaction. */
int aws_sentence(const char *text, char *ret_code, size_t size);

#endif
