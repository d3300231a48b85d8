/*
 * watch.c - see watch.h.
 *
 * The thread goes round: list when there is no resourceVersion to go on from,
 * watch otherwise.  What ends a watch decides how soon the next begins: the
 * server's own end at once, 410 with a list, a failure after a pause that
 * grows to 5 s, a refusal for lack of rights after 15 s.
 */
#include "watch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../base/alloc.h"
#include "../../base/buf.h"
#include "../../base/clock.h"
#include "../../base/text.h"
#include "../http.h"
#include "split.h"

enum {
    HEADERS_MS = 20000,       /* until the server begins to answer */
    LIST_IDLE_MS = 30000, WATCH_IDLE_MS = 100000,  /* bookmarks come each min */
    FIRST_PAUSE_MS = 100, MOST_PAUSE_MS = 5000,
    REFUSED_PAUSE_MS = 15000, MISSING_PAUSE_MS = 300000,
    SHORT_WATCH_MS = 1000,    /* shorter ones without an event are a failure */
    MAX_VERSION = 64, MAX_CONTINUE = 8192,
};

struct kube_watch {
    struct kube_watch_opts o;
    char *path, *query, *what;
    struct kube *kube;
    struct arena scratch;     /* of one exchange */
    struct kube_split split;
    struct err err;           /* of the exchange under way */
    char version[MAX_VERSION];  /* where to watch from; "" : list first */
    char next[MAX_CONTINUE];  /* of a paged list */
    bool expired, whole_version;
    uint64_t got;             /* events of this watch */
    unsigned seed;
    uint32_t failures;        /* in a row */

    pthread_t thread;
    pthread_mutex_t lock;     /* of what follows */
    pthread_cond_t wake;
    atomic_bool stop;
    struct kube_watch_state state;
};

/* ---- how it stands */

static void is_good(struct kube_watch *w)
{
    struct kube_watch_state *s = &w->state;
    bool changed;

    pthread_mutex_lock(&w->lock);
    changed = !s->ok;
    s->ok = s->synced = true;
    s->bad_since_mono_ms = 0;
    s->status = ST_OK;
    s->problem[0] = s->code[0] = '\0';
    pthread_mutex_unlock(&w->lock);
    if (changed && w->o.changed)
        w->o.changed(w->o.ctx);
}

static void is_bad(struct kube_watch *w, const struct err *e)
{
    struct kube_watch_state *s = &w->state;
    bool changed;

    pthread_mutex_lock(&w->lock);
    changed = s->ok || strncmp(s->problem, e->text, sizeof e->text - 1) != 0;
    if (s->ok || !s->bad_since_mono_ms)
        s->bad_since_mono_ms = clock_mono_ms();
    s->ok = false;
    s->status = e->status;
    snprintf(s->problem, sizeof s->problem, "%s", e->text);
    snprintf(s->code, sizeof s->code, "%s", e->code);
    pthread_mutex_unlock(&w->lock);
    if (changed && w->o.changed)
        w->o.changed(w->o.ctx);
}

static void count(struct kube_watch *w, uint64_t *which, uint64_t n)
{
    pthread_mutex_lock(&w->lock);
    *which += n;
    pthread_mutex_unlock(&w->lock);
}

static bool stopped(const struct kube_watch *w)
{
    return atomic_load_explicit(&w->stop, memory_order_relaxed);
}

static void pause_for(struct kube_watch *w, int64_t ms)
{
    struct timespec t;

    ms += (int64_t)(rand_r(&w->seed) % 256) * ms / 1024;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += ms % 1000 * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&w->lock);
    while (!stopped(w) &&
           pthread_cond_timedwait(&w->wake, &w->lock, &t) == 0)
        ;
    pthread_mutex_unlock(&w->lock);
}

/* ---- one exchange */

