/*
 * sketch_obtain.c - nodes kept back, nodes bought, and the order of classes.
 *
 * Classes form two lists by `next`: those that are placed on, and behind
 * fence_kept those that are kept back.  Moving one from list to list is a
 * change like any other and can be undone.
 */
#include "limits.h"
#include "order.h"
#include "quota.h"
#include "sketch.h"

static bool keeps_back(const struct node_class *c, enum keep_back keep)
{
    if (c->kind != CLASS_THERE || c->n == 0 || !c->whole[SIDE_TOTAL])
        return false;
    switch (keep) {
    case KEEP_BACK_NONE: break;
    case KEEP_BACK_NEWEST: return c->newest && c->whole[SIDE_FREE];
    case KEEP_BACK_STARTING:
        return c->starting || (c->newest && c->whole[SIDE_FREE]);
    case KEEP_BACK_WHOLE: return c->whole[SIDE_FREE];
    case KEEP_BACK_OWNED: return true;
    }
    return false;
}

void sketch_keep_back(struct sketch *d, enum keep_back keep)
{
    uint32_t last = 0, last_kept = d->fence_kept, next;

    for (uint32_t i = d->classes.v[0].next; i != NONE; i = next) {
        const struct node_class *c = &d->classes.v[i];

        next = c->next;
        if (!keeps_back(c, keep)) {
            last = i;
            continue;
        }
        sketch_touch(d, last)->next = next;
        sketch_touch(d, last_kept)->next = i;
        last_kept = i;
        limits_taken(d, c->offer, c->n, -1);
        sketch_touch(d, i)->kept_back = true;
    }
    if (last_kept != d->fence_kept)
        sketch_touch(d, last_kept)->next = NONE;
}

/* Moves class i, which follows `before` among those kept back, to the new
 * ones. */
static void bring_back(struct sketch *d, uint32_t before, uint32_t i)
{
    struct node_class *c = sketch_touch(d, i);
    uint32_t next = c->next;

    c->kept_back = c->pooled = false;
    c->next = d->classes.v[d->fence_new].next;
    sketch_touch(d, before)->next = next;
    sketch_touch(d, d->fence_new)->next = i;
}

void sketch_unpool(struct sketch *d)
{
    uint32_t before = d->fence_kept, i;

    while ((i = d->classes.v[before].next) != NONE)
        if (d->classes.v[i].pooled)
            bring_back(d, before, i);
        else
            before = i;
}

void sketch_pool(struct sketch *d)
{
    uint32_t last = 0, last_kept = d->fence_kept, next;

    while (d->classes.v[last_kept].next != NONE)
        last_kept = d->classes.v[last_kept].next;
    for (uint32_t i = d->classes.v[0].next; i != NONE; i = next) {
        const struct node_class *c = &d->classes.v[i];

        next = c->next;
        if (c->n == 0 || c->kind == CLASS_DRAINING) {
            last = i;
            continue;
        }
        sketch_touch(d, last)->next = next;
        sketch_touch(d, last_kept)->next = i;
        last_kept = i;
        sketch_touch(d, i)->pooled = true;
    }
    if (last_kept != d->fence_kept)
        sketch_touch(d, last_kept)->next = NONE;
}

void sketch_take(struct sketch *d, uint32_t class_ix, uint32_t count)
{
    uint32_t before = d->fence_kept;

    while (d->classes.v[before].next != class_ix)
        before = d->classes.v[before].next;
    if (count < d->classes.v[class_ix].n)
        sketch_split(d, class_ix, count);
    bring_back(d, before, class_ix);
}

uint32_t sketch_obtain(struct sketch *d, uint32_t offer, uint32_t count,
                       enum claim claim, enum reason why, uint32_t demand)
{
    const struct sn_offer *o = &d->t->s->offers[offer];
    const struct room *room = &d->t->room[o->type];
    uint32_t i = d->classes.n, most;
    enum reason unused;
    struct node_class c = {
        .kind = CLASS_NEW,
        .offer = offer,
        .room = {*room, *room},
        .held = NONE,
        .next = d->classes.v[d->fence_new].next,
        .spread = NONE,
        .accelerator = d->t->accelerator[o->type],
        .tight = sketch_tightness(
            d, sn_row(d->t->s, d->t->s->types[o->type].row)),
        .why = why,
        .demand = demand,
        .claim = claim,
    };
    struct bought b = {offer, 0, false};

    most = limits_room(d, offer, claim, &unused);
    if (demand != NONE) {
        uint32_t nodes = quota_nodes(d, d->t->s->demands[demand].queue);

        most = nodes < most ? nodes : most;
    }
    if (most == 0)
        return NONE;
    c.n = b.count = most < count ? most : count;
    VEC_PUSH(d->arena, &d->classes, c);
    sketch_touch(d, d->fence_new)->next = i;
    VEC_PUSH(d->arena, &d->bought, b);
    limits_bought(d, offer, c.n, 1);
    return i;
}

/* ---- settling */

/* The rooms of class i with what class `as` holds taken; false when it does
 * not fit: the node is not quite what its offer says, or is in use. */
