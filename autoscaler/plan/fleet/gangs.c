/*
 * gangs.c - see gangs.h.
 *
 * A machine that holds a STRICT_PACK gang has room for the sum of its bundles.  Parts of
 * devices count only where one part is all that is asked for: several may lie on devices
 * that others share.
 */
#include "gangs.h"

#include <string.h>

#include "../gang_facts.h"
#include "../order.h"

enum { WHOLE = 256 }; /* kinds of STRICT_PACK gangs with an item, */
enum { APART = 8 };   /* and of STRICT_SPREAD with a column */

struct kind {                /* equal gangs */
    uint32_t gang, n, first; /* the first; how many; into split.of_kind */
    int64_t value;           /* dollars on machines that hold one bundle each */
    bool whole;
};

struct split {
    const struct candidate *d;
    struct fleet_program *f;
    uint32_t *placed;  /* per group */
    uint32_t *item_of; /* side x shape, NONE */
    struct kind *kinds;
    uint32_t n_kinds;
    uint32_t *of_kind; /* demands of gangs, kind by kind */
    struct cover_item *items;
    uint32_t n_items;
    struct fleet_stand *stand;
    uint32_t *shape, *seat; /* per item; seat: its column, NONE */
    enum side *side;
};

/* ---- which gangs */

static void placed_count(struct split *x)
{
    const struct candidate *d = x->d;

    for (uint32_t i = 0; i != NONE; i = d->classes.v[i].next)
        for (uint32_t k = d->classes.v[i].n ? d->classes.v[i].placed : NONE;
             k != NONE; k = d->placements.v[k].next)
            x->placed[d->placements.v[k].group] += d->classes.v[i].n *
                                                   d->placements.v[k].count;
}

static bool strict(const struct split *x, uint32_t gang)
{
    const struct tables *t = x->d->t;
    const struct gang *g = &t->gangs[gang];
    enum strategy how = t->s->demands[g->demand].strategy;
    bool all = !g->unconfirmed && g->size > 1 &&
               (how == STRATEGY_STRICT_PACK || how == STRATEGY_STRICT_SPREAD);

    for (uint32_t i = g->first_group; all && i < g->first_group + g->n_groups;
         i++)
        all = t->groups[i].n_alts == 1 && x->placed[i] == t->groups[i].count;
    return all;
}

/* What its bundles cost at least, each on a machine of its own. */
static int64_t value_of(const struct split *x, uint32_t gang)
{
    const struct tables *t = x->d->t;
    const struct gang *g = &t->gangs[gang];
    int64_t sum = 0;

    for (uint32_t i = g->first_group; i < g->first_group + g->n_groups; i++) {
        uint32_t shape = tables_shape(t, i, 0);
        int64_t least = 0;

        for (uint32_t o = 0; o < t->s->n_offers; o++) {
            int64_t price = t->s->offers[o].price_micros_hour;

            if (tables_could(t, shape, o) && (least == 0 || price < least))
                least = price;
        }
        sum = amount_add(sum, amount_times(least, t->groups[i].count));
    }
    return sum;
}

static void kinds_find(struct split *x)
{
    const struct tables *t = x->d->t;

    for (uint32_t gang = 0; gang < t->n_gangs; gang++) {
        uint32_t k = 0;

        if (!strict(x, gang))
            continue;
        while (k < x->n_kinds && !gang_same(t, x->kinds[k].gang, gang))
            k++;
        if (k == x->n_kinds)
            x->kinds[x->n_kinds++] = (struct kind){
                .gang = gang,
                .value = value_of(x, gang),
                .whole = t->s->demands[t->gangs[gang].demand].strategy ==
                         STRATEGY_STRICT_PACK};
        x->kinds[k].n++;
    }
}

static int dearer(const void *ctx, uint32_t a, uint32_t b)
{
    const struct kind *v = ctx;
    int r = ORDER(v[a].whole, v[b].whole);

    if (r == 0)
        r = ORDER(v[b].value, v[a].value);
    return r != 0 ? r : ORDER(a, b);
}

