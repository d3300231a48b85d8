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

/* profile.c: settings of one profile, both files */
struct profile;
struct profile *profile_read(const char *name); /* NULL: there is none */
const char *profile_get(const struct profile *p, const char *key); /* NULL */
void profile_free(struct profile *p);

/* request.c; keys NULL: unsigned */
int aws_query_as(struct aws_op *op, enum aws_service s,
                 const struct kit_str *form, const struct credentials *keys,
                 struct xml_doc **ret_doc, const struct xml **ret);
/* Metadata and agents. */
int aws_plain(struct aws_op *op, struct davit_http *x);

/* errors.c: OK for 2xx, else *op->error filled. */
int aws_reply(struct aws_op *op, const struct davit_http *x);

#endif
