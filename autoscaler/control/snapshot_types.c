/*
 * snapshot_types.c - node types and what is known of their offers.
 */
#include <string.h>

#include "../base/clock.h"
#include "../wire/pods/pods.h"
#include "report/interrupted.h"
#include "report/unhelped.h"
#include "snapshot_parts.h"

/* Launches of this offer that the cloud has not answered yet use up its room. */
static uint32_t under_way(const struct fleet *f, const char *type,
                          const struct snap_offer *o)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < f->n; i++) {
        const struct machine *m = f->v[i];

        n += m->state <= STATE_REQUESTED && m->spot == o->spot &&
             strcmp(m->type, type) == 0 && strcmp(m->zone, o->zone) == 0;
    }
    return n;
}

/* What failed launches of it say.  *unavailable: of the whole type. */
static void backoff_take(const struct taking *t, const struct snap_type *type,
                         struct snap_offer *o, enum reason *unavailable)
{
    const struct ledger *l = t->k->ledger;
    int64_t now = t->k->env->now_ms;
    struct offer_key key = {type->provider, type->name, o->zone, o->spot};
    const struct backoff *r = backoffs_find(l->backoffs, key, now);

    o->failed_ms = backoffs_failed_ms(l->backoffs, key, now);
    o->interruptions = interrupted_count(l, key);
    if (!r)
        return;
    if (r->until_ms > now && r->why == ST_INVALID)
        *unavailable = REASON_TYPE_DISABLED;
    if (r->until_ms > now && r->why == ST_AUTH)
        *unavailable = REASON_PROVIDER_DOWN;
    if (r->until_ms <= now) {
        /* quota: smaller launches may go at once */
        uint32_t used = under_way(&l->fleet, type->name, o);

        o->room = r->room > used ? r->room - used : 0;
    } else {
        o->backoff_until_ms = r->until_ms;
        o->backoff_for = r->why;
    }
}

/* Nodes of that type that are there in truth. */
static uint32_t present_like(const struct source_present *p, const char *type,
                             const struct source_node **like, uint32_t most)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->n_nodes && n < most; i++)
        if (strcmp(p->nodes[i].type, type) == 0 && !p->nodes[i].settling &&
            p->nodes[i].status != SOURCE_UNREADY)
            like[n++] = &p->nodes[i];
    return n;
}

/* Labels that the cloud tells of every offer of the type: what differs by offer
 * (zone, market) is none of them. */
static struct pairs cloud_labels(const struct taking *t,
                                 const struct snap_type *type)
{
    const struct providers *p = t->k->providers;
    const struct known_offer *first = NULL;
    struct pair *v = NULL;
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->offers.n; i++) {
        const struct known_offer *x = &p->offers.v[i];
        uint32_t kept = 0;

        if (strcmp(x->type, type->name) != 0 ||
            strcmp(x->provider, type->provider) != 0)
            continue;
        if (!first) {
            first = x;
            v = ARENA_ARRAY(t->arena, struct pair, x->labels.n);
            for (; n < x->labels.n; n++)
                v[n] = (struct pair){
                    arena_strdup(t->arena, x->labels.v[n].key),
                    arena_strdup(t->arena, x->labels.v[n].value)};
            continue;
        }
        for (uint32_t k = 0; k < n; k++) {
            bool same = false;

            for (uint32_t l = 0; l < x->labels.n && !same; l++)
                same = strcmp(x->labels.v[l].key, v[k].key) == 0 &&
                       strcmp(x->labels.v[l].value, v[k].value) == 0;
            if (same)
                v[kept++] = v[k];
        }
        n = kept;
    }
    return (struct pairs){v, n};
}

/* What it tells of what pods get there, the least of all offers. */
static struct qtys cloud_resources(const struct taking *t,
                                   const struct snap_type *type)
{
    const struct providers *p = t->k->providers;
    struct qty *v = NULL;
    uint32_t n = 0;
    bool first = true;

    for (uint32_t i = 0; i < p->offers.n; i++) {
        const struct known_offer *x = &p->offers.v[i];
        uint32_t kept = 0;

        if (strcmp(x->type, type->name) != 0 ||
            strcmp(x->provider, type->provider) != 0)
            continue;
        if (first) {
            v = ARENA_ARRAY(t->arena, struct qty, x->resources.n);
            for (; n < x->resources.n; n++)
                v[n] = (struct qty){
                    arena_strdup(t->arena, x->resources.v[n].name),
                    x->resources.v[n].amount};
            first = false;
            continue;
        }
        for (uint32_t k = 0; k < n; k++) {
            int64_t has = qtys_amount(&x->resources, v[k].name);

            if (has > 0)
                v[kept++] = (struct qty){v[k].name,
                                         has < v[k].amount ? has : v[k].amount};
        }
        n = kept;
    }
    return (struct qtys){v, n};
}

