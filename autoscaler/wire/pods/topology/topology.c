/*
 * topology.c - conditions of pods by domains (zone, rack, market ...) once it
 * is known what there may be.  See topology.h, and pods.h.
 *
 * What is bought decides which domains there are.  So the demand of a view is
 * settled when node types are known.  Each group of equal pods with such rules
 * is tried on nodes and offers (trial.c).  It becomes a bundle for each domain
 * that it goes to, and a label binds that bundle to the domain.
 */
#include "topology.h"

#include <string.h>

#include "../../../model/accel.h"
#include "../../../model/amount.h"

#define ZONE "topology.kubernetes.io/zone"
#define MARKET "ray.io/market-type"

/* ---- places */

static const char *offer_value(const struct snap_type *t,
                               const struct snap_offer *o, const char *key)
{
    if (strcmp(key, ZONE) == 0 && o->zone && *o->zone)
        return o->zone;
    if (*pods_market_value(key, o->spot))
        return pods_market_value(key, o->spot);
    return pairs_value(&t->labels, key);
}

static uint32_t value_add(struct topo_fit *f, uint32_t key, const char *v)
{
    struct fit_key *k = &f->keys[key];

    if (!v || !*v)
        return NO_VALUE;
    for (uint32_t i = 0; i < k->values.n; i++)
        if (strcmp(k->values.v[i], v) == 0)
            return i;
    VEC_PUSH(f->arena, &k->values, v);
    return k->values.n - 1;
}

/* The type's labels, and those of one of its offers. */
static struct pairs offer_labels(struct topo_fit *f, const struct snap_type *t,
                                 const char *zone, bool spot)
{
    struct pair *v = ARENA_ARRAY(f->arena, struct pair, t->labels.n + 2);
    uint32_t n = 0;

    if (zone && *zone)
        v[n++] = (struct pair){ZONE, zone};
    v[n++] = (struct pair){MARKET, spot ? "spot" : "on-demand"};
    if (t->labels.n)
        memcpy(v + n, t->labels.v, t->labels.n * sizeof *v);
    return (struct pairs){v, n + t->labels.n};
}

static struct taints taints_both(struct topo_fit *f, struct taints x,
                                 struct taints y)
{
    return (struct taints){
        arena_join(f->arena, x.v, x.n, y.v, y.n, sizeof *x.v), x.n + y.n};
}

static void place_values(struct topo_fit *f, struct place *p,
                         const struct snap_offer *o)
{
    p->values = ARENA_ARRAY(f->arena, uint32_t, f->n_keys);
    for (uint32_t i = 0; i < f->n_keys; i++) {
        const char *key = f->keys[i].key;
        const char *v = o ? offer_value(p->type, o, key)
                          : pairs_value(&p->labels, key);

        if (!v && !o && strcmp(key, ZONE) == 0 && p->node->zone &&
            *p->node->zone)
            v = p->node->zone;
        p->values[i] = value_add(f, i, v);
    }
}

static const struct snap_type *type_named(const struct topo_fit *f,
                                          const char *name)
{
    for (uint32_t i = 0; i < f->n_types; i++)
        if (name && strcmp(f->types[i].name, name) == 0)
            return &f->types[i];
    return NULL;
}

static void node_add(struct topo_fit *f, const struct snap_node *n)
{
    const struct snap_type *t = type_named(f, n->type);
    struct place p = {.node = n, .type = t};

    if (t)
        f->there[t - f->types]++;
    if (n->head || n->cordoned || n->asked_to_end || n->state > STATE_READY)
        return;
    p.labels = n->labels;
    p.taints = n->taints;
    p.has = n->available;
    if (!n->total.n && t) { /* on its way */
        struct snap_offer o = {.zone = n->zone, .spot = n->spot};

        p.labels = offer_labels(f, t, n->zone, n->spot);
        p.taints = t->taints;
        p.has = t->resources;
        place_values(f, &p, &o);
    } else {
        place_values(f, &p, NULL);
    }
    p.tried = n->total.n && !qtys_amount(&n->available, UNTRIED_RESOURCE);
    VEC_PUSH(f->arena, &f->places, p);
}

