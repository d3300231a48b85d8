/*
 * http.h - one blocking HTTP exchange over libcurl.
 *
 * A client keeps connections for reuse and belongs to one thread at a time.
 * Bodies have a ceiling; a deadline bounds the whole exchange; a cancel flag
 * ends it early.  libcurl itself honours HTTPS_PROXY and NO_PROXY.
 * http_stream() is for a reply without an end, passed on as it comes.
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

/* PEM in memory; takes precedence over the *_file members. */
struct http_blob {
    const void *p;
    size_t n;
};
struct http_tls {
    struct http_blob ca, cert, key; /* n == 0: none */
    bool insecure;                  /* the certificate is not checked */
    const char *server_name;        /* what it must be for, and what SNI
                                     * says; NULL: the URL's host */
};

struct http_exchange {
    const char *method, *url;
    const struct davit_kv *headers;
    size_t n_headers;
    const void *body;
    size_t body_len;
    const char *label;   /* what messages call the other side; NULL:
                          * the URL without user and query */
    const char *ca_file; /* NULL: the system's */
    const char *cert_file, *key_file; /* NULL: no client certificate */
    const struct http_tls *tls;       /* NULL: none; outlives the exchange */
    const char *proxy;                /* NULL: as the environment says */
    const char *unix_socket;          /* NULL: TCP */
    bool plain_token; /* credentials may go without TLS, wherever it is: for
                       * the protocols that have it so (Ray's, our own API) */
    bool http2_only;  /* prior knowledge, for gRPC without TLS; may
                                * be sent twice: idempotent requests only */
    int64_t deadline_mono_ms;  /* 0: 30 s from now */
    const atomic_bool *cancel; /* NULL: none */
    size_t max_reply;          /* 0: 64 MiB */
    /* the reply, in the arena */
    int status;
    const char *reply; /* NUL-terminated */
    size_t reply_len;
    const struct davit_kv *reply_headers; /* lower case names, trailers too */
    size_t n_reply_headers;
};

/* OK whenever there is an HTTP answer, whatever its status code.  RETRY: no
 * connection, reset, time over; CANCELLED; INVALID: a bad URL or TLS set-up. */
enum status http_do(struct http_client *c, struct http_exchange *x,
                    struct arena *arena, struct err *err);

/* A reply that goes on.  Chunks of a reply with a 2xx status go to chunk(), in
 * the caller's thread; false from it ends the exchange.  Other replies are
 * collected as http_do() does.  deadline_mono_ms is for the headers only;
 * afterwards it ends with RETRY when nothing came for idle_ms (0: never), with
 * CANCELLED by the flag, and with OK when the server or chunk() ended it.
 * max_reply is of the collected reply.  A peer that vanished is
 * noticed within about 30 s (TCP keep-alive). */
struct http_sink {
    bool (*chunk)(void *ctx, const char *p, size_t n);
    void (*begin)(void *ctx); /* headers of a 2xx are there; may be NULL */
    void *ctx;
    int64_t idle_ms;
};
enum status http_stream(struct http_client *c, struct http_exchange *x,
                        const struct http_sink *sink, struct arena *arena,
                        struct err *err);
/* Makes the exchange under way check its cancel flag now.  Any thread. */
void http_wake(struct http_client *c);

const char *http_reply_header(const struct http_exchange *x, const char *name);

#endif