/* What a node of the type leaves to pods, learned from a few of its kind. */
static void pods_take(const struct taking *t, struct qtys kept,
                      struct snap_type *type)
{
    enum { LIKE = 4 };
    const struct source_node *like[LIKE];
    const struct source *h = source_of_machines(t->k->sources);
    const struct fleet *f = &t->k->ledger->fleet;
    uint32_t n = 0;

    if (!h || !h->view || !h->view->pods)
        return;
    if (h->view->present)
        n = present_like(h->view->present, type->name, like, LIKE);
    for (uint32_t i = 0; i < f->n && n < LIKE && !h->view->present; i++) {
        const struct machine *m = f->v[i];
        const struct source_node *x = m->state == STATE_READY &&
                                              strcmp(m->type, type->name) == 0
                                          ? source_node_of(t->k->sources, m)
                                          : NULL;

        if (x && !x->settling && x->status != SOURCE_UNREADY)
            like[n++] = x;
    }
    pods_type_fit(h->view, like, n,
                  (struct pods_cloud){cloud_labels(t, type),
                                      cloud_resources(t, type), kept},
                  t->arena, type);
}

/* Taints known from the offer only; nobody but Kubernetes goes by them. */
static struct taints taints_take(const struct taking *t, struct names startup,
                                 struct taints x)
{
    const struct source *h = source_of_machines(t->k->sources);
    struct taint *v = ARENA_ARRAY(t->arena, struct taint, x.n);
    uint32_t n = 0;

    if (!h || !h->view || !h->view->pods)
        return (struct taints){0};
    for (uint32_t i = 0; i < x.n; i++)
        if (!pods_taint_listed(startup, x.v[i].key) &&
            !pods_taint_listed(t->conf->kube_startup, x.v[i].key))
            v[n++] = (struct taint){arena_strdup(t->arena, x.v[i].key),
                                    arena_strdup(t->arena, x.v[i].value),
                                    x.v[i].effect};
    return (struct taints){v, n};
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Shared with other offers; room is within them. */
static void quotas_note(const struct taking *t, const struct provider_state *s,
                        const struct known_offer *x, struct snap_offer *ret)
{
    struct snap_quota *v = ARENA_ARRAY(t->arena, struct snap_quota, x->n_takes);

    for (uint32_t i = 0; i < x->n_takes; i++) {
        const struct known_quota *q = &s->quotas[x->takes[i].quota];

        v[i] = (struct snap_quota){
            arena_printf(t->arena, "%s: %s", s->conf->name, q->name),
            quota_left(q), x->takes[i].each};
        ret->room = least(ret->room, v[i].left / v[i].each);
    }
    ret->quotas = (struct snap_quotas){v, x->n_takes};
}

struct offers {
    VEC(struct snap_offer) all;
};

/* The configured offer as the provider knows it, in each of the zones it tells
 * of; false: it tells of none. */
static bool known_offers_take(const struct taking *t,
                              const struct snap_type *type,
                              const struct snap_offer *o, struct names startup,
                              enum reason *unavailable, struct offers *ret)
{
    const struct providers *p = t->k->providers;
    bool any = false;

