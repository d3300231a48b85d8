/*
 * tasks.c - a thread for what takes long.
 *
 * Planning a large snapshot takes a while, and so does reading a large body:
 * the threads that serve HTTP go on.  A task owns what it works on.
 */
#include <stdlib.h>

#include "../base/alloc.h"
#include "../base/thread.h"
#include "inside.h"

struct tasks {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    struct task *first, **last;
    uint32_t n, per_peer;
    bool stop;
};

static void run(struct tasks *t, struct task *j)
{
    struct pending *p = j->pending;
    bool ours = true;

    if (!t->stop) {
        pthread_mutex_unlock(&t->lock);
        ours = j->run(j);
        pthread_mutex_lock(&t->lock);
    }
    if (ours)
        pending_done(p);
}

static void *thread_main(void *arg)
{
    struct tasks *t = arg;

    pthread_mutex_lock(&t->lock);
    for (;;) {
        struct task *j;

        while (!t->first && !t->stop)
            pthread_cond_wait(&t->wake, &t->lock);
        if (!t->first)
            break;
        j = t->first;
        t->first = j->next;
        if (!t->first)
            t->last = &t->first;
        t->n--;
        run(t, j);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

struct tasks *tasks_new(uint32_t per_peer)
{
    struct tasks *t = MEM_NEW(struct tasks);

    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->wake, NULL);
    t->last = &t->first;
    t->per_peer = per_peer;
    if (pthread_create(&t->thread, NULL, thread_main, t) != 0)
        abort();
    return t;
}

/* What waits for it was ended before; what is queued is dropped. */
void tasks_free(struct tasks *t)
{
    if (!t)
        return;
    thread_stop(t->thread, &t->lock, &t->wake, &t->stop);
    pthread_cond_destroy(&t->wake);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

static void enqueue(struct pending *p, void *arg)
{
    struct tasks *t = arg;

    pthread_mutex_lock(&t->lock);
    *t->last = p->task;
    t->last = &p->task->next;
    t->n++;
    pthread_cond_signal(&t->wake);
    pthread_mutex_unlock(&t->lock);
}

/* Who may wait, so that nobody takes all places. */
static bool is_full(struct tasks *t, const struct peer *p)
{
    uint32_t his = 0;
    bool full;

    pthread_mutex_lock(&t->lock);
    for (const struct task *j = t->first; j; j = j->next)
        his += j->pending->peer == p;
    full = t->n >= TASKS_MAX || (p && his >= t->per_peer);
    pthread_mutex_unlock(&t->lock);
    return full;
}

bool tasks_send(struct tasks *t, struct exchange *ex, struct task *j,
                enum command_kind kind, route_fn *answer)
{
    struct pending *p;

    if (is_full(t, ex->peer)) {
        exchange_error(ex, 429, "THROTTLED", "",
                       "%d plans, large requests or callers that are not known "
                       "yet wait already; try again",
                       TASKS_MAX);
        j->free(j);
        return false;
    }
    j->pending = p = pending_new(ex->server->pending, kind);
    p->task = j;
    ex->answer = answer;
    if (pending_send(p, ex, enqueue, t))
        return true;
    pending_unref(p);
    exchange_error(ex, 503, "RETRY", "",
                   "too many requests wait, or the daemon is stopping");
    return false;
}
