/*
 * sites.c - the providers of this generation: opened, listed, asked for offers.
 *
 * Laws: absence from a failed list is not death; a list says nothing about
 * what happened after it was started; a machine we did not know is adopted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "../cloud/offer_check.h"
#include "state.h"

enum {
    LIST_BUSY_MS = 1000,       /* while something is on its way or going */
    LIST_QUIET_MS = 15000,
    LIST_TIMEOUT_MS = 60000,
    MANY = 200,                /* the list of so many was megabytes */
    OFFERS_MS = 600000,
    MISSED_MAX = 2,            /* good lists without it before it is lost */
};

static enum status site_join(struct control *c, struct site *s,
                             struct buf *errors)
{
    struct err err;
    enum status st = traffic_join(c->traffic, s->provider, &err);

    if (st != ST_OK) {
        buf_printf(errors, "provider %s: HTTP: %s\n", s->conf->name, err.text);
        provider_close(s->provider);
    }
    return st;
}

/* A foreign file names no plug-in of ours.  Where the usual one, or what it is
 * for, is not there, its machines are simulated, so that the file can be tried
 * as it is; told loudly, as the configuration does for providers we have no
 * name for.  Not so for a RayCluster that was read from a cluster. */
static enum status site_open(struct control *c, const struct config *conf,
                             struct site *s, struct buf *errors)
{
    struct conf_provider stand_in = *s->conf;
    struct buf first;
    enum status st;

    buf_init(&first, errors->max);
    st = provider_open(conf, s->conf, &s->provider, &first);
    if (st == ST_NOT_FOUND && conf->dialect != DIALECT_DAVIT &&
        !*s->conf->plugin && !c->opts.source) {
        stand_in.plugin = "sim";
        stand_in.n_options = 0;
        st = provider_open(conf, &stand_in, &s->provider, errors);
        if (st == ST_OK)
            tell(c, "provider.simulated", s->conf->name, "",
                 "machines are simulated, nothing is launched in a cloud: "
                 "%.300s", first.s);
    } else {
        buf_str(errors, first.s);
    }
    buf_done(&first);
    return st == ST_OK ? site_join(c, s, errors) : st;
}

enum status sites_open(struct control *c, const struct config *conf,
                       struct site ***ret, uint32_t *n, struct buf *errors)
{
    struct site **v = calloc(conf->n_providers + 1, sizeof *v);
    enum status worst = ST_OK;

    if (!v)
        abort();
    *n = 0;
    for (uint32_t i = 0; i < conf->n_providers; i++) {
        struct site *s = calloc(1, sizeof *s);
        enum status st;

        if (!s)
            abort();
        s->conf = &conf->providers[i];
        st = site_open(c, conf, s, errors);
        if (st != ST_OK) {
            worst = st;
            free(s);
            continue;
        }
        v[(*n)++] = s;
    }
    if (worst != ST_OK) {
        sites_retire(c, v, *n);
        free(v);
        *ret = NULL;
        return worst;
    }
    *ret = v;
    return ST_OK;
}

/* Calls may still run on them: they are closed when the last came back. */
void sites_retire(struct control *c, struct site **v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (provider_calls_running(v[i]->provider) == 0)
            provider_close(v[i]->provider);
        else
            VEC_PUSH(&c->life, &c->retired, v[i]->provider);
        arena_done(&v[i]->offered);
        free(v[i]);
    }
}

static void retired_close(struct control *c)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < c->retired.n; i++) {
        struct provider *p = c->retired.v[i];
        if (provider_calls_running(p) == 0)
            provider_close(p);
        else
            c->retired.v[kept++] = p;
    }
    c->retired.n = kept;
}

struct site *site_find(struct control *c, const char *provider)
{
    for (uint32_t i = 0; i < c->sites.n; i++)
        if (strcmp(c->sites.v[i]->conf->name, provider) == 0)
            return c->sites.v[i];
    return NULL;
}

struct site *site_of(struct control *c, const struct provider *p)
{
    for (uint32_t i = 0; i < c->sites.n; i++)
        if (c->sites.v[i]->provider == p)
            return c->sites.v[i];
    return NULL;
}

