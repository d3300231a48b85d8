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
#include "jwks.h"

enum {
    KNOWN_MAX = 1024,
    KNOWN_ACCOUNT = 256, /* of one account: it forgets its own first */
    KNOWN_NOBODY = 512,  /* of tokens that are nobody's */
    CALL_MS = 5000,
    WATCHERS = 4, /* threads */
    WATCH_MS = 1000
};

struct known {
    unsigned char digest[ACCESS_DIGEST];
    struct access *who; /* a reference, or NULL: nobody */
    int64_t asked_ms;   /* mono: the TokenReview was sent */
    int64_t until_ms;   /* mono; 0: nothing is known */
};

struct watched {
    struct watched *next;
    unsigned char digest[ACCESS_DIGEST];
    char *token, *account;
    uint32_t n;       /* streams */
    int64_t asked_ms; /* mono: it was asked about last */
    bool busy;        /* it is being asked about now */
};

struct review {
    struct kube_access *access;
    struct kube *kube;
    struct jwks *keys;
    struct watcher {
        struct review *review;
        struct kube *kube;
        pthread_t thread;
    } watchers[WATCHERS];
    pthread_cond_t wake;
    void (*changed)(void *arg);
    void *arg;
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
    r->keys = jwks_new();
    r->audience = mem_strdup(o->audience);
    r->space = mem_strdup(*o->space ? o->space : kube_access_namespace(access));
    r->yes_ms = o->yes_ms;
    r->changed = o->changed;
    r->arg = o->arg;
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
    jwks_free(r->keys);
    kube_access_free(r->access);
    pthread_mutex_destroy(&r->lock);
    free(r->audience);
    free(r->space);
    free(r);
}

/* ---- what is known; under the lock */

static struct known *find(struct review *r, const unsigned char digest[32],
                          int64_t since_ms)
{
    int64_t now = clock_mono_ms();

    for (uint32_t i = 0; i < KNOWN_MAX; i++) {
        struct known *k = &r->known[i];

        if (k->until_ms && (k->until_ms > now || k->asked_ms >= since_ms) &&
            CRYPTO_memcmp(k->digest, digest, ACCESS_DIGEST) == 0)
            return k;
    }
    return NULL;
}

bool review_was_good(struct review *r, const unsigned char digest[32],
                     char *buf, size_t n)
{
    bool good = false;

    pthread_mutex_lock(&r->lock);
    for (uint32_t i = 0; i < KNOWN_MAX && !good; i++) {
        const struct known *k = &r->known[i];

        good = k->who && CRYPTO_memcmp(k->digest, digest, ACCESS_DIGEST) == 0;
        if (good)
            snprintf(buf, n, "%s", k->who->v->name);
    }
    pthread_mutex_unlock(&r->lock);
    return good;
}

bool review_known(struct review *r, const unsigned char digest[32],
                  int64_t since_ms, struct access **ret)
{
    struct known *k;

    *ret = NULL;
    pthread_mutex_lock(&r->lock);
    k = find(r, digest, since_ms);
    if (k && k->who) {
        access_ref(k->who);
        *ret = k->who;
    }
    pthread_mutex_unlock(&r->lock);
    return k;
}

bool review_vouched(struct review *r, const char *token, char *buf, size_t n)
{
    return review_takes(token) &&
           jwks_vouches(r->keys, token, clock_wall_ms(), buf, n) == JWKS_YES;
}

static bool same_account(const struct access *a, const struct access *b)
{
    return a && b ? strcmp(a->v->name, b->v->name) == 0 : !a && !b;
}

/* Where it goes: over what was known of it; over his own oldest, of an account that
 * has its share; else over what is forgotten first. */
