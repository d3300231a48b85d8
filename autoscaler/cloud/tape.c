/*
 * tape.c - see tape.h.
 *
 * A recording is a tool of diagnosis: when it cannot be written, that is told
 * once and the provider goes on.  A replay that does not find its answer makes
 * the exchange fail, since whatever it made up would be believed.
 */
#include "tape.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../base/log.h"
#include "reel.h"

#define FILE_MAX ((int64_t)256 << 20)
#define SHOWN 30                 /* of what differs, in a message */
#define SHOWN_PATH 56

struct tape {
    char path[4096];
    pthread_mutex_t lock;
    struct secrets *secrets;
    int fd;                      /* recording; else -1 */
    int64_t bytes;
    bool stopped;                /* recording has failed, and was told */
    /* replay */
    struct arena arena;
    VEC(struct take) takes;
    VEC(const char *) given;     /* request ids */
    uint32_t floor, barrier;     /* the latest write that was made, and the next
                                  * after it that was not */
    int64_t behind_ms;
};

static uint64_t hash_of(const char *s)
{
    uint64_t h = 14695981039346656037u;
    for (; *s != '\0'; s++)
        h = (h ^ (unsigned char)*s) * 1099511628211u;
    return h;
}

static struct tape *tape_new(const char *dir, const char *name)
{
    struct tape *t = calloc(1, sizeof *t);
    if (!t)
        abort();
    pthread_mutex_init(&t->lock, NULL);
    t->secrets = secrets_new();
    t->fd = -1;
    snprintf(t->path, sizeof t->path, "%s/%s.jsonl", dir, name);
    return t;
}