static bool site_busy(const struct control *c, const struct site *s)
{
    for (uint32_t i = 0; i < c->fleet.n; i++) {
        const struct machine *m = c->fleet.v[i];
        if (m->state != STATE_READY && m->state != STATE_GONE &&
            strcmp(m->provider, s->conf->name) == 0)
            return true;
    }
    return false;
}

void sites_poll(struct control *c)
{
    int64_t now = clock_mono_ms();

    retired_close(c);
    for (uint32_t i = 0; i < c->sites.n; i++) {
        struct site *s = c->sites.v[i];
        int64_t due = s->list_due_ms;

        if (!s->listing && s->list_failures == 0 && site_busy(c, s) &&
            due > s->list_last_ms + LIST_BUSY_MS)
            due = s->list_due_ms = s->list_last_ms + LIST_BUSY_MS;
        if (!s->listing && now >= due) {
            s->listing = true;
            s->list_last_ms = now;
            call_send(c, call_new(s->provider, CALL_LIST, MAIL_CALL),
                      LIST_TIMEOUT_MS);
        } else if (!s->listing) {
            control_wake_at(c, due);
        }
        if (!s->offering && now >= s->offers_due_ms &&
            (provider_caps(s->provider) & DAVIT_CAP_OFFERS)) {
            s->offering = true;
            call_send(c, call_new(s->provider, CALL_OFFERS, MAIL_CALL),
                      LIST_TIMEOUT_MS);
        }
    }
}

static void site_problem(struct control *c, struct site *s, const struct err *e)
{
    bool was = *s->problem;

    if (!e) {
        s->problem[0] = '\0';
        if (was)
            tell(c, "provider.up", s->conf->name, "", "it answers again");
        return;
    }
    snprintf(s->problem, sizeof s->problem, "%s%s%.190s", e->code,
             *e->code ? ": " : "", e->text);
    if (!was)
        tell(c, "provider.down", s->conf->name, status_name(e->status), "%s",
             s->problem);
}

void site_hangs(struct control *c, struct site *s, bool list,
                const struct err *e)
{
    if (list)
        s->list_failures++;
    site_problem(c, s, e);
}

/* An id for a machine that is not from our ledger: the cloud's own, or, when
 * that is too long or taken, one with a number made of it. */
static void adopted_id(const struct control *c, const char *cloud_id,
                       char *ret, size_t n)
{
    uint32_t h = 2166136261u;
    size_t kept = strlen(cloud_id);

    if (kept < n && !fleet_by_id(&c->fleet, cloud_id)) {
        snprintf(ret, n, "%s", cloud_id);
        return;
    }
    for (const char *s = cloud_id; *s; s++)
        h = (h ^ (unsigned char)*s) * 16777619u;
    kept = kept < 30 ? kept : 30;
    while (kept > 0 && ((unsigned char)cloud_id[kept] & 0xc0) == 0x80)
        kept--;  /* not within a letter */
    do
        snprintf(ret, n, "%.*s-%08x", (int)kept, cloud_id, h++);
    while (fleet_by_id(&c->fleet, ret));
}

/* The record this machine of the cloud belongs to; adopted when there is
 * none, so that nothing billed is ever unowned. */
static struct machine *machine_of(struct control *c, const struct site *s,
                                  const struct call_machine *cm)
{
    struct machine *m = fleet_by_cloud(&c->fleet, s->conf->name, cm->id);
    char id[sizeof m->id];

    if (m)
        return m;
    for (uint32_t i = 0; *cm->request_id && i < c->fleet.n; i++) {
        m = c->fleet.v[i];
        if (!*m->cloud_id && strcmp(m->request_id, cm->request_id) == 0 &&
            strcmp(m->provider, s->conf->name) == 0 && m->state != STATE_GONE) {
            fleet_bind(&c->fleet, m, cm->id);
            return m;
        }
    }
    if (cm->phase == DAVIT_STOPPING)
        return NULL;
    adopted_id(c, cm->id, id, sizeof id);
    m = fleet_add(&c->fleet, id, STATE_STARTING, c->now_ms);
    snprintf(m->provider, sizeof m->provider, "%s", s->conf->name);
    snprintf(m->type, sizeof m->type, "%s", cm->type);
    snprintf(m->request_id, sizeof m->request_id, "%s", cm->request_id);
    fleet_bind(&c->fleet, m, cm->id);
    m->spot = cm->spot;
    m->adopted = true;
    m->price_micros_hour = -1;
    m->progress_ms = c->now_ms;
    const struct conf_type *t = type_find(c->config, cm->type);
    if (t)
        snprintf(m->config_hash, sizeof m->config_hash, "%s", t->hash);
    fleet_touch(&c->fleet, m);
    tell(c, "node.adopted", m->id, "", "%s: found in %s, not in the ledger",
         cm->type, s->conf->name);
    return m;
}