/* The dearest of each, as many as may be. */
static void kinds_choose(struct split *x)
{
    const struct tables *t = x->d->t;
    uint32_t *order = ARENA_ARRAY(x->d->arena, uint32_t, x->n_kinds);
    struct kind *kept = ARENA_ARRAY(x->d->arena, struct kind, x->n_kinds);
    uint32_t n = 0, whole = 0, apart = 0, at = 0;

    for (uint32_t k = 0; k < x->n_kinds; k++)
        order[k] = k;
    order_sort(order, x->n_kinds, dearer, x->kinds, x->d->arena);
    for (uint32_t k = 0; k < x->n_kinds; k++) {
        const struct kind *one = &x->kinds[order[k]];

        if (one->whole ? whole++ < WHOLE : apart++ < APART)
            kept[n++] = *one;
    }
    x->kinds = kept;
    x->n_kinds = n;
    for (uint32_t k = 0; k < n; k++) {
        kept[k].first = at;
        for (uint32_t gang = 0; gang < t->n_gangs; gang++)
            if (strict(x, gang) && gang_same(t, kept[k].gang, gang))
                x->of_kind[at++] = t->gangs[gang].demand;
    }
}

/* ---- items */

static uint32_t shape_item(const struct split *x, uint32_t group)
{
    const struct tables *t = x->d->t;

    return x->item_of[t->groups[group].side * t->s->n_shapes +
                      tables_shape(t, group, 0)];
}

static uint32_t item_add(struct split *x, const struct kind *kind,
                         uint32_t group, uint32_t count, const int64_t *need,
                         const uint64_t *bins)
{
    const struct tables *t = x->d->t;
    uint32_t i = x->n_items++;

    x->items[i] = (struct cover_item){need, count, bins};
    x->shape[i] = tables_shape(t, group, 0);
    x->side[i] = t->groups[group].side;
    x->stand[i] = (struct fleet_stand){kind->whole, kind->gang,
                                       x->of_kind + kind->first, kind->n};
    x->seat[i] = NONE;
    return i;
}

/* In the program's columns: needs of all bundles of the gang. */
static const int64_t *whole_need(const struct split *x, const struct gang *g)
{
    const struct cover_problem *p = &x->f->p;
    const struct tables *t = x->d->t;
    int64_t *row = ARENA_ARRAY(x->d->arena, int64_t, p->n_columns);

    for (uint32_t c = 0; c < p->n_columns; c++) {
        uint64_t parts = 0;
        int64_t part = 0;

        for (uint32_t i = g->first_group; i < g->first_group + g->n_groups;
             i++) {
            int64_t one = p->items[shape_item(x, i)].need[c];
            uint32_t n = t->groups[i].count;

            if (p->columns[c].device && one > 0 && one < AMOUNT_ONE) {
                parts += n;
                part = one;
            } else {
                row[c] = amount_add(row[c], amount_times(one, n));
            }
        }
        if (parts == 1 && row[c] == 0)
            row[c] = part;
    }
    return row;
}

/* Bins that may hold each of its bundles. */
static const uint64_t *whole_bins(const struct split *x, const struct gang *g)
{
    const uint32_t words = (x->f->p.n_bins + 63) / 64;
    uint64_t *bits = ARENA_ARRAY(x->d->arena, uint64_t, words);

    for (uint32_t i = g->first_group; i < g->first_group + g->n_groups; i++) {
        const uint64_t *may = x->f->p.items[shape_item(x, i)].bins;

        for (uint32_t w = 0; w < words; w++)
            bits[w] = i == g->first_group ? may[w] : bits[w] & may[w];
    }
    return bits;
}

/* Bundles of the group, with those of its gang that are of the same shape. */
static void apart_add(struct split *x, const struct kind *kind, uint32_t from,
                      uint32_t group, uint32_t count, uint32_t seat)
{
    const struct cover_item *all = &x->f->p.items[shape_item(x, group)];

    while (from < x->n_items &&
           x->shape[from] != tables_shape(x->d->t, group, 0))
        from++;
    if (from == x->n_items)
        x->seat[item_add(x, kind, group, 0, all->need, all->bins)] = seat;
    x->items[from].count += count;
}

/* Takes their bundles out of the items by shape, and makes items of the kind. */
static void kind_items(struct split *x, struct cover_item *plain,
                       const struct kind *kind, uint32_t seat)
{
    const uint32_t first = x->n_items;
    const struct tables *t = x->d->t;
    const struct gang *g = &t->gangs[kind->gang];

    for (uint32_t i = g->first_group; i < g->first_group + g->n_groups; i++) {
        const uint32_t count = kind->n * t->groups[i].count;

        plain[shape_item(x, i)].count -= count;
        if (!kind->whole)
            apart_add(x, kind, first, i, count, seat);
    }
    if (kind->whole)
        item_add(x, kind, g->first_group, kind->n, whole_need(x, g),
                 whole_bins(x, g));
}

