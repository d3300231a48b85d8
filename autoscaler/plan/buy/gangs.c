/*
 * gangs.c - see gangs.h.
 */
#include "gangs.h"

#include <string.h>

#include "sources.h"

/* ---- pools */

static void pools_make(const struct candidate *d, struct buy_gangs *g,
                       const bool *apart)
{
    const struct tables *t = d->t;

    for (uint32_t gang = 0; gang < t->n_gangs; gang++) {
        uint32_t k = 0;

        g->pool[gang] = NONE;
        if (!apart[gang] || gang_settled(d, gang))
            continue;
        while (k < g->pools.n && !gang_same(t, g->pools.v[k].gang, gang))
            k++;
        if (k == g->pools.n) {
            struct pool new = {gang, 0};

            VEC_PUSH(d->arena, &g->pools, new);
        }
        g->pools.v[k].gangs++;
        g->pool[gang] = k;
    }
}

/* ---- items */

/* The device column's devices that all parts of the gang need, and their sum if one
 * is enough. */
static int64_t parts_need(const struct candidate *d, const struct gang *g,
                          uint32_t column)
{
    const struct problem *s = d->t->s;
    int64_t *used = ARENA_ARRAY(d->arena, int64_t, g->size), sum = 0;
    uint32_t n = 0;

    for (uint32_t i = g->first_group; i < g->first_group + g->n_groups; i++) {
        uint32_t shape = tables_shape(d->t, i, 0);
        int64_t part = pb_row(s, s->shapes[shape].row)[column];

        for (uint32_t k = 0;
             part > 0 && part < AMOUNT_ONE && k < d->t->groups[i].count; k++) {
            uint32_t at = 0;

            while (at < n && used[at] + part > AMOUNT_ONE)
                at++;
            used[at] += part;
            sum += part;
            n = at == n ? n + 1 : n;
        }
    }
    return n == 1 ? sum : n * AMOUNT_ONE;
}

/* What one machine must have to hold all of it: no less than that. */
static const int64_t *whole_need(const struct candidate *d, uint32_t gang)
{
    const struct problem *s = d->t->s;
    const struct gang *g = &d->t->gangs[gang];
    int64_t *row = ARENA_ARRAY(d->arena, int64_t, s->n_columns);

    for (uint32_t c = 0; c < s->n_columns; c++) {
        int64_t parts = s->columns[c].device ? parts_need(d, g, c) : 0;

        for (uint32_t i = g->first_group; i < g->first_group + g->n_groups;
             i++) {
            uint32_t shape = tables_shape(d->t, i, 0);
            int64_t one = pb_row(s, s->shapes[shape].row)[c];

            if (!s->columns[c].device || one >= AMOUNT_ONE)
                row[c] += amount_times(one, d->t->groups[i].count);
        }
        if (row[c] > 0 && parts % AMOUNT_ONE > 0)
            parts = AMOUNT_ONE;
        row[c] += parts;
    }
    return row;
}

bool buy_gangs_stands(const struct candidate *d, uint32_t group)
{
    uint32_t gang = d->t->gang_of[group];

    return strategy_of(d->t, gang) != STRATEGY_STRICT_PACK ||
           group == d->t->gangs[gang].first_group;
}

/* Failover asks how long a group has waited. */
static bool same_turn(const struct candidate *d, uint32_t a, uint32_t b)
{
    return !d->t->failed ||
           d->t->groups[a].since_ms == d->t->groups[b].since_ms;
}

static bool same_item(const struct candidate *d, const struct purchase *q,
                      uint32_t i, uint32_t group, enum item_kind kind)
{
    const uint32_t gang = d->t->gang_of[group];
    const uint32_t other = d->t->gang_of[q->group[i]];

    if (d->t->groups[group].side != d->t->groups[q->group[i]].side)
        return false;
    switch (kind) {
    case ITEM_BUNDLES: break;
    case ITEM_APART: return q->gangs->pool[gang] == q->gangs->pool[other];
    case ITEM_WHOLE: return gang_same(d->t, other, gang);
    }
    return true;
}

/* The item that bundles of the group belong to, or NONE. */
static uint32_t item_find(const struct candidate *d, const struct purchase *q,
                          uint32_t group, uint32_t shape, enum item_kind kind)
{
    for (uint32_t i = 0; i < q->p.n_items; i++)
        if (q->shape[i] == shape && q->gangs->items[i].kind == kind &&
            same_turn(d, q->group[i], group) && same_item(d, q, i, group, kind))
            return i;
    return NONE;
}

static uint32_t item_new(const struct candidate *d, struct purchase *q,
                         uint32_t group, uint32_t alt, enum item_kind kind)
{
    const struct problem *s = d->t->s;
    uint32_t i = q->p.n_items++;

    q->group[i] = group;
    q->alt[i] = alt;
    q->shape[i] = tables_shape(d->t, group, alt);
    q->gangs->items[i] = (struct item){kind, NONE, NONE};
    q->items[i].need = kind == ITEM_WHOLE
                           ? whole_need(d, d->t->gang_of[group])
                           : pb_row(s, s->shapes[q->shape[i]].row);
    if (kind != ITEM_BUNDLES)
        q->host_groups = true; /* what is proved of it holds for no bundles */
    return i;
}

void buy_gangs_begin(const struct candidate *d, struct purchase *q, uint32_t n)
{
    q->gangs = ARENA_NEW(d->arena, struct buy_gangs);
    q->gangs->items = ARENA_ARRAY(d->arena, struct item, n);
    q->gangs->node = ARENA_ARRAY(d->arena, uint32_t, d->t->n_gangs);
    q->gangs->pool = ARENA_ARRAY(d->arena, uint32_t, d->t->n_gangs);
    pools_make(d, q->gangs, q->what.apart);
}

