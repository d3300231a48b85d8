/*
 * stream.c - GET /v1/events: server-sent events, or a list.
 *
 * A listener with nothing to send is suspended: it costs no thread and no
 * polling.  The reaper resumes it when an event was added or a heartbeat is
 * due; a client that has gone is noticed then.  The lost wake-up is excluded
 * by the generation: a listener sleeps only if no event came since it read.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../base/clock.h"
#include "inside.h"

#define BATCH 64 /* events read at once */
/* While the API server does not answer nobody is let in, and who is in hears of
 * nothing; after so long his stream ends. */
enum { UNKNOWN_MS = 10000 };

#define OUT_MAX ((size_t)1 << 20)

struct listener {
    struct server *server;
    struct MHD_Connection *connection;
    struct seat *seat; /* lives longer */
    struct listener *next, **link;
    int64_t after;   /* the last event sent */
    int64_t sent_ms; /* mono, when something was sent last */
    bool suspended, over;
    bool barred;          /* its caller's right is over: nothing more is sent */
    bool held;            /* suspended until his right is known again */
    char who[400];        /* whose it is: an account */
    char share[400];      /* of this caller */
    struct caller caller; /* under the server's lock, with all above */
    int64_t known_ms;     /* mono: its caller was known last */
    struct buf out;       /* what is being sent */
    size_t from;
};

static void write_event(struct out *o, const struct event *e, const char *text)
{
    out_object(o, NULL);
    out_int(o, "id", e->id);
    out_time(o, "at", e->at_ms);
    out_str(o, "kind", e->kind);
    out_str(o, "subject", e->subject);
    out_str(o, "reason", e->reason);
    out_str(o, "text", text);
    out_close(o);
}

/* May he hear of anything? */
static bool hears(const struct principal *p)
{
    return principal_reads(p) || p->owners.n > 0;
}

static int64_t newest_id(struct event_ring *r)
{
    int64_t id;

    pthread_mutex_lock(&r->lock);
    id = r->next_id - 1;
    pthread_mutex_unlock(&r->lock);
    return id;
}

/* A line of its own in a stream: a journal may come from a stranger. */
static void word_add(struct buf *b, const char *kind)
{
    for (const char *p = kind; *p; p++)
        buf_add(b,
                strchr("abcdefghijklmnopqrstuvwxyz0123456789._-", *p) ? p : "?",
                1);
}

/* The event as its listener may hear of it; NULL: it is nothing of his. */
static const char *told_to(struct listener *l, const struct event *e,
                           struct arena *a)
{
    const struct principal *p;
    const char *text;

    pthread_mutex_lock(&l->server->lock);
    p = l->caller.who;
    text = p ? event_told(e, principal_reads(p) ? NULL : p, a) : NULL;
    pthread_mutex_unlock(&l->server->lock);
    return text;
}

/* So many events into the buffer as are read at once; how many were read. */
static uint32_t fill_once(struct listener *l)
{
    struct event_ring *r = l->server->events;
    struct arena arena = {0};
    struct event *v;
    struct out o;
    uint32_t n = event_read(r, l->after, BATCH, &arena, &v);

    if (n > 0 && event_missed(r, l->after))
        buf_str(&l->out, ": events before these are no longer kept\n\n");
    for (uint32_t i = 0; i < n; i++) {
        const char *text = told_to(l, &v[i], &arena);

        l->after = v[i].id;
        if (!text)
            continue;
        buf_printf(&l->out, "id: %" PRId64 "\nevent: ", v[i].id);
        word_add(&l->out, v[i].kind);
        buf_str(&l->out, "\ndata: ");
        out_init(&o, &l->out);
        write_event(&o, &v[i], text);
        buf_str(&l->out, "\n\n");
    }
    arena_done(&arena);
    return n;
}

/* The next events into the buffer; false when there are none for him. */
static bool fill(struct listener *l)
{
    buf_clear(&l->out);
    l->from = 0;
    while (fill_once(l) > 0 && !l->out.n)
        ;
    if (l->out.n)
        l->sent_ms = clock_mono_ms();
    return l->out.n > 0;
}

static uint64_t generation(struct server *s)
{
    uint64_t g;

    pthread_mutex_lock(&s->pending->lock);
    g = s->pending->generation;
    pthread_mutex_unlock(&s->pending->lock);
    return g;
}

static bool is_over(struct listener *l)
{
    bool over;

    pthread_mutex_lock(&l->server->lock);
    over = l->over;
    pthread_mutex_unlock(&l->server->lock);
    return over;
}

/* May he hear of something at this moment?  NO: his right is over.  MAYBE: the stream
 * is suspended until that is known. */
static enum standing_now may_hear(struct listener *l)
{
    struct server *s = l->server;
    enum standing_now now = STILL_NO;

