/*
 * program.c - see program.h.
 *
 * Items are the bundles that the plan places, by side and shape.  A bin has what
 * a node has in all and what is free on it, for the two sides: where both have
 * items, every column is there twice.  Limits are never tighter than the plan's
 * own fleet.
 */
#include "program.h"

#include <string.h>

#include "../limits.h"
#include "gangs.h"
#include "there.h"

struct making {
    const struct candidate *best, *base;
    struct fleet_program *f;
    struct there_all there;
    uint32_t sides, first_side; /* that have items */
    uint32_t *selector;         /* those of the items, */
    uint32_t n_selectors;       /* */
    uint32_t *selector_at;      /* per item: its place in selector[] */
    struct cover_item *items;
    struct cover_bin *bins;
    uint64_t *bits; /* per item: set of bins */
    uint32_t words;
    uint32_t *offer_bin; /* per offer, NONE */
    uint32_t *family_max;
};

/* ---- items */

static uint32_t selector_find(struct making *m, uint32_t selector)
{
    uint32_t k = 0;

    while (k < m->n_selectors && m->selector[k] != selector)
        k++;
    if (k == m->n_selectors)
        m->selector[m->n_selectors++] = selector;
    return k;
}

static void items_make(struct making *m)
{
    const struct candidate *d = m->best;
    const struct problem *s = d->t->s;
    uint32_t *count = ARENA_ARRAY(d->arena, uint32_t, SIDES * s->n_shapes);
    uint32_t n = 0, most = SIDES * s->n_shapes;
    bool any[SIDES] = {false};

    for (uint32_t i = 0; i != NONE; i = d->classes.v[i].next)
        for (uint32_t k = d->classes.v[i].n ? d->classes.v[i].placed : NONE;
             k != NONE; k = d->placements.v[k].next) {
            const struct placement *h = &d->placements.v[k];
            const struct group *g = &d->t->groups[h->group];

            if (g->rank == RANK_UNCONFIRMED)
                continue;
            count[g->side * s->n_shapes + tables_shape(d->t, h->group, h->alt)] +=
                d->classes.v[i].n * h->count;
            any[g->side] = true;
        }
    m->sides = any[SIDE_TOTAL] && any[SIDE_FREE] ? 2 : 1;
    m->first_side = m->sides == 1 && any[SIDE_FREE] ? SIDE_FREE : SIDE_TOTAL;
    m->items = ARENA_ARRAY(d->arena, struct cover_item, most);
    m->f->shape = ARENA_ARRAY(d->arena, uint32_t, most);
    m->f->side = ARENA_ARRAY(d->arena, enum side, most);
    m->selector = ARENA_ARRAY(d->arena, uint32_t, s->n_selectors + 1);
    m->selector_at = ARENA_ARRAY(d->arena, uint32_t, most);
    for (uint32_t i = 0; i < most; i++)
        if (count[i] > 0) {
            uint32_t shape = i % s->n_shapes;

            m->items[n].count = count[i];
            m->f->shape[n] = shape;
            m->f->side[n] = i / s->n_shapes;
            m->selector_at[n++] = selector_find(m, s->shapes[shape].selector);
        }
    m->f->p.n_items = n;
}

/* A row in the columns of its side, if there are two. */
static const int64_t *needs_row(const struct making *m, uint32_t item)
{
    const struct problem *s = m->best->t->s;
    const int64_t *row = pb_row(s, s->shapes[m->f->shape[item]].row);
    int64_t *wide;

    if (m->sides == 1)
        return row;
    wide = ARENA_ARRAY(m->best->arena, int64_t, 2 * s->n_columns);
    memcpy(wide + m->f->side[item] * s->n_columns, row,
           s->n_columns * sizeof *row);
    return wide;
}

static const int64_t *has_row(const struct making *m,
                              const int64_t *const has[SIDES])
{
    const uint32_t n = m->best->t->s->n_columns;
    int64_t *wide;

    if (m->sides == 1)
        return has[m->first_side];
    wide = ARENA_ARRAY(m->best->arena, int64_t, 2 * n);
    memcpy(wide, has[SIDE_TOTAL], n * sizeof *wide);
    memcpy(wide + n, has[SIDE_FREE], n * sizeof *wide);
    return wide;
}

