/*
 * tables.c - needs, offers and wants of one snapshot.
 *
 * Serving order of wants: priority, then what has the fewest places to go (a
 * selector, a device), then the largest.  Gangs: priority, the strict ones
 * first, the largest first, as Ray orders them.
 */
#include "tables.h"

#include <string.h>

#include "order.h"

/* ---- shapes */

static void largest_grow(const struct problem *s, int64_t *most, uint32_t row)
{
    const int64_t *v = pb_row(s, row);

    for (uint32_t c = 0; c < s->n_columns; c++)
        if (v[c] > most[c])
            most[c] = v[c];
}

static void shapes_measure(struct tables *t)
{
    const struct problem *s = t->s;
    int64_t *most = ARENA_ARRAY(t->arena, int64_t, s->n_columns);

    for (uint32_t i = 0; i < s->n_types; i++)
        largest_grow(s, most, s->types[i].row);
    for (uint32_t i = 0; i < s->n_nodes; i++)
        largest_grow(s, most, s->nodes[i].total);
    t->size = ARENA_ARRAY(t->arena, int64_t, s->n_types);
    for (uint32_t i = 0; i < s->n_types; i++)
        for (uint32_t c = 0; c < s->n_columns; c++)
            if (most[c] > 0)
                t->size[i] +=
                    order_share(pb_row(s, s->types[i].row)[c], most[c]);
    t->needs = ARENA_ARRAY(t->arena, struct needs, s->n_shapes);
    t->hardness = ARENA_ARRAY(t->arena, int64_t, s->n_shapes);
    for (uint32_t i = 0; i < s->n_shapes; i++) {
        struct needs *needs = &t->needs[i];

        *needs = needs_make(s, pb_row(s, s->shapes[i].row), t->arena);
        for (uint32_t k = 0; k < needs->n; k++) {
            int64_t whole = most[needs->v[k].column];

            if (whole > 0)
                t->hardness[i] += order_share(needs->v[k].amount, whole);
        }
    }
}

/* ---- offers */

bool tables_by_size(const struct tables *t)
{
    return t->s->limits.policy == POLICY_LEAST_WASTE ||
           t->s->limits.policy == POLICY_RAY;
}

static bool avoided(const struct problem *s, const struct pb_offer *o)
{
    return problem_avoided(s, o->first_label, o->n_labels);
}

static int offer_before(const void *ctx, uint32_t a, uint32_t b)
{
    const struct tables *t = ctx;
    const struct problem *s = t->s;
    const struct pb_offer *x = &s->offers[a], *y = &s->offers[b];
    const struct pb_type *tx = &s->types[x->type], *ty = &s->types[y->type];
    int by_price = ORDER(x->price_micros_hour, y->price_micros_hour);
    int by_priority = ORDER(ty->priority, tx->priority);
    bool first = s->limits.policy == POLICY_PRIORITY ||
                 s->limits.policy == POLICY_RAY;
    int r = 0;

    if (tables_by_size(t))
        r = ORDER(t->size[x->type], t->size[y->type]);
    if (r == 0)
        r = first ? by_priority : by_price;
    if (r == 0)
        r = first ? by_price : by_priority;
    if (r == 0)
        r = ORDER(avoided(s, x), avoided(s, y));
    return r != 0 ? r : ORDER(a, b);
}

static void offers_rank(struct tables *t)
{
    const struct problem *s = t->s;

    t->offers = ARENA_ARRAY(t->arena, uint32_t, s->n_offers);
    t->offer_rank = ARENA_ARRAY(t->arena, uint32_t, s->n_offers);
    for (uint32_t i = 0; i < s->n_offers; i++)
        t->offers[i] = i;
    order_sort(t->offers, s->n_offers, offer_before, t, t->arena);
    for (uint32_t i = 0; i < s->n_offers; i++)
        t->offer_rank[t->offers[i]] = i;
    t->room = ARENA_ARRAY(t->arena, struct room, s->n_types);
    t->accelerator = ARENA_ARRAY(t->arena, bool, s->n_types);
    for (uint32_t i = 0; i < s->n_types; i++) {
        t->room[i] = room_of_row(s, pb_row(s, s->types[i].row), t->arena);
        t->accelerator[i] = s->types[i].accelerator;
    }
}

bool tables_match_offer(const struct tables *t, uint32_t selector,
                        uint32_t offer)
{
    const struct pb_offer *o = &t->s->offers[offer];
    int8_t *m;

    if (selector == 0)
        return true;
    m = &t->match[(size_t)selector * t->n_places + offer];
    if (*m < 0)
        *m = problem_match(t->s, selector, o->first_label, o->n_labels);
    return *m > 0;
}