static void offer_add(struct topo_fit *f, const struct snap_type *t,
                      const struct snap_offer *o)
{
    struct place p = {.type = t, .offer = o};

    if (t->max == 0 || t->unavailable == REASON_TYPE_DISABLED || o->closed ||
        o->room == 0)
        return;
    p.labels = offer_labels(f, t, o->zone, o->spot);
    p.taints = taints_both(f, t->taints, o->taints);
    p.has = t->resources;
    p.price = o->price_micros_hour >= 0
                  ? o->price_micros_hour
                  : price_estimate(&t->resources, "", o->spot);
    if (o->backoff_until_ms > f->now_ms)
        p.price += LATER; /* when nothing else is to be had */
    place_values(f, &p, o);
    VEC_PUSH(f->arena, &f->places, p);
}

/* ---- does a pod fit there? */

static bool listed(const struct term *t, const char *v)
{
    for (uint32_t i = 0; i < t->values.n; i++)
        if (strcmp(t->key, ACCEL_LABEL) == 0
                ? accel_type_serves(v, t->values.v[i])
                : strcmp(t->values.v[i], v) == 0)
            return true;
    return false;
}

static bool selected(const struct terms *s, const struct pairs *labels)
{
    for (uint32_t i = 0; i < s->n; i++) {
        const char *v = pairs_value(labels, s->v[i].key);

        if ((v && listed(&s->v[i], v)) != (s->v[i].op == TERM_IN))
            return false;
    }
    return true;
}

static int64_t times_in(const struct qtys *needs, const struct qtys *has)
{
    int64_t most = INT32_MAX;

    for (uint32_t i = 0; i < needs->n; i++) {
        int64_t left = qtys_amount(has, needs->v[i].name);

        if (needs->v[i].amount > 0 && left / needs->v[i].amount < most)
            most = left / needs->v[i].amount;
    }
    return most;
}

uint32_t place_holds(const struct place *p, const struct snap_alt *alts,
                     uint32_t n)
{
    int64_t most = 0;

    for (uint32_t i = 0; i < n; i++) {
        int64_t k;

        if (!selected(&alts[i].selector, &p->labels) ||
            !pods_tolerated(&alts[i].tolerations, &p->taints))
            continue;
        k = times_in(&alts[i].resources, &p->has);
        most = k > most ? k : most;
    }
    return (uint32_t)most;
}

/* ---- bundles */

bool bundle_is_untried(const struct snap_bundle *b)
{
    for (uint32_t i = 0; i < b->n_alts; i++)
        if (qtys_amount(&b->alts[i].resources, UNTRIED_RESOURCE) <= 0)
            return false;
    return true;
}

static struct terms terms_join(struct arena *a, struct terms x, struct terms y)
{
    return (struct terms){arena_join(a, x.v, x.n, y.v, y.n, sizeof *x.v),
                          x.n + y.n};
}

struct term_vec {
    VEC(struct term) all;
};

/* A label of one cloud that tells the market is our market label. */
static void term_add(struct topo_fit *f, struct term_vec *to, const char *key,
                     enum term_op op, const char *const *v, uint32_t n)
{
    const char *market = n == 1 ? pods_market(key, v[0]) : "";
    const char **one;

    if (*market) {
        one = ARENA_NEW(f->arena, const char *);
        *one = market;
        VEC_PUSH(f->arena, &to->all, ((struct term){MARKET, op, {one, 1}}));
        return;
    }
    if (n)
        VEC_PUSH(f->arena, &to->all, ((struct term){key, op, {v, n}}));
}

/* What it asks wherever it goes. */
static void terms_of_rules(struct topo_fit *f, const struct topo_group *g,
                           struct term_vec *to)
{
    for (uint32_t i = 0; i < g->n_rules; i++) {
        const struct topo_rule *r = &g->rules[i];
        const struct topo_key *k;
        const char **v;
        uint32_t n = 0;

        if (r->kind != TOPO_OUT && r->kind != TOPO_IN)
            continue;
        k = &f->topology->keys[r->key];
        v = ARENA_ARRAY(f->arena, const char *, k->n);
        for (uint32_t x = 0; x < k->n; x++)
            if (r->values[x])
                v[n++] = k->values[x];
        term_add(f, to, k->key, r->kind == TOPO_IN ? TERM_IN : TERM_NOT_IN, v,
                 n);
    }
}

