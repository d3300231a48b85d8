/*
 * buy.c - purchases: their order, their covers, and the nodes bought for them.
 */
#include "problem.h"

#include "../host_group.h"
#include "../memory.h"
#include "../quota.h"
#include "gangs.h"

#include <string.h>

enum { ROUNDS = 4 }; /* to hand a quota on to who can use it */
enum { COVERS = 9 }; /* one more for each of the clouds' quotas used up */
enum { TURNS = 2 };  /* before offers that failed are bought after all */

/* ---- the answer */

struct pattern {
    const struct candidate *d;
    struct purchase *q;
    const struct cover_plan *plan;
    const struct cover_pattern *pat;
};

enum reason buy_reason(const struct candidate *d, uint32_t group)
{
    switch (d->t->s->demands[d->t->groups[group].demand].source) {
    case SOURCE_REQUEST: return REASON_FOR_REQUEST;
    case SOURCE_POD: return REASON_FOR_POD;
    case SOURCE_SPARE: return REASON_FOR_SPARE;
    case SOURCE_GANG: return REASON_FOR_GANG;
    case SOURCE_TASK: break;
    }
    return REASON_FOR_TASK;
}

static void pattern_place(struct candidate *d, const struct pattern *p,
                          uint32_t class_ix)
{
    const struct cover_part *parts = p->plan->parts + p->pat->first;

    if (p->q->gangs) {
        buy_gangs_place(d, p->q, parts, p->pat->n, class_ix);
        return;
    }
    for (uint32_t k = 0; k < p->pat->n; k++)
        candidate_place(d, class_ix, p->q->group[parts[k].item],
                        p->q->alt[parts[k].item], parts[k].count);
}

/* False: the offer's room is used up, since the cover knows nothing of quotas
 * that several offers share. */
static bool pattern_buy(struct candidate *d, const struct pattern *p)
{
    uint32_t first = p->q->group[p->plan->parts[p->pat->first].item];
    uint32_t left = p->pat->count, offer = p->q->offer[p->pat->bin];

    while (left > 0) {
        uint32_t i = host_group_spare(d, offer);

        if (i == NONE)
            i = candidate_obtain(d, offer, left,
                                 p->q->what.why != REASON_NONE
                                     ? p->q->what.why
                                     : buy_reason(d, first),
                                 d->t->groups[first].demand);
        if (i == NONE)
            return false;
        if (d->classes.v[i].n > left)
            candidate_split(d, i, left);
        left -= d->classes.v[i].n;
        d->classes.v[i].final = p->q->final || tables_hosts(d->t->s, offer) > 1;
        pattern_place(d, p, i);
    }
    return true;
}

/* Patterns of one pooled bin share its nodes: each takes its part and leaves
 * the rest of the class for the next. */
static void pattern_pooled(struct candidate *d, const struct pattern *p)
{
    uint32_t *class_ix = &p->q->pooled[p->pat->bin], i = *class_ix;

    if (p->pat->count < d->classes.v[i].n)
        *class_ix = candidate_split(d, i, p->pat->count);
    candidate_take(d, i, p->pat->count);
    pattern_place(d, p, i);
}

/* False: some of it could not be had. */
static bool answer_take(struct candidate *d, struct purchase *q,
                        const struct cover_plan *plan)
{
    bool whole = true;

    for (uint32_t i = 0; i < plan->n_patterns; i++) {
        const struct pattern p = {d, q, plan, &plan->patterns[i]};

        if (p.pat->n == 0)
            continue;
        if (q->pooled[p.pat->bin] != NONE)
            pattern_pooled(d, &p);
        else
            whole = pattern_buy(d, &p) && whole;
    }
    return whole;
}

/* ---- bettering */

/* Steps beyond which an answer hardly gets better, for one shape; they grow
 * with the square. */
#define STEPS_SHAPE (COVER_STEPS_PER_MS / 2)
static bool few(const struct cover_problem *p)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < p->n_items; i++)
        n += p->items[i].count;
    return n <= BUY_FEW;
}

