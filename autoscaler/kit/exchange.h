/*
 * exchange.h - one request to a JSON API: its token, its reply, and what the
 * reply asks for.
 *
 * A token that is refused (401) is fetched anew and the request sent once
 * more.  Nothing else is repeated here: the daemon repeats calls, at a pace
 * that suits the whole.  Thread: any.
 */
#ifndef KIT_EXCHANGE_H
#define KIT_EXCHANGE_H

#include "json.h"
#include "token.h"

struct kit_request {
    const char *method;
    const char *url;    /* whole, or a path below the API's base */
    const json_t *json; /* the body, borrowed; or: */
    const char *body;
    const char *type;               /* of the body; NULL: JSON */
    const struct davit_kv *headers; /* more of them, up to 16 */
    size_t n_headers;
    bool loose; /* a good reply need not be a JSON object */
};

struct kit_api {
    const struct davit_host *host;
    const char *base;        /* the token goes there and below only */
    struct kit_token *token; /* NULL: none is sent */
    kit_token_fetch *fetch;
    void *arg;    /* of fetch */
    void *judged; /* of judge */
    /* Fills *e and returns the class of a reply that is not 2xx; json is NULL
     * when it is none.  A Retry-After is read by the caller. */
    int (*judge)(void *judged, const struct davit_http *x, const json_t *reply,
                 struct davit_error *e);
    const char *ca_file, *cert_file, *key_file;
    bool brief;
};

/* *ret is the reply's JSON, also of an error, NULL when it is none: the
 * caller's to drop.  x: the rest of the reply, for as long as the host keeps
 * it. */
int kit_exchange(const struct kit_api *a, struct davit_call *call,
                 const struct kit_request *r, struct davit_http *x,
                 json_t **ret, struct davit_error *e);

/* Is url at the base's scheme, host and port, or at a host below that one?
 * Links in replies are followed only then. */
bool kit_url_below(const char *base, const char *url);

#endif
