/*
 * sketch_obtain.c - nodes kept back, nodes bought, and the order of classes.
 *
 * Classes form two lists by `next`: those that are placed on, and behind
 * fence_kept those that are kept back.  Moving one from list to list is a
 * change like any other and can be undone.
 */
#include "limits.h"
#include "order.h"
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

static void taken(struct sketch *d, uint32_t i)
{
    struct bought b = {d->classes.v[i].offer, d->classes.v[i].n, true};

    limits_taken(d, b.offer, b.count, 1);
    VEC_PUSH(d->arena, &d->bought, b);
}

void sketch_let_go(struct sketch *d)
{
    uint32_t i;

    while ((i = d->classes.v[d->fence_kept].next) != NONE) {
        bring_back(d, d->fence_kept, i);
        taken(d, i);
    }
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

static uint32_t buy(struct sketch *d, uint32_t offer, uint32_t count,
                    enum reason why, uint32_t demand)
{
    const struct sn_offer *o = &d->t->s->offers[offer];
    const struct room *room = &d->t->room[o->type];
    uint32_t i = d->classes.n;
    struct node_class c = {
        .kind = CLASS_NEW,
        .n = count,
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
    };
    struct bought b = {offer, count, false};

    VEC_PUSH(d->arena, &d->classes, c);
    sketch_touch(d, d->fence_new)->next = i;
    VEC_PUSH(d->arena, &d->bought, b);
    limits_bought(d, offer, count, 1);
    return i;
}

uint32_t sketch_obtain(struct sketch *d, uint32_t offer, uint32_t count,
                       enum claim claim, enum reason why, uint32_t demand,
                       sketch_fits_fn *fits, const void *ctx)
{
    uint32_t before = d->fence_kept, most;

    if (d->kept_offer[offer] > 0)
        for (uint32_t i = d->classes.v[before].next; i != NONE;
             i = d->classes.v[i].next) {
            d->work++;
            if (d->classes.v[i].offer == offer && !d->classes.v[i].pooled &&
                (fits == NULL || fits(ctx, i))) {
                if (d->classes.v[i].n > count)
                    sketch_split(d, i, count);
                bring_back(d, before, i);
                taken(d, i);
                return i;
            }
            before = i;
        }
    most = limits_room_new(d, offer, claim);
    if (most > count)
        most = count;
    return most > 0 ? buy(d, offer, most, why, demand) : NONE;
}

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
