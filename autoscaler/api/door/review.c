/*
 * review.c - asking the API server, and what is known.
 */
#include "review.h"

#include <openssl/crypto.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"
#include "../../base/clock.h"
#include "../../base/log.h"
#include "../../base/text.h"
#include "../../base/thread.h"

enum { KNOWN_MAX = 1024, TOKEN_MAX = 8192, CALL_MS = 5000 };

struct known {
    unsigned char digest[ACCESS_DIGEST];
    struct access *who; /* a reference, or NULL: nobody */
    int64_t until_ms;   /* mono; 0: nothing is known */
};

struct watched {
    struct watched *next;
    unsigned char digest[ACCESS_DIGEST];
    char *token;
    uint32_t n; /* streams */
};

struct review {
    struct kube_access *access;
    struct kube *kube;
    struct kube *watch_kube; /* of the thread */
    pthread_t thread;
    pthread_cond_t wake;
    bool stop; /* under the lock, as are the watched */
    struct watched *watched;
    char *audience, *space;
    int64_t yes_ms, no_ms;
    pthread_mutex_t lock; /* of the two below */
    struct known known[KNOWN_MAX];
    char problem[480];
};

static void watch_start(struct review *r);
static void watch_stop(struct review *r);

enum status review_open(const struct review_opts *o, struct review **ret,
                        struct err *err)
{
    struct kube_access_opts where = {o->kubeconfig, o->context, NULL};
    struct kube_access *access;
    enum status s = kube_access_find(&where, &access, err);
    struct review *r;

    if (s != ST_OK) {
        err_prefix(err, "api.kubernetes");
        return s;
    }
    r = MEM_NEW(struct review);
    r->access = access;
    r->kube = kube_new(access);
    r->audience = mem_strdup(o->audience);
    r->space = mem_strdup(*o->space ? o->space : kube_access_namespace(access));
    r->yes_ms = o->yes_ms;
    r->no_ms = o->yes_ms < REVIEW_NO_MS ? o->yes_ms : REVIEW_NO_MS;
    pthread_mutex_init(&r->lock, NULL);
    watch_start(r);
    *ret = r;
    return ST_OK;
}

void review_close(struct review *r)
{
    if (!r)
        return;
    watch_stop(r);
    for (uint32_t i = 0; i < KNOWN_MAX; i++)
        access_unref(r->known[i].who);
    kube_free(r->kube);
    kube_access_free(r->access);
    pthread_mutex_destroy(&r->lock);
    free(r->audience);
    free(r->space);
    free(r);
}

bool review_takes(const char *token)
{
    size_t n = strspn(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                             "abcdefghijklmnopqrstuvwxyz0123456789-_.");
    const char *first = strchr(token, '.');
    const char *second = first ? strchr(first + 1, '.') : NULL;

    return !token[n] && n <= TOKEN_MAX && second && first > token &&
           second > first + 1 && second[1] && !strchr(second + 1, '.');
}

/* ---- what is known; under the lock */

static struct known *find(struct review *r, const unsigned char digest[32])
{
    int64_t now = clock_mono_ms();

    for (uint32_t i = 0; i < KNOWN_MAX; i++)
        if (r->known[i].until_ms > now &&
            CRYPTO_memcmp(r->known[i].digest, digest, ACCESS_DIGEST) == 0)
            return &r->known[i];
    return NULL;
}

bool review_was_good(struct review *r, const unsigned char digest[32])
{
    bool good = false;

    pthread_mutex_lock(&r->lock);
    for (uint32_t i = 0; i < KNOWN_MAX && !good; i++)
        good = r->known[i].who &&
               CRYPTO_memcmp(r->known[i].digest, digest, ACCESS_DIGEST) == 0;
    pthread_mutex_unlock(&r->lock);
    return good;
}

bool review_known(struct review *r, const unsigned char digest[32],
                  struct access **ret)
{
    struct known *k;

    *ret = NULL;
    pthread_mutex_lock(&r->lock);
    k = find(r, digest);
    if (k && k->who) {
        access_ref(k->who);
        *ret = k->who;
    }
    pthread_mutex_unlock(&r->lock);
    return k;
}

/* Takes the place of what was known of it, or of what is forgotten first. */
static void keep(struct review *r, const unsigned char digest[32],
                 struct access *who)
{
    int64_t until = clock_mono_ms() + (who ? r->yes_ms : r->no_ms);
    struct known *k;