bool tables_match_node(const struct tables *t, uint32_t selector, uint32_t node)
{
    const struct pb_node *n = &t->s->nodes[node];
    int8_t *m;

    if (selector == 0)
        return true;
    m = &t->match[(size_t)selector * t->n_places + t->s->n_offers + node];
    if (*m < 0)
        *m = problem_match(t->s, selector, n->first_label, n->n_labels);
    return *m > 0;
}

bool tables_fits(const struct tables *t, uint32_t shape, uint32_t type)
{
    int8_t *fits = &t->fits[(size_t)shape * t->s->n_types + type];

    *fits = room_fit(t->s, &t->room[type], &t->needs[shape], 1) > 0;
    return *fits > 0;
}

bool tables_spares_accelerators(const struct tables *t, uint32_t shape)
{
    const struct problem *s = t->s;

    if (!s->limits.conserve || s->shapes[shape].accelerator)
        return false;
    for (uint32_t i = 0; i < s->n_offers; i++) {
        const struct pb_type *type = &s->types[s->offers[i].type];

        if (!type->accelerator && type->max > 0 &&
            type->unavailable != REASON_TYPE_DISABLED &&
            tables_could(t, shape, i))
            return true;
    }
    return false;
}

bool tables_may_buy(const struct tables *t, uint32_t shape, uint32_t offer)
{
    return tables_could(t, shape, offer) &&
           !(t->s->types[t->s->offers[offer].type].accelerator &&
             tables_spares_accelerators(t, shape));
}

/* ---- wants */

static uint8_t rank_of(const struct pb_demand *d, const struct pb_bundle *b)
{
    if (b->unconfirmed)
        return RANK_UNCONFIRMED;
    return d->source == SOURCE_REQUEST ? RANK_REQUEST
           : d->source == SOURCE_SPARE ? RANK_SPARE
                                       : RANK_WORK;
}

/* Order of what may share a want; 0: it may. */
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

static void wants_loose(struct tables *t)
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

        if (w == NULL || b->count > UINT32_MAX - w->count ||
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

static int gang_want_before(const void *ctx, uint32_t a, uint32_t b)
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
    order_sort(t->bundles + at, d->n_bundles, gang_want_before, t, t->arena);
    for (uint32_t i = 0; i < d->n_bundles; i++) {
        const struct pb_bundle *b = &t->s->bundles[t->bundles[at + i]];

        size += b->count;
        g->unconfirmed = g->unconfirmed || b->unconfirmed;
        group_grow(t, group_add(t, at + i));
        g->n_groups++;
    }
    g->size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
}

static void wants_of_gangs(struct tables *t)
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

static void offers_tried(struct tables *t)
{
    const struct problem *s = t->s;

    t->tried = ARENA_ARRAY(t->arena, int64_t, s->n_offers);
    for (uint32_t i = 0; i < s->n_offers; i++) {
        t->tried[i] = s->offers[i].failed_ms;
        t->failed = t->failed || s->offers[i].failed_ms > 0;
    }
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const struct pb_node *n = &s->nodes[i];

        if (n->offer != NONE && n->created_ms > t->tried[n->offer])
            t->tried[n->offer] = n->created_ms;
    }
}

void tables_make(const struct problem *s, struct arena *arena,
                 struct tables *ret)
{
    struct tables *t = ret;

    *t = (struct tables){.s = s, .arena = arena};
    t->n_places = s->n_offers + s->n_nodes;
    t->match = ARENA_ARRAY(arena, int8_t, (size_t)s->n_selectors * t->n_places);
    memset(t->match, -1, (size_t)s->n_selectors * t->n_places);
    t->fits = ARENA_ARRAY(arena, int8_t, (size_t)s->n_shapes * s->n_types);
    memset(t->fits, -1, (size_t)s->n_shapes * s->n_types);
    shapes_measure(t);
    offers_rank(t);
    offers_tried(t);
    t->bundles = ARENA_ARRAY(arena, uint32_t, s->n_bundles);
    t->group_of = ARENA_ARRAY(arena, uint32_t, s->n_bundles);
    memset(t->group_of, 0xff, sizeof *t->group_of * s->n_bundles);
    t->groups = ARENA_ARRAY(arena, struct group, s->n_bundles);
    t->loose = ARENA_ARRAY(arena, uint32_t, s->n_bundles);
    t->gangs = ARENA_ARRAY(arena, struct gang, s->n_demands);
    wants_loose(t);
    wants_of_gangs(t);
}