static void terms_of_cell(struct topo_fit *f, const struct topo_group *g,
                          const struct cell *c, struct term_vec *to)
{
    for (uint32_t i = 0; i < g->n_rules; i++) {
        const struct topo_rule *r = &g->rules[i];
        struct fit_key *k;

        if (r->key == ON_HOST || r->kind == TOPO_OUT || r->kind == TOPO_IN)
            continue;
        k = &f->keys[r->key];
        if (c->values[r->key] == NO_VALUE)
            term_add(f, to, k->key, TERM_NOT_IN, k->values.v, k->values.n);
        else
            term_add(f, to, k->key, TERM_IN, &k->values.v[c->values[r->key]],
                     1);
    }
}

static void bundle_add(struct topo_fit *f, const struct snap_bundle *from,
                       const struct term_vec *terms, uint32_t count,
                       uint32_t times, struct fit_bundles *to)
{
    struct snap_alt *v = ARENA_ARRAY(f->arena, struct snap_alt, from->n_alts);
    struct snap_bundle b = *from;

    for (uint32_t i = 0; i < from->n_alts; i++) {
        v[i] = from->alts[i];
        v[i].selector = terms_join(f->arena, v[i].selector,
                                   (struct terms){terms->all.v, terms->all.n});
        if (times > 1) {
            struct qty *q = arena_copy(f->arena, v[i].resources.v,
                                       v[i].resources.n * sizeof *q);

            for (uint32_t r = 0; r < v[i].resources.n; r++)
                q[r].amount = amount_times(q[r].amount, times);
            v[i].resources.v = q;
        }
    }
    b.alts = v;
    b.count = count / times;
    VEC_PUSH(f->arena, &to->all, b);
}

/* Those that no place is left for, with the reason as a label that nothing
 * has: so they are counted, and `why` and the event say it.  put_off: they were
 * not looked at. */
static void rest_add(struct topo_fit *f, const struct snap_bundle *from,
                     const struct topo_group *g, uint32_t count, bool put_off,
                     struct fit_bundles *to)
{
    static const char *const kinds[] = {[TOPO_OUT] = "anti-affinity",
                                        [TOPO_IN] = "affinity",
                                        [TOPO_ONE_EACH] = "anti-affinity",
                                        [TOPO_TOGETHER] = "affinity",
                                        [TOPO_SPREAD] = "spread"};
    static const char *const yes[] = {"true"};
    struct term_vec terms = {{0}};
    const struct topo_rule *r = &g->rules[0];
    const char *key;

    for (uint32_t i = 0; i < g->n_rules; i++)
        if (g->rules[i].kind > r->kind)
            r = &g->rules[i];
    key = arena_printf(
        f->arena, "place %s the %s by %s",
        put_off ? "looked for yet (too many pods with conditions at once) by"
                : "left by",
        kinds[r->kind],
        r->key == ON_HOST ? "kubernetes.io/hostname" : f->keys[r->key].key);
    VEC_PUSH(f->arena, &terms.all, ((struct term){key, TERM_IN, {yes, 1}}));
    bundle_add(f, from, &terms, count, 1, to);
}

static bool is_tried(const struct topo_group *g, bool *ret_host)
{
    bool tried = false;

    *ret_host = false;
    for (uint32_t i = 0; i < g->n_rules; i++) {
        const struct topo_rule *r = &g->rules[i];

        if (r->kind == TOPO_TOGETHER && r->key == ON_HOST)
            *ret_host = true;
        tried = tried || r->kind >= TOPO_ONE_EACH;
    }
    return tried;
}

