/*
 * problem.c - see problem.h.
 */
#include "problem.h"

#include "../failover.h"
#include "../fallback.h"
#include "../host_group.h"
#include "../quota.h"
#include "gangs.h"

/* How many bundles of the i-th group are to be bought for. */
static uint32_t asked(const struct candidate *d, struct purchase *q,
                      struct quota_budget *quota, uint32_t i, uint32_t group,
                      uint32_t alt)
{
    uint32_t count;

    if (d->left[group] == 0 ||
        d->t->needs[tables_shape(d->t, group, alt)].never ||
        d->t->groups[group].rank == RANK_UNCONFIRMED ||
        (q->stuck && q->stuck[i]) ||
        (!q->what.patient && fallback_given_up(d, group, alt)))
        return 0;
    count = quota_share(d, quota, group, alt, d->left[group]);
    q->capped = q->capped || count < d->left[group];
    return count;
}

static void item_add(const struct candidate *d, struct purchase *q,
                     uint32_t group, uint32_t alt, uint32_t count)
{
    const struct problem *s = d->t->s;
    uint32_t i = q->p.n_items++, shape = tables_shape(d->t, group, alt);

    q->group[i] = group;
    q->alt[i] = alt;
    q->shape[i] = shape;
    q->items[i] = (struct cover_item){
        .need = pb_row(s, s->shapes[shape].row),
        .count = count,
    };
}

void purchase_items(const struct candidate *d, struct purchase *q,
                    const uint32_t *groups, const uint32_t *alts, uint32_t n)
{
    struct quota_budget quota[SIDES] = {quota_budget(d, SIDE_TOTAL),
                                        quota_budget(d, SIDE_FREE)};

    q->items = ARENA_ARRAY(d->arena, struct cover_item, n);
    q->group = ARENA_ARRAY(d->arena, uint32_t, n);
    q->alt = ARENA_ARRAY(d->arena, uint32_t, n);
    q->shape = ARENA_ARRAY(d->arena, uint32_t, n);
    if (q->what.apart)
        buy_gangs_begin(d, q, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t count;

        if (q->what.apart && !buy_gangs_stands(d, groups[i]))
            continue;
        count = asked(d, q, &quota[d->t->groups[groups[i]].side], i, groups[i],
                      alts[i]);
        if (count == 0)
            continue;
        if (q->what.apart)
            buy_gangs_add(d, q, groups[i], alts[i], count);
        else
            item_add(d, q, groups[i], alts[i], count);
    }
    q->p.items = q->items;
}

/* Machines of the type that could be of use at once. */
static uint64_t useful(const struct candidate *d, const struct purchase *q,
                       uint32_t offer)
{
    const struct tables *t = d->t;
    const struct room *room = &t->room[t->s->offers[offer].type];
    uint64_t n = 0;

    for (uint32_t i = 0; i < q->p.n_items; i++) {
        uint32_t shape = q->shape[i], fit;

        if (!tables_could(t, shape, offer))
            continue;
        fit = room_fit(t->s, room, &t->needs[shape], q->items[i].count);
        n += fit > 0 ? (q->items[i].count + fit - 1) / fit : 0;
    }
    return n;
}

/* A plain offer that cannot be bought now is a bin with max 0: by it the cover
 * knows that plain work needs no accelerator.  tier: of the priority at hand. */
static void bin_add(const struct candidate *d, struct purchase *q,
                    uint32_t offer, bool tier)
{
    const struct problem *s = d->t->s;
    const struct pb_offer *o = &s->offers[offer];
    const struct pb_type *type = &s->types[o->type];
    enum reason why;
    uint32_t max = limits_room(d, offer, &why);
    int64_t price = q->by_bill ? pb_offer_bill(o) : o->price_micros_hour;

    if (!tier)
        max = 0;
    if (tables_hosts(s, offer) > 1) {
        max -= max % tables_hosts(s, offer);
        price = host_group_price(s, offer, useful(d, q, offer));
        q->host_groups = true;
    }
    if (tables_by_size(d->t)) {
        price = d->t->size[o->type] + 1;
        q->host_groups = true; /* nor are sizes */
    }
    if (max == 0 &&
        (!s->limits.conserve || type->accelerator || type->max == 0 ||
         type->unavailable == REASON_TYPE_DISABLED))
        return;
    q->offer[q->p.n_bins] = offer;
    q->pooled[q->p.n_bins] = NONE;
    q->bins[q->p.n_bins] = (struct cover_bin){
        .has = pb_row(s, type->row),
        .price = price,
        .max = max,
        .family = o->type,
        .rank = (int32_t)d->t->offer_rank[offer],
        .accelerator = type->accelerator,
    };
    q->p.n_bins++;
}

