/*
 * http.c - the one place where libcurl is spoken.
 *
 * A client owns one multi handle (the connections) and one easy handle, reset
 * before each exchange.  The exchange is driven by our own small loop and not
 * by curl_easy_perform(), so that a cancel is seen within 50 ms instead of
 * curl's second.  Nothing is followed, decoded or retried behind the caller's
 * back: a retry is a decision, and decisions are made above.  Only a GET or
 * HEAD is sent again by curl, when the kept connection it went out on is dead.
 */
#include "http_set.h"

#include <assert.h>
#include <ctype.h>
#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../base/buf.h"
#include "../base/clock.h"

#define DEFAULT_DEADLINE_MS 30000
#define CONNECT_MS 10000               /* a silent address is not worth more */
#define DEFAULT_MAX_REPLY ((size_t)64 << 20)
#define MAX_HEADERS 256u
#define MAX_HEADER_BYTES ((size_t)256 << 10)
#define KEEP_BYTES ((size_t)1 << 20)   /* of a grown reply buffer */
#define CANCEL_MS 50
#define MAX_TRIES 4                    /* of one http2_only exchange */

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
    const struct http_sink *sink;  /* NULL: http_do() */
    bool streaming, stopped;       /* a 2xx's headers came; chunk() had enough */
    int64_t heard_ms;              /* mono, streaming: the last byte */
};

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void init_once(void)
{
    /* never undone: other threads may be in the middle of an exchange */
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        mem_out();
}

struct http_client *http_client_new(void)
{
    pthread_once(&once, init_once);
    struct http_client *c = MEM_NEW(struct http_client);
    c->multi = mem_must(curl_multi_init());
    c->easy = mem_must(curl_easy_init());
    curl_multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, 4L);
    buf_init(&c->body, DEFAULT_MAX_REPLY);
    return c;
}

void http_client_free(struct http_client *c)
{
    if (!c)
        return;
    curl_easy_cleanup(c->easy);
    curl_multi_cleanup(c->multi);
    buf_done(&c->body);
    free(c);
}

static size_t take_body(char *data, size_t size, size_t n, void *arg)
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
static size_t take_header(char *data, size_t size, size_t n, void *arg)
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

/* The other side in a message: its label, or the URL with no user in it (it
 * may be a password), no query and no fragment. */
static const char *shown(const struct http_exchange *x, char *buf, size_t n)
{
    if (x->label)
        return x->label;
    const char *url = x->url;
    const char *host = strstr(url, "://");
    host = host ? host + 3 : url;
    size_t end = strcspn(host, "?#");
    size_t slash = strcspn(host, "/?#");
    const char *at = NULL;
    for (size_t i = 0; i < slash; i++)
        if (host[i] == '@')
            at = host + i;
    const char *from = at ? at + 1 : host;
    int scheme = (int)(host - url), rest = (int)(host + end - from);
    snprintf(buf, n, "%.*s%.*s", scheme, url, rest, from);
    return buf;
}

/* One "name: value" line for curl; false when it could smuggle another. */
static bool add_header(struct curl_slist **list, struct arena *arena,
                       const char *key, const char *value)
{
    if (!key[0] || strpbrk(key, ":\r\n") || strpbrk(value, "\r\n"))
        return false;
    const char *line = value[0] ? arena_printf(arena, "%s: %s", key, value)
                                : arena_printf(arena, "%s;", key);
    *list = mem_must(curl_slist_append(*list, line));
    return true;
}

static bool has_header(const struct http_exchange *x, const char *name)
{
    for (size_t i = 0; i < x->n_headers; i++)
        if (strcasecmp(x->headers[i].key, name) == 0)
            return true;
    return false;
}

static bool set_headers(struct http_exchange *x, struct arena *arena,
                        struct curl_slist **list, struct err *err)
{
    for (size_t i = 0; i < x->n_headers; i++)
        if (!add_header(list, arena, x->headers[i].key, x->headers[i].value)) {
            err_set(err, ST_INVALID, "a request header's name must not be "
                    "empty, and neither its name nor its value may contain a "
                    "line break (header %zu of %zu)", i + 1, x->n_headers);
            return false;
        }
    /* what curl would add by itself, and servers then wait for or mistake */
    static const char *const quiet[] = { "Expect:", "Content-Type:" };
    for (size_t i = 0; i < 2; i++) {
        if (i == 1 && has_header(x, "content-type"))
            break;
        *list = mem_must(curl_slist_append(*list, quiet[i]));
    }
    return true;
}