static bool stands_in(const struct sketch *d, uint32_t i, uint32_t as,
                      struct room *room)
{
    const struct tables *t = d->t;

    room[SIDE_TOTAL] = d->classes.v[i].room[SIDE_TOTAL];
    room[SIDE_FREE] = d->classes.v[i].room[SIDE_FREE];
    for (uint32_t k = d->classes.v[as].held; k != NONE;
         k = d->held.v[k].next) {
        const struct held *h = &d->held.v[k];
        uint32_t shape = sketch_shape(d, h->want, h->alt);
        struct room *r = &room[t->wants[h->want].side];

        if (!sketch_matches(d, i, shape) ||
            room_fit(t->s, r, &t->needs[shape], h->count) < h->count)
            return false;
        *r = room_take(t->s, r, &t->needs[shape], h->count, d->arena);
    }
    return true;
}

/* Class i of the kept ones (after `before`) takes over from as many of the new
 * class `as`. */
static void take_over(struct sketch *d, uint32_t before, uint32_t i,
                      uint32_t as, const struct room *room)
{
    uint32_t n = d->classes.v[i].n < d->classes.v[as].n ? d->classes.v[i].n
                                                        : d->classes.v[as].n;
    struct node_class *c, *b;

    if (d->classes.v[i].n > n)
        sketch_split(d, i, n);
    limits_taken(d, d->classes.v[i].offer, n, 1);
    limits_bought(d, d->classes.v[i].offer, n, -1);
    bring_back(d, before, i);
    c = &d->classes.v[i];
    b = &d->classes.v[as];
    c->held = b->held;
    c->spread = b->spread;
    c->room[SIDE_TOTAL] = room[SIDE_TOTAL];
    c->room[SIDE_FREE] = room[SIDE_FREE];
    b->n -= n;
    if (b->n == 0)
        b->kind = CLASS_FENCE;
}

static void map_class(struct sketch *d, uint32_t as)
{
    uint32_t before = d->fence_kept, i;
    struct room room[SIDES];

    while ((i = d->classes.v[before].next) != NONE &&
           d->classes.v[as].kind == CLASS_NEW) {
        d->work++;
        if (d->classes.v[i].offer == d->classes.v[as].offer &&
            stands_in(d, i, as, room))
            take_over(d, before, i, as, room);
        else
            before = i;
    }
}

/* Nodes kept back that were not needed are there all the same: with them the
 * limits may leave less room for new ones than there seemed to be. */
static void see_to_limits(struct sketch *d, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++)
        if (d->classes.v[i].kind == CLASS_NEW)
            limits_bought(d, d->classes.v[i].offer, d->classes.v[i].n, -1);
    for (uint32_t i = first; i < end; i++) {
        struct node_class *c = &d->classes.v[i];
        uint32_t most;

        if (c->kind != CLASS_NEW)
            continue;
        most = limits_room_new(d, c->offer, c->claim);
        for (uint32_t k = c->held; k != NONE && most < c->n;
             k = d->held.v[k].next) {
            const struct held *h = &d->held.v[k];

            d->left[h->want] += h->count * (c->n - most);
            d->broken = d->broken || d->t->gang_of[h->want] != NONE;
        }
        if (most < c->n)
            c->n = most;
        limits_bought(d, c->offer, c->n, 1);
        if (c->n == 0)
            c->kind = CLASS_FENCE;
    }
}

void sketch_settle(struct sketch *d)
{
    uint32_t end = d->classes.n, i;

    for (i = 0; i < end; i++)
        if (d->classes.v[i].kind == CLASS_NEW &&
            d->classes.v[i].why != REASON_FOR_CONSOLIDATE)
            map_class(d, i);
    while ((i = d->classes.v[d->fence_kept].next) != NONE) {
        limits_taken(d, d->classes.v[i].offer, d->classes.v[i].n, 1);
        bring_back(d, d->fence_kept, i);
    }
    see_to_limits(d, 0, d->classes.n);
}

/* ---- order */

static int tighter(const void *ctx, uint32_t a, uint32_t b)
{
    const struct sketch *d = ctx;
    const struct node_class *x = &d->classes.v[a], *y = &d->classes.v[b];
    int r = ORDER(x->tight, y->tight);

    return r != 0 ? r : ORDER(a, b);
}

void sketch_tighten(struct sketch *d)
{
    uint32_t *order = ARENA_ARRAY(d->arena, uint32_t, d->classes.n);
    uint32_t n = 0, last = 0, after = NONE;

    for (uint32_t i = 0; i != NONE; i = d->classes.v[i].next) {
        if (d->classes.v[i].kind == CLASS_DRAINING) {
            after = i;     /* the draining ones are the end of the list */
            break;
        }
        if (d->classes.v[i].kind != CLASS_FENCE)
            order[n++] = i;
    }
    order_sort(order, n, tighter, d, d->arena);
    for (uint32_t k = 0; k < n; k++) {
        sketch_touch(d, last)->next = order[k];
        last = order[k];
    }
    sketch_touch(d, last)->next = d->fence_new;
    sketch_touch(d, d->fence_new)->next = after;
}
