/*
 * head_drain.c - nodes drained before their machines end.
 *
 * A question is one job on the head's writer; its answer is what the machine's
 * state becomes.  A refusal keeps the node, rests, and tells why.
 */
#include <stdio.h>
#include <string.h>

#include "../base/clock.h"
#include "heads.h"

enum {
    WRITE_TIMEOUT_MS = 10000,
    REFUSED_REST_MS = 10000,   /* a refused drain is not asked again before */
};

void head_drain(struct control *c, struct machine *m, bool preempt)
{
    struct head *h = head_of_machines(c);
    struct head_job *j;

    if (!h || h->writing)
        return;  /* the writer's answer brings another tick */
    h->writing = true;
    m->busy = true;
    j = head_job_new(h, HEAD_DRAIN, WRITE_TIMEOUT_MS);
    j->machine = arena_strdup(&j->arena, m->id);
    j->node_id = arena_strdup(&j->arena, m->ray_id);
    j->drain = (struct head_drain){
        .node_id = j->node_id,
        .preempt = preempt,
        .message = "davit: the node is not needed",
        .since_wall_ms = m->drain_since_ms,
        .deadline_wall_ms = clock_wall_ms() + DRAIN_DEADLINE_MS,
    };
    atomic_fetch_add(&c->metrics.drains, 1);
    head_job_submit(j);
}

static void drain_failed(struct control *c, struct machine *m)
{
    m->tries++;
    m->retry_ms = c->now_ms + ((int64_t)500 << (m->tries < 5 ? m->tries : 5));
}

static void drain_refused(struct control *c, struct machine *m,
                          const struct head_drain *d)
{
    atomic_fetch_add(&c->metrics.drains_refused, 1);
    m->hold_until_ms = c->now_ms + REFUSED_REST_MS;
    snprintf(m->detail, sizeof m->detail, "%.150s", d->why);
    m->why = REASON_KEEP_REFUSED;
    machine_to(c, m, STATE_READY);
}

void head_drained(struct control *c, struct head_job *j)
{
    struct machine *m = fleet_by_id(&c->fleet, j->machine);
    const struct head_drain *d = &j->drain;

    if (!m)
        return;
    m->busy = false;
    if (m->state != STATE_DRAINING) {
        /* taken back while the question was under way, and the head agreed */
        if (j->status == ST_OK && d->got == HEAD_DRAIN_ACCEPTED &&
            m->state == STATE_READY) {
            machine_to(c, m, STATE_DRAINING);
            m->drain_accepted = true;
            fleet_touch(&c->fleet, m);
        }
        return;
    }
    if (j->status != ST_OK) {
        drain_failed(c, m);
    } else if (d->got == HEAD_DRAIN_ACCEPTED) {
        m->drain_accepted = true;
        fleet_touch(&c->fleet, m);
        j->head->read_due_ms = 0;
    } else {
        drain_refused(c, m, d);
    }
}