static void set_method(CURL *e, const struct http_exchange *x)
{
    const char *method = x->method ? x->method : "GET";
    if (x->body_len || strcmp(method, "POST") == 0) {
        curl_easy_setopt(e, CURLOPT_POST, 1L);
        curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE,
                         (curl_off_t)x->body_len);
        curl_easy_setopt(e, CURLOPT_POSTFIELDS, x->body ? x->body : "");
    }
    if (strcmp(method, "HEAD") == 0)
        curl_easy_setopt(e, CURLOPT_NOBODY, 1L);
    else
        curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, method);
}

/* curl 7.88 (Debian 12) puts HTTP/2 on top of HTTP/2 when a connection made
 * with prior knowledge is used again with prior knowledge.  Asked for HTTP/2
 * by upgrade it uses the kept connection as it is; should there be none, the
 * upgrade does not happen and the exchange is done again, with prior
 * knowledge. */
static bool reuse_is_broken(void)
{
    unsigned v = curl_version_info(CURLVERSION_NOW)->version_num;
    return v >= 0x075800 && v < 0x080000;
}

/* "http://host:port" of a URL, "" when too long to remember. */
static void origin_of(const char *url, char *buf, size_t n)
{
    const char *host = strstr(url, "://") + 3;
    size_t len = (size_t)(host - url) + strcspn(host, "/?#");
    snprintf(buf, n, "%.*s", len < n ? (int)len : 0, url);
}

static bool cancelled(const struct http_exchange *x)
{
    return x->cancel && atomic_load_explicit(x->cancel, memory_order_relaxed);
}

/* Milliseconds until it has taken too long; of a stream that runs, since the
 * last byte of it. */
static int64_t time_left(const struct reply *r, int64_t deadline)
{
    if (!r->streaming)
        return deadline - clock_mono_ms();
    if (!r->sink->idle_ms)
        return 1000;
    return r->heard_ms + r->sink->idle_ms - clock_mono_ms();
}

/* curl sends a request again when the kept connection it went out on broke
 * before the reply, though the server may have done what it says.  We hear of
 * every sending just before it; the second one does not take place. */
