/*
 * drain.c - nodes are drained before their machines end.
 *
 * A question is one job on a writer of the source's; its answer is what the
 * machine's state becomes.  A refusal keeps the node, waits longer each time
 * before it is asked again, and tells why.  All of it is found again from the
 * ledger and the source's view, so a restart in the middle needs nothing.
 */
#include <stdio.h>
#include <string.h>

#include "../../base/clock.h"
#include "../rare.h"
#include "inside.h"

enum {
    REFUSED_MS = 10000, /* a refused drain is not asked again before */
    REFUSED_MOST_MS = 600000,
    STEP_MS = 200,
    STEP_MOST_MS = 1000, /* between two steps of a drain */
    STEP_STUCK_MS = 5000,
    STUCK = 10,        /* when nothing moved for so many */
    STEP_EACH_MS = 25, /* and for every node that is drained besides:
                        * at most 40 steps a second in all */
    HOSTED_MS = 30000, /* so long idle Ray nodes have to end */
    TAKEN_MS = 120000, /* what clouds give before they take a machine back:
                        * docs.aws.amazon.com/AWSEC2/latest/UserGuide/
                        * spot-instance-termination-notices.html */
};

/* ---- asking */

/* Until when its work has time. */
static int64_t deadline_of(const struct machine *m)
{
    if (m->maybe.leaves_ms)
        return m->maybe.leaves_ms;
    return clock_wall_ms() + (m->maybe.taken ? TAKEN_MS : DRAIN_DEADLINE_MS);
}

/* Does it go as nothing runs on it?  Then what came since is not to be moved. */
static bool goes_idle(const struct config *conf, const struct machine *m)
{
    return m->why == REASON_END_IDLE ||
           (m->why == REASON_END_CONSOLIDATE &&
            conf->limits.consolidate != CONSOLIDATE_ON);
}

static void ask_drain(struct sources *s, struct source *h, struct machine *m,
                      const char *node_id, bool preempt)
{
    const struct config *conf = s->conf->now;
    struct source_job *j = source_job_of(h, SOURCE_DRAIN, m, node_id);
    const struct source_node *n = source_node_of(s, m);
    bool known = n && n->uid && strcmp(n->node_id, node_id) == 0;

    m->busy = true;
    j->drain = (struct source_drain){
        .node_id = j->node_id,
        .uid = arena_strdup(&j->arena, known ? n->uid : ""),
        .preempt = preempt,
        .idle = !preempt && goes_idle(conf, m),
        .message = "davit: the node is not needed",
        .deadline_wall_ms = deadline_of(m),
        .limit_ms = conf->kube_drain_timeout_ms,
        .most_grace_ms = conf->kube_drain_grace_ms,
        .move_local = conf->kube_drain_local,
        .move_bare = conf->kube_drain_bare,
    };
    if (!m->retry_ms) /* its first step */
        atomic_fetch_add(&s->env->metrics.drains, 1);
    source_job_submit(j);
}

static void step_again(struct sources *s, struct machine *m)
{
    uint32_t draining = 0;
    int64_t wait = (int64_t)STEP_MS << (m->tries < 3 ? m->tries : 3);

    for (uint32_t i = 0; i < s->ledger->fleet.n; i++)
        draining += s->ledger->fleet.v[i]->state == STATE_DRAINING;
    if (wait > STEP_MOST_MS)
        wait = m->tries < STUCK ? STEP_MOST_MS : STEP_STUCK_MS;
    m->tries++;
    m->retry_ms = s->env->now_ms + wait + STEP_EACH_MS * (draining - 1);
    env_wake_wall(s->env, m->retry_ms);
}

static void detail_set(struct sources *s, struct machine *m, const char *text)
{
    if (MACHINE_SET(m, detail, text))
        fleet_touch(&s->ledger->fleet, m);
}

/* The node stays.  Ray is asked again after the same time, as work
 * there comes and goes; what is against a drain in Kubernetes stays longer. */
static void drain_refused(struct sources *s, const struct source *h,
                          struct machine *m, const char *why)
{
    int64_t wait = REFUSED_MS;

