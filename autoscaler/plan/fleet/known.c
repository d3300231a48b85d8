/*
 * known.c - see known.h.
 */
#include "known.h"

#include <string.h>

#include "../again/start.h"

struct fleet_known {
    struct fleet_question asked;
    struct fleet_bins bins;
};

#define COPY(a, v, n) arena_copy((a), (v), sizeof *(v) * (size_t)(n))

static struct fleet_bins copy(const struct fleet_bins *x,
                              const struct problem *s, struct arena *a)
{
    struct fleet_bins y = *x;

    y.there.v.v = NULL;
    y.there.v.n = y.there.v.cap = 0;
    y.there.stays = COPY(a, x->there.stays, s->n_types);
    y.there.kept = COPY(a, x->there.kept, s->n_types);
    y.v = COPY(a, x->v, x->n);
    y.bits = COPY(a, x->bits, (size_t)x->words * x->n_items);
    y.optional = COPY(a, x->optional, x->n);
    y.of_offer = COPY(a, x->of_offer, s->n_offers);
    return y;
}

bool fleet_known(const struct candidate *base, const struct fleet_question *q,
                 struct fleet_bins *ret)
{
    const struct fleet_known *x = base->start ? base->start->fleet : NULL;

    if (!x || x->asked.n != q->n ||
        memcmp(x->asked.v, q->v, q->n * sizeof *q->v) != 0)
        return false;
    *ret = copy(&x->bins, base->t->s, base->arena);
    return true;
}

void fleet_keep(const struct candidate *base, const struct fleet_question *q,
                const struct fleet_bins *bins)
{
    struct start *start = base->start;
    struct fleet_known *x;

    if (!start)
        return;
    arena_done(&start->fleet_arena);
    x = ARENA_NEW(&start->fleet_arena, struct fleet_known);
    x->asked.v = COPY(&start->fleet_arena, q->v, q->n);
    x->asked.n = q->n;
    x->bins = copy(bins, base->t->s, &start->fleet_arena);
    for (uint32_t b = 0; b < bins->n; b++)
        x->bins.v[b].has = COPY(&start->fleet_arena, bins->v[b].has,
                                bins->columns);
    start->fleet = x;
}
