/*
 * pays.c - see pays.h.
 */
#include "pays.h"

#include "../limits.h"
#include "../shrink.h"

/* ---- what may go */

uint32_t *types_spare(const struct candidate *d)
{
    const struct problem *s = d->t->s;
    uint32_t *spare = ARENA_ARRAY(d->arena, uint32_t, s->n_types);

    for (uint32_t t = 0; t < s->n_types; t++) {
        uint32_t kept = d->type_count[t] - d->type_ended[t];

        spare[t] = kept > s->types[t].min ? kept - s->types[t].min : 0;
    }
    return spare;
}

bool node_goes_when_idle(const struct problem *s, const struct pb_node *n,
                         uint32_t *spare)
{
    return shrink_may_end(s, n) && n->idle_timeout_ms >= 0 &&
           (n->type == NONE || (spare[n->type] > 0 && spare[n->type]--));
}

bool *nodes_needed(const struct candidate *d)
{
    bool *needed = ARENA_ARRAY(d->arena, bool, d->t->s->n_nodes);

    for (uint32_t i = 0; i < d->classes.n; i++) {
        const struct node_class *c = &d->classes.v[i];

        for (uint32_t k = 0; k < c->n && c->kind == CLASS_THERE; k++)
            needed[d->members[c->first + k]] = c->placed != NONE;
    }
    return needed;
}

/* ---- a move */

/* What a move costs: both machines while the new one comes and the work of the old
 * one has its time, and the new one while work begins again. */
enum { OVERLAP_S = 600, DRAINED_S = 3600, RESTART_S = 900, HOUR_S = 3600 };

/* Of a mean that differs from the price, so much more an hour. */
static int64_t past_more(const struct pb_offer *o, int64_t *over_ms)
{
    if (o->mean_ms < *over_ms)
        *over_ms = o->mean_ms;
    return o->mean_micros_hour - pb_offer_bill(o);
}

static int64_t nodes_past(const struct move *m, uint32_t first,
                          int64_t *over_ms)
{
    const struct problem *s = m->d->t->s;
    int64_t more = 0;

    for (uint32_t i = first; i != NONE;
         i = host_group_next(m->groups, first, i))
        if (s->nodes[i].offer != NONE)
            more += past_more(&s->offers[s->nodes[i].offer], over_ms);
    return more;
}

/* What staying has cost more than the plan would have, by the prices of the past. */
static int64_t regret(const struct move *m)
{
    const struct problem *s = m->d->t->s;
    int64_t over_ms = PRICE_PAST_MS, gain = m->gain;

    gain += nodes_past(m, m->first, &over_ms);
    gain += nodes_past(m, m->other, &over_ms);
    for (uint32_t o = 0; o < s->n_offers; o++)
        if (m->d->offer_bought[o] > 0)
            gain -= past_more(&s->offers[o], &over_ms) *
                    (int64_t)m->d->offer_bought[o];
    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (m->over[i] && s->nodes[i].offer != NONE)
            gain -= past_more(&s->offers[s->nodes[i].offer], &over_ms);
    return gain / HOUR_S * (over_ms / 1000);
}

/* An hour, of what takes over. */
static int64_t price_of_new(const struct move *m)
{
    const struct problem *s = m->d->t->s;
    int64_t sum = m->d->bought_cost;

    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (m->over[i] && s->nodes[i].price_micros_hour > 0)
            sum = amount_add(sum, s->nodes[i].price_micros_hour);
    return sum;
}

bool move_pays(const struct move *m)
{
    int64_t price = price_of_new(m), cost = 0;

    if (m->d->bought_cost > 0)
        cost += m->price / HOUR_S * OVERLAP_S;
    if (m->busy)
        cost += m->price / HOUR_S * DRAINED_S + price / HOUR_S * RESTART_S;
    return price <= 0 || regret(m) >= cost;
}