static int send_once(void *arg, char *ip, char *local_ip, int port,
                     int local_port)
{
    struct http_client *c = arg;
    (void)ip;
    (void)local_ip;
    (void)port;
    (void)local_port;
    c->sent_twice = c->sent;
    c->sent = true;
    return c->sent_twice ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

static bool may_repeat(const struct http_exchange *x)
{
    return x->http2_only || !x->method || strcmp(x->method, "GET") == 0 ||
           strcmp(x->method, "HEAD") == 0;
}

/* Runs what is set up to its end, its deadline or the cancel flag. */
static CURLcode run(struct http_client *c, const struct http_exchange *x,
                    const struct reply *r, int64_t deadline)
{
    CURLcode result = CURLE_OPERATION_TIMEDOUT;
    if (curl_multi_add_handle(c->multi, c->easy) != CURLM_OK)
        mem_out();
    for (bool done = false; !done;) {
        int running = 0, left;
        CURLMcode m = curl_multi_perform(c->multi, &running);
        for (CURLMsg *msg; (msg = curl_multi_info_read(c->multi, &left));)
            if (msg->msg == CURLMSG_DONE) {
                result = msg->data.result;
                done = true;
            }
        if (done || m != CURLM_OK)
            break;
        if (cancelled(x)) {
            result = CURLE_ABORTED_BY_CALLBACK;
            break;
        }
        int64_t rest = time_left(r, deadline);
        if (rest <= 0)
            break;                      /* curl's own timer is a safety net */
        /* who cancels a stream calls http_wake() as well */
        int64_t nap = x->cancel && rest > CANCEL_MS && !r->sink ? CANCEL_MS
                                                                : rest;
        curl_multi_poll(c->multi, NULL, 0, (int)(nap > 1000 ? 1000 : nap),
                        NULL);
    }
    curl_multi_remove_handle(c->multi, c->easy);
    return result;
}

static enum status failed(struct http_client *c, const struct http_exchange *x,
                          CURLcode code, const struct reply *r,
                          int64_t took_ms, struct err *err)
{
    char buf[200];
    const char *url = shown(x, buf, sizeof buf);
    const char *why = c->error[0] ? c->error : curl_easy_strerror(code);
    if (r->too_long_body)
        return err_set(err, ST_BROKEN, "%s sent more than %zu bytes, the most "
                       "that is read of one reply", url, c->body.max);
    if (r->too_long_headers)
        return err_set(err, ST_BROKEN, "%s sent more than %u headers or %zu "
                       "bytes of them", url, MAX_HEADERS, MAX_HEADER_BYTES);
    if (c->sent_twice)
        return err_set(err, ST_RETRY, "the kept connection to %s broke before "
                       "the reply: whether it was done is not known", url);
    switch (code) {
    case CURLE_ABORTED_BY_CALLBACK:
        return err_set(err, ST_CANCELLED, "the request to %s was cancelled",
                       url);
    case CURLE_UNSUPPORTED_PROTOCOL:  /* the URL's was looked at before */
    case CURLE_WEIRD_SERVER_REPLY:
        return err_set(err, ST_RETRY, "what %s sent is not HTTP: %s", url, why);
    case CURLE_URL_MALFORMAT:
        return err_set(err, ST_INVALID, "%s is not a URL that can be asked: "
                       "%s", url, why);
    case CURLE_SSL_CACERT_BADFILE:
        return err_set(err, ST_INVALID, "the CA file %s cannot be used: %s",
                       x->ca_file ? x->ca_file : "of the system", why);
    case CURLE_PEER_FAILED_VERIFICATION:
        return err_set(err, ST_INVALID, "the certificate of %s is not "
                       "trusted: %s; if it is signed by a CA of your own, "
                       "name that CA's file", url, why);
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ENGINE_NOTFOUND:
    case CURLE_SSL_CIPHER:
        return err_set(err, ST_INVALID, "TLS to %s cannot be set up: %s", url,
                       why);
    case CURLE_OPERATION_TIMEDOUT:
        if (r->streaming)
            return err_set(err, ST_RETRY, "%s was silent for %lld s", url,
                           (long long)r->sink->idle_ms / 1000);
        return err_set(err, ST_RETRY, "no answer from %s within %lld ms", url,
                       (long long)took_ms);
    case CURLE_COULDNT_RESOLVE_HOST:
        return err_set(err, ST_RETRY, "the host name of %s cannot be resolved: "
                       "%s",
                       url, why);
    case CURLE_COULDNT_CONNECT:
        return err_set(err, ST_RETRY, "no connection to %s: %s", url, why);
    default:
        return err_set(err, ST_RETRY, "the exchange with %s broke off: %s",
                       url, why);
    }
}

static enum status check(const struct http_exchange *x, bool *tls,
                         struct err *err)
{
    char url[200];
    *tls = strncasecmp(x->url, "https://", 8) == 0;
    if (!*tls && strncasecmp(x->url, "http://", 7) != 0)
        return err_set(err, ST_INVALID, "\"%s\" must begin with http:// or "
                       "https://", shown(x, url, sizeof url));
    for (const char *p = x->url; *p; p++)
        if ((unsigned char)*p <= ' ' || *p == 0x7f)
            return err_set(err, ST_INVALID, "\"%s\" has a space or a control "
                           "character in it: escape it as %%%02X",
                           shown(x, url, sizeof url), (unsigned char)*p);
    if (x->method && (!x->method[0] || strlen(x->method) > 16 ||
                      strspn(x->method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") !=
                          strlen(x->method)))
        return err_set(err, ST_INVALID, "\"%.20s\" is not an HTTP method",
                       x->method);
    return ST_OK;
}

/* A gRPC server may answer from the request's head alone and reset the stream
 * while the body is still on its way: curl 7.88 then drops the answer.  It is
 * a race, and mostly won the next time. */
static bool answer_dropped(const struct http_exchange *x, CURLcode code)
{
    return x->http2_only && code == CURLE_HTTP2_STREAM;
}

static bool was_http2(struct http_client *c)
{
    long version = 0;
    curl_easy_getinfo(c->easy, CURLINFO_HTTP_VERSION, &version);
    return version == CURL_HTTP_VERSION_2_0;
}

/* Was a new connection made for the last attempt? */
static bool connected(struct http_client *c)
{
    long n = 0;
    curl_easy_getinfo(c->easy, CURLINFO_NUM_CONNECTS, &n);
    return n > 0;
}

static CURLcode attempt(struct http_client *c, const struct http_exchange *x,
                        struct reply *r, struct curl_slist *headers, bool tls,
                        bool kept, int64_t deadline)
{
    CURL *e = c->easy;
    int64_t rest = deadline - clock_mono_ms();
    curl_easy_reset(e);
    buf_clear(&c->body);
    c->body.max = x->max_reply ? x->max_reply : DEFAULT_MAX_REPLY;
    c->error[0] = '\0';
    c->sent = c->sent_twice = false;
    r->headers.n = 0;
    r->header_bytes = 0;
    curl_easy_setopt(e, CURLOPT_URL, http_set_url(x, r->arena));
    curl_easy_setopt(e, CURLOPT_ERRORBUFFER, c->error);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(e, CURLOPT_WRITEDATA, r);
    curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(e, CURLOPT_HEADERDATA, r);
    if (!r->sink)
        curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, rest > 0 ? (long)rest : 1L);
    curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt(e, CURLOPT_HTTPHEADER, headers);
    http_set_transport(e, x, tls, r->arena);
    if (r->sink)
        http_set_stream(e);
    set_method(e, x);
    if (!may_repeat(x)) {
        curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, send_once);
        curl_easy_setopt(e, CURLOPT_PREREQDATA, c);
    }
    if (kept)
        curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2_0);
    else if (x->http2_only && !tls && reuse_is_broken())
        curl_easy_setopt(e, CURLOPT_FRESH_CONNECT, 1L);
    return run(c, x, r, deadline);
}

