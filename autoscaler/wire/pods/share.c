/*
 * share.c - who of the pods that wait is looked at, when there are too many of
 * them, or too many different ones.  See inside.h.
 *
 * Who has asked for least comes first.  Of each namespace that is the kind of pod with
 * the fewest conditions, then the next, each with what its namespace has by then.  What
 * no node type could ever hold comes behind all others.  So one namespace takes no room
 * that another one needs, however much it asks for: the rest of it waits, and is told.
 */
#include "inside.h"

#include <stdlib.h>
#include <string.h>

#include "../../model/problem.h"

/* Equal pods of one namespace. */
struct kind {
    const char *space;
    struct pod_shape *shape;
    struct pod **pods; /* n of them */
    uint32_t n, lines, values, cost;
    uint64_t spent; /* by its namespace, with it */
    bool hopeless;
};

static int by_kind(const void *pa, const void *pb)
{
    const struct pod *a = *(struct pod *const *)pa;
    const struct pod *b = *(struct pod *const *)pb;
    int d = strcmp(a->space, b->space);

    if (!d && a->shape != b->shape)
        d = a->shape->shared.digest != b->shape->shared.digest
                ? (a->shape->shared.digest < b->shape->shared.digest ? -1 : 1)
                : strcmp(a->shape->shared.key, b->shape->shared.key);
    return d;
}

/* Those of one kind side by side, in whatever order: most pods of a cluster are of
 * one namespace, so that is looked at last. */
static int by_digest(const void *pa, const void *pb)
{
    const struct pod *a = *(struct pod *const *)pa;
    const struct pod *b = *(struct pod *const *)pb;
    uint64_t x = a->shape->shared.digest, y = b->shape->shared.digest;

    if (x != y)
        return x < y ? -1 : 1;
    return by_kind(pa, pb);
}

static int by_id(const void *pa, const void *pb)
{
    const struct pod *a = *(struct pod *const *)pa;
    const struct pod *b = *(struct pod *const *)pb;

    return strcmp(a->item.id, b->item.id);
}

/* Also when all of a node type's were free. */
static bool is_hopeless(const struct builder *m, const struct pod_shape *s)
{
    const struct qtys *most = &m->in->most;

    for (uint32_t i = 0; i < s->needs.n; i++)
        for (uint32_t k = 0; k < most->n; k++)
            if (strcmp(most->v[k].name, s->needs.v[i].name) == 0 &&
                s->needs.v[i].amount > most->v[k].amount)
                return true;
    return false;
}

static struct kind kind_make(const struct builder *m, struct pod **v,
                             uint32_t n)
{
    const struct pod_shape *s = v[0]->shape;
    struct kind k = {.space = v[0]->space,
                     .shape = v[0]->shape,
                     .pods = v,
                     .n = n,
                     .lines = s->n_alts,
                     .values = s->tolerations.n,
                     .hopeless = is_hopeless(m, s)};

    for (uint32_t i = 0; i < s->n_alts; i++)
        for (uint32_t r = 0; r < s->alts[i].n; r++)
            k.values += 1 + s->alts[i].v[r].values.n;
    k.cost = 1 + k.values + 16 * s->n_affinities;
    return k;
}

/* Of one namespace: in which order. */
static int by_cost(const void *pa, const void *pb)
{
    const struct kind *a = pa, *b = pb;
    int d = strcmp(a->space, b->space);

    if (!d)
        d = a->hopeless - b->hopeless;
    if (!d)
        d = (a->cost > b->cost) - (a->cost < b->cost);
    return d ? d : by_kind(a->pods, b->pods);
}

static int by_turn(const void *pa, const void *pb)
{
    const struct kind *a = pa, *b = pb;
    int d = a->hopeless - b->hopeless;

    if (!d)
        d = (a->spent > b->spent) - (a->spent < b->spent);
    return d ? d : by_cost(a, b);
}

static uint32_t kinds_make(struct builder *m, struct pod **v, uint32_t n,
                           struct kind *to)
{
    uint32_t kinds = 0;

    if (n > 1)
        qsort(v, n, sizeof *v, by_digest);
    for (uint32_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && v[end]->shape == v[i]->shape &&
                          strcmp(v[end]->space, v[i]->space) == 0;
             end++)
            ;
        to[kinds++] = kind_make(m, v + i, end - i);
    }
    if (kinds > 1)
        qsort(to, kinds, sizeof *to, by_cost);
    for (uint32_t i = 0; i < kinds; i++)
        to[i].spent = to[i].cost +
                      (i && strcmp(to[i].space, to[i - 1].space) == 0
                           ? to[i - 1].spent
                           : 0);
    if (kinds > 1)
        qsort(to, kinds, sizeof *to, by_turn);
    return kinds;
}

static void leave_out(struct builder *m, const struct kind *k)
{
    if (k->n > 1)
        qsort(k->pods, k->n, sizeof *k->pods, by_id);
    for (uint32_t i = 0; i < k->n; i++)
        pods_note(m, k->pods[i], "TooManyPods",
                  "so many different pods wait that this one is left out of "
                  "the plan: its turn comes when others have their place, or "
                  "its namespace asks for fewer kinds of pods");
    m->n_crowded++;
    waits_count(m, "TooManyPods", waiting_in(k->pods, k->n));
}

uint32_t pods_share(struct builder *m, struct pod **v, uint32_t n)
{
    struct kind *all = ARENA_ARRAY(m->arena, struct kind, n);
    struct pod **to = ARENA_ARRAY(m->arena, struct pod *, n);
    uint32_t kinds = kinds_make(m, v, n, all), kept = 0, shapes = 0, lines = 0,
             values = 0;

    for (uint32_t i = 0; i < kinds; i++) {
        const struct kind *k = &all[i];

        if (shapes + 1 > ASKED_SHAPES_MAX ||
            lines + k->lines > ASKED_LINES_MAX ||
            values + k->values > ASKED_VALUES_MAX) {
            leave_out(m, k);
            continue;
        }
        shapes++;
        lines += k->lines;
        values += k->values;
        /* what stands for its conditions, in this order */
        pods_alts(m, k->shape, true);
        memcpy(to + kept, k->pods, k->n * sizeof *to);
        kept += k->n;
    }
    if (kept)
        memcpy(v, to, kept * sizeof *v);
    return kept;
}
