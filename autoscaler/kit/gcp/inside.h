/*
 * inside.h - what the files of kit/gcp/ share; for them only.
 */
#ifndef KIT_GCP_INSIDE_H
#define KIT_GCP_INSIDE_H

#include "gcp.h"

#define SCOPE "https://www.googleapis.com/auth/cloud-platform"
#define SCOPE_IAM "https://www.googleapis.com/auth/iam"
#define LIFE_S 3600

/* One fetch at work. */
struct at {
    struct gcp *g;
    struct davit_call *call;
    struct davit_error *e;
    const char *scope; /* of the token wanted */
};

/* auth.c.  Secrets go out with it, so a file may name only where they may go;
 * `who` is for messages.  For json_decref(*ret), NULL unless OK. */
int gcp_ask(struct at *op, const struct kit_request *r, const char *who,
            struct davit_http *x, json_t **ret);
int gcp_ask_form(struct at *op, const char *url, const struct davit_kv *kv,
                 size_t n, const char *who, json_t **ret);
/* Takes the reply; *ret for kit_wipe(). */
int gcp_token_out(struct at *op, json_t *reply, char **ret,
                  int64_t *ret_lives_ms);
const char *gcp_text_or(const json_t *j, const char *key, const char *fallback);
/* A token of the service account that the file names, by another token. */
int gcp_impersonate(struct at *op, const json_t *file, const char *token,
                    char **ret, int64_t *lives);

/* federation.c */
int gcp_from_federation(struct at *op, const json_t *file, char **ret,
                        int64_t *lives);

#endif
