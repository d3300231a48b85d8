/*
 * take.c - fleet, configuration, requests and the head's view into facts.
 *
 * Everything is copied into the tick's arena or lives as long as it: the page
 * that keeps these facts may outlive the generation they came from.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "state.h"

const struct conf_type *type_find(const struct config *conf, const char *name)
{
    for (uint32_t i = 0; i < conf->n_types; i++)
        if (strcmp(conf->types[i].fact.name, name) == 0)
            return &conf->types[i];
    return NULL;
}

/* ---- copies */

static struct qtys qtys_copy(struct arena *a, struct qtys q)
{
    struct qty *v = ARENA_ARRAY(a, struct qty, q.n);

    for (uint32_t i = 0; i < q.n; i++)
        v[i] = (struct qty){arena_strdup(a, q.v[i].name), q.v[i].amount};
    return (struct qtys){v, q.n};
}

/* Does the head's demand look at this label? */
static bool label_asked(const struct ray_view *view, const char *key)
{
    for (uint32_t d = 0; d < view->n_demands; d++)
        for (uint32_t b = 0; b < view->demands[d].n_bundles; b++) {
            const struct fact_bundle *x = &view->demands[d].bundles[b];
            for (uint32_t k = 0; k < x->n_alts; k++)
                for (uint32_t t = 0; t < x->alts[k].selector.n; t++)
                    if (strcmp(x->alts[k].selector.v[t].key, key) == 0)
                        return true;
        }
    return false;
}

/* A Ray node's labels.  ray.io/node-id is another on each of them and would
 * make every node a class of its own; it counts only when somebody asks. */
static struct pairs labels_copy(struct arena *a, struct pairs p, bool node_ids)
{
    struct pair *v = ARENA_ARRAY(a, struct pair, p.n);
    uint32_t n = 0;

    for (uint32_t i = 0; i < p.n; i++)
        if (node_ids || strcmp(p.v[i].key, "ray.io/node-id") != 0)
            v[n++] = (struct pair){arena_strdup(a, p.v[i].key),
                                   arena_strdup(a, p.v[i].value)};
    return (struct pairs){v, n};
}

static struct pairs pairs_copy(struct arena *a, struct pairs p)
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

static struct taints taints_copy(struct arena *a, struct taints t)
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

static struct fact_bundle bundle_copy(struct arena *a,
                                      const struct fact_bundle *b)
{
    struct fact_alt *alts = ARENA_ARRAY(a, struct fact_alt, b->n_alts);

    for (uint32_t k = 0; k < b->n_alts; k++)
        alts[k] = (struct fact_alt){
            .resources = qtys_copy(a, b->alts[k].resources),
            .selector = terms_copy(a, b->alts[k].selector),
            .tolerations = tolerations_copy(a, b->alts[k].tolerations),
            .after_ms = b->alts[k].after_ms};
    return (struct fact_bundle){alts, b->n_alts, b->count};
}

static struct fact_demand demand_copy(struct arena *a,
                                      const struct fact_demand *d)
{
    struct fact_bundle *v = ARENA_ARRAY(a, struct fact_bundle, d->n_bundles);
    struct fact_demand r = *d;

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
                          const struct fact_offer *o)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < c->fleet.n; i++) {
        const struct machine *m = c->fleet.v[i];
        n += m->state <= STATE_REQUESTED && m->spot == o->spot &&
             strcmp(m->type, type) == 0 && strcmp(m->zone, o->zone) == 0;
    }
    return n;
}

static void offer_rest(struct control *c, const char *provider,
                       const char *type, struct fact_offer *o,
                       enum reason *unavailable)
{
    const struct rest *r = rests_find(c->rests, provider, type, o->zone,
                                      o->spot, c->now_ms);

    if (!r)
        return;
    if (r->until_ms == INT64_MAX && !*r->type)
        *unavailable = REASON_PROVIDER_DOWN;
    else if (r->until_ms == INT64_MAX)
        *unavailable = REASON_TYPE_DISABLED;
    else if (r->until_ms <= c->now_ms) {
        /* quota: smaller launches may go at once */
        uint32_t used = under_way(c, type, o);
        o->room = r->room > used ? r->room - used : 0;
    }
    else {
        o->set_aside_until_ms = r->until_ms;
        o->set_aside_for = r->why;
        control_wake_at(c, clock_mono_ms() + r->until_ms - c->now_ms + 1);
    }
}

