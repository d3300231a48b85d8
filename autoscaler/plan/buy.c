/*
 * buy.c - from wants to a cover problem, from its patterns to new nodes.
 */
#include "buy.h"

#include "fallback.h"
#include "cover/cover.h"
#include "failover.h"
#include "quota.h"
#include "host_group.h"

enum { ROUNDS = 4 };   /* to hand a quota on to who can use it */
enum { TURNS = 2 };    /* before offers that failed are bought after all */

struct purchase {
    struct cover_problem p;
    struct cover_item *items;
    struct cover_bin *bins;
    uint32_t *family_max;
    uint32_t *group, *alt, *shape;  /* per item */
    uint32_t *offer;           /* per bin, or */
    uint32_t *pooled;          /* the class of nodes that are there */
    struct buy_for what;
    bool final;                /* its answer: a longer look is of no use */
    uint32_t queue;            /* whose quota of nodes is to be kept, or NONE */
    bool *stuck;               /* per want: its quota goes to others, or NULL */
    bool host_groups;                /* prices are no bound: host_group_price() */
    bool capped;               /* by a quota: somebody's is wanted by others */
    bool *waits;               /* an offer is behind others (failover.h); NULL:
                                * all may be bought */
};

static void items_make(const struct candidate *d, struct purchase *q,
                       const uint32_t *groups, const uint32_t *alts, uint32_t n)
{
    const struct problem *s = d->t->s;
    struct quota_budget quota = quota_budget(d, d->t->groups[groups[0]].side);

    q->items = ARENA_ARRAY(d->arena, struct cover_item, n);
    q->group = ARENA_ARRAY(d->arena, uint32_t, n);
    q->alt = ARENA_ARRAY(d->arena, uint32_t, n);
    q->shape = ARENA_ARRAY(d->arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t shape = tables_shape(d->t, groups[i], alts[i]), count;

        if (d->left[groups[i]] == 0 || d->t->needs[shape].never ||
            d->t->groups[groups[i]].rank == RANK_UNCONFIRMED ||
            (q->stuck && q->stuck[i]) ||
            (!q->what.patient && fallback_given_up(d, groups[i], alts[i])))
            continue;
        count = quota_share(d, &quota, groups[i], alts[i], d->left[groups[i]]);
        q->capped = q->capped || count < d->left[groups[i]];
        if (count == 0)
            continue;
        q->group[q->p.n_items] = groups[i];
        q->alt[q->p.n_items] = alts[i];
        q->shape[q->p.n_items] = shape;
        q->items[q->p.n_items++] = (struct cover_item){
            .need = pb_row(s, s->shapes[shape].row),
            .count = count,
        };
    }
    q->p.items = q->items;
}

/* Machines of the type that could be of use at once. */
static uint64_t useful(const struct candidate *d, const struct purchase *q,
                       uint32_t offer)
{
    const struct tables *t = d->t;
    const struct room *room = &t->room[t->s->offers[offer].type];
    uint64_t n = 0;

    for (uint32_t i = 0; i < q->p.n_items; i++) {
        uint32_t shape = q->shape[i], fit;

        if (!tables_could(t, shape, offer))
            continue;
        fit = room_fit(t->s, room, &t->needs[shape], q->items[i].count);
        n += fit > 0 ? (q->items[i].count + fit - 1) / fit : 0;
    }
    return n;
}

/* A plain offer that cannot be bought now still tells the cover that plain
 * work has somewhere to go: it is a bin of which there are none.  tier: its
 * turn to be bought has come. */
static bool bin_add(const struct candidate *d, struct purchase *q, uint32_t offer,
                    bool tier)
{
    const struct problem *s = d->t->s;
    const struct pb_offer *o = &s->offers[offer];
    const struct pb_type *type = &s->types[o->type];
    enum reason why;
    uint32_t max = limits_room(d, offer, q->what.claim, &why);
    int64_t price = o->price_micros_hour;

    if (!tier)
        max = 0;
    if (tables_hosts(s, offer) > 1) {
        max -= max % tables_hosts(s, offer);
        price = host_group_price(s, offer, useful(d, q, offer));
        q->host_groups = true;
    }
    if (tables_by_size(d->t)) {
        price = d->t->size[o->type] + 1;
        q->host_groups = true;       /* nor are sizes */
    }
    if (max == 0 && (!s->limits.conserve || type->accelerator ||
                     type->max == 0 ||
                     type->unavailable == REASON_TYPE_DISABLED))
        return false;
    q->offer[q->p.n_bins] = offer;
    q->pooled[q->p.n_bins] = NONE;
    q->bins[q->p.n_bins] = (struct cover_bin){
        .has = pb_row(s, type->row),
        .price = price,
        .max = max,
        .family = o->type,
        .rank = (int32_t)d->t->offer_rank[offer],
        .accelerator = type->accelerator,
    };
    q->p.n_bins++;
    return true;
}

static uint32_t pooled_count(const struct candidate *d)
{
    uint32_t n = 0;

    for (uint32_t i = d->classes.v[d->fence_pool].next; i != NONE;
         i = d->classes.v[i].next)
        n++;
    return n;
}

