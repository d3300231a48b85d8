/*
 * unit.c - see unit.h.
 */
#include "unit.h"

#include "buy.h"
#include "order.h"

uint32_t unit_hosts(const struct snapshot *s, uint32_t offer)
{
    uint32_t n = s->types[s->offers[offer].type].hosts;

    return n > 0 ? n : 1;
}

static int unit_before(const void *ctx, uint32_t a, uint32_t b)
{
    const struct snapshot *s = ctx;
    int r = ORDER(s->nodes[a].unit, s->nodes[b].unit);

    if (r == 0)
        r = ORDER(s->nodes[a].type, s->nodes[b].type);
    return r != 0 ? r : ORDER(a, b);
}

static bool there(const struct sn_node *n)
{
    return n->state != STATE_STOPPING && n->state != STATE_GONE;
}

static void ring_close(const struct snapshot *s, struct units *u,
                       const uint32_t *v, uint32_t n)
{
    const struct sn_node *x = &s->nodes[v[0]];
    uint32_t have = 0;

    for (uint32_t i = 0; i < n; i++) {
        u->next[v[i]] = v[(i + 1) % n];
        have += there(&s->nodes[v[i]]);
    }
    for (uint32_t i = 0; i < n; i++)
        u->partial[v[i]] = x->type != NONE &&
                           s->types[x->type].hosts > 1 &&
                           have < s->types[x->type].hosts;
}

void units_make(const struct snapshot *s, struct arena *arena,
                struct units *ret)
{
    uint32_t *order = ARENA_ARRAY(arena, uint32_t, s->n_nodes), n = 0;

    ret->next = ARENA_ARRAY(arena, uint32_t, s->n_nodes);
    ret->partial = ARENA_ARRAY(arena, bool, s->n_nodes);
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        ret->next[i] = i;
        /* a stranger's machine is no part of a unit of ours */
        if (s->nodes[i].unit != 0 && !s->nodes[i].foreign)
            order[n++] = i;
    }
    order_sort(order, n, unit_before, s, arena);
    for (uint32_t i = 0, end; i < n; i = end) {
        const struct sn_node *x = &s->nodes[order[i]];

        for (end = i + 1; end < n && s->nodes[order[end]].unit == x->unit &&
                          s->nodes[order[end]].type == x->type;
             end++)
            ;
        ring_close(s, ret, order + i, end - i);
    }
}

uint32_t units_size(const struct units *u, uint32_t node)
{
    uint32_t n = 1;

    for (uint32_t i = u->next[node]; i != node; i = u->next[i])
        n++;
    return n;
}

uint32_t unit_whole(const struct snapshot *s, uint32_t offer, uint32_t count,
                    uint32_t most)
{
    uint32_t hosts = unit_hosts(s, offer);

    if (count > UNLIMITED - hosts)
        count = UNLIMITED - hosts;
    count += (hosts - count % hosts) % hosts;
    most -= most % hosts;
    return count < most ? count : most;
}

uint32_t unit_spare(const struct sketch *d, uint32_t offer)
{
    if (unit_hosts(d->t->s, offer) < 2)
        return NONE;
    for (uint32_t i = 0; i != NONE; i = d->classes.v[i].next)
        if (d->classes.v[i].kind == CLASS_NEW && d->classes.v[i].n > 0 &&
            d->classes.v[i].offer == offer && d->classes.v[i].held == NONE)
            return i;
    return NONE;
}

int64_t unit_price(const struct snapshot *s, uint32_t offer, uint64_t useful)
{
    uint64_t hosts = unit_hosts(s, offer), all;
    int64_t price = s->offers[offer].price_micros_hour;

    if (hosts < 2 || useful == 0)
        return price;
    all = (useful + hosts - 1) / hosts * hosts;
    if (useful > UINT32_MAX)
        return price;
    return amount_times(price, all) / (int64_t)useful;
}

bool unit_gang(const struct sketch *d, const uint32_t *wants,
               const uint32_t *alts, uint32_t n)
{
    const struct snapshot *s = d->t->s;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t shape = sketch_shape(d, wants[i], alts[i]);
        bool any = false;

        for (uint32_t o = 0; o < s->n_offers; o++) {
            if (!buy_allowed(d, shape, o))
                continue;
            if (unit_hosts(s, o) < 2)
                return false;
            any = true;
        }
        if (!any)
            return false;
    }
    return true;
}
