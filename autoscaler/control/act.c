/*
 * act.c - see act.h.
 */
#include "act.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "ours.h"
#include "rare.h"
#include "report/unhelped.h"
#include "settle.h"
#include "type_names.h"

enum {
    PREVIOUS_COPIED = 2048, /* a ConfigMap has 1 MiB for machines */
    MARK_LENGTH = 12,       /* of a request id, before what chance made */
};

/* ---- launches */

/* A plan that is being carried out, and the launches of one offer. */
struct acting {
    struct act *a;
    const struct taken *taken;
    const struct problem *now;
    const struct plan *plan;
    bool waits; /* those that are not final are left out */
    bool *vain; /* per launch: see unhelped.h */
    uint32_t offer, at, given;
    struct placed { /* what was placed on who was looked at last: the next is
                     * often equal to it */
        const struct plan_placement *v; /* NULL: nobody was */
        uint32_t n;
        uint64_t hash;
        bool written;
        char *text; /* NULL: nothing */
    } placed;
};

/* What an offer's launches come to. */
struct offer_sum {
    uint32_t n;      /* machines */
    enum reason why; /* of the first */
    uint32_t demand, launch;
};

/* A request id whose machines' ids are free as well. */
static void ids_make(const struct acting *d, const char *provider,
                     const char *type, char *request, size_t n)
{
    const struct pb_offer *o = &d->now->offers[d->offer];
    const struct provider_state *p = provider_find(d->a->providers, provider);
    char first[48];

    if (p && (provider_caps(p->provider) & DAVIT_CAP_JOIN))
        ours_join_key(d->a->ledger);
    do {
        const char *again = traffic_request_id(
            d->a->providers->traffic,
            (struct offer_key){provider, type, d->now->str[o->zone], o->spot});

        ours_request_id(d->a->ledger, request);
        if (again && strlen(again) < n && strlen(again) > MARK_LENGTH)
            snprintf(request, n, "%s", again); /* a recording, replayed */
        snprintf(first, sizeof first, "%.26s-%.8s-0", type,
                 request + MARK_LENGTH);
    } while (fleet_by_id(&d->a->ledger->fleet, first));
}

static uint32_t launch_count(const struct acting *d, uint32_t i)
{
    const struct plan_launch *l = &d->plan->launches[i];

    return (d->waits && !l->final) || d->vain[i] ? 0 : l->count;
}

/* The launch that the offer's next machine is of. */
static const struct plan_launch *launch_next(struct acting *d)
{
    for (; d->at < d->plan->n_launches; d->at++, d->given = 0) {
        const struct plan_launch *l = &d->plan->launches[d->at];

        if (l->offer == d->offer && d->given < launch_count(d, d->at)) {
            d->given++;
            return l;
        }
    }
    return NULL;
}

static void placed_done(struct acting *d)
{
    free(d->placed.text);
    d->placed = (struct placed){0};
}

static struct placed *placed_see(struct acting *d, uint32_t first, uint32_t n)
{
    const struct plan_placement *v = &d->plan->placements[first];
    struct placed *x = &d->placed;

    if (x->v && previous_same(x->v, x->n, v, n))
        return x;
    placed_done(d);
    *x = (struct placed){.v = v, .n = n};
    x->hash = previous_hash(d->now, d->plan, first, n);
    return x;
}

static const char *placed_text(struct acting *d, uint32_t first, uint32_t n)
{
    struct placed *x = placed_see(d, first, n);

    if (!x->written) {
        struct arena scratch = {0};
        struct snap_placements h = previous_placed(d->now, d->plan, first, n,
                                                   &scratch);

        x->text = previous_text(&h);
        x->written = true;
        arena_done(&scratch);
    }
    if (x->text && ((d->a->ledger->ha && strlen(x->text) > PREVIOUS_COPIED) ||
                    RARE(PREVIOUS_LONG)))
        return ""; /* it only helps the next leader's first plan */
    return x->text ? x->text : "";
}

/* What it is for, should it not help. */
static void bought_for(const struct acting *d, const struct plan_launch *l,
                       struct machine *m)
{
    size_t most = sizeof m->bought_for / sizeof *m->bought_for;

    for (uint32_t i = 0; l && i < l->n_placements && i < most; i++) {
        const struct plan_placement *q =
            &d->plan->placements[l->first_placement + i];
        const struct pb_bundle *b = &d->now->bundles[q->bundle];

        m->bought_for[i] =
            d->now->shapes[d->now->alts[b->first_alt + q->alt].shape].plain;
    }
}

static void because_set(const struct acting *d, const struct plan_launch *l,
                        struct machine *m)
{
    char *text = displacing_because(d->a->displacing, d->now, d->plan, l);

