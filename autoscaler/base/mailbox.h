/*
 * mailbox.h - the only thing threads share: messages into one owner.
 *
 * Any thread posts; the owner takes everything at once, in order.  A message
 * embeds struct mail as its first member and belongs to whoever holds it.
 * wake() is called for a post into an empty box, by the posting thread, under
 * the lock: it must only signal.  Without one the owner looks by itself.
 */
#ifndef BASE_MAILBOX_H
#define BASE_MAILBOX_H

#include <pthread.h>
#include <stdint.h>

struct mail {
    struct mail *next;
    int kind;          /* the owner's own enum */
    int64_t posted_ms; /* steady clock: what it tells is of then, however late
                        * it is taken; 0: by nobody */
};

struct mailbox {
    pthread_mutex_t lock;
    struct mail *first, **last;
    void (*wake)(void *arg);
    void *arg;
};

void mailbox_init(struct mailbox *m, void (*wake)(void *arg), void *arg);
/* Another wake(), or NULL; called at once when something lies there. */
void mailbox_wake_by(struct mailbox *m, void (*wake)(void *arg), void *arg);
void mailbox_done(struct mailbox *m); /* must be empty */
void mailbox_post(struct mailbox *m, struct mail *mail);
struct mail *mailbox_take(struct mailbox *m); /* oldest first, or NULL */

#endif