static void type_take(struct control *c, struct arena *a,
                      const struct conf_type *t, struct fact_type *ret)
{
    VEC(struct fact_offer) offers = {0};
    const struct fact_type *f = &t->fact;
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
        struct fact_offer o = f->offers[i];
        bool told = false;

        for (uint32_t k = 0; k < c->n_told; k++) {
            const struct told_offer *x = &c->told[k];
            struct fact_offer p = o;
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
            offer_rest(c, f->provider, f->name, &p, &ret->unavailable);
            VEC_PUSH(a, &offers, p);
            told = true;
        }
        if (told)
            continue;
        o.zone = arena_strdup(a, o.zone);
        offer_rest(c, f->provider, f->name, &o, &ret->unavailable);
        VEC_PUSH(a, &offers, o);
    }
    ret->offers = offers.v;
    ret->n_offers = offers.n;
}

/* ---- nodes */

static void hold_take(struct control *c, const struct machine *m,
                      struct fact_node *n)
{
    const struct site *s = site_find(c, m->provider);

    if (m->shielded)
        n->hold = REASON_KEEP_PROTECTED;
    else if (!s || !s->listed_ms || s->list_failures)
        n->hold = REASON_KEEP_STALE;
    else if (m->hold_until_ms > c->now_ms) {
        n->hold = REASON_KEEP_REFUSED;
        n->hold_until_ms = m->hold_until_ms;
    }
}

/* Machines of one unit: so many neighbours of one launch. */
static const char *unit_of(struct arena *a, const struct machine *m,
                           const struct conf_type *t)
{
    const char *number = strrchr(m->id, '-');
    uint32_t hosts = t ? t->fact.hosts : 1;

    if (hosts < 2 || m->adopted || !*m->request_id || !number)
        return "";
    return arena_printf(a, "%s/%lu", m->request_id,
                        strtoul(number + 1, NULL, 10) / hosts);
}

static struct fact_node machine_take(struct holds_reader *holds,
                                     const struct machine *m, bool node_ids)
{
    struct control *c = holds->c;
    struct arena *a = holds->arena;
    const struct conf_type *t = type_find(c->config, m->type);
    const struct ray_node *ray = head_node_of(c, m);
    struct fact_node n = {
        .id = arena_strdup(a, m->id),
        .type = arena_strdup(a, t ? m->type : ""),
        .zone = arena_strdup(a, m->zone),
        .spot = m->spot,
        .outdated = !t || (*m->config_hash && strcmp(t->hash, m->config_hash)),
        .state = m->state,
        .idle_ms = -1,
        .since_ms = m->since_ms,
        .created_ms = m->created_ms,
        .price_micros_hour = m->price_micros_hour,
        .activity = "",
        .cloud_id = arena_strdup(a, m->cloud_id),
        .address = arena_strdup(a, m->address),
        .ray_id = arena_strdup(a, m->ray_id),
        .provider = arena_strdup(a, m->provider),
        .request_id = arena_strdup(a, m->request_id),
        .note = arena_strdup(a, m->detail),
        .unit = unit_of(a, m, t),
        .progress_ms = m->progress_ms,
        .holds = holds_of(holds, m),
    };

    hold_take(c, m, &n);
    if (m->state == STATE_DRAINING && m->drain_accepted)
        n.state = STATE_STOPPING;  /* no way back: it gives no room */
    if (m->state != STATE_READY && m->state != STATE_DRAINING)
        return n;
    if (!c->head.reader) {
        /* Nothing tells of work on it: it is idle since it was last needed. */
        int64_t since = m->needed_ms > m->ready_ms ? m->needed_ms : m->ready_ms;
        n.idle_ms = c->now_ms > since ? c->now_ms - since : 0;
    } else if (ray && ray->status != RAY_DEAD) {
        n.total = qtys_copy(a, ray->total);
        n.available = qtys_copy(a, ray->available);
        n.labels = labels_copy(a, ray->labels, node_ids);
        n.idle_ms = ray->status == RAY_IDLE ? ray->idle_ms : -1;
        n.activity = arena_strdup(a, ray->activity);
    }
    return n;
}

/* Ray nodes that are no machine of ours: the head itself, and strangers. */
static struct fact_node stranger_take(struct arena *a, const struct ray_node *r,
                                      bool node_ids)
{
    return (struct fact_node){
        .id = arena_strdup(a, r->ray_id),
        .type = "",
        .zone = "",
        .head = r->head,
        .foreign = true,
        .state = r->status == RAY_DRAINING ? STATE_STOPPING : STATE_READY,
        .total = qtys_copy(a, r->total),
        .available = qtys_copy(a, r->available),
        .labels = labels_copy(a, r->labels, node_ids),
        .idle_ms = r->status == RAY_IDLE ? r->idle_ms : -1,
        .price_micros_hour = -1,
        .activity = arena_strdup(a, r->activity),
        .cloud_id = arena_strdup(a, r->instance_id),
        .address = arena_strdup(a, r->address),
        .ray_id = arena_strdup(a, r->ray_id),
        .provider = "", .request_id = "", .note = arena_strdup(a, r->type),
        .unit = "",
    };
}

