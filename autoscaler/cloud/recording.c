/*
 * recording.c - see recording.h.
 *
 * A recording is a tool of diagnosis: when it cannot be written, it says so
 * once and the provider goes on.  A replay that does not find its answer makes
 * the exchange fail, since whatever it made up would be believed.
 */
#include "recording.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/alloc.h"
#include "../base/clock.h"
#include "../base/log.h"
#include "../base/outfile.h"
#include "recording_format.h"
#include "replay.h"

#define FILE_MAX ((int64_t)256 << 20)

struct recording {
    char path[4096];
    pthread_mutex_t lock;
    struct secrets *secrets;
    int fd; /* recording; else -1 */
    int64_t bytes;
    bool stopped;         /* recording has failed, and was logged */
    struct replay replay; /* empty while recording */
    int64_t behind_ms;
};

static struct recording *recording_new(const char *dir, const char *name)
{
    struct recording *t = MEM_NEW(struct recording);
    pthread_mutex_init(&t->lock, NULL);
    t->secrets = secrets_new();
    t->fd = -1;
    snprintf(t->path, sizeof t->path, "%s/%s.jsonl", dir, name);
    return t;
}

void recording_free(struct recording *t)
{
    if (!t)
        return;
    if (t->fd >= 0)
        close(t->fd);
    pthread_mutex_destroy(&t->lock);
    secrets_free(t->secrets);
    replay_done(&t->replay);
    free(t);
}

/* What a crash left of a last line is cut off; returns the length. */
static int64_t tail_cut(int fd, int64_t n)
{
    char c = '\n';
    int64_t whole = n;
    while (whole > 0 && pread(fd, &c, 1, whole - 1) == 1 && c != '\n')
        whole--;
    if (whole < n && ftruncate(fd, whole) != 0)
        return n;
    return whole;
}

enum status recording_open(const char *dir, const char *name,
                           struct recording **ret, struct err *err)
{
    struct stat st;
    *ret = NULL;
    if (outfile_folder(dir, err) != ST_OK)
        return ST_INVALID;
    struct recording *t = recording_new(dir, name);
    t->fd = outfile_open(t->path, O_RDWR | O_CREAT | O_APPEND, 0600, err);
    if (t->fd < 0 || fstat(t->fd, &st) != 0) {
        recording_free(t);
        return ST_INVALID;
    }
    t->bytes = tail_cut(t->fd, st.st_size);
    *ret = t;
    return ST_OK;
}

/* ---- recording */

static void stop(struct recording *t, const char *why)
{
    t->stopped = true;
    log_warn("%s: %s; HTTP is recorded no more", t->path, why);
}

/* The lock is held.  A line is one write: another handle's go in between. */
static void line_put(struct recording *t, char *text)
{
    size_t n = strlen(text);
    text[n++] = '\n'; /* in the place of its end */
    if (t->bytes + (int64_t)n > FILE_MAX) {
        stop(t, "it would be larger than 256 MiB");
        return;
    }
    for (size_t at = 0; at < n;) {
        ssize_t k = write(t->fd, text + at, n - at);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0) {
            stop(t, strerror(errno));
            return;
        }
        at += (size_t)k;
        t->bytes += k;
    }
}

static enum status record(struct recording *t,
                          const struct recording_call *call,
                          struct http_client *c, struct http_exchange *x,
                          struct arena *arena, struct err *err)
{
    struct err own = {0};
    int64_t at = clock_wall_ms(), from = clock_mono_ms();
    if (!err)
        err = &own;
    enum status s = http_do(c, x, arena, err);
    if (s == ST_CANCELLED) /* our own doing, and another time not */
        return s;
    pthread_mutex_lock(&t->lock);
    if (!t->stopped) {
        char *text = exchange_write(t->secrets, call, x,
                                    s != ST_OK ? err : NULL, at,
                                    clock_mono_ms() - from);
        if (text)
            line_put(t, text);
        free(text);
    }
    pthread_mutex_unlock(&t->lock);
    return s;
}

/* ---- replaying */

enum status recording_replay(const char *dir, const char *name,
                             struct recording **ret, struct err *err)
{
    struct recording *t = recording_new(dir, name);
    FILE *f = fopen(t->path, "re");
    enum status s = f ? replay_load(&t->replay, f, t->path, err)
                      : err_set(err, ST_INVALID, "%s: %s", t->path,
                                strerror(errno));

    if (f)
        fclose(f);
    *ret = s == ST_OK ? t : NULL;
    if (s != ST_OK) {
        recording_free(t);
        return s;
    }
    t->behind_ms = clock_wall_ms() - t->replay.all.v[0].at_ms;
    return ST_OK;
}

int64_t recording_behind_ms(struct recording *t)
{
    return t->behind_ms; /* set once, before anybody asks */
}

const char *recording_request_id(struct recording *t, struct offer_key offer)
{
    const char *found;

    pthread_mutex_lock(&t->lock);
    found = replay_request_id(&t->replay, offer);
    pthread_mutex_unlock(&t->lock);
    return found;
}

/* The body as text without secrets; the lock is held. */
static const char *body_plain(struct recording *t,
                              const struct http_exchange *x,
                              struct arena *arena)
{
    json_t *bytes = NULL;
    const char *body = "";
    bool removed;

    if (x->body_len > 0 && !memchr(x->body, '\0', x->body_len))
        bytes = json_stringn(x->body, x->body_len);
    if (x->body_len > 0 && !bytes)
        bytes = bytes_json(x->body, x->body_len);
    if (bytes)
        body = arena_strdup(arena, json_string_value(bytes));
    json_decref(bytes);
    return redact_body(t->secrets, arena, x->url, body, true, &removed);
}

static enum status replay(struct recording *t, struct recording_call *call,
                          struct http_exchange *x, struct arena *arena,
                          struct err *err)
{
    const struct exchange *found;
    const char *body, *url, *key;
    enum status s = ST_OK;

    pthread_mutex_lock(&t->lock);
    body = body_plain(t, x, arena);
    url = redact_url(t->secrets, arena, x->url);
    key = exchange_key(arena, x->method ? x->method : "GET", url, body);
    found = replay_find(&t->replay, call, key, exchange_host(arena, url));
    if (!found)
        s = replay_missing(&t->replay, strrchr(t->path, '/') + 1, key, err);
    else if (found->failed != ST_OK)
        s = err_set(err, found->failed, "%s (as recorded)", found->text);
    log_debug("%s: line %u for %.200s", t->path, found ? found->line : 0, key);
    pthread_mutex_unlock(&t->lock);
    if (s != ST_OK)
        return s;
    x->status = found->status;
    x->reply = found->body;
    x->reply_len = found->body_len;
    x->reply_headers = found->headers;
    x->n_reply_headers = found->n_headers;
    return ST_OK;
}

uint64_t recording_call_id(void)
{
    static atomic_uint n;
    return (uint64_t)clock_wall_ms() << 10 | (atomic_fetch_add(&n, 1) & 1023);
}

enum status recording_do(struct recording *t, struct recording_call *call,
                         struct http_client *c, struct http_exchange *x,
                         struct arena *arena, struct err *err)
{
    return t->fd >= 0 ? record(t, call, c, x, arena, err)
                      : replay(t, call, x, arena, err);
}
