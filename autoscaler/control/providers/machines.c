/*
 * machines.c - what a provider says of a machine, into the ledger.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/digest.h"
#include "../../base/hash.h"
#include "../report/interrupted.h"
#include "../settle.h"
#include "../type_names.h"
#include "providers.h"

/* An id for a machine that is not from our ledger: the cloud's own, or, when
 * that is too long or taken, one with a number made of it. */
static void adopted_id(const struct fleet *f, const char *cloud_id, char *ret,
                       size_t n)
{
    uint32_t h = (uint32_t)digest_text(DIGEST_SEED, cloud_id);
    size_t kept = strlen(cloud_id);

    if (kept < n && !fleet_by_id(f, cloud_id)) {
        snprintf(ret, n, "%s", cloud_id);
        return;
    }
    kept = kept < 30 ? kept : 30;
    while (kept > 0 && ((unsigned char)cloud_id[kept] & 0xc0) == 0x80)
        kept--; /* not within a letter */
    snprintf(ret, n, "%.*s-%08x", (int)kept, cloud_id, h);
    /* Whoever writes ids can write many with one digest, and not of these. */
    for (uint64_t x = hash_name(cloud_id); fleet_by_id(f, ret);
         x = hash_number(x, 1))
        snprintf(ret, n, "%.*s-%08x", (int)kept, cloud_id, (uint32_t)x);
}

/* Is it a place for a machine of that launch that the ledger does not know?
 * One whose id is not known yet, or one that never joined and that this list
 * does not have: its cloud made another one in its place, or knows it by another
 * id now.  One that is ready is such while only an answer had its id: lists may
 * have another one from the first.  An answer to a launch may leave others out. */
static bool place_free(const struct machine *m, bool listed, int64_t now_ms)
{
    if (m->state == STATE_GONE)
        return false;
    return !*m->cloud_id || (m->seen_ms != now_ms && !*m->ray_id &&
                             (m->state < STATE_READY || !m->seen_ms) &&
                             (listed || m->maybe.missing_ms));
}

static struct machine *adopt(struct providers *p, const char *provider,
                             const struct call_machine *cm)
{
    struct fleet *f = &p->ledger->fleet;
    struct machine *m;
    char id[sizeof m->id];

    adopted_id(f, cm->id, id, sizeof id);
    m = fleet_add(f, id, STATE_STARTING, p->env->now_ms);
    MACHINE_SET(m, provider, provider);
    MACHINE_SET(m, type, cm->type);
    MACHINE_SET(m, request_id, cm->request_id);
    m->spot = cm->spot;
    m->adopted = ours_of(p->ledger, provider, cm->request_id);
    m->maybe.anew = machine_is_anothers(m) && provider_find(p, provider) &&
                    provider_find(p, provider)->listed_ms;
    m->maybe.let_go = ledger_had_ended(p->ledger, provider, cm->id,
                                       cm->request_id);
    fleet_bind(f, m, cm->id);
    emit(p->env, machine_held(m) ? "node.held" : "node.adopted", m->id, "",
         "%s: found in %s, not in the ledger%s", cm->type, provider,
         ours_text((enum adoption)m->adopted));
    ours_found(p->ledger, m);
    type_name_found(p->ledger, m, p->conf->now,
                    m->adopted == ADOPTED && !machine_stranger(m));
    price_settle(p, m);
    return m;
}

void machine_moves(struct providers *p, struct machine *m, const char *provider)
{
    emit(p->env, "node.moved", m->id, "", "provider %s is called %s now",
         m->provider, provider);
    type_name_moves(p->ledger, m, provider, p->conf->now);
    type_name_settle(p->ledger, m, p->conf->now);
    price_settle(p, m);
    fleet_touch(&p->ledger->fleet, m);
}

void machines_renamed(struct providers *p, const char *provider)
{
    struct fleet *f = &p->ledger->fleet;

    for (uint32_t i = 0; i < f->n; i++)
        if (f->v[i]->state != STATE_GONE &&
            !provider_find(p, f->v[i]->provider) &&
            ours_same_place(p->ledger, f->v[i]->provider, provider))
            machine_moves(p, f->v[i], provider);
}