static struct known *place_of(struct review *r, const unsigned char digest[32],
                              const struct access *who)
{
    struct known *oldest = r->known, *his = NULL;
    uint32_t n = 0;

    for (struct known *k = r->known; k < r->known + KNOWN_MAX; k++) {
        if (k->until_ms && CRYPTO_memcmp(k->digest, digest, ACCESS_DIGEST) == 0)
            return k;
        if (k->until_ms < oldest->until_ms)
            oldest = k;
        if (!k->until_ms || !same_account(k->who, who))
            continue;
        n++;
        if (!his || k->until_ms < his->until_ms)
            his = k;
    }
    return n >= (who ? KNOWN_ACCOUNT : KNOWN_NOBODY) ? his : oldest;
}

/* Takes who over.  A yes is as old as its question: the API server may have taken its
 * time, and the right may be over.  An answer gives way to one that was asked for
 * later. */
static void keep(struct review *r, const unsigned char digest[32],
                 int64_t asked_ms, struct access *who)
{
    struct known *k;

    pthread_mutex_lock(&r->lock);
    k = place_of(r, digest, who);
    if (k->asked_ms > asked_ms &&
        CRYPTO_memcmp(k->digest, digest, ACCESS_DIGEST) == 0) {
        access_unref(who);
    } else {
        access_unref(k->who);
        memcpy(k->digest, digest, ACCESS_DIGEST);
        k->who = who;
        k->asked_ms = asked_ms;
        k->until_ms = who ? asked_ms + r->yes_ms : clock_mono_ms() + r->no_ms;
    }
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
    int64_t asked_ms = clock_mono_ms();
    enum status s = ask_user(r, kube, token, &a, &who, err);

    if (s == ST_OK && who.user) {
        x = access_new(who.user, &p);
        s = ask_rights(r, kube, &who, x, p, err);
    }
    json_decref(who.spec);
    problem_set(r, s == ST_OK ? "" : err->text);
    if (s == ST_OK)
        keep(r, digest, asked_ms, x);
    else
        access_unref(x);
    arena_done(&a);
    return s;
}

enum status review_ask(struct review *r, const char *token,
                       const unsigned char digest[32], int64_t since_ms,
                       struct err *err)
{
    bool known;

    pthread_mutex_lock(&r->lock);
    known = find(r, digest, since_ms); /* many wait for the same */
    pthread_mutex_unlock(&r->lock);
    return known ? ST_OK : ask(r, r->kube, token, digest, err);
}

/* ---- what is watched */

