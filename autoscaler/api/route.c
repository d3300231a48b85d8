/*
 * route.c - from a request line to a handler, and back to a reply.
 *
 * libmicrohttpd calls route_handle() once with the headers, then for every
 * piece of the body, then once to be answered, and again after a suspended
 * visit was resumed.  A refusal is decided at the first call, but told after
 * the body was swallowed: a reply to a client that is still sending is lost.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../base/suggest.h"
#include "inside.h"

#define REFUSED_SWALLOW_MAX (64u << 10)

static const struct route routes[] = {
    {"POST", "/v1/request_resources", put_request, ROUTE_BODY},
    {"GET", "/v1/request_resources", get_requests, 0},
    {"GET", "/v1/request_resources/{}", get_request, 0},
    {"DELETE", "/v1/request_resources/{}", drop_request, 0},
    {"GET", "/v1/status", get_status, 0},
    {"GET", "/v1/nodes", get_nodes, 0},
    {"GET", "/v1/nodes/{}", get_node, 0},
    {"POST", "/v1/nodes/{}/protect", protect_node, 0},
    {"DELETE", "/v1/nodes/{}/protect", unprotect_node, 0},
    {"GET", "/v1/why/{}", get_why, 0},
    {"POST", "/v1/plan", post_plan, ROUTE_BODY},
    {"GET", "/v1/snapshot", get_snapshot, 0},
    {"GET", "/v1/events", get_events, 0},
    {"POST", "/v1/reload", post_reload, 0},
    {"GET", "/healthz", get_alive, ROUTE_OPEN},
    {"GET", "/livez", get_alive, ROUTE_OPEN},
    {"GET", "/health-check", get_alive, ROUTE_OPEN},
    {"GET", "/readyz", get_ready, ROUTE_OPEN},
    {"GET", "/metrics", get_metrics, 0},
    {"GET", "/openapi.json", get_openapi, 0},
    {"GET", "/", get_page, ROUTE_OPEN},
};
enum { N_ROUTES = sizeof routes / sizeof *routes };

/* ---- what a handler may ask of its visit */

const char *visit_query(struct visit *w, const char *name)
{
    return MHD_lookup_connection_value(w->connection, MHD_GET_ARGUMENT_KIND,
                                       name);
}

const char *visit_header(struct visit *w, const char *name)
{
    return MHD_lookup_connection_value(w->connection, MHD_HEADER_KIND, name);
}

struct status_page *visit_page(struct visit *w)
{
    struct status_page *p = status_get(w->server->board);

    if (!p)
        visit_error(w, 503, "RETRY", "", "the daemon is starting: its first "
                    "look at the world is not over; try again in a second");
    return p;
}

void visit_reply(struct visit *w, unsigned code, struct buf *b,
                 const char *content_type)
{
    size_t n = b->n;

    if (b->full) {
        buf_done(b);
        visit_error(w, 500, "BROKEN", "", "the reply would be too large");
        return;
    }
    if (w->response)
        MHD_destroy_response(w->response);
    w->response = MHD_create_response_from_buffer(n, buf_take(b),
                                                  MHD_RESPMEM_MUST_FREE);
    w->code = code;
    MHD_add_response_header(w->response, MHD_HTTP_HEADER_CONTENT_TYPE,
                            content_type);
    MHD_add_response_header(w->response, MHD_HTTP_HEADER_CACHE_CONTROL,
                            "no-store");
    MHD_add_response_header(w->response, "X-Content-Type-Options", "nosniff");
}

static void error_begin(struct out *o, struct buf *b, const char *status,
                        const char *where, const char *text)
{
    buf_init(b, REPLY_MAX);
    out_init(o, b);
    out_object(o, NULL);
    out_object(o, "error");
    out_str(o, "status", status);
    out_str(o, "where", where);
    out_str(o, "text", text);
}

static void error_end(struct visit *w, struct out *o, struct buf *b,
                      unsigned code)
{
    out_close(o);
    out_close(o);
    visit_reply(w, code, b, "application/json");
    if (code == 503 || code == 429)
        MHD_add_response_header(w->response, MHD_HTTP_HEADER_RETRY_AFTER, "1");
}

void visit_error(struct visit *w, unsigned code, const char *status,
                 const char *where, const char *fmt, ...)
{
    char text[1024];
    struct buf b;
    struct out o;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    error_begin(&o, &b, status, where, text);
    error_end(w, &o, &b, code);
}

static unsigned code_of(enum status s)
{
    switch (s) {
    case ST_INVALID: return 400;
    case ST_AUTH: return 401;
    case ST_NOT_FOUND: return 404;
    case ST_QUOTA:
    case ST_THROTTLED: return 429;
    case ST_UNSUPPORTED: return 501;
    case ST_BROKEN: return 500;
    default: return 503;
    }
}

