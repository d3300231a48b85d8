/*
 * attempt.c - STRICT_PACK, STRICT_SPREAD, PACK, SPREAD.
 *
 * Existing nodes first, then the cheapest new ones.  PACK and SPREAD are best
 * effort: the first prefers one node for all, the second takes distinct nodes
 * as far as there are some with room, and neither buys more than it must.
 */
#include "attempt.h"

#include "../failover.h"
#include "../fallback.h"
#include "../gang_facts.h"
#include "../host_group.h"
#include "../match.h"
#include "../pack.h"
#include "../quota.h"

enum { LOOKS = 32 }; /* nodes that would do, before the best is taken */

static struct pack_rule rule_of(const struct attempt *a)
{
    return (struct pack_rule){.patient = a->what.patient};
}

/* Nothing is bought for what somebody only may want. */
static bool may_buy(const struct attempt *a)
{
    return !a->there && !a->g->unconfirmed;
}

/* ---- all on one node */

static bool room_holds_all(const struct attempt *a, struct room room)
{
    const struct tables *t = a->d->t;

    for (uint32_t i = 0; i < a->g->n_groups; i++) {
        uint32_t left = a->d->left[a->groups[i]];
        const struct needs *needs =
            &t->needs[tables_shape(a->d->t, a->groups[i], a->alts[i])];

        if (room_fit(t->s, &room, needs, left) < left)
            return false;
        if (i + 1 < a->g->n_groups)
            room = room_take(t->s, &room, needs, left, a->d->arena);
    }
    return true;
}

static bool class_matches_all(const struct attempt *a, uint32_t i)
{
    for (uint32_t k = 0; k < a->g->n_groups; k++)
        if ((!a->what.patient &&
             fallback_silent(a->d, i, a->groups[k], a->alts[k])) ||
            !candidate_matches(a->d, i,
                               tables_shape(a->d->t, a->groups[k], a->alts[k])))
            return false;
    return true;
}

static void place_all(const struct attempt *a, uint32_t i)
{
    struct candidate *d = a->d;

    if (d->classes.v[i].n > 1)
        candidate_split(d, i, 1);
    for (uint32_t k = 0; k < a->g->n_groups; k++)
        if (d->left[a->groups[k]] > 0) /* else all is there already */
            candidate_place(d, i, a->groups[k], a->alts[k],
                            d->left[a->groups[k]]);
}

static bool plain_gang(const struct attempt *a)
{
    for (uint32_t i = 0; i < a->g->n_groups; i++) {
        uint32_t shape = tables_shape(a->d->t, a->groups[i], a->alts[i]);

        if (a->d->t->s->shapes[shape].accelerator)
            return false;
    }
    return true;
}

/* Ready nodes before those on their way, before bought, before draining; of
 * each those with a PreferNoSchedule taint last. */
static uint32_t kind_rank(const struct candidate *d, const struct node_class *c)
{
    const struct problem *s = d->t->s;
    const struct pb_node *n;

    if (c->kind == CLASS_NEW)
        return 4 + problem_avoided(s, s->offers[c->offer].first_label,
                                   s->offers[c->offer].n_labels);
    n = &s->nodes[d->members[c->first]];
    return (c->kind == CLASS_DRAINING ? 6u
            : c->starting             ? 2u
                                      : 0u) +
           problem_avoided(s, n->first_label, n->n_labels);
}

/* The fullest node that can take all of it; among the first ones that can. */
static bool one_there(const struct attempt *a)
{
    struct candidate *d = a->d;
    bool plain = plain_gang(a);
    uint32_t best = NONE, looks = LOOKS;
    int64_t best_free = 0;

    for (int pass = plain ? 0 : 1; pass < 2 && best == NONE; pass++)
        for (uint32_t i = 0; i != NONE && looks > 0; i = d->classes.v[i].next) {
            const struct node_class *c = &d->classes.v[i];
            int64_t free;

            d->work++;
            if (c->n == 0 || (plain && c->accelerator != (pass == 1)) ||
                !class_matches_all(a, i) ||
                !room_holds_all(a, c->room[a->g->side]))
                continue;
            looks--;
            free = candidate_tightness(d, c->room[a->g->side].row);
            if (best != NONE &&
                kind_rank(d, c) != kind_rank(d, &d->classes.v[best]))
                break;
            if (best == NONE || free < best_free) {
                best = i;
                best_free = free;
            }
        }
    if (best == NONE)
        return false;
    place_all(a, best);
    return true;
}

/* A new node of the offer, limits aside. */
static bool offer_holds_all(const void *ctx, uint32_t offer)
{
    const struct attempt *a = ctx;
    const struct tables *t = a->d->t;
    bool plain_only = true, could = true;

    for (uint32_t w = 0; w < a->g->n_groups && could; w++) {
        uint32_t shape = tables_shape(a->d->t, a->groups[w], a->alts[w]);

        could = tables_could(t, shape, offer);
        plain_only = plain_only && !tables_may_buy(a->d->t, shape, offer);
    }
    return could && !plain_only &&
           room_holds_all(a, t->room[t->s->offers[offer].type]);
}

/* fair: only an offer whose turn it is (failover.h). */
static bool one_bought(const struct attempt *a, bool fair)
{
    struct candidate *d = a->d;
    const struct tables *t = d->t;
    const struct failover turn = {d, t->s->demands[a->g->demand].since_ms,
                                  offer_holds_all, a};

    for (uint32_t k = 0; k < t->s->n_offers; k++) {
        uint32_t offer = t->offers[k], i;

        d->work++;
        if (!offer_holds_all(a, offer) ||
            (fair && failover_waits(&turn, offer)))
            continue;
        i = candidate_obtain(d, offer, 1, a->what.why, a->g->demand);
        if (i == NONE)
            continue;
        place_all(a, i);
        d->n_single++;
        return true;
    }
    return false;
}

