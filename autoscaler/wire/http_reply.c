/*
 * http_reply.c - what one exchange collects while it runs.  See http_inside.h.
 */
#include "http_inside.h"

#include <ctype.h>
#include <string.h>

#include "../base/clock.h"

size_t http_take_body(char *data, size_t size, size_t n, void *arg)
{
    struct reply *r = arg;
    if (r->streaming) {
        r->heard_ms = clock_mono_ms();
        r->stopped = !r->sink->chunk(r->sink->ctx, data, size * n);
        return r->stopped ? 0 : size * n;
    }
    if (buf_add(&r->client->body, data, size * n))
        return size * n;
    r->too_long_body = true;
    return 0;
}

/* The empty line behind a stream's headers: is what follows the stream? */
static void headers_end(struct reply *r)
{
    long code = 0;
    curl_easy_getinfo(r->client->easy, CURLINFO_RESPONSE_CODE, &code);
    if (!r->sink || r->streaming || code < 200 || code > 299)
        return;
    r->streaming = true;
    r->heard_ms = clock_mono_ms();
    if (r->sink->begin)
        r->sink->begin(r->sink->ctx);
}

/* Also called for trailers, and for the headers of a 1xx or a proxy's answer,
 * which a new status line makes us forget. */
size_t http_take_header(char *data, size_t size, size_t n, void *arg)
{
    struct reply *r = arg;
    size_t len = size * n;
    if (len >= 5 && memcmp(data, "HTTP/", 5) == 0) {
        r->headers.n = 0;
        return len;
    }
    const char *colon = memchr(data, ':', len);
    if (!colon || colon == data) {
        headers_end(r);                 /* the empty line between */
        return len;
    }
    r->header_bytes += len;
    if (r->headers.n == MAX_HEADERS || r->header_bytes > MAX_HEADER_BYTES) {
        r->too_long_headers = true;
        return 0;
    }
    char *key = arena_strndup(r->arena, data, (size_t)(colon - data));
    for (char *k = key; *k; k++)
        *k = (char)tolower((unsigned char)*k);
    const char *from = colon + 1, *to = data + len;
    while (from < to && (*from == ' ' || *from == '\t'))
        from++;
    while (to > from && isspace((unsigned char)to[-1]))
        to--;
    struct davit_kv kv = { key, arena_strndup(r->arena, from,
                                              (size_t)(to - from)) };
    VEC_PUSH(r->arena, &r->headers, kv);
    return len;
}

const char *http_reply_header(const struct http_exchange *x, const char *name)
{
    const char *found = NULL;  /* the last one: a trailer beats a header */
    for (size_t i = 0; i < x->n_reply_headers; i++)
        if (strcmp(x->reply_headers[i].key, name) == 0)
            found = x->reply_headers[i].value;
    return found;
}
