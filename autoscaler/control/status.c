/*
 * status.c - the board that holds the current status page.
 *
 * The control thread publishes, HTTP threads take references.  The lock makes
 * "read the pointer and count a reference" one step; it is held for a few
 * instructions and never while anything is freed, so a slow reader cannot hold
 * the loop up.
 */
#include "status.h"

#include <assert.h>
#include <stdlib.h>

void status_board_init(struct status_board *b)
{
    int rc = pthread_mutex_init(&b->lock, NULL);

    assert(rc == 0);
    (void)rc;
    b->now = NULL;
}

void status_board_done(struct status_board *b)
{
    status_unref(b->now);
    b->now = NULL;
    pthread_mutex_destroy(&b->lock);
}

void status_publish(struct status_board *b, struct status_page *s)
{
    struct status_page *old;

    assert(s == NULL || atomic_load(&s->refs) > 0);
    pthread_mutex_lock(&b->lock);
    old = b->now;
    b->now = s;
    pthread_mutex_unlock(&b->lock);
    status_unref(old);
}

struct status_page *status_get(struct status_board *b)
{
    struct status_page *s;

    pthread_mutex_lock(&b->lock);
    s = b->now;
    if (s != NULL)
        atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    pthread_mutex_unlock(&b->lock);
    return s;
}

void status_unref(struct status_page *s)
{
    struct arena arena;
    unsigned before;

    if (s == NULL)
        return;
    before = atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel);
    assert(before > 0);
    if (before > 1)
        return;
    arena = s->arena; /* everything else the page points to lives in it */
    free(s);
    arena_done(&arena);
}
