/*
 * gcp.h - Google Cloud as its plug-ins need it: tokens from where Google's own
 * libraries take them, requests that carry one, codes turned into reactions.
 *
 * A plug-in embeds struct gcp, fills in what its settings say and calls
 * gcp_init().  Thread: a struct gcp may be used by many operations at once.
 *
 * Order of credentials: cloud.google.com/docs/authentication/
 * application-default-credentials.
 */
#ifndef KIT_GCP_GCP_H
#define KIT_GCP_GCP_H

#include <stdatomic.h>

#include "../exchange.h"

struct gcp {
    const struct davit_host *host;
    char *credentials;  /* a file; NULL: as Google's own libraries */
    char *metadata_url; /* without a slash at the end */
    char *universe; /* "googleapis.com"; another one is a cloud of its own */
    struct kit_token token;
    atomic_bool quotas_told; /* that they cannot be read */
};

/* Of the settings, for a plug-in's table; `member` is its struct gcp.  As
 * Google's own libraries have it (google.aip.dev/auth/4111). */
#define GCP_UNIVERSE(type, member) \
    { \
        "universe_domain", \
            "of a cloud that Google runs for others: s3nsapis.fr", KIT_NAME, \
            KIT_AT(type, member.universe), \
            .allowed = "a-z 0-9 - .", .max = 100, \
            .env = "GOOGLE_CLOUD_UNIVERSE_DOMAIN", \
            .fallback = GCP_UNIVERSE_USUAL \
    }
#define GCP_UNIVERSE_USUAL "googleapis.com"
/* "https://compute.googleapis.com" of another universe, when *url is Google's
 * own: its settings say no other one. */
void gcp_universe_url(const struct gcp *g, struct kit_keep *keep,
                      const char *service, char **url);

/* keep: where what is read of the environment lives. */
void gcp_init(struct gcp *g, const struct davit_host *host,
              struct kit_keep *keep);
void gcp_done(struct gcp *g);

struct gcp_request {
    const char *method;
    const char *base; /* "https://compute.googleapis.com", no slash */
    const char *path; /* "/compute/v1/projects/...", query and all, encoded */
    json_t *body;     /* borrowed; NULL: none */
};
/* OK: *ret is the reply, the caller's.  Else the error is filled. */
int gcp_send(struct gcp *g, struct davit_call *call,
             const struct gcp_request *r, json_t **ret, struct davit_error *e);
/* A UUID made of these bytes, as Google's requestId wants one: the same bytes,
 * the same id. */
void gcp_request_id(char ret[37], const void *data, size_t n);

/* What a code of Google's (or a text with one in it) asks for; RETRY when it
 * is not known. */
enum davit_status gcp_status(const char *code, const char *text);
/* Of a compute operation that is done, or of an instance's last attempt:
 * {"errors": [{code, message, errorDetails}]}; OK when there is none. */
int gcp_error_list(const json_t *errors, struct davit_error *e);
/* Of a container operation that is done. */
int gcp_error_operation(const json_t *operation, struct davit_error *e);

/* ---- instances.c */

/* Compute Engine's word on one instance: OK, or NOT_FOUND; RETRY for a 404 that
 * speaks of something else. */
int gcp_instance_find(struct gcp *g, struct davit_call *call, const char *url,
                      const char *project, const char *zone, const char *name,
                      struct davit_error *e);

/* ---- quota.c */

struct gcp_place {
    const char *url; /* Compute Engine's, no slash */
    const char *project, *zone;
};
/* Adds what is not there yet of the quotas of the project and of the zone's
 * region to `all`, an object of the caller's.  Without the right to read them
 * there is no limit, and a line in the log says so, once. */
int gcp_quotas(struct gcp *g, struct davit_call *call,
               const struct gcp_place *in, json_t *all, struct davit_error *e);
struct gcp_machine {
    const char *machine;     /* "n1-standard-8" */
    const char *accelerator; /* "nvidia-tesla-t4", "" none */
    int64_t cpus, gpus;
    bool spot;
};
struct kit_quotas;
/* Adds the quotas that such a machine takes of to ret.  The note names one that
 * is used up; "": none is. */
void gcp_room(const json_t *all, const char *zone, const struct gcp_machine *m,
              struct kit_quotas *ret, char *note, size_t size);

/* For the files of kit/gcp/ only. */
int gcp_error_http(void *unused, const struct davit_http *x,
                   const json_t *reply, struct davit_error *e);
int gcp_token_fetch(void *arg, struct davit_call *call, char **ret_value,
                    int64_t *ret_lives_ms, struct davit_error *e);

#endif