void visit_err(struct visit *w, const struct err *e)
{
    const char *colon = strstr(e->text, ": "), *text = e->text;
    char where[256] = "";

    /* a place has no blanks: "bundles[2].resources.GPU: ..." */
    if (colon && colon > e->text && (size_t)(colon - e->text) < sizeof where &&
        !memchr(e->text, ' ', (size_t)(colon - e->text))) {
        snprintf(where, sizeof where, "%.*s", (int)(colon - e->text), e->text);
        text = colon + 2;
    }
    visit_error(w, code_of(e->status), status_name(e->status), where, "%s",
                text);
}

/* ---- finding the route */

/* Does the path fit, and what stands for {}? */
static bool path_fits(const char *pattern, const char *path, char *arg,
                      size_t n)
{
    const char *hole = strstr(pattern, "{}"), *end;
    size_t before;

    if (!hole)
        return strcmp(pattern, path) == 0;
    before = (size_t)(hole - pattern);
    if (strncmp(pattern, path, before) != 0)
        return false;
    end = strchr(path + before, '/');
    if (!end)
        end = path + strlen(path);
    if (end == path + before || (size_t)(end - path) - before >= n ||
        strcmp(hole + 2, end) != 0)
        return false;
    snprintf(arg, n, "%.*s", (int)((size_t)(end - path) - before),
             path + before);
    return true;
}

static void refuse_path(struct visit *w, const char *url)
{
    const char *paths[N_ROUTES], *near;
    char where[256], text[400];
    size_t n = 0;
    struct buf b;
    struct out o;

    for (size_t i = 0; i < N_ROUTES; i++)
        if (n == 0 || strcmp(paths[n - 1], routes[i].path) != 0)
            paths[n++] = routes[i].path;
    snprintf(where, sizeof where, "%.200s", url);
    near = suggest(where, paths, n);
    snprintf(text, sizeof text, "there is no such path; %s%s",
             near ? "did you mean " : "see allowed, or /openapi.json",
             near ? near : "");
    error_begin(&o, &b, "NOT_FOUND", where, text);
    out_array(&o, "allowed");
    for (size_t i = 0; i < n; i++)
        out_str(&o, NULL, paths[i]);
    out_close(&o);
    error_end(w, &o, &b, 404);
}

static void refuse_method(struct visit *w, const char *url, const char *method)
{
    char allow[128] = "", arg[400];
    struct buf b;
    struct out o;

    for (size_t i = 0; i < N_ROUTES; i++)
        if (path_fits(routes[i].path, url, arg, sizeof arg))
            snprintf(allow + strlen(allow), sizeof allow - strlen(allow),
                     "%s%s", allow[0] ? ", " : "", routes[i].method);
    snprintf(allow + strlen(allow), sizeof allow - strlen(allow), "%s%s",
             strstr(allow, "GET") ? ", HEAD" : "", ", OPTIONS");
    if (strcmp(method, "OPTIONS") == 0) {
        buf_init(&b, 16);
        visit_reply(w, 204, &b, "text/plain");
    } else {
        char text[200];

        snprintf(text, sizeof text, "%.20s is not possible here, %s is", method,
                 allow);
        error_begin(&o, &b, "UNSUPPORTED", method, text);
        error_end(w, &o, &b, 405);
    }
    MHD_add_response_header(w->response, MHD_HTTP_HEADER_ALLOW, allow);
}

/* Finds the route or writes the refusal. */
static void find_route(struct visit *w, const char *url, const char *method)
{
    const char *as = strcmp(method, "HEAD") == 0 ? "GET" : method;
    char path[1024];
    size_t n = strlen(url);
    bool known = false;

    while (n > 1 && url[n - 1] == '/')
        n--;  /* "/v1/nodes/" is "/v1/nodes" */
    if (n < sizeof path) {
        snprintf(path, sizeof path, "%.*s", (int)n, url);
        for (size_t i = 0; i < N_ROUTES; i++) {
            if (!path_fits(routes[i].path, path, w->arg, sizeof w->arg))
                continue;
            known = true;
            if (strcmp(routes[i].method, as) == 0) {
                w->route = &routes[i];
                return;
            }
        }
    }
    if (known)
        refuse_method(w, path, method);
    else
        refuse_path(w, url);
}

/* ---- the body */

static uint64_t content_length(struct visit *w)
{
    const char *text = visit_header(w, MHD_HTTP_HEADER_CONTENT_LENGTH);

    return text ? strtoull(text, NULL, 10) : 0;
}

static void refuse_size(struct visit *w)
{
    visit_error(w, 413, "INVALID", "body", "the body is above %u MiB; write "
                "identical bundles once, with a count", BODY_MAX >> 20);
}

/* True when the refusal that is written may be told at once: nothing comes,
 * the client waits for leave to send, or too much would have to be read. */
