/*
 * source_drain.c - nodes drained before their machines end, given back when they
 * are needed again, forgotten when the machine has gone.
 *
 * A question is one job on a writer of the head's; its answer is what the machine's
 * state becomes.  A refusal keeps the node, rests longer each time, and tells
 * why.  All of it is found again from the ledger and the head's view, so a
 * restart in the middle needs nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "../wire/ray/ray.h"
#include "sources.h"

enum {
    WRITE_TIMEOUT_MS = 10000,
    REFUSED_REST_MS = 10000,   /* a refused drain is not asked again before */
    REFUSED_REST_MOST_MS = 600000,
    STEP_MS = 200, STEP_MOST_MS = 1000,  /* between two steps of a drain */
    STEP_STUCK_MS = 5000, STUCK = 10,    /* when nothing moved for so many */
    STEP_EACH_MS = 25,         /* and for every node that is drained besides:
                                * at most 40 steps a second in all */
    UNDRAIN_REST_MS = 1000,
    GUESTS_MS = 30000,         /* so long idle Ray nodes have to end */
    FORGET_REST_MS = 10000, FORGET_MS = 600000,
};

static struct source_job *machine_job(struct source *h, enum source_op op,
                                    const struct machine *m,
                                    const char *node_id)
{
    struct source_job *j = source_job_new(h, op, WRITE_TIMEOUT_MS);

    j->machine = arena_strdup(&j->arena, m->id);
    j->node_id = arena_strdup(&j->arena, node_id);
    return j;
}

/* ---- asking */

static void ask_drain(struct control *c, struct source *h, struct machine *m,
                      const char *node_id, bool preempt)
{
    const struct config *conf = c->config;
    struct source_job *j = machine_job(h, SOURCE_DRAIN, m, node_id);

    m->busy = true;
    j->drain = (struct source_drain){
        .node_id = j->node_id,
        .preempt = preempt,
        .message = "davit: the node is not needed",
        .deadline_wall_ms = clock_wall_ms() + DRAIN_DEADLINE_MS,
        .limit_ms = conf->kube_drain_timeout_ms,
        .most_grace_ms = conf->kube_drain_grace_ms,
        .move_local = conf->kube_drain_local,
        .move_bare = conf->kube_drain_bare,
    };
    if (!m->retry_ms)  /* its first step */
        atomic_fetch_add(&c->metrics.drains, 1);
    source_job_submit(j);
}

static void step_again(struct control *c, struct machine *m)
{
    uint32_t draining = 0;
    int64_t wait = (int64_t)STEP_MS << (m->tries < 3 ? m->tries : 3);

    for (uint32_t i = 0; i < c->fleet.n; i++)
        draining += c->fleet.v[i]->state == STATE_DRAINING;
    if (wait > STEP_MOST_MS)
        wait = m->tries < STUCK ? STEP_MOST_MS : STEP_STUCK_MS;
    m->tries++;
    m->retry_ms = c->now_ms + wait + STEP_EACH_MS * (draining - 1);
    control_wake_at(c, clock_mono_ms() + m->retry_ms - c->now_ms);
}

static void detail_set(struct control *c, struct machine *m, const char *text)
{
    if (machine_detail(m, text))
        fleet_touch(&c->fleet, m);
}

/* The node stays.  Ray is asked again after the same rest each time, as work
 * there comes and goes; what is against a drain in Kubernetes stays longer. */
static void drain_refused(struct control *c, const struct source *h,
                          struct machine *m, const char *why)
{
    int64_t rest = REFUSED_REST_MS;

    if (h->ops->undrain)
        rest <<= m->refused < 6 ? m->refused : 6;
    m->refused++;
    atomic_fetch_add(&c->metrics.drains_refused, 1);
    m->hold_until_ms = c->now_ms + (rest < REFUSED_REST_MOST_MS
                                        ? rest : REFUSED_REST_MOST_MS);
    machine_detail(m, why);
    m->why = REASON_KEEP_REFUSED;
    machine_to(c, m, STATE_READY);
}

static bool has_work(const struct source_node *n)
{
    for (uint32_t i = 0; i < n->total.n; i++)
        for (uint32_t k = 0; k < n->available.n; k++)
            if (n->available.v[k].amount < n->total.v[i].amount &&
                strcmp(n->available.v[k].name, n->total.v[i].name) == 0)
                return true;
    return *n->activity != '\0' || n->available.n < n->total.n;
}

