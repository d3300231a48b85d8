/*
 * tables.c - needs, offers and rooms of one snapshot.
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
                t->size[i] += order_share(pb_row(s, s->types[i].row)[c],
                                          most[c]);
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
    for (uint32_t i = 0; i < s->n_types; i++)
        t->room[i] = room_of_row(s, pb_row(s, s->types[i].row), t->arena);
}

/* place: an offer, or n_offers + a node. */
static bool match_place(const struct tables *t, uint32_t selector,
                        uint32_t place, uint32_t first_label, uint32_t n_labels)
{
    int8_t *m = &t->match[(size_t)selector * t->n_places + t->place_as[place]];

    if (selector == 0)
        return true;
    if (*m < 0)
        *m = problem_match(t->s, selector, first_label, n_labels);
    return *m > 0;
}

bool tables_match_offer(const struct tables *t, uint32_t selector,
                        uint32_t offer)
{
    const struct pb_offer *o = &t->s->offers[offer];

    return match_place(t, selector, offer, o->first_label, o->n_labels);
}

bool tables_match_node(const struct tables *t, uint32_t selector, uint32_t node)
{
    const struct pb_node *n = &t->s->nodes[node];

    return match_place(t, selector, t->s->n_offers + node, n->first_label,
                       n->n_labels);
}

bool tables_unhelped(const struct tables *t, uint32_t shape, uint32_t type)
{
    const struct problem *s = t->s;

    for (uint32_t i = 0; i < s->n_unhelped; i++)
        if (s->unhelped[i].type == type &&
            s->unhelped[i].plain == s->shapes[shape].plain)
            return true;
    return false;
}

/* Types that have too little of a column for the shape do not fit; has: of the
 * column, per type. */
static void fits_narrow(const struct problem *s, const struct need *need,
                        const int64_t *has, bool *fits)
{
    const bool part = s->columns[need->column].device &&
                      need->amount < AMOUNT_ONE;
    const int64_t least = part ? AMOUNT_ONE : need->amount;

    for (uint32_t k = 0; k < s->n_types; k++)
        fits[k] = fits[k] & (has[k] >= least);
}

/* For all shapes and types at once, column by column: new nodes have no devices that
 * are used in part. */
static void fits_find(struct tables *t)
{
    const struct problem *s = t->s;
    int64_t *has = ARENA_ARRAY(t->arena, int64_t,
                               (size_t)s->n_columns * s->n_types);

    for (uint32_t c = 0; c < s->n_columns; c++)
        for (uint32_t k = 0; k < s->n_types; k++)
            has[(size_t)c * s->n_types + k] = t->room[k].row[c];
    t->fits = ARENA_ARRAY(t->arena, bool, (size_t)s->n_shapes * s->n_types);
    for (uint32_t i = 0; i < s->n_shapes; i++) {
        const struct needs *needs = &t->needs[i];
        bool *fits = t->fits + (size_t)i * s->n_types;

        if (needs->never)
            continue;
        memset(fits, true, s->n_types);
        for (uint32_t k = 0; k < needs->n; k++)
            fits_narrow(s, &needs->v[k],
                        has + (size_t)needs->v[k].column * s->n_types, fits);
        for (uint32_t k = 0; s->n_unhelped && k < s->n_types; k++)
            fits[k] = fits[k] && !tables_unhelped(t, i, k);
    }
}

/* Offers as sets: of each type, and of those that match a selector. */
struct offer_sets {
    const uint32_t *offers;
    uint32_t n, words, at;
    uint32_t *types, n_types; /* those that have an offer */
    uint64_t *of_type;        /* per place in types[] */
    uint64_t **matching;      /* per selector; NULL: not asked for yet */
};

static void set_bit(uint64_t *set, uint32_t bit)
{
    set[bit / 64] |= UINT64_C(1) << (bit % 64);
}

static void sets_make(const struct tables *t, struct offer_sets *x)
{
    const struct problem *s = t->s;
    uint32_t *place = ARENA_ARRAY(t->arena, uint32_t, s->n_types);

    x->types = ARENA_ARRAY(t->arena, uint32_t, s->n_types);
    x->of_type = ARENA_ARRAY(t->arena, uint64_t, (size_t)s->n_types * x->words);
    x->matching = ARENA_ARRAY(t->arena, uint64_t *, s->n_selectors + 1);
    for (uint32_t k = 0; k < x->n; k++) {
        const uint32_t type = s->offers[x->offers[k]].type;

        if (place[type] == 0) {
            x->types[x->n_types++] = type;
            place[type] = x->n_types;
        }
        set_bit(x->of_type + (size_t)(place[type] - 1) * x->words, x->at + k);
    }
}

