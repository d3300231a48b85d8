/*
 * consolidate.c - the plan without this node.
 *
 * A candidate is ready, ours, not held, old enough, and needed by something:
 * what nothing needs goes by its idle timeout.  In the mode `empty` nothing runs
 * on it.  In the mode `on` its running work is moved as a whole: a lump of what
 * is used, to a node with the same labels.  Cost only ever falls and nothing is
 * done while nodes start, so it comes to rest.
 */
#include "consolidate.h"

#include <string.h>

#include "limits.h"
#include "order.h"

enum { TRIES = 24 };       /* plans made again in one pass */

struct attempt {
    const struct tables *t;
    struct sketch (*best)(const struct sketch *base);
    const struct sketch *now;  /* the plan as it is */
    enum leaving *gone;        /* gives no room */
    bool *moved;               /* of these, candidates that are to go */
    bool *taking;              /* where their running work goes */
    int64_t cost;              /* an hour, of what is needed without them */
};

/* ---- candidates */

static bool busy(const struct sn_node *n)
{
    return n->idle_ms < 0;
}

static bool may_go(const struct sketch *d, uint32_t i)
{
    const struct snapshot *s = d->t->s;
    const struct sn_node *n = &s->nodes[i];

    return n->state == STATE_READY && shrink_may_end(s, n) && !n->foreign &&
           n->created_ms > 0 && n->price_micros_hour > 0 &&
           s->now_ms - n->created_ms >= s->limits.consolidate_age_ms &&
           n->type != NONE && s->types[n->type].hosts < 2 &&
           (!busy(n) || (s->limits.consolidate == CONSOLIDATE_ON &&
                         n->offer != NONE));
}

/* Work that waits for a node there will run in a moment. */
static bool awaited(const struct sketch *d, const struct node_class *c)
{
    for (uint32_t h = c->held; h != NONE; h = d->held.v[h].next)
        if (d->t->wants[d->held.v[h].want].side == SIDE_FREE)
            return true;
    return false;
}

/* Those that a request counts on, and those with work. */
static uint32_t *candidates(const struct sketch *d, uint32_t *ret_n)
{
    const struct snapshot *s = d->t->s;
    uint32_t *order = shrink_order(s, d->arena), n = 0;
    bool *needed = ARENA_ARRAY(d->arena, bool, s->n_nodes);
    bool *soon = ARENA_ARRAY(d->arena, bool, s->n_nodes);

    for (uint32_t i = 0; i < d->classes.n; i++) {
        const struct node_class *c = &d->classes.v[i];

        if (c->kind != CLASS_THERE || c->held == NONE)
            continue;
        for (uint32_t k = 0; k < c->n; k++) {
            needed[d->members[c->first + k]] = true;
            soon[d->members[c->first + k]] = awaited(d, c);
        }
    }
    for (uint32_t k = 0; k < s->n_nodes; k++)
        if (may_go(d, order[k]) && !soon[order[k]] &&
            (needed[order[k]] || busy(&s->nodes[order[k]])))
            order[n++] = order[k];
    *ret_n = n;
    return order;
}

static int dearer(const void *ctx, uint32_t a, uint32_t b)
{
    const struct snapshot *s = ctx;

    return ORDER(s->nodes[b].price_micros_hour, s->nodes[a].price_micros_hour);
}

/* Work that waits would be in the way of work that is moved: who comes first to
 * a place is not ours to say. */
static bool pending(const struct sketch *d)
{
    for (uint32_t i = 0; i < d->t->n_wants; i++)
        if (d->t->wants[i].side == SIDE_FREE && d->t->wants[i].rank < 2)
            return true;
    return false;
}

