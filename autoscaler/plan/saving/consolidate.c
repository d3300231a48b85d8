/*
 * consolidate.c - the plan without one node, one host group, or two of them.
 *
 * What may go is ready, ours, not protected, old enough, and needed by
 * something: a node that nothing needs goes by its idle timeout.  Before that,
 * requests are placed anew so that as many nodes as can be, the dearest first,
 * are needed by nothing: on these nothing runs, so no age is asked for.  In the
 * mode `empty` nothing runs on it.  In the mode `on` its running work moves as a
 * whole, as a load of all that is used, to a node with the same labels.  Of all
 * that is tried the cheapest is done.  Each step lowers the cost and waits until
 * no node is starting, so the steps come to an end.
 */
#include "consolidate.h"

#include "../limits.h"
#include "../order.h"
#include "../pace.h"
#include "pays.h"
#include "running_load.h"
#include "without.h"

/* Plans made again in one pass: without one, and without two. */
enum { TRIES = 24, PAIR_TRIES = 12 };
enum { LOOK_AGAIN_MS = 5000 };

struct attempt {
    const struct tables *t;
    struct candidate (*best)(const struct candidate *base);
    const struct candidate *now; /* the plan as it is */
    enum leaving *gone;          /* gives no room */
    bool *moved;                 /* of these, candidates that are to go */
    bool *taking;                /* where their running work goes */
    bool *needed;                /* something is placed on it now */
    int64_t cost;                /* an hour, of what is needed without them */
    struct host_groups host_groups;
    uint32_t *order, n; /* candidates: the first machine of each */
};

/* ---- candidates: each is known by its first node, NONE is none */

static int64_t price_of(const struct attempt *a, uint32_t first)
{
    int64_t sum = 0;

    for (uint32_t i = first; i != NONE;
         i = host_group_next(&a->host_groups, first, i))
        sum = amount_add(sum, a->t->s->nodes[i].price_micros_hour);
    return sum;
}

/* Without a demand source nothing tells whether what a request counts on works. */
static bool may_work(const struct problem *s, const struct pb_node *n)
{
    return s->work_unknown && n->counted_on &&
           s->limits.consolidate != CONSOLIDATE_ON;
}

static bool may_go(const struct candidate *d, uint32_t i)
{
    const struct problem *s = d->t->s;
    const struct pb_node *n = &s->nodes[i];

    return !may_work(s, n) && n->state == STATE_READY && shrink_may_end(s, n) &&
           !n->unmanaged && n->created_ms > 0 && n->price_micros_hour > 0 &&
           n->type != NONE &&
           (running_load_busy(n)
                ? s->limits.consolidate == CONSOLIDATE_ON && n->offer != NONE
                : n->idle_timeout_ms >= 0);
}

/* Is one of its machines too young to be replaced, or its work moved? */
static bool is_young(const struct attempt *a, uint32_t first)
{
    const struct problem *s = a->t->s;

    for (uint32_t i = first; i != NONE;
         i = host_group_next(&a->host_groups, first, i))
        if (s->now_ms - s->nodes[i].created_ms < s->limits.consolidate_age_ms)
            return true;
    return false;
}

/* Those that a request counts on, and those with work; host groups whole. */
static void candidates(struct attempt *a, const struct candidate *d)
{
    const struct problem *s = d->t->s;
    uint32_t *order = shrink_order(s, d->arena);
    bool *seen = ARENA_ARRAY(d->arena, bool, s->n_nodes);
    bool *needed = ARENA_ARRAY(d->arena, bool, s->n_nodes);
    bool *soon = ARENA_ARRAY(d->arena, bool, s->n_nodes);

    for (uint32_t i = 0; i < d->classes.n; i++) {
        const struct node_class *c = &d->classes.v[i];

        if (c->kind != CLASS_THERE || c->placed == NONE)
            continue;
        for (uint32_t k = 0; k < c->n; k++) {
            needed[d->members[c->first + k]] = true;
            soon[d->members[c->first + k]] = without_awaited(d, c);
        }
    }
    a->order = order;
    for (uint32_t k = 0; k < s->n_nodes; k++) {
        uint32_t first = order[k];
        bool may = !seen[first] && !a->host_groups.partial[first], used = false;

        for (uint32_t i = first; i != NONE;
             i = host_group_next(&a->host_groups, first, i)) {
            seen[i] = true;
            may = may && !a->gone[i] && may_go(d, i) && !soon[i];
            used = used || needed[i] || running_load_busy(&s->nodes[i]);
        }
        if (may && used)
            order[a->n++] = first;
    }
}