/* Nodes that are there cost nothing more.  Devices that are used in part are
 * no part of a bin. */
static void pooled_make(const struct candidate *d, struct purchase *q,
                        uint64_t *bits, uint32_t words)
{
    const struct problem *s = d->t->s;
    enum side side = d->t->groups[q->group[0]].side;

    for (uint32_t i = d->classes.v[d->fence_pool].next; i != NONE;
         i = d->classes.v[i].next) {
        const struct node_class *c = &d->classes.v[i];
        uint32_t b = q->p.n_bins, family = q->p.n_families;

        q->pooled[b] = i;
        q->family_max[family] = UNLIMITED;
        q->bins[b] = (struct cover_bin){
            .has = c->room[side].row,
            .max = c->n,
            .family = family,
            .rank = -1,
            .accelerator = c->accelerator,
        };
        for (uint32_t k = 0; k < q->p.n_items; k++) {
            uint32_t shape = q->shape[k];
            const struct room room = {.row = c->room[side].row};

            if (candidate_matches(d, i, shape) &&
                room_fit(s, &room, &d->t->needs[shape], 1) > 0)
                bits[(size_t)k * words + b / 64] |= UINT64_C(1) << (b % 64);
        }
        q->p.n_bins++;
        q->p.n_families++;
    }
}

/* May a new node of the offer be bought for the item, limits aside? */
static bool item_may(const struct candidate *d, struct purchase *q, uint32_t item,
                     uint32_t offer)
{
    if (!tables_could(d->t, q->shape[item], offer))
        return false;
    if (!q->waits || !failover_waits_want(d, q->group[item], q->alt[item],
                                       q->what.claim, offer))
        return true;
    *q->waits = true;
    q->host_groups = true;           /* nor are prices of some a bound for all */
    return false;
}

/* Bins, and which items may lie in which. */
static void bins_make(const struct candidate *d, struct purchase *q,
                      int32_t priority)
{
    const struct problem *s = d->t->s;
    bool tiers = s->limits.policy == POLICY_PRIORITY;
    uint32_t pooled = pooled_count(d), most = s->n_offers + pooled;
    uint32_t words = (most + 63) / 64;
    uint64_t *bits = ARENA_ARRAY(d->arena, uint64_t,
                                 (size_t)words * q->p.n_items);

    q->bins = ARENA_ARRAY(d->arena, struct cover_bin, most);
    q->offer = ARENA_ARRAY(d->arena, uint32_t, most);
    q->pooled = ARENA_ARRAY(d->arena, uint32_t, most);
    q->family_max = ARENA_ARRAY(d->arena, uint32_t, s->n_types + pooled);
    q->p.n_bins = 0;
    q->p.n_families = s->n_types;
    pooled_make(d, q, bits, words);
    for (uint32_t k = 0; k < s->n_offers; k++) {
        uint32_t offer = d->t->offers[k];

        if (!bin_add(d, q, offer,
                     !tiers || s->types[s->offers[offer].type].priority ==
                                   priority))
            continue;
        for (uint32_t i = 0; i < q->p.n_items; i++) {
            uint32_t b = q->p.n_bins - 1;

            if (item_may(d, q, i, offer))
                bits[(size_t)i * words + b / 64] |= UINT64_C(1) << (b % 64);
        }
    }
    for (uint32_t i = 0; i < q->p.n_items; i++)
        q->items[i].bins = bits + (size_t)i * words;
    q->p.bins = q->bins;
}

static void limits_make(const struct candidate *d, struct purchase *q)
{
    const struct problem *s = d->t->s;
    enum reason why;

    for (uint32_t i = 0; i < s->n_types; i++)
        q->family_max[i] = limits_room_type(d, i, q->what.claim, &why);
    q->p.max_bins = limits_room_all(d, q->what.claim, &why);
    q->p.max_cost = tables_by_size(d->t) ? -1 : limits_money(d);
    if (quota_nodes(d, q->queue) < q->p.max_bins)
        q->p.max_bins = quota_nodes(d, q->queue);
    for (uint32_t b = 0; b < q->p.n_bins; b++)
        if (q->pooled[b] != NONE)
            q->p.max_bins = q->bins[b].max < UNLIMITED - q->p.max_bins
                                ? q->p.max_bins + q->bins[b].max
                                : UNLIMITED;
    q->p.family_max = q->family_max;
    q->p.columns = s->columns;
    q->p.n_columns = s->n_columns;
    q->p.conserve = s->limits.conserve;
}

/* ---- the answer */

