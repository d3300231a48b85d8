/*
 * take.c - fleet, configuration, requests and the head's view into facts.
 *
 * Everything is copied into the tick's arena or lives as long as it: the page
 * that keeps these facts may outlive the generation they came from.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "../wire/pods/pods.h"
#include "take.h"

const struct conf_type *type_find(const struct config *conf, const char *name)
{
    for (uint32_t i = 0; i < conf->n_types; i++)
        if (strcmp(conf->types[i].fact.name, name) == 0)
            return &conf->types[i];
    return NULL;
}

/* ---- copies */

struct qtys qtys_copy(struct arena *a, struct qtys q)
{
    struct qty *v = ARENA_ARRAY(a, struct qty, q.n);

    for (uint32_t i = 0; i < q.n; i++)
        v[i] = (struct qty){arena_strdup(a, q.v[i].name), q.v[i].amount};
    return (struct qtys){v, q.n};
}

struct pairs pairs_copy(struct arena *a, struct pairs p)
{
    struct pair *v = ARENA_ARRAY(a, struct pair, p.n);

    for (uint32_t i = 0; i < p.n; i++)
        v[i] = (struct pair){arena_strdup(a, p.v[i].key),
                             arena_strdup(a, p.v[i].value)};
    return (struct pairs){v, p.n};
}

static struct terms terms_copy(struct arena *a, struct terms t)
{
    struct term *v = ARENA_ARRAY(a, struct term, t.n);

    for (uint32_t i = 0; i < t.n; i++) {
        const char **values = ARENA_ARRAY(a, const char *, t.v[i].values.n);
        for (uint32_t k = 0; k < t.v[i].values.n; k++)
            values[k] = arena_strdup(a, t.v[i].values.v[k]);
        v[i] = (struct term){arena_strdup(a, t.v[i].key), t.v[i].op,
                             {values, t.v[i].values.n}};
    }
    return (struct terms){v, t.n};
}

struct taints taints_copy(struct arena *a, struct taints t)
{
    struct taint *v = ARENA_ARRAY(a, struct taint, t.n);

    for (uint32_t i = 0; i < t.n; i++)
        v[i] = (struct taint){arena_strdup(a, t.v[i].key),
                              arena_strdup(a, t.v[i].value), t.v[i].effect};
    return (struct taints){v, t.n};
}

static struct tolerations tolerations_copy(struct arena *a,
                                           struct tolerations t)
{
    struct toleration *v = ARENA_ARRAY(a, struct toleration, t.n);

    for (uint32_t i = 0; i < t.n; i++)
        v[i] = (struct toleration){arena_strdup(a, t.v[i].key), t.v[i].op,
                                   arena_strdup(a, t.v[i].value),
                                   t.v[i].effect};
    return (struct tolerations){v, t.n};
}

static struct names names_copy(struct arena *a, struct names n)
{
    const char **v = ARENA_ARRAY(a, const char *, n.n);

    for (uint32_t i = 0; i < n.n; i++)
        v[i] = arena_strdup(a, n.v[i]);
    return (struct names){v, n.n};
}

static struct snap_bundle bundle_copy(struct arena *a,
                                      const struct snap_bundle *b)
{
    struct snap_alt *alts = ARENA_ARRAY(a, struct snap_alt, b->n_alts);

    for (uint32_t k = 0; k < b->n_alts; k++)
        alts[k] = (struct snap_alt){
            .resources = qtys_copy(a, b->alts[k].resources),
            .selector = terms_copy(a, b->alts[k].selector),
            .tolerations = tolerations_copy(a, b->alts[k].tolerations),
            .after_ms = b->alts[k].after_ms};
    return (struct snap_bundle){alts, b->n_alts, b->count};
}

static struct snap_demand demand_copy(struct arena *a,
                                      const struct snap_demand *d)
{
    struct snap_bundle *v = ARENA_ARRAY(a, struct snap_bundle, d->n_bundles);
    struct snap_demand r = *d;

    for (uint32_t i = 0; i < d->n_bundles; i++)
        v[i] = bundle_copy(a, &d->bundles[i]);
    r.owner = arena_strdup(a, d->owner);
    r.id = arena_strdup(a, d->id);
    r.queue = arena_strdup(a, d->queue ? d->queue : "");
    r.bundles = v;
    return r;
}

/* ---- types and their offers */

/* Launches of this offer that the cloud has not answered yet use up its room. */
static uint32_t under_way(const struct control *c, const char *type,
                          const struct snap_offer *o)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < c->fleet.n; i++) {
        const struct machine *m = c->fleet.v[i];
        n += m->state <= STATE_REQUESTED && m->spot == o->spot &&
             strcmp(m->type, type) == 0 && strcmp(m->zone, o->zone) == 0;
    }
    return n;
}