/* Is it the machine that the list shows, or its launch? */
static bool is_that(const struct machine *m, const struct call_machine *cm)
{
    return (strcmp(m->cloud_id, cm->id) == 0 &&
            launch_is_same(m->request_id, cm->request_id)) ||
           (!*m->cloud_id && *cm->request_id &&
            strcmp(m->request_id, cm->request_id) == 0);
}

/* ---- many that are not known, of a list or of one launch
 *
 * Whatever they have in common: a table of launches, since equal keys of a table
 * are looked at one by one. */

struct launch {
    const char *provider, *request_id; /* provider "": of whatever one */
    VEC(struct machine *) all;         /* in order of creation */
    uint32_t at;                       /* those before have a machine now */
};

static uint64_t launch_hash(const char *provider, const char *request_id)
{
    return hash_number(hash_name(provider), hash_name(request_id));
}

static struct launch *launch_find(const struct hash *t, const char *provider,
                                  const char *request_id)
{
    uint64_t h = launch_hash(provider, request_id);
    struct launch *l;

    for (uint32_t at = 0; (l = hash_next(t, h, &at));)
        if (strcmp(l->request_id, request_id) == 0 &&
            strcmp(l->provider, provider) == 0)
            return l;
    return NULL;
}

static void launch_add(struct unmatched *u, struct hash *t,
                       const char *provider, struct machine *m)
{
    struct launch *l = launch_find(t, provider, m->request_id);

    if (!l) {
        l = ARENA_NEW(&u->arena, struct launch);
        l->provider = arena_strdup(&u->arena, provider);
        l->request_id = arena_strdup(&u->arena, m->request_id);
        hash_add(t, launch_hash(provider, m->request_id), l);
    }
    VEC_PUSH(&u->arena, &l->all, m);
}

void unmatched_make(struct providers *p, const char *provider, bool listed,
                    struct unmatched *ret)
{
    const struct fleet *f = &p->ledger->fleet;

    *ret = (struct unmatched){.provider = provider, .listed = listed};
    for (uint32_t i = 0; i < f->n; i++) {
        struct machine *m = f->v[i];

        if (m->state == STATE_GONE)
            continue;
        if (!provider_find(p, m->provider)) {
            if (*m->cloud_id)
                hash_add(&ret->orphans, hash_name(m->cloud_id), m);
            else if (*m->request_id)
                launch_add(ret, &ret->unbound_orphans, "", m);
        }
        if (*m->request_id && place_free(m, listed, p->env->now_ms))
            launch_add(ret, *m->cloud_id ? &ret->others : &ret->unbound,
                       m->provider, m);
    }
}

void unmatched_done(struct unmatched *u)
{
    hash_done(&u->unbound);
    hash_done(&u->others);
    hash_done(&u->orphans);
    hash_done(&u->unbound_orphans);
    arena_done(&u->arena);
}

/* Each once, since it has a machine now. */
static struct machine *unmatched_take(const struct unmatched *u,
                                      const struct hash *t,
                                      const char *request_id, int64_t now_ms)
{
    struct launch *l = launch_find(t, u->provider, request_id);

    while (l && l->at < l->all.n) {
        struct machine *m = l->all.v[l->at++];

        if (place_free(m, u->listed, now_ms))
            return m;
    }
    return NULL;
}

/* One whose provider is no longer configured under that name: under its id, or of
 * its launch. */
static struct machine *orphan_take(struct unmatched *u,
                                   const struct call_machine *cm)
{
    uint64_t h = hash_name(cm->id);
    struct machine *m;
    struct launch *l;

    for (uint32_t at = 0; (m = hash_next(&u->orphans, h, &at));)
        if (is_that(m, cm)) {
            hash_remove(&u->orphans, h, m);
            return m;
        }
    l = *cm->request_id ? launch_find(&u->unbound_orphans, "", cm->request_id)
                        : NULL;
    return l && l->at < l->all.n ? l->all.v[l->at++] : NULL;
}

