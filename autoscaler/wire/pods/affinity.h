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
    uint32_t *matched, *carriers; /* by node; by zone when x->zone */
    const char *column, *reverse; /* names, NULL until used */
};

/* The condition's place in m->terms; m->n_terms: it has none. */
uint32_t affinity_find(const struct builder *m, const struct affinity *x);
/* Does it mean pods of this namespace?  own: of the pod that carries it. */
bool affinity_space_meant(const struct affinity *x, const char *own,
                          const char *space);
/* Does the condition mean this pod?  Is it one of the pod's own? */
bool affinity_is_meant(struct builder *m, uint32_t term, const struct pod *p);
bool affinity_carries(const struct pod *p, const struct affinity *x);

/* ---- affinity_columns.c: the name of the resource, made when first asked */

/* One on each node, for pods that keep their like away. */
const char *column_self(struct builder *m, struct affinity_count *t);
/* Not where there are some of those meant; reverse: of those that carry it. */
const char *column_where_none(struct builder *m, struct affinity_count *t,
                              bool reverse);
/* Only where there are some of those meant. */
const char *column_beside(struct builder *m, struct affinity_count *t);
/* As many as the skew allows above the emptiest node that stays as it is;
 * NULL: nothing is bounded. */
const char *column_spread(struct builder *m, struct affinity_count *t,
                          const struct pod_shape *s);

#endif
