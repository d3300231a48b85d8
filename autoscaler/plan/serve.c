/*
 * serve.c - requests, gangs, tasks and spare room, by priority.
 *
 * For each priority: nodes that are there first, then the cover, then the next
 * alternative of what is left.
 */
#include "serve.h"

#include "buy/buy.h"
#include "drop.h"
#include "failover.h"
#include "fallback.h"
#include "gang/gang.h"
#include "gang/together.h"
#include "limits.h"
#include "pack.h"
#include "previous.h"
#include "quota.h"

/* ---- mins */

static uint32_t undrain_for_min(struct candidate *d, uint32_t type, uint32_t n)
{
    uint32_t next;

    for (uint32_t i = 0; i != NONE && n > 0; i = next) {
        const struct node_class *c = &d->classes.v[i];

        next = c->next;
        if (c->kind != CLASS_DRAINING || c->n == 0 ||
            d->t->s->nodes[d->members[c->first]].type != type)
            continue;
        if (c->n > n)
            candidate_split(d, i, n);
        candidate_undrain(d, i);
        n -= d->classes.v[i].n;
    }
    return n;
}

/* Those of a type that drain and could come back. */
static uint32_t draining_of(const struct candidate *d, uint32_t type)
{
    const struct problem *s = d->t->s;
    uint32_t n = 0;

    for (uint32_t i = 0; i != NONE; i = d->classes.v[i].next) {
        const struct node_class *c = &d->classes.v[i];

        if (c->kind == CLASS_DRAINING &&
            s->nodes[d->members[c->first]].type == type)
            n += c->n;
    }
    return n;
}

struct kind {
    const struct problem *s;
    uint32_t type;
};

static bool of_type(const void *ctx, uint32_t offer)
{
    const struct kind *k = ctx;

    return k->s->offers[offer].type == k->type;
}

/* Returns how many are missing.  fair: only offers whose turn it is. */
static uint32_t min_buy(struct candidate *d, uint32_t type, uint32_t need,
                        bool fair)
{
    const struct problem *s = d->t->s;
    const struct kind kind = {s, type};
    const struct failover turn = {d, 0, of_type, &kind};

    for (uint32_t k = 0; k < s->n_offers && need > 0; k++) {
        uint32_t offer = d->t->offers[k], i;

        if (!of_type(&kind, offer) || (fair && failover_waits(&turn, offer)))
            continue;
        while (need > 0) {
            i = candidate_obtain(d, offer, need, REASON_FOR_MIN, NONE);
            if (i == NONE)
                break;
            need -= d->classes.v[i].n;
        }
    }
    return need;
}

static void serve_mins(struct candidate *d)
{
    const struct problem *s = d->t->s;

    for (uint32_t type = 0; type < s->n_types; type++) {
        uint32_t have = d->type_count[type] - d->type_ended[type], need;
        uint32_t going;

        if (s->types[type].min == 0)
            continue;
        going = draining_of(d, type);
        have -= going < have ? going : have;
        if (have >= s->types[type].min)
            continue;
        need = undrain_for_min(d, type, s->types[type].min - have);
        need = min_buy(d, type, need, true);
        if (d->t->failed)
            min_buy(d, type, need, false);
    }
}

/* ---- demand groups */

/* The next alternative of what is left; false when there is none. */
static bool next_alternatives(const struct candidate *d, const uint32_t *groups,
                              uint32_t *alts, uint32_t n)
{
    bool any = false;

    for (uint32_t i = 0; i < n; i++) {
        const struct group *w = &d->t->groups[groups[i]];

        if (d->left[groups[i]] == 0 || alts[i] + 1 >= w->n_alts ||
            !fallback_may_try(d, groups[i], alts[i] + 1))
            continue;
        alts[i]++;
        any = true;
    }
    return any;
}

static bool any_left(const struct candidate *d, const uint32_t *groups,
                     uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (d->left[groups[i]] > 0)
            return true;
    return false;
}

/* One alternative after the other: nodes that are there, then bought ones. */
static void serve_choices(struct candidate *d, const uint32_t *groups,
                          uint32_t n, bool pool, bool patient)
{
    const struct pack_rule rule = {.patient = patient};
    const struct buy_for what = {.patient = patient};
    uint32_t *alts = ARENA_ARRAY(d->arena, uint32_t, n);

    do {
        if (pool)
            candidate_pool(d);
        else
            pack_groups(d, groups, alts, n, rule);
        if (any_left(d, groups, n))
            buy_groups(d, groups, alts, n, what);
        if (pool) {
            candidate_unpool(d);
            pack_groups(d, groups, alts, n, rule);
            if (any_left(d, groups, n))
                buy_groups(d, groups, alts, n, what);
        }
    } while (any_left(d, groups, n) && next_alternatives(d, groups, alts, n));
}

/* When no alternative works, a silent node is better than none, and so is an
 * alternative that was given up because of one. */
static void serve_patiently(struct candidate *d, const uint32_t *groups,
                            uint32_t n)
{
    uint32_t *waiting = ARENA_ARRAY(d->arena, uint32_t, n), k = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (d->left[groups[i]] == 0 || !fallback_has(d, groups[i]))
            continue;
        for (uint32_t alt = 0; alt < d->t->groups[groups[i]].n_alts; alt++)
            if (d->left[groups[i]] > 0 && fallback_may_try(d, groups[i], alt))
                pack_group(d, groups[i], alt,
                           (struct pack_rule){.patient = true});
        if (d->left[groups[i]] > 0)
            waiting[k++] = groups[i];
    }
    if (k > 0)
        serve_choices(d, waiting, k, false, true);
}

