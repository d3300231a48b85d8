/*
 * http.c - the one file that runs libcurl.  See http.h.
 *
 * A client owns one multi handle (the connections) and one easy handle, reset
 * before each exchange.  The exchange is driven by our own small loop and not
 * by curl_easy_perform(), so that a cancel is seen within 50 ms instead of
 * curl's second.  It follows no redirect, decodes nothing and retries nothing:
 * that is for the caller to decide.  Only curl itself sends a GET or HEAD again,
 * when the kept connection that it used is dead.
 */
#include "http_inside.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../base/clock.h"

#define DEFAULT_DEADLINE_MS 30000
#define CONNECT_MS 10000 /* a silent address is not worth more */
#define DEFAULT_MAX_REPLY ((size_t)64 << 20)
#define KEEP_BYTES ((size_t)1 << 20) /* of a grown reply buffer */
#define CANCEL_MS 50
#define MAX_TRIES 4    /* of one http2_only exchange */
#define MAX_DROPPED 16 /* of one whose answers are dropped: see below */

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

/* curl sends a request again when the kept connection that it used broke
 * before the reply, though the server may have carried it out.  curl calls
 * this before each sending; the second one is refused. */
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
            break; /* curl's own timer is a safety net */
        /* who cancels a stream calls http_wake() as well */
        int64_t nap = x->cancel && rest > CANCEL_MS && !r->sink ? CANCEL_MS
                                                                : rest;
        curl_multi_poll(c->multi, NULL, 0, (int)(nap > 1000 ? 1000 : nap),
                        NULL);
    }
    curl_multi_remove_handle(c->multi, c->easy);
    return result;
}

/* A gRPC server may answer from the request's head alone and reset the stream
 * while the body is still on its way: curl 7.88 then drops the answer.  It is
 * a race, and mostly won the next time; on a machine whose cores are taken it is
 * lost about once in seven.  Of such a loss curl has nothing to say; of a stream
 * that ended wrongly it has, and that is repeated less often. */
static bool answer_dropped(const struct http_client *c,
                           const struct http_exchange *x, CURLcode code,
                           int tries)
{
    return x->http2_only && code == CURLE_HTTP2_STREAM &&
           tries < (c->error[0] ? MAX_TRIES : MAX_DROPPED);
}

/* A number that curl knows of the last attempt. */
static long info(const struct http_client *c, CURLINFO which)
{
    long n = 0;
    curl_easy_getinfo(c->easy, which, &n);
    return n;
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
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, http_take_body);
    curl_easy_setopt(e, CURLOPT_WRITEDATA, r);
    curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, http_take_header);
    curl_easy_setopt(e, CURLOPT_HEADERDATA, r);
    if (!r->sink)
        curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, rest > 0 ? (long)rest : 1L);
    curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt(e, CURLOPT_HTTPHEADER, headers);
    http_set_transport(e, x, tls, r->arena);
    if (r->sink)
        http_set_stream(e);
    http_set_method(e, x);
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

/* Attempts until one counts; see reuse_is_broken() and answer_dropped(). */
static CURLcode attempts(struct http_client *c, const struct http_exchange *x,
                         struct reply *r, struct curl_slist *headers, bool tls,
                         int64_t deadline)
{
    char origin[sizeof c->h2_origin] = "";
    CURLcode code = CURLE_OPERATION_TIMEDOUT;

    if (x->http2_only && !tls && reuse_is_broken())
        origin_of(x->url, origin, sizeof origin);
    for (int tries = 1; tries <= MAX_DROPPED; tries++) {
        bool kept = origin[0] && strcmp(origin, c->h2_origin) == 0, stale;

        code = attempt(c, x, r, headers, tls, kept, deadline);
        stale = kept && (code != CURLE_OK || info(c, CURLINFO_HTTP_VERSION) !=
                                                 CURL_HTTP_VERSION_2_0);
        memset(c->h2_origin, 0, sizeof c->h2_origin);
        if (code == CURLE_OK && !stale)
            memcpy(c->h2_origin, origin, sizeof origin);
        if (!(stale && info(c, CURLINFO_NUM_CONNECTS)) &&
            !answer_dropped(c, x, code, tries))
            break;
        if (r->streaming || r->too_long_body || r->too_long_headers ||
            cancelled(x) || deadline <= clock_mono_ms())
            break;
    }
    return r->stopped ? CURLE_OK : code;
}

/* The reply into x and the arena. */
static void reply_take(struct http_client *c, struct http_exchange *x,
                       const struct reply *r, CURLcode code)
{
    if (code != CURLE_OK && !r->streaming)
        return;
    x->status = (int)info(c, CURLINFO_RESPONSE_CODE);
    x->reply_headers = r->headers.v;
    x->n_reply_headers = r->headers.n;
    if (code != CURLE_OK)
        return;
    x->reply = arena_strndup(r->arena, c->body.s, c->body.n);
    x->reply_len = c->body.n;
}

/* The easy handle must not keep pointers into this call. */
static void client_rest(struct http_client *c)
{
    curl_easy_reset(c->easy);
    if (c->body.cap > KEEP_BYTES) {
        buf_done(&c->body);
        buf_init(&c->body, DEFAULT_MAX_REPLY);
    }
}

static enum status exchange(struct http_client *c, struct http_exchange *x,
                            const struct http_sink *sink, struct arena *arena,
                            struct err *err)
{
    struct reply r = {.client = c, .arena = arena, .sink = sink};
    struct curl_slist *headers = NULL;
    int64_t start = clock_mono_ms();
    int64_t deadline = x->deadline_mono_ms ? x->deadline_mono_ms
                                           : start + DEFAULT_DEADLINE_MS;
    enum status s = ST_OK;
    CURLcode code;
    bool tls;

    assert(c && x->url && (x->body || !x->body_len));
    x->status = 0;
    x->reply = "";
    x->reply_len = 0;
    x->reply_headers = NULL;
    x->n_reply_headers = 0;
    if (http_check(x, &tls, err))
        return err ? err->status : ST_INVALID;
    if (cancelled(x))
        return err_set(err, ST_CANCELLED, "cancelled before it was sent");
    if (deadline <= start)
        return err_set(err, ST_RETRY, "no time was left to send the request");
    if (!http_set_headers(x, arena, &headers, err)) {
        curl_slist_free_all(headers);
        return ST_INVALID;
    }
    code = attempts(c, x, &r, headers, tls, deadline);
    reply_take(c, x, &r, code);
    if (code != CURLE_OK)
        s = http_failed(c, x, code, &r, clock_mono_ms() - start, err);
    client_rest(c);
    curl_slist_free_all(headers);
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
