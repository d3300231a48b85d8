/*
 * affinity_split.c - what a group of equal pods asks of its nodes because of
 * other pods: between hosts by resources, between other domains by rules that
 * topology.c settles.  See affinity.h.
 */
#include "affinity.h"

#include <string.h>

#include "../../model/amount.h"

struct group {
    struct builder *m;
    const struct pod *p;
    uint32_t n;
    VEC(struct qty) needs;
    VEC(struct topo_rule) rules;
    const char *code, *text;
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
    if (g->code)
        return;
    g->code = code;
    g->text = text;
}

static uint32_t sum(const uint32_t *v, uint32_t n)
{
    uint32_t all = 0;

    for (uint32_t i = 0; i < n; i++)
        all += v[i];
    return all;
}

static uint32_t values_of(const struct group *g, uint32_t key)
{
    return key == ON_HOST ? g->m->n_nodes : g->m->keys.v[key].n;
}

static void rule(struct group *g, struct topo_rule r)
{
    VEC_PUSH(g->m->arena, &g->rules, r);
}

/* Where some are, or none; a rule without a value says nothing. */
static void rule_values(struct group *g, enum topo_kind kind, uint32_t key,
                        const uint32_t *there)
{
    uint32_t n = values_of(g, key);
    bool *v = ARENA_ARRAY(g->m->arena, bool, n);

    for (uint32_t i = 0; i < n; i++)
        v[i] = there[i] > 0;
    if (kind == TOPO_IN || sum(there, n))
        rule(g, (struct topo_rule){.kind = kind, .key = key, .values = v});
}

/* ---- anti-affinity, ports */

static void anti(struct group *g, uint32_t term)
{
    struct affinity_count *t = &g->m->terms[term];

    if (t->key == ON_HOST) {
        if (t->self)
            needs(g, column_self(g->m, t), AMOUNT_ONE);
        else
            needs(g, column_where_none(g->m, t, false), LITTLE);
        return;
    }
    if (t->self)
        rule(g, (struct topo_rule){
                    .kind = TOPO_ONE_EACH, .key = t->key, .term = term});
    else
        rule_values(g, TOPO_OUT, t->key, t->matched);
    if (affinity_of_daemons(g->m, t))
        needs(g, column_where_none(g->m, t, false), LITTLE);
}

static void port(struct group *g, struct affinity_count *t,
                 const struct affinity *own)
{
    needs(g, column_self(g->m, t), own->self ? AMOUNT_ONE : LITTLE);
}

static bool any_daemon_carries(struct builder *m, const struct affinity *x)
{
    for (uint32_t i = 0; i < m->n_daemons; i++)
        if (affinity_carried(m->daemons[i]->shape, x))
            return true;
    return false;
}

/* Terms of others that keep it away. */
static void kept_away(struct group *g)
{
    for (uint32_t i = 0; i < g->m->n_terms; i++) {
        struct affinity_count *t = &g->m->terms[i];

        if (t->x->kind != AFFINITY_ANTI || !affinity_is_meant(g->m, i, g->p) ||
            affinity_carried(g->p->shape, t->x))
            continue;
        if (t->key == ON_HOST && t->self)
            needs(g, column_self(g->m, t), LITTLE);
        else if (t->key == ON_HOST || any_daemon_carries(g->m, t->x))
            needs(g, column_where_none(g->m, t, true), LITTLE);
        if (t->key != ON_HOST)
            rule_values(g, TOPO_OUT, t->key, t->carriers);
    }
}

/* ---- affinity: a pod counts when all terms mean it */

static bool all_self(const struct group *g, const uint32_t *terms, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!g->m->terms[terms[i]].self)
            return false;
    return true;
}

/* Beside what a new node brings along. */
static bool beside_daemons(struct group *g, const uint32_t *terms, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!affinity_of_daemons(g->m, &g->m->terms[terms[i]]))
            return false;
    return true;
}