void machine_seen(struct control *c, struct site *s,
                  const struct call_machine *cm)
{
    struct machine *m = machine_of(c, s, cm);

    if (!m || m->state == STATE_GONE)
        return;
    m->seen_ms = c->now_ms;
    m->missed = 0;
    snprintf(m->host_group, sizeof m->host_group, "%s", cm->unit);
    if (strcmp(m->address, cm->address) != 0 ||
        (*cm->zone && strcmp(m->zone, cm->zone) != 0) ||
        (m->state < STATE_READY && machine_detail(m, cm->detail))) {
        if (*cm->zone)
            snprintf(m->zone, sizeof m->zone, "%s", cm->zone);
        snprintf(m->address, sizeof m->address, "%s", cm->address);
        machine_detail(m, cm->detail);
        m->progress_ms = c->now_ms;
        fleet_touch(&c->fleet, m);
    }
    switch (cm->phase) {
    case DAVIT_STARTING:
    case DAVIT_RUNNING:
        if (m->state == STATE_INTENDED || m->state == STATE_REQUESTED)
            machine_to(c, m, STATE_STARTING);
        /* With a head it is ready when it has joined; see source_nodes.c. */
        if (cm->phase == DAVIT_RUNNING && !c->n_sources &&
            m->state == STATE_STARTING)
            machine_to(c, m, STATE_READY);
        break;
    case DAVIT_STOPPING:
        if (m->state < STATE_STOPPING) {
            if (m->state != STATE_DRAINING)
                m->why = REASON_NONE;
            machine_to(c, m, STATE_STOPPING);
        }
        break;
    case DAVIT_FAILED:
        if (m->state < STATE_STOPPING) {
            struct err e = {.status = cm->failure == ST_OK ? ST_RETRY
                                                           : cm->failure};
            snprintf(e.text, sizeof e.text, "%s", cm->detail);
            /* One that had joined tells nothing about the next launch. */
            if (m->state < STATE_READY)
                backoffs_note(c->backoffs, machine_offer(m), &e, c->now_ms);
            machine_fail(c, m, e.status, cm->detail);
            machine_to(c, m, STATE_STOPPING);
        }
        break;
    }
}

static void machine_missed(struct control *c, struct machine *m,
                           int64_t list_started_ms)
{
    if (m->since_ms >= list_started_ms || m->created_ms >= list_started_ms)
        return;  /* the list is older than what we know */
    switch (m->state) {
    case STATE_STARTING:
    case STATE_READY:
    case STATE_DRAINING:
        if (++m->missed < MISSED_MAX)
            return;
        atomic_fetch_add(&c->metrics.lost, 1);
        tell(c, "node.lost", m->id, "", "%s: %s no longer has it", m->type,
             m->provider);
        machine_to(c, m, STATE_GONE);
        return;
    case STATE_STOPPING:
        machine_to(c, m, STATE_GONE);
        return;
    case STATE_INTENDED:   /* its launch will be answered or repeated */
    case STATE_REQUESTED:  /* accepted, appears later; see observe_deadlines */
    case STATE_GONE:
    case STATE_COUNT:
        return;
    }
}

