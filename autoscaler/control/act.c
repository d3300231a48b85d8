/*
 * act.c - the plan becomes intents in the ledger, the ledger becomes calls.
 *
 * act() writes down what is meant; act_send() commits the journal and then
 * sends whatever the ledger says is due.  A restart needs nothing else: the
 * same due calls are found again, with the same request ids.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "../base/log.h"
#include "../base/random.h"
#include "../wire/ray/ray.h"
#include "state.h"

enum { CALL_TIMEOUT_MS = 120000, TERMINATE_BATCH = 500,
       HOLDS_COPIED = 2048 };  /* a ConfigMap has room for 1 MiB of machines */

/* ---- the wish rule: tasks and gangs must be wanted by two views in a row,
 * since one view may count a task both as running and as pending (ray issue
 * 36926).  Requests and minimums are exact and need no second look. */

static struct wish *wish_find(struct control *c, const char *type)
{
    for (uint32_t i = 0; i < c->n_wishes; i++)
        if (strcmp(c->wishes[i].type, type) == 0)
            return &c->wishes[i];
    return NULL;
}

/* How many of the n that are wanted of this type now were wanted by an earlier
 * view too. */
static uint32_t wish_grant(struct control *c, const char *type, uint32_t n)
{
    const struct source *ray = source_of_kind(c, &ray_ops);
    struct wish *w = wish_find(c, type);
    uint32_t granted = 0;

    if (!w) {
        c->wishes = realloc(c->wishes, (c->n_wishes + 1) * sizeof *w);
        if (!c->wishes)
            abort();
        w = &c->wishes[c->n_wishes++];
        *w = (struct wish){.view = ray->views};
        snprintf(w->type, sizeof w->type, "%s", type);
    } else if (ray->views > w->view) {
        granted = n < w->count ? n : w->count;
        w->view = ray->views;
    }
    w->count = n - granted;
    w->tick = c->tick;
    if (w->count)
        sources_hurry(c);
    return granted;
}

static void wishes_forget(struct control *c)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < c->n_wishes; i++)
        if (c->wishes[i].tick == c->tick && c->wishes[i].count)
            c->wishes[kept++] = c->wishes[i];
    c->n_wishes = kept;
}

static bool needs_second_look(const struct control *c, enum reason why)
{
    return source_of_kind(c, &ray_ops) &&
           (why == REASON_FOR_TASK || why == REASON_FOR_GANG);
}

/* ---- launches */

static void random_id(char *out, size_t n)
{
    unsigned char r[10];
    size_t at = 0;

    random_bytes(r, sizeof r);
    at += (size_t)snprintf(out, n, "davit-");
    for (size_t i = 0; i < sizeof r; i++)
        at += (size_t)snprintf(out + at, n - at, "%02x", r[i]);
}

/* A request id whose machines' ids are free as well. */
static void ids_make(const struct control *c, const char *provider,
                     const char *type, const struct problem *now,
                     const struct pb_offer *o, char *request, size_t n)
{
    char first[48];

    do {
        const char *again = traffic_request_id(c->traffic, provider, type,
                                               now->str[o->zone], o->spot);

        random_id(request, n);
        if (again && strlen(again) < n && strlen(again) > 6)
            snprintf(request, n, "%s", again);  /* a recording, replayed */
        snprintf(first, sizeof first, "%.26s-%.8s-0", type, request + 6);
    } while (fleet_by_id(&c->fleet, first));
}

/* The launches of one offer, one machine after the other: first those that
 * need no second look. */
struct dealer {
    struct control *c;
    const struct problem *now;
    const struct plan *plan;
    bool waits;               /* those that are not final are left out */
    uint32_t offer, at, given;
    bool looked;
};

static uint32_t launch_count(const struct dealer *d, uint32_t i)
{
    const struct plan_launch *l = &d->plan->launches[i];

    return d->waits && !l->final ? 0 : l->count;
}

static const struct plan_launch *launch_next(struct dealer *d)
{
    for (;; d->at++, d->given = 0) {
        const struct plan_launch *l;

        if (d->at == d->plan->n_launches && !d->looked) {
            d->looked = true;
            d->at = 0;
        }
        if (d->at == d->plan->n_launches)
            return NULL;
        l = &d->plan->launches[d->at];
        if (l->offer == d->offer && d->given < launch_count(d, d->at) &&
            needs_second_look(d->c, l->why) == d->looked) {
            d->given++;
            return l;
        }
    }
}