    pthread_mutex_lock(&s->lock);
    if (!l->barred)
        now = caller_still(s, &l->caller);
    if (now == STILL_YES && !hears(l->caller.who))
        now = STILL_NO;
    if (now == STILL_MAYBE && l->over)
        now = STILL_NO;
    if (now == STILL_MAYBE) {
        l->suspended = l->held = true;
        MHD_suspend_connection(l->connection);
    }
    pthread_mutex_unlock(&s->lock);
    return now;
}

/* False when an event came since the listener read: it reads again. */
static bool sleep_until_news(struct listener *l, uint64_t seen)
{
    bool still;

    pthread_mutex_lock(&l->server->lock);
    still = generation(l->server) == seen && !l->over;
    if (still) {
        l->suspended = true;
        MHD_suspend_connection(l->connection);
    }
    pthread_mutex_unlock(&l->server->lock);
    return still;
}

static bool beat(struct listener *l)
{
    int64_t now = clock_mono_ms();

    if (now - l->sent_ms < BEAT_MS)
        return false;
    l->sent_ms = now;
    buf_clear(&l->out);
    l->from = 0;
    buf_str(&l->out, ": still here\n\n");
    return true;
}

static ssize_t read_events(void *cls, uint64_t pos, char *to, size_t max)
{
    struct listener *l = cls;
    size_t n;

    (void)pos;
    switch (may_hear(l)) {
    case STILL_NO: return MHD_CONTENT_READER_END_OF_STREAM;
    case STILL_MAYBE: return 0;
    default: break;
    }
    while (l->from == l->out.n) {
        uint64_t seen = generation(l->server);

        if (fill(l) || beat(l))
            break;
        if (is_over(l))
            return MHD_CONTENT_READER_END_OF_STREAM;
        if (sleep_until_news(l, seen))
            return 0;
    }
    n = l->out.n - l->from;
    if (n > max)
        n = max;
    memcpy(to, l->out.s + l->from, n);
    l->from += n;
    return (ssize_t)n;
}

static void listener_drop(struct listener *l)
{
    caller_unwatch(l->server, &l->caller);
    caller_done(&l->caller);
    buf_done(&l->out);
    free(l);
}

static void listener_free(void *cls)
{
    struct listener *l = cls;

    pthread_mutex_lock(&l->server->lock);
    *l->link = l->next;
    if (l->next)
        l->next->link = l->link;
    if (!l->over)
        l->server->n_listeners--;
    pthread_mutex_unlock(&l->server->lock);
    listener_drop(l);
}

/* Under the lock. */
static void resume(struct listener *l)
{
    l->suspended = l->held = false;
    MHD_resume_connection(l->connection);
}

void listeners_wake(struct server *s, bool events, int64_t mono_ms)
{
    pthread_mutex_lock(&s->lock);
    for (struct listener *l = s->listeners; l; l = l->next)
        if (l->suspended && !l->held &&
            (events || mono_ms - l->sent_ms >= BEAT_MS))
            resume(l);
    pthread_mutex_unlock(&s->lock);
}

/* Under the lock.  Its place among the listeners is free at once, so its connection
 * must not stay for as long as its client does not read. */
static void end(struct listener *l)
{
    if (!l->over) {
        l->server->n_listeners--;
        seat_enter(l->seat, SEAT_LEAVING);
    }
    l->over = true;
    if (l->suspended)
        resume(l);
}

void listeners_end(struct server *s)
{
    pthread_mutex_lock(&s->lock);
    s->closing = true;
    for (struct listener *l = s->listeners; l; l = l->next)
        end(l);
    pthread_mutex_unlock(&s->lock);
}

void listeners_judge(struct server *s, int64_t mono_ms)
{
    pthread_mutex_lock(&s->lock);
    for (struct listener *l = s->listeners; l; l = l->next) {
        enum standing_now now = l->over ? STILL_YES
                                        : caller_still(s, &l->caller);

        if (l->over)
            continue;
        if (now == STILL_YES)
            l->known_ms = mono_ms;
        if (now == STILL_YES && l->held)
            resume(l);
        if ((now == STILL_YES && hears(l->caller.who)) ||
            (now == STILL_MAYBE && mono_ms - l->known_ms < UNKNOWN_MS))
            continue;
        l->barred = true;
        end(l);
    }
    pthread_mutex_unlock(&s->lock);
}

/* ---- the exchange's side */

static void reply_list(struct exchange *ex, int64_t after, int64_t limit)
{
    struct event_ring *r = ex->server->events;
    int64_t from = after < 0 ? 0 : after;
    struct arena arena = {0};
    struct event *v;
    struct buf b;
    struct out o;
    uint32_t n = event_read(r, from, (uint32_t)limit, &arena, &v);

    reply_begin(&b, &o);
    out_object(&o, NULL);
    out_array(&o, "events");
    for (uint32_t i = 0; i < n; i++) {
        const char *text = event_told(
            &v[i], ex->trusted ? NULL : ex->caller.who, &arena);

        if (text)
            write_event(&o, &v[i], text);
    }
    out_close(&o);
    out_int(&o, "next", n ? v[n - 1].id : from);
    out_bool(&o, "missed", n > 0 && event_missed(r, after));
    out_close(&o);
    arena_done(&arena);
    exchange_reply(ex, 200, &b, "application/json");
}

