/*
 * affinity_split.c - a group of equal pods cut up so that their conditions on
 * other pods hold: between hosts by resources, between zones by parts.  See
 * affinity.h.
 */
#include "affinity.h"

#include <string.h>

#include "../../model/amount.h"

struct group {
    struct builder *m;
    const struct pod *p;
    uint32_t n;
    struct affinity_part all; /* what every part has */
    VEC(struct qty) needs;
    bool *zone_out;       /* by zone; NULL: all will do */
    uint32_t term_spread; /* a spread over zones; m->n_terms: none */
    bool one_each;        /* at most one in a zone */
    bool one_zone;        /* all in one zone */
    struct affinity_parts ret;
};

static void needs(struct group *g, const char *column, int64_t amount)
{
    for (uint32_t i = 0; i < g->needs.n; i++)
        if (g->needs.v[i].name == column) {
            if (g->needs.v[i].amount < amount)
                g->needs.v[i].amount = amount;
            return;
        }
    VEC_PUSH(g->m->arena, &g->needs, ((struct qty){column, amount}));
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

static void host_term(struct group *g, struct affinity_count *t)
{
    switch (t->x->kind) {
    case AFFINITY_PORT: needs(g, column_self(g->m, t), AMOUNT_ONE); break;
    case AFFINITY_ANTI:
        if (t->x->self)
            needs(g, column_self(g->m, t), AMOUNT_ONE);
        else
            needs(g, column_where_none(g->m, t, false), LITTLE);
        break;
    case AFFINITY_BESIDE:
        if (sum(t->matched, g->m->n_nodes))
            needs(g, column_beside(g->m, t), LITTLE);
        else if (t->x->self)
            g->all.times = g->n;
        else
            none(g, "PodAffinity",
                 "it must lie beside a pod that runs nowhere yet");
        break;
    case AFFINITY_SPREAD:
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
    struct affinity_count *t = &g->m->terms[term];

    if (g->m->zones.n < 2 && t->x->kind == AFFINITY_SPREAD)
        return;
    switch (t->x->kind) {
    case AFFINITY_ANTI:
        zones_without(g, t->matched);
        g->one_each = g->one_each || t->x->self;
        break;
    case AFFINITY_BESIDE:
        if (sum(t->matched, g->m->zones.n)) {
            for (uint32_t z = 0; z < g->m->zones.n; z++)
                g->zone_out[z] = g->zone_out[z] || !t->matched[z];
        } else if (t->x->self) {
            g->one_zone = g->m->zones.n > 1;
        } else {
            none(g, "PodAffinity",
                 "it must lie in the zone of a pod that runs nowhere yet");
        }
        break;
    case AFFINITY_SPREAD:
        if (t->x->self)
            g->term_spread = term;
        break;
    case AFFINITY_PORT: break;
    }
}

/* Terms of others that keep it away. */
static void kept_away(struct group *g)
{
    for (uint32_t i = 0; i < g->m->n_terms; i++) {
        struct affinity_count *t = &g->m->terms[i];
        if (t->x->kind != AFFINITY_ANTI || !affinity_is_meant(g->m, i, g->p) ||
            affinity_carries(g->p, t->x))
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
        struct pair pair = {key, g->m->zones.v[z]};
        struct pairs labels = {&pair, 1};
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
                 uint32_t n_zones, struct affinity_part *to)
{
    *to = g->all;
    to->count = count;
    to->zones = (struct names){zones, n_zones};
}

/* Pods go one by one to the zone that has the fewest. */
static void spread(struct group *g, const char *const *zones,
                   const uint32_t *zone, uint32_t n_zones,
                   struct affinity_part *v)
{
    const struct affinity_count *t = &g->m->terms[g->term_spread];
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
    struct builder *m = g->m;
    const char **zones = ARENA_ARRAY(m->arena, const char *, m->zones.n);
    uint32_t *zone = ARENA_ARRAY(m->arena, uint32_t, m->zones.n), n = 0;
    struct affinity_part *v;

    for (uint32_t z = 0; z < m->zones.n; z++)
        if (!g->zone_out[z]) {
            zones[n] = m->zones.v[z];
            zone[n++] = z;
        }
    v = ARENA_ARRAY(m->arena, struct affinity_part, m->zones.n + 1);
    g->ret.v = v;
    if (!g->n)
        return;
    if (!n) {
        none(g, "PodAffinity",
             "its pod affinity or anti-affinity by zone leaves no zone");
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

struct affinity_parts pods_affinity_split(struct builder *m,
                                          const struct pod *p, uint32_t n)
{
    struct group g = {.m = m, .p = p, .n = n, .term_spread = m->n_terms};
    bool by_zone = false;

    g.zone_out = ARENA_ARRAY(m->arena, bool, m->zones.n);
    zones_own(&g);
    for (uint32_t i = 0; i < p->shape->n_affinities; i++) {
        uint32_t t = affinity_find(m, &p->shape->affinities[i]);
        if (t == m->n_terms)
            none(&g, "TooManyConditions",
                 "the pods that wait have too many different conditions on one "
                 "another");
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
    g.all.needs = (struct qtys){g.needs.v, g.needs.n};
    if (by_zone && m->zones.n) {
        zones_end(&g);
    } else {
        struct affinity_part *v = ARENA_NEW(m->arena, struct affinity_part);
        part(&g, g.n, NULL, 0, v);
        g.ret.v = v;
        g.ret.n = g.n > 0;
    }
    return g.ret;
}
