/*
 * affinity.c - pods that mind one another, as something a packer knows.  See
 * inside.h.
 *
 * Between hosts each condition is a resource ("column"): of an anti-affinity
 * or a host port each node has one, and none where such a pod runs; of a
 * spread as many as maxSkew allows beyond the fullest of the nodes that can
 * take no more.  Between zones a group is cut up.  Where two kinds of pods
 * that wait keep each other away the packer may put them together: the
 * scheduler will not, and the next view has what is left.
 */
#include "inside.h"

#include <stdlib.h>
#include <string.h>

#include "../../model/amount.h"

#define LITTLE INT64_C(1)         /* 1/10,000: need it, hardly use it up */

struct near_term {
    const struct apart *x;
    const char *space;            /* of who carries it */
    uint32_t *matched, *carriers; /* by node; by zone when x->zone */
    const char *column, *reverse; /* names, NULL until used */
};

/* ---- the terms there are */

static uint32_t term_find(const struct making *m, const struct apart *x)
{
    uint32_t i = 0;

    while (i < m->n_terms && strcmp(m->terms[i].x->name, x->name) != 0)
        i++;
    return i;
}

static void terms_of(struct making *m, const struct pod *p, bool bound)
{
    for (uint32_t i = 0; i < p->shape->n_aparts; i++) {
        const struct apart *x = &p->shape->aparts[i];
        if (bound && x->kind != APART_ANTI && x->kind != APART_PORT)
            continue;  /* it has its place, and keeps nobody away */
        if (term_find(m, x) < m->n_terms)
            continue;
        if (m->n_terms == PODS_MAX_COLUMNS) {
            m->terms_over++;
            continue;
        }
        m->terms[m->n_terms++] = (struct near_term){ .x = x,
                                                     .space = p->space };
    }
}

static bool space_meant(const struct near_term *t, const char *space)
{
    if (t->x->every_space)
        return true;
    for (uint32_t i = 0; i < t->x->spaces.n; i++)
        if (strcmp(t->x->spaces.v[i], space) == 0)
            return true;
    return !t->x->spaces.n && strcmp(t->space, space) == 0;
}

/* Terms whose selector fits these labels, a bit each. */
static uint64_t labels_match(struct making *m, struct pod_labels *l)
{
    if (l->made_for == m->in->store->views)
        return l->match;
    l->match = 0;
    l->made_for = m->in->store->views;
    for (uint32_t i = 0; i < m->n_terms; i++)
        if (m->terms[i].x->kind != APART_PORT &&
            pods_reqs_hold(&m->terms[i].x->reqs, &l->pairs))
            l->match |= UINT64_C(1) << i;
    return l->match;
}

static bool is_meant(struct making *m, uint32_t term, const struct pod *p)
{
    return (labels_match(m, p->labels) >> term & 1) &&
           space_meant(&m->terms[term], p->space);
}

static bool carries(const struct pod *p, const struct apart *x)
{
    for (uint32_t i = 0; i < p->shape->n_aparts; i++)
        if (strcmp(p->shape->aparts[i].name, x->name) == 0)
            return true;
    return false;
}

/* ---- zones */

static uint32_t zone_ix(const struct making *m, const char *zone)
{
    uint32_t i = 0;

    while (i < m->zones.n && strcmp(m->zones.v[i], zone) != 0)
        i++;
    return i;
}

static void zones_begin(struct making *m)
{
    const struct names *own = &m->in->zones;
    const char **v = ARENA_ARRAY(m->arena, const char *,
                                 own->n + m->n_nodes);

    m->zones.v = v;
    for (uint32_t i = 0; i < own->n; i++)
        if (*own->v[i] && zone_ix(m, own->v[i]) == m->zones.n)
            v[m->zones.n++] = arena_strdup(m->arena, own->v[i]);
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (*m->nodes[i].k->zone &&
            zone_ix(m, m->nodes[i].k->zone) == m->zones.n)
            v[m->zones.n++] = arena_strdup(m->arena, m->nodes[i].k->zone);
}

