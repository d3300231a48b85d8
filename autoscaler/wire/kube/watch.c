/*
 * watch.c - see watch.h.
 *
 * The thread lists when it has no resourceVersion to go on from, and watches
 * otherwise.  The next watch begins at once after the server's own end, with a
 * list after 410, after a pause that grows to 5 s when it failed, and after
 * 15 s when we lack the rights.
 */
#include "watch_inside.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../base/alloc.h"
#include "../../base/clock.h"
#include "../../base/ending.h"
#include "../../base/thread.h"
#include "../http.h"

enum {
    FIRST_PAUSE_MS = 100,
    MOST_PAUSE_MS = 5000,
    REFUSED_PAUSE_MS = 15000,
    MISSING_PAUSE_MS = 300000,
};

/* ---- its state */

void watch_is_good(struct kube_watch *w)
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

static void watch_is_bad(struct kube_watch *w, const struct err *e)
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

void watch_count(struct kube_watch *w, uint64_t *which, uint64_t n)
{
    pthread_mutex_lock(&w->lock);
    *which += n;
    pthread_mutex_unlock(&w->lock);
}

bool watch_stopped(const struct kube_watch *w)
{
    return atomic_load_explicit(&w->stop, memory_order_relaxed);
}

static void pause_for(struct kube_watch *w, int64_t ms)
{
    int64_t all = ms + (int64_t)(rand_r(&w->seed) % 256) * ms / 1024;
    struct timespec t = clock_wait_until(all);

    pthread_mutex_lock(&w->lock);
    w->state.again_mono_ms = clock_mono_ms() + all;
    while (!watch_stopped(w) &&
           pthread_cond_timedwait(&w->wake, &w->lock, &t) == 0)
        ;
    w->state.again_mono_ms = 0;
    pthread_mutex_unlock(&w->lock);
}

/* ---- the thread */

/* An optional kind that the server does not have (or, since nobody made a rule
 * for it either, does not let us see): an empty list. */
static bool missing(struct kube_watch *w, enum status s)
{
    bool hidden = s == ST_AUTH && strcmp(w->err.code, "Forbidden") == 0;

    if ((s != ST_NOT_FOUND && !hidden) || !w->o.optional)
        return false;
    pthread_mutex_lock(&w->lock);
    w->state.missing = true;
    w->state.hidden = hidden;
    pthread_mutex_unlock(&w->lock);
    w->o.list_begin(w->o.ctx);
    w->o.list_end(w->o.ctx);
    watch_is_good(w);
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

    while (!watch_stopped(w)) {
        bool listing = !w->version[0];
        enum status s = listing ? watch_list(w) : watch_follow(w);

        if (watch_stopped(w))
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
            watch_count(w, &w->state.gone, 1);
        }
        if (missing(w, s)) {
            w->version[0] = '\0';
            w->failures = 0;
            pause_for(w, MISSING_PAUSE_MS);
            continue;
        }
        /* an expired version is listed again at once: not worth a report */
        if (!w->expired || w->failures > 2)
            watch_is_bad(w, &w->err);
        pause_for(w, pause_after(w, s));
        w->expired = false;
    }
    return NULL;
}

struct kube_watch *kube_watch_new(const struct kube_watch_opts *o)
{
    struct kube_watch *w = MEM_NEW(struct kube_watch);

    w->o = *o;
    w->kube = kube_new(o->access);
    w->seed = (unsigned)clock_mono_us() ^ (unsigned)(uintptr_t)w;
    w->state.bad_since_mono_ms = clock_mono_ms();
    pthread_mutex_init(&w->lock, NULL);
    thread_cond_init(&w->wake);
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
    ending_waits("the watch of %s", w->o.what);
    http_wake(kube_http(w->kube));
    pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    kube_free(w->kube);
    arena_done(&w->scratch);
    free(w);
}

void kube_watch_state(struct kube_watch *w, struct kube_watch_state *ret)
{
    pthread_mutex_lock(&w->lock);
    *ret = w->state;
    pthread_mutex_unlock(&w->lock);
}