/* ---- bins */

/* Is there enough of everything that one of the items needs? */
static bool enough(const struct making *m, uint32_t item,
                   const int64_t *const has[SIDES])
{
    const struct tables *t = m->best->t;
    const struct needs *needs = &t->needs[m->f->shape[item]];
    const int64_t *row = has[m->f->side[item]];

    for (uint32_t k = 0; k < needs->n; k++)
        if (row[needs->v[k].column] < needs->v[k].amount)
            return false;
    return true;
}

static void bin_may(struct making *m, uint32_t item, uint32_t b)
{
    m->bits[(size_t)item * m->words + b / 64] |= UINT64_C(1) << (b % 64);
}

static void bin_add(struct making *m, const int64_t *const has[SIDES],
                    int64_t price, uint32_t max, uint32_t type, bool optional)
{
    uint32_t b = m->f->p.n_bins++;

    m->f->optional[b] = optional;
    m->f->any_optional |= optional;
    m->bins[b] = (struct cover_bin){
        .has = has_row(m, has),
        .price = price,
        .max = max,
        .family = type != NONE ? type : m->best->t->s->n_types,
        .rank = (int32_t)b,
    };
}

static void bins_there(struct making *m)
{
    for (uint32_t i = 0; i < m->there.v.n; i++) {
        const struct there *x = &m->there.v.v[i];
        bool any = false;

        for (uint32_t k = 0; k < m->f->p.n_items; k++) {
            uint32_t q = m->selector_at[k];

            if (x->selectors[q / 64] >> (q % 64) & 1 && enough(m, k, x->most)) {
                bin_may(m, k, m->f->p.n_bins);
                any = true;
            }
        }
        if (any)
            bin_add(m, x->has, x->price, x->max, x->stays ? NONE : x->type,
                    !x->stays);
    }
}

/* Can it be bought now, throttles aside? */
static bool open(const struct problem *s, const struct pb_offer *o)
{
    const struct pb_type *t = &s->types[o->type];

    return t->unavailable == REASON_NONE && t->max > 0 && !o->closed &&
           o->room > 0 && o->backoff_until_ms <= s->now_ms;
}

static bool to_be_had(const struct making *m, uint32_t offer)
{
    const struct problem *s = m->best->t->s;

    return open(s, &s->offers[offer]) || m->best->offer_bought[offer];
}

/* Of each item, which of the offers could hold it; ret_any: which hold one. */
static const uint64_t *offers_could(const struct making *m,
                                    const uint32_t *offers, uint32_t n,
                                    uint32_t words, uint64_t *ret_any)
{
    const struct tables *t = m->best->t;
    uint64_t *bits = ARENA_ARRAY(t->arena, uint64_t,
                                 (size_t)words * m->f->p.n_items);

    tables_could_each(t, m->f->shape, m->f->p.n_items, offers, n, bits, words,
                      0);
    for (uint32_t k = 0; k < m->f->p.n_items; k++)
        for (uint32_t w = 0; w < words; w++)
            ret_any[w] |= bits[(size_t)k * words + w];
    return bits;
}

static void bins_offers(struct making *m)
{
    const struct tables *t = m->best->t;
    const struct problem *s = t->s;
    uint32_t *offers = ARENA_ARRAY(t->arena, uint32_t, s->n_offers), n = 0;
    uint32_t *bin = ARENA_ARRAY(t->arena, uint32_t, s->n_offers);
    const uint32_t words = (s->n_offers + 63) / 64;
    uint64_t *any = ARENA_ARRAY(t->arena, uint64_t, words);
    const uint64_t *could;

    for (uint32_t i = 0; i < s->n_offers; i++) {
        m->offer_bin[i] = NONE;
        if (to_be_had(m, i))
            offers[n++] = i;
    }
    could = offers_could(m, offers, n, words, any);
    for (uint32_t k = 0; k < n; k++) {
        const struct pb_offer *o = &s->offers[offers[k]];
        const int64_t *row = t->room[o->type].row;

        bin[k] = m->f->p.n_bins;
        if (!(any[k / 64] >> (k % 64) & 1))
            continue;
        m->offer_bin[offers[k]] = bin[k];
        bin_add(m, (const int64_t *const[SIDES]){row, row},
                o->price_micros_hour, 0, o->type, false);
    }
    for (uint32_t k = 0; k < m->f->p.n_items; k++, could += words)
        for (uint32_t w = 0; w < words; w++)
            for (uint64_t set = could[w]; set; set &= set - 1)
                bin_may(m, k, bin[w * 64 + (uint32_t)__builtin_ctzll(set)]);
}