    if (h->ops->drains_in_steps)
        wait <<= m->refused < 6 ? m->refused : 6;
    m->refused++;
    atomic_fetch_add(&s->env->metrics.drains_refused, 1);
    m->hold_until_ms = s->env->now_ms +
                       (wait < REFUSED_MOST_MS ? wait : REFUSED_MOST_MS);
    MACHINE_SET(m, detail, why);
    m->why = REASON_KEEP_REFUSED;
    machine_to(s->ledger, m, m->ready_ms ? STATE_READY : STATE_STARTING);
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

/* Of a machine's hosted nodes: those that still end, and the first that was
 * not asked yet; head is the pod of one that can never be drained, or NULL. */
struct hosted_nodes {
    uint32_t ending;
    const struct source_node *unasked;
    const char *head;
};

static struct hosted_nodes hosted_count(const struct source *hosted,
                                        const struct source_node *node,
                                        bool preempt)
{
    struct hosted_nodes r = {0};

    for (uint32_t i = 0; i < node->hosted.n; i++) {
        const struct source_node *g = source_node_named(hosted,
                                                        node->hosted.v[i]);

        if (!g || g->status == SOURCE_DEAD)
            continue;
        if (g->head && !r.head)
            r.head = node->hosted.v[i];
        if (g->status != SOURCE_DRAINING)
            r.unasked = r.unasked ? r.unasked : g;
        else
            /* one that must go stays up until its work's time is over: when
             * it has none, there is nothing to wait for */
            r.ending += !preempt || has_work(g);
    }
    return r;
}

/* With a Ray head too: Ray's nodes in pods of this node are drained first, so
 * that no task starts where pods are about to be evicted.  True: they are. */
static bool hosted_drained(struct sources *s, struct source *h,
                           struct machine *m, bool preempt)
{
    struct source *ray = s->n > 1 ? &s->all[0] : NULL;
    const struct source_node *node = source_node_of(s, m);
    int64_t longest = preempt ? s->conf->now->kube_drain_timeout_ms : HOSTED_MS;
    bool late = m->maybe.leaves_ms && s->env->now_ms > m->maybe.leaves_ms;
    struct hosted_nodes on;
    char why[150];

