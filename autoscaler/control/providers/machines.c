/*
 * machines.c - what a provider says of a machine, into the ledger.
 */
#include <stdio.h>
#include <string.h>

#include "../../base/hash.h"
#include "providers.h"

enum { MISSED_MAX = 2 }; /* good lists without it before it is lost */

/* An id for a machine that is not from our ledger: the cloud's own, or, when
 * that is too long or taken, one with a number made of it. */
static void adopted_id(const struct fleet *f, const char *cloud_id, char *ret,
                       size_t n)
{
    uint32_t h = (uint32_t)hash_text(HASH_SEED, cloud_id);
    size_t kept = strlen(cloud_id);

    if (kept < n && !fleet_by_id(f, cloud_id)) {
        snprintf(ret, n, "%s", cloud_id);
        return;
    }
    kept = kept < 30 ? kept : 30;
    while (kept > 0 && ((unsigned char)cloud_id[kept] & 0xc0) == 0x80)
        kept--; /* not within a letter */
    do
        snprintf(ret, n, "%.*s-%08x", (int)kept, cloud_id, h++);
    while (fleet_by_id(f, ret));
}

/* The machine of a launch whose id is not known yet, or NULL. */
static struct machine *machine_of_launch(const struct fleet *f,
                                         const char *provider,
                                         const char *request_id)
{
    for (uint32_t i = 0; *request_id && i < f->n; i++) {
        struct machine *m = f->v[i];

        if (!*m->cloud_id && strcmp(m->request_id, request_id) == 0 &&
            strcmp(m->provider, provider) == 0 && m->state != STATE_GONE)
            return m;
    }
    return NULL;
}

static struct machine *adopt(struct providers *p, const char *provider,
                             const struct call_machine *cm)
{
    const struct conf_type *t = type_find(p->conf->now, cm->type);
    struct fleet *f = &p->ledger->fleet;
    struct machine *m;
    char id[sizeof m->id];

    adopted_id(f, cm->id, id, sizeof id);
    m = fleet_add(f, id, STATE_STARTING, p->env->now_ms);
    snprintf(m->provider, sizeof m->provider, "%s", provider);
    snprintf(m->type, sizeof m->type, "%s", cm->type);
    snprintf(m->request_id, sizeof m->request_id, "%s", cm->request_id);
    snprintf(m->config_hash, sizeof m->config_hash, "%s", t ? t->hash : "");
    m->spot = cm->spot;
    m->adopted = true;
    fleet_bind(f, m, cm->id);
    emit(p->env, "node.adopted", m->id, "",
         "%s: found in %s, not in the ledger", cm->type, provider);
    return m;
}

/* The record this machine of the cloud belongs to; adopted when there is
 * none, so that nothing billed is ever unowned. */
static struct machine *machine_of(struct providers *p, const char *provider,
                                  const struct call_machine *cm)
{
    struct fleet *f = &p->ledger->fleet;
    struct machine *m = fleet_by_cloud(f, provider, cm->id);

    if (m)
        return m;
    m = machine_of_launch(f, provider, cm->request_id);
    if (m)
        fleet_bind(f, m, cm->id);
    else if (cm->phase != DAVIT_STOPPING)
        m = adopt(p, provider, cm);
    return m;
}

static void progress_seen(struct providers *p, struct machine *m,
                          const struct call_machine *cm)
{
    bool moved = *cm->zone && strcmp(m->zone, cm->zone) != 0;

    if (strcmp(m->host_group, cm->unit) != 0) {
        snprintf(m->host_group, sizeof m->host_group, "%s", cm->unit);
        p->env->news = true;
    }
    if (strcmp(m->address, cm->address) == 0 && !moved &&
        !(m->state < STATE_READY && machine_detail(m, cm->detail)))
        return;
    if (moved)
        snprintf(m->zone, sizeof m->zone, "%s", cm->zone);
    snprintf(m->address, sizeof m->address, "%s", cm->address);
    machine_detail(m, cm->detail);
    m->progress_ms = p->env->now_ms;
    fleet_touch(&p->ledger->fleet, m);
}

static void failure_seen(struct providers *p, struct machine *m,
                         const struct call_machine *cm)
{
    struct err e = {.status = cm->failure == ST_OK ? ST_RETRY : cm->failure};

    snprintf(e.text, sizeof e.text, "%s", cm->detail);
    /* One that had joined tells nothing about the next launch. */
    if (m->state < STATE_READY)
        machine_fail_offer(p->ledger, m, &e);
    else
        machine_fail(p->ledger, m, e.status, cm->detail);
    machine_to(p->ledger, m, STATE_STOPPING);
}

static void held_seen(struct providers *p, struct machine *m,
                      const struct call_machine *cm)
{
    char was[sizeof m->held];

    snprintf(was, sizeof was, "%s", m->held);
    snprintf(m->held, sizeof m->held, "%s", cm->held);
    if (strcmp(was, m->held) == 0)
        return;
    if ((*was != '\0') != (*m->held != '\0'))
        emit(p->env, *m->held ? "node.held" : "node.released", m->id, "", "%s",
             *m->held ? m->held : "its cloud lets it end again");
    fleet_touch(&p->ledger->fleet, m);
}

void machine_seen(struct providers *p, const struct provider_state *s,
                  const struct call_machine *cm)
{
    struct machine *m = machine_of(p, s->conf->name, cm);

    if (!m || m->state == STATE_GONE)
        return;
    m->seen_ms = p->env->now_ms;
    m->missed = 0;
    held_seen(p, m, cm);
    progress_seen(p, m, cm);
    switch (cm->phase) {
    case DAVIT_STARTING:
    case DAVIT_RUNNING:
        if (m->state == STATE_INTENDED || m->state == STATE_REQUESTED)
            machine_to(p->ledger, m, STATE_STARTING);
        if (cm->phase == DAVIT_RUNNING && !p->join_elsewhere &&
            m->state == STATE_STARTING)
            machine_to(p->ledger, m, STATE_READY);
        break;
    case DAVIT_STOPPING:
        if (m->state >= STATE_STOPPING)
            break;
        if (m->state != STATE_DRAINING)
            m->why = REASON_NONE;
        machine_to(p->ledger, m, STATE_STOPPING);
        break;
    case DAVIT_FAILED:
        if (m->state < STATE_STOPPING)
            failure_seen(p, m, cm);
        break;
    }
}

void machine_missed(struct providers *p, struct machine *m,
                    int64_t list_started_ms)
{
    if (m->since_ms >= list_started_ms || m->created_ms >= list_started_ms)
        return; /* the list is older than what we know */
    switch (m->state) {
    case STATE_STARTING:
    case STATE_READY:
    case STATE_DRAINING:
        if (++m->missed < MISSED_MAX)
            return;
        atomic_fetch_add(&p->env->metrics.lost, 1);
        emit(p->env, "node.lost", m->id, "", "%s: %s no longer has it", m->type,
             m->provider);
        machine_to(p->ledger, m, STATE_GONE);
        return;
    case STATE_STOPPING: machine_to(p->ledger, m, STATE_GONE); return;
    case STATE_INTENDED:  /* its launch will be answered or repeated */
    case STATE_REQUESTED: /* accepted, appears later; see observe_deadlines */
    case STATE_GONE:
    case STATE_COUNT: return;
    }
}