static void watched_free(struct watched *w)
{
    OPENSSL_cleanse(w->token, strlen(w->token));
    free(w->token);
    free(w->account);
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

static uint32_t watched_of(const struct review *r, const char *account)
{
    uint32_t n = 0;

    for (const struct watched *w = r->watched; w; w = w->next)
        n += strcmp(w->account, account) == 0;
    return n;
}

bool review_watch(struct review *r, const char *token,
                  const unsigned char digest[32], const char *account)
{
    struct watched **at;
    bool may;

    pthread_mutex_lock(&r->lock);
    at = watched_at(r, digest);
    may = *at || watched_of(r, account) < REVIEW_WATCHED;
    if (may && !*at) {
        *at = MEM_NEW(struct watched);
        memcpy((*at)->digest, digest, ACCESS_DIGEST);
        (*at)->token = mem_strdup(token);
        (*at)->account = mem_strdup(account);
    }
    if (may)
        (*at)->n++;
    pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->lock);
    return may;
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

static int64_t watch_ms(const struct review *r)
{
    return r->yes_ms < 2 * WATCH_MS ? r->yes_ms / 2 : WATCH_MS;
}

/* Of those that are due the one whose account has the fewest: it is asked about in
 * time however many another account has.  Under the lock; *ret_ms: until the next
 * one is due. */
static struct watched *due(struct review *r, int64_t *ret_ms)
{
    int64_t now = clock_mono_ms();
    struct watched *best = NULL;
    uint32_t fewest = 0;

    *ret_ms = watch_ms(r);
    for (struct watched *w = r->watched; w; w = w->next) {
        int64_t wait = w->asked_ms ? w->asked_ms + watch_ms(r) - now : 0;
        uint32_t n;

        if (w->busy)
            continue;
        if (wait > 0) {
            *ret_ms = wait < *ret_ms ? wait : *ret_ms;
            continue;
        }
        n = watched_of(r, w->account);
        if (best &&
            (n > fewest || (n == fewest && w->asked_ms >= best->asked_ms)))
            continue;
        best = w;
        fewest = n;
    }
    return best;
}

/* What is known of it, in a number: nobody, or which rights. */
static unsigned rights_known(struct review *r, const unsigned char digest[32])
{
    struct access *x;
    unsigned rights = 0;

    if (review_known(r, digest, INT64_MAX, &x) && x)
        rights = 1u + (x->v->read ? 2u : 0) + (x->v->admin ? 4u : 0) +
                 8u * x->v->owners.n;
    access_unref(x);
    return rights;
}

/* Under the lock, which is given up meanwhile. */
static void watched_ask(struct review *r, struct kube *kube, struct watched *w)
{
    unsigned char digest[ACCESS_DIGEST];
    char *token = mem_strdup(w->token);
    struct watched **at;
    unsigned before;
    struct err err;
    bool news;

    memcpy(digest, w->digest, sizeof digest);
    w->busy = true;
    w->asked_ms = clock_mono_ms();
    pthread_mutex_unlock(&r->lock);
    before = rights_known(r, digest);
    news = ask(r, kube, token, digest, &err) == ST_OK &&
           rights_known(r, digest) != before;
    OPENSSL_cleanse(token, strlen(token));
    free(token);
    if (news && r->changed)
        r->changed(r->arg);
    pthread_mutex_lock(&r->lock);
    at = watched_at(r, digest); /* it may be another by now, or gone */
    if (*at)
        (*at)->busy = false;
}

static void keys_ask(struct review *r, struct kube *kube)
{
    struct kube_call call = {.path = "/openid/v1/jwks",
                             .accept = "application/jwk-set+json, " KUBE_JSON};
    struct err err;
    enum status s = kube_do(kube, &call, &err);

    if (s == ST_OK)
        s = jwks_take(r->keys, call.reply, &err);
    json_decref(call.reply);
    jwks_problem(r->keys, s == ST_OK ? NULL : err.text);
}

static void *watch_main(void *arg)
{
    struct watcher *me = arg;
    struct review *r = me->review;

    pthread_mutex_lock(&r->lock);
    while (!r->stop) {
        int64_t ms;
        struct watched *w = due(r, &ms);

        if (jwks_due(r->keys)) {
            pthread_mutex_unlock(&r->lock);
            keys_ask(r, me->kube);
            pthread_mutex_lock(&r->lock);
        } else if (w) {
            watched_ask(r, me->kube, w);
        } else {
            struct timespec until = clock_wait_until(ms);

            pthread_cond_timedwait(&r->wake, &r->lock, &until);
        }
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

static void watch_start(struct review *r)
{
    thread_cond_init(&r->wake);
    for (int i = 0; i < WATCHERS; i++) {
        struct watcher *w = &r->watchers[i];

        *w = (struct watcher){.review = r, .kube = kube_new(r->access)};
        if (pthread_create(&w->thread, NULL, watch_main, w) != 0)
            abort();
    }
}

static void watch_stop(struct review *r)
{
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    pthread_cond_broadcast(&r->wake);
    pthread_mutex_unlock(&r->lock);
    for (int i = 0; i < WATCHERS; i++)
        thread_stop(r->watchers[i].thread, &r->lock, &r->wake, &r->stop);
    pthread_cond_destroy(&r->wake);
    while (r->watched) {
        struct watched *w = r->watched;

        r->watched = w->next;
        watched_free(w);
    }
    for (int i = 0; i < WATCHERS; i++)
        kube_free(r->watchers[i].kube);
}

const char *review_problem(struct review *r, char *buf, size_t n)
{
    pthread_mutex_lock(&r->lock);
    snprintf(buf, n, "%s", r->problem);
    pthread_mutex_unlock(&r->lock);
    return buf;
}
