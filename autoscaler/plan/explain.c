/*
 * explain.c - refusals.
 *
 * There is a ceiling on how many are written (a snapshot with thousands of
 * impossible shapes and hundreds of offers would drown its reader): beyond it
 * a want gets one, that of the offer which comes nearest.
 */
#include "explain.h"

#include "buy.h"
#include "clock.h"
#include "gang.h"
#include "limits.h"
#include "quota.h"

enum { CEILING = 65536 };

/* A gang that must lie on one node: what all of it lacks there. */
static bool pack_obstacle(const struct sketch *d, uint32_t want,
                          struct plan_refusal *ret)
{
    const struct tables *t = d->t;
    const struct snapshot *s = t->s;
    uint32_t gang = t->gang_of[want];
    const struct gang *g = &t->gangs[gang];
    const struct room *room = &t->room[s->offers[ret->offer].type];

    if (s->demands[g->demand].strategy != STRATEGY_STRICT_PACK ||
        gang_fits(d, gang, *room))
        return false;
    ret->why = REASON_GANG;
    for (uint32_t c = 0; c < s->n_columns; c++) {
        int64_t sum = 0;

        for (uint32_t i = g->first_want; i < g->first_want + g->n_wants; i++) {
            uint32_t shape = sketch_shape(d, i, 0);

            sum = amount_add(
                sum, amount_times(sn_row(s, s->shapes[shape].row)[c],
                                  t->wants[i].count));
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

/* The first reason why no new node of this offer can hold the bundle. */
static struct plan_refusal obstacle(const struct sketch *d, uint32_t want,
                                    uint32_t alt, uint32_t offer)
{
    const struct tables *t = d->t;
    const struct snapshot *s = t->s;
    const struct want *w = &t->wants[want];
    uint32_t shape = sketch_shape(d, want, alt);
    const struct needs *needs = &t->needs[shape];
    const struct room *room = &t->room[s->offers[offer].type];
    struct plan_refusal r = {t->bundles[w->first], alt, offer, REASON_NONE,
                             NONE, 0, 0};

    if (s->selectors[s->shapes[shape].selector].queue == SN_QUEUE_DENIED) {
        r.why = REASON_QUEUE_DENIED;
        return r;
    }
    if (needs->never) {
        r.why = REASON_FRACTION;
        r.column = needs->never_column;
        r.needs = sn_row(s, s->shapes[shape].row)[r.column];
        r.has = room->row[r.column];
        return r;
    }
    r.column = room_lacks(s, room, needs, &r.has);
    if (r.column != NONE) {
        r.why = REASON_LACKS;
        r.needs = sn_row(s, s->shapes[shape].row)[r.column];
        return r;
    }
    if (!tables_match_offer(t, s->shapes[shape].selector, offer)) {
        r.why = snapshot_refuses(s, s->shapes[shape].selector,
                                 s->offers[offer].first_label,
                                 s->offers[offer].n_labels, &r.column);
        return r;
    }
    if (t->gang_of[want] != NONE && pack_obstacle(d, want, &r))
        return r;
    if (s->types[s->offers[offer].type].unavailable == REASON_TYPE_DISABLED) {
        r.why = REASON_TYPE_DISABLED;
        return r;
    }
    if (quota_obstacle(d, want, alt, &r))
        return r;
    if (!clock_may_try(d, want, alt)) {
        r.why = REASON_ALTERNATIVE;
        return r;
    }
    if (!buy_allowed(d, shape, offer)) {
        r.why = REASON_CONSERVE;
        return r;
    }
    if (limits_room(d, offer, w->side == SIDE_TOTAL ? CLAIM_REQUEST
                                                    : CLAIM_WORK,
                    &r.why) > 0)
        r.why = s->demands[w->demand].strategy == STRATEGY_STRICT_SPREAD
                    ? REASON_SPREAD
                    : REASON_GANG;
    return r;
}

/* ---- could it ever be? */

static bool ever_offer(const struct tables *t, uint32_t offer)
{
    const struct sn_type *type = &t->s->types[t->s->offers[offer].type];

    return type->max > 0 && type->unavailable != REASON_TYPE_DISABLED;
}

static bool ever_one(const struct sketch *d, uint32_t want, uint32_t alt)
{
    const struct tables *t = d->t;
    const struct snapshot *s = t->s;
    uint32_t shape = sketch_shape(d, want, alt);

    if (quota_never(t, want, alt))
        return false;
    for (uint32_t i = 0; i < s->n_offers; i++)
        if (ever_offer(t, i) && buy_allowed(d, shape, i))
            return true;
    for (uint32_t i = 0; i != NONE; i = d->classes.v[i].next) {
        const struct node_class *c = &d->classes.v[i];
        struct room room;

        if (c->n == 0 || c->kind == CLASS_NEW || !sketch_matches(d, i, shape))
            continue;
        /* what it has in all, whatever is on it now */
        room = room_of_row(s, sn_row(s, s->nodes[d->members[c->first]].total),
                           d->arena);
        if (room_fit(s, &room, &t->needs[shape], 1) > 0)
            return true;
    }
    return false;
}

/* Nodes there may ever be: for a gang that wants one for each bundle. */
static uint64_t nodes_ever(const struct sketch *d)
{
    const struct snapshot *s = d->t->s;
    uint64_t most = 0, others = 0;

    for (uint32_t i = 0; i < s->n_types; i++)
        most += s->types[i].max;
    if (s->limits.max_nodes < most)
        most = s->limits.max_nodes;
    for (uint32_t i = 0; i < s->n_nodes; i++)
        others += s->nodes[i].head || s->nodes[i].foreign;
    return most + others;
}

static bool gang_ever(const struct sketch *d, uint32_t gang)
{
    const struct tables *t = d->t;
    const struct snapshot *s = t->s;
    const struct gang *g = &t->gangs[gang];
    enum strategy strategy = s->demands[g->demand].strategy;

    for (uint32_t i = g->first_want; i < g->first_want + g->n_wants; i++) {
        bool any = false;

        for (uint32_t alt = 0; alt < t->wants[i].n_alts && !any; alt++)
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
                      room_of_row(s, sn_row(s, s->nodes[i].total), d->arena)))
            return true;
    return false;
}

bool explain_could_ever(const struct sketch *d, uint32_t want)
{
    if (d->t->gang_of[want] != NONE)
        return gang_ever(d, d->t->gang_of[want]);
    for (uint32_t i = 0; i < d->t->wants[want].n_alts; i++)
        if (ever_one(d, want, i))
            return true;
    return false;
}

/* ---- all of a want */

/* How near an obstacle is to no obstacle: later checks are nearer. */
static bool nearer(const struct plan_refusal *a, const struct plan_refusal *b)
{
    if ((a->why == REASON_LACKS) != (b->why == REASON_LACKS))
        return b->why == REASON_LACKS;
    if (a->why == REASON_LACKS && a->column == b->column)
        return a->has > b->has;
    return false;
}

void explain_want(const struct sketch *d, uint32_t want, struct refusals *out,
                  uint32_t *ret_first, uint32_t *ret_n)
{
    const struct want *w = &d->t->wants[want];
    uint32_t n_offers = d->t->s->n_offers;
    bool all = (uint64_t)out->list.n + (uint64_t)n_offers * w->n_alts <=
               CEILING;
    struct plan_refusal best = {.bundle = NONE};

    *ret_first = out->list.n;
    for (uint32_t alt = 0; alt < w->n_alts; alt++)
        for (uint32_t i = 0; i < n_offers; i++) {
            struct plan_refusal r = obstacle(d, want, alt, i);

            if (all)
                VEC_PUSH(d->arena, &out->list, r);
            else if (best.bundle == NONE || nearer(&r, &best))
                best = r;
        }
    if (!all && best.bundle != NONE)
        VEC_PUSH(d->arena, &out->list, best);
    *ret_n = out->list.n - *ret_first;
}
