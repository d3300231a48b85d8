/*
 * reads.c - the exchanges that only read the published page.
 *
 * Many readers poll /v1/status: its reply is made once a tick and shared.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "../codec/codec.h"
#include "inside.h"

#define COSTLY_MS 50
#define FRESH_MS 250

static bool render(struct exchange *ex, const struct status_page *page,
                   write_fn *fn, struct buf *ret)
{
    struct view v;
    struct out o;
    bool found;

    view_open(&v, page);
    v.reader = ex->trusted ? NULL : ex->caller.who;
    server_problems(ex->server, &v);
    reply_begin(ret, &o);
    found = fn(&o, &v, ex);
    view_done(&v);
    return found;
}

/* "t<start>-<tick>": a restarted daemon counts its ticks from one again; a
 * compressed reply is another one.  What says how old it is is another one each
 * second. */
static void etag_of(const struct exchange *ex, const struct status_page *p,
                    bool gz, char *ret, size_t n)
{
    int64_t age_ms = p->snapshot ? clock_wall_ms() - p->snapshot->now_ms : 0;

    snprintf(ret, n, "\"t%lld-%llu%s%.0lld%s\"", (long long)p->started_ms,
             (unsigned long long)p->tick, ex->by_tick ? "" : "-",
             ex->by_tick ? 0 : (long long)age_ms / 1000, gz ? "-gz" : "");
}

/* Whoever has the reply of this tick is told so; true: that is the reply. */
static bool not_modified(struct exchange *ex, const struct status_page *page)
{
    const char *match = exchange_header(ex, MHD_HTTP_HEADER_IF_NONE_MATCH);
    char etag[64];
    struct buf b;

    for (int gz = 0; match && gz < 2; gz++) {
        etag_of(ex, page, gz, etag, sizeof etag);
        if (!strstr(match, etag))
            continue;
        buf_init(&b, 16);
        exchange_reply(ex, 304, &b, "application/json");
        MHD_add_response_header(ex->response, MHD_HTTP_HEADER_ETAG, etag);
        return true;
    }
    return false;
}

static void etag_add(struct exchange *ex, const struct status_page *page)
{
    char etag[64];

    etag_of(
        ex, page,
        MHD_get_response_header(ex->response, MHD_HTTP_HEADER_CONTENT_ENCODING),
        etag, sizeof etag);
    MHD_add_response_header(ex->response, MHD_HTTP_HEADER_ETAG, etag);
}

void reply_view(struct exchange *ex, write_fn *fn, const char *missing)
{
    struct status_page *page = exchange_page(ex);
    struct buf b;

    if (!page)
        return;
    if (not_modified(ex, page)) {
        status_unref(page);
        return;
    }
    if (render(ex, page, fn, &b)) {
        exchange_reply(ex, 200, &b, "application/json");
        if (ex->code == 200)
            etag_add(ex, page);
    } else {
        struct view v;

        buf_done(&b);
        view_open(&v, page);
        v.reader = ex->trusted ? NULL : ex->caller.who;
        /* names are not for who may read his own owners only */
        exchange_error(ex, 404, "NOT_FOUND", ex->arg, "%s%s", missing,
                       v.reader ? "" : view_hint(&v, ex->arg, false));
        view_done(&v);
    }
    status_unref(page);
}

/* ---- replies that are made once a tick */

/* Under the lock: who replaces the response drops the cache's reference only,
 * libmicrohttpd counts its own. */
static void queue_shared(struct exchange *ex, const struct cached *c)
{
    ex->queued = MHD_queue_response(ex->connection, 200, c->response) ==
                 MHD_YES;
    seat_enter(ex->seat, SEAT_REPLY);
    atomic_fetch_add(&ex->server->replies[2], 1);
}

/* It says how old it is, and what is wrong with the server by now, so it is made anew
 * four times a second within its tick, too.  One that takes long to make is shown for
 * longer: so making it takes a sixth of the time at most, however often it is asked
 * for. */
static bool still_good(const struct cached *c, const struct status_page *page)
{
    int64_t age = clock_mono_ms() - c->made_ms;

    return c->response && ((c->tick == page->tick && age < FRESH_MS) ||
                           (c->took_ms >= COSTLY_MS && age < 5 * c->took_ms));
}

