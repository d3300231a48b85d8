/*
 * job.c - one call to a source, run by a worker of the source's own.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"
#include "../../base/clock.h"
#include "inside.h"

static void source_job_run(struct job *job)
{
    struct source_job *j = (struct source_job *)job;
    const struct source_ops *ops = j->source->ops;

    switch (j->op) {
    case SOURCE_READ:
        j->status = ops->read(j->handle, j->deadline_mono_ms, &j->view,
                              &j->err);
        break;
    case SOURCE_DRAIN:
        j->status = ops->drain(j->handle, &j->drain, j->deadline_mono_ms,
                               &j->err);
        break;
    case SOURCE_UNDRAIN:
        j->status = ops->undrain(j->handle, j->node_id, j->deadline_mono_ms,
                                 &j->err);
        break;
    case SOURCE_CORDON:
        j->status = ops->cordon(j->handle, j->node_id, j->on,
                                j->deadline_mono_ms, &j->err);
        break;
    case SOURCE_FORGET:
        j->status = ops->forget(j->handle, j->node_id, j->instance_id,
                                j->deadline_mono_ms, &j->err);
        break;
    case SOURCE_REPORT:
        j->status = ops->report(j->handle, &j->report, j->deadline_mono_ms,
                                &j->err);
        break;
    }
}

static bool *free_writer(const struct source *h)
{
    for (uint32_t i = 0; i < h->ops->writers; i++)
        if (!h->writing[i])
            return (bool *)(uintptr_t)&h->writing[i];
    return NULL;
}

bool source_is_free(const struct source *h)
{
    return free_writer(h);
}

struct source_job *source_job_new(struct source *h, enum source_op op,
                                  int timeout_ms)
{
    struct source_job *j = MEM_NEW(struct source_job);

    j->op = op;
    j->source = h;
    j->taken = op == SOURCE_READ ? &h->reading : free_writer(h);
    assert(j->taken && !*j->taken);
    j->handle = op == SOURCE_READ ? h->reader
                                  : h->writers[j->taken - h->writing];
    j->job.run = source_job_run;
    j->job.mail.kind = MAIL_SOURCE;
    /* No deadline for the pool: the handle is in use until the call returns,
     * and the wire's own deadline makes sure that it does. */
    j->deadline_mono_ms = clock_mono_ms() + timeout_ms;
    return j;
}

void source_job_submit(struct source_job *j)
{
    *j->taken = true;
    workers_submit(j->source->workers, &j->job);
}

void source_job_free(struct source_job *j)
{
    source_view_unref(j->view);
    arena_done(&j->arena);
    free(j);
}

struct source_job *source_job_of(struct source *h, enum source_op op,
                                 const struct machine *m, const char *node_id)
{
    struct source_job *j = source_job_new(h, op, WRITE_TIMEOUT_MS);

    j->machine = arena_strdup(&j->arena, m->id);
    j->node_id = arena_strdup(&j->arena, node_id);
    j->for_node = arena_strdup(&j->arena, m->ray_id);
    return j;
}

bool source_job_is_late(const struct source_job *j, const struct machine *m)
{
    return strcmp(j->for_node, m->ray_id) != 0;
}
