/*
 * affinity.c - conditions of pods on other pods: which there are, and where the
 * pods run that they select or that carry them.  See inside.h.
 */
#include "affinity.h"

#include <stdlib.h>
#include <string.h>

/* ---- the conditions there are */

uint32_t affinity_find(const struct builder *m, const struct affinity *x)
{
    uint32_t i = 0;

    while (i < m->n_terms && strcmp(m->terms[i].x->name, x->name) != 0)
        i++;
    return i;
}

static void terms_of(struct builder *m, const struct pod *p, bool bound)
{
    for (uint32_t i = 0; i < p->shape->n_affinities; i++) {
        const struct affinity *x = &p->shape->affinities[i];
        if (bound && x->kind != AFFINITY_ANTI && x->kind != AFFINITY_PORT)
            continue; /* it has its place, and keeps nobody away */
        if (affinity_find(m, x) < m->n_terms)
            continue;
        if (m->n_terms == PODS_MAX_COLUMNS) {
            m->terms_over++;
            continue;
        }
        m->terms[m->n_terms++] = (struct affinity_count){.x = x,
                                                         .space = p->space};
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
    return (labels_match(m, p->labels) >> term & 1) &&
           affinity_space_meant(m->terms[term].x, m->terms[term].space,
                                p->space);
}

bool affinity_carries(const struct pod *p, const struct affinity *x)
{
    for (uint32_t i = 0; i < p->shape->n_affinities; i++)
        if (strcmp(p->shape->affinities[i].name, x->name) == 0)
            return true;
    return false;
}

/* ---- zones */

static uint32_t zone_ix(const struct builder *m, const char *zone)
{
    uint32_t i = 0;

    while (i < m->zones.n && strcmp(m->zones.v[i], zone) != 0)
        i++;
    return i;
}

static void zones_begin(struct builder *m)
{
    const struct names *own = &m->in->zones;
    const char **v = ARENA_ARRAY(m->arena, const char *, own->n + m->n_nodes);

    m->zones.v = v;
    for (uint32_t i = 0; i < own->n; i++)
        if (*own->v[i] && zone_ix(m, own->v[i]) == m->zones.n)
            v[m->zones.n++] = arena_strdup(m->arena, own->v[i]);
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (*m->nodes[i].k->zone &&
            zone_ix(m, m->nodes[i].k->zone) == m->zones.n)
            v[m->zones.n++] = arena_strdup(m->arena, m->nodes[i].k->zone);
}

void pods_affinity_begin(struct builder *m, struct pod **pending, uint32_t n)
{
    m->terms = ARENA_ARRAY(m->arena, struct affinity_count, PODS_MAX_COLUMNS);
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
        const struct knode *k = (const struct knode *)records_find(
            &m->in->store->nodes, p->node);
        for (uint32_t t = 0; k && t < m->n_terms; t++) {
            uint32_t at = m->terms[t].x->zone ? zone_ix(m, k->zone) : k->ix;
            m->terms[t].matched[at] += affinity_is_meant(m, t, p);
            m->terms[t].carriers[at] += p->shape->n_affinities &&
                                        affinity_carries(p, m->terms[t].x);
        }
    }
}