/* There is room for those that the plan buys. */
static void offers_max(struct making *m)
{
    for (uint32_t i = 0; i < m->best->t->s->n_offers; i++) {
        const uint32_t room = m->best->t->s->offers[i].room;
        const uint32_t bought = m->best->offer_bought[i];

        if (m->offer_bin[i] != NONE)
            m->bins[m->offer_bin[i]].max = room > bought ? room : bought;
    }
}

/* ---- mins */

/* The cheapest node of a type that is to be had, -1: none; *most: as large as
 * the largest. */
static int64_t cheapest(const struct making *m, uint32_t type,
                        int64_t *const most[SIDES])
{
    const struct tables *t = m->best->t;
    const uint32_t n = t->s->n_columns;
    int64_t price = -1;

    for (int side = 0; side < SIDES; side++)
        memcpy(most[side], t->room[type].row, n * sizeof **most);
    for (uint32_t i = 0; i < t->s->n_offers; i++) {
        const struct pb_offer *o = &t->s->offers[i];

        if (o->type == type && (open(t->s, o) || m->best->offer_bought[i]) &&
            (price < 0 || o->price_micros_hour < price))
            price = o->price_micros_hour;
    }
    for (uint32_t i = 0; i < m->there.v.n; i++) {
        const struct there *x = &m->there.v.v[i];

        if (x->stays || (x->type != type && x->type != NONE))
            continue;
        price = price < 0 || x->price < price ? x->price : price;
        for (int side = 0; side < SIDES; side++)
            for (uint32_t c = 0; c < n; c++)
                if (x->most[side][c] > most[side][c])
                    most[side][c] = x->most[side][c];
    }
    return price;
}

/* Items that may lie on a node of the type. */
static bool min_may(struct making *m, uint32_t type, uint32_t item)
{
    const struct tables *t = m->best->t;
    uint32_t q = m->selector_at[item];

    for (uint32_t i = 0; i < t->s->n_offers; i++)
        if (t->s->offers[i].type == type &&
            (m->selector[q] == 0 || tables_match_offer(t, m->selector[q], i)))
            return true;
    for (uint32_t i = 0; i < m->there.v.n; i++) {
        const struct there *x = &m->there.v.v[i];

        if (!x->stays && (x->type == type || x->type == NONE) &&
            x->selectors[q / 64] >> (q % 64) & 1)
            return true;
    }
    return false;
}

/* Nodes of the type that the plan's fleet has beside those that stay. */
static uint32_t own_of(const struct making *m, uint32_t type)
{
    const struct pb_type *t = &m->best->t->s->types[type];
    uint32_t n = m->there.kept[type];

    for (uint32_t i = t->first_offer; i < t->first_offer + t->n_offers; i++)
        n += m->best->offer_bought[i];
    return n;
}

/* Every fleet keeps the mins that the plan keeps: so many nodes of the type are
 * paid for, each as the cheapest and as large as the largest. */
static void bins_mins(struct making *m)
{
    const struct candidate *d = m->best;
    const struct problem *s = d->t->s;

    for (uint32_t type = 0; type < s->n_types; type++) {
        uint32_t stays = m->there.stays[type], own = own_of(m, type), n;
        int64_t *most[SIDES], price;

        if (s->types[type].min <= stays || own == 0)
            continue;
        n = s->types[type].min - stays;
        n = n < own ? n : own;
        for (int side = 0; side < SIDES; side++)
            most[side] = ARENA_ARRAY(d->arena, int64_t, s->n_columns);
        price = cheapest(m, type, most);
        if (price < 0)
            continue;
        m->f->paid += amount_times(price, n);
        for (uint32_t k = 0; k < m->f->p.n_items; k++)
            if (enough(m, k, (const int64_t *const *)most) &&
                min_may(m, type, k))
                bin_may(m, k, m->f->p.n_bins);
        m->f->is_min[m->f->p.n_bins] = true;
        bin_add(m, (const int64_t *const *)most, 0, n, type, false);
    }
}