    for (uint32_t k = 0; k < p->offers.n; k++) {
        const struct known_offer *x = &p->offers.v[k];
        struct snap_offer v = *o;

        if (strcmp(x->type, type->name) != 0 || x->spot != o->spot ||
            strcmp(x->provider, type->provider) != 0 ||
            (*o->zone && strcmp(x->zone, o->zone) != 0))
            continue;
        any = true;
        v.zone = arena_strdup(t->arena, x->zone);
        v.idle_timeout_ms = config_idle_ms(t->conf, type, v.zone, v.spot);
        if (v.price_micros_hour < 0 && x->price_micros_hour >= 0) {
            v.price_micros_hour = x->price_micros_hour;
            v.mean_micros_hour = x->past.mean_micros_hour;
            v.mean_ms = price_past_ms(&x->past);
        }
        v.taints = taints_take(t, startup, x->taints);
        v.note = arena_strdup(t->arena, x->note);
        backoff_take(t, type, &v, unavailable);
        v.room = least(v.room, offer_room(p, x));
        quotas_note(t, provider_find(p, x->provider), x, &v);
        if (!x->available) {
            v.closed = true;
            v.room = 0;
        }
        VEC_PUSH(t->arena, &ret->all, v);
    }
    return any;
}
/* Nobody says what it costs now.  What its machines cost when somebody last did is
 * nearer than an estimate, and nothing is replaced by its like; -1: there are none. */
static int64_t price_last(const struct fleet *f, const struct conf_type *c,
                          const struct snap_offer *o)
{
    int64_t most = -1;

    for (uint32_t i = 0; i < f->n; i++) {
        const struct machine *m = f->v[i];

        if (m->state != STATE_GONE && m->price_micros_hour > most &&
            m->spot == o->spot && strcmp(m->type, c->fact.name) == 0 &&
            strcmp(m->config_hash, c->hash) == 0 &&
            (!*o->zone || strcmp(o->zone, m->zone) == 0))
            most = m->price_micros_hour;
    }
    return most;
}

/* Nothing is bought before it begins, nor what would be left at once. */
static void reserved_take(const struct taking *t, const struct conf_type *conf,
                          struct snap_offer *o)
{
    const struct conf_reserved *r = &conf->reserved;
    int64_t now = t->k->env->now_ms, last = r->until_ms - r->drain_before_ms;
    char from[32], until[32];

    if (!r->given)
        return;
    clock_iso(r->from_ms, from, sizeof from);
    clock_iso(r->until_ms, until, sizeof until);
    if (r->from_ms > now) {
        o->note = arena_printf(t->arena, "reserved from %s", from);
    } else if (r->until_ms && now >= last) {
        o->note = arena_printf(t->arena, "its reservation ends at %s", until);
    } else {
        if (!o->note || !*o->note)
            o->note = r->until_ms ? arena_printf(t->arena,
                                                 "reserved until %s, and paid "
                                                 "for",
                                                 until)
                                  : "reserved, and paid for";
        return;
    }
    o->closed = true;
    o->room = 0;
}

static void type_take(const struct taking *t, const struct conf_type *conf,
                      struct snap_type *ret)
{
    const struct snap_type *from = &conf->fact;
    const struct providers *p = t->k->providers;
    const struct provider_state *s = provider_find(p, from->provider);
    struct offers offers = {{0}};

    *ret = *from;
    if (ret->boot_ms < 0)
        ret->boot_ms = journal_boot(t->k->env->journal, from->name);
    /* Truth first: nothing is bought where we have not seen what there is. */
    if (!provider_is_read(s) || calls_stuck(p, s))
        ret->unavailable = REASON_PROVIDER_DOWN;
    else if (offers_awaited(p))
        ret->unavailable = REASON_OFFERS_AWAITED;
    for (uint32_t i = 0; i < from->n_offers; i++) {
        struct snap_offer o = from->offers[i];

        if (known_offers_take(t, from, &o, conf->startup, &ret->unavailable,
                              &offers))
            continue;
        backoff_take(t, from, &o, &ret->unavailable);
        VEC_PUSH(t->arena, &offers.all, o);
    }
    for (uint32_t i = 0; i < offers.all.n; i++)
        reserved_take(t, conf, &offers.all.v[i]);
    for (uint32_t i = 0; i < offers.all.n; i++)
        if (offers.all.v[i].price_micros_hour < 0)
            offers.all.v[i].price_micros_hour = price_last(
                &t->k->ledger->fleet, conf, &offers.all.v[i]);
    ret->offers = offers.all.v;
    ret->n_offers = offers.all.n;
    pods_take(t, conf->kept, ret);
    ret->taints = unhelped_taints(t->k->ledger, t->k->env->now_ms, ret->name,
                                  ret->taints, t->arena);
}

void types_take(struct taking *t)
{
    const struct providers *p = t->k->providers;
    uint32_t n = t->conf->n_types;
    struct snap_type *v = ARENA_ARRAY(t->arena, struct snap_type, n);

    for (uint32_t i = 0; i < p->all.n; i++)
        quotas_count(p, p->all.v[i]);
    for (uint32_t i = 0; i < n; i++)
        type_take(t, &t->conf->types[i], &v[i]);
    t->snapshot->types = v;
    t->snapshot->n_types = n;
}