void site_listed(struct control *c, struct call *call)
{
    struct site *s = site_of(c, call->provider);
    int64_t now = clock_mono_ms();
    int64_t started = c->now_ms - (now - call->started_mono_ms);

    s->listing = false;
    if (call->job.abandoned && call->status == ST_OK)
        call->status = err_set(&call->err, ST_RETRY,
                               "its list came too late to be true");
    if (call->status != ST_OK) {
        int64_t wait;
        s->list_failures++;
        wait = LIST_BUSY_MS << (s->list_failures < 5 ? s->list_failures : 5);
        if (call->err.retry_after_ms > wait)
            wait = call->err.retry_after_ms;
        s->list_due_ms = now + wait;
        site_problem(c, s, &call->err);
        return;
    }
    s->list_failures = 0;
    s->list_due_ms = now + LIST_QUIET_MS;
    s->listed_ms = c->now_ms;
    s->machines = call->machines.n;
    site_problem(c, s, NULL);
    if (s->machines >= MANY)
        c->trim_due_ms = 0;
    for (uint32_t i = 0; i < call->machines.n; i++)
        machine_seen(c, s, &call->machines.v[i]);
    for (uint32_t i = 0; i < c->fleet.n; i++) {
        struct machine *m = c->fleet.v[i];
        if (m->seen_ms != c->now_ms && strcmp(m->provider, s->conf->name) == 0)
            machine_missed(c, m, started);
    }
}

static struct told_offer *told_find(struct control *c, const char *provider,
                                    const struct call_offer *o)
{
    for (uint32_t i = 0; i < c->n_told; i++) {
        struct told_offer *t = &c->told[i];
        if (t->spot == o->spot && strcmp(t->provider, provider) == 0 &&
            strncmp(t->type, o->type, sizeof t->type - 1) == 0 &&
            strncmp(t->zone, o->zone, sizeof t->zone - 1) == 0)
            return t;
    }
    return NULL;
}

struct differing { struct control *c; bool tell; uint64_t hash; };

static void type_differs(void *arg, const char *type, const char *text)
{
    struct differing *d = arg;

    for (const char *p = text; *p; p++)
        d->hash = (d->hash ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
    if (d->tell)
        tell(d->c, "type.differs", type, "", "%s", text);
}

/* Once, and again when it is another. */
static void site_compare(struct control *c, struct site *s, struct call *call)
{
    struct differing d = {c, false, 1};

    for (int i = 0; i < 2; i++) {
        d.tell = i == 1;
        d.hash = 1;
        offers_check(c->config, s->conf->name, call->offers.v, call->offers.n,
                     &call->arena, type_differs, &d);
        if (s->differs == d.hash)
            return;
    }
    s->differs = d.hash;
}

void site_offered(struct control *c, struct call *call)
{
    struct site *s = site_of(c, call->provider);
    uint32_t kept = 0;

    s->offering = false;
    s->offers_due_ms = clock_mono_ms() + (call->status == ST_OK
                                              ? OFFERS_MS : OFFERS_MS / 10);
    if (call->status != ST_OK)
        return;
    for (uint32_t i = 0; i < c->n_told; i++)
        if (strcmp(c->told[i].provider, s->conf->name) != 0)
            c->told[kept++] = c->told[i];
    c->n_told = kept;
    arena_reset(&s->offered);
    site_compare(c, s, call);
    for (uint32_t i = 0; i < call->offers.n; i++) {
        const struct call_offer *o = &call->offers.v[i];
        struct told_offer *t = told_find(c, s->conf->name, o);

        if (t) {  /* told twice: the later one holds */
            t->available = o->available;
            t->price_micros_hour = o->price_micros_hour;
            continue;
        }
        if (c->n_told == c->cap_told) {
            c->cap_told = c->cap_told ? c->cap_told * 2 : 32;
            c->told = realloc(c->told, c->cap_told * sizeof *c->told);
            if (!c->told)
                abort();
        }
        t = &c->told[c->n_told++];
        *t = (struct told_offer){.spot = o->spot, .available = o->available,
                                 .price_micros_hour = o->price_micros_hour};
        snprintf(t->provider, sizeof t->provider, "%s", s->conf->name);
        snprintf(t->type, sizeof t->type, "%s", o->type);
        snprintf(t->zone, sizeof t->zone, "%s", o->zone);
        t->taints = offer_more_taints(&type_find(c->config, o->type)->fact,
                                      o->taints, &s->offered);
    }
}
