/*
 * explain.c - refusals.
 *
 * There is a ceiling on how many are written (a snapshot with thousands of
 * impossible shapes and hundreds of offers would drown its reader): beyond it
 * a group gets one, that of the offer which comes nearest.
 */
#include "explain.h"

#include "fallback.h"
#include "gang_facts.h"
#include "limits.h"
#include "pace.h"
#include "quota.h"

enum { CEILING = 65536 };

/* A gang that must lie on one node: what all of it lacks there. */
static bool pack_obstacle(const struct candidate *d, uint32_t group,
                          struct plan_refusal *ret)
{
    const struct tables *t = d->t;
    const struct problem *s = t->s;
    uint32_t gang = t->gang_of[group];
    const struct gang *g = &t->gangs[gang];
    const struct room *room = &t->room[s->offers[ret->offer].type];

    if (s->demands[g->demand].strategy != STRATEGY_STRICT_PACK ||
        gang_fits(d, gang, *room))
        return false;
    ret->why = REASON_GANG;
    for (uint32_t c = 0; c < s->n_columns; c++) {
        int64_t sum = 0;

        for (uint32_t i = g->first_group; i < g->first_group + g->n_groups;
             i++) {
            uint32_t shape = tables_shape(d->t, i, 0);

            sum = amount_add(sum,
                             amount_times(pb_row(s, s->shapes[shape].row)[c],
                                          t->groups[i].count));
        }
        if (sum <= room->row[c])
            continue;
        ret->why = REASON_LACKS;
        ret->column = c;
        ret->has = room->row[c];
        ret->needs = sum;
        if (s->columns[c].device)
            break;
    }
    return true;
}

/* The first thing that a node of the offer lacks for the bundle. */
static bool offer_obstacle(const struct candidate *d, uint32_t group,
                           uint32_t shape, struct plan_refusal *r)
{
    const struct tables *t = d->t;
    const struct problem *s = t->s;
    const struct pb_offer *o = &s->offers[r->offer];
    const struct room *room = &t->room[o->type];
    const struct needs *needs = &t->needs[shape];
    const int64_t *row = pb_row(s, s->shapes[shape].row);
    uint32_t selector = s->shapes[shape].selector;

    if (s->selectors[selector].queue == PB_QUEUE_DENIED) {
        r->why = REASON_QUEUE_DENIED;
        return true;
    }
    if (needs->never) {
        r->why = REASON_FRACTION;
        r->column = needs->never_column;
        r->needs = row[r->column];
        r->has = room->row[r->column];
        return true;
    }
    r->column = room_lacks(s, room, needs, &r->has);
    if (r->column != NONE) {
        r->why = REASON_LACKS;
        r->needs = row[r->column];
        return true;
    }
    if (!tables_match_offer(t, selector, r->offer)) {
        r->why = problem_refuses(s, selector, o->first_label, o->n_labels,
                                 &r->column);
        return true;
    }
    return t->gang_of[group] != NONE && pack_obstacle(d, group, r);
}

/* The first rule or limit that forbids to buy one that lacks nothing; none where another
 * is bought for it as soon as it may start. */
static void limit_obstacle(const struct candidate *d, uint32_t group,
                           uint32_t alt, struct plan_refusal *r)
{
    const struct tables *t = d->t;
    const struct problem *s = t->s;
    const struct group *w = &t->groups[group];

    if (s->types[s->offers[r->offer].type].unavailable == REASON_TYPE_DISABLED)
        r->why = REASON_TYPE_DISABLED;
    else if (tables_unhelped(t, tables_shape(t, group, alt),
                             s->offers[r->offer].type))
        r->why = REASON_UNHELPED;
    else if (w->rank == RANK_UNCONFIRMED)
        r->why = REASON_UNCONFIRMED;
    else if (quota_obstacle(d, group, alt, r))
        return;
    else if (!fallback_may_try(d, group, alt))
        r->why = REASON_ALTERNATIVE;
    else if (!tables_may_buy(t, tables_shape(t, group, alt), r->offer))
        r->why = REASON_CONSERVE;
    else if (limits_room(d, r->offer, &r->why) == 0)
        return;
    else if (pace_holds(d, group, NONE))
        r->why = REASON_NONE;
    else
        r->why = s->demands[w->demand].strategy == STRATEGY_STRICT_SPREAD
                     ? REASON_SPREAD
                     : REASON_GANG;
}

/* Why no new node of this offer holds the bundle. */
static struct plan_refusal obstacle(const struct candidate *d, uint32_t group,
                                    uint32_t alt, uint32_t offer)
{
    const struct tables *t = d->t;
    struct plan_refusal r = {.bundle = t->bundles[t->groups[group].first],
                             .alt = alt,
                             .offer = offer,
                             .column = NONE};

    if (pace_holds(d, group, offer))
        r.why = REASON_THROTTLE;
    else if (!offer_obstacle(d, group, tables_shape(t, group, alt), &r))
        limit_obstacle(d, group, alt, &r);
    return r;
}