/* Is everything as it should be, so that only money is left to look at? */
static bool settled(const struct sketch *d)
{
    const struct snapshot *s = d->t->s;

    for (uint32_t i = 0; i < s->n_offers; i++)
        if (d->offer_bought[i] > 0)
            return false;
    for (uint32_t i = 0; i < d->classes.n; i++)
        if (d->classes.v[i].kind == CLASS_DRAINING &&
            (d->classes.v[i].held != NONE || d->classes.v[i].undrain))
            return false;
    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (limits_counts(&s->nodes[i]) &&
            (s->nodes[i].state == STATE_INTENDED ||
             s->nodes[i].state == STATE_REQUESTED ||
             s->nodes[i].state == STATE_STARTING))
            return false;
    return true;
}

/* ---- running work as a lump */

static struct needs load_of(const struct snapshot *s, const struct sn_node *n,
                            struct arena *arena)
{
    const int64_t *total = sn_row(s, n->total);
    const int64_t *free = sn_row(s, n->available);
    int64_t *row = ARENA_ARRAY(arena, int64_t, s->n_columns);

    for (uint32_t c = 0; c < s->n_columns; c++) {
        row[c] = total[c] > free[c] ? total[c] - free[c] : 0;
        /* parts of several devices: as many whole ones */
        if (s->columns[c].device && row[c] > AMOUNT_ONE &&
            row[c] % AMOUNT_ONE != 0)
            row[c] += AMOUNT_ONE - row[c] % AMOUNT_ONE;
    }
    return needs_make(s, row, arena);
}

/* Labels that say where a place is rather than what. */
static bool of_place(const struct snapshot *s, const struct sn_label *l)
{
    static const char keys[][36] = {
        "topology.kubernetes.io/zone", "ray.io/availability-zone", "zone",
        "topology.kubernetes.io/region", "ray.io/availability-region",
        "node.kubernetes.io/instance-type", "ray.io/market-type"};
    const char *key;

    if (l->key & (SN_TAINT | SN_QUEUE))
        return false;
    key = s->str[l->key];
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *a = key, *b = keys[i];

        while (*a && *a == *b)
            a++, b++;
        if (*a == *b)
            return true;
    }
    return false;
}

static const struct sn_label *label_find(const struct snapshot *s,
                                         uint32_t first, uint32_t n,
                                         uint32_t key)
{
    for (uint32_t i = first; i < first + n; i++)
        if (s->labels[i].key == key)
            return &s->labels[i];
    return NULL;
}

/* Work that runs here under unknown conditions may run there: the place has all
 * labels and queues that its offer has, and no taint that it has not. */
static bool like(const struct snapshot *s, const struct sn_offer *from,
                 uint32_t first, uint32_t n)
{
    for (uint32_t i = from->first_label;
         i < from->first_label + from->n_labels; i++) {
        const struct sn_label *l = &s->labels[i], *m;

        if ((l->key & SN_TAINT) || of_place(s, l))
            continue;
        m = label_find(s, first, n, l->key);
        if (m == NULL || m->value != l->value)
            return false;
    }
    for (uint32_t i = first; i < first + n; i++) {
        const struct sn_label *l = &s->labels[i], *m;

        if (!(l->key & SN_TAINT))
            continue;
        m = label_find(s, from->first_label, from->n_labels, l->key);
        if (m == NULL || m->value != l->value)
            return false;
    }
    return true;
}

static bool load_there(struct sketch *d, const struct needs *load,
                       const struct sn_offer *from, bool *taking)
{
    const struct snapshot *s = d->t->s;

    for (uint32_t i = 0; i != NONE; i = d->classes.v[i].next) {
        const struct node_class *c = &d->classes.v[i];
        const struct sn_node *n;
        struct node_class *to;

        if (c->n == 0 || (c->kind == CLASS_THERE && c->starting) ||
            c->kind == CLASS_DRAINING || c->kind == CLASS_FENCE ||
            c->kind == CLASS_NEW)
            continue;
        n = &s->nodes[d->members[c->first]];
        if (n->head || n->foreign || (n->spot && !from->spot) ||
            !like(s, from, n->first_label, n->n_labels) ||
            room_fit(s, &c->room[SIDE_FREE], load, 1) == 0)
            continue;
        if (c->n > 1)
            sketch_split(d, i, 1);
        to = sketch_touch(d, i);
        to->room[SIDE_FREE] =
            room_take(s, &to->room[SIDE_FREE], load, 1, d->arena);
        taking[d->members[to->first]] = true;
        return true;
    }
    return false;
}

