/*
 * tables_demand.c - the demand of one snapshot, in groups and gangs.
 *
 * Serving order of groups: rank, priority, then what has the fewest places to go
 * (a selector, a device), then the largest.  Gangs: priority, the strict ones
 * first, the largest first, as Ray orders them.
 */
#include "tables.h"

#include <string.h>

#include "order.h"

static uint8_t rank_of(const struct pb_demand *d, const struct pb_bundle *b)
{
    if (b->unconfirmed)
        return RANK_UNCONFIRMED;
    return d->source == SOURCE_REQUEST ? RANK_REQUEST
           : d->source == SOURCE_SPARE ? RANK_SPARE
                                       : RANK_WORK;
}

/* Order of what may share a group; 0: it may. */
static int bundle_compare(const void *ctx, uint32_t a, uint32_t b)
{
    const struct problem *s = ctx;
    const struct pb_bundle *x = &s->bundles[a], *y = &s->bundles[b];
    const struct pb_demand *dx = &s->demands[x->demand];
    const struct pb_demand *dy = &s->demands[y->demand];
    int r;

    r = ORDER(rank_of(dx, x), rank_of(dy, y));
    if (r == 0)
        r = ORDER(dy->priority, dx->priority);
    if (r == 0)
        r = ORDER(x->n_alts, y->n_alts);
    for (uint32_t i = 0; r == 0 && i < x->n_alts; i++) {
        const struct pb_alt *p = &s->alts[x->first_alt + i];
        const struct pb_alt *q = &s->alts[y->first_alt + i];

        r = ORDER(p->shape, q->shape);
        if (r == 0)
            r = ORDER(p->after_ms, q->after_ms);
    }
    /* how long it has waited decides on the alternatives only */
    if (r == 0 && x->n_alts > 1)
        r = ORDER(dx->since_ms, dy->since_ms);
    return r;
}

static struct group *group_add(struct tables *t, uint32_t at)
{
    const struct problem *s = t->s;
    const struct pb_bundle *b = &s->bundles[t->bundles[at]];
    const struct pb_demand *d = &s->demands[b->demand];
    struct group *w = &t->groups[t->n_groups++];

    *w = (struct group){
        .first = at,
        .first_alt = b->first_alt,
        .n_alts = b->n_alts,
        .demand = b->demand,
        .since_ms = d->since_ms,
        .priority = d->priority,
        .rank = rank_of(d, b),
        .side = d->source == SOURCE_REQUEST ? SIDE_TOTAL : SIDE_FREE,
        .plain = !s->shapes[s->alts[b->first_alt].shape].accelerator,
    };
    return w;
}

static void group_grow(struct tables *t, struct group *w)
{
    uint32_t b = t->bundles[w->first + w->n];
    int64_t since = t->s->demands[t->s->bundles[b].demand].since_ms;

    if (since < w->since_ms)
        w->since_ms = since;
    w->n++;
    w->count += t->s->bundles[b].count;
    t->group_of[b] = (uint32_t)(w - t->groups);
}

static int group_before(const void *ctx, uint32_t a, uint32_t b)
{
    const struct tables *t = ctx;
    const struct problem *s = t->s;
    const struct group *x = &t->groups[a], *y = &t->groups[b];
    uint32_t sx = s->alts[x->first_alt].shape;
    uint32_t sy = s->alts[y->first_alt].shape;
    int r;

    r = ORDER(x->rank, y->rank);
    if (r == 0)
        r = ORDER(y->priority, x->priority);
    if (r == 0)
        r = ORDER(s->shapes[sy].selector != 0, s->shapes[sx].selector != 0);
    if (r == 0)
        r = ORDER(x->plain, y->plain);
    if (r == 0)
        r = ORDER(t->hardness[sy], t->hardness[sx]);
    if (r == 0)
        r = ORDER(sx, sy);
    return r != 0 ? r : ORDER(a, b);
}

static void groups_loose(struct tables *t)
{
    const struct problem *s = t->s;
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->n_bundles; i++)
        if (!s->demands[s->bundles[i].demand].gang && s->bundles[i].count > 0)
            t->bundles[n++] = i;
    order_sort(t->bundles, n, bundle_compare, s, t->arena);
    for (uint32_t i = 0; i < n; i++) {
        struct group *w = t->n_groups > 0 ? &t->groups[t->n_groups - 1] : NULL;
        const struct pb_bundle *b = &s->bundles[t->bundles[i]];

        if (!w || b->count > UINT32_MAX - w->count ||
            bundle_compare(s, t->bundles[w->first], t->bundles[i]) != 0)
            w = group_add(t, i);
        group_grow(t, w);
    }
    t->n_loose = t->n_groups;
    for (uint32_t i = 0; i < t->n_loose; i++)
        t->loose[i] = i;
    order_sort(t->loose, t->n_loose, group_before, t, t->arena);
}

