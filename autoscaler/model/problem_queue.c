/*
 * problem_queue.c - the queues of a snapshot being made: who is in which, and
 * what of their quotas is in use.
 *
 * A node's running work counts in the queue that its label names, else in the
 * only one that its type is in: what runs on a type of several queues cannot
 * be told apart, and counts in none.
 */
#include <stdlib.h>
#include <string.h>

#include "amount.h"
#include "problem_build.h"

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct snap_queue *const *)a)->name,
                  (*(const struct snap_queue *const *)b)->name);
}

enum status builder_check_queues(struct builder *m, struct err *err)
{
    const struct snapshot *f = m->snapshot;

    if (f->n_queues > QUEUES_MAX)
        return err_set(err, ST_INVALID, "%u queues: at most %d", f->n_queues,
                       QUEUES_MAX);
    m->queues = ARENA_ARRAY(m->arena, const struct snap_queue *, f->n_queues);
    for (uint32_t i = 0; i < f->n_queues; i++) {
        const struct snap_queue *q = m->queues[i] = &f->queues[i];

        if (!q->name || !q->name[0])
            return err_set(err, ST_INVALID, "queue %u has no name", i);
        for (uint32_t j = 0; j < q->types.n; j++)
            if (builder_type(m, q->types.v[j]) == NONE)
                return err_set(err, ST_INVALID,
                               "queue '%s' has the node type '%s', which does "
                               "not exist",
                               q->name, q->types.v[j]);
    }
    if (f->n_queues > 1)
        qsort(m->queues, f->n_queues, sizeof *m->queues, by_name);
    for (uint32_t i = 1; i < f->n_queues; i++)
        if (strcmp(m->queues[i - 1]->name, m->queues[i]->name) == 0)
            return err_set(err, ST_INVALID,
                           "queue '%s' is given twice: names must differ",
                           m->queues[i]->name);
    return ST_OK;
}

void builder_queues_lay(struct builder *m)
{
    const uint32_t n = m->snapshot->n_queues;
    struct pb_queue *v = ARENA_ARRAY(m->arena, struct pb_queue, n);

    for (uint32_t i = 0; i < n; i++)
        v[i] = (struct pb_queue){.name = builder_id(m, m->queues[i]->name),
                                 .gpus = m->queues[i]->gpus,
                                 .cpus = m->queues[i]->cpus,
                                 .nodes = m->queues[i]->nodes,
                                 .priority = m->queues[i]->priority};
    m->s->queues = v;
    m->s->n_queues = n;
}

uint32_t builder_queue_of(const struct builder *m, const struct snap_demand *d)
{
    if (!d->queue || !d->queue[0])
        return NONE;
    for (uint32_t i = 0; i < m->snapshot->n_queues; i++)
        if (strcmp(m->queues[i]->name, d->queue) == 0)
            return queue_allows(m->queues[i], d->owner) ? i : PB_QUEUE_DENIED;
    return PB_QUEUE_DENIED;
}

bool builder_queue_has(const struct builder *m, uint32_t queue,
                       const char *type, const char *label)
{
    const struct snap_queue *q = m->queues[queue];

    if (label && strcmp(label, q->name) == 0)
        return true;
    for (uint32_t i = 0; type && i < q->types.n; i++)
        if (strcmp(q->types.v[i], type) == 0)
            return true;
    return false;
}

uint32_t builder_node_queue(const struct builder *m, const char *type,
                            const char *label)
{
    uint32_t found = NONE, n = 0;

    for (uint32_t i = 0; i < m->snapshot->n_queues; i++) {
        if (label && strcmp(label, m->queues[i]->name) == 0)
            return i;
        if (builder_queue_has(m, i, type, NULL)) {
            found = i;
            n++;
        }
    }
    return n == 1 ? found : NONE;
}

void builder_queues_count(struct builder *m)
{
    struct problem *s = m->s;
    struct pb_queue *queues = (struct pb_queue *)s->queues;

    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const struct pb_node *n = &s->nodes[i];
        const int64_t *has = pb_row(s, n->total),
                      *free = pb_row(s, n->available);
        struct pb_queue *q;

        if (n->queue == NONE || n->state == STATE_GONE)
            continue;
        q = &queues[n->queue];
        q->used_gpus = amount_add(q->used_gpus, has[COL_GPU] - free[COL_GPU]);
        q->used_cpus = amount_add(q->used_cpus, has[COL_CPU] - free[COL_CPU]);
        q->used_nodes += n->state != STATE_STOPPING;
    }
}