static struct machine *unmatched_find(struct providers *p, struct unmatched *u,
                                      const struct call_machine *cm)
{
    const char *id = cm->request_id;
    struct machine *m = orphan_take(u, cm);

    if (m)
        machine_moves(p, m, u->provider);
    if (*id && !m)
        m = unmatched_take(u, &u->unbound, id, p->env->now_ms);
    if (*id && !m)
        m = unmatched_take(u, &u->others, id, p->env->now_ms);
    if (m && strcmp(m->cloud_id, cm->id) != 0)
        fleet_bind(&p->ledger->fleet, m, cm->id);
    return m;
}

/* The record this machine of the cloud belongs to.  A list's is adopted if there is
 * none, also one that is ending, so that nothing billed is ever unowned.  NULL: an
 * answer has it, and a list of before had all of its launch, by other ids perhaps:
 * the next list tells what there is. */
static struct machine *machine_of(struct providers *p, const char *provider,
                                  const struct call_machine *cm,
                                  struct unmatched *rest)
{
    struct machine *m = fleet_by_launch(&p->ledger->fleet, provider, cm->id,
                                        cm->request_id);

    assert(m || rest);
    if (!m)
        m = unmatched_find(p, rest, cm);
    return m || !rest->listed ? m : adopt(p, provider, cm);
}

bool machine_known(const struct providers *p, const struct provider_state *s,
                   const struct call_machine *cm)
{
    return !!fleet_by_launch(&p->ledger->fleet, s->conf->name, cm->id,
                             cm->request_id);
}

/* The provider's word for what it is: a type may have got another name. */
static void type_seen(struct providers *p, struct machine *m,
                      const struct call_machine *cm)
{
    if (!*cm->type || strcmp(m->type, cm->type) == 0 ||
        !type_find(p->conf->now, cm->type))
        return;
    emit(p->env, "node.retyped", m->id, "", "%s is %s now", m->type, cm->type);
    MACHINE_SET(m, type, cm->type);
    price_settle(p, m);
    fleet_touch(&p->ledger->fleet, m);
}

/* Has it come further than ever before?  Each step counts once: it has a zone, it
 * has an address, it runs.  Another text, another address is no step: what goes
 * round and round would be waited for for ever. */
static bool stepped_on(struct machine *m, const struct call_machine *cm)
{
    bool runs = cm->phase == DAVIT_RUNNING && !m->maybe.runs;

    m->maybe.runs = m->maybe.runs || runs;
    return runs || (*cm->zone && !*m->zone) || (*cm->address && !*m->address);
}

static void way_seen(struct providers *p, struct machine *m,
                     const struct call_machine *cm)
{
    bool step = stepped_on(m, cm);
    bool moved = *cm->zone && strcmp(m->zone, cm->zone) != 0;
    bool told = m->state < STATE_READY && !m->maybe.lacks &&
                MACHINE_SET(m, detail, cm->detail);

    m->maybe.queued = cm->queued;
    if (MACHINE_SET(m, host_group, cm->unit))
        p->env->news = true;
    if (!step && !moved && !told && strcmp(m->address, cm->address) == 0)
        return;
    if (moved)
        MACHINE_SET(m, zone, cm->zone);
    MACHINE_SET(m, address, cm->address);
    if (!m->maybe.lacks)
        MACHINE_SET(m, detail, cm->detail);
    if (step)
        m->progress_ms = p->env->now_ms;
    fleet_touch(&p->ledger->fleet, m);
}

/* One that had joined may still have work: it goes the way of all others. */
static void failure_seen(struct providers *p, struct machine *m,
                         const struct call_machine *cm)
{
    struct err e = {.status = cm->failure == ST_OK ? ST_RETRY : cm->failure};

    if (m->maybe.failed)
        return; /* told; what it leads to is ends.h's */
    m->maybe.failed = true;
    snprintf(e.text, sizeof e.text, "%s", cm->detail);
    machine_died(p->ledger, m, &e);
}