/* ---- gangs */

static uint32_t strictness(enum strategy s)
{
    return s == STRATEGY_STRICT_PACK || s == STRATEGY_STRICT_SPREAD;
}

static int gang_before(const void *ctx, uint32_t a, uint32_t b)
{
    const struct tables *t = ctx;
    const struct gang *x = &t->gangs[a], *y = &t->gangs[b];
    const struct pb_demand *d = t->s->demands;
    int r;

    r = ORDER(x->side, y->side);
    if (r == 0)
        r = ORDER(x->unconfirmed, y->unconfirmed);
    if (r == 0)
        r = ORDER(y->priority, x->priority);
    if (r == 0)
        r = ORDER(strictness(d[y->demand].strategy),
                  strictness(d[x->demand].strategy));
    if (r == 0)
        r = ORDER(y->size, x->size);
    return r != 0 ? r : ORDER(a, b);
}

static int gang_group_before(const void *ctx, uint32_t a, uint32_t b)
{
    const struct tables *t = ctx;
    const struct problem *s = t->s;
    uint32_t sx = s->alts[s->bundles[a].first_alt].shape;
    uint32_t sy = s->alts[s->bundles[b].first_alt].shape;
    int r = ORDER(s->shapes[sy].selector != 0, s->shapes[sx].selector != 0);

    if (r == 0)
        r = ORDER(s->shapes[sy].accelerator, s->shapes[sx].accelerator);
    if (r == 0)
        r = ORDER(t->hardness[sy], t->hardness[sx]);
    return r != 0 ? r : ORDER(a, b);
}

static void gang_add(struct tables *t, uint32_t demand, uint32_t at)
{
    const struct pb_demand *d = &t->s->demands[demand];
    struct gang *g = &t->gangs[t->n_gangs++];
    uint64_t size = 0;

    *g = (struct gang){
        .demand = demand,
        .first_group = t->n_groups,
        .side = d->source == SOURCE_REQUEST ? SIDE_TOTAL : SIDE_FREE,
        .priority = d->priority,
    };
    for (uint32_t i = 0; i < d->n_bundles; i++)
        t->bundles[at + i] = d->first_bundle + i;
    order_sort(t->bundles + at, d->n_bundles, gang_group_before, t, t->arena);
    for (uint32_t i = 0; i < d->n_bundles; i++) {
        const struct pb_bundle *b = &t->s->bundles[t->bundles[at + i]];

        size += b->count;
        g->unconfirmed = g->unconfirmed || b->unconfirmed;
        group_grow(t, group_add(t, at + i));
        g->n_groups++;
    }
    g->size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
}

static void groups_of_gangs(struct tables *t)
{
    const struct problem *s = t->s;
    uint32_t at = 0, *order;
    struct gang *sorted;

    for (uint32_t i = 0; i < t->n_groups; i++)
        at += t->groups[i].n;
    for (uint32_t i = 0; i < s->n_demands; i++) {
        if (!s->demands[i].gang || s->demands[i].n_bundles == 0)
            continue;
        gang_add(t, i, at);
        at += s->demands[i].n_bundles;
    }
    order = ARENA_ARRAY(t->arena, uint32_t, t->n_gangs);
    for (uint32_t i = 0; i < t->n_gangs; i++)
        order[i] = i;
    order_sort(order, t->n_gangs, gang_before, t, t->arena);
    sorted = ARENA_ARRAY(t->arena, struct gang, t->n_gangs);
    for (uint32_t i = 0; i < t->n_gangs; i++)
        sorted[i] = t->gangs[order[i]];
    t->gangs = sorted;
    t->gang_of = ARENA_ARRAY(t->arena, uint32_t, t->n_groups);
    memset(t->gang_of, 0xff, sizeof *t->gang_of * t->n_groups);
    for (uint32_t i = 0; i < t->n_gangs; i++)
        for (uint32_t k = 0; k < sorted[i].n_groups; k++)
            t->gang_of[sorted[i].first_group + k] = i;
}

void tables_demand(struct tables *t)
{
    const struct problem *s = t->s;

    t->bundles = ARENA_ARRAY(t->arena, uint32_t, s->n_bundles);
    t->group_of = ARENA_ARRAY(t->arena, uint32_t, s->n_bundles);
    memset(t->group_of, 0xff, sizeof *t->group_of * s->n_bundles);
    t->groups = ARENA_ARRAY(t->arena, struct group, s->n_bundles);
    t->loose = ARENA_ARRAY(t->arena, uint32_t, s->n_bundles);
    t->gangs = ARENA_ARRAY(t->arena, struct gang, s->n_demands);
    groups_loose(t);
    groups_of_gangs(t);
}