    pthread_mutex_lock(&r->lock);
    k = r->known;
    for (uint32_t i = 0; i < KNOWN_MAX; i++) {
        if (CRYPTO_memcmp(r->known[i].digest, digest, ACCESS_DIGEST) == 0) {
            k = &r->known[i];
            break;
        }
        if (r->known[i].until_ms < k->until_ms)
            k = &r->known[i];
    }
    access_unref(k->who);
    memcpy(k->digest, digest, ACCESS_DIGEST);
    k->who = who;
    k->until_ms = until;
    pthread_mutex_unlock(&r->lock);
}

/* ---- asking */

/* Takes body over. */
static enum status post(struct kube *kube, const char *group,
                        const char *things, json_t *body, json_t **ret,
                        struct err *err)
{
    char path[128], *text = json_dumps(body, JSON_COMPACT);
    struct kube_call call = {.method = "POST",
                             .path = path,
                             .body = text,
                             .deadline_mono_ms = clock_mono_ms() + CALL_MS};
    enum status s;

    snprintf(path, sizeof path, "/apis/%s/v1/%s", group, things);
    json_decref(body);
    s = kube_do(kube, &call, err);
    if (text)
        OPENSSL_cleanse(text, strlen(text));
    free(text);
    *ret = call.reply;
    return s;
}

static enum status ask_user(struct review *r, struct kube *kube,
                            const char *token, struct arena *a,
                            struct reviewed *ret, struct err *err)
{
    json_t *spec = json_pack("{s:s}", "token", token), *reply = NULL;
    enum status s;

    if (*r->audience)
        json_object_set_new(spec, "audiences", json_pack("[s]", r->audience));
    s = post(
        kube, "authentication.k8s.io", "tokenreviews",
        json_pack("{s:s,s:s,s:o}", "apiVersion", "authentication.k8s.io/v1",
                  "kind", "TokenReview", "spec", spec),
        &reply, err);
    if (s == ST_OK)
        s = review_user(reply, r->audience, a, ret, err);
    json_decref(reply);
    return s;
}

/* name: "" for all of them. */
static enum status ask_right(struct review *r, struct kube *kube,
                             const struct reviewed *who, const char *verb,
                             const char *resource, const char *name, bool *ret,
                             struct err *err)
{
    json_t *spec = json_copy(who->spec), *reply = NULL;
    enum status s;

    json_object_set_new(
        spec, "resourceAttributes",
        json_pack("{s:s,s:s,s:s,s:s,s:s}", "group", "davit.io", "namespace",
                  r->space, "verb", verb, "resource", resource, "name", name));
    s = post(kube, "authorization.k8s.io", "subjectaccessreviews",
             json_pack("{s:s,s:s,s:o}", "apiVersion", "authorization.k8s.io/v1",
                       "kind", "SubjectAccessReview", "spec", spec),
             &reply, err);
    if (s == ST_OK)
        s = review_allowed(reply, ret, err);
    json_decref(reply);
    return s;
}

static struct patterns owners_of(struct arena *a, bool all, const char *space)
{
    const char **v = ARENA_ARRAY(a, const char *, 2);

    v[0] = all ? "*" : arena_strdup(a, space);
    v[1] = all ? NULL : arena_printf(a, "%s.*", space);
    return (struct patterns){v, all ? 1 : 2};
}

static enum status ask_rights(struct review *r, struct kube *kube,
                              const struct reviewed *who, struct access *x,
                              struct principal *p, struct err *err)
{
    bool all = false, own = false;
    enum status s;

    s = ask_right(r, kube, who, "update", "control", "", &p->admin, err);
    if (s != ST_OK || p->admin)
        return s;
    s = ask_right(r, kube, who, "get", "status", "", &p->read, err);
    if (s == ST_OK)
        s = ask_right(r, kube, who, "create", "requests", "", &all, err);
    if (s == ST_OK && !all && *who->space)
        s = ask_right(r, kube, who, "create", "requests", who->space, &own,
                      err);
    if (all || own)
        p->owners = owners_of(&x->arena, all, who->space);
    return s;
}

static struct access *access_new(const char *user, struct principal **ret)
{
    struct access *x = MEM_NEW(struct access);
    struct principal *p = ARENA_NEW(&x->arena, struct principal);

    p->name = arena_strdup(&x->arena, user);
    p->file = "api.kubernetes";
    x->refs = 1;
    x->v = p;
    x->n = 1;
    *ret = p;
    return x;
}

