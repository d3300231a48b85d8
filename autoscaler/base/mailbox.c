/*
 * mailbox.c - see mailbox.h.
 */
#include "mailbox.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "clock.h"

void mailbox_init(struct mailbox *m, void (*wake)(void *arg), void *arg)
{
    pthread_mutex_init(&m->lock, NULL);
    m->first = NULL;
    m->last = &m->first;
    m->wake = wake;
    m->arg = arg;
}

void mailbox_wake_by(struct mailbox *m, void (*wake)(void *arg), void *arg)
{
    pthread_mutex_lock(&m->lock);
    m->wake = wake;
    m->arg = arg;
    if (m->first && wake)
        wake(arg);
    pthread_mutex_unlock(&m->lock);
}

void mailbox_done(struct mailbox *m)
{
    assert(!m->first);
    pthread_mutex_destroy(&m->lock);
}

void mailbox_post(struct mailbox *m, struct mail *mail)
{
    bool was_empty;

    mail->next = NULL;
    mail->posted_ms = clock_steady_ms();
    pthread_mutex_lock(&m->lock);
    was_empty = !m->first;
    *m->last = mail;
    m->last = &mail->next;
    if (was_empty && m->wake)
        m->wake(m->arg); /* under the lock: the owner cannot be gone yet */
    pthread_mutex_unlock(&m->lock);
}

struct mail *mailbox_take(struct mailbox *m)
{
    struct mail *first;

    pthread_mutex_lock(&m->lock);
    first = m->first;
    m->first = NULL;
    m->last = &m->first;
    pthread_mutex_unlock(&m->lock);
    return first;
}
