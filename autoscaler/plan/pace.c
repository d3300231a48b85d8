/*
 * pace.c - see pace.h.
 */
#include "pace.h"

#include <string.h>

#include "limits.h"
#include "order.h"

struct pace {
    const struct candidate *d;
    uint64_t all, *type; /* so many may start yet: of all, of each type */
    uint64_t *groups; /* per bought: of its host groups, once it was looked at */
    bool *looked;
};

static bool limited(const struct problem *s)
{
    return s->limits.max_launching != UNLIMITED ||
           s->limits.upscaling_speed > 0;
}

/* On their way before this plan do not start any more. */
static void prepare(const struct candidate *d, struct pace *ret)
{
    const struct problem *s = d->t->s;
    uint64_t *bought = ARENA_ARRAY(d->arena, uint64_t, s->n_types), sum = 0;

    for (uint32_t i = 0; i < s->n_offers; i++) {
        bought[s->offers[i].type] += d->offer_bought[i];
        sum += d->offer_bought[i];
    }
    ret->d = d;
    ret->all = limits_may_start(d, d->starting - sum);
    ret->type = ARENA_ARRAY(d->arena, uint64_t, s->n_types);
    for (uint32_t i = 0; i < s->n_types; i++)
        ret->type[i] = limits_may_start_type(d, i,
                                             d->type_starting[i] - bought[i]);
    ret->groups = ARENA_ARRAY(d->arena, uint64_t, d->bought.n);
    ret->looked = ARENA_ARRAY(d->arena, bool, d->bought.n);
}

/* As in Ray, speed is no limit to a min or a request, nor to what holds some of one. */
static bool any_speed(const struct candidate *d, const struct node_class *c)
{
    for (uint32_t k = c->placed; k != NONE; k = d->placements.v[k].next)
        if (d->t->groups[d->placements.v[k].group].side == SIDE_TOTAL)
            return true;
    return c->why == REASON_FOR_MIN || c->why == REASON_FOR_REQUEST;
}

static void spend(uint64_t *left, uint64_t n)
{
    if (*left != UINT64_MAX)
        *left -= n < *left ? n : *left;
}

/* Up to n machines like those of the class, in whole host groups. */
static uint64_t start(struct pace *x, const struct node_class *c, uint64_t n)
{
    uint64_t *type = &x->type[x->d->t->s->offers[c->offer].type];

    if (n > x->all)
        n = x->all;
    if (n > *type && !any_speed(x->d, c))
        n = *type;
    n -= n % tables_hosts(x->d->t->s, c->offer);
    spend(&x->all, n);
    spend(type, n);
    return n;
}

/* How many of the class start now. */
static uint32_t start_class(struct pace *x, const struct node_class *c)
{
    uint32_t bought = c->host_group & ~NEW_HOST_GROUP;
    uint64_t *group, n;

    if (c->host_group == 0)
        return (uint32_t)start(x, c, c->n);
    group = &x->groups[bought];
    if (!x->looked[bought]) {
        x->looked[bought] = true;
        *group = start(x, c, x->d->bought.v[bought].count);
    }
    n = c->n < *group ? c->n : *group;
    *group -= n;
    return (uint32_t)n;
}

/* Mins are for no demand; then the first demand, and the rest of host groups last. */
static uint64_t turn_of(const struct candidate *d, const struct node_class *c)
{
    uint64_t first = UINT64_MAX;

    if (c->why == REASON_FOR_MIN)
        return 0;
    for (uint32_t k = c->placed; k != NONE; k = d->placements.v[k].next) {
        const uint32_t demand = d->t->groups[d->placements.v[k].group].demand;

        if ((uint64_t)demand + 1 < first)
            first = (uint64_t)demand + 1;
    }
    return first;
}

static int sooner(const void *ctx, uint32_t a, uint32_t b)
{
    const struct candidate *d = ctx;
    int r = ORDER(turn_of(d, &d->classes.v[a]), turn_of(d, &d->classes.v[b]));

    return r != 0 ? r : ORDER(a, b);
}

/* Those that are bought, in the order in which they start. */
static uint32_t *bought(const struct candidate *d, uint32_t *ret_n)
{
    uint32_t *order = ARENA_ARRAY(d->arena, uint32_t, d->classes.n);

    *ret_n = 0;
    for (uint32_t i = 0; i < d->classes.n; i++)
        if (d->classes.v[i].kind == CLASS_NEW && d->classes.v[i].n > 0)
            order[(*ret_n)++] = i;
    order_sort(order, *ret_n, sooner, d, d->arena);
    return order;
}

bool pace_all(const struct candidate *d)
{
    const uint32_t *order;
    struct pace x;
    uint32_t n;

    if (!limited(d->t->s))
        return true;
    prepare(d, &x);
    order = bought(d, &n);
    for (uint32_t k = 0; k < n; k++)
        if (start_class(&x, &d->classes.v[order[k]]) < d->classes.v[order[k]].n)
            return false;
    return true;
}

/* ---- what waits */

static void note(struct candidate *d, uint32_t group, uint32_t offer)
{
    struct held h = {offer, d->held_of[group]};

    if (pace_holds(d, group, offer))
        return;
    d->held_of[group] = d->held.n;
    VEC_PUSH(d->arena, &d->held, h);
}

static void hold_back(struct candidate *d, uint32_t i)
{
    const uint32_t n = d->t->n_groups;
    const struct node_class c = d->classes.v[i];

    if (!d->held_of) {
        d->held_of = ARENA_ARRAY(d->arena, uint32_t, n);
        memset(d->held_of, 0xff, n * sizeof *d->held_of);
    }
    for (uint32_t k = c.placed; k != NONE; k = d->placements.v[k].next)
        note(d, d->placements.v[k].group, c.offer);
    if (c.why == REASON_FOR_MIN)
        d->min_cost -= amount_times(d->t->s->offers[c.offer].price_micros_hour,
                                    c.n);
    candidate_drop(d, i);
    d->bound = -1; /* it was of all that was bought */
}

void pace_hold_back(struct candidate *d)
{
    const uint32_t *order;
    struct pace x;
    uint32_t n;

    if (!limited(d->t->s))
        return;
    prepare(d, &x);
    order = bought(d, &n);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = order[k], all = d->classes.v[i].n;
        uint32_t some = start_class(&x, &d->classes.v[i]);

        if (some < all)
            hold_back(d, some > 0 ? candidate_split(d, i, some) : i);
    }
}

bool pace_holds(const struct candidate *d, uint32_t group, uint32_t offer)
{
    uint32_t k = d->held_of ? d->held_of[group] : NONE;

    while (k != NONE && offer != NONE && d->held.v[k].offer != offer)
        k = d->held.v[k].next;
    return k != NONE;
}
