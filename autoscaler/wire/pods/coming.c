/*
 * coming.c - pods of DaemonSets that a node will hold and does not yet.  See
 * inside.h.
 *
 * A node that has just come, or comes up, is empty for a moment: its
 * controllers' pods follow.  As long as the scheduler may not have had the time
 * for it (word.c) they are counted there as they are on a node of which nothing
 * is there yet (type.c): they take room, and others mind them.  One that has no
 * room left, or that a pod which runs there keeps away, is not waited for.
 */
#include "inside.h"

#include <string.h>

#include "affinity.h"

static const struct daemon **daemons_list(struct builder *m)
{
    const struct hash *all = &m->in->store->daemons.by_id;
    const struct daemon **v = ARENA_ARRAY(m->arena, const struct daemon *,
                                          all->n);
    const struct daemon *d;

    m->n_daemons = 0;
    for (uint32_t at = 0; (d = hash_each(all, &at));)
        v[m->n_daemons++] = d;
    return v;
}

/* "DaemonSet/space/name", and its id "space/name". */
static bool is_of(const struct pod *p, const struct daemon *d)
{
    const char *name = strchr(p->owner, '/');

    return name && strcmp(name + 1, d->item.id) == 0;
}

/* Does a condition of this shape keep such a pod off its host? */
static bool keeps_off(struct builder *m, const struct pod_shape *s,
                      const char *space, const struct pairs *other,
                      const char *other_space)
{
    for (uint32_t i = 0; i < s->n_affinities; i++) {
        const struct affinity *x = &s->affinities[i];
        struct affinity_count t = {.x = x, .space = space};

        if (x->kind == AFFINITY_ANTI &&
            strcmp(x->key, "kubernetes.io/hostname") == 0 &&
            affinity_means(m, &t, other, other_space))
            return true;
    }
    return false;
}

static bool has_port_of(const struct pod_shape *s, const struct pod_shape *of)
{
    for (uint32_t i = 0; i < of->n_affinities; i++) {
        const struct affinity *x = &of->affinities[i], *y;

        if (x->kind == AFFINITY_PORT && (y = affinity_carried(s, x)) &&
            (x->self || y->self))
            return true;
    }
    return false;
}

/* It is there, or cannot come while this pod is. */
static bool settles(struct builder *m, const struct daemon *d,
                    const struct pod *p)
{
    if (p->daemon && is_of(p, d))
        return true;
    return keeps_off(m, d->shape, d->space, &p->labels->pairs, p->space) ||
           keeps_off(m, p->shape, p->space, &d->labels, d->space) ||
           has_port_of(p->shape, d->shape);
}

static bool has_room(const struct view_node *n, const struct qtys *needs)
{
    for (uint32_t i = 0; i < needs->n; i++)
        for (uint32_t k = 0; k < n->k->total.n; k++)
            if (strcmp(n->k->total.v[k].name, needs->v[i].name) == 0 &&
                n->left[k] < needs->v[i].amount)
                return false;
    return true;
}

void daemons_coming(struct builder *m, uint32_t waiting)
{
    bool any = false;

    m->daemons = daemons_list(m);
    if (!m->n_daemons || !waiting)
        return;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        struct view_node *n = &m->nodes[i];

        if (!node_is_untried(m, n, waiting))
            continue;
        n->coming = ARENA_ARRAY(m->arena, bool, m->n_daemons);
        any = true;
        for (uint32_t d = 0; d < m->n_daemons; d++)
            n->coming[d] = shape_may_lie(m->daemons[d]->shape, n->k) &&
                           shape_tolerates(m->daemons[d]->shape, n);
    }
    for (uint32_t i = 0; i < m->n_bound && any; i++) {
        const struct pod *p = m->bound[i];
        const struct knode *k = (const struct knode *)records_find(
            &m->in->store->nodes, p->node);
        bool *coming = k ? m->nodes[k->ix].coming : NULL;

        for (uint32_t d = 0; d < m->n_daemons && coming; d++)
            coming[d] = coming[d] && !settles(m, m->daemons[d], p);
    }
    for (uint32_t i = 0; i < m->n_nodes && any; i++) {
        struct view_node *n = &m->nodes[i];

        for (uint32_t d = 0; d < m->n_daemons && n->coming; d++) {
            const struct qtys *needs = &m->daemons[d]->shape->needs;

            n->coming[d] = n->coming[d] && has_room(n, needs);
            if (n->coming[d])
                view_node_use(n, needs);
        }
    }
}