static enum item_kind kind_of(const struct candidate *d, uint32_t group)
{
    const uint32_t gang = d->t->gang_of[group];

    if (gang == NONE || d->t->gangs[gang].size == 1)
        return ITEM_BUNDLES;
    switch (strategy_of(d->t, gang)) {
    case STRATEGY_STRICT_PACK: return ITEM_WHOLE;
    case STRATEGY_STRICT_SPREAD: return ITEM_APART;
    case STRATEGY_NONE:
    case STRATEGY_PACK:
    case STRATEGY_SPREAD: break;
    }
    return ITEM_BUNDLES;
}

void buy_gangs_add(const struct candidate *d, struct purchase *q,
                   uint32_t group, uint32_t alt, uint32_t count)
{
    const enum item_kind kind = kind_of(d, group);
    struct source source = {group, alt, count, NONE};
    struct item *item;
    uint32_t i;

    if (kind == ITEM_WHOLE)
        source.left = 1;
    i = item_find(d, q, group, tables_shape(d->t, group, alt), kind);
    if (i == NONE)
        i = item_new(d, q, group, alt, kind);
    q->items[i].count += source.left;
    item = &q->gangs->items[i];
    if (item->first == NONE)
        item->first = q->gangs->sources.n;
    else
        q->gangs->sources.v[item->last].next = q->gangs->sources.n;
    item->last = q->gangs->sources.n;
    VEC_PUSH(d->arena, &q->gangs->sources, source);
}

bool buy_gangs_bundle(const struct purchase *q, uint32_t item)
{
    return q->gangs->items[item].kind == ITEM_BUNDLES;
}

/* ---- bins */

/* Leaves the bins that have room for all of one of these gangs. */
static void whole_bins(const struct candidate *d, struct purchase *q,
                       uint32_t item, uint64_t *may)
{
    const struct tables *t = d->t;
    const uint32_t gang = t->gang_of[q->group[item]];
    const struct gang *g = &t->gangs[gang];

    for (uint32_t b = 0; b < q->p.n_bins; b++) {
        bool could = gang_fits(d, gang,
                               t->room[t->s->offers[q->offer[b]].type]);

        for (uint32_t i = g->first_group;
             could && i < g->first_group + g->n_groups; i++)
            could = tables_could(t, tables_shape(t, i, 0), q->offer[b]);
        if (!could)
            may[b / 64] &= ~(UINT64_C(1) << (b % 64));
    }
}

/* The columns of a purchase: for requests and for other work, where both are bought
 * for, as they take no room from each other; then a column of seats for each pool. */
struct wide {
    uint32_t sides, columns;
    const struct buy_gangs *g;
};

static struct wide wide_of(const struct candidate *d, const struct purchase *q)
{
    struct wide w = {1, d->t->s->n_columns, q->gangs};

    for (uint32_t i = 1; i < q->p.n_items; i++)
        if (d->t->groups[q->group[i]].side != d->t->groups[q->group[0]].side)
            w.sides = 2;
    return w;
}

static const struct pb_column *columns_of(const struct candidate *d,
                                          const struct wide *w, uint32_t n)
{
    struct pb_column *c = ARENA_ARRAY(d->arena, struct pb_column, n);

    for (uint32_t k = 0; k < w->sides * w->columns; k++)
        c[k] = d->t->s->columns[k % w->columns];
    return c;
}

static const int64_t *item_row(const struct candidate *d,
                               const struct purchase *q, const struct wide *w,
                               uint32_t item, uint32_t n)
{
    const enum side side = d->t->groups[q->group[item]].side;
    int64_t *row = ARENA_ARRAY(d->arena, int64_t, n);

    memcpy(row + (w->sides > 1 ? side * w->columns : 0), q->items[item].need,
           w->columns * sizeof *row);
    if (w->g->items[item].kind == ITEM_APART) {
        uint32_t pool = w->g->pool[d->t->gang_of[q->group[item]]];

        if (pool != NONE)
            row[w->sides * w->columns + pool] = AMOUNT_ONE;
    }
    return row;
}

static const int64_t *bin_row(const struct candidate *d, const struct wide *w,
                              const int64_t *has, uint32_t n)
{
    int64_t *row = ARENA_ARRAY(d->arena, int64_t, n);

    for (uint32_t side = 0; side < w->sides; side++)
        memcpy(row + side * w->columns, has, w->columns * sizeof *row);
    for (uint32_t k = 0; k < w->g->pools.n; k++)
        row[w->sides * w->columns + k] = w->g->pools.v[k].gangs * AMOUNT_ONE;
    return row;
}

static void widen(const struct candidate *d, struct purchase *q)
{
    const struct wide w = wide_of(d, q);
    const uint32_t n = w.sides * w.columns + q->gangs->pools.n;

    if (n == w.columns)
        return;
    if (w.sides > 1)
        q->host_groups = true; /* nor is it one for launches of one side */
    for (uint32_t i = 0; i < q->p.n_items; i++)
        q->items[i].need = item_row(d, q, &w, i, n);
    for (uint32_t b = 0; b < q->p.n_bins; b++)
        q->bins[b].has = bin_row(d, &w, q->bins[b].has, n);
    q->p.columns = columns_of(d, &w, n);
    q->p.n_columns = n;
}

void buy_gangs_bins(const struct candidate *d, struct purchase *q)
{
    for (uint32_t i = 0; i < q->p.n_items; i++)
        if (q->gangs->items[i].kind == ITEM_WHOLE)
            whole_bins(d, q, i, q->bits + (size_t)i * q->words);
    widen(d, q);
}