static bool chunk(void *ctx, const char *p, size_t n)
{
    struct kube_watch *w = ctx;

    count(w, &w->state.bytes, n);
    return kube_split_feed(&w->split, p, n, &w->err) == ST_OK;
}

static void watch_begun(void *ctx)
{
    struct kube_watch *w = ctx;

    is_good(w);
}

/* One GET, its 2xx reply fed to the splitter.  OK: it ended as it should. */
static enum status get(struct kube_watch *w, const char *path,
                       enum kube_split_kind kind, int64_t idle_ms)
{
    struct http_sink sink = { .chunk = chunk, .ctx = w, .idle_ms = idle_ms };
    struct http_exchange x;
    enum status s;

    if (kind == SPLIT_WATCH)
        sink.begin = watch_begun;
    w->split.kind = kind;
    for (int i = 0; i < 2; i++) {
        kube_exchange(w->kube, path, &w->scratch, &x);
        x.deadline_mono_ms = clock_mono_ms() + HEADERS_MS;
        x.cancel = &w->stop;
        x.max_reply = (size_t)1 << 20;
        w->err = (struct err){0};
        s = http_stream(kube_http(w->kube), &x, &sink, &w->scratch, &w->err);
        if (s != ST_OK || x.status != 401 || !kube_token_again(w->kube))
            break;
    }
    if (s == ST_OK && x.status / 100 != 2) {
        json_t *reply = json_loadb(x.reply, x.reply_len, 0, NULL);
        s = kube_refused(w->kube, "GET", path, &x, reply, &w->err);
        w->expired = x.status == 410;
        json_decref(reply);
    } else if (s == ST_OK && w->err.status == ST_RETRY) {
        s = ST_RETRY;
    } else if (s == ST_OK && w->err.status) {
        s = err_prefix(&w->err, "what the API server sent for %s", w->what);
    }
    return s;
}

static const char *version_of(const json_t *object)
{
    const char *v = json_string_value(json_object_get(
        json_object_get(object, "metadata"), "resourceVersion"));

    return v && *v && strlen(v) < MAX_VERSION ? v : NULL;
}

/* ---- list */

static bool list_item(void *ctx, const char *text, size_t n)
{
    struct kube_watch *w = ctx;
    json_error_t bad;
    json_t *o = json_loadb(text, n, 0, &bad);

    if (!o) {
        err_set(&w->err, ST_BROKEN, "an object is no JSON: %s", bad.text);
        return false;
    }
    w->got++;
    w->o.object(w->o.ctx, o, false);
    json_decref(o);
    return !stopped(w);
}

/* What a page says beside its items: version and continuation. */
static enum status page_end(struct kube_watch *w, bool first)
{
    json_error_t bad;
    json_t *rest = json_loadb(w->split.rest.s, w->split.rest.n, 0, &bad);
    const char *version = version_of(rest);
    const char *next = json_string_value(json_object_get(
        json_object_get(rest, "metadata"), "continue"));
    enum status s = ST_OK;

    if (!kube_split_whole(&w->split))
        s = err_set(&w->err, ST_RETRY, "the list of %s was cut off", w->what);
    else if (!rest || !version || !json_is_array(json_object_get(rest,
                                                                 "items")))
        s = err_set(&w->err, ST_BROKEN, "what the API server sent is no list "
                    "of %s with a resourceVersion", w->what);
    else if (next && strlen(next) >= sizeof w->next)
        s = err_set(&w->err, ST_BROKEN, "the list of %s goes on with a token "
                    "of %zu bytes", w->what, strlen(next));
    w->next[0] = '\0';
    if (s == ST_OK && first)
        snprintf(w->version, sizeof w->version, "%s", version);
    if (s == ST_OK && next)
        snprintf(w->next, sizeof w->next, "%s", next);
    json_decref(rest);
    return s;
}

static enum status list(struct kube_watch *w)
{
    const char *and = w->query ? "&" : "", *query = w->query ? w->query : "";
    bool first = true;
    enum status s;