static uint32_t streams_of(const struct server *s, const struct listener *who,
                           bool account)
{
    uint32_t n = 0;

    for (const struct listener *l = s->listeners; l; l = l->next)
        n += !l->over && strcmp(l->share, who->share) == 0 &&
             (!account || strcmp(l->who, who->who) == 0);
    return n;
}

/* All are taken: who has the most gives the oldest up, and of his accounts the one
 * with the most; but not to one who would have as many.  Under the lock. */
static bool make_room(struct server *s, const struct listener *newcomer)
{
    uint32_t his = streams_of(s, newcomer, false) + 1;
    uint32_t accounts = streams_of(s, newcomer, true) + 1, most = 0, best = 0;
    struct listener *oldest = NULL;

    if (s->n_listeners < LISTENERS_MAX)
        return true;
    for (struct listener *l = s->listeners; l; l = l->next) {
        uint32_t n = l->over ? 0 : streams_of(s, l, false);
        uint32_t k = l->over ? 0 : streams_of(s, l, true);

        if (strcmp(l->share, newcomer->share) == 0 ? k <= accounts : n <= his)
            continue;
        if (n < most || (n == most && k < best))
            continue;
        oldest = l; /* the list begins with the newest */
        most = n;
        best = k;
    }
    if (oldest)
        end(oldest);
    return oldest;
}

static struct listener *listener_new(struct exchange *ex, int64_t after)
{
    struct server *s = ex->server;
    struct listener *l = MEM_NEW(struct listener);

    l->server = s;
    l->connection = ex->connection;
    l->seat = ex->seat;
    l->after = after >= 0 ? after : newest_id(s->events);
    l->sent_ms = clock_mono_ms();
    l->known_ms = l->sent_ms;
    caller_copy(&l->caller, &ex->caller);
    caller_account(&l->caller, l->who, sizeof l->who);
    caller_share(&l->caller, l->share, sizeof l->share);
    buf_init(&l->out, OUT_MAX);
    /* at once, so that the client knows it is connected */
    buf_str(&l->out, "retry: 2000\n\n");
    return l;
}

/* False: there is no room. */
static bool listener_add(struct server *s, struct listener *l)
{
    bool fits;

    pthread_mutex_lock(&s->lock);
    fits = !s->closing && make_room(s, l);
    if (fits) {
        s->n_listeners++;
        l->next = s->listeners;
        l->link = &s->listeners;
        if (l->next)
            l->next->link = &l->next;
        s->listeners = l;
    }
    pthread_mutex_unlock(&s->lock);
    return fits;
}

static void reply_stream(struct exchange *ex, int64_t after)
{
    struct listener *l;

    if (!caller_watch(ex)) {
        exchange_error(ex, 429, "THROTTLED", "Authorization",
                       "%d tokens of %.200s have streams already; let one "
                       "token have several, or use ?format=json",
                       REVIEW_WATCHED, ex->caller.name);
        return;
    }
    l = listener_new(ex, after);
    if (!listener_add(ex->server, l)) {
        listener_drop(l);
        exchange_error(ex, 503, "THROTTLED", "",
                       "%d event streams are open already; use ?format=json",
                       LISTENERS_MAX);
        return;
    }
    ex->response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, 8192, read_events, l, listener_free);
    ex->code = 200;
    ex->stream = true;
    MHD_add_response_header(ex->response, MHD_HTTP_HEADER_CONTENT_TYPE,
                            "text/event-stream");
    MHD_add_response_header(ex->response, MHD_HTTP_HEADER_CACHE_CONTROL,
                            "no-store");
    MHD_add_response_header(ex->response, "X-Accel-Buffering", "no");
}

void get_events(struct exchange *ex)
{
    const char *format = exchange_query(ex, "format");
    const char *id = exchange_header(ex, "Last-Event-ID");
    const char *from = exchange_query(ex, "after");
    int64_t after = exchange_number(id ? id : from);
    int64_t limit = exchange_number(exchange_query(ex, "limit"));
    int64_t newest = newest_id(ex->server->events);

    if (after == -2 || limit == -2 || limit == 0) {
        exchange_error(ex, 400, "INVALID",
                       after == -2 ? id ? "Last-Event-ID" : "after" : "limit",
                       "must be a whole number, %s",
                       after == -2 ? "the id of an event or 0" : "1 to 1024");
        return;
    }
    if (format && strcmp(format, "json") != 0 && strcmp(format, "sse") != 0) {
        exchange_error(ex, 400, "INVALID", "format",
                       "must be json or sse, got \"%.40s\"", format);
        return;
    }
    if (after > newest)
        after = 0; /* of a ledger that was begun anew */
    if (limit < 0 || limit > EVENT_RING)
        limit = EVENT_RING;
    if (format && strcmp(format, "json") == 0)
        reply_list(ex, after, limit);
    else
        reply_stream(ex, after);
}
