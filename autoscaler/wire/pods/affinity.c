/*
 * affinity.c - conditions of pods on other pods: which there are, and where the
 * pods run that they select or that carry them.  See inside.h.
 */
#include "affinity.h"

#include <stdlib.h>
#include <string.h>

#include "profiles/selectors.h"

#define HOST "kubernetes.io/hostname"
#define ZONE "topology.kubernetes.io/zone"

/* ---- the conditions there are */

uint32_t affinity_find(const struct builder *m, const struct affinity *x)
{
    uint32_t i = 0;

    while (i < m->n_terms && strcmp(m->terms[i].x->name, x->name) != 0)
        i++;
    return i;
}

/* By a namespace's labels; while we may not read them any is meant. */
static bool space_selected(const struct pods_store *s, const struct affinity *x,
                           const char *space)
{
    const struct space *found;

    if (s->hides_spaces)
        return true;
    found = (const struct space *)records_find(&s->spaces, space);
    return found ? pods_reqs_hold(&x->space_reqs, &found->labels)
                 : x->space_reqs.n == 0;
}

/* Does it mean pods of this namespace?  own: of the pod that carries it. */
static bool space_meant(const struct pods_store *s, const struct affinity *x,
                        const char *own, const char *space)
{
    if (pods_listed(&x->spaces, space))
        return true;
    if (x->by_space)
        return space_selected(s, x, space);
    return !x->spaces.n && strcmp(space, own) == 0;
}

bool affinity_means(const struct builder *m, const struct affinity_count *t,
                    const struct pairs *labels, const char *space)
{
    return t->x->kind != AFFINITY_PORT && pods_reqs_hold(&t->x->reqs, labels) &&
           space_meant(m->in->store, t->x, t->space, space);
}

static uint32_t key_of(struct builder *m, const char *key)
{
    if (strcmp(key, HOST) == 0)
        return ON_HOST;
    for (uint32_t i = 0; i < m->keys.n; i++)
        if (strcmp(m->keys.v[i].key, key) == 0)
            return i;
    VEC_PUSH(m->arena, &m->keys,
             ((struct topo_key){.key = arena_strdup(m->arena, key)}));
    return m->keys.n - 1;
}

/* What a pod of its own would add; all or none of it is taken. */
static bool terms_lack(const struct builder *m, const struct pod_shape *s)
{
    uint32_t more = 0;

    for (uint32_t i = 0; i < s->n_affinities; i++)
        more += affinity_find(m, &s->affinities[i]) == m->n_terms;
    return more > PODS_MAX_COLUMNS - m->n_terms;
}

/* labels: of who carries it; placed: it has its place, and only keeps others
 * away by what it has. */
static void terms_of(struct builder *m, const struct pod_shape *s,
                     const struct pairs *labels, const char *space, bool placed)
{
    if (!placed && terms_lack(m, s)) {
        m->terms_over++;
        return;
    }
    for (uint32_t i = 0; i < s->n_affinities; i++) {
        const struct affinity *x = &s->affinities[i];
        struct affinity_count *t = &m->terms[m->n_terms];

        if (placed && x->kind != AFFINITY_ANTI && x->kind != AFFINITY_PORT)
            continue;
        if (affinity_find(m, x) < m->n_terms)
            continue;
        if (m->n_terms == PODS_MAX_COLUMNS) {
            m->terms_over++;
            continue;
        }
        *t = (struct affinity_count){.x = x, .space = space, .key = ON_HOST};
        m->n_terms++;
        if (x->kind == AFFINITY_PORT)
            continue;
        t->key = key_of(m, x->key);
        t->self = affinity_means(m, t, labels, space);
    }
}

/* Conditions whose selector fits these labels, a bit each. */
static uint64_t labels_match(struct builder *m, struct pod_labels *l)
{
    if (l->made_for == m->in->store->views)
        return l->match;
    l->match = 0;
    l->made_for = m->in->store->views;
    for (uint32_t i = 0; i < m->n_terms; i++)
        if (m->terms[i].x->kind != AFFINITY_PORT &&
            pods_reqs_hold(&m->terms[i].x->reqs, &l->pairs))
            l->match |= UINT64_C(1) << i;
    return l->match;
}

bool affinity_is_meant(struct builder *m, uint32_t term, const struct pod *p)
{
    const struct affinity_count *t = &m->terms[term];

    return (labels_match(m, p->labels) >> term & 1) &&
           space_meant(m->in->store, t->x, t->space, p->space);
}

const struct affinity *affinity_carried(const struct pod_shape *s,
                                        const struct affinity *x)
{
    for (uint32_t i = 0; i < s->n_affinities; i++)
        if (strcmp(s->affinities[i].name, x->name) == 0)
            return &s->affinities[i];
    return NULL;
}

/* ---- domains: the values of topology keys */

static const char *value_of(const struct knode *k, const char *key)
{
    const char *v = strcmp(key, ZONE) == 0 ? k->zone
                                           : pairs_value(&k->labels, key);

    return v && *v ? v : NULL;
}

static void keys_begin(struct builder *m)
{
    for (uint32_t i = 0; i < m->keys.n; i++) {
        struct topo_key *k = &m->keys.v[i];

        k->of_node = ARENA_ARRAY(m->arena, uint32_t, m->n_nodes);
        k->values = ARENA_ARRAY(m->arena, const char *, m->n_nodes);
        for (uint32_t n = 0; n < m->n_nodes; n++) {
            const char *v = value_of(m->nodes[n].k, k->key);
            uint32_t at = 0;

            while (v && at < k->n && strcmp(k->values[at], v) != 0)
                at++;
            if (v && at == k->n)
                k->values[k->n++] = arena_strdup(m->arena, v);
            k->of_node[n] = v ? at : NO_VALUE;
        }
    }
}

