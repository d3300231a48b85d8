/*
 * affinity.h - what the affinity files share; nobody else includes it.
 */
#ifndef WIRE_PODS_AFFINITY_H
#define WIRE_PODS_AFFINITY_H

#include "inside.h"

#define LITTLE INT64_C(1) /* 1/10,000: need it, hardly use it up */

struct affinity_count {
    const struct affinity *x;
    const char *space;            /* of who carries it */
    bool self;                    /* who carries it is one of those meant */
    uint32_t key;                 /* into m->keys; ON_HOST: by node */
    uint32_t *matched, *carriers; /* by node; by value of the key */
    const char *column, *reverse; /* names, NULL until used */
    const char *beside;           /* with the pod's other terms; of one pod */
};

/* The condition's place in m->terms; m->n_terms: it has none. */
uint32_t affinity_find(const struct builder *m, const struct affinity *x);
/* Does the condition mean a pod with these labels? */
bool affinity_means(const struct builder *m, const struct affinity_count *t,
                    const struct pairs *labels, const char *space);
/* The same of a pod, looked up. */
bool affinity_is_meant(struct builder *m, uint32_t term, const struct pod *p);
/* Is the condition one of the shape's own, in this namespace?  NULL: no. */
const struct affinity *affinity_carried(const struct pod_shape *s,
                                        const struct affinity *x);
/* Counts as when only pods that all of these terms mean are counted; NULL: by
 * each term itself. */
uint32_t **affinity_joint(struct builder *m, const uint32_t *terms, uint32_t n);
/* Runs a DaemonSet's pod that the condition means? */
bool affinity_of_daemons(struct builder *m, const struct affinity_count *t);

/* ---- affinity_columns.c: the name of the resource, made when first asked */

/* One on each node, for pods that keep their like away. */
const char *column_self(struct builder *m, struct affinity_count *t);
/* Not where there are some of those meant; reverse: of those that carry it. */
const char *column_where_none(struct builder *m, struct affinity_count *t,
                              bool reverse);
/* Only where there are some of those meant: there, by node. */
const char *column_beside(struct builder *m, struct affinity_count *t,
                          const uint32_t *there, bool joint);
/* As many as the skew allows above the emptiest node there will be, when n more
 * have come; NULL: nothing is bounded. */
const char *column_spread(struct builder *m, struct affinity_count *t,
                          const struct pod *p, uint32_t n);
/* Keys of all spreads of a pod, which a node must have to be a domain of one. */
struct spread_keys {
    uint32_t v[64], n;
};
void spread_keys_of(const struct builder *m, const struct pod_shape *s,
                    struct spread_keys *ret);
/* Does the node count as a domain of this spread? */
bool spread_counts(const struct builder *m, const struct affinity *x,
                   const struct pod_shape *s, const struct spread_keys *keys,
                   const struct view_node *n);

#endif