static void intend(struct dealer *d, uint32_t count, enum reason why,
                   const char *for_whom)
{
    struct control *c = d->c;
    const struct problem *now = d->now;
    const struct pb_offer *o = &now->offers[d->offer];
    const char *type = now->str[now->types[o->type].name];
    const char *provider = now->str[now->types[o->type].provider];
    const struct conf_type *conf = type_find(c->config, type);
    char request[40], id[48];
    struct arena scratch = {0};

    ids_make(c, provider, type, now, o, request, sizeof request);
    for (uint32_t i = 0; i < count; i++) {
        const struct plan_launch *l = launch_next(d);
        struct snap_placements previous = {0};
        struct machine *m;

        if (l)
            previous = previous_placed(now, d->plan, l->first_placement,
                                 l->n_placements, &scratch);
        snprintf(id, sizeof id, "%.26s-%.8s-%u", type, request + 6, i);
        m = fleet_add(&c->fleet, id, STATE_INTENDED, c->now_ms);
        snprintf(m->request_id, sizeof m->request_id, "%s", request);
        snprintf(m->provider, sizeof m->provider, "%s", provider);
        snprintf(m->type, sizeof m->type, "%s", type);
        snprintf(m->zone, sizeof m->zone, "%s", now->str[o->zone]);
        snprintf(m->config_hash, sizeof m->config_hash, "%s",
                 conf ? conf->hash : "");
        m->spot = o->spot;
        m->why = why;
        m->launch_count = count;
        m->price_micros_hour = o->price_estimated ? -1 : o->price_micros_hour;
        m->progress_ms = c->now_ms;
        m->needed_ms = c->now_ms;
        m->previous = previous_text(&previous);
        if (c->opts.ha && m->previous && strlen(m->previous) > HOLDS_COPIED) {
            free(m->previous);   /* it only helps the next leader's first plan */
            m->previous = NULL;
        }
        fleet_touch(&c->fleet, m);
    }
    arena_done(&scratch);
    atomic_fetch_add(&c->metrics.launches, count);
    tell(c, "launch", type, reason_code(why), "%u from %s%s%s for %s", count,
         provider, *now->str[o->zone] ? " in " : "", now->str[o->zone],
         for_whom);
}

static void act_launches(struct control *c, const struct problem *now,
                         const struct plan *plan, bool waits)
{
    struct { uint32_t sure, looked; enum reason why; uint32_t demand; } *sum;
    struct dealer d = {.c = c, .now = now, .plan = plan, .waits = waits};
    uint32_t *granted;  /* per type: wishes are of types, not of zones */

    sum = calloc(now->n_offers + 1, sizeof *sum);
    granted = calloc(now->n_types + 1, sizeof *granted);
    if (!sum || !granted)
        abort();
    for (uint32_t i = 0; i < plan->n_launches; i++) {
        const struct plan_launch *l = &plan->launches[i];
        uint32_t n = launch_count(&d, i);

        if (sum[l->offer].why == REASON_NONE && n) {
            sum[l->offer].why = l->why;
            sum[l->offer].demand = l->demand;
        }
        if (needs_second_look(c, l->why)) {
            sum[l->offer].looked += n;
            granted[now->offers[l->offer].type] += n;
        } else {
            sum[l->offer].sure += n;
        }
    }
    for (uint32_t t = 0; t < now->n_types; t++)
        if (granted[t])
            granted[t] = wish_grant(c, now->str[now->types[t].name],
                                    granted[t]);
    for (uint32_t o = 0; o < now->n_offers; o++) {
        uint32_t *left = &granted[now->offers[o].type];
        uint32_t looked = sum[o].looked < *left ? sum[o].looked : *left;
        uint32_t n = sum[o].sure + looked;
        const char *whom = "the minimum";

        n -= n % now->types[now->offers[o].type].hosts;   /* whole units only */
        *left -= looked;
        if (!n)
            continue;
        if (sum[o].demand != NONE)
            whom = now->str[now->demands[sum[o].demand].owner];
        d.offer = o;
        d.at = d.given = 0;
        d.looked = false;
        intend(&d, n, sum[o].why, whom);
        if (!waits)
            think_launched(c);
    }
    wishes_forget(c);
    free(granted);
    free(sum);
}

/* ---- ends */

/* Its launch has not left yet, so it asks for one less.  One that has left must
 * be repeated as it was: to the provider, the request id stands for it. */
static void intent_dropped(struct control *c, struct machine *gone)
{
    for (uint32_t i = 0; !gone->sent && i < c->fleet.n; i++) {
        struct machine *m = c->fleet.v[i];

        if (strcmp(m->request_id, gone->request_id) != 0 || m == gone)
            continue;
        m->launch_count--;
        fleet_touch(&c->fleet, m);
    }
}