static void group_settle(struct topo_fit *f, const struct snap_bundle *b,
                         const struct topo_group *g, struct fit_bundles *to)
{
    struct term_vec own = {{0}};
    struct trial t;
    uint32_t left;
    bool host;

    terms_of_rules(f, g, &own);
    if (!is_tried(g, &host)) {
        bundle_add(f, b, &own, b->count, 1, to);
        return;
    }
    t = trial_run(f, g, b, host);
    left = b->count - t.placed;
    for (uint32_t i = 0; i < t.n_cells; i++) {
        struct term_vec terms = {{0}};
        uint32_t n = t.cells[i].placed;

        if (!n)
            continue;
        for (uint32_t k = 0; k < own.all.n; k++)
            VEC_PUSH(f->arena, &terms.all, own.all.v[k]);
        terms_of_cell(f, g, &t.cells[i], &terms);
        bundle_add(f, b, &terms, n, host ? n : 1, to);
    }
    if (left)
        rest_add(f, b, g, left, t.put_off, to);
}

/* ---- zones whose DaemonSets take more */

static bool any_less(const struct topo_fit *f)
{
    for (uint32_t i = 0; i < f->n_types; i++)
        for (uint32_t k = 0; k < f->types[i].n_offers; k++)
            if (f->types[i].offers[k].less.n)
                return true;
    return false;
}

/* It fits where the offer's nodes have less, too. */
static bool fits_less(const struct snap_type *t, const struct snap_offer *o,
                      const struct snap_alt *a)
{
    for (uint32_t i = 0; i < a->resources.n; i++) {
        const struct qty *q = &a->resources.v[i];
        int64_t less = 0;

        for (uint32_t k = 0; k < o->less.n; k++)
            if (strcmp(o->less.v[k].name, q->name) == 0)
                less = amount_add(less, o->less.v[k].amount);
        if (less && qtys_amount(&t->resources, q->name) - less < q->amount)
            return false;
    }
    return true;
}

static bool is_buyable(const struct topo_fit *f, const struct snap_offer *o)
{
    return !o->less.n && !o->closed && o->room > 0 &&
           o->backoff_until_ms <= f->now_ms;
}

/* Where nodes of the type have all of its room it can go as well, for no more
 * money: then it need not go where they have less. */
static bool may_have_all(struct topo_fit *f, const struct snap_type *t,
                         const struct snap_offer *less,
                         const struct snap_alt *a)
{
    for (uint32_t i = 0; i < t->n_offers; i++) {
        const struct snap_offer *o = &t->offers[i];
        struct pairs labels;
        struct taints taints;

        if (!is_buyable(f, o) || o->price_micros_hour < 0 ||
            (less->price_micros_hour >= 0 &&
             o->price_micros_hour > less->price_micros_hour))
            continue;
        labels = offer_labels(f, t, o->zone, o->spot);
        taints = taints_both(f, t->taints, o->taints);
        if (selected(&a->selector, &labels) &&
            pods_tolerated(&a->tolerations, &taints))
            return true;
    }
    return false;
}

/* anywhere: rules by domains may send it to any of them. */
static void alt_tolerate(struct topo_fit *f, struct snap_alt *a, bool anywhere)
{
    struct {
        VEC(struct toleration) all;
    } v = {{0}};

    for (uint32_t i = 0; i < a->tolerations.n; i++)
        VEC_PUSH(f->arena, &v.all, a->tolerations.v[i]);
    for (uint32_t i = 0; i < f->n_types; i++)
        for (uint32_t k = 0; k < f->types[i].n_offers; k++) {
            const struct snap_offer *o = &f->types[i].offers[k];

            if (o->less.n && fits_less(&f->types[i], o, a) &&
                (anywhere || !may_have_all(f, &f->types[i], o, a)))
                VEC_PUSH(f->arena, &v.all,
                         ((struct toleration){o->taints.v[o->taints.n - 1].key,
                                              TOLERATE_EXISTS, "",
                                              EFFECT_NO_SCHEDULE}));
        }
    a->tolerations = (struct tolerations){v.all.v, v.all.n};
}