struct pattern {
    const struct candidate *d;
    const struct purchase *q;
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

static void pattern_hold(struct candidate *d, const struct pattern *p,
                         uint32_t class_ix)
{
    const struct cover_part *parts = p->plan->parts + p->pat->first;

    for (uint32_t k = 0; k < p->pat->n; k++)
        candidate_hold(d, class_ix, p->q->group[parts[k].item],
                    p->q->alt[parts[k].item], parts[k].count);
}

static void pattern_buy(struct candidate *d, const struct pattern *p)
{
    uint32_t first = p->q->group[p->plan->parts[p->pat->first].item];
    uint32_t left = p->pat->count, offer = p->q->offer[p->pat->bin];

    while (left > 0) {
        uint32_t i = host_group_spare(d, offer);

        if (i == NONE)
            i = candidate_obtain(
                d, offer, left, p->q->what.claim,
                p->q->what.why != REASON_NONE ? p->q->what.why : buy_reason(d, first),
                d->t->groups[first].demand);
        if (i == NONE)
            return;
        if (d->classes.v[i].n > left)
            candidate_split(d, i, left);
        left -= d->classes.v[i].n;
        d->classes.v[i].final =
            p->q->final || tables_hosts(d->t->s, offer) > 1;
        pattern_hold(d, p, i);
    }
}

/* Patterns of one pooled bin share its nodes: each takes its part and leaves
 * the rest of the class for the next. */
static void pattern_pooled(struct candidate *d, const struct pattern *p)
{
    uint32_t *class_ix = &p->q->pooled[p->pat->bin], i = *class_ix;

    if (p->pat->count < d->classes.v[i].n)
        *class_ix = candidate_split(d, i, p->pat->count);
    candidate_take(d, i, p->pat->count);
    pattern_hold(d, p, i);
}

static void answer_take(struct candidate *d, const struct purchase *q,
                        const struct cover_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_patterns; i++) {
        const struct pattern p = {d, q, plan, &plan->patterns[i]};

        if (p.pat->n == 0)
            continue;
        if (q->pooled[p.pat->bin] != NONE)
            pattern_pooled(d, &p);
        else
            pattern_buy(d, &p);
    }
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

/* The first answer, bettered with this problem's share of the budget. */
static void answer_find(struct candidate *d, struct purchase *q,
                        struct cover_plan *ret)
{
    uint64_t n = q->p.n_items, enough = STEPS_SHAPE * n * n, steps = 0;
    struct cover_plan first;

    cover_first(&q->p, d->arena, ret);
    d->work += ret->work;
    d->cover_shapes += n;
    if (d->budget > 0) {
        steps = n < d->share_of ? d->budget / d->share_of * n : d->budget;
        steps = steps < enough ? steps : enough;
        first = *ret;
        cover_improve(&q->p, &first, steps, d->arena, ret);
        d->work += ret->work;
    }
    q->final = steps == enough || few(&q->p) || ret->bound == ret->cost;
    d->improvable = d->improvable || !q->final;
}

/* The highest priority below `below` (INT64_MAX: the highest of all). */
static bool next_priority(const struct problem *s, int64_t below,
                          int64_t *ret)
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

/* True when a quota held something back. */
static bool buy_round(struct candidate *d, const uint32_t *groups,
                      const uint32_t *alts, uint32_t n, struct purchase like)
{
    const struct problem *s = d->t->s;
    int64_t below = INT64_MAX, priority = 0;
    bool capped = false;

    while (next_priority(s, below, &priority)) {
        struct purchase q = like;
        struct cover_plan plan = {0};

        below = priority;
        items_make(d, &q, groups, alts, n);
        capped = capped || q.capped;
        if (q.p.n_items == 0)
            break;
        bins_make(d, &q, (int32_t)priority);
        if (q.p.n_bins > 0) {
            limits_make(d, &q);
            answer_find(d, &q, &plan);
            d->bound = d->n_covers == 0 && !q.host_groups ? plan.bound : -1;
            d->n_covers++;
            answer_take(d, &q, &plan);
        }
        if (s->limits.policy != POLICY_PRIORITY)
            break;
    }
    return capped;
}

/* What could not be bought though its queue's quota was kept for it leaves that
 * to others of the queue. */
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
        struct quota_budget quota = quota_budget(d, d->t->groups[*groups].side);

        for (uint32_t i = 0; i < n; i++)
            aim[i] = like.stuck[i]
                         ? 0
                         : d->left[groups[i]] -
                               quota_share(d, &quota, groups[i], alts[i],
                                           d->left[groups[i]]);
        again = buy_round(d, groups, alts, n, like);
        for (uint32_t i = 0; i < n; i++)
            like.stuck[i] = like.stuck[i] || d->left[groups[i]] > aim[i];
    }
}

/* First each only where it is an offer's turn; when the others are full their
 * turn is over; and what is left after that may have any. */
static void buy_some(struct candidate *d, const uint32_t *groups,
                     const uint32_t *alts, uint32_t n,
                     struct buy_for what, uint32_t queue)
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
}

/* Those of a queue with a quota of nodes; NONE: all others. */
static uint32_t wants_of(const struct candidate *d, const uint32_t *groups,
                         const uint32_t *alts, uint32_t n, uint32_t queue,
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

        k = wants_of(d, groups, alts, n, queue, some, some_alts);
        if (k > 0)
            buy_some(d, some, some_alts, k, what, queue);
    }
}