    if (text)
        MACHINE_SET_LONG(m, because, text);
    free(text);
}

static void machine_intend(struct acting *d, const char *request, uint32_t i,
                           uint32_t count, enum reason why)
{
    const struct problem *now = d->now;
    const struct pb_offer *o = &now->offers[d->offer];
    const char *type = now->str[now->types[o->type].name];
    const struct conf_type *conf = type_find(d->a->conf->now, type);
    const struct plan_launch *l = launch_next(d);
    struct fleet *fleet = &d->a->ledger->fleet;
    struct machine *m;
    char id[48];

    snprintf(id, sizeof id, "%.26s-%.8s-%u", type, request + MARK_LENGTH, i);
    m = fleet_add(fleet, id, STATE_INTENDED, d->a->env->now_ms);
    MACHINE_SET(m, request_id, request);
    MACHINE_SET(m, provider, now->str[now->types[o->type].provider]);
    MACHINE_SET(m, type, type);
    MACHINE_SET(m, zone, now->str[o->zone]);
    MACHINE_SET(m, config_hash, conf ? conf->hash : "");
    m->spot = o->spot;
    m->why = why;
    m->launch_count = count;
    type_name_keep(d->a->ledger, m, conf, pb_offer_bill(o));
    m->price_micros_hour = o->price_estimated ? -1 : pb_offer_bill(o);
    m->agreed_micros_hour = m->price_micros_hour;
    m->needed_ms = d->a->env->now_ms;
    m->needed = true;
    if (l) {
        MACHINE_SET_LONG(m, previous,
                         placed_text(d, l->first_placement, l->n_placements));
        because_set(d, l, m);
    }
    bought_for(d, l, m);
    fleet_touch(fleet, m);
}

static void launch_tell(const struct acting *d, const char *type,
                        const struct offer_sum *sum, const char *for_whom)
{
    struct env *env = d->a->env;
    const struct pb_offer *o = &d->now->offers[d->offer];
    const char *provider = d->now->str[d->now->types[o->type].provider];
    const char *zone = d->now->str[o->zone];
    char would[128];

    if (env->shadow)
        emit(env, "would.launch", type, reason_code(sum->why),
             "%u from %s%s%s for %s; before it %s", sum->n, provider,
             *zone ? " in " : "", zone, for_whom,
             shadow_text(env->shadow, would, sizeof would));
    else
        emit(env, "launch", type, reason_code(sum->why),
             "%u from %s%s%s for %s", sum->n, provider, *zone ? " in " : "",
             zone, for_whom);
    if (env->shadow)
        shadow_counted(env->shadow, sum->n, 0);
}

/* How many of so many are one launch: as many as the plug-in takes, units whole. */
static uint32_t launch_share(const struct acting *d, uint32_t left)
{
    const struct pb_type *t = &d->now->types[d->now->offers[d->offer].type];
    const struct provider_state *p = provider_find(d->a->providers,
                                                   d->now->str[t->provider]);
    uint32_t most = p ? provider_launch_most(p->provider) : left;

    if (most > t->hosts && t->hosts > 1)
        most -= most % t->hosts;
    else if (t->hosts > 1)
        most = t->hosts;
    return left < most ? left : most;
}

/* The machines of the offer, as one launch or as many as its plug-in needs. */
static void intend(struct acting *d, uint32_t offer,
                   const struct offer_sum *sum)
{
    const struct problem *now = d->now;
    const struct pb_offer *o = &now->offers[offer];
    const char *type = now->str[now->types[o->type].name];
    const char *provider = now->str[now->types[o->type].provider];
    const char *for_whom = sum->demand == NONE
                               ? "the minimum"
                               : now->str[now->demands[sum->demand].owner];
    char request[MARK_MAX], first[48] = "";

    d->offer = offer;
    d->at = d->given = 0;
    for (uint32_t left = sum->n, n; left > 0; left -= n) {
        n = launch_share(d, left);
        ids_make(d, provider, type, request, sizeof request);
        for (uint32_t i = 0; i < n; i++)
            machine_intend(d, request, i, n, sum->why);
        if (!*first)
            snprintf(first, sizeof first, "%.26s-%.8s-0", type,
                     request + MARK_LENGTH);
    }
    decision_launch(d->a->decisions, now, d->plan, sum->launch, sum->n, first);
    atomic_fetch_add(&d->a->env->metrics.launches, sum->n);
    figure_count(&d->a->env->metrics.figures, FIGURE_LAUNCHED, sum->n,
                 FIGURE_LABELS_(type, provider, o->spot ? "spot" : "on-demand",
                                reason_code(sum->why)));
    launch_tell(d, type, sum, for_whom);
}

