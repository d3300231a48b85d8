/*
 * watch_read.c - one list, and one watch from a version on.  See watch.h.
 */
#include "watch_inside.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/clock.h"
#include "../../base/text.h"
#include "../http.h"

enum {
    HEADERS_MS = 20000, /* until the server begins to answer */
    LIST_IDLE_MS = 30000,
    WATCH_IDLE_MS = 100000, /* bookmarks come each min */
    SHORT_WATCH_MS = 1000,  /* shorter ones without an event are a failure */
};

static bool chunk(void *ctx, const char *p, size_t n)
{
    struct kube_watch *w = ctx;

    watch_count(w, &w->state.bytes, n);
    return kube_split_feed(&w->split, p, n, &w->err) == ST_OK;
}

static void watch_begun(void *ctx)
{
    struct kube_watch *w = ctx;

    pthread_mutex_lock(&w->lock);
    w->state.missing = w->state.hidden = false;
    pthread_mutex_unlock(&w->lock);
    watch_is_good(w);
}

/* One GET, its 2xx reply fed to the splitter.  OK: it ended as it should. */
static enum status get(struct kube_watch *w, const char *path,
                       enum kube_split_kind kind, int64_t idle_ms)
{
    struct http_sink sink = {.chunk = chunk, .ctx = w, .idle_ms = idle_ms};
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
        s = err_prefix(&w->err, "what the API server sent for %s", w->o.what);
    }
    return s;
}

static const char *version_of(const json_t *object)
{
    const char *v = json_string_value(json_object_get(
        json_object_get(object, "metadata"), "resourceVersion"));

    return v && *v && strlen(v) < MAX_VERSION ? v : NULL;
}

/* What is asked for may have a query of its own. */
static const char *before_query(const struct kube_watch *w)
{
    return strchr(w->o.path, '?') ? "&" : "?";
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
    return !watch_stopped(w);
}

/* What a page says beside its items: version and continuation. */
static enum status page_end(struct kube_watch *w, bool first)
{
    json_error_t bad;
    json_t *rest = json_loadb(w->split.rest.s, w->split.rest.n, 0, &bad);
    const char *version = version_of(rest);
    const char *next = json_string_value(
        json_object_get(json_object_get(rest, "metadata"), "continue"));
    enum status s = ST_OK;

    if (!kube_split_whole(&w->split))
        s = err_set(&w->err, ST_RETRY, "the list of %s was cut off", w->o.what);
    else if (!rest || !version ||
             !json_is_array(json_object_get(rest, "items")))
        s = err_set(&w->err, ST_BROKEN,
                    "what the API server sent is no list of %s with a "
                    "resourceVersion",
                    w->o.what);
    else if (next && strlen(next) >= sizeof w->next)
        s = err_set(&w->err, ST_BROKEN,
                    "the list of %s goes on with a token of %zu bytes",
                    w->o.what, strlen(next));
    w->next[0] = '\0';
    if (s == ST_OK && first)
        snprintf(w->version, sizeof w->version, "%s", version);
    if (s == ST_OK && next)
        snprintf(w->next, sizeof w->next, "%s", next);
    json_decref(rest);
    return s;
}

enum status watch_list(struct kube_watch *w)
{
    bool first = true;
    enum status s;

    w->version[0] = w->next[0] = '\0';
    w->got = 0;
    watch_count(w, &w->state.lists, 1);
    w->o.list_begin(w->o.ctx);
    do {
        const char *path;
        arena_reset(&w->scratch);
        path = arena_printf(&w->scratch, "%s%slimit=%u%s%s", w->o.path,
                            before_query(w), w->o.page ? w->o.page : 500,
                            first ? "" : "&continue=",
                            first ? "" : text_encode(&w->scratch, w->next));
        kube_split_init(&w->split, SPLIT_LIST, list_item, w);
        s = get(w, path, SPLIT_LIST, LIST_IDLE_MS);
        if (s == ST_OK)
            s = page_end(w, first);
        kube_split_done(&w->split);
        first = false;
    } while (s == ST_OK && *w->next && !watch_stopped(w));
    if (s != ST_OK || watch_stopped(w)) {
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
    const char *message = json_string_value(json_object_get(status, "message"));
    json_int_t code = json_integer_value(json_object_get(status, "code"));

    w->expired = code == 410;
    err_set(&w->err, ST_RETRY, "the watch of %s ended: %.300s", w->o.what,
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
        watch_count(w, &w->state.bookmarks, 1);
    } else if (strcmp(type, "ADDED") == 0 || strcmp(type, "MODIFIED") == 0 ||
               strcmp(type, "DELETED") == 0) {
        w->got++;
        watch_count(w, &w->state.events, 1);
        w->o.object(w->o.ctx, o, *type == 'D');
    }
    if (good && version)
        snprintf(w->version, sizeof w->version, "%s", version);
    json_decref(e);
    return good && !watch_stopped(w);
}

enum status watch_follow(struct kube_watch *w)
{
    int seconds = 300 + rand_r(&w->seed) % 300;
    int64_t begun = clock_mono_ms();
    const char *path;
    enum status s;

    arena_reset(&w->scratch);
    path = arena_printf(&w->scratch,
                        "%s%swatch=1&allowWatchBookmarks=true"
                        "&resourceVersion=%s&timeoutSeconds=%d",
                        w->o.path, before_query(w),
                        text_encode(&w->scratch, w->version), seconds);
    w->got = 0;
    w->expired = false;
    watch_count(w, &w->state.watches, 1);
    kube_split_init(&w->split, SPLIT_WATCH, watch_event, w);
    s = get(w, path, SPLIT_WATCH, WATCH_IDLE_MS);
    kube_split_done(&w->split);
    /* Silence is no failure by itself: the next watch will show. */
    if (s == ST_RETRY && w->state.ok && !w->err.code[0] && !w->expired &&
        clock_mono_ms() - begun >= WATCH_IDLE_MS)
        s = ST_OK;
    if (s == ST_OK && !w->got && clock_mono_ms() - begun < SHORT_WATCH_MS)
        s = err_set(&w->err, ST_RETRY,
                    "the API server ends each watch of %s as soon as it began",
                    w->o.what);
    return s;
}
