/*
 * shrink.c - the end of nodes.
 *
 * In the order of limits.end_order, then as Ray does: what does not run yet,
 * then what has been idle longest, then what is used least.  What is draining
 * already comes first of all, then launches that are intended only.  Never the head,
 * never an unmanaged node, nothing but such launches when the sources' view is stale,
 * and nothing that is refused or protected.
 */
#include "shrink.h"

#include "limits.h"
#include "order.h"

struct choice {
    const struct problem *s;
    uint32_t *used; /* per node: average use in 1/1,000,000 */
};

static uint32_t use_of(const struct problem *s, const struct pb_node *n)
{
    const int64_t *total = pb_row(s, n->total);
    const int64_t *available = pb_row(s, n->available);
    uint64_t sum = 0;
    uint32_t k = 0;

    for (uint32_t c = 0; c < s->n_columns; c++) {
        int64_t used = total[c] - available[c];

        if (total[c] <= 0)
            continue;
        k++;
        if (used > 0)
            sum += (uint64_t)order_share(used, total[c]);
    }
    return k > 0 ? (uint32_t)(sum / k) : 0;
}

static int by_key(const struct choice *c, enum end_key key, uint32_t a,
                  uint32_t b)
{
    const struct pb_node *x = &c->s->nodes[a], *y = &c->s->nodes[b];

    switch (key) {
    case END_KEY_SPOT: return ORDER(y->spot, x->spot);
    case END_KEY_ON_DEMAND: return ORDER(x->spot, y->spot);
    case END_KEY_LEAST_USED: return ORDER(c->used[a], c->used[b]);
    case END_KEY_MOST_EXPENSIVE:
        return ORDER(y->price_micros_hour, x->price_micros_hour);
    case END_KEY_LONGEST_IDLE: return ORDER(y->idle_ms, x->idle_ms);
    case END_KEY_OLDEST: return ORDER(x->created_ms, y->created_ms);
    case END_KEY_NEWEST: return ORDER(y->created_ms, x->created_ms);
    }
    return 0;
}

static int end_before(const void *ctx, uint32_t a, uint32_t b)
{
    const struct choice *c = ctx;
    const struct snap_limits *l = &c->s->limits;
    const struct pb_node *x = &c->s->nodes[a], *y = &c->s->nodes[b];
    int64_t ix = x->idle_ms > 0 ? x->idle_ms : 0;
    int64_t iy = y->idle_ms > 0 ? y->idle_ms : 0;
    int r = ORDER(y->state == STATE_DRAINING, x->state == STATE_DRAINING);

    if (r == 0)
        r = ORDER(y->state == STATE_INTENDED, x->state == STATE_INTENDED);
    for (uint32_t k = 0; r == 0 && k < l->n_end_order; k++)
        r = by_key(c, l->end_order[k], a, b);
    if (r == 0)
        r = ORDER(x->state == STATE_READY, y->state == STATE_READY);
    if (r == 0)
        r = ORDER(iy, ix);
    if (r == 0)
        r = ORDER(c->used[a], c->used[b]);
    return r != 0 ? r : ORDER(a, b);
}

void shrink_sort(const struct problem *s, uint32_t *nodes, uint32_t n,
                 struct arena *arena)
{
    struct choice c = {s, ARENA_ARRAY(arena, uint32_t, s->n_nodes)};

    for (uint32_t k = 0; k < n; k++)
        c.used[nodes[k]] = use_of(s, &s->nodes[nodes[k]]);
    order_sort(nodes, n, end_before, &c, arena);
}

uint32_t *shrink_order(const struct problem *s, struct arena *arena)
{
    uint32_t *order = ARENA_ARRAY(arena, uint32_t, s->n_nodes);

    for (uint32_t i = 0; i < s->n_nodes; i++)
        order[i] = i;
    shrink_sort(s, order, s->n_nodes, arena);
    return order;
}

bool shrink_may_end(const struct problem *s, const struct pb_node *n)
{
    return limits_counts(n) && s->sources_fresh && !limits_must_keep(s, n);
}

/* Of what must go: nothing runs on a launch, whatever the sources say. */
static bool may_go(const struct problem *s, const struct pb_node *n)
{
    return shrink_may_end(s, n) ||
           (n->state == STATE_INTENDED && limits_counts(n) &&
            !limits_must_keep(s, n));
}

static bool stays(const struct verdict *v)
{
    return !v->ended && !v->going;
}

