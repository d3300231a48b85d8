/*
 * affinity_columns.c - conditions between hosts as resources ("columns").  See
 * affinity.h.
 *
 * Of an anti-affinity or a host port each node has one, and none where such a
 * pod runs; of a spread as many as maxSkew allows beyond the fullest of the
 * nodes that can take no more.  Where two kinds of waiting pods keep each other
 * away the packer may put them together: the scheduler will not, and the next
 * view has what is left.
 */
#include "affinity.h"

#include <string.h>

#include "../../model/amount.h"

static void node_has(struct builder *m, uint32_t node, const char *column,
                     int64_t left)
{
    int64_t total = left;

    for (uint32_t c = 0; c < m->columns.n; c++)
        if (m->columns.v[c].name == column && m->columns.v[c].fresh > total)
            total = m->columns.v[c].fresh;
    VEC_PUSH(m->arena, &m->nodes[node].more,
             ((struct more){column, left, total}));
}

static const char *column_new(struct builder *m, const char *name,
                              int64_t fresh)
{
    struct column c = {arena_strdup(m->arena, name), fresh, false};

    VEC_PUSH(m->arena, &m->columns, c);
    return c.name;
}

const char *column_self(struct builder *m, struct affinity_count *t)
{
    if (t->column)
        return t->column;
    t->column = column_new(m, t->x->name, AMOUNT_ONE);
    for (uint32_t i = 0; i < m->n_nodes; i++)
        node_has(m, i, t->column,
                 t->carriers[i]  ? 0
                 : t->matched[i] ? AMOUNT_ONE - LITTLE
                                 : AMOUNT_ONE);
    return t->column;
}

const char *column_where_none(struct builder *m, struct affinity_count *t,
                              bool reverse)
{
    const char **name = reverse ? &t->reverse : &t->column;
    const uint32_t *there = reverse ? t->carriers : t->matched;

    if (*name)
        return *name;
    *name = column_new(
        m, reverse ? arena_printf(m->arena, "%s-from", t->x->name) : t->x->name,
        AMOUNT_ONE);
    for (uint32_t i = 0; i < m->n_nodes; i++)
        node_has(m, i, *name, there[i] ? 0 : AMOUNT_ONE);
    return *name;
}

const char *column_beside(struct builder *m, struct affinity_count *t)
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

const char *column_spread(struct builder *m, struct affinity_count *t,
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
