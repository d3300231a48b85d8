/*
 * ha.c - the lease's thread, and the writes of the journal's copy.
 *
 * Two connections: one for the lease, which must never wait behind a large
 * write, and one for the copy.  Writes run one at a time on a worker; the
 * control thread holds back what is not in the copy yet (send.c).
 */
#include "ha.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/alloc.h"
#include "../base/clock.h"
#include "../base/hash.h"
#include "../base/log.h"
#include "../base/random.h"
#include "../base/worker.h"
#include "../store/kube_state.h"
#include "../wire/kube/lease.h"

enum {
    ROWS_AT_ONCE = 4000,
    RETRY_MS = 500, /* between failed writes */
    STANDBY_LEAST_MS = 200,
    STANDBY_MOST_MS = 2000,
    GOODBYE_MS = 2000,
    EXIT_DEPOSED = 1,
};

struct ha {
    struct kube_access *access;
    struct kube *lease_kube, *state_kube;
    struct kube_lease *lease;
    struct kube_state *state;
    char space[256], name[256], identity[256];
    int64_t lease_ms;
    /* the thread that keeps the lease */
    pthread_t keeper;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool keeping, stopping;
    atomic_int_least64_t until_boot_ms, renewed_wall_ms; /* of the lease */
    bool unsure; /* told so; control thread */
    /* the copy; control thread */
    struct workers *worker;
    bool writing;
    unsigned percent; /* after the last write */
    int64_t due_mono_ms;
};

struct ha_job {
    struct job job; /* first */
    struct kube_state *state;
    struct arena arena;
    struct mirror_row *rows;
    uint32_t n;
    enum status status;
    struct err err;
};

/* ---- opening */

static void identity_make(const struct config *c, char *s, size_t n)
{
    uint32_t random;
    char host[128] = "davit";

    if (*c->ha_identity) {
        snprintf(s, n, "%s", c->ha_identity);
        return;
    }
    if (gethostname(host, sizeof host - 1) != 0)
        snprintf(host, sizeof host, "davit");
    random_bytes(&random, sizeof random);
    snprintf(s, n, "%s_%08x", host, random);
}

/* A cluster's name as the name of an object: small letters, digits, '-'. */
void ha_name(const struct config *c, char *s, size_t n)
{
    snprintf(s, n, "%s%s", *c->ha_name ? "" : "davit-",
             *c->ha_name ? c->ha_name : c->cluster);
    for (char *p = s; *p; p++) {
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p - 'A' + 'a');
        else if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789-", *p))
            *p = '-';
    }
    for (size_t k = strlen(s); k && s[k - 1] == '-';)
        s[--k] = '\0';
}

enum status ha_open(const struct config *c, struct ha **ret, struct err *err)
{
    struct kube_access_opts o = {.kubeconfig = c->kube_kubeconfig,
                                 .context = c->kube_context};
    struct kube_lease_opts lease;
    pthread_condattr_t attr;
    struct ha *h;
    enum status s;

    *ret = NULL;
    if (!c->ha)
        return ST_OK;
    h = MEM_NEW(struct ha);
    s = kube_access_find(&o, &h->access, err);
    if (s != ST_OK) {
        err_prefix(err, "state: kubernetes");
        free(h);
        return s;
    }
    snprintf(
        h->space, sizeof h->space, "%s",
        *c->ha_namespace ? c->ha_namespace : kube_access_namespace(h->access));
    ha_name(c, h->name, sizeof h->name);
    identity_make(c, h->identity, sizeof h->identity);
    h->lease_ms = c->ha_lease_ms;
    h->lease_kube = kube_new(h->access);
    h->state_kube = kube_new(h->access);
    lease = (struct kube_lease_opts){h->space, h->name, h->identity,
                                     h->lease_ms};
    h->lease = kube_lease_new(&lease, h->lease_kube);
    pthread_mutex_init(&h->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&h->wake, &attr);
    pthread_condattr_destroy(&attr);
    *ret = h;
    return ST_OK;
}

/* ---- the lease */