/* With a Ray head too: Ray's nodes in pods of this node are drained first, so
 * that no task starts where pods are about to be evicted.  True: they are. */
static bool guests_drained(struct control *c, struct source *h,
                           struct machine *m, bool preempt)
{
    struct source *ray = (struct source *)source_of_kind(c, &ray_ops);
    const struct source_node *node = source_node_of(c, m);
    int64_t longest = preempt ? c->config->kube_drain_timeout_ms : GUESTS_MS;
    uint32_t ending = 0;
    char why[150];

    if (!ray || ray == h || !node || !ray->view)
        return true;
    if (ray->read_ms <= m->drain_since_ms && !ray->failures) {
        control_wake_at(c, clock_mono_ms() + STEP_MS);
        return false;  /* who joined just before is in the next view */
    }
    for (uint32_t i = 0; i < node->hosted.n; i++) {
        const struct source_node *g = source_node_named(ray, node->hosted.v[i]);

        if (!g || g->status == SOURCE_DEAD)
            continue;
        if (g->head) {
            snprintf(why, sizeof why, "the Ray head runs on it, in pod %.80s",
                     node->hosted.v[i]);
            drain_refused(c, h, m, why);
            return false;
        }
        if (g->status == SOURCE_DRAINING) {
            /* one that must go stays up until its work's time is over: when
             * it has none, there is nothing to wait for */
            ending += !preempt || has_work(g);
        } else {
            if (source_is_free(ray))
                ask_drain(c, ray, m, g->node_id, preempt);
            return false;
        }
    }
    if (!ending || c->now_ms - m->drain_since_ms > longest)
        return true;
    snprintf(why, sizeof why, "Ray drains %u of its nodes there first", ending);
    detail_set(c, m, why);
    step_again(c, m);
    return false;
}

void source_drain(struct control *c, struct machine *m, bool preempt)
{
    struct source *h = source_of_machines(c);

    if (!h || !source_is_free(h))
        return;  /* an answer brings another tick */
    if (guests_drained(c, h, m, preempt))
        ask_drain(c, h, m, m->ray_id, preempt);
}

/* ---- answers */

static void drain_failed(struct control *c, struct machine *m,
                         const struct source_job *j)
{
    int64_t wait = (int64_t)500 << (m->tries < 5 ? m->tries : 5);

    /* A right that is missing is not waited for: the node is of use. */
    if (j->head->ops->undrain &&
        (j->status == ST_AUTH || j->status == ST_INVALID)) {
        drain_refused(c, j->head, m, j->err.text);
        return;
    }
    m->tries++;
    m->retry_ms = c->now_ms + (j->err.retry_after_ms > wait
                                   ? j->err.retry_after_ms : wait);
}

static void drain_told(struct control *c, struct machine *m,
                       const struct source_job *j)
{
    const struct source_drain *d = &j->drain;
    bool hosted = j->head != source_of_machines(c);

    if (d->moved && !hosted && !m->drain_accepted) {
        m->drain_accepted = true;  /* work was sent away: no way back */
        m->tries = 0;
        fleet_touch(&c->fleet, m);
    }
    switch (d->got) {
    case SOURCE_DRAIN_ACCEPTED:
        j->head->read_due_ms = 0;
        if (hosted)
            step_again(c, m);
        break;
    case SOURCE_DRAIN_WAITS:
        if (d->moved && m->tries > 2)
            m->tries = 2;
        detail_set(c, m, d->why);
        step_again(c, m);
        break;
    case SOURCE_DRAIN_DONE:
        machine_to(c, m, STATE_STOPPING);
        atomic_fetch_add(&c->metrics.ends, 1);
        break;
    case SOURCE_DRAIN_REFUSED:
        drain_refused(c, source_of_machines(c), m, d->why);
        break;
    }
}

static void drain_folded(struct control *c, struct machine *m,
                         const struct source_job *j)
{
    m->busy = false;
    if (m->state == STATE_DRAINING) {
        if (j->status == ST_OK)
            drain_told(c, m, j);
        else
            drain_failed(c, m, j);
    } else if (j->status == ST_OK && j->drain.got == SOURCE_DRAIN_ACCEPTED &&
               m->state == STATE_READY && j->head == source_of_machines(c)) {
        /* taken back while the question was under way, and the head agreed */
        machine_to(c, m, STATE_DRAINING);
        m->drain_accepted = true;
        fleet_touch(&c->fleet, m);
    }
}

