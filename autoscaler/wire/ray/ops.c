/*
 * ops.c - a Ray head as a demand source (source.h).
 */
#include "ray.h"

static enum status read(void *handle, int64_t deadline_mono_ms,
                        struct source_view **ret, struct err *err)
{
    return ray_head_read(handle, deadline_mono_ms, ret, err);
}

/* One question: the head waits for running work itself, and the raylet ends
 * when there is none. */
static enum status drain(void *handle, struct source_drain *d,
                         int64_t deadline_mono_ms, struct err *err)
{
    bool accepted;
    enum status s = ray_head_drain(handle, d->node_id, d->preempt, d->message,
                                   d->deadline_wall_ms, deadline_mono_ms,
                                   &accepted, d->why, sizeof d->why, err);

    d->got = accepted ? SOURCE_DRAIN_ACCEPTED : SOURCE_DRAIN_REFUSED;
    d->moved = accepted;
    return s;
}

static enum status report(void *handle, const struct source_report *r,
                          int64_t deadline_mono_ms, struct err *err)
{
    return ray_head_report(handle, r, deadline_mono_ms, err);
}

static void handle_free(void *handle)
{
    ray_head_free(handle);
}

const struct source_ops ray_ops = {
    .kind = "ray",
    .two_looks = true,
    .numbered = true,
    .writers = 1,
    .read = read,
    .drain = drain,
    .report = report,
    .free = handle_free,
};