static const uint64_t *matching(const struct tables *t, struct offer_sets *x,
                                uint32_t selector)
{
    uint64_t *set = x->matching[selector];

    if (set)
        return set;
    set = x->matching[selector] = ARENA_ARRAY(t->arena, uint64_t, x->words);
    for (uint32_t k = 0; k < x->n; k++)
        if (tables_match_offer(t, selector, x->offers[k]))
            set_bit(set, x->at + k);
    return set;
}

static void could(const struct tables *t, struct offer_sets *x, uint32_t shape,
                  uint64_t *row)
{
    const bool *fits = t->fits + (size_t)shape * t->s->n_types;
    const uint64_t *match;

    if (!x->types)
        sets_make(t, x);
    match = matching(t, x, t->s->shapes[shape].selector);
    for (uint32_t k = 0; k < x->n_types; k++) {
        const uint64_t *set = x->of_type + (size_t)k * x->words;

        for (uint32_t w = 0; fits[x->types[k]] && w < x->words; w++)
            row[w] |= set[w] & match[w];
    }
}

/* What is kept, about these offers; NULL: it is not. */
static struct tables_could *kept(const struct tables *t,
                                 const struct offer_sets *x)
{
    struct tables_could *c = t->could;

    if (x->at != 0 || x->words != (t->s->n_offers + 63) / 64)
        return NULL;
    if (c->n == x->n &&
        memcmp(c->offers, x->offers, x->n * sizeof *c->offers) == 0)
        return c;
    memcpy(c->offers, x->offers, x->n * sizeof *c->offers);
    c->n = x->n;
    memset(c->known, 0, t->s->n_shapes * sizeof *c->known);
    memset(c->bits, 0, (size_t)t->s->n_shapes * x->words * sizeof *c->bits);
    return c;
}

void tables_could_each(const struct tables *t, const uint32_t *shapes,
                       uint32_t n, const uint32_t *offers, uint32_t n_offers,
                       uint64_t *bits, uint32_t words, uint32_t at)
{
    struct offer_sets x = {
        .offers = offers, .n = n_offers, .words = words, .at = at};
    const struct arena_mark since = arena_mark(t->arena);
    struct tables_could *c = kept(t, &x);

    for (uint32_t i = 0; i < n; i++) {
        uint64_t *row = bits + (size_t)i * words;
        uint64_t *own = c ? c->bits + (size_t)shapes[i] * words : row;

        if (!c || !c->known[shapes[i]])
            could(t, &x, shapes[i], own);
        if (!c)
            continue;
        c->known[shapes[i]] = true;
        memcpy(row, own, words * sizeof *row);
    }
    arena_rewind(t->arena, since); /* the sets */
}

static void could_make(struct tables *t)
{
    const struct problem *s = t->s;
    struct tables_could *c = ARENA_NEW(t->arena, struct tables_could);

    c->offers = ARENA_ARRAY(t->arena, uint32_t, s->n_offers);
    c->known = ARENA_ARRAY(t->arena, bool, s->n_shapes);
    c->bits = ARENA_ARRAY(t->arena, uint64_t,
                          (size_t)s->n_shapes * ((s->n_offers + 63) / 64));
    t->could = c;
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

/* Offers, then nodes: equal labels are in one place of s->labels. */
static void places_find(struct tables *t)
{
    const struct problem *s = t->s;
    uint32_t *seen, most = 0;

    t->n_places = s->n_offers + s->n_nodes;
    t->place_as = ARENA_ARRAY(t->arena, uint32_t, t->n_places);
    for (uint32_t i = 0; i < s->n_offers; i++)
        if (s->offers[i].first_label > most)
            most = s->offers[i].first_label;
    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (s->nodes[i].first_label > most)
            most = s->nodes[i].first_label;
    /* 0: none has begun here; without labels: the place behind all others */
    seen = ARENA_ARRAY(t->arena, uint32_t, (size_t)most + 2);
    for (uint32_t p = 0; p < t->n_places; p++) {
        const bool offer = p < s->n_offers;
        const struct pb_node *n = offer ? NULL : &s->nodes[p - s->n_offers];
        uint32_t first = offer ? s->offers[p].first_label : n->first_label;
        uint32_t labels = offer ? s->offers[p].n_labels : n->n_labels;
        uint32_t *at = &seen[labels > 0 ? first : most + 1];

        if (*at == 0)
            *at = p + 1;
        t->place_as[p] = *at - 1;
    }
}

void tables_make(const struct problem *s, struct arena *arena,
                 struct tables *ret)
{
    struct tables *t = ret;

    *t = (struct tables){.s = s, .arena = arena};
    places_find(t);
    t->match = ARENA_ARRAY(arena, int8_t, (size_t)s->n_selectors * t->n_places);
    memset(t->match, -1, (size_t)s->n_selectors * t->n_places);
    shapes_measure(t);
    offers_rank(t);
    fits_find(t);
    offers_tried(t);
    could_make(t);
    tables_demand(t);
}