/* ---- each on its own node */

void attempt_undo(const struct attempt *a, struct mark mark)
{
    candidate_undo(a->d, mark);
    a->d->bound = -1; /* of a cover that is not bought */
    for (uint32_t i = 0; i < a->g->n_groups; i++)
        a->d->left[a->groups[i]] = a->left[i];
}

static void spread_bought(const struct attempt *a, uint32_t group, uint32_t alt,
                          bool fair)
{
    struct candidate *d = a->d;
    const struct tables *t = d->t;

    for (uint32_t k = 0; k < t->s->n_offers && d->left[group] > 0; k++) {
        uint32_t offer = t->offers[k], i;

        d->work++;
        if (!tables_may_buy(d->t, tables_shape(d->t, group, alt), offer) ||
            (fair && failover_waits_group(d, group, alt, offer)))
            continue;
        while (d->left[group] > 0) {
            i = candidate_obtain(d, offer, d->left[group], a->what.why,
                                 a->g->demand);
            if (i == NONE)
                break;
            candidate_place(d, i, group, alt, 1);
            candidate_spread(d, i, a->ix);
            d->n_single++;
        }
    }
}

static void strict_spread(const struct attempt *a)
{
    struct mark mark = candidate_mark(a->d);

    for (uint32_t i = 0; i < a->g->n_groups; i++)
        pack_spread(a->d, a->groups[i], a->alts[i], a->ix, rule_of(a));
    if (!gang_settled(a->d, a->ix)) {
        /* One bundle may sit where another had to: match them properly. */
        attempt_undo(a, mark);
        match_spread(a->d, a->groups, a->alts, a->g->n_groups, a->ix);
    }
    for (uint32_t i = 0; i < a->g->n_groups && may_buy(a); i++) {
        spread_bought(a, a->groups[i], a->alts[i], true);
        if (a->d->t->failed)
            spread_bought(a, a->groups[i], a->alts[i], false);
    }
}

/* ---- best effort */

static void soft_place(const struct attempt *a, enum strategy strategy)
{
    if (strategy != STRATEGY_SPREAD && one_there(a))
        return;
    for (uint32_t i = 0; i < a->g->n_groups; i++) {
        if (strategy == STRATEGY_SPREAD)
            pack_spread(a->d, a->groups[i], a->alts[i], a->ix, rule_of(a));
        pack_group(a->d, a->groups[i], a->alts[i], rule_of(a));
    }
    if (!gang_settled(a->d, a->ix) && may_buy(a))
        buy_groups(a->d, a->groups, a->alts, a->g->n_groups, a->what);
}

/* ---- on one host group */

static bool host_group_place(const struct attempt *a, uint32_t host_group)
{
    const struct pack_rule rule = {.patient = a->what.patient,
                                   .host_group = host_group};
    enum strategy strategy = a->d->t->s->demands[a->g->demand].strategy;

    for (uint32_t i = 0; i < a->g->n_groups; i++) {
        pack_spread(a->d, a->groups[i], a->alts[i], a->ix, rule);
        if (strategy != STRATEGY_STRICT_SPREAD)
            pack_group(a->d, a->groups[i], a->alts[i], rule);
    }
    return gang_settled(a->d, a->ix);
}

static bool host_group_bought(const struct attempt *a, bool fair)
{
    struct candidate *d = a->d;
    struct mark mark = candidate_mark(d);

    for (uint32_t k = 0; k < d->t->s->n_offers; k++) {
        uint32_t offer = d->t->offers[k], i;

        if (!tables_may_buy(d->t, tables_shape(d->t, a->groups[0], a->alts[0]),
                            offer) ||
            (fair && failover_waits_group(d, a->groups[0], a->alts[0], offer)))
            continue;
        i = candidate_obtain(d, offer, 1, a->what.why, a->g->demand);
        if (i == NONE)
            continue;
        d->n_single++;
        if (host_group_place(a, d->classes.v[i].host_group))
            return true;
        attempt_undo(a, mark);
    }
    return false;
}

/* The first that holds all of it, there or bought.  False: nothing is placed,
 * and it may lie on several. */
static bool on_one_host_group(const struct attempt *a)
{
    struct candidate *d = a->d;
    struct mark mark = candidate_mark(d);
    uint32_t n = d->classes.n, last = 0;

    for (uint32_t i = 0; i != NONE && i < n; i = d->classes.v[i].next) {
        uint32_t host_group = d->classes.v[i].host_group;

        if (d->classes.v[i].n == 0 || host_group == 0 || host_group == last ||
            d->classes.v[i].kind == CLASS_DRAINING)
            continue;
        last = host_group;
        if (host_group_place(a, host_group))
            return true;
        attempt_undo(a, mark);
    }
    return may_buy(a) && (host_group_bought(a, true) ||
                          (d->t->failed && host_group_bought(a, false)));
}

void attempt_place(const struct attempt *a)
{
    struct candidate *d = a->d;
    enum strategy strategy = d->t->s->demands[a->g->demand].strategy;

    if (strategy != STRATEGY_STRICT_PACK &&
        host_group_gang(d, a->groups, a->alts, a->g->n_groups) &&
        on_one_host_group(a) && quota_kept(d))
        return;
    switch (strategy) {
    case STRATEGY_STRICT_PACK:
        if (!one_there(a) && may_buy(a) && !one_bought(a, true) &&
            a->d->t->failed)
            one_bought(a, false);
        break;
    case STRATEGY_STRICT_SPREAD: strict_spread(a); break;
    case STRATEGY_NONE:
    case STRATEGY_PACK:
    case STRATEGY_SPREAD: soft_place(a, strategy); break;
    }
}