void pods_near_begin(struct making *m, struct pod **pending, uint32_t n)
{
    m->terms = ARENA_ARRAY(m->arena, struct near_term, PODS_MAX_COLUMNS);
    for (uint32_t i = 0; i < n; i++)
        if (pending[i]->state == POD_DEMAND)
            terms_of(m, pending[i], false);
    for (uint32_t i = 0; i < m->n_bound && n; i++)
        terms_of(m, m->bound[i], true);
    if (!m->n_terms)
        return;
    zones_begin(m);
    for (uint32_t t = 0; t < m->n_terms; t++) {
        uint32_t size = m->terms[t].x->zone ? m->zones.n + 1 : m->n_nodes;
        m->terms[t].matched = ARENA_ARRAY(m->arena, uint32_t, size);
        m->terms[t].carriers = ARENA_ARRAY(m->arena, uint32_t, size);
    }
    for (uint32_t i = 0; i < m->n_bound; i++) {
        const struct pod *p = m->bound[i];
        const struct knode *k = (const struct knode *)
            records_find(&m->in->store->nodes, p->node);
        for (uint32_t t = 0; k && t < m->n_terms; t++) {
            uint32_t at = m->terms[t].x->zone ? zone_ix(m, k->zone) : k->ix;
            m->terms[t].matched[at] += is_meant(m, t, p);
            m->terms[t].carriers[at] += p->shape->n_aparts &&
                                        carries(p, m->terms[t].x);
        }
    }
}

/* ---- columns */

static void node_has(struct making *m, uint32_t node, const char *column,
                     int64_t left)
{
    VEC_PUSH(m->arena, &m->nodes[node].more, ((struct qty){ column, left }));
}

static const char *column_new(struct making *m, const char *name,
                              int64_t fresh)
{
    struct column c = { arena_strdup(m->arena, name), fresh };

    VEC_PUSH(m->arena, &m->columns, c);
    return c.name;
}

/* One on each node, for who keeps its like away. */
static const char *column_self(struct making *m, struct near_term *t)
{
    if (t->column)
        return t->column;
    t->column = column_new(m, t->x->name, AMOUNT_ONE);
    for (uint32_t i = 0; i < m->n_nodes; i++)
        node_has(m, i, t->column, t->carriers[i] ? 0
                 : t->matched[i] ? AMOUNT_ONE - LITTLE : AMOUNT_ONE);
    return t->column;
}

/* Not where there are some of these. */
static const char *column_where_none(struct making *m, struct near_term *t,
                                     bool reverse)
{
    const char **name = reverse ? &t->reverse : &t->column;
    const uint32_t *there = reverse ? t->carriers : t->matched;

    if (*name)
        return *name;
    *name = column_new(m, reverse ? arena_printf(m->arena, "%s-from",
                                                 t->x->name) : t->x->name,
                       AMOUNT_ONE);
    for (uint32_t i = 0; i < m->n_nodes; i++)
        node_has(m, i, *name, there[i] ? 0 : AMOUNT_ONE);
    return *name;
}

/* Only where there are some of these. */
static const char *column_beside(struct making *m, struct near_term *t)
{
    if (t->column)
        return t->column;
    t->column = column_new(m, t->x->name, 0);
    for (uint32_t i = 0; i < m->n_nodes; i++)
        node_has(m, i, t->column, t->matched[i] ? AMOUNT_ONE : 0);
    return t->column;
}

static bool may_lie(const struct pod_shape *s, const struct knode *k)
{
    for (uint32_t i = 0; i < s->n_alts; i++)
        if (pods_reqs_hold(&s->alts[i], &k->labels))
            return true;
    return false;
}

static bool has_room(const struct view_node *n, const struct qtys *needs)
{
    if (!n->k->ready || n->k->unschedulable || n->k->draining)
        return false;
    for (uint32_t i = 0; i < needs->n; i++) {
        int64_t left = 0;
        for (uint32_t r = 0; r < n->k->total.n; r++)
            if (strcmp(n->k->total.v[r].name, needs->v[i].name) == 0)
                left = n->left[r];
        if (left < needs->v[i].amount)
            return false;
    }
    return true;
}

/* As many as the skew allows above the emptiest node that stays as it is;
 * NULL: nothing is bounded. */
static const char *column_spread(struct making *m, struct near_term *t,
                                 const struct pod_shape *s)
{
    uint32_t domains = 0, least = UINT32_MAX;
    int64_t cap;

    if (t->column)
        return *t->column ? t->column : NULL;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct view_node *n = &m->nodes[i];
        if (!may_lie(s, n->k))
            continue;
        domains++;
        if (!has_room(n, &s->needs) && t->matched[i] < least)
            least = t->matched[i];
    }
    t->column = "";
    if (domains < t->x->domains)
        least = 0;
    if (least == UINT32_MAX)
        return NULL;
    cap = ((int64_t)least + t->x->skew) * AMOUNT_ONE;
    t->column = column_new(m, t->x->name, cap);
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        int64_t left = cap - (int64_t)t->matched[i] * AMOUNT_ONE;
        node_has(m, i, t->column, left > 0 ? left : 0);
    }
    return t->column;
}