static void offer_backoff(struct control *c, const char *provider,
                       const char *type, struct snap_offer *o,
                       enum reason *unavailable)
{
    struct offer_key key = {provider, type, o->zone, o->spot};
    const struct backoff *r = backoffs_find(c->backoffs, key, c->now_ms);

    o->failed_ms = backoffs_failed_ms(c->backoffs, key, c->now_ms);
    if (!r)
        return;
    if (r->until_ms == INT64_MAX && !*r->of.type)
        *unavailable = REASON_PROVIDER_DOWN;
    else if (r->until_ms == INT64_MAX)
        *unavailable = REASON_TYPE_DISABLED;
    else if (r->until_ms <= c->now_ms) {
        /* quota: smaller launches may go at once */
        uint32_t used = under_way(c, type, o);
        o->room = r->room > used ? r->room - used : 0;
    }
    else {
        o->backoff_until_ms = r->until_ms;
        o->backoff_for = r->why;
        control_wake_at(c, clock_mono_ms() + r->until_ms - c->now_ms + 1);
    }
}

/* What a node of the type leaves to pods, learned from a few of its kind. */
static void type_fit(struct control *c, struct arena *a, struct snap_type *t)
{
    enum { LIKE = 4 };
    const struct source_node *like[LIKE];
    const struct source *h = source_of_kind(c, &kube_source_ops);
    uint32_t n = 0;

    if (!h || !h->view)
        return;
    for (uint32_t i = 0; i < c->fleet.n && n < LIKE; i++) {
        const struct machine *m = c->fleet.v[i];
        const struct source_node *x =
            m->state == STATE_READY && strcmp(m->type, t->name) == 0
                ? source_node_of(c, m) : NULL;
        if (x && !x->settling && x->status != SOURCE_UNREADY)
            like[n++] = x;
    }
    pods_type_fit(h->view, like, n, a, t);
}

static void type_take(struct control *c, struct arena *a,
                      const struct conf_type *t, struct snap_type *ret)
{
    VEC(struct snap_offer) offers = {0};
    const struct snap_type *f = &t->fact;
    const struct site *site = site_find(c, f->provider);

    *ret = *f;
    ret->name = arena_strdup(a, f->name);
    ret->provider = arena_strdup(a, f->provider);
    ret->machine = arena_strdup(a, f->machine);
    ret->pool = arena_strdup(a, f->pool);
    ret->resources = qtys_copy(a, f->resources);
    ret->labels = pairs_copy(a, f->labels);
    ret->taints = taints_copy(a, f->taints);
    if (ret->boot_ms < 0)
        ret->boot_ms = journal_boot(c->journal, f->name);
    /* Truth first: nothing is bought where we have not seen what there is. */
    if (!site || !site->listed_ms || calls_stuck(c, site->provider))
        ret->unavailable = REASON_PROVIDER_DOWN;
    for (uint32_t i = 0; i < f->n_offers; i++) {
        struct snap_offer o = f->offers[i];
        bool told = false;

        for (uint32_t k = 0; k < c->n_told; k++) {
            const struct told_offer *x = &c->told[k];
            struct snap_offer p = o;
            if (strcmp(x->type, f->name) != 0 || x->spot != o.spot ||
                strcmp(x->provider, f->provider) != 0 ||
                (*o.zone && strcmp(x->zone, o.zone) != 0))
                continue;
            p.zone = arena_strdup(a, x->zone);
            p.idle_timeout_ms = config_idle_ms(c->config, f, p.zone, p.spot);
            if (p.price_micros_hour < 0)
                p.price_micros_hour = x->price_micros_hour;
            if (!x->available)
                p.room = 0;
            /* Only Kubernetes goes by them. */
            if (source_of_kind(c, &kube_source_ops))
                p.taints = taints_copy(a, x->taints);
            offer_backoff(c, f->provider, f->name, &p, &ret->unavailable);
            VEC_PUSH(a, &offers, p);
            told = true;
        }
        if (told)
            continue;
        o.zone = arena_strdup(a, o.zone);
        offer_backoff(c, f->provider, f->name, &o, &ret->unavailable);
        VEC_PUSH(a, &offers, o);
    }
    ret->offers = offers.v;
    ret->n_offers = offers.n;
    type_fit(c, a, ret);
}

/* ---- demand */

/* What a bundle of the head's names by Ray's label selector, or "". */
static const char *queue_named(const struct snap_bundle *b)
{
    for (uint32_t k = 0; k < b->n_alts; k++)
        for (uint32_t i = 0; i < b->alts[k].selector.n; i++) {
            const struct term *t = &b->alts[k].selector.v[i];
            if (t->op == TERM_IN && t->values.n == 1 &&
                strcmp(t->key, QUEUE_LABEL) == 0)
                return t->values.v[0];
        }
    return "";
}