static void end_machine(struct control *c, struct machine *m, enum reason why)
{
    switch (m->state) {
    case STATE_INTENDED:
        if (m->busy)
            return;
        m->why = why;
        machine_to(c, m, STATE_GONE);
        intent_dropped(c, m);
        return;
    case STATE_REQUESTED:
    case STATE_STARTING:
        if (!*m->cloud_id)
            return;
        m->why = why;
        machine_to(c, m, STATE_STOPPING);
        break;
    case STATE_READY:
        m->why = why;
        if (c->n_sources && *m->ray_id) {
            m->drain_since_ms = c->now_ms;
            m->drain_accepted = false;
            machine_to(c, m, STATE_DRAINING);
            return;
        }
        machine_to(c, m, STATE_STOPPING);
        break;
    case STATE_DRAINING:
    case STATE_STOPPING:
    case STATE_GONE:
    case STATE_COUNT:
        return;
    }
    atomic_fetch_add(&c->metrics.ends, 1);
}

/* The hosts of a unit (a TPU slice) end together, or none of them does. */
static bool unit_goes(const struct control *c, const struct machine *m)
{
    for (uint32_t i = 0; *m->host_group && i < c->fleet.n; i++) {
        const struct machine *o = c->fleet.v[i];

        if (!o->doomed && o->state < STATE_DRAINING &&
            strcmp(o->host_group, m->host_group) == 0 &&
            strcmp(o->provider, m->provider) == 0)
            return false;
    }
    return true;
}

static void doomed_mark(struct control *c, const struct problem *now,
                        const struct plan *plan)
{
    for (uint32_t i = 0; i < c->fleet.n; i++)
        c->fleet.v[i]->doomed = false;
    for (uint32_t i = 0; i < now->n_nodes; i++) {
        struct machine *m = fleet_by_id(&c->fleet,
                                        now->str[now->nodes[i].id]);

        if (m)
            m->doomed = plan->nodes[i].action == NODE_END;
    }
}

static void act_nodes(struct control *c, const struct problem *now,
                      const struct plan *plan)
{
    doomed_mark(c, now, plan);
    for (uint32_t i = 0; i < now->n_nodes; i++) {
        const struct plan_node *p = &plan->nodes[i];
        struct machine *m = fleet_by_id(&c->fleet,
                                        now->str[now->nodes[i].id]);

        if (!m)
            continue;  /* the head, or a node that is not ours */
        if (p->until_ms)
            control_wake_at(c, clock_mono_ms() + p->until_ms - c->now_ms + 1);
        if (p->action == NODE_END && !unit_goes(c, m)) {
            continue;
        } else if (p->action == NODE_END) {
            end_machine(c, m, p->why);
        } else if (p->action == NODE_UNDRAIN) {
            if (m->state == STATE_DRAINING && !m->drain_accepted) {
                atomic_fetch_add(&c->metrics.undrains, 1);
                m->why = REASON_NONE;
                machine_to(c, m, STATE_READY);
            }
        } else if (p->why == REASON_KEEP_REQUEST || p->why == REASON_KEEP_MIN ||
                   p->why == REASON_KEEP_DEMAND) {
            m->needed_ms = c->now_ms;
        }
    }
}

void act(struct control *c, const struct problem *now, const struct plan *plan,
         bool waits)
{
    if (c->opts.dry_run)
        return;
    if (plan->n_launches || plan->n_ended)
        atomic_fetch_add(&c->metrics.plans, 1);
    act_nodes(c, now, plan);
    act_launches(c, now, plan, waits);
}

/* ---- calls */

bool act_waits(const struct control *c, const char *kind, const char *id)
{
    return c->opts.ha && mirror_waits(c->journal, kind, id);
}

static bool due(const struct control *c, const struct machine *m)
{
    return !m->busy && m->retry_ms <= c->now_ms &&
           !act_waits(c, "machine", m->id);
}

/* A launch leaves when all of its machines are written down. */
static bool launch_waits(const struct control *c, const char *request_id)
{
    for (uint32_t i = 0; c->opts.ha && i < c->fleet.n; i++)
        if (strcmp(c->fleet.v[i]->request_id, request_id) == 0 &&
            act_waits(c, "machine", c->fleet.v[i]->id))
            return true;
    return false;
}