/* What the items are worth by the proof of the answer's bound. */
static void worth_note(struct candidate *d, const struct purchase *q,
                       const struct cover_proof *proof)
{
    const uint32_t n = d->t->s->n_shapes;

    if (!proof->worth || proof->n_least)
        return; /* seats are worth something, not items */
    if (!d->worth)
        d->worth = ARENA_ARRAY(d->arena, double, SIDES *n);
    for (uint32_t i = 0; i < q->p.n_items; i++) {
        double *w = &d->worth[d->t->groups[q->group[i]].side * n + q->shape[i]];

        if (q->gangs && !buy_gangs_bundle(q, i))
            continue;
        *w = proof->worth[i] > *w ? proof->worth[i] : *w;
    }
}

/* The proof, per side and shape.  False: a shape comes twice, so what is told of
 * an item is not told of the shape. */
static bool proof_note(struct candidate *d, const struct purchase *q,
                       const struct cover_proof *proof)
{
    const uint32_t n = SIDES * d->t->s->n_shapes;
    uint32_t *from = ARENA_ARRAY(d->arena, uint32_t, n);
    bool once = true;

    memset(from, 0xff, n * sizeof *from);
    for (uint32_t i = 0; i < q->p.n_items; i++) {
        uint32_t *at =
            &from[d->t->groups[q->group[i]].side * d->t->s->n_shapes +
                  q->shape[i]];

        once = once && *at == UINT32_MAX;
        *at = i;
    }
    d->proof = cover_proof_map(proof, from, n, d->arena);
    return once || proof->n_least == 0;
}

/* The first answer, bettered with this problem's share of the budget. */
static void answer_find(struct candidate *d, struct purchase *q,
                        struct cover_plan *ret)
{
    uint64_t n = q->p.n_items, enough = STEPS_SHAPE * n * n, steps = 0;
    struct cover_plan first;

    memory_first(d->t->memory, &q->p, q->arena, ret);
    d->work += ret->work;
    d->cover_shapes += n;
    if (d->budget > 0 && ret->bound < ret->cost) {
        steps = n < d->share_of ? d->budget / d->share_of * n : d->budget;
        steps = steps < enough ? steps : enough;
        first = *ret;
        memory_improve(d->t->memory, &q->p, &first, steps, q->arena, ret);
        d->work += ret->work;
    }
    worth_note(d, q, &ret->proof);
    q->final = steps == enough || few(&q->p) || ret->bound == ret->cost;
    d->improvable = d->improvable || !q->final;
}

/* The highest priority below `below` (INT64_MAX: the highest of all). */
static bool next_priority(const struct problem *s, int64_t below, int64_t *ret)
{
    bool found = false;

    for (uint32_t i = 0; i < s->n_types; i++) {
        int64_t p = s->types[i].priority;

        if (p < below && (!found || p > *ret)) {
            *ret = p;
            found = true;
        }
    }
    return found;
}

/* One cover and what is bought by it.  True: something of it could not be had,
 * as offers share a quota of their cloud. */
static bool cover_buy(struct candidate *d, struct purchase *q)
{
    struct cover_plan plan = {0};

    answer_find(d, q, &plan);
    d->bound = d->n_covers == 0 && !q->host_groups &&
                       proof_note(d, q, &plan.proof)
                   ? plan.bound
                   : -1;
    d->n_covers++;
    if (answer_take(d, q, &plan))
        return false;
    d->bound = -1; /* it was of a plan that places more */
    return d->t->s->n_shares > 0;
}

/* From offers of one priority (or all of them); false: nothing is left to buy
 * for.  *capped: a quota held something back. */
static bool buy_priority(struct candidate *d, const uint32_t *groups,
                         const uint32_t *alts, uint32_t n,
                         const struct purchase *like, int32_t priority,
                         bool *capped)
{
    bool again = true, any = true;

    for (int k = 0; k < COVERS && again; k++) {
        struct arena own = {0}; /* a plan of many gangs has thousands */
        struct candidate made_in = *d;
        struct purchase q = *like;

        made_in.arena = q.arena = &own;
        purchase_items(&made_in, &q, groups, alts, n);
        *capped = *capped || q.capped;
        any = q.p.n_items > 0;
        if (any)
            purchase_bins(&made_in, &q, priority);
        again = any && q.p.n_bins > 0;
        if (again) {
            purchase_limits(&made_in, &q);
            again = cover_buy(d, &q);
        }
        arena_done(&own);
    }
    return any;
}