static void make_cached(struct exchange *ex, struct cached *c,
                        const struct status_page *page, write_fn *fn)
{
    int64_t began = clock_mono_ms();
    struct buf b;

    render(ex, page, fn, &b);
    ex->shared = true;
    exchange_reply(ex, 200, &b, "application/json");
    if (ex->code != 200)
        return;
    etag_add(ex, page);
    pthread_mutex_lock(&ex->server->cache_lock);
    if (!c->response || c->tick <= page->tick) {
        if (c->response)
            MHD_destroy_response(c->response);
        c->response = ex->response;
        c->tick = page->tick;
        c->made_ms = clock_mono_ms();
        c->took_ms = c->made_ms - began;
        ex->response = NULL;
        ex->code = 0;
        queue_shared(ex, c);
    }
    pthread_mutex_unlock(&ex->server->cache_lock);
}

void reply_cached(struct exchange *ex, struct cached both[2], write_fn *fn)
{
    struct cached *c = &both[exchange_takes_gzip(ex)];
    struct status_page *page = exchange_page(ex);

    if (!page)
        return;
    if (!not_modified(ex, page)) {
        pthread_mutex_lock(&ex->server->cache_lock);
        if (still_good(c, page))
            queue_shared(ex, c);
        pthread_mutex_unlock(&ex->server->cache_lock);
        if (!ex->queued)
            make_cached(ex, c, page, fn);
    }
    status_unref(page);
}

/* ---- the handlers */

static bool write_status(struct out *o, struct view *v, struct exchange *ex)
{
    (void)ex;
    status_write(o, v);
    return true;
}

void get_status(struct exchange *ex)
{
    if (ex->trusted)
        reply_cached(ex, ex->server->status, write_status);
    else
        reply_view(ex, write_status, NULL);
}

static bool write_node(struct out *o, struct view *v, struct exchange *ex)
{
    uint32_t row = node_find(v, ex->arg);

    if (row != NONE)
        node_write(o, NULL, v, row);
    return row != NONE;
}

void get_node(struct exchange *ex)
{
    reply_view(ex, write_node,
               "there is no node of this name (or Ray node id); see /v1/nodes");
}

static bool write_request(struct out *o, struct view *v, struct exchange *ex)
{
    return request_write(o, NULL, v, ex->arg);
}

void get_request(struct exchange *ex)
{
    reply_view(ex, write_request,
               "this owner has no request; see /v1/request_resources");
}

static bool write_why(struct out *o, struct view *v, struct exchange *ex)
{
    struct event_ring *r = ex->server->events;

    /* Events are for who may read all; those of a request for its owner, too: who
     * is here may read all, or asks for him. */
    return why_write(o, v, r, ex->arg) ||
           (principal_reads(ex->caller.who) && why_past(o, v, r, ex->arg)) ||
           why_request_past(o, v, r, ex->arg);
}

void get_why(struct exchange *ex)
{
    reply_view(
        ex, write_why,
        "no node, node type, owner, pod or placement group has this name; "
        "see /v1/nodes and /v1/request_resources");
}

static bool write_requests(struct out *o, struct view *v, struct exchange *ex)
{
    (void)ex;
    request_list_write(o, v);
    return true;
}

void get_requests(struct exchange *ex)
{
    reply_view(ex, write_requests, NULL);
}

static bool write_snapshot(struct out *o, struct view *v, struct exchange *ex)
{
    json_t *snapshot = codec_snapshot_write(v->page->snapshot);
    char *text = json_dumps(snapshot, JSON_INDENT(1) | JSON_REAL_PRECISION(15));

    (void)ex;
    json_decref(snapshot);
    buf_plain(o->b, text ? text : "{}");
    buf_str(o->b, "\n");
    free(text);
    return true;
}

void get_snapshot(struct exchange *ex)
{
    ex->by_tick = true;
    reply_cached(ex, ex->server->snapshot, write_snapshot);
}

void metrics_text(struct server *s, struct buf *ret)
{
    struct status_page *page = status_get(s->board);
    struct view v = {0};

    if (page)
        view_open(&v, page);
    server_problems(s, &v);
    metrics_write(ret, page ? &v : NULL, s->metrics);
    server_metrics(s, v.broken, ret);
    shadow_metrics(s, ret);
    if (page)
        view_done(&v);
    else
        arena_done(&v.arena);
    status_unref(page);
}

void get_metrics(struct exchange *ex)
{
    struct buf b;

    buf_init(&b, REPLY_MAX);
    metrics_text(ex->server, &b);
    exchange_reply(ex, 200, &b, "text/plain; version=0.0.4; charset=utf-8");
}
