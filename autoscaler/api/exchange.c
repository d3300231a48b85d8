/*
 * exchange.c - one HTTP request, from its first byte to its reply.
 *
 * libmicrohttpd calls exchange_handle() once with the headers (and again when
 * the exchange was suspended there, to ask about a token), then for every
 * piece of the body, then once to be answered, and again after a suspended
 * exchange was resumed.  A refusal is decided at the first call, but sent after
 * the body was read and dropped: a client that is still sending would not see
 * it.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../base/alloc.h"
#include "../base/clock.h"
#include "../base/gzip.h"
#include "inside.h"

#define REFUSED_DISCARD_MAX (64u << 10)
#define AGAIN_MS \
    1000 /* a request that takes longer is judged again; of a token of
                       * Kubernetes each one, as that is known for seconds */
#define GZIP_FROM 1000         /* bytes: less is sent as it is */
#define GZIP_WELL (256u << 10) /* more is compressed fast, not well */

/* ---- what a handler may use of its exchange */

const char *exchange_query(struct exchange *ex, const char *name)
{
    return MHD_lookup_connection_value(ex->connection, MHD_GET_ARGUMENT_KIND,
                                       name);
}

const char *exchange_header(struct exchange *ex, const char *name)
{
    return MHD_lookup_connection_value(ex->connection, MHD_HEADER_KIND, name);
}

int64_t exchange_number(const char *text)
{
    long long v;
    char *end;

    if (!text || !text[0])
        return -1;
    errno = 0;
    v = strtoll(text, &end, 10);
    return errno || *end || v < 0 ? -2 : v;
}

struct status_page *exchange_page(struct exchange *ex)
{
    struct status_page *p = status_get(ex->server->board);

    if (!p)
        exchange_error(
            ex, 503, "RETRY", "",
            "the daemon is starting: there is no plan yet; try again in a "
            "second");
    return p;
}

static void refuse_memory(struct exchange *ex)
{
    exchange_error(ex, 503, "THROTTLED", "",
                   "too much is on its way to or from clients at once; try "
                   "again");
}

void reply_begin(struct buf *ret, struct out *ret_out)
{
    buf_init(ret, REPLY_MAX);
    out_init(ret_out, ret);
}

bool exchange_takes_gzip(struct exchange *ex)
{
    const char *takes = exchange_header(ex, MHD_HTTP_HEADER_ACCEPT_ENCODING);

    const char *p = takes ? strcasestr(takes, "gzip") : NULL;

    if (!p)
        return false;
    for (p += strlen("gzip"); *p == ' ' || *p == ';';)
        p++;
    return strncasecmp(p, "q=0", 3) != 0 || strtod(p + 2, NULL) > 0;
}

/* In place of the text, when that is worth it: much of it goes fast. */
static bool make_smaller(struct exchange *ex, unsigned code, struct buf *b)
{
    struct buf small;

    if (code != 200 || b->n < GZIP_FROM || !exchange_takes_gzip(ex))
        return false;
    buf_init(&small, b->n);
    if (!gzip(b->s, b->n, b->n < GZIP_WELL ? 6 : 1, &small)) {
        buf_done(&small);
        return false;
    }
    buf_done(b);
    *b = small;
    return true;
}

/* Who holds what is charged. */
struct whose {
    char group[400], account[400];
    const char *names[CHARGE_PURSES];
};

static void whose(const struct exchange *ex, struct whose *ret)
{
    ret->names[0] = caller_share(&ex->caller, ret->group, sizeof ret->group);
    ret->names[1] = caller_account(&ex->caller, ret->account,
                                   sizeof ret->account);
}

void exchange_reply(struct exchange *ex, unsigned code, struct buf *b,
                    const char *content_type)
{
    bool small = !b->full && make_smaller(ex, code, b);
    struct whose who;
    size_t n = b->n;

    if (b->full) {
        buf_done(b);
        exchange_error(ex, 500, "BROKEN", "", "the reply would be too large");
        return;
    }
    if (ex->response)
        MHD_destroy_response(ex->response);
    whose(ex, &who);
    ex->response = n > SMALL ? charged_response(ex->server->door, who.names,
                                                ex->shared, buf_take(b), n)
                             : MHD_create_response_from_buffer(
                                   n, buf_take(b), MHD_RESPMEM_MUST_FREE);
    if (!ex->response) {
        refuse_memory(ex);
        return;
    }
    ex->code = code;
    MHD_add_response_header(ex->response, MHD_HTTP_HEADER_CONTENT_TYPE,
                            content_type);
    MHD_add_response_header(ex->response, MHD_HTTP_HEADER_CACHE_CONTROL,
                            "no-store");
    if (code == 200)
        MHD_add_response_header(ex->response, MHD_HTTP_HEADER_VARY,
                                "Accept-Encoding");
    if (small)
        MHD_add_response_header(ex->response, MHD_HTTP_HEADER_CONTENT_ENCODING,
                                "gzip");
    exchange_headers(ex);
}