static int dearer(const void *ctx, uint32_t x, uint32_t y)
{
    const struct attempt *a = ctx;

    return ORDER(price_of(a, y), price_of(a, x));
}

/* Does work wait for a node?  The scheduler may give it the room that running
 * work is to move to. */
static bool pending(const struct candidate *d)
{
    for (uint32_t i = 0; i < d->t->n_groups; i++)
        if (d->t->groups[i].side == SIDE_FREE &&
            d->t->groups[i].rank != RANK_SPARE)
            return true;
    return false;
}

/* Is nothing bought, starting, or being un-drained? */
static bool settled(const struct candidate *d)
{
    const struct problem *s = d->t->s;

    for (uint32_t i = 0; i < s->n_offers; i++)
        if (d->offer_bought[i] > 0)
            return false;
    for (uint32_t i = 0; i < d->classes.n; i++)
        if (d->classes.v[i].kind == CLASS_DRAINING &&
            (d->classes.v[i].placed != NONE || d->classes.v[i].undrain))
            return false;
    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (limits_counts(&s->nodes[i]) && limits_starting(&s->nodes[i]))
            return false;
    return true;
}

/* ---- the plan without */

/* False when something would lose its place, or get a worse one. */
static bool without(const struct attempt *a, struct candidate *ret)
{
    struct candidate base;

    candidate_start(a->t, a->gone, &base);
    running_loads_come(&base, a->taking); /* those of before come first */
    if (!running_loads_move(&base, a->moved, a->taking))
        return false;
    *ret = a->best(&base);
    return without_as_good(ret, a->now);
}

/* What has to be saved for something of this price to go. */
static int64_t least_saving(const struct problem *s, int64_t price)
{
    return amount_times(s->limits.consolidate_saving, (uint64_t)price) /
           AMOUNT_ONE;
}

static bool worth(const struct attempt *a, int64_t price, int64_t cost)
{
    const struct problem *s = a->t->s;
    int64_t gain = a->cost - cost;

    return gain > 0 && gain >= least_saving(s, price);
}

static bool all_estimated(const struct attempt *a, uint32_t first, bool how)
{
    bool all = true;

    for (uint32_t i = first; all && i != NONE;
         i = host_group_next(&a->host_groups, first, i))
        all = a->t->s->nodes[i].price_estimated == how;
    return all;
}

/* Is what is saved told by prices of one kind?  An estimate beside a known price
 * tells nothing: it would be bought again and again, and saved nothing. */
static bool comparable(const struct attempt *a, uint32_t first, uint32_t other,
                       const struct candidate *d)
{
    const struct problem *s = a->t->s;

    for (uint32_t o = 0; o < s->n_offers; o++)
        if (d->offer_bought[o] > 0 &&
            (!all_estimated(a, first, s->offers[o].price_estimated) ||
             !all_estimated(a, other, s->offers[o].price_estimated)))
            return false;
    return true;
}

/* Of the nodes that something is on or comes to, and of what is bought: an idle
 * one that takes over costs its price, since it could go otherwise.  One that was
 * needed and stays all the same costs what it did. */
