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

#include "../base/alloc.h"
#include "../model/bill.h"

void status_board_init(struct status_board *b)
{
    pthread_mutex_init(&b->lock, NULL);
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

    assert(!s || atomic_load(&s->refs) > 0);
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
    if (s)
        atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    pthread_mutex_unlock(&b->lock);
    return s;
}

struct status_page *status_new(void)
{
    struct status_page *s = MEM_NEW(struct status_page);

    atomic_init(&s->refs, 1);
    return s;
}

void status_hold(struct status_page *s, void *what, void (*release)(void *))
{
    VEC_PUSH(&s->arena, &s->held, ((struct status_held){what, release}));
}

static void shared_release(void *s)
{
    shared_unref(s);
}

void status_hold_shared(struct status_page *s, struct shared *what)
{
    status_hold(s, shared_ref(what), shared_release);
}

void status_unref(struct status_page *s)
{
    struct arena arena;
    unsigned before;

    if (!s)
        return;
    before = atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel);
    assert(before > 0);
    if (before > 1)
        return;
    for (uint32_t i = 0; i < s->held.n; i++)
        s->held.v[i].release(s->held.v[i].what);
    arena = s->arena; /* everything else the page points to lives in it */
    free(s);
    arena_done(&arena);
}

int64_t status_cost(const struct status_page *s)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < s->now->n_nodes; i++) {
        const struct pb_node *x = &s->now->nodes[i];
        const struct snap_node *n = &s->snapshot->nodes[x->from];
        int64_t price = bill_node_price(n, s->now, i);

        if (price > 0 && n->state != STATE_GONE)
            sum += price;
    }
    return sum;
}