/* Waits for ms or until the thread is to stop; true: stop. */
static bool rest(struct ha *h, int64_t ms)
{
    struct timespec until = clock_wait_until(ms);
    bool stop;

    pthread_mutex_lock(&h->lock);
    if (!h->stopping)
        pthread_cond_timedwait(&h->wake, &h->lock, &until);
    stop = h->stopping;
    pthread_mutex_unlock(&h->lock);
    return stop;
}

static void deposed(const char *why)
{
    log_error("%s; this daemon ends, machines stay as they are", why);
    _exit(EXIT_DEPOSED);
}

/* One try; what it says is for ha_leads(). */
static enum status lease_try(struct ha *h, struct err *err)
{
    int64_t wall = clock_wall_ms();
    enum status s = kube_lease_try(h->lease, clock_boot_ms(), err);

    if (s == ST_OK) {
        atomic_store(&h->renewed_wall_ms, wall);
        atomic_store(&h->until_boot_ms, kube_lease_until(h->lease));
    }
    return s;
}

bool ha_leads(struct ha *h)
{
    int64_t wall = clock_wall_ms() - atomic_load(&h->renewed_wall_ms);
    bool leads = clock_boot_ms() < atomic_load(&h->until_boot_ms) &&
                 wall < h->lease_ms;

    if (leads == h->unsure)
        log_warn(leads ? "the lease %s/%s is ours still"
                       : "the lease %s/%s may be another's: this computer "
                         "slept, or its clock was set; nothing is launched or "
                         "ended before it is renewed",
                 h->space, h->name);
    h->unsure = !leads;
    return leads;
}

static void *keep(void *arg)
{
    struct ha *h = arg;
    int64_t every = h->lease_ms / 5, margin = h->lease_ms / 5;
    bool failing = false;

    while (!rest(h, failing ? every / 4 + 1 : every)) {
        struct err err = {0};
        enum status s = lease_try(h, &err);

        if (s == ST_OK) {
            if (failing)
                log_info("the lease %s/%s is renewed again", h->space, h->name);
            failing = false;
            continue;
        }
        if (!kube_lease_until(h->lease))
            deposed(err.text);
        if (clock_boot_ms() > kube_lease_until(h->lease) - margin)
            deposed("the lease could not be renewed in time");
        if (!failing)
            log_warn("the lease %s/%s is not renewed: %s", h->space, h->name,
                     err.text);
        failing = true;
    }
    return NULL;
}

/* The lease, under a token above all that have written the copy. */
static bool led(struct ha *h, struct err *err)
{
    int64_t fence;

    if (lease_try(h, err) != ST_OK ||
        kube_state_fence(h->state_kube, h->space, h->name, &fence, err) !=
            ST_OK)
        return false;
    return fence < kube_lease_token(h->lease) ||
           kube_lease_raise(h->lease, fence + 1, err) == ST_OK;
}

void ha_lead(struct ha *h, void (*waits)(void *arg, const char *text),
             void *arg)
{
    int64_t pause = h->lease_ms / 10;
    char last[512] = "", text[512];
    struct err err;

    if (pause < STANDBY_LEAST_MS)
        pause = STANDBY_LEAST_MS;
    if (pause > STANDBY_MOST_MS)
        pause = STANDBY_MOST_MS;
    while (!led(h, &err)) {
        if (strcmp(err.code, "Held") == 0)
            snprintf(text, sizeof text, "standby: %.200s leads (%.120s/%.120s)",
                     kube_lease_holder(h->lease), h->space, h->name);
        else
            snprintf(text, sizeof text, "standby: %.480s", err.text);
        if (strcmp(text, last) != 0)
            waits(arg, text);
        snprintf(last, sizeof last, "%s", text);
        clock_sleep_ms(pause);
    }
    h->state = kube_state_new(h->state_kube, h->space, h->name,
                              kube_lease_token(h->lease), h->identity);
    log_info("leading %s/%s as %s, token %lld", h->space, h->name, h->identity,
             (long long)kube_lease_token(h->lease));
    h->keeping = pthread_create(&h->keeper, NULL, keep, h) == 0;
    if (!h->keeping)
        abort();
}

