/*
 * worker.c - see worker.h.
 *
 * Each thread has a slot.  A stuck thread is marked orphan and a new one takes
 * its place; the orphan ends itself when its job returns.  An ended thread is
 * joined, not detached: what libraries keep for a thread (OpenSSL, curl) is
 * free, and its stack unmapped, by the time the pool is.
 *
 * Threads wait for jobs at a semaphore, which has a count for each job that is
 * queued.  A condition variable with several waiters may lose a signal in glibc up to
 * 2.40 (sourceware.org/bugzilla 25847), Debian 12's among them: a source's reading
 * would wait for ever, as nothing else is submitted that wakes its thread.
 */
#include "worker.h"

#include <assert.h>
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "alloc.h"
#include "clock.h"
#include "thread.h"

struct slot {
    struct slot *next;
    struct pool *pool;
    pthread_t thread;
    struct job *job; /* running now, or NULL */
    bool orphan;     /* its place was given to another */
};

struct pool {
    struct workers workers; /* first */
    pthread_mutex_t lock;
    sem_t work; /* a count for each queued job; when it closes, for each thread */
    pthread_cond_t ended; /* one waits for it: pool_free() */
    struct mailbox *answers;
    struct mail *first, **last; /* queued jobs */
    struct slot *slots;
    struct slot *over; /* ended, not joined yet */
    unsigned alive, orphans, max_stuck;
    bool closing;
};

static void *worker_main(void *arg);

/* Called with the lock held. */
static bool worker_start(struct pool *w)
{
    struct slot *s = MEM_NEW(struct slot);
    pthread_attr_t attr;
    bool ok;

    s->pool = w;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 512 * 1024);
    ok = pthread_create(&s->thread, &attr, worker_main, s) == 0;
    pthread_attr_destroy(&attr);
    if (!ok) {
        free(s);
        return false;
    }
    s->next = w->slots;
    w->slots = s;
    w->alive++;
    return true;
}

static struct job *queue_pop(struct pool *w)
{
    struct mail *m = w->first;

    if (!m)
        return NULL;
    w->first = m->next;
    if (!w->first)
        w->last = &w->first;
    return (struct job *)m;
}

/* Of a thread alone, in Linux: sched(7). */
void workers_yield(void)
{
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 19);
}

static void *worker_main(void *arg)
{
    struct slot *s = arg, **at;
    struct pool *w = s->pool;
    struct job *job;

    for (;;) {
        while (sem_wait(&w->work) != 0)
            assert(errno == EINTR);
        pthread_mutex_lock(&w->lock);
        job = queue_pop(w);
        if (!job)
            break;
        s->job = job;
        pthread_mutex_unlock(&w->lock);
        job->run(job);
        pthread_mutex_lock(&w->lock);
        s->job = NULL;
        job->abandoned = s->orphan;
        mailbox_post(w->answers, &job->mail);
        if (s->orphan)
            break;
        pthread_mutex_unlock(&w->lock);
    }
    assert(s->orphan || w->closing);
    for (at = &w->slots; *at != s; at = &(*at)->next)
        ;
    *at = s->next;
    s->next = w->over;
    w->over = s;
    w->alive--;
    if (s->orphan)
        w->orphans--;
    pthread_cond_broadcast(&w->ended);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* Each has nothing left to do but to return: this waits for nobody's job. */
static void pool_join(struct pool *w)
{
    struct slot *s, *next;

    pthread_mutex_lock(&w->lock);
    s = w->over;
    w->over = NULL;
    pthread_mutex_unlock(&w->lock);
    for (; s; s = next) {
        next = s->next;
        pthread_join(s->thread, NULL);
        free(s);
    }
}

static bool pool_free(struct workers *workers, int64_t wait_ms)
{
    struct pool *w = (struct pool *)workers;
    struct timespec until = clock_wait_until(wait_ms);
    struct mail *all;
    struct job *job;
    unsigned left;

    pthread_mutex_lock(&w->lock);
    w->closing = true;
    all = w->first;
    w->first = NULL;
    w->last = &w->first;
    while ((job = (struct job *)all)) {
        all = all->next;
        job->mail.next = NULL;
        if (job->must) {
            *w->last = &job->mail;
            w->last = &job->mail.next;
        } else {
            job->abandoned = true;
            mailbox_post(w->answers, &job->mail);
        }
    }
    for (unsigned i = 0; i < w->alive; i++)
        sem_post(&w->work);
    while (w->alive && pthread_cond_timedwait(&w->ended, &w->lock, &until) == 0)
        ;
    left = w->alive;
    pthread_mutex_unlock(&w->lock);
    pool_join(w);
    if (left)
        return false;
    sem_destroy(&w->work);
    pthread_cond_destroy(&w->ended);
    pthread_mutex_destroy(&w->lock);
    free(w);
    return true;
}

static void pool_submit(struct workers *workers, struct job *job)
{
    struct pool *w = (struct pool *)workers;

    pthread_mutex_lock(&w->lock);
    *w->last = &job->mail;
    w->last = &job->mail.next;
    sem_post(&w->work);
    pthread_mutex_unlock(&w->lock);
}

static unsigned pool_check(struct workers *workers, int64_t mono_ms)
{
    struct pool *w = (struct pool *)workers;
    unsigned stuck = 0;

    pool_join(w);
    pthread_mutex_lock(&w->lock);
    for (struct slot *s = w->slots; s; s = s->next) {
        const struct job *job = s->job;
        if (!job || !job->deadline_mono_ms || mono_ms < job->deadline_mono_ms)
            continue;
        stuck++;
        if (!s->orphan && w->orphans < w->max_stuck && worker_start(w)) {
            s->orphan = true;
            w->orphans++;
        }
    }
    pthread_mutex_unlock(&w->lock);
    return stuck;
}

struct workers *workers_new(unsigned n_threads, unsigned max_stuck,
                            struct mailbox *answers)
{
    static const struct workers_ops ops = {pool_free, pool_submit, pool_check};
    struct pool *w = MEM_NEW(struct pool);

    w->workers.ops = &ops;
    pthread_mutex_init(&w->lock, NULL);
    sem_init(&w->work, 0, 0);
    thread_cond_init(&w->ended);
    w->answers = answers;
    w->last = &w->first;
    w->max_stuck = max_stuck;
    pthread_mutex_lock(&w->lock);
    while (n_threads-- && worker_start(w))
        ;
    if (!w->alive) {
        fputs("davit: no thread can be started\n", stderr);
        abort();
    }
    pthread_mutex_unlock(&w->lock);
    return &w->workers;
}

bool workers_free(struct workers *w, int64_t wait_ms)
{
    return !w || w->ops->free(w, wait_ms);
}

void workers_submit(struct workers *w, struct job *job)
{
    job->mail.next = NULL;
    job->abandoned = false;
    w->ops->submit(w, job);
}

unsigned workers_check(struct workers *w, int64_t mono_ms)
{
    return w->ops->check(w, mono_ms);
}
