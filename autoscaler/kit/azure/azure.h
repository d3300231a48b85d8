/*
 * azure.h - Azure as its plug-ins need it: tokens from where azure-identity
 * takes them, requests to Azure Resource Manager, its codes turned into
 * reactions, and what a machine size has and may be had.
 *
 * A plug-in embeds struct azure, lists AZURE_OPTIONS among its settings and
 * calls azure_init(), then azure_settle() when the settings are read.  Thread:
 * a struct azure may be used by many operations at once.
 *
 * Requests and long-running operations: learn.microsoft.com/azure/
 * azure-resource-manager/management/async-operations.
 */
#ifndef KIT_AZURE_AZURE_H
#define KIT_AZURE_AZURE_H

#include <stdatomic.h>

#include "../exchange.h"

enum azure_auth { AZURE_SECRET, AZURE_WORKLOAD, AZURE_MANAGED, AZURE_AS_GIVEN };

/* Asked before each request: may wait for its turn, or refuse it. */
typedef int azure_pace(void *arg, struct davit_call *call, const char *method,
                       const char *url, struct davit_error *e);

/* Told of each reply, which may say what is left of a limit. */
typedef void azure_seen(void *arg, const struct davit_http *x);

struct azure {
    const struct davit_host *host;
    char *endpoint, *audience, *authority, *imds;
    char *tenant, *client, *secret, *secret_file, *token_file;
    uint32_t auth; /* enum azure_auth */
    struct kit_token token;
    azure_pace *pace; /* NULL: none */
    azure_seen *seen; /* likewise */
    void *paced;      /* the arg of both */
    pthread_mutex_t lock;
    json_t *sizes; /* by name; they change rarely.  Under lock */
    int64_t sizes_ms;
    char *prices;           /* the list's URL, "" none */
    json_t *list, *list_of; /* prices.c; of which sizes.  Under lock, */
    int64_t list_ms, prices_asked_ms; /* as these */
    atomic_bool prices_told;
    json_t *versions; /* api-version as we ask it -> as this cloud serves it;
                       * under lock */
};

#define AZURE_OPTIONS(type, m) \
    {"auth", \
     "client_secret, workload_identity or managed_identity; else by what is " \
     "given", \
     KIT_CHOICE, KIT_AT(type, m.auth), \
     .allowed = "client_secret|workload_identity|managed_identity"}, \
        {"tenant_id", \
         "of the application, an id or a domain", \
         KIT_NAME, \
         KIT_AT(type, m.tenant), \
         .env = "AZURE_TENANT_ID", \
         .fallback = "", \
         .allowed = "a-z A-Z 0-9 . -"}, \
        {"client_id", \
         "the application or the user-assigned identity", \
         KIT_TEXT, \
         KIT_AT(type, m.client), \
         .env = "AZURE_CLIENT_ID", \
         .fallback = ""}, \
        {"client_secret",        "better: client_secret_file", KIT_TEXT, \
         KIT_AT(type, m.secret), .env = "AZURE_CLIENT_SECRET", .fallback = ""}, \
        {"client_secret_file", \
         "a file that holds the secret, read at each renewal", KIT_TEXT, \
         KIT_AT(type, m.secret_file), .fallback = ""}, \
        {"federated_token_file", \
         "of the workload identity", \
         KIT_TEXT, \
         KIT_AT(type, m.token_file), \
         .env = "AZURE_FEDERATED_TOKEN_FILE", \
         .fallback = ""}, \
        {"prices", \
         "the public price list, \"\" for none", \
         KIT_TEXT, \
         KIT_AT(type, m.prices), \
         .fallback = AZURE_PRICES, \
         .none = true}, \
        {"endpoint", "Azure Resource Manager", KIT_URL, \
         KIT_AT(type, m.endpoint), .fallback = AZURE_PUBLIC}, \
        {"audience", "what tokens are for; else the endpoint", KIT_TEXT, \
         KIT_AT(type, m.audience)}, \
        {"authority", \
         "where tokens come from", \
         KIT_URL, \
         KIT_AT(type, m.authority), \
         .env = "AZURE_AUTHORITY_HOST", \
         .fallback = "https://login.microsoftonline.com"}, \
    { \
        "imds", "the instance metadata service", KIT_URL, \
            KIT_AT(type, m.imds), .env = "AZURE_POD_IDENTITY_AUTHORITY_HOST", \
                                  .fallback = "http://169.254.169.254" \
    }
