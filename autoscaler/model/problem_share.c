/*
 * problem_share.c - what clouds let one have of several offers together: quotas,
 * and what a machine of each offer takes of them.
 */
#include <stdlib.h>

#include "problem_build.h"

static int by_number(const void *pa, const void *pb)
{
    const uint32_t *a = pa, *b = pb;

    return (*a > *b) - (*a < *b);
}

static int by_name(const void *pa, const void *pb)
{
    const struct pb_share *a = pa, *b = pb;

    return by_number(&a->name, &b->name);
}

static uint32_t quotas_all(const struct builder *m, struct pb_share *v)
{
    const struct snapshot *f = m->snapshot;
    uint32_t n = 0;

    for (uint32_t i = 0; i < f->n_types; i++)
        for (uint32_t k = 0; k < f->types[i].n_offers; k++) {
            const struct snap_quotas *q = &f->types[i].offers[k].quotas;

            for (uint32_t j = 0; v && j < q->n; j++)
                v[n + j] = (struct pb_share){builder_id(m, q->v[j].name),
                                             q->v[j].left};
            n += q->n;
        }
    return n;
}

void builder_shares(struct builder *m)
{
    uint32_t all = quotas_all(m, NULL), n = 0;
    struct pb_share *v = ARENA_ARRAY(m->arena, struct pb_share, all);

    quotas_all(m, v);
    if (all > 1)
        qsort(v, all, sizeof *v, by_name);
    for (uint32_t i = 0; i < all; i++) {
        if (n == 0 || v[i].name != v[n - 1].name)
            v[n++] = v[i];
        else if (v[i].left < v[n - 1].left)
            v[n - 1].left = v[i].left; /* the least counts */
    }
    m->s->shares = v;
    m->s->n_shares = n;
}

static uint32_t share_find(const struct problem *s, uint32_t name)
{
    const struct pb_share key = {.name = name};
    const struct pb_share *x = bsearch(&key, s->shares, s->n_shares, sizeof key,
                                       by_name);

    return (uint32_t)(x - s->shares);
}

/* One that is named twice is taken of by both. */
static struct pb_takes *takes_find(struct builder *m, uint32_t first,
                                   uint32_t share)
{
    for (uint32_t i = first; i < m->takes.n; i++)
        if (m->takes.v[i].share == share)
            return &m->takes.v[i];
    VEC_PUSH(m->arena, &m->takes, (struct pb_takes){.share = share});
    return &m->takes.v[m->takes.n - 1];
}

void builder_offer_takes(struct builder *m, const struct snap_offer *from,
                         struct pb_offer *o)
{
    o->first_takes = m->takes.n;
    for (uint32_t i = 0; i < from->quotas.n; i++) {
        const struct snap_quota *q = &from->quotas.v[i];
        struct pb_takes *x = takes_find(
            m, o->first_takes, share_find(m->s, builder_id(m, q->name)));

        x->each = q->each < UNLIMITED - x->each ? x->each + q->each : UNLIMITED;
    }
    o->n_takes = m->takes.n - o->first_takes;
    if (o->n_takes > 1)
        qsort(m->takes.v + o->first_takes, o->n_takes, sizeof *m->takes.v,
              by_number);
    m->s->takes = m->takes.v;
}
