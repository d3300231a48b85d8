/*
 * places.c - the places of a cover's answer, given to bundles of gangs and of others.
 *
 * Node by node.  Where bundles must lie apart, or would rather, the gangs with the most
 * to place come first: that finds places for all if there are any, as far as all
 * bundles are alike (Gale and Ryser).  Then one gang after the other, so that its
 * bundles come to lie together.  What does not fit, or has no place, is left.
 */
#include "gangs.h"

#include "sources.h"

/* Up to `count` bundles on each node of the class, if they fit. */
static uint32_t source_place(struct candidate *d, struct buy_gangs *g,
                             uint32_t source, uint32_t count, uint32_t i)
{
    struct source *x = &g->sources.v[source];
    const struct node_class *c = &d->classes.v[i];
    const enum side side = d->t->groups[x->group].side;
    const uint32_t gang = d->t->gang_of[x->group], n = c->n;

    if (count > x->left / n)
        count = x->left / n;
    count = room_fit(d->t->s, &c->room[side],
                     &d->t->needs[tables_shape(d->t, x->group, x->alt)], count);
    if (count == 0)
        return 0;
    candidate_place(d, i, x->group, x->alt, count);
    x->left -= count * n;
    if (gang != NONE)
        g->node[gang] = g->serial;
    return count;
}

static void whole_place(struct candidate *d, struct source *x, uint32_t i)
{
    const uint32_t gang = d->t->gang_of[x->group];
    const struct gang *all = &d->t->gangs[gang];
    const enum side side = all->side;

    if (!gang_fits(d, gang, d->classes.v[i].room[side]))
        return;
    for (uint32_t k = all->first_group; k < all->first_group + all->n_groups;
         k++)
        candidate_place(d, i, k, 0, d->t->groups[k].count);
    x->left = 0;
}

/* Bundles of the gang that have no place yet. */
static uint32_t gang_left(const struct candidate *d, uint32_t gang)
{
    const struct gang *g = &d->t->gangs[gang];
    uint32_t n = 0;

    for (uint32_t k = g->first_group; k < g->first_group + g->n_groups; k++)
        n += d->left[k];
    return n;
}

/* A source whose gang has none on this node: of the gang with the most to place, since
 * that needs the most nodes.  NONE: there is none. */
static uint32_t apart_next(const struct candidate *d, const struct buy_gangs *g,
                           const struct item *item, enum strategy how)
{
    uint32_t best = NONE, most = 0, last = NONE;

    for (uint32_t k = item->first; k != NONE; k = g->sources.v[k].next) {
        const struct source *x = &g->sources.v[k];
        uint32_t gang = d->t->gang_of[x->group], left;

        if (x->left == 0 || gang == last || strategy_of(d->t, gang) != how ||
            g->node[gang] == g->serial)
            continue;
        last = gang; /* its other sources wait for as many */
        left = gang_left(d, gang);
        if (left > most) {
            best = k;
            most = left;
        }
    }
    return best;
}

/* Of gangs that lie apart one each, while there is room for it. */
static uint32_t apart_place(struct candidate *d, struct buy_gangs *g,
                            const struct item *item, enum strategy how,
                            uint32_t count, uint32_t i)
{
    uint32_t k;

    while (count > 0 && (k = apart_next(d, g, item, how)) != NONE &&
           source_place(d, g, k, 1, i) > 0)
        count--;
    return count;
}

/* One after the other: a gang's bundles come to lie together. */
static uint32_t bundles_place(struct candidate *d, struct buy_gangs *g,
                              const struct item *item, bool last,
                              uint32_t count, uint32_t i)
{
    for (uint32_t k = item->first; k != NONE && count > 0;
         k = g->sources.v[k].next)
        if (last || strategy_of(d->t, d->t->gang_of[g->sources.v[k].group]) !=
                        STRATEGY_SPREAD)
            count -= source_place(d, g, k, count, i);
    return count;
}

/* On one node. */
static void item_place(struct candidate *d, struct buy_gangs *g,
                       const struct item *item, uint32_t count, uint32_t i)
{
    switch (item->kind) {
    case ITEM_WHOLE:
        for (uint32_t k = item->first; k != NONE && count > 0;
             k = g->sources.v[k].next)
            if (g->sources.v[k].left > 0) {
                whole_place(d, &g->sources.v[k], i);
                count--;
            }
        break;
    case ITEM_APART:
        apart_place(d, g, item, STRATEGY_STRICT_SPREAD, count, i);
        break;
    case ITEM_BUNDLES:
        count = apart_place(d, g, item, STRATEGY_SPREAD, count, i);
        count = bundles_place(d, g, item, false, count, i);
        bundles_place(d, g, item, true, count, i);
        break;
    }
}

/* The first source with something left, NONE. */
static uint32_t source_first(const struct buy_gangs *g, const struct item *item)
{
    uint32_t k = item->first;

    while (k != NONE && g->sources.v[k].left == 0)
        k = g->sources.v[k].next;
    return k;
}

/* Nodes that can get the same: as long as all is of no gang, and of one group. */
static uint32_t alike(const struct candidate *d, const struct purchase *q,
                      const struct cover_part *parts, uint32_t n,
                      uint32_t nodes)
{
    for (uint32_t p = 0; p < n; p++) {
        const struct item *item = &q->gangs->items[parts[p].item];
        uint32_t k = source_first(q->gangs, item), fit;

        if (k == NONE || item->kind != ITEM_BUNDLES ||
            d->t->gang_of[q->gangs->sources.v[k].group] != NONE)
            return 1;
        for (uint32_t r = 0; r < p; r++)
            if (parts[r].item == parts[p].item)
                return 1;
        fit = q->gangs->sources.v[k].left / parts[p].count;
        nodes = fit < nodes ? fit : nodes;
    }
    return nodes > 1 ? nodes : 1;
}

/* The node is bought for what was placed on it first. */
static void bought_for(struct candidate *d, const struct purchase *q,
                       uint32_t i)
{
    struct node_class *c = &d->classes.v[i];
    uint32_t k = c->placed;

    if (k == NONE || c->kind != CLASS_NEW)
        return;
    while (d->placements.v[k].next != NONE)
        k = d->placements.v[k].next;
    c->demand = d->t->groups[d->placements.v[k].group].demand;
    if (q->what.why == REASON_NONE)
        c->why = buy_reason(d, d->placements.v[k].group);
}

void buy_gangs_place(struct candidate *d, struct purchase *q,
                     const struct cover_part *parts, uint32_t n, uint32_t i)
{
    struct buy_gangs *g = q->gangs;
    uint32_t nodes = d->classes.v[i].n, k, rest;

    for (; nodes > 0; nodes -= k, i = rest) {
        k = alike(d, q, parts, n, nodes);
        rest = k < nodes ? candidate_split(d, i, k) : NONE;
        g->serial++;
        for (uint32_t p = 0; p < n; p++) {
            const struct item *item = &g->items[parts[p].item];

            if (k == 1)
                item_place(d, g, item, parts[p].count, i);
            else
                source_place(d, g, source_first(g, item), parts[p].count, i);
        }
        bought_for(d, q, i);
    }
}