static int64_t cost_of(const struct attempt *a, const struct candidate *d)
{
    const struct problem *s = d->t->s;
    const bool *needed = nodes_needed(d);
    uint32_t *spare = types_spare(d);
    int64_t sum = d->bought_cost;

    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const struct pb_node *n = &s->nodes[i];
        bool used = needed[i] || a->taking[i] || running_load_busy(n);

        if (!limits_counts(n) || n->price_micros_hour <= 0 || a->moved[i])
            continue;
        if (!used && !a->gone[i] && !node_goes_when_idle(s, n, spare))
            used = a->needed[i];
        if (used)
            sum = amount_add(sum, n->price_micros_hour);
    }
    return sum;
}

/* Per node: does it take work over that nothing needed, and would it have gone? */
static bool *taken_over(const struct attempt *a, const struct candidate *d)
{
    const struct problem *s = d->t->s;
    bool *over = nodes_needed(d);
    uint32_t *spare = types_spare(d);

    for (uint32_t i = 0; i < s->n_nodes; i++)
        over[i] = (over[i] || a->taking[i]) && !a->needed[i] &&
                  !running_load_busy(&s->nodes[i]) &&
                  node_goes_when_idle(s, &s->nodes[i], spare);
    return over;
}

/* Buys what would take the place, beside the plan as it is. */
static bool replace(struct candidate *best, const struct candidate *other)
{
    const struct problem *s = best->t->s;
    struct candidate d;

    candidate_copy(best, &d);
    for (uint32_t o = 0; o < s->n_offers; o++)
        for (uint32_t n = other->offer_bought[o]; n > 0;) {
            uint32_t i = candidate_obtain(&d, o, n, REASON_FOR_CONSOLIDATE,
                                          NONE);

            if (i == NONE)
                return false;
            n -= d.classes.v[i].n;
        }
    if (!pace_all(&d))
        return false;
    *best = d;
    return true;
}

static void mark(struct attempt *a, uint32_t first, bool gone)
{
    for (uint32_t i = first; i != NONE;
         i = host_group_next(&a->host_groups, first, i)) {
        a->gone[i] = gone ? LEAVES : LEAVES_NOT;
        a->moved[i] = gone;
    }
}

static bool any_busy(const struct attempt *a, uint32_t first)
{
    for (uint32_t i = first; i != NONE;
         i = host_group_next(&a->host_groups, first, i))
        if (running_load_busy(&a->t->s->nodes[i]))
            return true;
    return false;
}

/* The candidates that are old enough for all the rest. */
static uint32_t old_ones(struct attempt *a)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < a->n; k++)
        if (!is_young(a, a->order[k]))
            a->order[n++] = a->order[k];
    return n;
}

/* The cheapest way found so far to do without something. */
struct choice {
    bool found, buys; /* buys: what takes its place, first */
    int64_t cost;
    struct candidate plan;
    uint32_t first, other;
    bool *taking;
};

/* Without this one, and without `other` if that is not NONE. */
static void try_without(struct attempt *a, uint32_t first, uint32_t other,
                        struct choice *best)
{
    int64_t price = amount_add(price_of(a, first), price_of(a, other)), cost;
    struct candidate d, with = *a->now;

    mark(a, first, true);
    mark(a, other, true);
    if (without(a, &d) && worth(a, price, cost = cost_of(a, &d)) &&
        comparable(a, first, other, &d) &&
        move_pays(
            &(struct move){.groups = &a->host_groups,
                           .d = &d,
                           .first = first,
                           .other = other,
                           .over = taken_over(a, &d),
                           .busy = any_busy(a, first) || any_busy(a, other),
                           .price = price,
                           .gain = a->cost - cost}) &&
        (!best->found || cost < best->cost)) {
        bool buys = d.bought_cost > 0 || !settled(&d);

        if (!buys || replace(&with, &d))
            *best = (struct choice){
                true,
                buys,
                cost,
                buys ? with : d,
                first,
                other,
                arena_copy(d.arena, a->taking,
                           a->t->s->n_nodes * sizeof *a->taking)};
    }
    mark(a, first, false);
    mark(a, other, false);
}