/* ---- one group */

struct group {
    struct making *m;
    const struct pod *p;
    uint32_t n;
    struct near_part all;        /* what every part has */
    VEC(struct qty) needs;
    bool *zone_out;              /* by zone; NULL: all will do */
    uint32_t term_spread;        /* a spread over zones; m->n_terms: none */
    bool one_each;               /* at most one in a zone */
    bool one_zone;               /* all in one zone */
    struct near_parts ret;
};

static void needs(struct group *g, const char *column, int64_t amount)
{
    for (uint32_t i = 0; i < g->needs.n; i++)
        if (g->needs.v[i].name == column) {
            if (g->needs.v[i].amount < amount)
                g->needs.v[i].amount = amount;
            return;
        }
    VEC_PUSH(g->m->arena, &g->needs, ((struct qty){ column, amount }));
}

static void none(struct group *g, const char *code, const char *text)
{
    g->n = 0;
    if (!g->ret.code) {
        g->ret.code = code;
        g->ret.text = text;
    }
}

static uint32_t sum(const uint32_t *v, uint32_t n)
{
    uint32_t all = 0;

    for (uint32_t i = 0; i < n; i++)
        all += v[i];
    return all;
}

static void zones_without(struct group *g, const uint32_t *there)
{
    for (uint32_t z = 0; z < g->m->zones.n; z++)
        g->zone_out[z] = g->zone_out[z] || there[z];
}

static void host_term(struct group *g, struct near_term *t)
{
    switch (t->x->kind) {
    case APART_PORT:
        needs(g, column_self(g->m, t), AMOUNT_ONE);
        break;
    case APART_ANTI:
        if (t->x->self)
            needs(g, column_self(g->m, t), AMOUNT_ONE);
        else
            needs(g, column_where_none(g->m, t, false), LITTLE);
        break;
    case APART_WITH:
        if (sum(t->matched, g->m->n_nodes))
            needs(g, column_beside(g->m, t), LITTLE);
        else if (t->x->self)
            g->all.times = g->n;
        else
            none(g, "PodAffinity", "it must lie beside a pod that runs "
                 "nowhere yet");
        break;
    case APART_SPREAD:
        if (t->x->self) {
            const char *c = column_spread(g->m, t, g->p->shape);
            if (c)
                needs(g, c, AMOUNT_ONE);
        }
        break;
    }
}

static void zone_rule(struct group *g, uint32_t term)
{
    struct near_term *t = &g->m->terms[term];

    if (g->m->zones.n < 2 && t->x->kind == APART_SPREAD)
        return;
    switch (t->x->kind) {
    case APART_ANTI:
        zones_without(g, t->matched);
        g->one_each = g->one_each || t->x->self;
        break;
    case APART_WITH:
        if (sum(t->matched, g->m->zones.n)) {
            for (uint32_t z = 0; z < g->m->zones.n; z++)
                g->zone_out[z] = g->zone_out[z] || !t->matched[z];
        } else if (t->x->self) {
            g->one_zone = g->m->zones.n > 1;
        } else {
            none(g, "PodAffinity", "it must lie in the zone of a pod that "
                 "runs nowhere yet");
        }
        break;
    case APART_SPREAD:
        if (t->x->self)
            g->term_spread = term;
        break;
    case APART_PORT:
        break;
    }
}

/* Terms of others that keep it away. */
static void kept_away(struct group *g)
{
    for (uint32_t i = 0; i < g->m->n_terms; i++) {
        struct near_term *t = &g->m->terms[i];
        if (t->x->kind != APART_ANTI || !is_meant(g->m, i, g->p) ||
            carries(g->p, t->x))
            continue;
        if (t->x->zone)
            zones_without(g, t->carriers);
        else if (t->x->self)
            needs(g, column_self(g->m, t), LITTLE);
        else
            needs(g, column_where_none(g->m, t, true), LITTLE);
    }
}