    w->version[0] = w->next[0] = '\0';
    w->got = 0;
    count(w, &w->state.lists, 1);
    w->o.list_begin(w->o.ctx);
    do {
        const char *path;
        arena_reset(&w->scratch);
        path = arena_printf(&w->scratch, "%s?limit=%u%s%s%s%s", w->path,
                            w->o.page ? w->o.page : 500, and, query,
                            first ? "" : "&continue=",
                            first ? "" : text_encode(&w->scratch, w->next));
        kube_split_init(&w->split, SPLIT_LIST, list_item, w);
        s = get(w, path, SPLIT_LIST, LIST_IDLE_MS);
        if (s == ST_OK)
            s = page_end(w, first);
        kube_split_done(&w->split);
        first = false;
    } while (s == ST_OK && *w->next && !stopped(w));
    if (s != ST_OK || stopped(w)) {
        w->version[0] = '\0';
        return s != ST_OK ? s : ST_CANCELLED;
    }
    w->o.list_end(w->o.ctx);
    return ST_OK;
}

/* ---- watch */

static enum status event_error(struct kube_watch *w, const json_t *status)
{
    const char *reason = json_string_value(json_object_get(status, "reason"));
    const char *message = json_string_value(json_object_get(status,
                                                            "message"));
    json_int_t code = json_integer_value(json_object_get(status, "code"));

    w->expired = code == 410;
    err_set(&w->err, ST_RETRY, "the watch of %s ended: %.300s", w->what,
            message ? message : "no reason given");
    snprintf(w->err.code, sizeof w->err.code, "%s", reason ? reason : "");
    return w->err.status;
}

static bool watch_event(void *ctx, const char *text, size_t n)
{
    struct kube_watch *w = ctx;
    json_error_t bad;
    json_t *e = json_loadb(text, n, 0, &bad);
    const json_t *o = json_object_get(e, "object");
    const char *type = json_string_value(json_object_get(e, "type"));
    const char *version = version_of(o);
    bool good = true;

    if (!type || !json_is_object(o)) {
        err_set(&w->err, ST_BROKEN, "an event is none: %s",
                e ? "no type or no object" : bad.text);
        good = false;
    } else if (strcmp(type, "ERROR") == 0) {
        event_error(w, o);
        good = false;
    } else if (strcmp(type, "BOOKMARK") == 0) {
        count(w, &w->state.bookmarks, 1);
    } else if (strcmp(type, "ADDED") == 0 || strcmp(type, "MODIFIED") == 0 ||
               strcmp(type, "DELETED") == 0) {
        w->got++;
        count(w, &w->state.events, 1);
        w->o.object(w->o.ctx, o, *type == 'D');
    }
    if (good && version)
        snprintf(w->version, sizeof w->version, "%s", version);
    json_decref(e);
    return good && !stopped(w);
}

static enum status watch(struct kube_watch *w)
{
    int64_t length = w->o.watch_s ? w->o.watch_s
                                  : 300 + rand_r(&w->seed) % 300;
    int64_t begun = clock_mono_ms();
    const char *path;
    enum status s;

    arena_reset(&w->scratch);
    path = arena_printf(&w->scratch, "%s?watch=1&allowWatchBookmarks=true"
                        "&resourceVersion=%s&timeoutSeconds=%lld%s%s", w->path,
                        text_encode(&w->scratch, w->version), (long long)length,
                        w->query ? "&" : "", w->query ? w->query : "");
    w->got = 0;
    w->expired = false;
    count(w, &w->state.watches, 1);
    kube_split_init(&w->split, SPLIT_WATCH, watch_event, w);
    s = get(w, path, SPLIT_WATCH, WATCH_IDLE_MS);
    kube_split_done(&w->split);
    /* Silence is no failure by itself: the next watch tells. */
    if (s == ST_RETRY && w->state.ok && !w->err.code[0] && !w->expired &&
        clock_mono_ms() - begun >= WATCH_IDLE_MS)
        s = ST_OK;
    if (s == ST_OK && !w->got && clock_mono_ms() - begun < SHORT_WATCH_MS &&
        length > 2)
        s = err_set(&w->err, ST_RETRY, "the API server ends each watch of %s "
                    "as soon as it began", w->what);
    return s;
}

