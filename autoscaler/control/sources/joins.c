/*
 * joins.c - what a good view says of machines: who joined, who died.
 */
#include <stdio.h>
#include <string.h>

#include "../../model/accel.h"
#include "../../model/amount.h"
#include "../report/interrupted.h"
#include "inside.h"

enum { FORGOTTEN_MS = 3000 }; /* a raylet's word of before may come in late */

static void machine_joined(struct sources *s, struct machine *m,
                           const struct source_node *n)
{
    MACHINE_SET(m, ray_id, n->node_id);
    if (*n->address)
        MACHINE_SET(m, address, n->address);
    MACHINE_SET(m, detail, "");
    if (m->state == STATE_DRAINING || m->why == REASON_END_FAILED)
        m->why = REASON_NONE; /* late, and well after all */
    m->failure = ST_OK;
    m->maybe.lacks = m->maybe.let_go = m->maybe.unasked = false;
    if (m->state < STATE_STARTING)
        machine_to(s->ledger, m, STATE_STARTING);
    machine_to(s->ledger, m, STATE_READY);
}

/* Another raylet on the same machine: no drain is of that one, and what is asked
 * about the earlier one is not waited for. */
static void machine_rejoined(struct sources *s, struct machine *m,
                             const struct source_node *n)
{
    m->busy = false;
    machine_joined(s, m, n);
}

/* A head that lists its dead and does not know this node at all began anew,
 * perhaps together with us: its nodes join it again, or they are missing
 * (unjoined.c).  Taking that for death would end a whole fleet at once. */
static void machine_unknown(struct sources *s, struct machine *m)
{
    if (m->state > STATE_READY)
        machine_to(s->ledger, m, STATE_READY);
    MACHINE_SET(m, ray_id, "");
    m->drain_accepted = m->maybe.lived = false;
    m->busy = false; /* a question about that node is not waited for */
    m->maybe.unasked = m->asked_to_end && m->ready_ms;
    m->why = REASON_NONE;
    machine_to(s->ledger, m, STATE_STARTING);
}

static void machine_dead(struct sources *s, struct machine *m, bool unknown,
                         bool restarted)
{
    struct err e;

    if (m->state == STATE_DRAINING && m->drain_accepted && unknown &&
        !restarted)
        return; /* observe.c: its work has had its time then */
    if (m->state == STATE_DRAINING && !unknown) {
        machine_to(s->ledger, m, STATE_STOPPING);
        atomic_fetch_add(&s->env->metrics.ends, 1);
    } else if (unknown) {
        machine_unknown(s, m);
    } else if (m->why != REASON_END_FAILED) { /* ends.c ends it */
        err_set(&e, ST_BROKEN, "its raylet died");
        machine_died(s->ledger, m, &e);
    }
}

/* Does its source say that the node is in use, in views that were begun since it
 * agreed to drain it, and for a while? */
static bool is_undrained(struct sources *s, const struct source *h,
                         struct machine *m, const struct source_node *n)
{
    int64_t now = s->env->now_ms;

    if (n->status == SOURCE_DRAINING || n->status == SOURCE_UNREADY ||
        h->began_ms <= m->maybe.agreed_ms) {
        m->maybe.undrained_ms = 0;
        return false;
    }
    if (!m->maybe.undrained_ms)
        m->maybe.undrained_ms = now;
    if (now - m->maybe.undrained_ms < FORGOTTEN_MS) {
        env_wake_wall(s->env, m->maybe.undrained_ms + FORGOTTEN_MS);
        return false;
    }
    m->maybe.undrained_ms = 0;
    return true;
}

/* The head agreed to drain it, and has forgotten: what was agreed holds no more. */
static bool drain_forgotten(struct sources *s, const struct source *h,
                            struct machine *m, const struct source_node *n)
{
    if (!m->drain_accepted || h->ops->drains_in_steps ||
        !is_undrained(s, h, m, n))
        return false;
    m->why = REASON_NONE;
    emit(s->env, "drain.forgotten", m->id, "",
         "the head agreed to drain it, and does not drain it any more: it is "
         "in use again");
    machine_to(s->ledger, m, STATE_READY);
    return true;
}

/* The head drains it: our drain, whose answer was lost, or somebody else's. */
static void drain_seen(struct sources *s, const struct source *h,
                       struct machine *m, const struct source_node *n)
{
    if (n->status != SOURCE_DRAINING || m->drain_accepted ||
        h->ops->drains_in_steps)
        return; /* one that can be taken back: see clean_up.c */
    if (m->state == STATE_READY) {
        m->why = REASON_KEEP_DRAINING;
        machine_to(s->ledger, m, STATE_DRAINING);
    }
    m->drain_accepted = true;
    m->maybe.agreed_ms = s->env->now_ms;
    m->maybe.deadline_ms = s->env->now_ms + DRAIN_DEADLINE_MS;
    fleet_touch(&s->ledger->fleet, m);
}