/* limits.conserve: no accelerator is bought for work without one. */
static bool plain(const struct snapshot *s, const struct needs *load)
{
    for (uint32_t i = 0; i < load->n; i++)
        if (s->columns[load->v[i].column].device)
            return false;
    return s->limits.conserve;
}

static bool load_bought(struct sketch *d, const struct needs *load,
                        const struct sn_offer *from)
{
    const struct snapshot *s = d->t->s;

    for (uint32_t k = 0; k < s->n_offers; k++) {
        uint32_t offer = d->t->offers[k], i;
        const struct sn_offer *o = &s->offers[offer];

        if (s->types[o->type].hosts > 1 || (o->spot && !from->spot) ||
            (s->types[o->type].accelerator && plain(s, load)) ||
            !like(s, from, o->first_label, o->n_labels) ||
            room_fit(s, &d->t->room[o->type], load, 1) == 0)
            continue;
        i = sketch_obtain(d, offer, 1, CLAIM_WORK, REASON_FOR_CONSOLIDATE,
                          NONE);
        if (i == NONE)
            continue;
        d->classes.v[i].room[SIDE_FREE] =
            room_take(s, &d->classes.v[i].room[SIDE_FREE], load, 1, d->arena);
        return true;
    }
    return false;
}

static bool loads_move(struct sketch *d, const bool *moved, bool *taking)
{
    const struct snapshot *s = d->t->s;

    memset(taking, 0, sizeof *taking * s->n_nodes);
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        struct needs load;

        if (!moved[i] || !busy(&s->nodes[i]))
            continue;
        load = load_of(s, &s->nodes[i], d->arena);
        if (load.never || (!load_there(d, &load,
                                       &s->offers[s->nodes[i].offer],
                                       taking) &&
                           !load_bought(d, &load,
                                        &s->offers[s->nodes[i].offer])))
            return false;
    }
    return true;
}

/* ---- the plan without */

/* How far down its alternatives each want had to go, all bundles together. */
static const uint64_t *lateness(const struct sketch *d)
{
    uint64_t *late = ARENA_ARRAY(d->arena, uint64_t, d->t->n_wants);

    for (uint32_t i = 0; i < d->classes.n; i++) {
        const struct node_class *c = &d->classes.v[i];

        for (uint32_t h = c->n > 0 ? c->held : NONE; h != NONE;
             h = d->held.v[h].next)
            late[d->held.v[h].want] += (uint64_t)d->held.v[h].alt *
                                       d->held.v[h].count * c->n;
    }
    return late;
}

/* False when something would lose its place, or get a worse one. */
static bool without(const struct attempt *a, struct sketch *ret)
{
    const uint64_t *late, *was;
    struct sketch base;

    sketch_start(a->t, a->gone, &base);
    if (!loads_move(&base, a->moved, a->taking))
        return false;
    *ret = a->best(&base);
    late = lateness(ret);
    was = lateness(a->now);
    for (uint32_t i = 0; i < a->t->n_wants; i++)
        if (ret->left[i] > a->now->left[i] || late[i] > was[i])
            return false;
    return !ret->broken;
}

static bool worth(const struct attempt *a, uint32_t node, int64_t cost)
{
    const struct snapshot *s = a->t->s;
    int64_t price = s->nodes[node].price_micros_hour;
    int64_t gain = a->cost - cost;

    return gain > 0 && gain >= amount_times(s->limits.consolidate_saving,
                                            (uint64_t)price) / AMOUNT_ONE;
}