/* True when a quota held something back. */
static bool buy_round(struct candidate *d, const uint32_t *groups,
                      const uint32_t *alts, uint32_t n, struct purchase like)
{
    const struct problem *s = d->t->s;
    int64_t below = INT64_MAX, priority = 0;
    bool capped = false;

    while (next_priority(s, below, &priority)) {
        below = priority;
        if (!buy_priority(d, groups, alts, n, &like, (int32_t)priority,
                          &capped) ||
            s->limits.policy != POLICY_PRIORITY)
            break;
    }
    return capped;
}

/* A group that could not be bought for, though a share of its queue's quota was
 * kept for it, leaves that share to others of the queue. */
static void buy_by_quota(struct candidate *d, const uint32_t *groups,
                         const uint32_t *alts, uint32_t n, struct purchase like)
{
    uint32_t *aim;
    bool again = true;

    if (!buy_round(d, groups, alts, n, like))
        return;
    like.stuck = ARENA_ARRAY(d->arena, bool, n);
    aim = ARENA_ARRAY(d->arena, uint32_t, n);
    for (int round = 0; round < ROUNDS && again; round++) {
        struct quota_budget quota[SIDES] = {quota_budget(d, SIDE_TOTAL),
                                            quota_budget(d, SIDE_FREE)};

        for (uint32_t i = 0; i < n; i++)
            aim[i] = like.stuck[i]
                         ? 0
                         : d->left[groups[i]] -
                               quota_share(
                                   d, &quota[d->t->groups[groups[i]].side],
                                   groups[i], alts[i], d->left[groups[i]]);
        again = buy_round(d, groups, alts, n, like);
        for (uint32_t i = 0; i < n; i++)
            like.stuck[i] = like.stuck[i] || d->left[groups[i]] > aim[i];
    }
}

static bool any_surcharge(const struct problem *s)
{
    for (uint32_t i = 0; i < s->n_offers; i++)
        if (s->offers[i].surcharge_micros_hour > 0)
            return true;
    return false;
}

/* First only offers whose turn it is (failover.h), and again, since a turn is
 * over when the others are full; what is left after that may have any.  A
 * surcharge is not billed: when it leaves no money the bill decides. */
static void buy_some(struct candidate *d, const uint32_t *groups,
                     const uint32_t *alts, uint32_t n, struct buy_for what,
                     uint32_t queue)
{
    struct purchase like = {.what = what, .queue = queue};
    bool waits = d->t->failed;

    for (int turn = 0; turn < TURNS && waits; turn++) {
        waits = false;
        like.waits = &waits;
        buy_by_quota(d, groups, alts, n, like);
    }
    like.waits = NULL;
    if (waits || !d->t->failed)
        buy_by_quota(d, groups, alts, n, like);
    like.by_bill = true;
    if (limits_money(d) > 0 && any_surcharge(d->t->s))
        buy_by_quota(d, groups, alts, n, like);
}

/* Those of a queue with a quota of nodes; NONE: all others. */
static uint32_t groups_of_queue(const struct candidate *d,
                                const uint32_t *groups, const uint32_t *alts,
                                uint32_t n, uint32_t queue,
                                uint32_t *ret_groups, uint32_t *ret_alts)
{
    uint32_t k = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t q = quota_queue(d, groups[i], alts[i]);

        if (q != NONE && d->t->s->queues[q].nodes == UNLIMITED)
            q = NONE;
        if (q != queue)
            continue;
        ret_groups[k] = groups[i];
        ret_alts[k++] = alts[i];
    }
    return k;
}

/* A quota of nodes is a limit of its own: such a queue is bought for alone. */
void buy_groups(struct candidate *d, const uint32_t *groups,
                const uint32_t *alts, uint32_t n, struct buy_for what)
{
    const struct problem *s = d->t->s;
    uint32_t *some, *some_alts, k;
    bool apart = false;

    for (uint32_t q = 0; q < s->n_queues; q++)
        apart = apart || s->queues[q].nodes != UNLIMITED;
    if (!apart) {
        buy_some(d, groups, alts, n, what, NONE);
        return;
    }
    some = ARENA_ARRAY(d->arena, uint32_t, n);
    some_alts = ARENA_ARRAY(d->arena, uint32_t, n);
    for (uint32_t q = 0; q <= s->n_queues; q++) {
        uint32_t queue = q < s->n_queues ? q : NONE;

        k = groups_of_queue(d, groups, alts, n, queue, some, some_alts);
        if (k > 0)
            buy_some(d, some, some_alts, k, what, queue);
    }
}
