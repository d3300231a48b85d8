/*
 * replay.c - see replay.h.
 */
#include "replay.h"

#include <stdlib.h>
#include <string.h>

#include "../base/hash.h"

#define FILE_MAX ((int64_t)256 << 20)
#define SHOWN 30 /* of what differs, in a message */
#define SHOWN_PATH 56

/* Calls run side by side, and not in the recorded order: a write that is made
 * moves the time on, those before it that were not made yet may follow. */
static void time_to(struct replay *r, uint32_t write)
{
    if (write > r->floor)
        r->floor = write;
    r->barrier = r->floor;
    while (r->barrier < r->all.n &&
           (!r->all.v[r->barrier].write || r->all.v[r->barrier].used))
        r->barrier++;
}

enum status replay_load(struct replay *r, FILE *f, const char *path,
                        struct err *err)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t n;
    uint32_t number = 0;
    int64_t total = 0;
    enum status s = ST_OK;
    while (s == ST_OK && (n = getline(&line, &size, f)) > 0) {
        struct exchange x;
        number++;
        total += n;
        /* Empty, or cut off by a crash while it was written. */
        if (strspn(line, " \t\r\n") == (size_t)n || line[n - 1] != '\n')
            continue;
        const char *wrong = total > FILE_MAX
                                ? "the file is larger than 256 MiB"
                                : exchange_read(&r->arena, line, (size_t)n, &x);
        if (wrong) {
            s = err_set(err, ST_INVALID, "%s:%u: not a recorded exchange: %s",
                        path, number, wrong);
            break;
        }
        x.line = number;
        x.hash = hash_text(HASH_SEED, x.key);
        VEC_PUSH(&r->arena, &r->all, x);
    }
    free(line);
    if (s == ST_OK && r->all.n == 0)
        s = err_set(err, ST_INVALID, "%s: there is nothing in it", path);
    time_to(r, 0);
    return s;
}

void replay_done(struct replay *r)
{
    arena_done(&r->arena);
}

/* ---- launches */

/* May this recorded launch stand for one of the offer?  A zone that is left
 * open is the plug-in's to choose. */
static bool is_launch_of(const struct exchange *x, struct offer_key offer)
{
    return *x->request_id && x->spot == offer.spot &&
           strcmp(x->type, offer.type) == 0 &&
           (!*x->zone || !*offer.zone || strcmp(x->zone, offer.zone) == 0);
}

static bool is_given(const struct replay *r, const char *request_id)
{
    for (uint32_t i = 0; i < r->given.n; i++)
        if (strcmp(r->given.v[i], request_id) == 0)
            return true;
    return false;
}

const char *replay_request_id(struct replay *r, struct offer_key offer)
{
    for (uint32_t i = 0; i < r->all.n; i++) {
        const struct exchange *x = &r->all.v[i];

        if (is_launch_of(x, offer) && !is_given(r, x->request_id)) {
            VEC_PUSH(&r->arena, &r->given, x->request_id);
            return x->request_id;
        }
    }
    return NULL;
}

/* ---- finding */

static bool good(const struct exchange *k)
{
    return k->failed == ST_OK && k->status < 500 && k->status != 429;
}

static struct exchange *exchange_use(struct replay *r, uint32_t i,
                                     struct recording_call *call)
{
    struct exchange *k = &r->all.v[i];
    k->used = true;
    if (k->write)
        time_to(r, i);
    if (call && k->call != 0 && (k->write || *k->request_id != '\0'))
        call->follows = k->call;
    return k;
}

/* What the operation that is repeated was answered. */
static struct exchange *pick_own(struct replay *r, struct recording_call *call,
                                 const char *key)
{
    uint64_t hash = hash_text(HASH_SEED, key);
    for (uint32_t i = 0; call && i < r->all.n; i++) {
        const struct exchange *k = &r->all.v[i];
        bool own = (call->follows != 0 && k->call == call->follows) ||
                   (*call->request_id != '\0' &&
                    strcmp(k->request_id, call->request_id) == 0);
        if (own && !k->used && k->hash == hash && strcmp(k->key, key) == 0)
            return exchange_use(r, i, call);
    }
    return NULL;
}

/* "METHOD PATH?..." -> its path */
static const char *path_of(const char *key, size_t *ret_len)
{
    const char *path = key + strcspn(key, " ") + 1;

    *ret_len = strcspn(path, "?");
    return path;
}

/* Does the write change what is read, by their paths: the same, or one below it?
 * "/" tells nothing: the action is in the body. */
static bool write_is_of(const char *write, const char *read)
{
    size_t n, m;
    const char *w = path_of(write, &n), *r = path_of(read, &m);

    return n > 1 && n <= m && memcmp(w, r, n) == 0 && (n == m || r[n] == '/');
}

/* The last write that was made of what is read: what was seen before it is of the past,
 * and rather is the future told than that. */
static uint32_t written_last(const struct replay *r, const char *key)
{
    uint32_t last = 0;

    for (uint32_t i = 0; i <= r->floor; i++)
        if (r->all.v[i].write && r->all.v[i].used &&
            write_is_of(r->all.v[i].key, key))
            last = i;
    return last;
}

/* host: only exchanges of this one; NULL: of any. */
static struct exchange *pick(struct replay *r, struct recording_call *call,
                             const char *key, const char *host)
{
    uint64_t hash = hash_text(HASH_SEED, key);
    struct exchange *last = NULL, *later = NULL, *past = NULL;
    uint32_t written = written_last(r, key);
    for (uint32_t i = 0; i < r->all.n; i++) {
        struct exchange *k = &r->all.v[i];
        if (k->hash != hash || strcmp(k->key, key) != 0 ||
            (host && strcmp(k->host, host) != 0))
            continue;
        bool here = k->token || k->write || (i >= r->floor && i < r->barrier);
        if (here && !k->used)
            return exchange_use(r, i, call);
        if (k->write)
            continue;
        if (i < r->barrier || k->token) {
            struct exchange **old = i < written ? &past : &last;

            if (!*old || good(k) || !good(*old))
                *old = k;
        } else if (!later) {
            later = k;
        }
    }
    return last ? last : later ? later : past;
}

const struct exchange *replay_find(struct replay *r,
                                   struct recording_call *call, const char *key,
                                   const char *host)
{
    const struct exchange *x = pick_own(r, call, key);

    if (!x)
        x = pick(r, call, key, host);
    return x ? x : pick(r, call, key, NULL);
}

/* ---- not finding */

static size_t same(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] != '\0' && a[n] == b[n])
        n++;
    return n;
}

enum status replay_missing(const struct replay *r, const char *file,
                           const char *key, struct err *err)
{
    size_t path = strcspn(key, "?"), method = strcspn(key, " "), most = 0;
    const struct exchange *closest = NULL;
    uint32_t times = 0;
    for (uint32_t i = 0; i < r->all.n; i++) {
        const struct exchange *k = &r->all.v[i];
        size_t n = same(k->key, key);
        times += strcmp(k->key, key) == 0;
        if (!closest || n > most) {
            closest = k;
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
        err_set(err, ST_INVALID,
                "recorded %u %s in %s and answered as often: %s", times,
                times == 1 ? "time" : "times", file, what);
    else if (most <= path)
        err_set(err, ST_INVALID, "not in the recording %s: %s", file, what);
    else
        err_set(err, ST_INVALID,
                "recorded otherwise: %s; %s:%u has \"%.*s\", asked is \"%.*s\"",
                what, file, closest->line, SHOWN, closest->key + differ, SHOWN,
                key + differ);
    if (err)
        snprintf(err->code, sizeof err->code, "NotRecorded");
    return ST_INVALID;
}
