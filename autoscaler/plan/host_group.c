/*
 * host_group.c - see host_group.h.
 */
#include "host_group.h"

#include "order.h"

static int host_group_before(const void *ctx, uint32_t a, uint32_t b)
{
    const struct problem *s = ctx;
    int r = ORDER(s->nodes[a].host_group, s->nodes[b].host_group);

    if (r == 0)
        r = ORDER(s->nodes[a].type, s->nodes[b].type);
    return r != 0 ? r : ORDER(a, b);
}

static bool there(const struct pb_node *n)
{
    return n->state != STATE_STOPPING && n->state != STATE_GONE;
}

static void ring_close(const struct problem *s, struct host_groups *u,
                       const uint32_t *v, uint32_t n)
{
    const struct pb_node *x = &s->nodes[v[0]];
    uint32_t have = 0;

    for (uint32_t i = 0; i < n; i++) {
        u->next[v[i]] = v[(i + 1) % n];
        have += there(&s->nodes[v[i]]);
    }
    for (uint32_t i = 0; i < n; i++)
        u->partial[v[i]] = x->type != NONE && s->types[x->type].hosts > 1 &&
                           have < s->types[x->type].hosts;
}

void host_groups_make(const struct problem *s, struct arena *arena,
                      struct host_groups *ret)
{
    uint32_t *order = ARENA_ARRAY(arena, uint32_t, s->n_nodes), n = 0;

    ret->next = ARENA_ARRAY(arena, uint32_t, s->n_nodes);
    ret->partial = ARENA_ARRAY(arena, bool, s->n_nodes);
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        ret->next[i] = i;
        /* an unmanaged machine is in none of our groups */
        if (s->nodes[i].host_group != 0 && !s->nodes[i].unmanaged)
            order[n++] = i;
    }
    order_sort(order, n, host_group_before, s, arena);
    for (uint32_t i = 0, end; i < n; i = end) {
        const struct pb_node *x = &s->nodes[order[i]];

        for (end = i + 1;
             end < n && s->nodes[order[end]].host_group == x->host_group &&
             s->nodes[order[end]].type == x->type;
             end++)
            ;
        ring_close(s, ret, order + i, end - i);
    }
}

uint32_t host_group_whole(const struct problem *s, uint32_t offer,
                          uint32_t count, uint32_t most)
{
    uint32_t hosts = tables_hosts(s, offer);

    if (count > UNLIMITED - hosts)
        count = UNLIMITED - hosts;
    count += (hosts - count % hosts) % hosts;
    most -= most % hosts;
    return count < most ? count : most;
}

uint32_t host_group_spare(const struct candidate *d, uint32_t offer)
{
    if (tables_hosts(d->t->s, offer) < 2)
        return NONE;
    for (uint32_t i = 0; i != NONE; i = d->classes.v[i].next)
        if (d->classes.v[i].kind == CLASS_NEW && d->classes.v[i].n > 0 &&
            d->classes.v[i].offer == offer && d->classes.v[i].placed == NONE)
            return i;
    return NONE;
}

int64_t host_group_price(const struct problem *s, uint32_t offer,
                         uint64_t useful)
{
    uint64_t hosts = tables_hosts(s, offer), all;
    int64_t price = s->offers[offer].price_micros_hour;

    if (hosts < 2 || useful == 0)
        return price;
    all = (useful + hosts - 1) / hosts * hosts;
    if (useful > UINT32_MAX)
        return price;
    return amount_times(price, all) / (int64_t)useful;
}

bool host_group_gang(const struct candidate *d, const uint32_t *groups,
                     const uint32_t *alts, uint32_t n)
{
    const struct problem *s = d->t->s;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t shape = tables_shape(d->t, groups[i], alts[i]);
        bool any = false;

        for (uint32_t o = 0; o < s->n_offers; o++) {
            if (!tables_may_buy(d->t, shape, o))
                continue;
            if (tables_hosts(s, o) < 2)
                return false;
            any = true;
        }
        if (!any)
            return false;
    }
    return true;
}
