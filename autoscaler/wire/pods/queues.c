/*
 * queues.c - Volcano's queues: what their pods may have in all, and how much of
 * it is in use.  See inside.h.
 *
 * Volcano places no pod beyond a queue's capability, and none of a queue that is
 * not open: a node for it would stay empty.  A queue that we do not know bounds
 * nothing.
 */
#include "inside.h"

#include <string.h>

#include "../../model/amount.h"

static struct qtys list_read(struct arena *a, const json_t *list)
{
    struct pods_sum sum = {0};
    const char *name;
    json_t *v;

    json_object_foreach((json_t *)(uintptr_t)list, name, v) {
        int64_t amount, *to;
        const char *vendor;

        if (strlen(name) > PODS_MAX_TEXT || !pods_quantity(v, false, &amount))
            continue;
        to = pods_sum_of(&sum, a, pods_resource(name, &vendor));
        *to = amount_add(*to, amount);
    }
    /* 0 is a bound as well */
    return (struct qtys){arena_copy(a, sum.v, sum.n * sizeof *sum.v), sum.n};
}

struct pod_queue *pods_queue_read(const json_t *o)
{
    const char *state = pods_text(o, "status", "state", NULL);
    struct arena *a;
    struct pod_queue *q = object_new(o, sizeof *q, &a);

    if (!q)
        return NULL;
    q->most = list_read(a, pods_at(o, "spec", "capability", NULL));
    q->used = list_read(a, pods_at(o, "status", "allocated", NULL));
    q->closed = *state && strcmp(state, "Open") != 0;
    return q;
}

/* What of a view's demand is planned for in a queue. */
struct queue_use {
    const struct pod_queue *queue;
    struct pods_sum planned;
};

static struct queue_use *use_of(struct builder *m, const struct pod_queue *q)
{
    struct queue_use *u;

    for (uint32_t i = 0; i < m->queues.n; i++)
        if (m->queues.v[i]->queue == q)
            return m->queues.v[i];
    u = ARENA_NEW(m->arena, struct queue_use);
    u->queue = q;
    VEC_PUSH(m->arena, &m->queues, u);
    return u;
}

static int64_t left_of(struct builder *m, struct queue_use *u,
                       const struct qty *most)
{
    int64_t used = amount_add(pods_amount(&u->queue->used, most->name),
                              *pods_sum_of(&u->planned, m->arena, most->name));

    return most->amount > used ? most->amount - used : 0;
}

uint32_t queue_room(struct builder *m, const struct pod_group *g,
                    struct pod *const *v, uint32_t n, bool whole)
{
    const struct pod_queue *q = g && g->queue
                                    ? (const struct pod_queue *)records_find(
                                          &m->in->store->queues, g->queue)
                                    : NULL;
    struct queue_use *u;
    uint32_t fits = n;

    if (!q)
        return n;
    u = use_of(m, q);
    for (uint32_t r = 0; r < q->most.n; r++) {
        int64_t left = left_of(m, u, &q->most.v[r]);

        for (uint32_t i = 0; i < fits; i++) {
            left -= pods_amount(&v[i]->shape->needs, q->most.v[r].name);
            if (left < 0)
                fits = i;
        }
    }
    if (q->closed || (whole && fits < n))
        fits = 0;
    for (uint32_t i = 0; i < fits; i++)
        for (uint32_t r = 0; r < q->most.n; r++) {
            int64_t *to = pods_sum_of(&u->planned, m->arena, q->most.v[r].name);

            *to = amount_add(
                *to, pods_amount(&v[i]->shape->needs, q->most.v[r].name));
        }
    return fits;
}
