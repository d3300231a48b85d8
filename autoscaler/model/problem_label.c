/*
 * problem_label.c - the labels of offers and nodes, with taints and queues.
 *
 * Several sources may claim one key; the claim with the highest rank is used.
 * An offer has its type's labels and, where those leave a key out, its zone
 * under three keys and its market.  A node's own labels go before its type's.
 */
#include <stdlib.h>
#include <string.h>

#include "accel.h"
#include "problem_build.h"

/* Ranks: who claims, plus how the claim is written. */
enum {
    BY_PLACE = 0,
    BY_TYPE = 4,
    BY_NODE = 8,
    AS_KEY = 2,
    AS_RESOURCE = 1, /* "accelerator_type:T4" */
    AS_ALIAS = 0
};

static void claim(struct builder *m, uint32_t key, uint32_t value,
                  uint32_t rank)
{
    struct label_claim x = {key, value, rank};

    VEC_PUSH(&m->scratch, &m->claims, x);
}

static void claim_accelerator(struct builder *m, const char *type,
                              uint32_t rank)
{
    claim(m, m->id.accelerator, builder_id(m, builder_canonical(m, type)),
          rank);
}

static void claim_own(struct builder *m, const struct pairs *p,
                      const struct qtys *q, uint32_t rank)
{
    bool has = false;

    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t key = builder_id(m, p->v[i].key);

        if (key == m->id.accelerator) {
            claim_accelerator(m, p->v[i].value, rank + AS_KEY);
            has = true;
            continue;
        }
        claim(m, key, builder_id(m, p->v[i].value), rank + AS_KEY);
        if (strcmp(p->v[i].key, "accelerator_type") == 0)
            claim_accelerator(m, p->v[i].value, rank + AS_ALIAS);
    }
    for (uint32_t i = 0; i < q->n && !has; i++) {
        const char *type = accel_type_of_resource(q->v[i].name);

        if (type && q->v[i].amount > 0)
            claim_accelerator(m, type, rank + AS_RESOURCE);
    }
}

static void claim_place(struct builder *m, const char *zone, bool spot)
{
    claim(m, m->id.market, spot ? m->id.spot : m->id.on_demand, BY_PLACE);
    if (zone && zone[0]) {
        uint32_t value = builder_id(m, zone);

        claim(m, m->id.topology_zone, value, BY_PLACE);
        claim(m, m->id.ray_zone, value, BY_PLACE);
        claim(m, m->id.zone, value, BY_PLACE);
    }
}

static void claim_taints(struct builder *m, const struct taints *t,
                         uint32_t rank)
{
    for (uint32_t i = 0; i < t->n; i++)
        claim(m,
              PB_TAINT | (uint32_t)t->v[i].effect << PB_EFFECT |
                  builder_id(m, t->v[i].key),
              builder_id(m, t->v[i].value), rank);
}

/* Labels and taints of the type, and taints of its offer there. */
static void claim_type(struct builder *m, const struct snap_type *t,
                       const char *zone, bool spot)
{
    claim_own(m, &t->labels, &t->resources, BY_TYPE);
    claim_taints(m, &t->taints, BY_TYPE);
    for (uint32_t i = 0; i < t->n_offers; i++)
        if (t->offers[i].spot == spot && strcmp(t->offers[i].zone, zone) == 0)
            claim_taints(m, &t->offers[i].taints, BY_TYPE);
}

/* The value of the queue label among the claims so far, or NULL. */
static const char *queue_label(const struct builder *m)
{
    const struct label_claim *best = NULL;

    for (uint32_t i = 0; i < m->claims.n; i++)
        if (m->claims.v[i].key == m->id.queue &&
            (!best || m->claims.v[i].rank > best->rank))
            best = &m->claims.v[i];
    return best ? m->strings.items[best->value].p : NULL;
}

static void claim_queues(struct builder *m, const char *type, const char *label)
{
    for (uint32_t i = 0; i < m->snapshot->n_queues; i++)
        if (builder_queue_has(m, i, type, label))
            claim(m, PB_QUEUE | i, 0, BY_TYPE);
}

/* By key, the highest rank first; equal ranks by value, so that the order of
 * the claims does not matter. */
static int by_key(const void *pa, const void *pb)
{
    const struct label_claim *a = pa, *b = pb;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank > b->rank ? -1 : 1;
    return (a->value > b->value) - (a->value < b->value);
}

/* The last n labels, or those that are the same and were there before. */
static uint32_t labels_share(struct builder *m, uint32_t n)
{
    const uint32_t first = m->labels.n - n;
    uint32_t set;

    if (!m->label_sets.arena)
        intern_init(&m->label_sets, &m->scratch, 64);
    set = intern_add(&m->label_sets, m->labels.v + first,
                     n * sizeof *m->labels.v, 1);
    if (set < m->set_first.n)
        m->labels.n = first;
    else
        VEC_PUSH(&m->scratch, &m->set_first, first);
    return m->set_first.v[set];
}

/* Appends what the claims amount to; how many.  No claims are left. */
static uint32_t labels_end(struct builder *m, uint32_t *ret_first)
{
    const struct label_claim *v = m->claims.v;
    const uint32_t first = m->labels.n;
    uint32_t n;

    if (m->claims.n > 1)
        qsort(m->claims.v, m->claims.n, sizeof *v, by_key);
    for (uint32_t i = 0; i < m->claims.n; i++)
        if (i == 0 || v[i].key != v[i - 1].key) {
            struct pb_label l = {v[i].key, v[i].value};

            VEC_PUSH(m->arena, &m->labels, l);
        }
    m->claims.n = 0;
    n = m->labels.n - first;
    *ret_first = n > 0 ? labels_share(m, n) : 0;
    return n;
}

void builder_offer_labels(struct builder *m, const struct snap_type *t,
                          struct pb_offer *o)
{
    const char *zone = m->strings.items[o->zone].p;

    claim_type(m, t, zone, o->spot);
    claim_place(m, zone, o->spot);
    claim_queues(m, t->name, queue_label(m));
    o->n_labels = labels_end(m, &o->first_label);
}

void builder_node_labels(struct builder *m, const struct snap_node *from,
                         struct pb_node *n)
{
    const char *type = n->type == NONE ? NULL : from->type, *queue;

    if (type)
        claim_type(m, m->types[n->type], from->zone, from->spot);
    claim_own(m, &from->labels, &from->total, BY_NODE);
    claim_place(m, from->zone, from->spot);
    claim_taints(m, &from->taints, BY_NODE);
    queue = queue_label(m);
    n->queue = builder_node_queue(m, type, queue);
    claim_queues(m, type, queue);
    n->n_labels = labels_end(m, &n->first_label);
}

const char *builder_accelerator(const struct builder *m, uint32_t first,
                                uint32_t n)
{
    for (uint32_t i = first; i < first + n; i++)
        if (m->labels.v[i].key == m->id.accelerator)
            return m->strings.items[m->labels.v[i].value].p;
    return "";
}