/* All of its host group, but for what is draining. */
static bool host_group_may_end(const struct problem *s,
                               const struct host_groups *u, uint32_t node)
{
    for (uint32_t i = node; i != NONE; i = host_group_next(u, node, i)) {
        const struct pb_node *x = &s->nodes[i];

        if (limits_counts(x) && x->state != STATE_DRAINING && !may_go(s, x))
            return false;
    }
    return true;
}

/* The whole host group, or nothing of it.  How many. */
static uint32_t end_host_group(const struct problem *s,
                               const struct host_groups *u, uint32_t node,
                               enum reason why, struct verdict *verdicts)
{
    uint32_t n = 0;

    if (!host_group_may_end(s, u, node))
        return 0;
    for (uint32_t i = node; i != NONE; i = host_group_next(u, node, i)) {
        struct verdict *v = &verdicts[i];

        if (limits_counts(&s->nodes[i]) && stays(v)) {
            if (s->nodes[i].state == STATE_DRAINING)
                v->going = true; /* and must not come back */
            else
                *v = (struct verdict){.ended = true, .why = why};
            n++;
        }
    }
    return n;
}

static bool host_group_unused(const struct problem *s,
                              const struct host_groups *u, uint32_t node)
{
    for (uint32_t i = node; i != NONE; i = host_group_next(u, node, i))
        if (s->nodes[i].state == STATE_READY && s->nodes[i].idle_ms < 0)
            return false;
    return true;
}

/* What has lost a machine gives no room; it goes when nothing runs on it. */
static void end_partial(const struct problem *s, const struct host_groups *u,
                        struct verdict *verdicts)
{
    for (uint32_t node = 0; node < s->n_nodes; node++) {
        if (!u->partial[node] || !limits_counts(&s->nodes[node]) ||
            verdicts[node].ended || verdicts[node].torn ||
            (host_group_unused(s, u, node) &&
             end_host_group(s, u, node, REASON_END_HOST_GROUP, verdicts) > 0))
            continue;
        for (uint32_t i = node; i != NONE; i = host_group_next(u, node, i))
            verdicts[i].torn = verdicts[i].going = true;
    }
}

/* What is above a limit. */
struct above {
    const struct problem *s;
    struct arena *arena;
    struct host_groups u;
    const uint32_t *order; /* of ends; NULL: not asked for yet */
    struct verdict *verdicts;
};

static const uint32_t *order_of(struct above *a)
{
    if (!a->order)
        a->order = shrink_order(a->s, a->arena);
    return a->order;
}

/* Ends up to `extra` nodes (of one type, or of all) in order. */
static void end_extra(struct above *a, uint32_t type, uint64_t extra,
                      enum reason why)
{
    const struct problem *s = a->s;
    const uint32_t *order = order_of(a);

    for (uint32_t k = 0; k < s->n_nodes && extra > 0; k++) {
        uint32_t i = order[k], n;
        const struct pb_node *x = &s->nodes[i];

        if ((type != NONE && x->type != type) || !stays(&a->verdicts[i]) ||
            !limits_counts(x))
            continue;
        if (x->hold == REASON_KEEP_UNKNOWN) {
            extra--; /* it is known in a moment, and the first to go then */
            continue;
        }
        n = end_host_group(s, &a->u, i, why, a->verdicts);
        extra -= n < extra ? n : extra;
    }
}

static void over_max(struct above *a)
{
    const struct problem *s = a->s;
    uint64_t *count = ARENA_ARRAY(a->arena, uint64_t, s->n_types), all = 0;

    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (s->nodes[i].type != NONE && stays(&a->verdicts[i]) &&
            limits_counts_for_type(&s->nodes[i]))
            count[s->nodes[i].type]++;
    for (uint32_t t = 0; t < s->n_types; t++)
        if (s->types[t].max != UNLIMITED && count[t] > s->types[t].max)
            end_extra(a, t, count[t] - s->types[t].max, REASON_END_MAX_TYPE);
    for (uint32_t i = 0; i < s->n_nodes; i++)
        all += stays(&a->verdicts[i]) && limits_counts(&s->nodes[i]);
    if (s->limits.max_nodes != UNLIMITED && all > s->limits.max_nodes)
        end_extra(a, NONE, all - s->limits.max_nodes, REASON_END_MAX_NODES);
}

/* ---- over the budget */

struct bill {
    int64_t cost, agreed; /* micros an hour of what stays, at most INT64_MAX */
    uint32_t *count;      /* per type, of what stays */
};

static bool stays_billed(const struct above *a, uint32_t i)
{
    return stays(&a->verdicts[i]) && limits_counts(&a->s->nodes[i]);
}

static struct bill bill_make(const struct above *a)
{
    const struct problem *s = a->s;
    struct bill b = {.count = ARENA_ARRAY(a->arena, uint32_t, s->n_types)};

    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const struct pb_node *n = &s->nodes[i];