/* g: by bundle, or NULL. */
static void demand_tolerate(struct topo_fit *f, struct snap_demand *d,
                            const struct topo_group *const *g)
{
    struct snap_bundle *b = arena_copy(f->arena, d->bundles,
                                       d->n_bundles * sizeof *b);

    for (uint32_t i = 0; i < d->n_bundles; i++) {
        struct snap_alt *v = arena_copy(f->arena, b[i].alts,
                                        b[i].n_alts * sizeof *v);

        for (uint32_t k = 0; k < b[i].n_alts; k++)
            alt_tolerate(f, &v[k], g && g[i]);
        b[i].alts = v;
    }
    d->bundles = b;
}

/* ---- all of it */

static void fit_begin(struct topo_fit *f, const struct snap_node *nodes,
                      uint32_t n)
{
    const struct topology *w = f->topology;

    f->n_keys = w->n_keys;
    f->keys = ARENA_ARRAY(f->arena, struct fit_key, w->n_keys);
    f->there = ARENA_ARRAY(f->arena, uint32_t, f->n_types);
    for (uint32_t i = 0; i < w->n_keys; i++) {
        f->keys[i].key = w->keys[i].key;
        for (uint32_t v = 0; v < w->keys[i].n; v++)
            VEC_PUSH(f->arena, &f->keys[i].values, w->keys[i].values[v]);
    }
    for (uint32_t i = 0; i < n; i++)
        node_add(f, &nodes[i]);
    for (uint32_t i = 0; i < f->n_types; i++)
        for (uint32_t k = 0; k < f->types[i].n_offers; k++)
            offer_add(f, &f->types[i], &f->types[i].offers[k]);
    f->counts = ARENA_ARRAY(f->arena, uint32_t *, w->n_terms);
    for (uint32_t i = 0; i < w->n_terms; i++) {
        const struct topo_term *t = &w->terms[i];

        if (t->key == ON_HOST)
            continue;
        f->counts[i] = ARENA_ARRAY(f->arena, uint32_t,
                                   f->keys[t->key].values.n);
        if (w->keys[t->key].n)
            memcpy(f->counts[i], t->matched,
                   w->keys[t->key].n * sizeof *f->counts[i]);
    }
}

/* Those that are tried: each has a share of the steps. */
static bool groups_count(struct topo_fit *f, const struct source_view *view)
{
    const struct topology *w = f->topology;
    bool any = false, host;

    for (uint32_t i = 0; i < w->n_demands && i < view->n_demands; i++) {
        any = any || w->groups[i];
        for (uint32_t b = 0; w->groups[i] && b < view->demands[i].n_bundles;
             b++)
            f->n_groups += w->groups[i][b] && is_tried(w->groups[i][b], &host);
    }
    return any;
}

const struct snap_demand *pods_demands_settle(const struct source_view *view,
                                              struct arena *arena,
                                              const struct snapshot *s)
{
    const struct topology *w = view->pods ? &view->pods->topology : NULL;
    struct topo_fit f = {.arena = arena,
                         .topology = w,
                         .types = s->types,
                         .n_types = s->n_types,
                         .now_ms = s->now_ms,
                         .steps = SETTLE_STEPS};
    bool groups = w && groups_count(&f, view), less = w && any_less(&f);
    struct snap_demand *v;

    if (!groups && !less)
        return view->demands;
    v = arena_copy(arena, view->demands, view->n_demands * sizeof *v);
    if (groups)
        fit_begin(&f, s->nodes, s->n_nodes);
    for (uint32_t i = 0; i < view->n_demands; i++) {
        const struct topo_group *const *g = i < w->n_demands ? w->groups[i]
                                                             : NULL;
        struct fit_bundles to = {{0}};

        if (less)
            demand_tolerate(&f, &v[i], g);
        for (uint32_t b = 0; g && b < v[i].n_bundles; b++)
            if (g[b])
                group_settle(&f, &v[i].bundles[b], g[b], &to);
            else
                VEC_PUSH(arena, &to.all, v[i].bundles[b]);
        if (g) {
            v[i].bundles = to.all.v;
            v[i].n_bundles = to.all.n;
        }
    }
    return v;
}