void tape_free(struct tape *t)
{
    if (!t)
        return;
    if (t->fd >= 0)
        close(t->fd);
    pthread_mutex_destroy(&t->lock);
    secrets_free(t->secrets);
    arena_done(&t->arena);
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

enum status tape_record(const char *dir, const char *name, struct tape **ret,
                        struct err *err)
{
    struct stat st;
    *ret = NULL;
    if (mkdir(dir, 0700) != 0 && errno != EEXIST)
        return err_set(err, ST_INVALID, "%s: %s", dir, strerror(errno));
    struct tape *t = tape_new(dir, name);
    t->fd = open(t->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (t->fd < 0 || fstat(t->fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        enum status s = err_set(err, ST_INVALID, "%s: %s", t->path,
                                t->fd < 0 ? strerror(errno)
                                          : "it is no regular file");
        tape_free(t);
        return s;
    }
    t->bytes = tail_cut(t->fd, st.st_size);
    *ret = t;
    return ST_OK;
}

/* ---- recording */

static void stop(struct tape *t, const char *why)
{
    t->stopped = true;
    log_warn("%s: %s; HTTP is recorded no more", t->path, why);
}

/* The lock is held.  A line is one write: another handle's go in between. */
static void line_put(struct tape *t, char *text)
{
    size_t n = strlen(text);
    text[n++] = '\n';            /* in the place of its end */
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

static enum status record(struct tape *t, const struct tape_call *call,
                          struct http_client *c, struct http_exchange *x,
                          struct arena *arena, struct err *err)
{
    struct err own = {0};
    int64_t at = clock_wall_ms(), from = clock_mono_ms();
    if (!err)
        err = &own;
    enum status s = http_do(c, x, arena, err);
    if (s == ST_CANCELLED)       /* our own doing, and another time not */
        return s;
    pthread_mutex_lock(&t->lock);
    if (!t->stopped) {
        char *text = take_write(t->secrets, call, x, s != ST_OK ? err : NULL,
                                at, clock_mono_ms() - from);
        if (text)
            line_put(t, text);
        free(text);
    }
    pthread_mutex_unlock(&t->lock);
    return s;
}

/* ---- replay: the file */

static enum status load(struct tape *t, FILE *f, struct err *err)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t n;
    uint32_t number = 0;
    int64_t total = 0;
    enum status s = ST_OK;
    while (s == ST_OK && (n = getline(&line, &size, f)) > 0) {
        struct take take;
        number++;
        total += n;
        /* Empty, or cut off by a crash while it was written. */
        if (strspn(line, " \t\r\n") == (size_t)n || line[n - 1] != '\n')
            continue;
        const char *wrong = total > FILE_MAX
                                ? "the file is larger than 256 MiB"
                                : take_read(&t->arena, line, (size_t)n, &take);
        if (wrong) {
            s = err_set(err, ST_INVALID, "%s:%u: not a recorded exchange: %s",
                        t->path, number, wrong);
            break;
        }
        take.line = number;
        take.hash = hash_of(take.key);
        VEC_PUSH(&t->arena, &t->takes, take);
    }
    free(line);
    if (s == ST_OK && t->takes.n == 0)
        s = err_set(err, ST_INVALID, "%s: there is nothing in it", t->path);
    return s;
}

/* Calls run side by side, and not in the recorded order: a write that is made
 * takes the time with it, those before it that were not made yet may follow. */
static void time_to(struct tape *t, uint32_t write)
{
    if (write > t->floor)
        t->floor = write;
    t->barrier = t->floor;
    while (t->barrier < t->takes.n && (!t->takes.v[t->barrier].write ||
                                       t->takes.v[t->barrier].used))
        t->barrier++;
}

enum status tape_replay(const char *dir, const char *name, struct tape **ret,
                        struct err *err)
{
    struct tape *t = tape_new(dir, name);
    FILE *f = fopen(t->path, "re");
    enum status s = f
                        ? load(t, f, err)
                        : err_set(err, ST_INVALID, "%s: %s", t->path,
                                  strerror(errno));
    if (f)
        fclose(f);
    *ret = s == ST_OK ? t : NULL;
    if (s != ST_OK) {
        tape_free(t);
        return s;
    }
    t->behind_ms = clock_wall_ms() - t->takes.v[0].at_ms;
    time_to(t, 0);
    return ST_OK;
}

int64_t tape_behind_ms(struct tape *t)
{
    return t->behind_ms;         /* set once, before anybody asks */
}

const char *tape_request_id(struct tape *t, const char *type, const char *zone,
                            bool spot)
{
    const char *found = NULL;
    pthread_mutex_lock(&t->lock);
    for (uint32_t i = 0; i < t->takes.n && !found; i++) {
        const struct take *k = &t->takes.v[i];
        /* A zone that is left open is the plug-in's to choose. */
        bool given = *k->request_id == '\0' || k->spot != spot ||
                     strcmp(k->type, type) != 0 ||
                     (strcmp(k->zone, zone) != 0 && *k->zone != '\0' &&
                      *zone != '\0');
        for (uint32_t g = 0; g < t->given.n && !given; g++)
            given = strcmp(t->given.v[g], k->request_id) == 0;
        if (!given)
            found = k->request_id;
    }
    if (found)
        VEC_PUSH(&t->arena, &t->given, found);
    pthread_mutex_unlock(&t->lock);
    return found;
}

/* ---- replay: an exchange */

static bool good(const struct take *k)
{
    return k->failed == ST_OK && k->status < 500 && k->status != 429;
}

static struct take *take_use(struct tape *t, uint32_t i, struct tape_call *call)
{
    struct take *k = &t->takes.v[i];
    k->used = true;
    if (k->write)
        time_to(t, i);
    if (call && k->call != 0 && (k->write || *k->request_id != '\0'))
        call->follows = k->call;
    return k;
}

/* The lock is held.  What the operation that is repeated was answered. */
static struct take *pick_own(struct tape *t, struct tape_call *call,
                             const char *key)
{
    uint64_t hash = hash_of(key);
    for (uint32_t i = 0; call && i < t->takes.n; i++) {
        const struct take *k = &t->takes.v[i];
        bool own = (call->follows != 0 && k->call == call->follows) ||
                   (*call->request_id != '\0' &&
                    strcmp(k->request_id, call->request_id) == 0);
        if (own && !k->used && k->hash == hash && strcmp(k->key, key) == 0)
            return take_use(t, i, call);
    }
    return NULL;
}

/* The lock is held.  host: only takes of this one; NULL: of any. */
static struct take *pick(struct tape *t, struct tape_call *call, const char *key,
                         const char *host)
{
    uint64_t hash = hash_of(key);
    struct take *last = NULL, *later = NULL;
    for (uint32_t i = 0; i < t->takes.n; i++) {
        struct take *k = &t->takes.v[i];
        if (k->hash != hash || strcmp(k->key, key) != 0 ||
            (host && strcmp(k->host, host) != 0))
            continue;
        bool here = k->token || k->write ||
                    (i >= t->floor && i < t->barrier);
        if (here && !k->used)
            return take_use(t, i, call);
        if (k->write)
            continue;
        if (i < t->barrier || k->token) {
            if (!last || good(k) || !good(last))
                last = k;
        } else if (!later) {
            later = k;
        }
    }
    return last ? last : later;
}

static size_t same(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] != '\0' && a[n] == b[n])
        n++;
    return n;
}

static enum status not_there(const struct tape *t, const char *key,
                             struct err *err)
{
    const char *file = strrchr(t->path, '/') + 1;
    size_t path = strcspn(key, "?"), method = strcspn(key, " "), most = 0;
    const struct take *near = NULL;
    uint32_t times = 0;
    for (uint32_t i = 0; i < t->takes.n; i++) {
        const struct take *k = &t->takes.v[i];
        size_t n = same(k->key, key);
        times += strcmp(k->key, key) == 0;
        if (!near || n > most) {
            near = k;
            most = n;
        }
    }
    /* Plug-ins hand on 200 bytes of this: the end of a path says most. */
    size_t from = path > method + 1 + SHOWN_PATH ? path - SHOWN_PATH
                                                 : method + 1;
    char what[SHOWN_PATH + 32];
    snprintf(what, sizeof what, "%.*s %s%.*s", (int)method, key,
             from > method + 1 ? "..." : "", (int)(path - from), key + from);
    size_t differ = most > 8 ? most - 8 : 0;
    if (times > 0)
        err_set(err, ST_INVALID, "recorded %u %s in %s and answered as often: "
                "%s", times, times == 1 ? "time" : "times", file, what);
    else if (most <= path)
        err_set(err, ST_INVALID, "not in the recording %s: %s", file, what);
    else
        err_set(err, ST_INVALID, "recorded otherwise: %s; %s:%u has \"%.*s\", "
                "asked is \"%.*s\"", what, file, near->line, SHOWN,
                near->key + differ, SHOWN, key + differ);
    if (err)
        snprintf(err->code, sizeof err->code, "NotRecorded");
    return ST_INVALID;
}

static enum status replay(struct tape *t, struct tape_call *call,
                          struct http_exchange *x,
                          struct arena *arena, struct err *err)
{
    const char *method = x->method ? x->method : "GET";
    json_t *bytes = NULL;
    const char *body = "";
    bool removed;
    if (x->body_len > 0 && !memchr(x->body, '\0', x->body_len))
        bytes = json_stringn(x->body, x->body_len);
    if (x->body_len > 0 && !bytes)
        bytes = bytes_json(x->body, x->body_len);
    if (bytes)
        body = json_string_value(bytes);
    pthread_mutex_lock(&t->lock);
    body = redact_body(t->secrets, arena, x->url, body, true, &removed);
    const char *url = redact_url(t->secrets, arena, x->url);
    const char *key = take_key(arena, method, url, body);
    struct take *k = pick_own(t, call, key);
    if (!k)
        k = pick(t, call, key, take_host(arena, url));
    if (!k)
        k = pick(t, call, key, NULL);
    enum status s = !k ? not_there(t, key, err)
                    : k->failed != ST_OK
                        ? err_set(err, k->failed, "%s (as recorded)", k->text)
                        : ST_OK;
    log_debug("%s: line %u for %.200s", t->path,
             k ? k->line : 0, key);
    pthread_mutex_unlock(&t->lock);
    json_decref(bytes);
    if (s != ST_OK)
        return s;
    x->status = k->status;
    x->reply = k->body;
    x->reply_len = k->body_len;
    x->reply_headers = k->headers;
    x->n_reply_headers = k->n_headers;
    return ST_OK;
}

uint64_t tape_call_id(void)
{
    static atomic_uint n;
    return (uint64_t)clock_wall_ms() << 10 | (atomic_fetch_add(&n, 1) & 1023);
}

enum status tape_do(struct tape *t, struct tape_call *call,
                    struct http_client *c, struct http_exchange *x,
                    struct arena *arena, struct err *err)
{
    return t->fd >= 0 ? record(t, call, c, x, arena, err)
                      : replay(t, call, x, arena, err);
}
