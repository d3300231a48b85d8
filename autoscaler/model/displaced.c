/*
 * displaced.c - see displaced.h.
 */
#include "displaced.h"

/* Of one bundle among n placements. */
static uint32_t held(const struct plan_placement *v, uint32_t n,
                     uint32_t bundle)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < n; i++)
        if (v[i].bundle == bundle)
            count += v[i].count;
    return count;
}

static uint32_t held_before(const struct problem *s, const struct pb_node *n,
                            uint32_t bundle)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < n->n_previous; i++)
        if (s->previous[n->first_previous + i].bundle == bundle)
            count += s->previous[n->first_previous + i].count;
    return count;
}

static uint32_t owner_of(const struct problem *s, uint32_t bundle)
{
    return s->demands[s->bundles[bundle].demand].owner;
}

/* A bundle of another owner of which there is more on the node than before;
 * NONE: there is none. */
static uint32_t taker(const struct problem *s, const struct pb_node *n,
                      const struct plan_placement *now, uint32_t n_now,
                      uint32_t loser)
{
    for (uint32_t i = 0; i < n_now; i++) {
        uint32_t b = now[i].bundle;

        if (owner_of(s, b) != owner_of(s, loser) &&
            held(now, n_now, b) > held_before(s, n, b))
            return b;
    }
    return NONE;
}

/* Where a bundle stands first among what the node held. */
static bool is_first(const struct problem *s, const struct pb_node *n,
                     uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (s->previous[n->first_previous + k].bundle ==
            s->previous[n->first_previous + i].bundle)
            return false;
    return true;
}

/* Adds to what this owner took of the bundle already, or begins it. */
static void lost(const struct problem *s, struct displaced *d,
                 struct displacement x)
{
    for (uint32_t i = 0; i < d->n; i++)
        if (d->v[i].bundle == x.bundle &&
            owner_of(s, d->v[i].by) == owner_of(s, x.by)) {
            d->v[i].count += x.count;
            return;
        }
    d->v[d->n++] = x;
}

/* What the node held and does not hold any more. */
static void node_compare(const struct problem *s, const struct plan *p,
                         uint32_t node, struct displaced *ret)
{
    const struct pb_node *n = &s->nodes[node];
    const struct plan_node *q = &p->nodes[node];
    const struct plan_placement *now = p->placements + q->first_placement;

    for (uint32_t k = 0; q->n_placements && k < n->n_previous; k++) {
        uint32_t b = s->previous[n->first_previous + k].bundle;
        uint32_t before = held_before(s, n, b), by;
        uint32_t left = held(now, q->n_placements, b);

        if (left >= before || !is_first(s, n, k) ||
            (!p->bundles[b].launched && !p->bundles[b].waiting))
            continue;
        by = taker(s, n, now, q->n_placements, b);
        if (by != NONE)
            lost(s, ret, (struct displacement){b, by, node, before - left, 0});
    }
}

/* The part of the launches for the bundle that is for what lost its place. */
static int64_t cost_of(const struct problem *s, const struct plan *p,
                       const struct displacement *x)
{
    uint32_t launched = p->bundles[x->bundle].launched;
    int64_t sum = 0;

    for (uint32_t i = 0; i < p->n_launches; i++) {
        const struct plan_launch *l = &p->launches[i];

        if (held(p->placements + l->first_placement, l->n_placements,
                 x->bundle))
            sum += s->offers[l->offer].price_micros_hour * l->count;
    }
    return launched > x->count
               ? (int64_t)((double)sum * x->count / (double)launched)
               : sum;
}

struct displaced displaced_of(const struct problem *s, const struct plan *p,
                              struct arena *arena)
{
    struct displaced d = {0};
    uint32_t most = 0;

    for (uint32_t i = 0; i < s->n_bundles; i++)
        most += p->bundles[i].launched || p->bundles[i].waiting;
    if (!most)
        return d; /* nobody is without a place: most of the time */
    most = 0;
    for (uint32_t i = 0; i < s->n_nodes; i++)
        most += s->nodes[i].n_previous;
    d.v = ARENA_ARRAY(arena, struct displacement, most);
    for (uint32_t i = 0; i < s->n_nodes; i++)
        node_compare(s, p, i, &d);
    for (uint32_t i = 0; i < d.n; i++)
        d.v[i].micros_hour = cost_of(s, p, &d.v[i]);
    return d;
}

const char *displaced_launches(const struct problem *s, const struct plan *p,
                               uint32_t bundle, struct arena *arena)
{
    const char *text = "";

    for (uint32_t i = 0; i < p->n_launches; i++) {
        const struct plan_launch *l = &p->launches[i];

        if (held(p->placements + l->first_placement, l->n_placements, bundle))
            text = arena_printf(
                arena, "%s%s%u x %s", text, *text ? ", " : "", l->count,
                s->str[s->types[s->offers[l->offer].type].name]);
    }
    return text;
}
