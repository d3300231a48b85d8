/*
 * shared.c - see shared.h.
 */
#include "shared.h"

#include <assert.h>
#include <stdlib.h>

#include "alloc.h"

struct shared *shared_new(void)
{
    struct shared *s = MEM_NEW(struct shared);

    atomic_init(&s->refs, 1);
    return s;
}

struct shared *shared_ref(struct shared *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

void shared_unref(struct shared *s)
{
    unsigned before;

    if (!s)
        return;
    before = atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel);
    assert(before > 0);
    if (before > 1)
        return;
    arena_done(&s->arena);
    free(s);
}
