/*
 * pending.c - exchanges that wait for another thread.
 *
 * The list's lock decides who ends the wait: the worker (done), the reaper
 * (late) or the end of the server (stopped).  Only the first of them resumes
 * the connection, and always under the lock, so that the server knows when no
 * connection is suspended any more.  libmicrohttpd keeps a suspended
 * connection alive until it is resumed, even when the client has gone.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../base/clock.h"
#include "../base/thread.h"
#include "inside.h"

struct pending_list *pending_list_new(void)
{
    struct pending_list *list = MEM_NEW(struct pending_list);

    pthread_mutex_init(&list->lock, NULL);
    thread_cond_init(&list->wake);
    list->refs = 1;
    return list;
}

static void pending_list_free(struct pending_list *list)
{
    assert(list->n == 0);
    pthread_cond_destroy(&list->wake);
    pthread_mutex_destroy(&list->lock);
    free(list);
}

void pending_list_unref(struct pending_list *list)
{
    bool last;

    if (!list)
        return;
    pthread_mutex_lock(&list->lock);
    last = --list->refs == 0;
    pthread_mutex_unlock(&list->lock);
    if (last)
        pending_list_free(list);
}

static void command_answered(struct command *cmd)
{
    pending_done(cmd->arg);
}

struct pending *pending_new(struct pending_list *list, enum command_kind kind)
{
    struct pending *p = MEM_NEW(struct pending);

    p->cmd.mail.kind = COMMAND_MAIL;
    p->cmd.kind = kind;
    p->cmd.owner = p->cmd.body = p->cmd.machine = p->cmd.by = "";
    p->cmd.done = command_answered;
    p->cmd.arg = p;
    p->list = list;
    p->refs = 1;
    pthread_mutex_lock(&list->lock);
    list->refs++;
    pthread_mutex_unlock(&list->lock);
    return p;
}

void pending_unref(struct pending *p)
{
    struct pending_list *list;
    bool last;

    if (!p)
        return;
    list = p->list;
    pthread_mutex_lock(&list->lock);
    last = --p->refs == 0;
    pthread_mutex_unlock(&list->lock);
    if (!last)
        return;
    status_unref(p->cmd.seen);
    caller_done(&p->caller);
    arena_done(&p->cmd.arena);
    if (p->task)
        p->task->free(p->task);
    free(p);
    pending_list_unref(list);
}

/* Takes it off the list and lets its connection go on; the lock is held. */
static void end(struct pending *p, enum pending_state state)
{
    assert(p->state == PENDING_WAITS);
    p->state = state;
    *p->link = p->next;
    if (p->next)
        p->next->link = p->link;
    p->list->n--;
    MHD_resume_connection(p->connection);
}

/* Its caller does not change any more. */
static bool may_queue(const struct command *c, const char *queue)
{
    const struct pending *p = c->arg;

    return principal_queues(p->caller.who, queue);
}

/* A part of the places is for those who have few. */
static bool has_room(const struct pending_list *list, const char *share)
{
    uint32_t his = 0;

    for (const struct pending *p = list->first; p; p = p->next)
        his += strcmp(p->share, share) == 0;
    return his < PENDING_CALLER &&
           list->n < PENDING_MAX + (his < PENDING_FEW ? PENDING_REST : 0);
}

bool pending_send(struct pending *p, struct exchange *ex,
                  void (*send)(struct pending *, void *), void *arg)
{
    struct pending_list *list = p->list;

    pthread_mutex_lock(&list->lock);
    if (p->task)
        snprintf(p->share, sizeof p->share, "%s", p->task->group);
    else
        caller_share(&ex->caller, p->share, sizeof p->share);
    if (list->stopping || !has_room(list, p->share)) {
        pthread_mutex_unlock(&list->lock);
        return false;
    }
    p->since_ms = clock_mono_ms();
    p->connection = ex->connection;
    p->refs++; /* the worker's */
    p->next = list->first;
    p->link = &list->first;
    if (list->first)
        list->first->link = &p->next;
    list->first = p;
    list->n++;
    caller_copy(&p->caller, &ex->caller);
    p->cmd.by = p->caller.text;
    p->cmd.share = p->share;
    p->cmd.may_queue = may_queue;
    seat_enter(ex->seat, SEAT_WORK);
    /* before it is sent: the answer may come at once */
    MHD_suspend_connection(ex->connection);
    ex->pending = p;
    pthread_mutex_unlock(&list->lock);
    send(p, arg);
    return true;
}

void pending_done(struct pending *p)
{
    pthread_mutex_lock(&p->list->lock);
    if (p->state == PENDING_WAITS)
        end(p, PENDING_DONE);
    pthread_mutex_unlock(&p->list->lock);
    pending_unref(p);
}

void pending_displace(struct pending *p)
{
    pthread_mutex_lock(&p->list->lock);
    if (p->state == PENDING_WAITS)
        end(p, PENDING_DISPLACED);
    pthread_mutex_unlock(&p->list->lock);
    pending_unref(p);
}

bool pending_waits(const struct pending *p)
{
    bool waits;

    pthread_mutex_lock(&p->list->lock);
    waits = p->state == PENDING_WAITS;
    pthread_mutex_unlock(&p->list->lock);
    return waits;
}

void pending_expire(struct pending_list *list, int64_t before_ms,
                    enum pending_state state)
{
    pthread_mutex_lock(&list->lock);
    for (struct pending *p = list->first, *next; p; p = next) {
        next = p->next;
        if (p->since_ms < before_ms)
            end(p, state);
    }
    pthread_mutex_unlock(&list->lock);
}