/* A column more for each kind that lies apart: a bundle takes a seat. */
static void seats_add(struct split *x, uint32_t seats, const uint32_t *gangs)
{
    struct cover_problem *p = &x->f->p;
    const uint32_t old = p->n_columns, columns = old + seats;
    struct pb_column *c = ARENA_ARRAY(x->d->arena, struct pb_column, columns);
    struct cover_bin *bins = arena_copy(x->d->arena, p->bins,
                                        p->n_bins * sizeof *bins);

    memcpy(c, p->columns, old * sizeof *c);
    for (uint32_t i = 0; i < x->n_items; i++) {
        int64_t *row = ARENA_ARRAY(x->d->arena, int64_t, columns);

        memcpy(row, x->items[i].need, old * sizeof *row);
        if (x->seat[i] != NONE)
            row[old + x->seat[i]] = AMOUNT_ONE;
        x->items[i].need = row;
    }
    for (uint32_t b = 0; b < p->n_bins; b++) {
        int64_t *row = ARENA_ARRAY(x->d->arena, int64_t, columns);

        memcpy(row, bins[b].has, old * sizeof *row);
        for (uint32_t k = 0; k < seats; k++)
            row[old + k] = gangs[k] * AMOUNT_ONE;
        bins[b].has = row;
    }
    p->bins = bins;
    p->columns = c;
    p->n_columns = columns;
}

static void items_replace(struct split *x)
{
    struct fleet_program *f = x->f;
    struct cover_item *plain = arena_copy(x->d->arena, f->p.items,
                                          f->p.n_items * sizeof *plain);
    uint32_t gangs[APART], seats = 0, n = 0;

    x->n_items = f->p.n_items;
    for (uint32_t k = 0; k < x->n_kinds; k++) {
        kind_items(x, plain, &x->kinds[k], seats);
        if (!x->kinds[k].whole)
            gangs[seats++] = x->kinds[k].n;
    }
    memcpy(x->items, plain, f->p.n_items * sizeof *plain);
    for (uint32_t i = 0; i < x->n_items; i++) {
        if (x->items[i].count == 0)
            continue;
        x->items[n] = x->items[i];
        x->shape[n] = x->shape[i];
        x->side[n] = x->side[i];
        x->stand[n] = x->stand[i];
        x->seat[n++] = x->seat[i];
    }
    x->n_items = n;
    if (seats > 0)
        seats_add(x, seats, gangs);
    f->p.items = x->items;
    f->p.n_items = n;
    f->shape = x->shape;
    f->side = x->side;
    f->stand = x->stand;
    f->strict = true;
}

void fleet_gangs_split(const struct candidate *best, struct fleet_program *f)
{
    const struct tables *t = best->t;
    struct arena *a = best->arena;
    const uint32_t most = f->p.n_items + t->n_groups;
    struct split x = {.d = best, .f = f};

    f->stand = ARENA_ARRAY(a, struct fleet_stand, most);
    if (t->n_gangs == 0)
        return;
    x.placed = ARENA_ARRAY(a, uint32_t, t->n_groups);
    x.kinds = ARENA_ARRAY(a, struct kind, t->n_gangs);
    x.of_kind = ARENA_ARRAY(a, uint32_t, t->n_gangs);
    placed_count(&x);
    kinds_find(&x);
    if (x.n_kinds == 0)
        return;
    kinds_choose(&x);
    x.item_of = ARENA_ARRAY(a, uint32_t, SIDES * t->s->n_shapes);
    x.items = ARENA_ARRAY(a, struct cover_item, most);
    x.shape = ARENA_ARRAY(a, uint32_t, most);
    x.side = ARENA_ARRAY(a, enum side, most);
    x.seat = ARENA_ARRAY(a, uint32_t, most);
    x.stand = f->stand;
    for (uint32_t i = 0; i < f->p.n_items; i++) {
        x.item_of[f->side[i] * t->s->n_shapes + f->shape[i]] = i;
        x.shape[i] = f->shape[i];
        x.side[i] = f->side[i];
        x.seat[i] = NONE;
    }
    items_replace(&x);
}
