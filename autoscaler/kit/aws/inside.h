/*
 * inside.h - what the files of kit/aws/ share; for them only.
 */
#ifndef KIT_AWS_INSIDE_H
#define KIT_AWS_INSIDE_H

#include "aws.h"

struct credentials {
    char *access_key, *secret_key, *token; /* token: NULL for none */
    char *text;                            /* all of it, as the cache has it */
    int64_t expires_ms;                    /* wall; INT64_MAX: never */
};

/* credentials.c */
int aws_keys(struct aws_op *op, struct credentials *ret); /* a copy */
const char *aws_profile_name(const struct aws_op *op);

/* roles.c */
void credentials_free(struct credentials *c);
bool credentials_set(struct credentials *c, const char *access,
                     const char *secret, const char *token,
                     const char *expiration);
int role_by_web_identity(struct aws_op *op, const char *role, const char *file,
                         const char *session, struct credentials *ret);
int role_by_keys(struct aws_op *op, const char *role, const char *session,
                 const char *external_id, const struct credentials *by,
                 struct credentials *ret);
int metadata_keys(struct aws_op *op, struct credentials *ret);
int metadata_region(struct aws_op *op, char *ret, size_t size);
int container_keys(struct aws_op *op, struct credentials *ret);

/* process.c, sso.c: other programs' */
int process_keys(struct aws_op *op, const char *command,
                 struct credentials *ret);
struct profile;
int sso_keys(struct aws_op *op, const struct profile *p, const char *name,
             struct credentials *ret);

/* profile.c: settings of one profile, both files */
struct profile *profile_read(const char *name);    /* NULL: there is none */
struct profile *profile_session(const char *name); /* [sso-session NAME] */
/* [services NAME]; of an indented block each key is "ec2.endpoint_url" */
struct profile *profile_services(const char *name);
const char *profile_get(const struct profile *p, const char *key); /* NULL */
void profile_free(struct profile *p);

/* request.c; keys NULL: unsigned */
int aws_query_as(struct aws_op *op, enum aws_service s,
                 const struct kit_str *form, const struct credentials *keys,
                 struct xml_doc **ret_doc, const struct xml **ret);
/* Metadata and agents. */
int aws_plain(struct aws_op *op, struct davit_http *x);

/* endpoint.c */
const char *aws_service_name(enum aws_service s); /* as it is signed */
/* scheme://host[:port] of the service, without a slash at its end.  AUTH: a
 * signed request must not go there, or the profile says nonsense. */
int aws_endpoint(const struct aws_op *op, enum aws_service s,
                 const char *region, struct kit_str *ret);

/* errors.c: OK for 2xx, else *op->error filled. */
int aws_reply(struct aws_op *op, const struct davit_http *x);

#endif
