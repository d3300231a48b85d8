/*
 * ask.c - visits that wait for another thread.
 *
 * The yard's lock decides who ends an ask: the worker (done), the steward
 * (late) or the end of the server (stopped); only the first resumes the
 * connection, and always under the lock, so that the server knows when no
 * connection is suspended any more.  libmicrohttpd keeps a suspended
 * connection alive until it is resumed, even when the client has gone.
 */
#include <assert.h>
#include <stdlib.h>

#include "../base/clock.h"
#include "inside.h"

struct yard *yard_new(void)
{
    struct yard *y = calloc(1, sizeof *y);
    pthread_condattr_t attr;

    if (!y)
        abort();
    pthread_mutex_init(&y->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&y->wake, &attr);
    pthread_condattr_destroy(&attr);
    y->refs = 1;
    return y;
}

static void yard_free(struct yard *y)
{
    assert(y->n == 0);
    pthread_cond_destroy(&y->wake);
    pthread_mutex_destroy(&y->lock);
    free(y);
}

void yard_unref(struct yard *y)
{
    bool last;

    if (!y)
        return;
    pthread_mutex_lock(&y->lock);
    last = --y->refs == 0;
    pthread_mutex_unlock(&y->lock);
    if (last)
        yard_free(y);
}

static void command_answered(struct command *cmd)
{
    ask_done(cmd->arg);
}

struct ask *ask_new(struct yard *y, enum command_kind kind)
{
    struct ask *a = calloc(1, sizeof *a);

    if (!a)
        abort();
    a->cmd.mail.kind = COMMAND_MAIL;
    a->cmd.kind = kind;
    a->cmd.owner = a->cmd.body = a->cmd.machine = "";
    a->cmd.done = command_answered;
    a->cmd.arg = a;
    a->yard = y;
    a->refs = 1;
    pthread_mutex_lock(&y->lock);
    y->refs++;
    pthread_mutex_unlock(&y->lock);
    return a;
}

void ask_unref(struct ask *a)
{
    struct yard *y;
    bool last;

    if (!a)
        return;
    y = a->yard;
    pthread_mutex_lock(&y->lock);
    last = --a->refs == 0;
    pthread_mutex_unlock(&y->lock);
    if (!last)
        return;
    status_unref(a->cmd.seen);
    arena_done(&a->cmd.arena);
    plan_job_free(a->job);
    free(a);
    yard_unref(y);
}

/* Takes it off the list and lets its connection go on; the lock is held. */
static void end(struct ask *a, enum ask_state state)
{
    assert(a->state == ASK_PENDING);
    a->state = state;
    *a->link = a->next;
    if (a->next)
        a->next->link = a->link;
    a->yard->n--;
    MHD_resume_connection(a->connection);
}

bool ask_send(struct ask *a, struct visit *w,
              void (*send)(struct ask *, void *), void *arg)
{
    struct yard *y = a->yard;

    pthread_mutex_lock(&y->lock);
    if (y->stopping || y->n >= ASKS_MAX) {
        pthread_mutex_unlock(&y->lock);
        return false;
    }
    a->since_ms = clock_mono_ms();
    a->connection = w->connection;
    a->refs++;  /* the worker's */
    a->next = y->first;
    a->link = &y->first;
    if (y->first)
        y->first->link = &a->next;
    y->first = a;
    y->n++;
    /* before it is sent: the answer may come at once */
    MHD_suspend_connection(w->connection);
    w->ask = a;
    pthread_mutex_unlock(&y->lock);
    send(a, arg);
    return true;
}

void ask_done(struct ask *a)
{
    pthread_mutex_lock(&a->yard->lock);
    if (a->state == ASK_PENDING)
        end(a, ASK_DONE);
    pthread_mutex_unlock(&a->yard->lock);
    ask_unref(a);
}

void asks_expire(struct yard *y, int64_t before_ms, enum ask_state state)
{
    pthread_mutex_lock(&y->lock);
    for (struct ask *a = y->first, *next; a; a = next) {
        next = a->next;
        if (a->since_ms < before_ms)
            end(a, state);
    }
    pthread_mutex_unlock(&y->lock);
}