    if (!ray || !node || !ray->view)
        return true;
    if (ray->read_ms <= m->drain_since_ms && !ray->failures) {
        env_wake_mono(s->env, s->env->mono_ms + STEP_MS);
        return false; /* who joined just before is in the next view */
    }
    on = hosted_count(ray, node, preempt);
    if (on.head) {
        snprintf(why, sizeof why, "the Ray head runs on it, in pod %.80s",
                 on.head);
        drain_refused(s, h, m, why);
        return false;
    }
    if (on.unasked) {
        if (source_is_free(ray))
            ask_drain(s, ray, m, on.unasked->node_id, preempt);
        return false;
    }
    if (!on.ending || late || s->env->now_ms - m->drain_since_ms > longest)
        return true;
    snprintf(why, sizeof why, "Ray drains %u of its nodes there first",
             on.ending);
    detail_set(s, m, why);
    step_again(s, m);
    return false;
}

/* It had not joined when it was to end: has it now?  Only a view that was begun
 * since can say. */
static void look_first(struct sources *s, struct source *h, struct machine *m)
{
    const struct source_node *n = source_node_of(s, m);

    if (!source_is_fresh(s, h) || h->began_ms < m->drain_since_ms) {
        sources_hurry(s); /* read.c: it brings another step */
        return;
    }
    if (source_claims(s, m).contested || (n && n->status != SOURCE_DEAD))
        return; /* joins.c */
    machine_to(s->ledger, m, STATE_STOPPING);
    atomic_fetch_add(&s->env->metrics.ends, 1);
}

void source_drain(struct sources *s, struct machine *m, bool preempt)
{
    struct source *h = source_for_machines(s);

    if (h && !*m->ray_id) {
        look_first(s, h, m);
        return;
    }
    if (!h)
        return;
    if (h->ops->drains_in_steps && !source_is_fresh(s, h)) {
        /* whoever answers there may not be who has the node */
        env_wake_mono(s->env, s->env->mono_ms + STEP_MOST_MS);
        return;
    }
    if (!source_is_free(h) || RARE(WRITER_BUSY)) {
        /* some answers bring no plan: a report's */
        env_wake_mono(s->env, s->env->mono_ms + STEP_MS);
        return;
    }
    if (hosted_drained(s, h, m, preempt))
        ask_drain(s, h, m, m->ray_id, preempt);
}

/* ---- answers */

static void drain_failed(struct sources *s, struct machine *m,
                         const struct source_job *j)
{
    int64_t wait = (int64_t)500 << (m->tries < 5 ? m->tries : 5);

    /* A right that is missing is not waited for: the node is of use. */
    if (j->source->ops->drains_in_steps &&
        (j->status == ST_AUTH || j->status == ST_INVALID)) {
        drain_refused(s, j->source, m, j->err.text);
        return;
    }
    m->tries++;
    if (j->err.retry_after_ms > wait)
        wait = j->err.retry_after_ms;
    m->retry_ms = s->env->now_ms + wait;
}

static void drained(struct sources *s, struct machine *m)
{
    machine_to(s->ledger, m, STATE_STOPPING);
    atomic_fetch_add(&s->env->metrics.ends, 1);
}

/* Another cluster has none of our nodes.  So a node has gone when the view, which says
 * whose it is (another.c), has it no more, and not by this answer. */
static void node_absent(struct sources *s, struct machine *m)
{
    struct source_claims c = source_claims(s, m);
    bool seen = source_is_fresh(s, source_of_machines(s));

    if (seen && !c.contested && (!c.node || c.node->status == SOURCE_DEAD)) {
        drained(s, m);
        return;
    }
    detail_set(s, m,
               "the API server that answered has no such node, and no watch "
               "says that it has gone: nothing is known of its pods");
    step_again(s, m);
}

static void drain_answered(struct sources *s, struct machine *m,
                           const struct source_job *j)
{
    const struct source_drain *d = &j->drain;
    bool hosted = j->source != source_of_machines(s);

    if (d->moved && !hosted && !m->drain_accepted) {
        m->drain_accepted = true; /* work was sent away: no way back */
        m->tries = 0;
        fleet_touch(&s->ledger->fleet, m);
    }
    switch (d->got) {
    case SOURCE_DRAIN_ACCEPTED:
        m->maybe.agreed_ms = s->env->now_ms;
        m->maybe.undrained_ms = 0;
        m->maybe.deadline_ms = s->env->now_ms + DRAIN_DEADLINE_MS;
        j->source->read_due_ms = 0;
        if (hosted)
            step_again(s, m);
        break;
    case SOURCE_DRAIN_WAITS:
        if (d->moved && m->tries > 2)
            m->tries = 2;
        detail_set(s, m, d->why);
        step_again(s, m);
        break;
    case SOURCE_DRAIN_ABSENT: node_absent(s, m); break;
    case SOURCE_DRAIN_DONE: drained(s, m); break;
    case SOURCE_DRAIN_REFUSED:
        drain_refused(s, source_of_machines(s), m, d->why);
        break;
    }
}

void source_drain_folded(struct sources *s, struct source_job *j)
{
    struct machine *m = fleet_by_id(&s->ledger->fleet, j->machine);

    if (!m || source_job_is_late(j, m))
        return;
    m->busy = false;
    if (m->state == STATE_DRAINING && j->status == ST_OK) {
        drain_answered(s, m, j);
    } else if (m->state == STATE_DRAINING) {
        drain_failed(s, m, j);
    } else if (j->status == ST_OK && j->drain.got == SOURCE_DRAIN_ACCEPTED &&
               m->state == STATE_READY && j->source == source_of_machines(s)) {
        /* taken back while the question was under way, and the head agreed */
        machine_to(s->ledger, m, STATE_DRAINING);
        m->drain_accepted = true;
        m->maybe.agreed_ms = s->env->now_ms;
        m->maybe.deadline_ms = s->env->now_ms + DRAIN_DEADLINE_MS;
        fleet_touch(&s->ledger->fleet, m);
    }
}
