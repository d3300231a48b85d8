/*
 * http_inside.h - what the http*.c files share; nobody else includes it.
 */
#ifndef WIRE_HTTP_INSIDE_H
#define WIRE_HTTP_INSIDE_H

#include <curl/curl.h>

#include "../base/buf.h"
#include "http.h"

struct http_client {
    CURLM *multi;
    CURL *easy;
    struct buf body;
    char error[CURL_ERROR_SIZE];
    char h2_origin[300];   /* see reuse_is_broken(); "" none */
    bool sent, sent_twice; /* see send_once() */
};

/* What one exchange collects while it runs. */
struct reply {
    struct http_client *client;
    struct arena *arena;
    VEC(struct davit_kv) headers;
    size_t header_bytes;
    bool too_long_body, too_long_headers;
    const struct http_sink *sink; /* NULL: http_do() */
    bool streaming, stopped;      /* a 2xx's headers came; chunk() had enough */
    int64_t heard_ms;             /* mono, streaming: the last byte */
};

/* ---- http_reply.c: callbacks of curl; arg is the struct reply */
enum { MAX_HEADERS = 256 };
#define MAX_HEADER_BYTES ((size_t)256 << 10)
size_t http_take_body(char *data, size_t size, size_t n, void *arg);
size_t http_take_header(char *data, size_t size, size_t n, void *arg);

/* ---- http_error.c */
/* INVALID: the URL or the method cannot be sent.  *ret_tls: https. */
enum status http_check(const struct http_exchange *x, bool *ret_tls,
                       struct err *err);
/* The status and message for an exchange that curl ended with this code. */
enum status http_failed(struct http_client *c, const struct http_exchange *x,
                        CURLcode code, const struct reply *r, int64_t took_ms,
                        struct err *err);

/* ---- http_set.c: an exchange as options of curl.  What they point to is in
 * the exchange or the arena. */

/* The URL that curl is given: the exchange's, or with the name in it that the
 * server's certificate is for. */
const char *http_set_url(const struct http_exchange *x, struct arena *arena);
/* ---- http_where.c */
/* False: credentials would cross a network without TLS. */
bool http_credentials_stay(const struct http_exchange *x);
/* Is it a question to a cloud's metadata service? */
bool http_goes_direct(const struct http_exchange *x);

/* Protocol, TLS, proxies. */
void http_set_transport(CURL *e, const struct http_exchange *x, bool tls,
                        struct arena *arena);
/* A reply without an end: a peer that is gone must be noticed. */
void http_set_stream(CURL *e);
void http_set_method(CURL *e, const struct http_exchange *x);
/* Fills a list that the caller frees; false: one cannot be sent. */
bool http_set_headers(const struct http_exchange *x, struct arena *arena,
                      struct curl_slist **list, struct err *err);

#endif