static void beside(struct group *g, const uint32_t *terms, uint32_t n)
{
    struct builder *m = g->m;
    uint32_t **joint = n > 1 ? affinity_joint(m, terms, n) : NULL;
    bool daemons = n && beside_daemons(g, terms, n);

    for (uint32_t i = 0; i < n; i++) {
        struct affinity_count *t = &m->terms[terms[i]];
        const uint32_t *there = joint ? joint[i] : t->matched;
        bool any = sum(there, values_of(g, t->key)) > 0;

        if (daemons || (any && t->key == ON_HOST))
            needs(g, column_beside(m, t, there, joint ? true : false), LITTLE);
        else if (any)
            rule_values(g, TOPO_IN, t->key, there);
        else if (all_self(g, terms, n))
            rule(g, (struct topo_rule){.kind = TOPO_TOGETHER, .key = t->key});
        else
            none(g, "PodAffinity",
                 t->key == ON_HOST
                     ? "it must lie beside a pod that runs nowhere yet"
                     : "it must lie in the same domain (zone, rack ...) as a "
                       "pod that runs nowhere yet");
    }
}

/* ---- spread */

static void spread(struct group *g, uint32_t term)
{
    struct builder *m = g->m;
    struct affinity_count *t = &m->terms[term];
    struct spread_keys keys;
    bool *there;

    if (t->key == ON_HOST) {
        const char *c = column_spread(m, t, g->p, g->n);

        if (c)
            needs(g, c, t->self ? AMOUNT_ONE : LITTLE);
        return;
    }
    spread_keys_of(m, g->p->shape, &keys);
    there = ARENA_ARRAY(m->arena, bool, values_of(g, t->key));
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        uint32_t v = m->keys.v[t->key].of_node[i];

        if (v != NO_VALUE && !there[v] &&
            spread_counts(m, t->x, g->p->shape, &keys, &m->nodes[i]))
            there[v] = true;
    }
    rule(g, (struct topo_rule){.kind = TOPO_SPREAD,
                               .key = t->key,
                               .term = term,
                               .values = there,
                               .self = t->self,
                               .skew = t->x->skew,
                               .domains = t->x->domains});
}

/* ---- all of it */

static const struct topo_group *group_make(struct group *g)
{
    struct topo_group *r;

    if (!g->rules.n)
        return NULL;
    r = ARENA_NEW(g->m->arena, struct topo_group);
    *r = (struct topo_group){.rules = g->rules.v, .n_rules = g->rules.n};
    for (uint32_t i = 0; i < g->m->n_terms; i++)
        if (affinity_is_meant(g->m, i, g->p))
            r->meant |= UINT64_C(1) << i;
    return r;
}

struct affinity_asked pods_affinity_asked(struct builder *m,
                                          const struct pod *p, uint32_t n)
{
    struct group g = {.m = m, .p = p, .n = n};
    const struct pod_shape *s = p->shape;
    uint32_t *with = ARENA_ARRAY(m->arena, uint32_t, s->n_affinities),
             n_with = 0;

    for (uint32_t i = 0; i < s->n_affinities; i++) {
        uint32_t t = affinity_find(m, &s->affinities[i]);

        if (t == m->n_terms) {
            none(&g, "TooManyConditions",
                 "the pods that wait have too many different conditions on one "
                 "another");
            continue;
        }
        switch (s->affinities[i].kind) {
        case AFFINITY_PORT: port(&g, &m->terms[t], &s->affinities[i]); break;
        case AFFINITY_ANTI: anti(&g, t); break;
        case AFFINITY_BESIDE: with[n_with++] = t; break;
        case AFFINITY_SPREAD: spread(&g, t); break;
        }
    }
    beside(&g, with, n_with);
    kept_away(&g);
    return (struct affinity_asked){.needs = {g.needs.v, g.needs.n},
                                   .topo = group_make(&g),
                                   .code = g.code,
                                   .text = g.text};
}

struct topology pods_topology(struct builder *m)
{
    struct topo_term *v = ARENA_ARRAY(m->arena, struct topo_term, m->n_terms);

    for (uint32_t i = 0; i < m->n_terms; i++)
        v[i] = (struct topo_term){m->terms[i].key, m->terms[i].matched};
    return (struct topology){.keys = m->keys.v,
                             .n_keys = m->keys.n,
                             .terms = v,
                             .n_terms = m->n_terms,
                             .groups = m->groups.v,
                             .n_demands = m->groups.n};
}
