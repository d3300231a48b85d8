/*
 * clean_up.c - what drains leave behind: nodes that nobody wants drained any
 * more, and nodes whose machine has gone for good.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"

enum { UNDRAIN_WAIT_MS = 1000, FORGET_AGAIN_MS = 10000, FORGET_MS = 600000 };

/* ---- answers */

void source_undrain_folded(struct sources *s, struct source_job *j)
{
    struct machine *m = fleet_by_id(&s->ledger->fleet, j->machine);
    int64_t wait = UNDRAIN_WAIT_MS;

    if (!m || source_job_is_late(j, m))
        return;
    m->busy = false;
    if (j->status == ST_OK)
        m->tries = 0;
    else
        wait <<= m->tries < 6 ? m->tries++ : 6;
    if (j->status != ST_OK && m->tries == 3)
        emit(s->env, "undrain.failed", m->id, status_name(j->status), "%s",
             j->err.text);
    if (m->state == STATE_READY)
        m->retry_ms = s->env->now_ms + wait;
}

void source_forget_folded(struct sources *s, struct source_job *j)
{
    struct source *h = j->source;

    for (uint32_t i = 0; i < h->gone.n; i++) {
        struct source_gone *g = &h->gone.v[i];
        bool over = j->status == ST_OK || j->status == ST_AUTH ||
                    s->env->now_ms - g->since_ms > FORGET_MS;

        if (strcmp(g->node_id, j->node_id) != 0)
            continue;
        g->asked = false;
        g->retry_ms = s->env->now_ms + FORGET_AGAIN_MS;
        if (over && j->status != ST_OK)
            emit(s->env, "node.remains", g->node_id, status_name(j->status),
                 "its machine has gone, its Node object is still there: %s",
                 j->err.text);
        if (over)
            *g = h->gone.v[--h->gone.n];
        return;
    }
}

/* ---- what is left over */

static void gone_note(struct source *h, const struct machine *m, int64_t now)
{
    const char *last = strrchr(m->cloud_id, '/');
    struct source_gone g = {.since_ms = now};

    snprintf(g.node_id, sizeof g.node_id, "%s", m->ray_id);
    snprintf(g.instance, sizeof g.instance, "%s",
             last ? last + 1 : m->cloud_id);
    VEC_PUSH(NULL, &h->gone, g);
}

void sources_forget_gone(struct sources *s)
{
    struct source *h = source_for_machines(s);

    for (uint32_t i = 0; h && h->ops->forget && i < s->ledger->fleet.n; i++) {
        const struct machine *m = s->ledger->fleet.v[i];

        if (m->state == STATE_GONE && *m->ray_id && *m->cloud_id)
            gone_note(h, m, s->env->now_ms);
    }
}

/* A drain that the ledger knows nothing of: it was taken back, or refused, and
 * the node did not hear of it. */
static void undrain_due(struct sources *s, struct source *h)
{
    for (uint32_t i = 0; i < s->ledger->fleet.n && source_is_free(h); i++) {
        struct machine *m = s->ledger->fleet.v[i];
        const struct source_node *n;

        /* another daemon's drain is not ours to take back */
        if (m->state != STATE_READY || m->busy || machine_held(m) ||
            !(n = source_node_of(s, m)) || n->status != SOURCE_DRAINING)
            continue;
        if (m->retry_ms > s->env->now_ms) {
            env_wake_wall(s->env, m->retry_ms);
            continue;
        }
        m->busy = true;
        source_job_submit(source_job_of(h, SOURCE_UNDRAIN, m, n->node_id));
    }
}

static void forget_due(struct sources *s, struct source *h)
{
    for (uint32_t i = 0; i < h->gone.n && source_is_free(h); i++) {
        struct source_gone *g = &h->gone.v[i];
        struct source_job *j;

        if (g->asked)
            continue;
        if (g->retry_ms > s->env->now_ms) {
            env_wake_wall(s->env, g->retry_ms);
            continue;
        }
        j = source_job_new(h, SOURCE_FORGET, WRITE_TIMEOUT_MS);
        g->asked = true;
        j->node_id = arena_strdup(&j->arena, g->node_id);
        j->instance_id = arena_strdup(&j->arena, g->instance);
        source_job_submit(j);
    }
}

void sources_clean_up(struct sources *s)
{
    struct source *h = source_for_machines(s);

    if (h && h->ops->drains_in_steps)
        undrain_due(s, h);
    if (h && h->ops->forget)
        forget_due(s, h);
}