/* Of the nodes that something is on or comes to, and of what is bought: an idle
 * one that takes over costs its price, since it could go otherwise. */
static int64_t cost_of(const struct sketch *d, const bool *moved,
                       const bool *taking)
{
    const struct snapshot *s = d->t->s;
    bool *used = ARENA_ARRAY(d->arena, bool, s->n_nodes);
    int64_t sum = d->bought_cost;

    for (uint32_t i = 0; i < d->classes.n; i++) {
        const struct node_class *c = &d->classes.v[i];

        for (uint32_t k = 0; k < c->n && c->kind == CLASS_THERE; k++)
            used[d->members[c->first + k]] = c->held != NONE;
    }
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const struct sn_node *n = &s->nodes[i];

        if (limits_counts(n) && n->price_micros_hour > 0 && !moved[i] &&
            (used[i] || taking[i] || busy(n)))
            sum = amount_add(sum, n->price_micros_hour);
    }
    return sum;
}

/* What would take a candidate's place is bought beside the plan as it is. */
static bool replace(struct sketch *best, const struct sketch *other)
{
    const struct snapshot *s = best->t->s;
    struct sketch d;

    sketch_copy(best, &d);
    for (uint32_t o = 0; o < s->n_offers; o++)
        for (uint32_t n = other->offer_bought[o]; n > 0;) {
            uint32_t i = sketch_obtain(&d, o, n, CLAIM_WORK,
                                       REASON_FOR_CONSOLIDATE, NONE);

            if (i == NONE)
                return false;
            n -= d.classes.v[i].n;
        }
    *best = d;
    return true;
}

void consolidate(struct sketch *best, struct verdict *verdicts,
                 struct sketch (*again)(const struct sketch *base))
{
    const struct snapshot *s = best->t->s;
    struct attempt a = {.t = best->t, .best = again};
    struct sketch now, without_it;
    uint32_t *order, n, ended = 0;

    if (s->limits.consolidate == CONSOLIDATE_OFF || !s->head_fresh ||
        !settled(best))
        return;
    order = candidates(best, &n);
    if (n == 0)
        return;
    if (s->limits.n_end_order == 0)
        order_sort(order, n, dearer, s, best->arena);
    now = *best;
    a.now = &now;
    a.gone = ARENA_ARRAY(best->arena, enum leaving, s->n_nodes);
    a.moved = ARENA_ARRAY(best->arena, bool, s->n_nodes);
    a.taking = ARENA_ARRAY(best->arena, bool, s->n_nodes);
    for (uint32_t i = 0; i < s->n_nodes; i++)
        a.gone[i] = s->nodes[i].state == STATE_DRAINING
                        ? LEAVES
                        : shrink_leaves(&verdicts[i]);
    a.cost = cost_of(best, a.moved, a.taking);
    for (uint32_t k = 0; k < n && k < TRIES; k++) {
        uint32_t i = order[k];
        int64_t cost;

        if (a.gone[i] || (busy(&s->nodes[i]) && (ended > 0 || pending(best))))
            continue;
        a.gone[i] = LEAVES;
        a.moved[i] = true;
        if (without(&a, &without_it) &&
            worth(&a, i, cost = cost_of(&without_it, a.moved, a.taking))) {
            if (without_it.bought_cost == 0 && settled(&without_it)) {
                a.cost = cost;
                ended++;
                if (busy(&s->nodes[i]))
                    k = n;       /* one at a time */
                *best = without_it;
                best->bound = 0;
                verdicts[i] = (struct verdict){.ended = true,
                                               .why = REASON_END_CONSOLIDATE};
                for (uint32_t j = 0; j < s->n_nodes; j++)
                    verdicts[j].taking = a.taking[j];
                continue;
            }
            if (ended == 0 && replace(best, &without_it))
                return;
        }
        a.gone[i] = LEAVES_NOT;
        a.moved[i] = false;
    }
}
