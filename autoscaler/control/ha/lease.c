/*
 * lease.c - who leads, by a Lease of Kubernetes: its thread, and its ConfigMaps.
 *
 * Two connections: one for the lease, which must never wait behind a large
 * write, and one for the copy (copy.c).
 */
#include "ha.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/alloc.h"
#include "../../base/clock.h"
#include "../../base/ending.h"
#include "../../base/log.h"
#include "../../base/random.h"
#include "../../base/thread.h"
#include "../../store/kube_state.h"
#include "../../wire/kube/lease.h"

enum {
    GOODBYE_MS = 1000, /* for the last lines of the log */
    STANDBY_LEAST_MS = 200,
    STANDBY_MOST_MS = 2000,
    STILL_MOST_MS = 30000, /* the longest that the loop may stand */
    EXIT_DEPOSED = 1,
};

struct kube_ha {
    struct ha ha; /* first */
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
};

static const struct ha_ops ops;

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
    struct kube_ha *h;
    enum status s;

    *ret = NULL;
    if (!c->ha)
        return ST_OK;
    h = MEM_NEW(struct kube_ha);
    h->ha = (struct ha){.ops = &ops, .space = h->space, .name = h->name};
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
    thread_cond_init(&h->wake);
    *ret = &h->ha;
    return ST_OK;
}

/* ---- the lease */

/* Waits for ms or until the thread is to stop; true: stop. */
static bool rest(struct kube_ha *h, int64_t ms)
{
    struct timespec until = clock_wait_until(ms);
    bool stop;

    pthread_mutex_lock(&h->lock);
    while (!h->stopping &&
           pthread_cond_timedwait(&h->wake, &h->lock, &until) == 0)
        ;
    stop = h->stopping;
    pthread_mutex_unlock(&h->lock);
    return stop;
}

static void deposed(const char *why)
{
    log_error("%s; this daemon ends, machines stay as they are", why);
    log_stop(GOODBYE_MS);
    _exit(EXIT_DEPOSED);
}

/* One try; what it says is for leads_still(). */
static enum status lease_try(struct kube_ha *h, struct err *err)
{
    int64_t wall = clock_wall_ms();
    enum status s = kube_lease_try(h->lease, clock_boot_ms(), err);

    if (s == ST_OK) {
        atomic_store(&h->renewed_wall_ms, wall);
        atomic_store(&h->until_boot_ms, kube_lease_until(h->lease));
    }
    return s;
}

static bool leads_still(struct ha *base)
{
    struct kube_ha *h = (struct kube_ha *)base;
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

/* A leader whose loop stands launches and ends nothing: another one may lead.
 * Nothing that its loop still does leaves, should it wake just now. */
static void given_up(struct kube_ha *h, int64_t still_ms)
{
    char why[120];

    atomic_store(&h->until_boot_ms, 0);
    kube_lease_release(h->lease, NULL);
    snprintf(why, sizeof why,
             "the control loop stands still for %lld s: the lease is given up",
             (long long)still_ms / 1000);
    deposed(why);
}

struct stillness {            /* of the loop, as its keeper saw it */
    unsigned long long pulse; /* 0: it has not begun */
    int64_t looked_ms, ms;
};

/* Time in which the keeper stood still as well, as a process does that is stopped,
 * tells nothing of the loop. */
static int64_t still_for(struct stillness *s, struct kube_ha *h)
{
    unsigned long long pulse = atomic_load(&h->ha.pulse);
    int64_t now = clock_mono_ms(), most = h->lease_ms / 5 + 1000;
    int64_t passed = now - s->looked_ms;

    s->ms = pulse && pulse == s->pulse ? s->ms + (passed < most ? passed : most)
                                       : 0;
    s->pulse = pulse;
    s->looked_ms = now;
    return s->ms;
}

static void *keep(void *arg)
{
    struct kube_ha *h = arg;
    struct stillness still = {0};
    int64_t every = h->lease_ms / 5, margin = h->lease_ms / 5;
    bool failing = false;

    while (!rest(h, failing ? every / 4 + 1 : every)) {
        struct err err = {0};
        enum status s;

        if (still_for(&still, h) > STILL_MOST_MS)
            given_up(h, still.ms);
        s = lease_try(h, &err);
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
static bool led(struct kube_ha *h, struct err *err)
{
    int64_t fence;

    if (lease_try(h, err) != ST_OK ||
        kube_state_fence(h->state_kube, h->space, h->name, &fence, err) !=
            ST_OK)
        return false;
    return fence < kube_lease_token(h->lease) ||
           kube_lease_raise(h->lease, fence + 1, err) == ST_OK;
}

void ha_lead(struct ha *base, void (*waits)(void *arg, const char *text),
             void *arg)
{
    struct kube_ha *h = (struct kube_ha *)base;
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

void ha_close(struct ha *base)
{
    struct kube_ha *h = (struct kube_ha *)base;

    if (!h)
        return;
    ending_waits("the lease %s/%s, to give it up", h->space, h->name);
    if (h->keeping)
        thread_stop(h->keeper, &h->lock, &h->wake, &h->stopping);
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

/* ---- its ConfigMaps */

static enum status maps_read(struct ha *h, struct arena *arena,
                             struct mirror_row **ret, uint32_t *n,
                             struct err *err)
{
    return kube_state_open(((struct kube_ha *)h)->state, arena, ret, n, err);
}

static enum status maps_write(struct ha *h, const struct mirror_row *rows,
                              uint32_t n, struct err *err)
{
    return kube_state_write(((struct kube_ha *)h)->state, rows, n, err);
}

static enum status maps_check(struct ha *h, bool *lacks, struct err *err)
{
    return kube_state_check(((struct kube_ha *)h)->state, lacks, err);
}

static unsigned maps_percent(const struct ha *h)
{
    return kube_state_percent(((const struct kube_ha *)h)->state);
}

static void process_ends(struct ha *h, const char *why)
{
    (void)h;
    deposed(why);
}

static struct workers *worker(struct ha *h, struct mailbox *answers)
{
    (void)h;
    return workers_new(1, 0, answers);
}

static const struct ha_ops ops = {maps_read,    maps_write,  maps_check,
                                  maps_percent, leads_still, process_ends,
                                  worker};