static void serve_groups(struct candidate *d, const uint32_t *groups,
                         uint32_t n, bool pool)
{
    pack_later(d, groups, n);
    serve_choices(d, groups, n, pool, false);
    serve_patiently(d, groups, n);
}

/* ---- in order */

struct line { /* where the two sorted lists are */
    uint32_t gang, loose;
};

static void serve_gangs(struct candidate *d, struct line *at, uint8_t rank,
                        enum side side, int64_t priority)
{
    const struct tables *t = d->t;
    uint32_t failed = NONE;

    for (; at->gang < t->n_gangs && t->gangs[at->gang].side == side &&
           t->gangs[at->gang].unconfirmed == (rank == RANK_UNCONFIRMED) &&
           t->gangs[at->gang].priority >= priority;
         at->gang++) {
        if (gang_settled(d, at->gang) ||
            (failed != NONE && gang_same(t, failed, at->gang)))
            continue;
        if (!gang_place(d, at->gang))
            failed = at->gang;
    }
}

/* What waited before is served first, then nodes hold what they did of the rest. */
static void displace(struct candidate *d, const uint32_t *groups, uint32_t n)
{
    uint32_t *waited = ARENA_ARRAY(d->arena, uint32_t, n), k = 0;

    for (uint32_t i = 0; i < n; i++)
        if (d->how.waits[groups[i]] > 0)
            waited[k++] = groups[i];
    for (uint32_t i = 0; i < k; i++)
        previous_group(d, waited[i]);
    if (k > 0)
        serve_groups(d, waited, k, false);
    for (uint32_t i = 0; i < n; i++)
        previous_group(d, groups[i]);
}

static void serve_rank(struct candidate *d, struct line *at, uint8_t rank,
                       enum side side, struct tactics how)
{
    const struct tables *t = d->t;

    while (at->loose < t->n_loose &&
           t->groups[t->loose[at->loose]].rank == rank) {
        int32_t priority = t->groups[t->loose[at->loose]].priority;
        uint32_t first = at->loose;

        while (at->loose < t->n_loose &&
               t->groups[t->loose[at->loose]].rank == rank &&
               t->groups[t->loose[at->loose]].priority == priority)
            at->loose++;
        if (!how.gangs_last)
            serve_gangs(d, at, rank, side, priority);
        if (how.waits && priority < how.priority)
            displace(d, t->loose + first, at->loose - first);
        serve_groups(d, t->loose + first, at->loose - first, how.pool);
        if (how.gangs_last)
            serve_gangs(d, at, rank, side, priority);
    }
    serve_gangs(d, at, rank, side, INT64_MIN);
}

/* Where the lists of one side begin: requests come first in both. */
static struct line line_of(const struct tables *t, enum side side)
{
    struct line at = {0, 0};

    if (side == SIDE_TOTAL)
        return at;
    while (at.gang < t->n_gangs && t->gangs[at.gang].side == SIDE_TOTAL)
        at.gang++;
    while (at.loose < t->n_loose &&
           t->groups[t->loose[at.loose]].side == SIDE_TOTAL)
        at.loose++;
    return at;
}

static void serve_side(struct candidate *d, enum side side, struct tactics how)
{
    struct line at = line_of(d->t, side);

    if (side == SIDE_TOTAL) {
        serve_rank(d, &at, RANK_REQUEST, side, how);
    } else {
        serve_rank(d, &at, RANK_WORK, side, how);
        serve_rank(d, &at, RANK_SPARE, side, how);
    }
}

/* Last of all, after needless nodes are dropped: it keeps none. */
static void serve_unconfirmed(struct candidate *d, struct tactics how)
{
    const struct tables *t = d->t;
    struct line at = line_of(t, SIDE_FREE);

    while (at.gang < t->n_gangs && !t->gangs[at.gang].unconfirmed)
        at.gang++;
    while (at.loose < t->n_loose &&
           t->groups[t->loose[at.loose]].rank != RANK_UNCONFIRMED)
        at.loose++;
    serve_rank(d, &at, RANK_UNCONFIRMED, SIDE_FREE, how);
}

static bool all_served(const struct candidate *d)
{
    for (uint32_t i = 0; i < d->t->n_groups; i++)
        if (d->left[i] > 0)
            return false;
    return true;
}

static void serve_sides(struct candidate *d, struct tactics how)
{
    serve_side(d, how.work_first ? SIDE_FREE : SIDE_TOTAL, how);
    serve_side(d, how.work_first ? SIDE_TOTAL : SIDE_FREE, how);
}

static void serve_once(struct candidate *d, struct tactics how)
{
    d->how = how;
    if (how.previous)
        previous_restore(d);
    serve_mins(d);
    d->min_cost = d->bought_cost;
    if (how.proposed)
        previous_propose(d);
    if (how.together)
        together_serve(d);
    serve_sides(d, how);
    /* What a dropped node took of the limits is free for what was left. */
    if (drop_unneeded(d) > 0 && !all_served(d))
        serve_sides(d, how);
    serve_unconfirmed(d, how);
}

void serve_all(struct candidate *d, struct tactics how)
{
    serve_once(d, how);
    d->broken = d->broken || !quota_kept(d);
}