void exchange_headers(struct exchange *ex)
{
    const struct guard *g = &ex->server->guard;

    MHD_add_response_header(ex->response, "X-Content-Type-Options", "nosniff");
    if (g->tls && !g->loopback) /* a browser must not try without TLS again */
        MHD_add_response_header(ex->response, "Strict-Transport-Security",
                                "max-age=31536000");
}

void exchange_forget(struct exchange *ex)
{
    if (ex->response)
        MHD_destroy_response(ex->response);
    ex->response = NULL;
    ex->code = 0;
}

void exchange_error_begin(struct out *o, struct buf *b, const char *status,
                          const char *where, const char *text)
{
    reply_begin(b, o);
    out_object(o, NULL);
    out_object(o, "error");
    out_str(o, "status", status);
    out_str(o, "where", where);
    out_str(o, "text", text);
}

void exchange_error_end(struct exchange *ex, struct out *o, struct buf *b,
                        unsigned code)
{
    out_close(o);
    out_close(o);
    exchange_reply(ex, code, b, "application/json");
    if (code == 503 || code == 429)
        MHD_add_response_header(ex->response, MHD_HTTP_HEADER_RETRY_AFTER, "1");
}

void exchange_error(struct exchange *ex, unsigned code, const char *status,
                    const char *where, const char *fmt, ...)
{
    char text[1024];
    struct buf b;
    struct out o;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    exchange_error_begin(&o, &b, status, where, text);
    exchange_error_end(ex, &o, &b, code);
}

static unsigned code_of(enum status s)
{
    switch (s) {
    case ST_INVALID: return 400;
    case ST_AUTH: return 403;
    case ST_NOT_FOUND: return 404;
    case ST_QUOTA:
    case ST_THROTTLED: return 429;
    case ST_UNSUPPORTED: return 501;
    case ST_BROKEN: return 500;
    default: return 503;
    }
}

void exchange_err(struct exchange *ex, const struct err *e)
{
    const char *colon = strstr(e->text, ": "), *text = e->text;
    char where[256] = "";

    /* a place has no blanks: "bundles[2].resources.GPU: ..." */
    if (colon && colon > e->text && (size_t)(colon - e->text) < sizeof where &&
        !memchr(e->text, ' ', (size_t)(colon - e->text))) {
        snprintf(where, sizeof where, "%.*s", (int)(colon - e->text), e->text);
        text = colon + 2;
    }
    exchange_error(ex, code_of(e->status), status_name(e->status), where, "%s",
                   text);
}

/* ---- the body */

/* Until the exchange is over; false: a 503 is written. */
static bool charge(struct exchange *ex, size_t n)
{
    struct whose who;

    whose(ex, &who);
    if (charge_add(&ex->charge, ex->server->door, who.names, n))
        return true;
    refuse_memory(ex);
    return false;
}

bool exchange_charge_tree(struct exchange *ex)
{
    size_t n = json_weight(ex->body.s, ex->body.n);

    if (n <= TREE_MAX)
        return n <= SMALL || charge(ex, n);
    exchange_error(
        ex, 413, "INVALID", "body",
        "the body has too many values; write identical bundles once, "
        "with a count");
    return false;
}

static uint64_t content_length(struct exchange *ex)
{
    const char *text = exchange_header(ex, MHD_HTTP_HEADER_CONTENT_LENGTH);

    return text ? strtoull(text, NULL, 10) : 0;
}

static void refuse_size(struct exchange *ex)
{
    exchange_error(
        ex, 413, "INVALID", "body",
        "the body is above %u MiB; write identical bundles once, with a count",
        BODY_MAX >> 20);
}

/* May the refusal that is written be sent at once?  When no body comes, the
 * client waits for permission to send one, or too much would have to be read.
 */
static bool may_answer_now(struct exchange *ex, uint64_t length, uint64_t max)
{
    const char *expect = exchange_header(ex, MHD_HTTP_HEADER_EXPECT);
    bool chunked = exchange_header(ex, MHD_HTTP_HEADER_TRANSFER_ENCODING);

    return (length == 0 && !chunked) || length > max ||
           (expect && strcasecmp(expect, "100-continue") == 0);
}