/* The shape's own conditions may leave out a zone. */
static void zones_own(struct group *g)
{
    static const char key[] = "topology.kubernetes.io/zone";
    const struct pod_shape *s = g->p->shape;

    for (uint32_t z = 0; z < g->m->zones.n; z++) {
        struct pair pair = { key, g->m->zones.v[z] };
        struct pairs labels = { &pair, 1 };
        bool any = false;
        for (uint32_t i = 0; i < s->n_alts && !any; i++) {
            any = true;
            for (uint32_t r = 0; r < s->alts[i].n; r++)
                if (strcmp(s->alts[i].v[r].key, key) == 0)
                    any = any && pods_req_holds(&s->alts[i].v[r], &labels);
        }
        g->zone_out[z] = g->zone_out[z] || !any;
    }
}

static void part(struct group *g, uint32_t count, const char *const *zones,
                 uint32_t n_zones, struct near_part *to)
{
    *to = g->all;
    to->count = count;
    to->zones = (struct names){ zones, n_zones };
}

/* Pods go one by one to the zone that has the fewest. */
static void spread(struct group *g, const char *const *zones,
                   const uint32_t *zone, uint32_t n_zones,
                   struct near_part *v)
{
    const struct near_term *t = &g->m->terms[g->term_spread];
    uint32_t *has = ARENA_ARRAY(g->m->arena, uint32_t, n_zones);
    uint32_t *gets = ARENA_ARRAY(g->m->arena, uint32_t, n_zones);

    for (uint32_t z = 0; z < n_zones; z++)
        has[z] = t->matched[zone[z]];
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t best = 0;
        for (uint32_t z = 1; z < n_zones; z++)
            if (has[z] < has[best])
                best = z;
        has[best]++;
        gets[best]++;
    }
    for (uint32_t z = 0; z < n_zones; z++)
        if (gets[z])
            part(g, gets[z], &zones[z], 1, &v[g->ret.n++]);
}

static void zones_end(struct group *g)
{
    struct making *m = g->m;
    const char **zones = ARENA_ARRAY(m->arena, const char *, m->zones.n);
    uint32_t *zone = ARENA_ARRAY(m->arena, uint32_t, m->zones.n), n = 0;
    struct near_part *v;

    for (uint32_t z = 0; z < m->zones.n; z++)
        if (!g->zone_out[z]) {
            zones[n] = m->zones.v[z];
            zone[n++] = z;
        }
    v = ARENA_ARRAY(m->arena, struct near_part, m->zones.n + 1);
    g->ret.v = v;
    if (!g->n)
        return;
    if (!n) {
        none(g, "PodAffinity", "its pod affinity or anti-affinity by zone "
             "leaves no zone");
    } else if (g->one_each) {
        for (uint32_t z = 0; z < n && z < g->n; z++)
            part(g, 1, &zones[z], 1, &v[g->ret.n++]);
        g->ret.code = "PodAffinity";
        g->ret.text = "its anti-affinity by zone: each zone has one already";
    } else if (g->term_spread < m->n_terms && n > 1) {
        spread(g, zones, zone, n, v);
    } else {
        part(g, g->n, zones, g->one_zone || n < m->zones.n ? n : 0,
             &v[g->ret.n++]);
    }
}

struct near_parts pods_near(struct making *m, const struct pod *p, uint32_t n)
{
    struct group g = { .m = m, .p = p, .n = n, .term_spread = m->n_terms };
    bool by_zone = false;

    g.zone_out = ARENA_ARRAY(m->arena, bool, m->zones.n);
    zones_own(&g);
    for (uint32_t i = 0; i < p->shape->n_aparts; i++) {
        uint32_t t = term_find(m, &p->shape->aparts[i]);
        if (t == m->n_terms)
            none(&g, "TooManyConditions", "the pods that wait have too many "
                 "different conditions on one another");
        else if (!m->terms[t].x->zone)
            host_term(&g, &m->terms[t]);
        else {
            by_zone = true;
            zone_rule(&g, t);
        }
    }
    kept_away(&g);
    for (uint32_t z = 0; z < m->zones.n && !by_zone; z++)
        by_zone = g.zone_out[z];
    g.all.needs = (struct qtys){ g.needs.v, g.needs.n };
    if (by_zone && m->zones.n) {
        zones_end(&g);
    } else {
        struct near_part *v = ARENA_NEW(m->arena, struct near_part);
        part(&g, g.n, NULL, 0, v);
        g.ret.v = v;
        g.ret.n = g.n > 0;
    }
    return g.ret;
}
