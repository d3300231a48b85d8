/*
 * http_set.h - how an exchange is carried, as options of libcurl; shared by
 * http.c and http_set.c only.
 */
#ifndef WIRE_HTTP_SET_H
#define WIRE_HTTP_SET_H

#include <curl/curl.h>

#include "http.h"

/* The URL that curl is given: the exchange's, or with the name in it that the
 * server's certificate is for. */
const char *http_set_url(const struct http_exchange *x, struct arena *arena);
/* Protocol, TLS, proxies.  What the options point to is in the exchange or
 * the arena. */
void http_set_transport(CURL *e, const struct http_exchange *x, bool tls,
                        struct arena *arena);
/* A reply without an end: a peer that is gone must be noticed. */
void http_set_stream(CURL *e);

#endif