/* ---- could it ever be? */

static bool ever_offer(const struct tables *t, uint32_t offer)
{
    const struct pb_type *type = &t->s->types[t->s->offers[offer].type];

    return type->max > 0 && type->unavailable != REASON_TYPE_DISABLED;
}

static bool ever_one(const struct candidate *d, uint32_t group, uint32_t alt)
{
    const struct tables *t = d->t;
    const struct problem *s = t->s;
    uint32_t shape = tables_shape(d->t, group, alt);

    if (quota_never(t, group, alt))
        return false;
    for (uint32_t i = 0; i < s->n_offers; i++)
        if (ever_offer(t, i) && (tables_may_buy(d->t, shape, i) ||
                                 tables_unhelped(t, shape, s->offers[i].type)))
            return true;
    for (uint32_t i = 0; i != NONE; i = d->classes.v[i].next) {
        const struct node_class *c = &d->classes.v[i];
        struct room room;

        if (c->n == 0 || c->kind == CLASS_NEW ||
            !candidate_matches(d, i, shape))
            continue;
        /* what it has in all, whatever is on it now */
        room = room_of_row(s, pb_row(s, s->nodes[d->members[c->first]].total),
                           d->arena);
        if (room_fit(s, &room, &t->needs[shape], 1) > 0)
            return true;
    }
    return false;
}

/* Nodes there may ever be: for a gang that asks for one for each bundle. */
static uint64_t nodes_ever(const struct candidate *d)
{
    const struct problem *s = d->t->s;
    uint64_t most = 0, others = 0;

    for (uint32_t i = 0; i < s->n_types; i++)
        most += s->types[i].max;
    if (s->limits.max_nodes < most)
        most = s->limits.max_nodes;
    for (uint32_t i = 0; i < s->n_nodes; i++)
        others += s->nodes[i].head || s->nodes[i].unmanaged;
    return most + others;
}

static bool gang_ever(const struct candidate *d, uint32_t gang)
{
    const struct tables *t = d->t;
    const struct problem *s = t->s;
    const struct gang *g = &t->gangs[gang];
    enum strategy strategy = s->demands[g->demand].strategy;

    for (uint32_t i = g->first_group; i < g->first_group + g->n_groups; i++) {
        bool any = false;

        for (uint32_t alt = 0; alt < t->groups[i].n_alts && !any; alt++)
            any = ever_one(d, i, alt);
        if (!any)
            return false;
    }
    if (strategy == STRATEGY_STRICT_SPREAD)
        return g->size <= nodes_ever(d);
    if (strategy != STRATEGY_STRICT_PACK)
        return true;
    for (uint32_t i = 0; i < s->n_types; i++)
        if (gang_fits(d, gang, t->room[i]))
            return true;
    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (limits_gives_room(s, &s->nodes[i]) &&
            gang_fits(d, gang,
                      room_of_row(s, pb_row(s, s->nodes[i].total), d->arena)))
            return true;
    return false;
}

bool explain_could_ever(const struct candidate *d, uint32_t group)
{
    if (d->t->gang_of[group] != NONE)
        return gang_ever(d, d->t->gang_of[group]);
    for (uint32_t i = 0; i < d->t->groups[group].n_alts; i++)
        if (ever_one(d, group, i))
            return true;
    return false;
}

/* ---- all of a group */

/* How near an obstacle is to no obstacle: later checks are nearer. */
static bool nearer(const struct plan_refusal *a, const struct plan_refusal *b)
{
    if ((a->why == REASON_LACKS) != (b->why == REASON_LACKS))
        return b->why == REASON_LACKS;
    if (a->why == REASON_LACKS && a->column == b->column)
        return a->has > b->has;
    return false;
}

void explain_group(const struct candidate *d, uint32_t group,
                   struct refusals *out, uint32_t *ret_first, uint32_t *ret_n)
{
    const struct group *w = &d->t->groups[group];
    uint32_t n_offers = d->t->s->n_offers;
    bool all = (uint64_t)out->list.n + (uint64_t)n_offers * w->n_alts <=
               CEILING;
    struct plan_refusal best = {.bundle = NONE};

    *ret_first = out->list.n;
    for (uint32_t alt = 0; alt < w->n_alts; alt++)
        for (uint32_t i = 0; i < n_offers; i++) {
            struct plan_refusal r = obstacle(d, group, alt, i);

            if (r.why == REASON_NONE)
                continue;
            if (all)
                VEC_PUSH(d->arena, &out->list, r);
            else if (best.bundle == NONE || nearer(&r, &best))
                best = r;
        }
    if (!all && best.bundle != NONE)
        VEC_PUSH(d->arena, &out->list, best);
    *ret_n = out->list.n - *ret_first;
}