/* The buffer doubles as it grows, and so does what is charged for it. */
static bool charge_body(struct exchange *ex, size_t n)
{
    size_t want = ex->charge.n ? ex->charge.n : 4 * SMALL;

    if (n <= SMALL || n < ex->charge.n)
        return true;
    while (want <= n)
        want *= 2;
    return charge(ex, want - ex->charge.n);
}

/* A piece of the body; false ends the connection. */
static bool take(struct exchange *ex, const char *data, size_t n)
{
    uint64_t max = ex->drop_body ? DISCARD_MAX : REFUSED_DISCARD_MAX;

    if (!ex->code && !(ex->route->flags & ROUTE_BODY)) {
        ex->discarded += n; /* a body nobody asked for, of a DELETE */
        return ex->discarded <= REFUSED_DISCARD_MAX;
    }
    if (!ex->code) {
        if (charge_body(ex, ex->body.n + n) && buf_add(&ex->body, data, n))
            return true;
        if (!ex->code)
            refuse_size(ex);
        buf_done(&ex->body);
        charge_drop(&ex->charge);
        ex->drop_body = true;
        return true;
    }
    ex->discarded += n;
    return ex->discarded <= max;
}

/* ---- libmicrohttpd's side */

static void count_reply(struct server *s, unsigned code)
{
    unsigned h = code / 100;

    atomic_fetch_add(&s->replies[h < 6 ? h : 5], 1);
}

static enum MHD_Result send_reply(struct exchange *ex)
{
    enum MHD_Result rc;

    count_reply(ex->server, ex->code);
    record_change(ex);
    if (ex->close)
        MHD_add_response_header(ex->response, MHD_HTTP_HEADER_CONNECTION,
                                "close");
    seat_enter(ex->seat, ex->stream ? SEAT_STREAM : SEAT_REPLY);
    rc = MHD_queue_response(ex->connection, ex->code, ex->response);
    MHD_destroy_response(ex->response);
    ex->response = NULL;
    return rc;
}

static struct exchange *exchange_new(struct server *s,
                                     struct MHD_Connection *conn)
{
    struct exchange *ex = MEM_NEW(struct exchange);

    atomic_fetch_add(&s->exchanges, 1);
    ex->server = s;
    ex->connection = conn;
    ex->began_ms = clock_mono_ms();
    ex->seat = seat_of(conn);
    ex->peer = seat_peer(ex->seat);
    buf_init(&ex->body, BODY_MAX);
    return ex;
}

static bool is_encoded(struct exchange *ex)
{
    const char *how = exchange_header(ex, MHD_HTTP_HEADER_CONTENT_ENCODING);

    return how && strcasecmp(how, "identity") != 0;
}

/* How much of it is to be read cannot be told: nothing more is. */
static enum MHD_Result refuse_request(struct exchange *ex, const char *fault)
{
    exchange_error(ex, 400, "INVALID", "", "%s", fault);
    ex->close = true;
    return send_reply(ex);
}

/* Nothing of the body was read.  What is refused is so now, or after it. */
static enum MHD_Result before_body(struct exchange *ex)
{
    uint64_t length = content_length(ex), max = REFUSED_DISCARD_MAX;

    seat_enter(ex->seat, SEAT_BODY);
    if (!ex->code && ex->route->flags & ROUTE_BODY) {
        if (is_encoded(ex))
            exchange_error(ex, 415, "UNSUPPORTED", "Content-Encoding",
                           "a body must be sent as it is, not compressed");
        else if (length > BODY_MAX) {
            ex->drop_body = true;
            max = DISCARD_MAX;
            refuse_size(ex);
        }
    }
    if (ex->code && may_answer_now(ex, length, max))
        return send_reply(ex);
    return MHD_YES;
}

static enum MHD_Result first_call(struct exchange *ex, const char *url,
                                  const char *method)
{
    /* Where a body in pieces ends is what programs agree on least. */
    ex->close = exchange_header(ex, MHD_HTTP_HEADER_TRANSFER_ENCODING);
    route_find(ex, url, method);
    /* without permission nobody learns which paths there are */
    guard_check(ex, ex->route && ex->route->flags & ROUTE_OPEN);
    if (!ex->unknown)
        return before_body(ex);
    /* nothing of a stranger's body is held for him: it waits in the kernel */
    exchange_forget(ex);
    caller_review(ex);
    if (!ex->code)
        return MHD_YES; /* suspended; identified() goes on */
    ex->unknown = false;
    return before_body(ex);
}

/* The API server is asked once more; what waits for the answer is put aside. */
static void ask_again(struct exchange *ex)
{
    ex->before = ex->pending;
    ex->before_answer = ex->answer;
    ex->pending = NULL;
    ex->unknown = ex->again = true;
    caller_review(ex);
    if (!ex->code)
        return; /* suspended; identified() goes on */
    ex->unknown = ex->again = false;
    ex->pending = ex->before;
    ex->before = NULL;
}