static void nodes_take(struct control *c, struct arena *a, struct facts *f)
{
    const struct ray_view *view = c->head.view;
    uint32_t n_ray = view ? view->n_nodes : 0, n = 0;
    struct fact_node *v = ARENA_ARRAY(a, struct fact_node,
                                      c->fleet.n + n_ray);
    bool *ours = ARENA_ARRAY(a, bool, n_ray);
    bool node_ids = view && label_asked(view, "ray.io/node-id");
    struct holds_reader holds = holds_reader(c, a);

    for (uint32_t i = 0; i < c->fleet.n; i++) {
        const struct machine *m = c->fleet.v[i];
        const struct ray_node *r = head_node_of(c, m);
        if (r)
            ours[r - view->nodes] = true;
        if (m->state != STATE_GONE)
            v[n++] = machine_take(&holds, m, node_ids);
    }
    for (uint32_t i = 0; i < n_ray; i++)
        if (!ours[i] && view->nodes[i].status != RAY_DEAD)
            v[n++] = stranger_take(a, &view->nodes[i], node_ids);
    f->nodes = v;
    f->n_nodes = n;
}

/* ---- demand */

/* What a bundle of the head's names by Ray's label selector, or "". */
static const char *queue_named(const struct fact_bundle *b)
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

struct demand_vec { VEC(struct fact_demand) all; };

/* The head's demand.  Tasks of several queues come in one list, which becomes
 * one demand for each; a gang has the queue that any of its bundles names. */
static void ray_demand_take(struct arena *a, const struct fact_demand *from,
                            struct demand_vec *to)
{
    struct fact_demand d = demand_copy(a, from);
    struct fact_bundle *v = (struct fact_bundle *)d.bundles;  /* ours */
    uint32_t left = d.n_bundles;

    if (from->source != SOURCE_TASK || from->strategy != STRATEGY_NONE) {
        for (uint32_t i = 0; i < d.n_bundles && !*d.queue; i++)
            d.queue = queue_named(&v[i]);
        VEC_PUSH(a, &to->all, d);
        return;
    }
    while (left > 0) {
        const char *queue = queue_named(&v[0]);
        struct fact_bundle *other = ARENA_ARRAY(a, struct fact_bundle, left);
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
        v = other;
        left = n_other;
    }
}

static void queues_take(struct control *c, struct arena *a, struct facts *f)
{
    struct fact_queue *v = ARENA_ARRAY(a, struct fact_queue,
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
enum { BUNDLES_OF_HEAD = 5000000 };

static void demands_take(struct control *c, struct arena *a, struct facts *f)
{
    const struct ray_view *view = c->head.view;
    uint32_t n_ray = view ? view->n_demands : 0;
    struct demand_vec v = {{0}};
    struct fact_demand spare = {0};

    uint64_t bundles = 0;

    for (uint32_t i = 0; i < c->n_requests; i++)
        if (c->requests[i]->demand.n_bundles) {
            struct fact_demand d = demand_copy(a, &c->requests[i]->demand);
            VEC_PUSH(a, &v.all, d);
        }
    for (uint32_t i = 0; i < n_ray && bundles < BUNDLES_OF_HEAD; i++) {
        for (uint32_t b = 0; b < view->demands[i].n_bundles; b++)
            bundles += view->demands[i].bundles[b].count;
        if (bundles >= BUNDLES_OF_HEAD)
            break;  /* the rest is planned for when this is served */
        /* Old news of pending work buys nothing; a request stays in force. */
        if (!f->head_fresh && view->demands[i].source != SOURCE_REQUEST)
            continue;
        ray_demand_take(a, &view->demands[i], &v);
    }
    if (config_spare(c->config, &spare)) {
        spare = demand_copy(a, &spare);
        VEC_PUSH(a, &v.all, spare);
    }
    f->demands = v.all.v;
    f->n_demands = v.all.n;
}

struct facts *facts_take(struct control *c, struct arena *a)
{
    struct facts *f = ARENA_NEW(a, struct facts);
    struct fact_type *types = ARENA_ARRAY(a, struct fact_type,
                                          c->config->n_types);

    f->cluster = arena_strdup(a, c->config->cluster);
    f->now_ms = c->now_ms;
    f->head_fresh = head_fresh(c);
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
