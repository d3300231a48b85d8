/*
 * kube_events.c - see kube_events.h.
 */
#include "kube_events.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../base/alloc.h"
#include "../../base/clock.h"
#include "../../base/digest.h"
#include "../../base/ending.h"
#include "../../base/hash.h"
#include "../../base/text.h"
#include "../../wire/kube/kube.h"

enum {
    KNOWN_MOST = 20000,  /* objects and reasons remembered */
    WAITING_MOST = 1000, /* and of them to be written */
    AGAIN_MS = 300000,   /* the same is written again after so long */
    FORGET_MS = 3600000, /* the server has forgotten it by then */
    RETRY_MS = 30000,
    RATE_MS = 100,
    BURST = 50,
    DEADLINE_MS = 5000,
    TEXT_MOST = 1000,
};

/* One Event: of an object, for a reason. */
struct known {
    struct known *later; /* of those that wait */
    char *key, *api, *kind, *space, *name, *uid, *reason, *text;
    bool warning, waiting;
    char event[280]; /* its name at the server, "" : none yet */
    uint32_t count;
    int64_t first_wall_ms, written_mono_ms; /* written 0: never */
};

struct kube_events {
    struct kube_access *access;
    struct kube *kube;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    atomic_bool stop;
    struct hash known; /* struct known, by key */
    uint32_t n_waiting;
    struct known *first, *last; /* waiting */
    bool denied, denied_emitted;
    char why[300];
    char cluster_uid[64];   /* of the RayCluster; the thread's */
    int64_t tokens_mono_ms; /* the thread's: when the next one is free */
};

static void known_free(struct known *k)
{
    free(k->key);
    free(k->api);
    free(k->kind);
    free(k->space);
    free(k->name);
    free(k->uid);
    free(k->reason);
    free(k->text);
    free(k);
}

/* ---- the thread: one Event written */