static void undrain_folded(struct control *c, struct machine *m,
                           const struct source_job *j)
{
    int64_t rest = UNDRAIN_REST_MS;

    m->busy = false;
    if (j->status == ST_OK)
        m->tries = 0;
    else
        rest <<= m->tries < 6 ? m->tries++ : 6;
    if (j->status != ST_OK && m->tries == 3)
        tell(c, "undrain.failed", m->id, status_name(j->status), "%s",
             j->err.text);
    if (m->state == STATE_READY)
        m->retry_ms = c->now_ms + rest;
}

static void forget_folded(struct control *c, struct source_job *j)
{
    struct source *h = j->head;

    for (uint32_t i = 0; i < h->n_gone; i++) {
        struct source_gone *g = &h->gone[i];
        bool over = j->status == ST_OK || j->status == ST_AUTH ||
                    c->now_ms - g->since_ms > FORGET_MS;

        if (strcmp(g->node_id, j->node_id) != 0)
            continue;
        g->asked = false;
        g->retry_ms = c->now_ms + FORGET_REST_MS;
        if (over && j->status != ST_OK)
            tell(c, "node.remains", g->node_id, status_name(j->status),
                 "its machine has gone, its Node object is still there: %s",
                 j->err.text);
        if (over)
            *g = h->gone[--h->n_gone];
        return;
    }
}

void source_drained(struct control *c, struct source_job *j)
{
    struct machine *m = j->machine ? fleet_by_id(&c->fleet, j->machine) : NULL;

    if (j->op == SOURCE_FORGET)
        forget_folded(c, j);
    else if (m && j->op == SOURCE_DRAIN)
        drain_folded(c, m, j);
    else if (m && j->op == SOURCE_UNDRAIN)
        undrain_folded(c, m, j);
}

/* ---- what is left over */

void source_gone(struct control *c, const struct machine *m)
{
    struct source *h = source_of_machines(c);
    const char *last = strrchr(m->cloud_id, '/');
    struct source_gone *g;

    if (!h || !h->ops->forget || !*m->ray_id || !*m->cloud_id)
        return;
    if (h->n_gone == h->cap_gone) {
        h->cap_gone = h->cap_gone ? 2 * h->cap_gone : 16;
        h->gone = realloc(h->gone, h->cap_gone * sizeof *h->gone);
        if (!h->gone)
            abort();
    }
    g = &h->gone[h->n_gone++];
    *g = (struct source_gone){.since_ms = c->now_ms};
    snprintf(g->node_id, sizeof g->node_id, "%s", m->ray_id);
    snprintf(g->instance, sizeof g->instance, "%s",
             last ? last + 1 : m->cloud_id);
}

/* A drain that the ledger knows nothing of: it was taken back, or refused, and
 * the node did not hear of it. */
static void undrain_due(struct control *c, struct source *h)
{
    for (uint32_t i = 0; i < c->fleet.n && source_is_free(h); i++) {
        struct machine *m = c->fleet.v[i];
        const struct source_node *n;

        if (m->state != STATE_READY || m->busy ||
            !(n = source_node_of(c, m)) || n->status != SOURCE_DRAINING)
            continue;
        if (m->retry_ms > c->now_ms) {
            control_wake_at(c, clock_mono_ms() + m->retry_ms - c->now_ms);
            continue;
        }
        m->busy = true;
        source_job_submit(machine_job(h, SOURCE_UNDRAIN, m, n->node_id));
    }
}

static void forget_due(struct control *c, struct source *h)
{
    for (uint32_t i = 0; i < h->n_gone && source_is_free(h); i++) {
        struct source_gone *g = &h->gone[i];
        struct source_job *j;

        if (g->asked)
            continue;
        if (g->retry_ms > c->now_ms) {
            control_wake_at(c, clock_mono_ms() + g->retry_ms - c->now_ms);
            continue;
        }
        j = source_job_new(h, SOURCE_FORGET, WRITE_TIMEOUT_MS);
        g->asked = true;
        j->node_id = arena_strdup(&j->arena, g->node_id);
        j->instance_id = arena_strdup(&j->arena, g->instance);
        source_job_submit(j);
    }
}

void sources_mend(struct control *c)
{
    struct source *h = source_of_machines(c);

    if (h && h->ops->undrain)
        undrain_due(c, h);
    if (h && h->ops->forget)
        forget_due(c, h);
}