/* Somebody else ends it: a person, or the cloud that wants it back. */
static void stopping_seen(struct providers *p, struct machine *m)
{
    if (!m->maybe.ended_ms)
        m->maybe.ended_ms = p->env->now_ms;
    if (m->state == STATE_STOPPING || m->maybe.taken)
        return;
    m->maybe.taken = true;
    interrupted_note(p->ledger, m);
    fleet_touch(&p->ledger->fleet, m);
}

bool machine_in_doubt(const struct machine *m)
{
    bool ill = m->maybe.said == DAVIT_FAILED || m->maybe.said == DAVIT_STOPPING;

    return ill != (m->maybe.taken || m->maybe.failed);
}

/* A phase says more than that it goes on as before when two readings in a row have
 * it, in both directions: rows flicker.  The second list is asked for soon. */
static bool said_twice(struct providers *p, struct machine *m, uint32_t phase)
{
    bool again = m->maybe.said == phase && m->maybe.said_ms < p->env->now_ms;

    if (m->maybe.said != phase)
        m->maybe.said_ms = p->env->now_ms;
    m->maybe.said = phase;
    return again;
}

/* It does not fail, and is not taken back, after all. */
static void well_again(struct providers *p, struct machine *m)
{
    if (m->state >= STATE_STOPPING || (!m->maybe.taken && !m->maybe.failed))
        return;
    if (m->why == REASON_END_FAILED || m->why == REASON_END_TAKEN) {
        machine_take_back(p->ledger, m);
        if (m->state < STATE_DRAINING)
            m->why = REASON_NONE;
    }
    m->failure = ST_OK;
    m->maybe.taken = m->maybe.failed = false;
    m->maybe.ended_ms = 0;
    fleet_touch(&p->ledger->fleet, m);
    emit(p->env, "node.stays", m->id, "", "%s: two lists of %s have it as well",
         m->type, m->provider);
}

static void phase_seen(struct providers *p, struct machine *m,
                       const struct call_machine *cm)
{
    bool again = said_twice(p, m, cm->phase);

    switch (cm->phase) {
    case DAVIT_RUNNING:
    case DAVIT_STARTING:
        if (again)
            well_again(p, m);
        if (cm->phase == DAVIT_RUNNING && !p->join_elsewhere &&
            m->state == STATE_STARTING) {
            machine_looked(p->ledger, m,
                           provider_find(p, m->provider)->list_begun_ms);
            machine_to(p->ledger, m, STATE_READY);
        }
        break;
    case DAVIT_STOPPING:
        if (again || m->maybe.end_sent)
            stopping_seen(p, m);
        break;
    case DAVIT_FAILED:
        if (again && m->state < STATE_STOPPING)
            failure_seen(p, m, cm);
        break;
    }
}

/* Whose launch it is of may be told late: a cloud first has the machine, then
 * its tags. */
static void launch_seen(struct providers *p, struct machine *m,
                        const struct call_machine *cm)
{
    if (*m->request_id || !*cm->request_id || m->adopted != ADOPTED)
        return;
    MACHINE_SET(m, request_id, cm->request_id);
    m->adopted = ours_of(p->ledger, m->provider, cm->request_id);
    ours_found(p->ledger, m);
    fleet_touch(&p->ledger->fleet, m);
}

static void held_seen(struct providers *p, struct machine *m,
                      const struct call_machine *cm)
{
    bool was = *m->cloud_holds;

    if (!MACHINE_SET(m, cloud_holds, cm->held))
        return;
    if (was != (*m->cloud_holds != '\0'))
        emit(p->env, *m->cloud_holds ? "node.kept" : "node.freed", m->id, "",
             "%s",
             *m->cloud_holds ? m->cloud_holds : "its cloud lets it end again");
    fleet_touch(&p->ledger->fleet, m);
}

/* Its cloud says that it will take, stop or restart it: its work goes elsewhere in
 * time.  It may take that back as long as nothing was drained. */