/* Could some offer be cheaper than these two by enough? */
static bool pair_hopeful(const struct attempt *a, uint32_t x, uint32_t y)
{
    const struct problem *s = a->t->s;
    int64_t price = amount_add(price_of(a, x), price_of(a, y));
    int64_t most = price - least_saving(s, price);

    for (uint32_t i = 0; i < s->n_offers; i++)
        if (s->offers[i].price_micros_hour <= most)
            return true;
    return false;
}

/* Where alternatives and gangs are, a node that is there is not always used as
 * the one that was to be bought would have been: what is bought for two might
 * not let the two go. */
static bool foreseeable(const struct tables *t)
{
    for (uint32_t i = 0; i < t->n_groups; i++)
        if (t->groups[i].n_alts > 1)
            return false;
    return t->n_gangs == 0;
}

static int older(const void *ctx, uint32_t x, uint32_t y)
{
    const struct attempt *a = ctx;

    return ORDER(a->t->s->nodes[x].created_ms, a->t->s->nodes[y].created_ms);
}

/* Two whose work one cheaper node could hold.  The oldest first: what is bought
 * for two comes after them, so that they are tried again when it is there. */
static void try_pairs(struct attempt *a, bool waits, struct choice *best)
{
    uint32_t tries = PAIR_TRIES;

    if (!foreseeable(a->t))
        return;
    order_sort(a->order, a->n, older, a, a->now->arena);
    for (uint32_t k = 1; k < a->n; k++)
        for (uint32_t i = 0; i < k; i++) {
            uint32_t x = a->order[i], y = a->order[k];

            if ((waits && (any_busy(a, x) || any_busy(a, y))) ||
                !pair_hopeful(a, x, y))
                continue;
            if (tries-- == 0)
                return;
            try_without(a, x, y, best);
        }
}

/* ---- requests that shrank */

/* Places what requests ask for without this node, buying nothing: it is free
 * then, and goes when it has been idle for its timeout. */
static bool free_one(struct attempt *a, uint32_t first, struct candidate *best)
{
    struct candidate d;

    mark(a, first, true);
    if (without(a, &d) && d.bought_cost == 0 && settled(&d) &&
        cost_of(a, &d) < a->cost) {
        for (uint32_t i = first; i != NONE;
             i = host_group_next(&a->host_groups, first, i))
            a->moved[i] = false; /* nothing of it has to move */
        *best = d;
        a->cost = cost_of(a, best);
        return true;
    }
    mark(a, first, false);
    return false;
}

/* Per node its class in the plan as it is. */
static uint32_t *classes_of(const struct candidate *d)
{
    uint32_t *class_of = ARENA_ARRAY(d->arena, uint32_t, d->t->s->n_nodes);

    for (uint32_t i = 0; i < d->classes.n; i++)
        for (uint32_t k = 0;
             k < d->classes.v[i].n && d->classes.v[i].kind != CLASS_NEW; k++)
            class_of[d->members[d->classes.v[i].first + k]] = i;
    return class_of;
}

/* True: some were freed.  When one could not go, those like it cannot either. */
static bool free_idle(struct attempt *a, struct candidate *best)
{
    const struct pb_node *nodes = a->t->s->nodes;
    const uint32_t *class_of = classes_of(a->now);
    uint32_t kept = 0, tries = TRIES, needed = NONE;
    bool any = false;

    for (uint32_t k = 0; k < a->n; k++) {
        uint32_t i = a->order[k];
        bool like = needed != NONE && class_of[i] == class_of[needed] &&
                    nodes[i].price_micros_hour ==
                        nodes[needed].price_micros_hour;
        bool may = !like && !any_busy(a, i) && tries > 0;
        bool freed = may && tries-- && free_one(a, i, best);

        any = any || freed;
        if (!freed)
            a->order[kept++] = i;
        if (may && !freed)
            needed = i;
    }
    a->n = kept;
    return any;
}

static void end_chosen(const struct attempt *a, const struct choice *c,
                       struct verdict *verdicts)
{
    for (uint32_t j = 0; j < a->t->s->n_nodes; j++) {
        if (a->moved[j])
            verdicts[j] = (struct verdict){.ended = true,
                                           .why = REASON_END_CONSOLIDATE};
        verdicts[j].taking = c->taking[j];
    }
}