void ha_close(struct ha *h)
{
    if (!h)
        return;
    if (h->keeping) {
        pthread_mutex_lock(&h->lock);
        h->stopping = true;
        pthread_cond_signal(&h->wake);
        pthread_mutex_unlock(&h->lock);
        pthread_join(h->keeper, NULL);
    }
    kube_lease_release(h->lease, NULL);
    kube_state_free(h->state);
    kube_free(h->state_kube);
    kube_lease_free(h->lease);
    kube_free(h->lease_kube);
    kube_access_free(h->access);
    pthread_cond_destroy(&h->wake);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

/* ---- the copy */

enum status ha_restore(struct ha *h, struct journal *j, struct mailbox *answers,
                       struct err *err)
{
    struct arena arena = {0};
    struct mirror_row *rows;
    uint32_t n = 0;
    enum status s;

    while ((s = kube_state_open(h->state, &arena, &rows, &n, err)) ==
           ST_RETRY) {
        log_warn("what the last leader knew cannot be read yet: %s", err->text);
        clock_sleep_ms(RETRY_MS); /* the keeper ends us when the lease does */
    }
    if (s == ST_OK)
        s = mirror_restore(j, rows, n, err);
    if (s == ST_OK)
        s = mirror_begin(j, err);
    h->percent = kube_state_percent(h->state);
    if (s == ST_OK) {
        log_info("%u rows from %s/%s", n, h->space, h->name);
        h->worker = workers_new(1, 0, answers);
    }
    arena_done(&arena);
    return s;
}

static void job_run(struct job *job)
{
    struct ha_job *j = (struct ha_job *)job;

    j->status = kube_state_write(j->state, j->rows, j->n, &j->err);
}

bool ha_stop(struct ha *h)
{
    if (!workers_free(h->worker, GOODBYE_MS))
        return false;
    h->worker = NULL;
    return true;
}

void ha_copy_rest(struct ha *h, struct journal *j)
{
    struct arena arena = {0};
    struct mirror_row *rows;
    uint32_t n = 0;

    if (mirror_take(j, ROWS_AT_ONCE, &arena, &rows, &n, NULL) == ST_OK && n &&
        kube_state_write(h->state, rows, n, NULL) == ST_OK)
        mirror_written(j, rows, n, NULL);
    arena_done(&arena);
}

int64_t ha_push(struct ha *h, struct journal *j)
{
    struct ha_job *job;
    struct err err;

    if (h->writing)
        return INT64_MAX;
    if (clock_mono_ms() < h->due_mono_ms)
        return h->due_mono_ms;
    job = MEM_NEW(struct ha_job);
    if (mirror_take(j, ROWS_AT_ONCE, &job->arena, &job->rows, &job->n, &err) !=
        ST_OK) {
        log_error("%s", err.text);
        job->n = 0;
    }
    if (job->n == 0) {
        arena_done(&job->arena);
        free(job);
        return INT64_MAX;
    }
    job->job.run = job_run;
    job->job.mail.kind = HA_MAIL;
    job->state = h->state;
    h->writing = true;
    workers_submit(h->worker, &job->job);
    return INT64_MAX;
}

unsigned ha_percent(const struct ha *h)
{
    return h->percent;
}

bool ha_fold(struct ha *h, struct journal *j, struct mail *mail,
             struct err *err)
{
    struct ha_job *job = (struct ha_job *)mail;
    bool good = !job->job.abandoned && job->status == ST_OK;

    h->writing = false;
    h->percent = kube_state_percent(h->state);
    if (job->status == ST_CANCELLED)
        deposed(job->err.text);
    if (good)
        mirror_written(j, job->rows, job->n, NULL);
    else
        *err = job->err;
    h->due_mono_ms = good ? 0 : clock_mono_ms() + RETRY_MS;
    arena_done(&job->arena);
    free(job);
    return good;
}

void ha_digest(const struct ha *h, unsigned char *ret, size_t n)
{
    uint64_t x = hash_text(hash_text(HASH_SEED, h->space), h->name);

    for (size_t i = 0; i < n; i++)
        ret[i] = (unsigned char)(x >> (8 * i));
}