/* Says so once, and once that it is over. */
static void problem_set(struct review *r, const char *text)
{
    bool had;

    pthread_mutex_lock(&r->lock);
    had = *r->problem;
    snprintf(r->problem, sizeof r->problem, "%s%s",
             *text ? "api.kubernetes: " : "", text);
    text_clean(r->problem, strlen(r->problem));
    pthread_mutex_unlock(&r->lock);
    if (*text && !had)
        log_warn("api.kubernetes: %s", text);
    else if (!*text && had)
        log_info("api.kubernetes: the API server answers again");
}

static enum status ask(struct review *r, struct kube *kube, const char *token,
                       const unsigned char digest[32], struct err *err)
{
    struct access *x = NULL;
    struct principal *p;
    struct arena a = {0};
    struct reviewed who = {0};
    enum status s = ask_user(r, kube, token, &a, &who, err);

    if (s == ST_OK && who.user) {
        x = access_new(who.user, &p);
        s = ask_rights(r, kube, &who, x, p, err);
    }
    json_decref(who.spec);
    problem_set(r, s == ST_OK ? "" : err->text);
    if (s == ST_OK)
        keep(r, digest, x);
    else
        access_unref(x);
    arena_done(&a);
    return s;
}

enum status review_ask(struct review *r, const char *token,
                       const unsigned char digest[32], struct err *err)
{
    bool known;

    pthread_mutex_lock(&r->lock);
    known = find(r, digest); /* many wait for the same */
    pthread_mutex_unlock(&r->lock);
    return known ? ST_OK : ask(r, r->kube, token, digest, err);
}

/* ---- what is watched */

static void watched_free(struct watched *w)
{
    OPENSSL_cleanse(w->token, strlen(w->token));
    free(w->token);
    free(w);
}

static struct watched **watched_at(struct review *r,
                                   const unsigned char digest[32])
{
    struct watched **at = &r->watched;

    while (*at && CRYPTO_memcmp((*at)->digest, digest, ACCESS_DIGEST) != 0)
        at = &(*at)->next;
    return at;
}

void review_watch(struct review *r, const char *token,
                  const unsigned char digest[32])
{
    struct watched **at;

    pthread_mutex_lock(&r->lock);
    at = watched_at(r, digest);
    if (!*at) {
        *at = MEM_NEW(struct watched);
        memcpy((*at)->digest, digest, ACCESS_DIGEST);
        (*at)->token = mem_strdup(token);
    }
    (*at)->n++;
    pthread_mutex_unlock(&r->lock);
}

void review_unwatch(struct review *r, const unsigned char digest[32])
{
    struct watched **at, *gone;

    pthread_mutex_lock(&r->lock);
    at = watched_at(r, digest);
    gone = *at && --(*at)->n == 0 ? *at : NULL;
    if (gone)
        *at = gone->next;
    pthread_mutex_unlock(&r->lock);
    if (gone)
        watched_free(gone);
}

/* Asks about the i-th, if there are so many.  Under the lock, which is given up
 * meanwhile. */
static bool watched_ask(struct review *r, uint32_t i)
{
    unsigned char digest[ACCESS_DIGEST];
    struct watched *w = r->watched;
    struct err err;
    char *token;

    for (; w && i > 0; i--)
        w = w->next;
    if (!w)
        return false;
    token = mem_strdup(w->token);
    memcpy(digest, w->digest, sizeof digest);
    pthread_mutex_unlock(&r->lock);
    ask(r, r->watch_kube, token, digest, &err);
    OPENSSL_cleanse(token, strlen(token));
    free(token);
    pthread_mutex_lock(&r->lock);
    return true;
}

static void *watch_main(void *arg)
{
    struct review *r = arg;

    pthread_mutex_lock(&r->lock);
    while (!r->stop) {
        struct timespec until = clock_wait_until(1000);

        pthread_cond_timedwait(&r->wake, &r->lock, &until);
        for (uint32_t i = 0; !r->stop && watched_ask(r, i); i++)
            ;
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

static void watch_start(struct review *r)
{
    thread_cond_init(&r->wake);
    r->watch_kube = kube_new(r->access);
    if (pthread_create(&r->thread, NULL, watch_main, r) != 0)
        abort();
}

static void watch_stop(struct review *r)
{
    thread_stop(r->thread, &r->lock, &r->wake, &r->stop);
    pthread_cond_destroy(&r->wake);
    while (r->watched) {
        struct watched *w = r->watched;

        r->watched = w->next;
        watched_free(w);
    }
    kube_free(r->watch_kube);
}

const char *review_problem(struct review *r, char *buf, size_t n)
{
    pthread_mutex_lock(&r->lock);
    snprintf(buf, n, "%s", r->problem);
    pthread_mutex_unlock(&r->lock);
    return buf;
}
