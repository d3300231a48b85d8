/*
 * candidate_obtain.c - nodes bought, and the pool.
 *
 * Classes form two lists by `next`: those that are placed on, and behind
 * sentinel_pool those in the pool.  Moving one from list to list is a change like
 * any other and can be undone.
 */
#include "candidate.h"
#include "host_group.h"
#include "limits.h"
#include "quota.h"

/* Moves class i, which follows `before` in the pool, to the new ones. */
static void bring_back(struct candidate *d, uint32_t before, uint32_t i)
{
    struct node_class *c = candidate_touch(d, i);
    uint32_t next = c->next;

    c->next = d->classes.v[d->sentinel_new].next;
    candidate_touch(d, before)->next = next;
    candidate_touch(d, d->sentinel_new)->next = i;
}

void candidate_unpool(struct candidate *d)
{
    uint32_t i;

    while ((i = d->classes.v[d->sentinel_pool].next) != NONE)
        bring_back(d, d->sentinel_pool, i);
}

void candidate_pool(struct candidate *d)
{
    uint32_t last = 0, last_pool = d->sentinel_pool, next;

    for (uint32_t i = d->classes.v[0].next; i != NONE; i = next) {
        const struct node_class *c = &d->classes.v[i];

        next = c->next;
        if (c->n == 0 || c->kind == CLASS_DRAINING) {
            last = i;
            continue;
        }
        candidate_touch(d, last)->next = next;
        candidate_touch(d, last_pool)->next = i;
        last_pool = i;
    }
    if (last_pool != d->sentinel_pool)
        candidate_touch(d, last_pool)->next = NONE;
}

void candidate_take(struct candidate *d, uint32_t class_ix, uint32_t count)
{
    uint32_t before = d->sentinel_pool;

    while (d->classes.v[before].next != class_ix)
        before = d->classes.v[before].next;
    if (count < d->classes.v[class_ix].n)
        candidate_split(d, class_ix, count);
    bring_back(d, before, class_ix);
}

uint32_t candidate_obtain(struct candidate *d, uint32_t offer, uint32_t count,
                          enum reason why, uint32_t demand)
{
    const struct pb_offer *o = &d->t->s->offers[offer];
    const struct room *room = &d->t->room[o->type];
    uint32_t i = d->classes.n, most;
    enum reason unused;
    struct node_class c = {
        .kind = CLASS_NEW,
        .offer = offer,
        .room = {*room, *room},
        .placed = NONE,
        .next = d->classes.v[d->sentinel_new].next,
        .spread = NONE,
        .accelerator = d->t->s->types[o->type].accelerator,
        .why = why,
        .demand = demand,
        .proposal = NONE,
        .final = true,
    };
    struct bought b = {offer, 0, false};
    const uint32_t after = c.next;

    most = limits_room(d, offer, &unused);
    if (demand != NONE) {
        uint32_t nodes = quota_nodes(d, d->t->s->demands[demand].queue);

        most = nodes < most ? nodes : most;
    }
    most = host_group_whole(d->t->s, offer, count, most);
    if (most == 0)
        return NONE;
    b.count = most;
    c.n = most < count ? most : count;
    c.host_group = tables_hosts(d->t->s, offer) > 1
                       ? NEW_HOST_GROUP | d->bought.n
                       : 0;
    if (c.n < most)
        c.next = i + 1;
    VEC_PUSH(d->arena, &d->classes, c);
    candidate_touch(d, d->sentinel_new)->next = i;
    if (c.n < most) { /* the rest of a host group */
        c.next = after;
        c.n = most - c.n;
        VEC_PUSH(d->arena, &d->classes, c);
    }
    VEC_PUSH(d->arena, &d->bought, b);
    limits_bought(d, offer, most, 1);
    return i;
}
