/*
 * match.c - a maximum flow from demand groups to classes of nodes.
 *
 * Groups have so many bundles, classes so many nodes, and a group may use a class
 * when one of its bundles fits there.  Paths are looked for in breadth; each
 * carries as much as its narrowest part, so the work does not depend on how
 * many bundles and nodes there are.
 */
#include "match.h"

#include <string.h>

#include "pack.h"

struct flow {
    struct candidate *d;
    const uint32_t *groups, *alts;
    uint32_t n_groups, n_nodes; /* n_nodes: classes */
    uint32_t *class_ix;
    bool *may;         /* group x class */
    uint32_t *through; /* group x class: bundles */
    uint32_t *group_left, *class_left;
    uint32_t *from_class, *from_group; /* the path: predecessors */
    uint32_t *queue;
};

static void edges_make(struct flow *f, uint32_t gang)
{
    struct candidate *d = f->d;
    const struct tables *t = d->t;
    enum side side = t->groups[f->groups[0]].side;

    for (uint32_t i = 0; i != NONE; i = d->classes.v[i].next) {
        const struct node_class *c = &d->classes.v[i];

        d->work++;
        if (c->n == 0 || c->spread == gang)
            continue;
        f->class_ix[f->n_nodes] = i;
        f->class_left[f->n_nodes] = c->n;
        for (uint32_t w = 0; w < f->n_groups; w++) {
            uint32_t shape = tables_shape(d->t, f->groups[w], f->alts[w]);

            f->may[f->n_nodes * f->n_groups + w] =
                room_fit(t->s, &c->room[side], &t->needs[shape], 1) > 0 &&
                candidate_matches(d, i, shape);
        }
        f->n_nodes++;
    }
}

/* Breadth first from the groups that have bundles left; the class with nodes
 * left that was reached, or NONE.  Groups are 0.., classes n_groups.. . */
static uint32_t path_find(struct flow *f)
{
    uint32_t head = 0, tail = 0;

    memset(f->from_class, 0xff, sizeof *f->from_class * f->n_groups);
    memset(f->from_group, 0xff, sizeof *f->from_group * f->n_nodes);
    for (uint32_t w = 0; w < f->n_groups; w++)
        if (f->group_left[w] > 0) {
            f->from_class[w] = f->n_nodes; /* the start */
            f->queue[tail++] = w;
        }
    while (head < tail) {
        uint32_t x = f->queue[head++];

        if (x < f->n_groups) {
            for (uint32_t c = 0; c < f->n_nodes; c++) {
                f->d->work++;
                if (!f->may[c * f->n_groups + x] || f->from_group[c] != NONE)
                    continue;
                f->from_group[c] = x;
                if (f->class_left[c] > 0)
                    return c;
                f->queue[tail++] = f->n_groups + c;
            }
            continue;
        }
        x -= f->n_groups;
        for (uint32_t w = 0; w < f->n_groups; w++)
            if (f->through[x * f->n_groups + w] > 0 &&
                f->from_class[w] == NONE) {
                f->from_class[w] = x;
                f->queue[tail++] = w;
            }
    }
    return NONE;
}

static void path_take(struct flow *f, uint32_t end)
{
    uint32_t most = f->class_left[end], c = end, w;

    for (;;) {
        w = f->from_group[c];
        c = f->from_class[w];
        if (c == f->n_nodes)
            break;
        if (f->through[c * f->n_groups + w] < most)
            most = f->through[c * f->n_groups + w];
    }
    if (f->group_left[w] < most)
        most = f->group_left[w];
    f->class_left[end] -= most;
    f->group_left[w] -= most;
    for (c = end; c != f->n_nodes; c = f->from_class[w]) {
        w = f->from_group[c];
        f->through[c * f->n_groups + w] += most;
        if (f->from_class[w] != f->n_nodes)
            f->through[f->from_class[w] * f->n_groups + w] -= most;
    }
}

static void answer_take(struct flow *f, uint32_t gang)
{
    struct candidate *d = f->d;

    for (uint32_t c = 0; c < f->n_nodes; c++) {
        uint32_t i = f->class_ix[c];

        for (uint32_t w = 0; w < f->n_groups; w++) {
            uint32_t k = f->through[c * f->n_groups + w], rest = NONE;

            if (k == 0)
                continue;
            if (k < d->classes.v[i].n)
                rest = candidate_split(d, i, k);
            candidate_place(d, i, f->groups[w], f->alts[w], 1);
            candidate_spread(d, i, gang);
            i = rest;
        }
    }
}

void match_spread(struct candidate *d, const uint32_t *groups,
                  const uint32_t *alts, uint32_t n, uint32_t gang)
{
    uint32_t most = d->classes.n, end;
    struct arena own = {0}; /* a plan has many of these, and keeps none */
    struct flow f = {
        .d = d,
        .groups = groups,
        .alts = alts,
        .n_groups = n,
        .class_ix = ARENA_ARRAY(&own, uint32_t, most),
        .may = ARENA_ARRAY(&own, bool, (size_t)most *n),
        .through = ARENA_ARRAY(&own, uint32_t, (size_t)most * n),
        .group_left = ARENA_ARRAY(&own, uint32_t, n),
        .class_left = ARENA_ARRAY(&own, uint32_t, most),
        .from_class = ARENA_ARRAY(&own, uint32_t, n),
        .from_group = ARENA_ARRAY(&own, uint32_t, most),
        .queue = ARENA_ARRAY(&own, uint32_t, (size_t)most + n),
    };

    for (uint32_t w = 0; w < n; w++)
        f.group_left[w] = d->left[groups[w]];
    edges_make(&f, gang);
    while ((end = path_find(&f)) != NONE)
        path_take(&f, end);
    answer_take(&f, gang);
    arena_done(&own);
}