static uint32_t pooled_count(const struct candidate *d)
{
    uint32_t n = 0;

    for (uint32_t i = d->classes.v[d->sentinel_pool].next; i != NONE;
         i = d->classes.v[i].next)
        n++;
    return n;
}

/* Nodes that are there cost nothing more.  Devices that are used in part are
 * no part of a bin. */
static void pooled_make(const struct candidate *d, struct purchase *q,
                        uint64_t *bits, uint32_t words)
{
    enum side side = d->t->groups[q->group[0]].side;

    for (uint32_t i = d->classes.v[d->sentinel_pool].next; i != NONE;
         i = d->classes.v[i].next) {
        const struct node_class *c = &d->classes.v[i];
        uint32_t b = q->p.n_bins, family = q->p.n_families;

        q->pooled[b] = i;
        q->family_max[family] = UNLIMITED;
        q->bins[b] = (struct cover_bin){
            .has = c->room[side].row,
            .max = c->n,
            .family = family,
            .rank = -1,
            .accelerator = c->accelerator,
        };
        for (uint32_t k = 0; k < q->p.n_items; k++) {
            uint32_t shape = q->shape[k];
            const struct room room = {.row = c->room[side].row};

            if (candidate_matches(d, i, shape) &&
                room_holds(&room, &d->t->needs[shape]))
                bits[(size_t)k * words + b / 64] |= UINT64_C(1) << (b % 64);
        }
        q->p.n_bins++;
        q->p.n_families++;
    }
}

/* Of the bins from `first` on that may hold the item: those whose turn it is not
 * leave the set. */
static void item_waits(const struct candidate *d, struct purchase *q,
                       uint32_t item, uint32_t first, uint64_t *may)
{
    for (uint32_t b = first; b < q->p.n_bins; b++) {
        if (!(may[b / 64] >> (b % 64) & 1) ||
            !failover_waits_group(d, q->group[item], q->alt[item], q->offer[b]))
            continue;
        may[b / 64] &= ~(UINT64_C(1) << (b % 64));
        *q->waits = true;
        q->host_groups = true; /* nor are prices of some a bound for all */
    }
}

void purchase_bins(const struct candidate *d, struct purchase *q,
                   int32_t priority)
{
    const struct problem *s = d->t->s;
    bool tiers = s->limits.policy == POLICY_PRIORITY;
    uint32_t pooled = pooled_count(d), most = s->n_offers + pooled;
    uint32_t words = (most + 63) / 64, first;
    uint64_t *bits = ARENA_ARRAY(d->arena, uint64_t,
                                 (size_t)words * q->p.n_items);

    q->bins = ARENA_ARRAY(d->arena, struct cover_bin, most);
    q->offer = ARENA_ARRAY(d->arena, uint32_t, most);
    q->pooled = ARENA_ARRAY(d->arena, uint32_t, most);
    q->family_max = ARENA_ARRAY(d->arena, uint32_t, s->n_types + pooled);
    q->p.n_bins = 0;
    q->p.n_families = s->n_types;
    pooled_make(d, q, bits, words);
    first = q->p.n_bins;
    for (uint32_t k = 0; k < s->n_offers; k++) {
        uint32_t offer = d->t->offers[k];

        bin_add(d, q, offer,
                !tiers || s->types[s->offers[offer].type].priority == priority);
    }
    tables_could_each(d->t, q->shape, q->p.n_items, q->offer + first,
                      q->p.n_bins - first, bits, words, first);
    for (uint32_t i = 0; i < q->p.n_items; i++) {
        uint64_t *may = bits + (size_t)i * words;

        if (q->waits)
            item_waits(d, q, i, first, may);
        q->items[i].bins = may;
    }
    q->p.bins = q->bins;
    q->bits = bits;
    q->words = words;
}

void purchase_limits(const struct candidate *d, struct purchase *q)
{
    const struct problem *s = d->t->s;
    enum reason why;

    for (uint32_t i = 0; i < s->n_types; i++)
        q->family_max[i] = limits_room_type(d, i, &why);
    q->p.max_bins = limits_room_all(d, &why);
    q->p.max_cost = tables_by_size(d->t) ? -1 : limits_money(d);
    if (quota_nodes(d, q->queue) < q->p.max_bins)
        q->p.max_bins = quota_nodes(d, q->queue);
    for (uint32_t b = 0; b < q->p.n_bins; b++)
        if (q->pooled[b] != NONE)
            q->p.max_bins = q->bins[b].max < UNLIMITED - q->p.max_bins
                                ? q->p.max_bins + q->bins[b].max
                                : UNLIMITED;
    q->p.family_max = q->family_max;
    q->p.columns = s->columns;
    q->p.n_columns = s->n_columns;
    q->p.conserve = s->limits.conserve;
    if (q->gangs)
        buy_gangs_bins(d, q);
}