/* ---- when nothing was found */

static void sooner(int64_t *first, int64_t at_ms, int64_t now_ms)
{
    if (at_ms > now_ms && at_ms < *first)
        *first = at_ms;
}

/* Do alternatives wait for their time?  It depends on each node's progress. */
static bool times_matter(const struct problem *s)
{
    for (uint32_t i = 0; i < s->n_bundles; i++)
        for (uint32_t k = 1; k < s->bundles[i].n_alts; k++)
            if (s->alts[s->bundles[i].first_alt + k].after_ms > 0)
                return true;
    return false;
}

/* The first moment at which time alone makes another candidate, or gives one
 * another place to go: all that the planner compares with now_ms, but the idle
 * times that are over, which end nodes after this. */
static int64_t settled_until(const struct problem *s)
{
    int64_t first = INT64_MAX;

    if (times_matter(s))
        return s->now_ms + LOOK_AGAIN_MS;
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const struct pb_node *n = &s->nodes[i];

        if (n->created_ms > 0)
            sooner(&first,
                   amount_add(n->created_ms, s->limits.consolidate_age_ms),
                   s->now_ms);
        sooner(&first, n->hold_until_ms, s->now_ms);
    }
    for (uint32_t i = 0; i < s->n_offers; i++)
        sooner(&first, s->offers[i].backoff_until_ms, s->now_ms);
    return first;
}

/* All are tried and the cheapest is done.  What was bought to take a place is
 * tried again when it is there: it is then used as planned, or better. */
static int64_t search(struct candidate *best, struct verdict *verdicts,
                      struct candidate (*again)(const struct candidate *base))
{
    const struct problem *s = best->t->s;
    struct attempt a = {.t = best->t, .best = again};
    struct candidate now;
    struct choice choice = {0};
    bool waits;

    if (s->limits.consolidate == CONSOLIDATE_OFF && !s->settled)
        return 0;
    host_groups_make(s, best->arena, &a.host_groups);
    a.gone = ARENA_ARRAY(best->arena, enum leaving, s->n_nodes);
    for (uint32_t i = 0; i < s->n_nodes; i++)
        a.gone[i] = shrink_leaves(&verdicts[i]);
    without_drained(best, a.gone, &a.host_groups, again);
    if (s->settled)
        return 0;
    if (!s->sources_fresh || !settled(best))
        return 0;
    now = *best;
    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (s->nodes[i].state == STATE_DRAINING)
            a.gone[i] = LEAVES;
    candidates(&a, best);
    if (a.n == 0)
        return settled_until(s);
    if (s->limits.n_end_order == 0)
        order_sort(a.order, a.n, dearer, &a, best->arena);
    waits = pending(best);
    a.now = &now;
    a.moved = ARENA_ARRAY(best->arena, bool, s->n_nodes);
    a.taking = ARENA_ARRAY(best->arena, bool, s->n_nodes);
    a.needed = nodes_needed(best);
    a.cost = cost_of(&a, best);
    if (free_idle(&a, best))
        return 0;
    a.n = old_ones(&a);
    for (uint32_t k = 0; k < a.n && k < TRIES; k++)
        if (!waits || !any_busy(&a, a.order[k]))
            try_without(&a, a.order[k], NONE, &choice);
    try_pairs(&a, waits, &choice);
    if (!choice.found)
        return settled_until(s);
    *best = choice.plan;
    if (choice.buys)
        return 0;
    best->bound = 0;
    mark(&a, choice.first, true);
    mark(&a, choice.other, true);
    end_chosen(&a, &choice, verdicts);
    return 0;
}

int64_t consolidate(struct candidate *best, struct verdict *verdicts,
                    struct candidate (*again)(const struct candidate *base))
{
    int64_t until = search(best, verdicts, again);

    running_loads_keep(best, verdicts);
    return until;
}
