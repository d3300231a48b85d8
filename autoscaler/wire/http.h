/*
 * http.h - one blocking HTTP exchange over libcurl.
 *
 * A client keeps connections for reuse and belongs to one thread at a time.
 * Bodies have a ceiling; a deadline bounds the whole exchange; a cancel flag
 * ends it early.  Proxies (HTTPS_PROXY, NO_PROXY) are libcurl's own doing.
 */
#ifndef WIRE_HTTP_H
#define WIRE_HTTP_H

#include <stdatomic.h>
#include <stdbool.h>

#include "../base/arena.h"
#include "../base/err.h"

struct http_client;

struct http_client *http_client_new(void);
void http_client_free(struct http_client *c);

struct http_exchange {
    const char *method, *url;
    const struct davit_kv *headers;
    size_t n_headers;
    const void *body;
    size_t body_len;
    const char *label;            /* what messages call the other side; NULL:
                                   * the URL without user and query */
    const char *ca_file;          /* NULL: the system's */
    const char *cert_file, *key_file;  /* NULL: no client certificate */
    const char *unix_socket;      /* NULL: TCP */
    bool http2_only;              /* prior knowledge, for gRPC without TLS; may
                                   * be sent twice: idempotent requests only */
    int64_t deadline_mono_ms;     /* 0: 30 s from now */
    const atomic_bool *cancel;    /* NULL: none */
    size_t max_reply;             /* 0: 64 MiB */
    /* the reply, in the arena */
    int status;
    const char *reply;            /* NUL-terminated */
    size_t reply_len;
    const struct davit_kv *reply_headers;  /* lower case names, trailers too */
    size_t n_reply_headers;
};

/* OK whenever there is an HTTP answer, whatever its status code.  RETRY: no
 * connection, reset, time over; CANCELLED; INVALID: a bad URL or TLS set-up. */
enum status http_do(struct http_client *c, struct http_exchange *x,
                    struct arena *arena, struct err *err);
const char *http_reply_header(const struct http_exchange *x, const char *name);

#endif