/* A machine that a ledger before this one was draining: it goes on. */
static void drain_resume(struct sources *s, const struct source *h,
                         struct machine *m, const struct source_node *n)
{
    if (n->status != SOURCE_DRAINING || !h->ops->drains_in_steps || !m->adopted)
        return;
    m->why = REASON_KEEP_DRAINING;
    m->drain_since_ms = s->env->now_ms;
    machine_to(s->ledger, m, STATE_DRAINING);
}

/* It has registered: that is progress.  It is not ready yet. */
static void machine_registered(struct sources *s, struct machine *m,
                               const struct source_node *n)
{
    bool first = !*m->ray_id;

    if (strcmp(n->node_id, m->ray_id) == 0)
        return;
    MACHINE_SET(m, ray_id, n->node_id);
    if (first) /* one that begins again and again comes no further */
        m->progress_ms = s->env->now_ms;
    if (m->ready_ms && m->why == REASON_END_FAILED && !m->maybe.failed) {
        m->why = REASON_NONE; /* it was missing */
        m->failure = ST_OK;
    }
    fleet_touch(&s->ledger->fleet, m);
}

/* Kubernetes' names of devices are none of Ray's (a MIG slice, a shared GPU); of a
 * TPU slice of several hosts the first one shows its head's marker. */
static bool ray_shows(const struct conf_type *t, const char *name)
{
    if (strchr(name, '/'))
        return false;
    return t->fact.hosts < 2 || !accel_is_slice_head(name);
}

/* Ready is what was promised: the first of its type's devices and resources of
 * which the node has too little, or NULL. */
static const struct qty *lacking(const struct conf_type *t,
                                 const struct source_node *n)
{
    for (uint32_t i = 0; t && i < t->fact.resources.n; i++) {
        const struct qty *q = &t->fact.resources.v[i];

        if (!resource_is_rounded(q->name) && ray_shows(t, q->name) &&
            qtys_amount(&n->total, q->name) < q->amount)
            return q;
    }
    return NULL;
}

/* Once; a list's word for its progress does not stand in for it. */
static void lacking_tell(struct sources *s, struct machine *m,
                         const struct qty *q, const struct source_node *n)
{
    char text[MACHINE_ROOM(detail)], has[32], wants[32];

    snprintf(text, sizeof text, "it joined with %s of %s %.60s",
             amount_text(qtys_amount(&n->total, q->name), has, sizeof has),
             amount_text(q->amount, wants, sizeof wants), q->name);
    MACHINE_SET(m, detail, text);
    if (!m->maybe.lacks)
        emit(s->env, "node.lacks", m->id, "", "%s: %s", m->type, text);
    m->maybe.lacks = true;
}

static void coming_seen(struct sources *s, const struct source *h,
                        struct machine *m, const struct source_node *n)
{
    bool another = n && strcmp(n->node_id, m->ray_id) != 0;
    const struct qty *lacks;
    struct err e;

    if (!n)
        return;
    lacks = h->ops->late_devices ? NULL
                                 : lacking(type_find(s->conf->now, m->type), n);
    if (n->status == SOURCE_DEAD) {
        if (!another)
            return;
        err_set(&e, ST_BROKEN, "its raylet died while joining");
        machine_fail_life(s->ledger, m, &e);
        m->maybe.given_up = !*m->cloud_id; /* a list tells what there is */
        if (*m->cloud_id)
            machine_to(s->ledger, m, STATE_STOPPING);
    } else if (n->status == SOURCE_UNREADY) {
        machine_registered(s, m, n);
    } else if (lacks) {
        machine_registered(s, m, n);
        lacking_tell(s, m, lacks, n);
    } else {
        machine_looked(s->ledger, m, h->began_ms);
        machine_joined(s, m, n);
        drain_resume(s, h, m, n);
    }
}

/* An agent of its cloud writes on the node that it is taken back soon, and
 * takes the word off when that does not happen after all. */
static void notice_seen(struct sources *s, struct machine *m,
                        const struct source_node *n)
{
    bool leaving = n->leaving && *n->leaving;

    if (m->maybe.expires || m->maybe.noticed)
        return; /* it leaves anyway (observe.c, machines.c) */
    if (leaving == m->maybe.leaving || (!leaving && m->drain_accepted))
        return;
    m->maybe.leaving = leaving;
    m->maybe.leaves_ms = leaving ? s->env->now_ms + n->leaving_ms : 0;
    if (leaving)
        interrupted_note(s->ledger, m);
    if (!leaving && m->state == STATE_DRAINING && m->why == REASON_END_TAKEN)
        machine_to(s->ledger, m, STATE_READY);
    fleet_touch(&s->ledger->fleet, m);
    emit(s->env, leaving ? "node.leaving" : "node.stays", m->id,
         reason_code(REASON_END_TAKEN), "%s%s%s", m->type,
         leaving ? ": its cloud takes it back, says its " : " stays after all",
         leaving ? n->leaving : "");
}