static void time_text(char *out, size_t n, int64_t wall_ms)
{
    time_t s = (time_t)(wall_ms / 1000);
    struct tm tm;

    gmtime_r(&s, &tm);
    strftime(out, n, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

/* kubectl finds a RayCluster's Events by its uid. */
static void uid_look_up(struct kube_events *e, const struct known *k)
{
    struct kube_call call = {.deadline_mono_ms = clock_mono_ms() + DEADLINE_MS,
                             .cancel = &e->stop};
    const char *uid;
    char path[600];
    struct err err;

    if (*e->cluster_uid || strcmp(k->kind, "RayCluster") != 0)
        return;
    snprintf(path, sizeof path,
             "/apis/ray.io/v1/namespaces/%.250s/rayclusters/%.250s", k->space,
             k->name);
    call.path = path;
    if (kube_do(e->kube, &call, &err) == ST_OK) {
        uid = json_string_value(
            json_object_get(json_object_get(call.reply, "metadata"), "uid"));
        snprintf(e->cluster_uid, sizeof e->cluster_uid, "%.60s",
                 uid ? uid : "");
    }
    json_decref(call.reply);
}

static json_t *event_json(struct kube_events *e, const struct known *k,
                          const char *space)
{
    const char *uid = *k->uid                              ? k->uid
                      : strcmp(k->kind, "RayCluster") == 0 ? e->cluster_uid
                                                           : "";
    char first[40], last[40];

    time_text(first, sizeof first, k->first_wall_ms);
    time_text(last, sizeof last, clock_wall_ms());
    return json_pack(
        "{s:s, s:s, s:{s:s, s:s}, s:{s:s, s:s, s:s*, s:s, s:s*}, s:s, s:s, "
        "s:s, s:s, s:s, s:i, s:{s:s}, s:s}",
        "apiVersion", "v1", "kind", "Event", "metadata", "name", k->event,
        "namespace", space, "involvedObject", "apiVersion", k->api, "kind",
        k->kind, "namespace", *k->space ? k->space : NULL, "name", k->name,
        "uid", *uid ? uid : NULL, "reason", k->reason, "message", k->text,
        "type", k->warning ? "Warning" : "Normal", "firstTimestamp", first,
        "lastTimestamp", last, "count", (int)k->count, "source", "component",
        "davit", "reportingComponent", "davit");
}

static enum status event_send(struct kube_events *e, const char *method,
                              const char *path, json_t *body, struct err *err)
{
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    struct kube_call call = {.method = method,
                             .path = path,
                             .body = text,
                             .content_type = strcmp(method, "PATCH") == 0
                                                 ? KUBE_MERGE_PATCH
                                                 : KUBE_JSON,
                             .deadline_mono_ms = clock_mono_ms() + DEADLINE_MS,
                             .cancel = &e->stop};
    enum status s = text ? kube_do(e->kube, &call, err)
                         : err_set(err, ST_INVALID, "a text is no UTF-8");

    json_decref(call.reply);
    json_decref(body);
    free(text);
    return s;
}

/* k belongs to the thread while it is written. */
static enum status event_write(struct kube_events *e, struct known *k,
                               struct err *err)
{
    const char *space = *k->space ? k->space : "default";
    enum status s = ST_NOT_FOUND;
    char path[700], last[40];

    uid_look_up(e, k);
    if (*k->event) {
        time_text(last, sizeof last, clock_wall_ms());
        snprintf(path, sizeof path, "/api/v1/namespaces/%.250s/events/%.280s",
                 space, k->event);
        s = event_send(e, "PATCH", path,
                       json_pack("{s:i, s:s, s:s}", "count", (int)k->count,
                                 "lastTimestamp", last, "message", k->text),
                       err);
    }
    if (s != ST_NOT_FOUND)
        return s;
    k->count = 1;
    k->first_wall_ms = clock_wall_ms();
    snprintf(k->event, sizeof k->event, "%.200s.%016" PRIx64, k->name,
             digest_text(DIGEST_SEED, k->key) ^ (uint64_t)clock_mono_us());
    snprintf(path, sizeof path, "/api/v1/namespaces/%.250s/events", space);
    s = event_send(e, "POST", path, event_json(e, k, space), err);
    if (s != ST_OK)
        k->event[0] = '\0';
    return s;
}

static void written(struct kube_events *e, struct known *k, enum status s,
                    const struct err *err)
{
    if (s == ST_AUTH && !strstr(err->text, "being terminated")) {
        e->denied = true;
        snprintf(e->why, sizeof e->why, "%.290s", err->text);
    }
    if (s == ST_RETRY)
        k->written_mono_ms = clock_mono_ms() - AGAIN_MS + RETRY_MS;
}

/* The lock is held; false: to be stopped. */
static bool next_waits(struct kube_events *e)
{
    while (!e->first && !atomic_load(&e->stop))
        pthread_cond_wait(&e->wake, &e->lock); /* one waits */
    return !atomic_load(&e->stop);
}

static void rate_wait(struct kube_events *e)
{
    int64_t now = clock_mono_ms();

    if (e->tokens_mono_ms < now - BURST * RATE_MS)
        e->tokens_mono_ms = now - BURST * RATE_MS;
    e->tokens_mono_ms += RATE_MS;
    if (e->tokens_mono_ms > now)
        clock_sleep_ms(RATE_MS);
}

static void *run(void *arg)
{
    struct kube_events *e = arg;

    pthread_mutex_lock(&e->lock);
    while (next_waits(e)) {
        struct known *k = e->first;
        struct err err = {0};
        enum status s = ST_OK;

        e->first = k->later;
        if (!e->first)
            e->last = NULL;
        if (!e->denied) {
            pthread_mutex_unlock(&e->lock);
            rate_wait(e);
            s = event_write(e, k, &err);
            pthread_mutex_lock(&e->lock);
        }
        written(e, k, s, &err);
        k->waiting = false;
        e->n_waiting--;
    }
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

/* ---- the owner's side */

struct kube_events *kube_events_new(struct kube_access *access)
{
    struct kube_events *e = MEM_NEW(struct kube_events);

    e->access = access;
    e->kube = kube_new(access);
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->wake, NULL);
    if (pthread_create(&e->thread, NULL, run, e) != 0)
        abort();
    return e;
}

void kube_events_free(struct kube_events *e)
{
    struct known *k;

    if (!e)
        return;
    ending_waits("an Event that the API server is being sent");
    atomic_store(&e->stop, true);
    pthread_mutex_lock(&e->lock);
    pthread_cond_signal(&e->wake);
    pthread_mutex_unlock(&e->lock);
    pthread_join(e->thread, NULL);
    for (uint32_t at = 0; (k = hash_each(&e->known, &at));)
        known_free(k);
    hash_done(&e->known);
    pthread_cond_destroy(&e->wake);
    pthread_mutex_destroy(&e->lock);
    kube_free(e->kube);
    kube_access_free(e->access);
    free(e);
}

/* What was written long ago goes. */
static void forget(struct kube_events *e, int64_t before_mono_ms)
{
    struct known *k;

    for (uint32_t at = 0; (k = hash_each(&e->known, &at));) {
        if (k->waiting || k->written_mono_ms > before_mono_ms)
            continue;
        hash_remove(&e->known, hash_text(HASH_SEED, k->key), k);
        known_free(k);
    }
}

static struct known *known_of(struct kube_events *e, const struct kube_event *t)
{
    char key[1100];
    struct known *k;
    uint64_t h;

    snprintf(key, sizeof key, "%.60s/%.250s/%.250s/%.60s/%.250s", t->kind,
             t->space, t->name, t->reason, t->about);
    h = hash_text(HASH_SEED, key);
    for (uint32_t at = 0; (k = hash_next(&e->known, h, &at));)
        if (strcmp(k->key, key) == 0)
            return k;
    if (e->known.n >= KNOWN_MOST)
        forget(e, clock_mono_ms() - AGAIN_MS);
    if (e->known.n >= KNOWN_MOST)
        return NULL;
    k = MEM_NEW(struct known);
    k->key = mem_strdup(key);
    k->api = mem_strdup(t->api);
    k->kind = mem_strdup(t->kind);
    k->space = mem_strdup(t->space);
    k->name = mem_strdup(t->name);
    k->reason = mem_strdup(t->reason);
    k->uid = mem_strdup("");
    k->text = mem_strdup("");
    hash_add(&e->known, h, k);
    return k;
}

static void put(struct kube_events *e, const struct kube_event *t)
{
    int64_t now = clock_mono_ms();
    struct known *k;

    if (e->denied || e->n_waiting >= WAITING_MOST || !(k = known_of(e, t)) ||
        k->waiting ||
        (k->written_mono_ms && now - k->written_mono_ms < AGAIN_MS))
        return;
    if (now - k->written_mono_ms > FORGET_MS || strcmp(k->uid, t->uid) != 0)
        k->event[0] = '\0'; /* another object has its name, perhaps */
    free(k->uid);
    free(k->text);
    k->uid = mem_strdup(t->uid);
    k->text = mem_strndup(t->text, TEXT_MOST);
    text_clean(k->text, strlen(k->text)); /* it may be cut within a letter */
    k->warning = t->warning;
    k->count++;
    k->written_mono_ms = now;
    k->waiting = true;
    k->later = NULL;
    if (e->last)
        e->last->later = k;
    else
        e->first = k;
    e->last = k;
    e->n_waiting++;
    pthread_cond_signal(&e->wake);
}

void kube_events_put(struct kube_events *e, const struct kube_event *t)
{
    if (!*t->name)
        return;
    pthread_mutex_lock(&e->lock);
    put(e, t);
    pthread_mutex_unlock(&e->lock);
}

bool kube_events_denied(struct kube_events *e, char *text, size_t n)
{
    bool news;

    pthread_mutex_lock(&e->lock);
    news = e->denied && !e->denied_emitted;
    e->denied_emitted = e->denied;
    snprintf(text, n, "%s", e->why);
    pthread_mutex_unlock(&e->lock);
    return news;
}