static bool tell_now(struct visit *w, uint64_t length, uint64_t max)
{
    const char *expect = visit_header(w, MHD_HTTP_HEADER_EXPECT);
    bool chunked = visit_header(w, MHD_HTTP_HEADER_TRANSFER_ENCODING);

    return (length == 0 && !chunked) || length > max ||
           (expect && strcasecmp(expect, "100-continue") == 0);
}

/* A piece of the body; false ends the connection. */
static bool take(struct visit *w, const char *data, size_t n)
{
    uint64_t max = w->too_large ? SWALLOW_MAX : REFUSED_SWALLOW_MAX;

    if (!w->code && !(w->route->flags & ROUTE_BODY)) {
        w->swallowed += n;  /* a body nobody asked for, of a DELETE */
        return w->swallowed <= REFUSED_SWALLOW_MAX;
    }
    if (!w->code && !w->too_large) {
        if (buf_add(&w->body, data, n))
            return true;
        buf_done(&w->body);
        w->too_large = true;
        refuse_size(w);
        return true;
    }
    w->swallowed += n;
    return w->swallowed <= max;
}

/* ---- libmicrohttpd's side */

static void count_reply(struct server *s, unsigned code)
{
    unsigned h = code / 100;

    atomic_fetch_add(&s->replies[h < 6 ? h : 5], 1);
}

static enum MHD_Result send_reply(struct visit *w)
{
    enum MHD_Result rc;

    count_reply(w->server, w->code);
    rc = MHD_queue_response(w->connection, w->code, w->response);
    MHD_destroy_response(w->response);
    w->response = NULL;
    return rc;
}

static struct visit *visit_new(struct server *s, struct MHD_Connection *conn)
{
    struct visit *w = calloc(1, sizeof *w);

    if (!w)
        abort();
    atomic_fetch_add(&s->visits, 1);
    w->server = s;
    w->connection = conn;
    buf_init(&w->body, BODY_MAX);
    return w;
}

static bool is_encoded(struct visit *w)
{
    const char *how = visit_header(w, MHD_HTTP_HEADER_CONTENT_ENCODING);

    return how && strcasecmp(how, "identity") != 0;
}

static enum MHD_Result first_call(struct visit *w, const char *url,
                                  const char *method)
{
    uint64_t length = content_length(w), max = REFUSED_SWALLOW_MAX;

    find_route(w, url, method);
    /* who may not speak is not told what there is */
    if (guard_check(w, w->route && w->route->flags & ROUTE_OPEN) == 0 &&
        !w->code && w->route->flags & ROUTE_BODY) {
        if (is_encoded(w))
            visit_error(w, 415, "UNSUPPORTED", "Content-Encoding",
                        "a body must be sent as it is, not compressed");
        else if (length > BODY_MAX) {
            w->too_large = true;
            max = SWALLOW_MAX;
            refuse_size(w);
        }
    }
    if (w->code && tell_now(w, length, max))
        return send_reply(w);
    return MHD_YES;
}

static void answer_ask(struct visit *w)
{
    enum ask_state state;

    pthread_mutex_lock(&w->ask->yard->lock);
    state = w->ask->state;
    pthread_mutex_unlock(&w->ask->yard->lock);
    if (state == ASK_LATE)
        visit_error(w, 503, "RETRY", "", "the control loop has not answered "
                    "for %d s; what you asked for may still take effect, look "
                    "at /v1/status", ANSWER_MS / 1000);
    else if (state == ASK_STOPPED)
        visit_error(w, 503, "RETRY", "", "the daemon is stopping; nothing was "
                    "promised, ask again when it runs");
    else
        w->answer(w);
}

enum MHD_Result route_handle(void *cls, struct MHD_Connection *connection,
                             const char *url, const char *method,
                             const char *version, const char *upload,
                             size_t *upload_size, void **con_cls)
{
    struct visit *w = *con_cls;

    (void)version;
    if (!w) {
        *con_cls = w = visit_new(cls, connection);
        return first_call(w, url, method);
    }
    if (*upload_size > 0) {
        size_t n = *upload_size;

        *upload_size = 0;
        return take(w, upload, n) ? MHD_YES : MHD_NO;
    }
    if (w->ask)
        answer_ask(w);
    else if (!w->code)
        w->route->run(w);
    if (w->code && !w->queued)
        return send_reply(w);
    return MHD_YES;  /* suspended, or replied */
}

void route_completed(void *cls, struct MHD_Connection *connection,
                     void **con_cls, enum MHD_RequestTerminationCode why)
{
    struct visit *w = *con_cls;

    (void)cls;
    (void)connection;
    (void)why;
    if (!w)
        return;
    if (w->response)
        MHD_destroy_response(w->response);
    atomic_fetch_sub(&w->server->visits, 1);
    ask_unref(w->ask);
    buf_done(&w->body);
    free(w);
    *con_cls = NULL;
}