static enum status exchange(struct http_client *c, struct http_exchange *x,
                            const struct http_sink *sink, struct arena *arena,
                            struct err *err)
{
    assert(c && x->url && (x->body || !x->body_len));
    x->status = 0;
    x->reply = "";
    x->reply_len = 0;
    x->reply_headers = NULL;
    x->n_reply_headers = 0;

    bool tls;
    if (check(x, &tls, err))
        return err ? err->status : ST_INVALID;
    int64_t start = clock_mono_ms();
    int64_t deadline = x->deadline_mono_ms ? x->deadline_mono_ms
                                           : start + DEFAULT_DEADLINE_MS;
    if (cancelled(x))
        return err_set(err, ST_CANCELLED, "cancelled before it was sent");
    if (deadline <= start)
        return err_set(err, ST_RETRY, "no time was left to send the request");

    struct reply r = { .client = c, .arena = arena, .sink = sink };
    struct curl_slist *headers = NULL;
    if (!set_headers(x, arena, &headers, err)) {
        curl_slist_free_all(headers);
        return ST_INVALID;
    }
    char origin[sizeof c->h2_origin] = "";
    if (x->http2_only && !tls && reuse_is_broken())
        origin_of(x->url, origin, sizeof origin);
    CURLcode code = CURLE_OPERATION_TIMEDOUT;
    for (int tries = 0; tries < MAX_TRIES; tries++) {
        bool kept = origin[0] && strcmp(origin, c->h2_origin) == 0;
        code = attempt(c, x, &r, headers, tls, kept, deadline);
        bool stale = kept && (code != CURLE_OK || !was_http2(c));
        memset(c->h2_origin, 0, sizeof c->h2_origin);
        if (code == CURLE_OK && !stale)
            memcpy(c->h2_origin, origin, sizeof origin);
        bool again = (stale && connected(c)) || answer_dropped(x, code);
        if (!again || r.streaming || r.too_long_body || r.too_long_headers || cancelled(x) ||
            deadline <= clock_mono_ms())
            break;
    }

    CURL *e = c->easy;
    enum status s = ST_OK;
    if (r.stopped)
        code = CURLE_OK;
    if (code == CURLE_OK || r.streaming) {
        long status = 0;
        curl_easy_getinfo(e, CURLINFO_RESPONSE_CODE, &status);
        x->status = (int)status;
        x->reply_headers = r.headers.v;
        x->n_reply_headers = r.headers.n;
    }
    if (code == CURLE_OK) {
        char *copy = arena_alloc(arena, c->body.n + 1);
        memcpy(copy, c->body.s, c->body.n);
        x->reply = copy;
        x->reply_len = c->body.n;
    } else {
        s = failed(c, x, code, &r, clock_mono_ms() - start, err);
    }
    /* the easy handle must not keep pointers into this call */
    curl_easy_reset(e);
    curl_slist_free_all(headers);
    if (c->body.cap > KEEP_BYTES) {
        buf_done(&c->body);
        buf_init(&c->body, DEFAULT_MAX_REPLY);
    }
    return s;
}

enum status http_do(struct http_client *c, struct http_exchange *x,
                    struct arena *arena, struct err *err)
{
    return exchange(c, x, NULL, arena, err);
}

enum status http_stream(struct http_client *c, struct http_exchange *x,
                        const struct http_sink *sink, struct arena *arena,
                        struct err *err)
{
    assert(sink && sink->chunk && !x->http2_only);
    return exchange(c, x, sink, arena, err);
}

void http_wake(struct http_client *c)
{
    curl_multi_wakeup(c->multi);
}