static void send_launch(struct control *c, struct machine *first)
{
    struct site *site = site_find(c, first->provider);
    const struct backoff *wait;
    struct call *call;

    /* Truth first: its machines may be there already, or no longer needed. */
    if (!site || !site->listed_ms || !calls_room(c, site->provider) ||
        launch_waits(c, first->request_id))
        return;
    wait = backoffs_find(c->backoffs, machine_offer(first), c->now_ms);
    if (wait && wait->until_ms > c->now_ms && wait->until_ms != INT64_MAX) {
        control_wake_at(c, clock_mono_ms() + wait->until_ms - c->now_ms);
        return;
    }
    call = call_new(site->provider, CALL_LAUNCH, MAIL_CALL);
    call->type = arena_strdup(&call->arena, first->type);
    call->zone = arena_strdup(&call->arena, first->zone);
    call->request_id = arena_strdup(&call->arena, first->request_id);
    call->count = first->launch_count;
    call->spot = first->spot;
    for (uint32_t i = 0; i < c->fleet.n; i++) {
        struct machine *m = c->fleet.v[i];

        if (strcmp(m->request_id, first->request_id) != 0)
            continue;
        m->busy = m->sent = true;
        if (m->state == STATE_INTENDED)
            m->progress_ms = c->now_ms;
    }
    call_send(c, call, CALL_TIMEOUT_MS);
}

static void send_terminates(struct control *c, struct site *site)
{
    struct call *call = NULL;
    const char **ids = NULL;

    for (uint32_t i = 0; i < c->fleet.n; i++) {
        struct machine *m = c->fleet.v[i];

        if (m->state != STATE_STOPPING || !*m->cloud_id || !due(c, m) ||
            strcmp(m->provider, site->conf->name) != 0)
            continue;
        if (!call && !calls_room(c, site->provider))
            return;
        if (!call) {
            call = call_new(site->provider, CALL_TERMINATE, MAIL_CALL);
            ids = ARENA_ARRAY(&call->arena, const char *, TERMINATE_BATCH);
            call->ids = ids;
        }
        m->busy = true;
        ids[call->n_ids++] = arena_strdup(&call->arena, m->cloud_id);
        if (call->n_ids == TERMINATE_BATCH) {
            call_send(c, call, CALL_TIMEOUT_MS);
            call = NULL;
        }
    }
    if (call)
        call_send(c, call, CALL_TIMEOUT_MS);
}

/* Writes the batch of this tick; all of memory when an earlier one failed. */
static bool commit(struct control *c)
{
    struct err err;

    if (c->journal_stale) {
        /* What ended meanwhile must not come back with the next start. */
        journal_forget(c->journal, NULL);
        for (uint32_t i = 0; i < c->fleet.n; i++)
            journal_put_machine(c->journal, c->fleet.v[i], NULL);
        requests_write_all(c);
    }
    if (journal_commit(c->journal, &err) == ST_OK) {
        if (!c->journal_ok)
            log_info("the journal can be written again");
        c->journal_ok = true;
        c->journal_stale = false;
        return true;
    }
    if (c->journal_ok)
        log_error("%s: %s; nothing is launched or ended until it can be written",
                  c->config->state, err.text);
    atomic_fetch_add(&c->metrics.journal_failures, 1);
    c->journal_ok = false;
    c->journal_stale = true;
    control_wake_at(c, clock_mono_ms() + 1000);
    return false;
}

/* Ray ends an accepted node itself; Kubernetes is asked until it is empty. */
static bool drains_by_steps(struct control *c)
{
    const struct source *h = source_of_machines(c);

    return h && h->ops->undrain;
}

/* Must it go though there is work on it?  An idle one that got work meanwhile
 * need not, unless running work is to be moved.  Kubernetes moves work anyway;
 * there it means to wait for what forbids that, which a saving is not worth. */
static bool drain_hard(struct control *c, const struct machine *m)
{
    if (m->why == REASON_END_CONSOLIDATE)
        return c->config->limits.consolidate == CONSOLIDATE_ON &&
               !drains_by_steps(c);
    return m->why != REASON_END_IDLE;
}

void act_send(struct control *c)
{
    if (!commit(c) || c->opts.dry_run)
        return;
    if (c->opts.ha)
        control_wake_at(c, ha_push(c->opts.ha, c->journal));
    for (uint32_t i = 0; i < c->fleet.n; i++) {
        struct machine *m = c->fleet.v[i];

        if (m->retry_ms > c->now_ms && m->state != STATE_READY)
            control_wake_at(c, clock_mono_ms() + m->retry_ms - c->now_ms + 1);
        if (!due(c, m))
            continue;
        if (m->state == STATE_INTENDED)
            send_launch(c, m);
        else if (m->state == STATE_DRAINING &&
                 (!m->drain_accepted || drains_by_steps(c)))
            source_drain(c, m, drain_hard(c, m));
    }
    sources_mend(c);
    for (uint32_t i = 0; i < c->sites.n; i++)
        send_terminates(c, c->sites.v[i]);
}
