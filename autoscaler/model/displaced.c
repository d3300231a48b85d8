/*
 * displaced.c - see displaced.h.
 *
 * One pass over what nodes held and hold, with a counter for each bundle: a
 * plan may put thousands of kinds on one node.
 */
#include "displaced.h"

struct finding {
    const struct problem *s;
    const struct plan *p;
    uint32_t *before, *now; /* by bundle: how many the node held, holds */
    uint32_t *last;         /* by bundle: its last displacement, from 1 */
    uint32_t *net; /* by bundle: places that it has less of, of all nodes; an
                    * exchange of places takes none */
    struct displaced found;
};

static uint32_t owner_of(const struct problem *s, uint32_t bundle)
{
    return s->demands[s->bundles[bundle].demand].owner;
}

static void count(const struct pb_placement *before, uint32_t n_before,
                  const struct plan_placement *now, uint32_t n_now,
                  struct finding *f)
{
    for (uint32_t i = 0; i < n_before; i++)
        f->before[before[i].bundle] += before[i].count;
    for (uint32_t i = 0; i < n_now; i++)
        f->now[now[i].bundle] += now[i].count;
}

/* Two bundles, of two owners, of which there is more than before: whoever lost
 * a place, one of them is another's.  NONE: there is none. */
static void takers(const struct finding *f, const struct plan_placement *now,
                   uint32_t n, uint32_t *ret)
{
    ret[0] = ret[1] = NONE;
    for (uint32_t i = 0; i < n && ret[1] == NONE; i++) {
        uint32_t b = now[i].bundle;

        if (f->now[b] <= f->before[b])
            continue;
        if (ret[0] == NONE)
            ret[0] = b;
        else if (owner_of(f->s, b) != owner_of(f->s, ret[0]))
            ret[1] = b;
    }
}

/* What nodes held, less what they hold. */
static void net_make(struct finding *f)
{
    for (uint32_t i = 0; i < f->s->n_nodes; i++) {
        const struct pb_node *n = &f->s->nodes[i];

        for (uint32_t k = 0; k < n->n_previous; k++)
            f->net[f->s->previous[n->first_previous + k].bundle] +=
                f->s->previous[n->first_previous + k].count;
    }
    for (uint32_t i = 0; i < f->s->n_nodes; i++) {
        const struct plan_node *q = &f->p->nodes[i];

        for (uint32_t k = 0; k < q->n_placements; k++) {
            const struct plan_placement *x =
                &f->p->placements[q->first_placement + k];
            uint32_t *net = &f->net[x->bundle];

            *net -= x->count < *net ? x->count : *net;
        }
    }
}

/* Adds to what this owner took of the bundle, or begins it. */
static void lost(struct finding *f, uint32_t node, uint32_t bundle, uint32_t by,
                 uint32_t n)
{
    struct displacement *d = f->last[bundle] ? &f->found.v[f->last[bundle] - 1]
                                             : NULL;

    n = n < f->net[bundle] ? n : f->net[bundle];
    if (n == 0)
        return;
    f->net[bundle] -= n;
    if (d && owner_of(f->s, d->by) == owner_of(f->s, by)) {
        d->count += n;
        return;
    }
    f->found.v[f->found.n++] = (struct displacement){bundle, by, node, n, 0};
    f->last[bundle] = f->found.n;
}

/* What the node held and does not hold any more.  Its counters are 0 again
 * afterwards. */
static void node_compare(struct finding *f, uint32_t node)
{
    const struct pb_node *n = &f->s->nodes[node];
    const struct plan_node *q = &f->p->nodes[node];
    const struct pb_placement *before = f->s->previous + n->first_previous;
    const struct plan_placement *now = f->p->placements + q->first_placement;
    uint32_t by[2];

    if (!n->n_previous || !q->n_placements)
        return;
    count(before, n->n_previous, now, q->n_placements, f);
    takers(f, now, q->n_placements, by);
    for (uint32_t i = 0; i < n->n_previous; i++) {
        uint32_t b = before[i].bundle, had = f->before[b], taker;

        f->before[b] = 0; /* the rest of it is counted with this one */
        taker = by[0] != NONE && owner_of(f->s, by[0]) == owner_of(f->s, b)
                    ? by[1]
                    : by[0];
        if (had > f->now[b] && taker != NONE &&
            (f->p->bundles[b].launched || f->p->bundles[b].waiting))
            lost(f, node, b, taker, had - f->now[b]);
    }
    for (uint32_t i = 0; i < q->n_placements; i++)
        f->now[now[i].bundle] = 0;
}

/* The part of the launches for the bundle that is for what lost its place. */
static void costs_add(struct finding *f, struct arena *arena)
{
    int64_t *cost = ARENA_ARRAY(arena, int64_t, f->s->n_bundles);

    for (uint32_t i = 0; i < f->p->n_launches; i++) {
        const struct plan_launch *l = &f->p->launches[i];
        int64_t price = f->s->offers[l->offer].price_micros_hour * l->count;

        for (uint32_t k = 0; k < l->n_placements; k++)
            cost[f->p->placements[l->first_placement + k].bundle] += price;
    }
    for (uint32_t i = 0; i < f->found.n; i++) {
        struct displacement *d = &f->found.v[i];
        uint32_t launched = f->p->bundles[d->bundle].launched;

        d->micros_hour = launched > d->count
                             ? (int64_t)((double)cost[d->bundle] * d->count /
                                         (double)launched)
                             : cost[d->bundle];
    }
}

static bool anybody_without(const struct problem *s, const struct plan *p)
{
    for (uint32_t i = 0; i < s->n_bundles; i++)
        if (p->bundles[i].launched || p->bundles[i].waiting)
            return true;
    return false;
}

struct displaced displaced_of(const struct problem *s, const struct plan *p,
                              struct arena *arena)
{
    struct finding f = {.s = s, .p = p};
    uint32_t most = 0;

    if (!anybody_without(s, p))
        return f.found; /* most of the time */
    for (uint32_t i = 0; i < s->n_nodes; i++)
        most += s->nodes[i].n_previous;
    f.before = ARENA_ARRAY(arena, uint32_t, s->n_bundles);
    f.now = ARENA_ARRAY(arena, uint32_t, s->n_bundles);
    f.last = ARENA_ARRAY(arena, uint32_t, s->n_bundles);
    f.net = ARENA_ARRAY(arena, uint32_t, s->n_bundles);
    net_make(&f);
    f.found.v = ARENA_ARRAY(arena, struct displacement, most);
    for (uint32_t i = 0; i < s->n_nodes; i++)
        node_compare(&f, i);
    if (f.found.n)
        costs_add(&f, arena);
    return f.found;
}

static bool holds(const struct plan *p, const struct plan_launch *l,
                  uint32_t bundle)
{
    for (uint32_t i = 0; i < l->n_placements; i++)
        if (p->placements[l->first_placement + i].bundle == bundle)
            return true;
    return false;
}

const char *displaced_launches(const struct problem *s, const struct plan *p,
                               uint32_t bundle, struct arena *arena)
{
    const char *text = "";

    for (uint32_t i = 0; i < p->n_launches; i++) {
        const struct plan_launch *l = &p->launches[i];

        if (holds(p, l, bundle))
            text = arena_printf(
                arena, "%s%s%u x %s", text, *text ? ", " : "", l->count,
                s->str[s->types[s->offers[l->offer].type].name]);
    }
    return text;
}
