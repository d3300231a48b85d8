/*
 * nodes.c - which of a source's nodes is which machine, and how old that is.
 *
 * A machine is found under any of its names: the cloud's id, ours, and with a
 * source that has addresses for names its address.  A name that two living
 * nodes share finds neither: taking one machine for another would end the wrong
 * one.
 */
#include <stdlib.h>
#include <string.h>

#include "inside.h"

enum { STALE_MS = 10000 }; /* a view older than this is not fresh */

static int by_name(const void *a, const void *b)
{
    const struct node_name *x = a, *y = b;
    int d = strcmp(x->name, y->name);

    if (d)
        return d;
    /* of several with one id (a raylet started again) the living comes first */
    if ((x->node->status == SOURCE_DEAD) != (y->node->status == SOURCE_DEAD))
        return x->node->status == SOURCE_DEAD ? 1 : -1;
    return strcmp(x->node->node_id, y->node->node_id);
}

void source_index(struct source *h)
{
    const struct source_view *view = h->view;
    struct node_name *v;
    uint32_t n = 0;

    for (uint32_t i = 0; i < view->n_nodes; i++)
        n += 1 + view->nodes[i].aliases.n;
    v = ARENA_ARRAY(&h->view->arena, struct node_name, n);
    n = 0;
    for (uint32_t i = 0; i < view->n_nodes; i++) {
        const struct source_node *x = &view->nodes[i];

        if (*x->instance_id)
            v[n++] = (struct node_name){x->instance_id, x};
        for (uint32_t k = 0; k < x->aliases.n; k++)
            if (*x->aliases.v[k])
                v[n++] = (struct node_name){x->aliases.v[k], x};
    }
    qsort(v, n, sizeof *v, by_name);
    h->names = v;
    h->n_names = n;
}

const struct source_node *source_node_named(const struct source *h,
                                            const char *id)
{
    uint32_t lo = 0, hi = h->n_names;

    if (!*id)
        return NULL;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (strcmp(h->names[mid].name, id) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == h->n_names || strcmp(h->names[lo].name, id) != 0)
        return NULL;
    /* Ray's own ids are one per node, so the first of them is meant. */
    for (uint32_t i = lo + 1; h->ops->by_address && i < h->n_names &&
                              strcmp(h->names[i].name, id) == 0;
         i++)
        if (h->names[i].node != h->names[lo].node)
            return NULL;
    return h->names[lo].node;
}

static const struct source_node *node_in(const struct source *h,
                                         const struct machine *m)
{
    const char *last = strrchr(m->cloud_id, '/');
    const struct source_node *n;

    if (!h->view)
        return NULL;
    if ((n = source_node_named(h, m->cloud_id)) ||
        (n = source_node_named(h, m->id)))
        return n;
    if (!h->ops->by_address)
        return NULL;
    if (last && (n = source_node_named(h, last + 1)))
        return n;
    return source_node_named(h, m->address);
}

struct source *source_for_machines(struct sources *s)
{
    return s->n ? &s->all[s->n - 1] : NULL;
}

const struct source *source_of_machines(const struct sources *s)
{
    return s->n ? &s->all[s->n - 1] : NULL;
}

const struct source *source_hosted(const struct sources *s)
{
    return s->n > 1 ? &s->all[0] : NULL;
}

const struct source_node *source_node_of(const struct sources *s,
                                         const struct machine *m)
{
    return s->n ? node_in(&s->all[s->n - 1], m) : NULL;
}

bool source_is_fresh(const struct sources *s, const struct source *h)
{
    /* What was asked before the computer slept tells how it was then. */
    int64_t slept = s->env->slept_ms - h->began_slept_ms;

    return h->view && h->failures == 0 && (h->moved || !h->ops->numbered) &&
           s->env->now_ms - h->read_ms + slept < STALE_MS;
}

int64_t source_stale_ms(const struct source *h)
{
    return h->read_ms + STALE_MS;
}

uint32_t sources_fresh_set(const struct sources *s)
{
    uint32_t set = 0;

    for (uint32_t i = 0; i < s->n; i++)
        set |= (uint32_t)source_is_fresh(s, &s->all[i]) << i;
    return set;
}

bool sources_fresh(const struct sources *s)
{
    return sources_fresh_set(s) == (UINT32_C(1) << s->n) - 1;
}

const struct source *source_of_kind(const struct sources *s, const char *kind)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (strcmp(s->all[i].ops->kind, kind) == 0)
            return &s->all[i];
    return NULL;
}