static uint32_t launches_intend(struct acting *d)
{
    struct offer_sum *sum = MEM_ARRAY(struct offer_sum, d->now->n_offers);
    uint32_t all = 0;

    d->vain = MEM_ARRAY(bool, d->plan->n_launches);
    for (uint32_t i = 0; i < d->plan->n_launches; i++)
        d->vain[i] = launch_count(d, i) > 0 &&
                     unhelped_judge(d->a->env, d->a->ledger, d->a->sources,
                                    d->taken, d->now, d->plan,
                                    &d->plan->launches[i]);

    for (uint32_t i = 0; i < d->plan->n_launches; i++) {
        const struct plan_launch *l = &d->plan->launches[i];
        struct offer_sum *s = &sum[l->offer];
        uint32_t n = launch_count(d, i);

        if (s->n == 0) {
            s->why = l->why;
            s->demand = l->demand;
            s->launch = i;
        }
        s->n += n;
        all += n;
    }
    for (uint32_t o = 0; o < d->now->n_offers; o++)
        if (sum[o].n)
            intend(d, o, &sum[o]);
    free(d->vain);
    free(sum);
    return all;
}

/* ---- nodes */

/* Something counted on it, and nothing does any more.  Where that alone tells that
 * it is idle, it may be one of those that go for the budget: at once. */
static void unneeded(struct act *a, const struct problem *now)
{
    if (!now->work_unknown || now->limits.max_cost_micros_hour < 0)
        return;
    a->env->news = true;
    env_wake_mono(a->env, a->env->mono_ms);
}

/* Where nothing tells which machines have work, whose they are outlasts a restart: the
 * request that counts on one stays on it.  Until its launch has left nobody counts on
 * it: that does not wait while others come and go (send.c). */
static void placed_keep(struct acting *d, struct machine *m,
                        const struct plan_node *p)
{
    uint64_t hash;

    if (!d->now->work_unknown || p->action == NODE_END ||
        m->state == STATE_INTENDED)
        return;
    hash = placed_see(d, p->first_placement, p->n_placements)->hash;
    if (hash == m->placed_hash)
        return;
    m->placed_hash = hash;
    if (MACHINE_SET_LONG(m, previous,
                         placed_text(d, p->first_placement, p->n_placements)))
        fleet_touch(&d->a->ledger->fleet, m);
}

static void node_act(struct acting *d, struct machine *m,
                     const struct plan_node *p)
{
    struct act *a = d->a;
    bool needed = p->action != NODE_END &&
                  (p->why == REASON_KEEP_REQUEST || p->why == REASON_KEEP_MIN ||
                   p->why == REASON_KEEP_DEMAND ||
                   (p->why == REASON_KEEP_PRICE && p->demand != NONE));

    if (p->why == REASON_KEEP_DEMAND && p->demand == NONE)
        m->awaits_ms = a->env->now_ms;
    if (p->until_ms)
        env_wake_wall(a->env, p->until_ms + 1);
    if (p->why == REASON_KEEP_PRICE) {
        a->ends->risen++;
        m->end_held = END_HELD_PRICE;
    }
    if (p->action == NODE_END) {
        machine_end(a->ends, m, p->why);
    } else if (p->action == NODE_UNDRAIN) {
        machine_take_back(a->ledger, m);
    }
    if (m->needed || needed)
        m->needed_ms = a->env->now_ms;
    if (m->needed && !needed && p->action != NODE_END)
        unneeded(a, d->now);
    placed_keep(d, m, p);
    m->needed = needed;
}

uint32_t act(struct act *a, const struct taken *taken,
             const struct problem *now, const struct plan *plan, bool waits)
{
    struct acting d = {
        .a = a, .taken = taken, .now = now, .plan = plan, .waits = waits};
    uint32_t n;

    if (plan->n_launches || plan->n_ended)
        atomic_fetch_add(&a->env->metrics.plans, 1);
    ends_begin(a->ends, now, plan);
    ends_due(a->ends);
    for (uint32_t i = 0; i < now->n_nodes; i++) {
        struct machine *m = taken->machines[now->nodes[i].from];

        if (!m)
            continue; /* the head, or a node that is not ours */
        if (plan->nodes[i].action == NODE_END &&
            plan->nodes[i].why == REASON_END_IDLE && m->state == STATE_READY)
            unhelped_ending(a->env, a->ledger, taken, now, plan, i);
        node_act(&d, m, &plan->nodes[i]);
    }
    ends_finish(a->ends);
    decisions_ends(a->decisions, taken, now, a->env->now_ms);
    n = launches_intend(&d);
    placed_done(&d);
    return n;
}