#define AZURE_PRICES "https://prices.azure.com"
#define AZURE_PUBLIC "https://management.azure.com"

void azure_init(struct azure *a, const struct davit_host *host);
void azure_done(struct azure *a);
/* What the settings lack: INVALID, with the option's key as its code. */
int azure_settle(struct azure *a, struct kit_keep *keep, struct davit_error *e);

struct azure_request {
    const char *method, *url;
    const char *if_match; /* NULL: none */
    bool if_none;         /* make it only where there is none: else 412 */
    const json_t *body;   /* borrowed; NULL: none */
};
struct azure_reply {
    int status;
    json_t *json;          /* the caller's, also of an error; NULL: no JSON */
    const char *operation; /* Azure-AsyncOperation or Location, or NULL */
};
/* Links in replies are followed only to the endpoint or below it. */
int azure_send(struct azure *a, struct davit_call *call,
               const struct azure_request *r, struct azure_reply *ret,
               struct davit_error *e);
/* *ret is the caller's, NULL when it failed. */
int azure_get(struct azure *a, struct davit_call *call, const char *url,
              json_t **ret, struct davit_error *e);
/* The value[] of every page; likewise. */
int azure_pages(struct azure *a, struct davit_call *call, const char *url,
                json_t **ret, struct davit_error *e);
/* ---- pace.c */

/* At most `burst` at once, one more every `every_ms`; 0: no limit. */
struct azure_bucket {
    double left;
    int64_t at_ms;
    uint32_t burst;
    int64_t every_ms;
};
/* How long until one may go; 0: it was taken.  Under a lock of the caller's. */
int64_t azure_bucket_take(struct azure_bucket *b, int64_t now_ms);
/* Waits for a turn.  RETRY: the call's time was over first. */
int azure_turn(struct azure *a, struct azure_bucket *b, struct davit_call *call,
               struct davit_error *e);

/* What an instance's metadata service says at a path such as
 * "instance/compute/name", as text.  False: we are on no instance. */
bool azure_metadata(struct azure *a, struct davit_call *call, const char *path,
                    char *ret, size_t size);

/* What an ARM error object says: fills *e; http is 0 for a failed operation. */
int azure_error(struct davit_error *e, const json_t *error, int http);

/* ---- sizes.c */

struct azure_market { /* of one region */
    const char *location;
    json_t *sizes;  /* by the names that were asked for; NULL: may not look */
    json_t *usages; /* the quota; NULL: may not look */
    json_t *prices; /* NULL: none are known */
};
/* names: an object whose keys are sizes.  Without the right to read sizes or
 * quotas they are NULL, and a line in the log says so. */
int azure_market(struct azure *a, struct davit_call *call,
                 const char *subscription, const char *location,
                 const json_t *names, struct azure_market *ret,
                 struct davit_error *e);
void azure_market_done(struct azure_market *m);
struct kit_offer;
/* CPU, GPU and memory of a size, as far as they are known. */
void azure_size_facts(const struct azure_market *m, const char *size,
                      struct kit_offer *o);
struct kit_quotas;
/* Why a size cannot be had there now; "": it can.  Adds the quotas that such a
 * machine takes of to room. */
void azure_size_note(const struct azure_market *m, const char *size,
                     const char *zone, bool spot, struct kit_quotas *room,
                     char *ret, size_t n);

/* ---- prices.c */

/* Fills m->prices with what is known of these sizes, and asks the public list
 * now and then; that it cannot be read is no failure. */
void azure_prices(struct azure *a, struct davit_call *call, const json_t *names,
                  struct azure_market *m);
/* Micro-dollars an hour; -1: not known. */
int64_t azure_price(const struct azure_market *m, const char *size, bool spot);

/* ---- for the files of kit/azure/ only */

/* The fetch of the token cache; arg is a struct azure. */
int azure_token_fetch(void *arg, struct davit_call *call, char **ret_value,
                      int64_t *ret_lives_ms, struct davit_error *e);
int azure_judge(void *unused, const struct davit_http *x, const json_t *reply,
                struct davit_error *e);
/* Entra ID's own way: {"error": "invalid_client", ...}. */
int azure_entra_judge(void *unused, const struct davit_http *x,
                      const json_t *reply, struct davit_error *e);

#endif