/* ---- the thread */

/* An optional kind that the server does not have (or, since nobody made a rule
 * for it either, does not let us see): an empty list. */
static bool missing(struct kube_watch *w, enum status s)
{
    bool hidden = s == ST_AUTH && strcmp(w->err.code, "Forbidden") == 0;

    if ((s != ST_NOT_FOUND && !hidden) || !w->o.optional)
        return false;
    w->o.list_begin(w->o.ctx);
    w->o.list_end(w->o.ctx);
    is_good(w);
    return true;
}

static int64_t pause_after(struct kube_watch *w, enum status s)
{
    int64_t ms = FIRST_PAUSE_MS;

    if (w->expired && w->failures == 1)
        return 0;
    if (s == ST_AUTH || s == ST_NOT_FOUND || s == ST_INVALID ||
        s == ST_UNSUPPORTED)
        return REFUSED_PAUSE_MS;
    for (uint32_t i = 1; i < w->failures && ms < MOST_PAUSE_MS; i++)
        ms *= 2;
    ms = ms < MOST_PAUSE_MS ? ms : MOST_PAUSE_MS;
    return ms > w->err.retry_after_ms ? ms : w->err.retry_after_ms;
}

static void *run(void *arg)
{
    struct kube_watch *w = arg;

    while (!stopped(w)) {
        bool listing = !w->version[0];
        enum status s = listing ? list(w) : watch(w);

        if (stopped(w))
            break;
        if (s == ST_OK) {
            /* a list alone is not yet a working watch */
            if (!listing)
                w->failures = 0;
            continue;
        }
        w->failures++;
        if (w->expired) {
            w->version[0] = '\0';
            count(w, &w->state.gone, 1);
        }
        if (missing(w, s)) {
            w->version[0] = '\0';
            w->failures = 0;
            pause_for(w, MISSING_PAUSE_MS);
            continue;
        }
        /* what is gone is read anew at once: no news for anybody */
        if (!w->expired || w->failures > 2)
            is_bad(w, &w->err);
        pause_for(w, pause_after(w, s));
        w->expired = false;
    }
    return NULL;
}

static char *own(const char *s)
{
    char *p = s && *s ? mem_strdup(s) : NULL;

    return p;
}

struct kube_watch *kube_watch_new(const struct kube_watch_opts *o)
{
    struct kube_watch *w = MEM_NEW(struct kube_watch);
    pthread_condattr_t attr;

    w->o = *o;
    w->path = own(o->path);
    w->query = own(o->query);
    w->what = own(o->what);
    w->kube = kube_new(o->access);
    w->seed = (unsigned)clock_mono_us() ^ (unsigned)(uintptr_t)w;
    w->state.bad_since_mono_ms = clock_mono_ms();
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->wake, &attr);
    pthread_condattr_destroy(&attr);
    if (pthread_create(&w->thread, NULL, run, w) != 0)
        mem_out();
    return w;
}

void kube_watch_free(struct kube_watch *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    atomic_store(&w->stop, true);
    pthread_cond_broadcast(&w->wake);
    pthread_mutex_unlock(&w->lock);
    http_wake(kube_http(w->kube));
    pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    kube_free(w->kube);
    arena_done(&w->scratch);
    free(w->path);
    free(w->query);
    free(w->what);
    free(w);
}

void kube_watch_state(struct kube_watch *w, struct kube_watch_state *ret)
{
    pthread_mutex_lock(&w->lock);
    *ret = w->state;
    pthread_mutex_unlock(&w->lock);
}