static void leaving_seen(struct providers *p, struct machine *m,
                         const struct call_machine *cm)
{
    bool leaving = cm->leaving && *cm->leaving;

    if (m->maybe.expires || m->state >= STATE_STOPPING)
        return;
    if (leaving && m->maybe.noticed)
        m->maybe.leaves_ms = cm->leaves_ms;
    if (leaving == m->maybe.noticed || (!leaving && m->drain_accepted))
        return;
    m->maybe.noticed = m->maybe.leaving = leaving;
    m->maybe.leaves_ms = leaving ? cm->leaves_ms : 0;
    if (!leaving && m->state == STATE_DRAINING && m->why == REASON_END_TAKEN)
        machine_take_back(p->ledger, m);
    fleet_touch(&p->ledger->fleet, m);
    p->env->news = true;
    emit(p->env, leaving ? "node.leaving" : "node.stays", m->id,
         reason_code(REASON_END_TAKEN), "%s%s%s", m->type,
         leaving ? ": " : " stays after all", leaving ? cm->leaving : "");
}

/* No list had it for long: it, or the node that is known to be its by this list alone, may
 * have been there meanwhile. */
static void long_unseen(struct providers *p, struct machine *m)
{
    enum { LONG_MS = 20000 };

    int64_t from_ms = m->seen_ms > m->created_ms ? m->seen_ms : m->created_ms;

    if (p->env->now_ms - from_ms > LONG_MS)
        machine_looked(p->ledger, m, from_ms);
}

void machine_seen(struct providers *p, const struct provider_state *s,
                  const struct call_machine *cm, bool listed,
                  struct unmatched *rest)
{
    struct machine *m = machine_of(p, s->conf->name, cm, rest);

    if (!m || m->state == STATE_GONE)
        return;
    if (listed) {
        long_unseen(p, m);
        m->seen_ms = p->env->now_ms;
    }
    m->maybe.missing_ms = m->maybe.sought_ms = m->maybe.found_ms = 0;
    m->maybe.lost = false;
    m->maybe.given_up = m->maybe.doubt = false;
    launch_seen(p, m, cm);
    type_seen(p, m, cm);
    held_seen(p, m, cm);
    if (listed)
        leaving_seen(p, m, cm);
    way_seen(p, m, cm);
    /* Also one that is ending already: its launch did work, and it is on the
     * bill until a list lacks it. */
    if (m->state < STATE_STARTING)
        machine_to(p->ledger, m, STATE_STARTING);
    phase_seen(p, m, cm);
}

static void machine_absent(struct providers *p, struct machine *m)
{
    struct err e;

    switch (standing_of(m)) {
    case STANDING_ASKED:
    case STANDING_ACCEPTED:
        emit(p->env, "launch.settled", m->id, "",
             "%s has no machine of its launch", m->provider);
        break;
    case STANDING_THERE:
        interrupted_note(p->ledger, m);
        if (m->maybe.taken)
            break;
        err_set(&e, ST_RETRY, "its cloud no longer has it");
        machine_short_life(p->ledger, m, &e);
        atomic_fetch_add(&p->env->metrics.lost, 1);
        figure_count(&p->env->metrics.figures, FIGURE_LOST, 1,
                     FIGURE_LABELS_(m->type, m->provider));
        emit(p->env, "node.lost", m->id, "", "%s: %s no longer has it", m->type,
             m->provider);
        break;
    case STANDING_PLANNED:
    case STANDING_ENDING:
    case STANDING_ENDED:
    case STANDING_GONE: break;
    }
    machine_to(p->ledger, m, STATE_GONE);
}

void machine_missed(struct providers *p, struct machine *m,
                    int64_t list_begun_ms, int64_t settle_ms)
{
    bool awaited = !m->maybe.unlisted;

    if (settle_absent(m, list_begun_ms, settle_ms))
        machine_absent(p, m);
    if (awaited && m->maybe.unlisted && standing_lost_sight(m))
        p->env->news = true; /* work need not wait for it any longer */
}