struct demand_vec { VEC(struct snap_demand) all; };

/* The head's demand.  Tasks of several queues come in one list, which becomes
 * one demand for each; a gang has the queue that any of its bundles names. */
static void source_demand_take(struct arena *a, const struct snap_demand *from,
                             struct demand_vec *to)
{
    struct snap_demand d = demand_copy(a, from);
    struct snap_bundle *v = (struct snap_bundle *)d.bundles;  /* ours */
    struct snap_bundle *other;
    uint32_t left = d.n_bundles;

    if (from->source != SOURCE_TASK || from->strategy != STRATEGY_NONE) {
        for (uint32_t i = 0; i < d.n_bundles && !*d.queue; i++)
            d.queue = queue_named(&v[i]);
        VEC_PUSH(a, &to->all, d);
        return;
    }
    other = ARENA_ARRAY(a, struct snap_bundle, left);
    while (left > 0) {
        const char *queue = queue_named(&v[0]);
        uint32_t kept = 0, n_other = 0;

        for (uint32_t i = 0; i < left; i++)
            if (strcmp(queue_named(&v[i]), queue) == 0)
                v[kept++] = v[i];
            else
                other[n_other++] = v[i];
        d.queue = queue;
        d.bundles = v;
        d.n_bundles = kept;
        VEC_PUSH(a, &to->all, d);
        v += kept;   /* behind these, as long as they were together */
        if (n_other)
            memcpy(v, other, n_other * sizeof *v);
        left = n_other;
    }
}

static void queues_take(struct control *c, struct arena *a, struct snapshot *f)
{
    struct snap_queue *v = ARENA_ARRAY(a, struct snap_queue,
                                       c->config->n_queues);

    for (uint32_t i = 0; i < c->config->n_queues; i++) {
        v[i] = c->config->queues[i];
        v[i].name = arena_strdup(a, v[i].name);
        v[i].types = names_copy(a, v[i].types);
        v[i].owners = names_copy(a, v[i].owners);
    }
    f->queues = v;
    f->n_queues = c->config->n_queues;
}

/* See requests.c: both together stay below the snapshot's ceiling. */
enum { BUNDLES_OF_SOURCE = 5000000 };

static void source_demands_take(struct control *c, struct arena *a,
                              const struct source *h, struct demand_vec *to,
                              uint64_t *bundles)
{
    const struct source_view *view = h->view;
    bool fresh = source_is_fresh(c, h);

    for (uint32_t i = 0; view && i < view->n_demands; i++) {
        for (uint32_t b = 0; b < view->demands[i].n_bundles; b++)
            *bundles += view->demands[i].bundles[b].count;
        if (*bundles >= BUNDLES_OF_SOURCE)
            break;  /* the rest is planned for when this is served */
        /* Old news of pending work buys nothing; a request stays in force. */
        if (!fresh && view->demands[i].source != SOURCE_REQUEST)
            continue;
        source_demand_take(a, &view->demands[i], to);
    }
}

static void demands_take(struct control *c, struct arena *a, struct snapshot *f)
{
    struct demand_vec v = {{0}};
    struct snap_demand spare = {0};
    uint64_t bundles = 0;

    for (uint32_t i = 0; i < c->n_requests; i++)
        if (c->requests[i]->demand.n_bundles) {
            struct snap_demand d = demand_copy(a, &c->requests[i]->demand);
            VEC_PUSH(a, &v.all, d);
        }
    for (uint32_t h = 0; h < c->n_sources; h++)
        source_demands_take(c, a, &c->sources[h], &v, &bundles);
    if (config_spare(c->config, &spare)) {
        spare = demand_copy(a, &spare);
        VEC_PUSH(a, &v.all, spare);
    }
    f->demands = v.all.v;
    f->n_demands = v.all.n;
}

struct snapshot *snapshot_take(struct control *c, struct arena *a)
{
    struct snapshot *f = ARENA_NEW(a, struct snapshot);
    struct snap_type *types = ARENA_ARRAY(a, struct snap_type,
                                          c->config->n_types);

    f->cluster = arena_strdup(a, c->config->cluster);
    f->now_ms = c->now_ms;
    f->sources_fresh = sources_fresh(c);
    f->limits = c->config->limits;
    for (uint32_t i = 0; i < c->config->n_types; i++)
        type_take(c, a, &c->config->types[i], &types[i]);
    f->types = types;
    f->n_types = c->config->n_types;
    queues_take(c, a, f);
    nodes_take(c, a, f);
    demands_take(c, a, f);
    think_take(c, a, f);
    return f;
}