/* It took its time, in the body or waiting: rights may have ended meanwhile, and
 * those of now count.  True: the API server is asked first. */
static bool caller_again(struct exchange *ex)
{
    bool asked = ex->caller.proof == PROOF_REVIEW;

    if (ex->code || !ex->route || ex->route->flags & ROUTE_OPEN ||
        (!asked && clock_mono_ms() - ex->began_ms < AGAIN_MS))
        return false;
    switch (caller_still(ex->server, &ex->caller)) {
    case STILL_NO:
        exchange_error(ex, 401, "AUTH", "Authorization",
                       "the right to do this has ended meanwhile; what was "
                       "asked for before may have taken effect");
        return false;
    case STILL_MAYBE: ask_again(ex); return ex->unknown;
    default: break;
    }
    ex->trusted = principal_reads(ex->caller.who);
    caller_may(ex);
    return false;
}

static void pending_answer(struct exchange *ex)
{
    enum pending_state state;

    pthread_mutex_lock(&ex->pending->list->lock);
    state = ex->pending->state;
    pthread_mutex_unlock(&ex->pending->list->lock);
    if (state == PENDING_LATE)
        exchange_error(
            ex, 503, "RETRY", "",
            "the control loop has not answered for %d s; what you asked for "
            "may still take effect, look at /v1/status",
            ANSWER_MS / 1000);
    else if (state == PENDING_DISPLACED)
        exchange_error(ex, 429, "THROTTLED", "",
                       "many callers wait, and most of what waits was yours: "
                       "try again, with less at once");
    else if (state == PENDING_STOPPED)
        exchange_error(
            ex, 503, "RETRY", "",
            "the daemon is stopping; nothing was promised, ask again when it "
            "runs");
    else
        route_answer(ex);
}

/* The API server was asked about the token. */
static void was_asked(struct exchange *ex)
{
    ex->unknown = false;
    pending_answer(ex);
    pending_unref(ex->pending);
    ex->pending = ex->before;
    ex->answer = ex->before_answer;
    ex->before = NULL;
    ex->before_answer = NULL;
}

/* As if it had been known before. */
static enum MHD_Result identified(struct exchange *ex, const char *url,
                                  const char *method)
{
    was_asked(ex);
    if (!ex->code)
        route_find(ex, url, method);
    if (!ex->code)
        caller_may(ex);
    return before_body(ex);
}

/* All of it is here, and so is the answer that it waited for; ex->code: refused. */
static enum MHD_Result act(struct exchange *ex)
{
    if (ex->pending && !ex->code)
        pending_answer(ex);
    else if (!ex->code)
        route_run(ex);
    if (ex->code && !ex->queued)
        return send_reply(ex);
    return MHD_YES; /* suspended, or replied */
}

static enum MHD_Result identified_again(struct exchange *ex)
{
    was_asked(ex);
    ex->again = false;
    if (!ex->code)
        caller_may(ex);
    return act(ex);
}

enum MHD_Result exchange_handle(void *cls, struct MHD_Connection *connection,
                                const char *url, const char *method,
                                const char *version, const char *upload,
                                size_t *upload_size, void **con_cls)
{
    struct exchange *ex = *con_cls;

    if (!ex || strict_is_mark(ex)) {
        const char *fault = strict_fault(connection, ex, version);

        *con_cls = ex = exchange_new(cls, connection);
        return fault ? refuse_request(ex, fault) : first_call(ex, url, method);
    }
    if (*upload_size > 0) {
        size_t n = *upload_size;

        *upload_size = 0;
        return take(ex, upload, n) ? MHD_YES : MHD_NO;
    }
    if (ex->unknown)
        return ex->again ? identified_again(ex) : identified(ex, url, method);
    return caller_again(ex) ? MHD_YES : act(ex);
}

void exchange_completed(void *cls, struct MHD_Connection *connection,
                        void **con_cls, enum MHD_RequestTerminationCode why)
{
    struct exchange *ex = *con_cls;

    (void)cls;
    (void)connection;
    (void)why;
    *con_cls = NULL;
    if (!ex || strict_is_mark(ex))
        return;
    record_end(ex);
    seat_enter(ex->seat, SEAT_IDLE);
    charge_drop(&ex->charge);
    if (ex->response)
        MHD_destroy_response(ex->response);
    atomic_fetch_sub(&ex->server->exchanges, 1);
    pending_unref(ex->pending);
    pending_unref(ex->before);
    caller_done(&ex->caller);
    buf_done(&ex->body);
    free(ex);
}
