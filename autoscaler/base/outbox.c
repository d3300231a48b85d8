/*
 * outbox.c - see outbox.h.
 */
#include "outbox.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "clock.h"
#include "thread.h"

struct line {
    struct line *next;
    size_t n;
    char text[];
};

struct outbox {
    struct outbox_ops ops;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake, quiet; /* quiet: nothing waits or is being put */
    struct line *first, **last;
    size_t bytes, most;
    int64_t putting_ms; /* mono, since then; 0: nothing is */
    struct outbox_state state;
    bool closing;
};

/* Called with the lock held; false: there is nothing. */
static bool put_first(struct outbox *o)
{
    struct line *l = o->first;

    if (!l)
        return false;
    assert(o->bytes >= l->n);
    o->first = l->next;
    if (!o->first)
        o->last = &o->first;
    o->putting_ms = clock_mono_ms();
    pthread_mutex_unlock(&o->lock);
    o->ops.put(o->ops.arg, l->text, l->n);
    pthread_mutex_lock(&o->lock);
    o->bytes -= l->n; /* it took room as long as it was not out */
    o->putting_ms = 0;
    free(l);
    return true;
}

static void *outbox_main(void *arg)
{
    struct outbox *o = arg;

    pthread_mutex_lock(&o->lock);
    for (;;) {
        while (put_first(o))
            ;
        pthread_cond_broadcast(&o->quiet);
        if (o->closing)
            break;
        pthread_cond_wait(&o->wake, &o->lock); /* one waits */
    }
    pthread_mutex_unlock(&o->lock);
    return NULL;
}

struct outbox *outbox_new(size_t most, const struct outbox_ops *ops)
{
    struct outbox *o = MEM_NEW(struct outbox);

    o->ops = *ops;
    o->most = most;
    o->last = &o->first;
    pthread_mutex_init(&o->lock, NULL);
    pthread_cond_init(&o->wake, NULL);
    thread_cond_init(&o->quiet);
    if (!ops->wake && pthread_create(&o->thread, NULL, outbox_main, o) != 0)
        abort();
    return o;
}

bool outbox_add(struct outbox *o, const char *line, size_t n)
{
    struct line *l;
    bool room, first;

    pthread_mutex_lock(&o->lock);
    room = o->bytes + n <= o->most;
    first = !o->first;
    if (room) {
        l = mem_alloc(sizeof *l + n + 1);
        l->next = NULL;
        l->n = n;
        memcpy(l->text, line, n);
        l->text[n] = '\0';
        *o->last = l;
        o->last = &l->next;
        o->bytes += n;
        if (first) /* else its thread is awake */
            pthread_cond_signal(&o->wake);
    } else {
        o->state.dropped++;
        o->state.dropped_ms = clock_mono_ms();
    }
    pthread_mutex_unlock(&o->lock);
    if (room && first && o->ops.wake)
        o->ops.wake(o->ops.arg);
    return room;
}

bool outbox_turn(struct outbox *o)
{
    bool more;

    pthread_mutex_lock(&o->lock);
    put_first(o);
    more = o->first;
    pthread_mutex_unlock(&o->lock);
    return more;
}

struct outbox_state outbox_state(struct outbox *o)
{
    struct outbox_state s;

    pthread_mutex_lock(&o->lock);
    s = o->state;
    s.stuck_ms = o->putting_ms ? clock_mono_ms() - o->putting_ms : 0;
    pthread_mutex_unlock(&o->lock);
    return s;
}

static void lines_free(struct outbox *o)
{
    struct line *next;

    for (struct line *l = o->first; l; l = next) {
        next = l->next;
        free(l);
    }
}

/* With the lock. */
static bool quiet_by(struct outbox *o, int64_t wait_ms)
{
    struct timespec until = clock_wait_until(wait_ms);

    while (!o->ops.wake && (o->first || o->putting_ms) &&
           pthread_cond_timedwait(&o->quiet, &o->lock, &until) == 0)
        ;
    return !o->putting_ms && (o->ops.wake || !o->first);
}

bool outbox_wait(struct outbox *o, int64_t wait_ms)
{
    bool quiet;

    pthread_mutex_lock(&o->lock);
    quiet = quiet_by(o, wait_ms);
    pthread_mutex_unlock(&o->lock);
    return quiet;
}

bool outbox_free(struct outbox *o, int64_t wait_ms)
{
    bool quiet;

    pthread_mutex_lock(&o->lock);
    quiet = quiet_by(o, wait_ms);
    o->closing = quiet;
    pthread_cond_signal(&o->wake);
    pthread_mutex_unlock(&o->lock);
    if (!quiet)
        return false;
    if (!o->ops.wake)
        pthread_join(o->thread, NULL);
    lines_free(o);
    pthread_cond_destroy(&o->wake);
    pthread_cond_destroy(&o->quiet);
    pthread_mutex_destroy(&o->lock);
    free(o);
    return true;
}