        if (!stays_billed(a, i))
            continue;
        if (n->type != NONE)
            b.count[n->type]++;
        if (n->price_micros_hour <= 0)
            continue;
        b.cost = amount_add(b.cost, n->price_micros_hour);
        b.agreed = amount_add(b.agreed, n->agreed_micros_hour);
    }
    return b;
}

/* What all of the host group that stays costs, and how many those are. */
static struct bill bill_of(const struct above *a, uint32_t node,
                           uint32_t *ret_n)
{
    struct bill b = {0};

    *ret_n = 0;
    for (uint32_t i = node; i != NONE; i = host_group_next(&a->u, node, i)) {
        const struct pb_node *n = &a->s->nodes[i];

        if (!stays_billed(a, i))
            continue;
        b.cost = amount_add(b.cost, n->price_micros_hour);
        b.agreed = amount_add(b.agreed, n->agreed_micros_hour);
        ++*ret_n;
    }
    return b;
}

/* May it have work that nobody would be asked about?  What is not ready has none;
 * else what a request counts on, or all that there are for a min. */
static bool may_work(const struct above *a, const struct bill *b, uint32_t node,
                     uint32_t group)
{
    const struct problem *s = a->s;
    bool ready = false;

    if (!s->work_unknown)
        return false;
    for (uint32_t i = node; i != NONE; i = host_group_next(&a->u, node, i)) {
        const struct pb_node *n = &s->nodes[i];

        if (n->counted_on)
            return true;
        ready = ready || n->state == STATE_READY;
    }
    return ready && s->nodes[node].type != NONE &&
           b->count[s->nodes[node].type] <
               (uint64_t)s->types[s->nodes[node].type].min + group;
}

static void spare(struct above *a, uint32_t node)
{
    for (uint32_t i = node; i != NONE; i = host_group_next(&a->u, node, i))
        a->verdicts[i].spared = true;
}

/* One that is over the budget, or its host group. */
static void budget_end(struct above *a, struct bill *b, uint32_t node,
                       bool working)
{
    const struct pb_node *n = &a->s->nodes[node];
    struct bill its;
    uint32_t group;

    if (!stays(&a->verdicts[node]) || a->verdicts[node].spared ||
        !may_go(a->s, n) || n->price_micros_hour <= 0 ||
        !host_group_may_end(a->s, &a->u, node) ||
        !host_group_unused(a->s, &a->u, node))
        return;
    its = bill_of(a, node, &group);
    if (may_work(a, b, node, group) != working)
        return;
    if (working && b->agreed <= a->s->limits.max_cost_micros_hour) {
        spare(a, node);
        b->cost -= its.cost; /* it is told that this much is over */
        return;
    }
    end_host_group(a->s, &a->u, node, REASON_END_BUDGET, a->verdicts);
    b->cost -= its.cost;
    b->agreed -= its.agreed;
    if (n->type != NONE)
        b->count[n->type] -= group;
}

/* A price may rise under a running job: only what is not in use goes for the
 * budget's sake.  Where nothing tells what is in use, what may be goes last, and
 * only for what a person has agreed to, not for what a provider asks. */
static void over_budget(struct above *a)
{
    int64_t most = a->s->limits.max_cost_micros_hour;
    struct bill b;

    if (most < 0)
        return;
    b = bill_make(a);
    for (uint32_t k = 0; k < a->s->n_nodes && b.cost > most; k++)
        budget_end(a, &b, order_of(a)[k], false);
    for (uint32_t k = 0; k < a->s->n_nodes && b.cost > most; k++)
        budget_end(a, &b, order_of(a)[k], true);
}

void shrink_forced(const struct problem *s, struct arena *arena,
                   struct verdict *verdicts)
{
    struct above a = {.s = s, .arena = arena, .verdicts = verdicts};

    host_groups_make(s, arena, &a.u);
    for (uint32_t i = 0; i < s->n_nodes; i++)
        verdicts[i].going = !limits_gives_room(s, &s->nodes[i]);
    end_partial(s, &a.u, verdicts);
    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (!verdicts[i].ended && limits_must_go(s, &s->nodes[i]) &&
            (s->nodes[i].state == STATE_DRAINING ||
             (stays(&verdicts[i]) && may_go(s, &s->nodes[i]))))
            end_host_group(s, &a.u, i,
                           s->nodes[i].asked_to_end ? REASON_END_ASKED
                                                    : REASON_END_OUTDATED,
                           verdicts);
    over_max(&a);
    over_budget(&a);
}
