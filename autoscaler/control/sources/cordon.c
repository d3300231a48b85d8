/*
 * cordon.c - the source is told which machines a person has cordoned.
 *
 * The ledger says what is wanted, the source's view what is so; a difference is
 * one call.  Nothing is remembered, so a restart needs nothing.  A node that
 * somebody took back on the source's own side stays as he left it.
 */
#include "inside.h"

enum { AGAIN_MS = 1000, TRIES_MOST = 6, TOLD_AT = 3 };

void source_cordon_folded(struct sources *s, struct source_job *j)
{
    struct machine *m = fleet_by_id(&s->ledger->fleet, j->machine);
    int64_t wait = AGAIN_MS;

    if (!m)
        return;
    m->busy = false;
    if (m->state != STATE_READY)
        return;
    if (j->status == ST_OK)
        m->tries = 0;
    else
        wait <<= m->tries < TRIES_MOST ? m->tries++ : TRIES_MOST;
    if (j->status != ST_OK && m->tries == TOLD_AT)
        emit(s->env, "cordon.failed", m->id, status_name(j->status), "%s",
             j->err.text);
    m->retry_ms = s->env->now_ms + wait;
}

static bool differs(const struct machine *m, const struct source_node *n)
{
    return m->cordoned ? !n->unschedulable && !n->cordoned_by_us
                       : n->cordoned_by_us;
}

void sources_cordon(struct sources *s)
{
    struct source *h = source_for_machines(s);

    if (!h || !h->ops->cordon || s->env->shadow)
        return;
    for (uint32_t i = 0; i < s->ledger->fleet.n && source_is_free(h); i++) {
        struct machine *m = s->ledger->fleet.v[i];
        const struct source_node *n;
        struct source_job *j;

        if (m->state != STATE_READY || m->busy || !(n = source_node_of(s, m)) ||
            n->status == SOURCE_DEAD || n->status == SOURCE_DRAINING ||
            !differs(m, n))
            continue;
        if (m->retry_ms > s->env->now_ms) {
            env_wake_wall(s->env, m->retry_ms);
            continue;
        }
        m->busy = true;
        j = source_job_of(h, SOURCE_CORDON, m, n->node_id);
        j->on = m->cordoned;
        source_job_submit(j);
    }
}