static void present_seen(struct sources *s, const struct source *h,
                         struct machine *m, const struct source_node *n,
                         bool restarted)
{
    bool alive = n && n->status != SOURCE_DEAD;

    if (alive && strcmp(n->node_id, m->ray_id) == 0) {
        if (!drain_forgotten(s, h, m, n))
            drain_seen(s, h, m, n);
    } else if (alive) {
        machine_rejoined(s, m, n);
    } else {
        /* the death of another raylet of that name is not this one's */
        bool known = n && !restarted && strcmp(n->node_id, m->ray_id) == 0;

        machine_dead(s, m, !known, restarted);
    }
}

/* It was to end as its node was drained, and the node is in the view no more, dead or
 * alive: the head may have forgotten the drain.  An API server's Node object is deleted
 * by who has asked the cloud. */
static bool vanished(const struct sources *s, const struct source *h,
                     const struct machine *m, const struct source_node *n)
{
    return !n && m->maybe.lived && m->ready_ms && !m->maybe.end_sent &&
           !m->maybe.taken && !h->ops->by_address &&
           !source_claims(s, m).contested;
}

/* Its raylet had died, and there is another one, or its node is not drained any
 * more: it may have work, so it goes the way of all others.  When its end was asked
 * for already it has to go, and the source is asked before its cloud is asked again.
 * It has joined now, if it never had: when its name vanishes it is missing. */
static void revived(struct sources *s, const struct source *h,
                    struct machine *m, const struct source_node *n)
{
    if (!m->maybe.alive || m->maybe.taken)
        return;
    if (h->ops->by_address && m->maybe.ended_ms && !m->maybe.told)
        return; /* its address may be another machine's by now, unless lists have
                 * it ten minutes later: that end was none */
    if (strcmp(n->node_id, m->ray_id) == 0 && !is_undrained(s, h, m, n))
        return;
    if (!m->maybe.end_sent) {
        machine_rejoined(s, m, n);
        return;
    }
    m->busy = false;
    if (!m->ready_ms)
        m->ready_ms = s->env->now_ms;
    MACHINE_SET(m, ray_id, n->node_id);
    m->why = REASON_END_FAILED;
    m->drain_accepted = false;
    machine_to(s->ledger, m, STATE_DRAINING);
}

/* A head that began anew knows no node: that is no word on the machine.  An API
 * server's Node object is deleted by who has asked the cloud. */
static bool node_is_dead(const struct source *h, const struct machine *m,
                         const struct source_node *n, bool restarted)
{
    if (!*m->ray_id)
        return false;
    return n ? n->status == SOURCE_DEAD || n->status == SOURCE_UNREADY
             : h->ops->by_address && !restarted;
}

/* Nobody knows which node it is: it stays as it is, and a drain that can be taken
 * back is. */
static void contested_seen(struct sources *s, struct machine *m)
{
    if (m->state != STATE_DRAINING || m->drain_accepted || m->asked_to_end)
        return;
    m->busy = false;
    m->why = REASON_NONE;
    machine_to(s->ledger, m, *m->ray_id ? STATE_READY : STATE_STARTING);
}

void source_joins(struct sources *s, struct source *h, bool restarted)
{
    if (h != source_of_machines(s))
        return; /* its nodes lie on machines of the other one */
    source_claims_tell(s);
    for (uint32_t i = 0; i < s->ledger->fleet.n; i++) {
        struct machine *m = s->ledger->fleet.v[i];
        const struct source_node *n = source_node_of(s, m);

        m->maybe.alive = n && n->status != SOURCE_DEAD &&
                         n->status != SOURCE_UNREADY;
        m->maybe.dead = node_is_dead(h, m, n, restarted);
        if (n && n->status == SOURCE_UNREADY && m->state == STATE_READY)
            machine_vain(s->ledger, m);
        if (m->maybe.contested && m->state < STATE_STOPPING) {
            contested_seen(s, m);
            continue;
        }
        if (m->maybe.alive && m->state < STATE_STOPPING)
            notice_seen(s, m, n);
        if (n)
            m->maybe.lived = n->status != SOURCE_DEAD;
        if (m->state == STATE_STOPPING && vanished(s, h, m, n))
            machine_unknown(s, m);
        else if (m->state == STATE_STOPPING)
            revived(s, h, m, n);
        else if (m->state <= STATE_STARTING ||
                 (m->state == STATE_DRAINING && !*m->ray_id))
            coming_seen(s, h, m, n);
        else if (m->state == STATE_READY || m->state == STATE_DRAINING)
            present_seen(s, h, m, n, restarted);
    }
    source_claims_note(s);
}