/* ---- limits */

static uint32_t clip(uint64_t limit, uint64_t used, uint64_t own)
{
    uint64_t left = limit > used ? limit - used : 0;

    left = left > own ? left : own;
    return left < UNLIMITED ? (uint32_t)left : UNLIMITED;
}

static void limits_make(struct making *m)
{
    const struct problem *s = m->best->t->s;
    struct cover_problem *p = &m->f->p;
    uint64_t own = m->there.n_kept, stay = 0;
    int64_t money = s->limits.max_cost_micros_hour;
    int64_t mine = m->f->cost - m->f->paid;

    for (uint32_t i = 0; i < s->n_types; i++)
        m->family_max[i] = s->types[i].max == UNLIMITED
                               ? UNLIMITED
                               : clip(s->types[i].max, m->there.stays[i],
                                      own_of(m, i));
    m->family_max[s->n_types] = UNLIMITED;
    for (uint32_t i = 0; i < s->n_offers; i++)
        own += m->best->offer_bought[i];
    for (uint32_t b = 0; b < p->n_bins; b++)
        if (m->bins[b].family == s->n_types && !m->f->optional[b])
            stay += m->bins[b].max;
    p->max_bins = UNLIMITED;
    if (s->limits.max_nodes != UNLIMITED)
        p->max_bins = clip(
            (uint64_t)clip(s->limits.max_nodes, m->there.n_stay, own) + stay, 0,
            0);
    p->max_cost = -1;
    if (money >= 0) {
        money = money > m->f->paid ? money - m->f->paid : 0;
        p->max_cost = money > mine ? money : mine;
    }
}

/* ---- all */

static const struct pb_column *columns_of(const struct making *m)
{
    const struct problem *s = m->best->t->s;
    struct pb_column *twice;

    if (m->sides == 1)
        return s->columns;
    twice = ARENA_ARRAY(m->best->arena, struct pb_column, 2 * s->n_columns);
    for (uint32_t c = 0; c < 2 * s->n_columns; c++)
        twice[c] = s->columns[c % s->n_columns];
    return twice;
}

static void bins_make(struct making *m, const struct plan *plan)
{
    const struct problem *s = m->best->t->s;
    struct arena *a = m->best->arena;
    uint32_t most;

    there_make(m->base, plan, m->selector, m->n_selectors, &m->there);
    most = m->there.v.n + s->n_types + s->n_offers;
    m->words = (most + 63) / 64;
    m->bits = ARENA_ARRAY(a, uint64_t,
                          (size_t)m->words * (m->f->p.n_items + 1));
    m->bins = ARENA_ARRAY(a, struct cover_bin, most);
    m->offer_bin = ARENA_ARRAY(a, uint32_t, s->n_offers);
    m->f->optional = ARENA_ARRAY(a, bool, most);
    m->f->is_min = ARENA_ARRAY(a, bool, most);
    m->f->empty = m->there.v.n == 0;
    bins_there(m);
    bins_mins(m);
    bins_offers(m);
}

void fleet_program_make(const struct candidate *best,
                        const struct candidate *base, const struct plan *plan,
                        struct fleet_program *ret)
{
    const struct problem *s = best->t->s;
    struct making m = {.best = best, .base = base, .f = ret};

    *ret = (struct fleet_program){0};
    items_make(&m);
    bins_make(&m, plan);
    offers_max(&m);
    ret->there = m.there.there;
    ret->cost = amount_add(m.there.cost, best->bought_cost);
    ret->paid += m.there.paid; /* beside mins */
    m.family_max = ARENA_ARRAY(best->arena, uint32_t, s->n_types + 1);
    for (uint32_t k = 0; k < ret->p.n_items; k++) {
        m.items[k].need = needs_row(&m, k);
        m.items[k].bins = m.bits + (size_t)k * m.words;
    }
    ret->p.items = m.items;
    ret->p.bins = m.bins;
    ret->p.n_families = s->n_types + 1;
    ret->p.family_max = m.family_max;
    ret->p.columns = columns_of(&m);
    ret->p.n_columns = m.sides * s->n_columns;
    limits_make(&m);
    fleet_gangs_split(best, ret);
}