/* Where a pod on this node counts; NO_VALUE: nowhere. */
static uint32_t domain_of(const struct builder *m, uint32_t key, uint32_t node)
{
    return key == ON_HOST ? node : m->keys.v[key].of_node[node];
}

static uint32_t domains(const struct builder *m, uint32_t key)
{
    return key == ON_HOST ? m->n_nodes : m->keys.v[key].n;
}

/* ---- where they run */

static void carriers_add(struct affinity_count *t, uint32_t at,
                         const struct pod_shape *s)
{
    const struct affinity *own = s->n_affinities ? affinity_carried(s, t->x)
                                                 : NULL;

    /* of a port at one address there is a little less left for all of them */
    if (own && t->x->kind == AFFINITY_PORT && !own->self)
        t->matched[at]++;
    else
        t->carriers[at] += own ? 1 : 0;
}

static void pod_count(struct builder *m, const struct pod *p, uint32_t node)
{
    for (uint32_t i = 0; i < m->n_terms; i++) {
        struct affinity_count *t = &m->terms[i];
        uint32_t at = domain_of(m, t->key, node);

        if (at == NO_VALUE)
            continue;
        /* a spread does not count who goes */
        t->matched[at] += !(p->ending && t->x->kind == AFFINITY_SPREAD) &&
                          affinity_is_meant(m, i, p);
        carriers_add(t, at, p->shape);
    }
}

/* As if its pod ran there. */
static void daemon_count(struct builder *m, const struct daemon *d,
                         uint32_t node)
{
    for (uint32_t i = 0; i < m->n_terms; i++) {
        struct affinity_count *t = &m->terms[i];
        uint32_t at = domain_of(m, t->key, node);

        if (at == NO_VALUE)
            continue;
        t->matched[at] += affinity_means(m, t, &d->labels, d->space);
        carriers_add(t, at, d->shape);
    }
}

static void pods_count(struct builder *m)
{
    for (uint32_t i = 0; i < m->n_bound; i++) {
        const struct knode *k = (const struct knode *)records_find(
            &m->in->store->nodes, m->bound[i]->node);

        if (k)
            pod_count(m, m->bound[i], k->ix);
    }
    for (uint32_t i = 0; i < m->n_nodes; i++)
        for (uint32_t d = 0; d < m->n_daemons && m->nodes[i].coming; d++)
            if (m->nodes[i].coming[d])
                daemon_count(m, m->daemons[d], i);
}

uint32_t **affinity_joint(struct builder *m, const uint32_t *terms, uint32_t n)
{
    uint32_t **v = ARENA_ARRAY(m->arena, uint32_t *, n);

    for (uint32_t i = 0; i < n; i++)
        v[i] = ARENA_ARRAY(m->arena, uint32_t,
                           domains(m, m->terms[terms[i]].key));
    for (uint32_t b = 0; b < m->n_bound; b++) {
        const struct pod *p = m->bound[b];
        const struct knode *k = (const struct knode *)records_find(
            &m->in->store->nodes, p->node);
        bool all = k;

        for (uint32_t i = 0; i < n && all; i++)
            all = affinity_is_meant(m, terms[i], p);
        for (uint32_t i = 0; i < n && all; i++) {
            uint32_t at = domain_of(m, m->terms[terms[i]].key, k->ix);

            if (at != NO_VALUE)
                v[i][at]++;
        }
    }
    return v;
}

bool affinity_of_daemons(struct builder *m, const struct affinity_count *t)
{
    for (uint32_t i = 0; i < m->n_daemons; i++)
        if (affinity_means(m, t, &m->daemons[i]->labels, m->daemons[i]->space))
            return true;
    return false;
}

static void daemons_terms(struct builder *m)
{
    for (uint32_t i = 0; i < m->n_daemons; i++)
        terms_of(m, m->daemons[i]->shape, &m->daemons[i]->labels,
                 m->daemons[i]->space, true);
}

void pods_affinity_begin(struct builder *m, struct pod **pending, uint32_t n)
{
    m->terms = ARENA_ARRAY(m->arena, struct affinity_count,
                           PODS_MAX_COLUMNS + 1);
    for (uint32_t i = 0; i < n; i++)
        pods_defaults_resolve(m, pending[i]->shape);
    for (uint32_t i = 0; i < n; i++)
        if (pending[i]->state == POD_DEMAND &&
            !(i && pending[i - 1]->state == POD_DEMAND &&
              pending[i - 1]->shape == pending[i]->shape))
            terms_of(m, pending[i]->shape, &pending[i]->labels->pairs,
                     pending[i]->space, false);
    for (uint32_t i = 0; i < m->n_bound && n; i++)
        terms_of(m, m->bound[i]->shape, &m->bound[i]->labels->pairs,
                 m->bound[i]->space, true);
    if (n)
        daemons_terms(m);
    if (!m->n_terms)
        return;
    keys_begin(m);
    for (uint32_t t = 0; t < m->n_terms; t++) {
        uint32_t size = domains(m, m->terms[t].key) + 1;

        m->terms[t].matched = ARENA_ARRAY(m->arena, uint32_t, size);
        m->terms[t].carriers = ARENA_ARRAY(m->arena, uint32_t, size);
    }
    pods_count(m);
}
