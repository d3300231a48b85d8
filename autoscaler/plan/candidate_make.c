/*
 * candidate_make.c - the classes a candidate starts with.
 *
 * Nodes that are equal to the planner share a class.  The list has the classes
 * in the order in which they are used: ready and busy, ready and idle,
 * on their way, then (behind the place for new ones) draining; in each group
 * ours before those that may be another's, plain nodes before accelerators, those with a PreferNoSchedule taint last,
 * and the fullest first.
 */
#include <string.h>

#include "candidate.h"
#include "limits.h"
#include "order.h"

/* ---- classes from nodes */

/* Of what is free: at most two millions (order_share()) a column. */
enum { TIGHT_BITS = 56 };

struct grouping {
    const struct tables *t;
    struct room *total, *room;
    bool *accelerator;
    /* The first in the order of use, as one number: use_rank(), is_held(), an
     * accelerator, a PreferNoSchedule taint, and how much is free, as a share of the
     * largest. */
    uint64_t *first;
    bool timeouts; /* alternatives wait: nodes differ by their times */
    uint32_t last; /* measured last, NONE: none was */
};

/* Ready and busy, ready and idle, on their way, draining. */
static uint32_t use_rank(const struct pb_node *n)
{
    if (n->state == STATE_DRAINING)
        return 3;
    if (limits_starting(n))
        return 2;
    return n->idle_ms >= 0;
}

/* One that may be another daemon's: it comes and goes as that one wants, so
 * nothing of ours is left over for it. */
static bool is_held(const struct pb_node *n)
{
    return n->hold == REASON_KEEP_HELD;
}

static int labels_compare(const struct problem *s, const struct pb_node *a,
                          const struct pb_node *b)
{
    int r = ORDER(a->n_labels, b->n_labels);

    if (a->first_label == b->first_label)
        return r;
    for (uint32_t i = 0; r == 0 && i < a->n_labels; i++) {
        const struct pb_label *x = &s->labels[a->first_label + i];
        const struct pb_label *y = &s->labels[b->first_label + i];

        r = ORDER(x->key, y->key);
        if (r == 0)
            r = ORDER(x->value, y->value);
    }
    return r;
}

/* What limits.end_order would end first is used last, so that it is what is
 * left over.  Only what does not change from tick to tick splits a class. */
static int end_last(const struct problem *s, uint32_t a, uint32_t b, bool all)
{
    const struct pb_node *x = &s->nodes[a], *y = &s->nodes[b];
    int r = 0;

    for (uint32_t k = 0; r == 0 && k < s->limits.n_end_order; k++)
        switch (s->limits.end_order[k]) {
        case END_KEY_SPOT: r = ORDER(x->spot, y->spot); break;
        case END_KEY_ON_DEMAND: r = ORDER(y->spot, x->spot); break;
        case END_KEY_MOST_EXPENSIVE:
            r = ORDER(x->price_micros_hour, y->price_micros_hour);
            break;
        case END_KEY_OLDEST:
            r = all ? ORDER(y->created_ms, x->created_ms) : 0;
            break;
        case END_KEY_NEWEST:
            r = all ? ORDER(x->created_ms, y->created_ms) : 0;
            break;
        case END_KEY_LEAST_USED:
        case END_KEY_LONGEST_IDLE: break; /* the order of use as it is */
        }
    return r;
}

/* Order of use; 0 when the two may share a class. */
static int node_compare(const void *ctx, uint32_t a, uint32_t b)
{
    const struct grouping *g = ctx;
    const struct problem *s = g->t->s;
    const struct pb_node *x = &s->nodes[a], *y = &s->nodes[b];
    int r = ORDER(g->first[a], g->first[b]);

    if (r == 0)
        r = end_last(s, a, b, false);
    if (r == 0 && g->timeouts)
        r = ORDER(x->created_ms, y->created_ms);
    if (r == 0 && g->timeouts && limits_starting(x))
        r = ORDER(x->progress_ms, y->progress_ms);
    if (r == 0)
        r = ORDER(x->host_group, y->host_group);
    if (r == 0)
        r = ORDER(x->offer, y->offer);
    if (r == 0)
        r = room_compare(s, &g->room[a], &g->room[b]);
    if (r == 0)
        r = room_compare(s, &g->total[a], &g->total[b]);
    if (r == 0)
        r = labels_compare(s, x, y);
    return r;
}

/* Within a class: what was in use last comes first, so that what has been idle
 * longest can go. */
static int node_before(const void *ctx, uint32_t a, uint32_t b)
{
    const struct grouping *g = ctx;
    const struct problem *s = g->t->s;
    int r = node_compare(ctx, a, b);

    if (r == 0)
        r = end_last(s, a, b, true);
    if (r == 0)
        r = ORDER(s->nodes[a].idle_ms, s->nodes[b].idle_ms);
    return r != 0 ? r : ORDER(a, b);
}

int64_t candidate_tightness(const struct candidate *d, const int64_t *row)
{
    int64_t sum = 0;

    for (uint32_t c = 0; c < d->t->s->n_columns; c++)
        if (d->largest[c] > 0)
            sum += order_share(row[c], d->largest[c]);
    return sum;
}

static uint64_t first_of(const struct grouping *g, const struct candidate *d,
                         uint32_t i)
{
    const struct problem *s = g->t->s;
    const struct pb_node *n = &s->nodes[i];
    const bool avoided = problem_avoided(s, n->first_label, n->n_labels);
    uint64_t tight = (uint64_t)candidate_tightness(d, pb_row(s, n->available));

    return (((uint64_t)use_rank(n) << 3 | (uint64_t)is_held(n) << 2 |
             (uint64_t)g->accelerator[i] << 1 | avoided)
            << TIGHT_BITS) +
           tight;
}

/* Nodes of one type in one state follow each other: they share what they have. */
static bool same_rooms(const struct problem *s, const struct pb_node *x,
                       const struct pb_node *y)
{
    return x->total == y->total && x->available == y->available &&
           x->n_devices == y->n_devices &&
           (x->n_devices == 0 ||
            memcmp(s->devices + x->first_device, s->devices + y->first_device,
                   x->n_devices * sizeof *s->devices) == 0);
}

static void node_measure(struct grouping *g, const struct candidate *d,
                         uint32_t i)
{
    const struct problem *s = g->t->s;
    const struct pb_node *n = &s->nodes[i];
    const int64_t *total = pb_row(s, n->total);
    const uint32_t like = g->last;

    g->last = i;
    if (like != NONE && same_rooms(s, &s->nodes[like], n)) {
        g->total[i] = g->total[like];
        g->room[i] = g->room[like];
        g->accelerator[i] = g->accelerator[like];
    } else {
        g->total[i] = room_of_row(s, total, g->t->arena);
        g->room[i] = room_of_node(s, n, g->t->arena);
        for (uint32_t c = 0; c < s->n_columns; c++)
            if (s->columns[c].device && total[c] > 0)
                g->accelerator[i] = true;
    }
    g->first[i] = first_of(g, d, i);
}

static void class_of_node(struct candidate *d, const struct grouping *g,
                          uint32_t i, uint32_t at)
{
    const struct problem *s = g->t->s;
    const struct pb_node *n = &s->nodes[i];
    struct node_class c = {
        .kind = n->state == STATE_DRAINING ? CLASS_DRAINING : CLASS_THERE,
        .n = 1,
        .first = at,
        .offer = n->offer,
        .room = {g->total[i], g->room[i]},
        .placed = NONE,
        .next = NONE,
        .spread = NONE,
        .accelerator = g->accelerator[i],
        .starting = limits_starting(n),
        .proposal = NONE,
        .host_group = n->host_group,
    };

    VEC_PUSH(d->arena, &d->classes, c);
}

static void largest_find(struct candidate *d)
{
    const struct problem *s = d->t->s;

    d->largest = ARENA_ARRAY(d->arena, int64_t, s->n_columns);
    for (uint32_t i = 0; i < s->n_nodes + s->n_types; i++) {
        const int64_t *row = pb_row(s, i < s->n_nodes
                                           ? s->nodes[i].total
                                           : s->types[i - s->n_nodes].row);

        for (uint32_t c = 0; c < s->n_columns; c++)
            if (row[c] > d->largest[c])
                d->largest[c] = row[c];
    }
}

static void sentinel_add(struct candidate *d)
{
    VEC_PUSH(d->arena, &d->classes,
             ((struct node_class){.placed = NONE,
                                  .next = NONE,
                                  .offer = NONE,
                                  .spread = NONE,
                                  .demand = NONE}));
}

static void classes_make(struct candidate *d, const enum leaving *ended)
{
    const struct problem *s = d->t->s;
    struct arena scratch = {0};
    struct grouping g = {
        .t = d->t,
        .total = ARENA_ARRAY(&scratch, struct room, s->n_nodes),
        .room = ARENA_ARRAY(&scratch, struct room, s->n_nodes),
        .accelerator = ARENA_ARRAY(&scratch, bool, s->n_nodes),
        .first = ARENA_ARRAY(&scratch, uint64_t, s->n_nodes),
        .last = NONE,
    };
    uint32_t n = 0, last;

    for (uint32_t i = 0; i < s->n_bundles && !g.timeouts; i++)
        for (uint32_t k = 1; k < s->bundles[i].n_alts; k++)
            g.timeouts = g.timeouts ||
                         s->alts[s->bundles[i].first_alt + k].after_ms > 0;
    d->members = ARENA_ARRAY(d->arena, uint32_t, s->n_nodes);
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        if (ended[i] || !limits_gives_room(s, &s->nodes[i]))
            continue;
        node_measure(&g, d, i);
        d->members[n++] = i;
    }
    order_sort(d->members, n, node_before, &g, &scratch);
    sentinel_add(d);
    d->sentinel_new = NONE;
    last = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t node = d->members[i];
        bool drain = s->nodes[node].state == STATE_DRAINING;

        if (drain && d->sentinel_new == NONE) {
            d->sentinel_new = d->classes.n;
            d->classes.v[last].next = d->sentinel_new;
            last = d->sentinel_new;
            sentinel_add(d);
        } else if (i > 0 && node_compare(&g, d->members[i - 1], node) == 0) {
            d->classes.v[last].n++;
            continue;
        }
        d->classes.v[last].next = d->classes.n;
        last = d->classes.n;
        class_of_node(d, &g, node, i);
    }
    arena_done(&scratch);
    if (d->sentinel_new == NONE) {
        d->sentinel_new = d->classes.n;
        d->classes.v[last].next = d->sentinel_new;
        sentinel_add(d);
    }
}

void candidate_start(const struct tables *t, const enum leaving *ended,
                     struct candidate *ret)
{
    const struct problem *s = t->s;
    struct candidate *d = ret;

    *d = (struct candidate){.t = t, .arena = t->arena};
    largest_find(d);
    classes_make(d, ended);
    d->sentinel_pool = d->classes.n;
    sentinel_add(d);
    d->left = ARENA_ARRAY(t->arena, uint32_t, t->n_groups);
    for (uint32_t i = 0; i < t->n_groups; i++)
        d->left[i] = t->groups[i].count;
    d->type_count = ARENA_ARRAY(t->arena, uint32_t, s->n_types);
    d->type_starting = ARENA_ARRAY(t->arena, uint32_t, s->n_types);
    d->type_ready = ARENA_ARRAY(t->arena, uint32_t, s->n_types);
    d->offer_bought = ARENA_ARRAY(t->arena, uint32_t, s->n_offers);
    d->share_taken = ARENA_ARRAY(t->arena, uint64_t, s->n_shares);
    d->type_ended = ARENA_ARRAY(t->arena, uint32_t, s->n_types);
    d->bound = -1;
    for (uint32_t i = 0; i < s->n_nodes; i++)
        limits_count(d, &s->nodes[i], ended[i]);
}

#define COPY(a, v, n) arena_copy((a), (v), sizeof *(v) * (size_t)(n))

void candidate_copy(const struct candidate *from, struct candidate *ret)
{
    const struct problem *s = from->t->s;
    struct candidate *d = ret;

    *d = *from;
    d->classes.v = COPY(d->arena, from->classes.v, from->classes.n);
    d->classes.cap = from->classes.n;
    d->placements.v = COPY(d->arena, from->placements.v, from->placements.n);
    d->placements.cap = from->placements.n;
    d->undo.v = NULL;
    d->undo.n = d->undo.cap = 0;
    d->bought.v = COPY(d->arena, from->bought.v, from->bought.n);
    d->bought.cap = from->bought.n;
    d->left = COPY(d->arena, from->left, from->t->n_groups);
    d->type_count = COPY(d->arena, from->type_count, s->n_types);
    d->offer_bought = COPY(d->arena, from->offer_bought, s->n_offers);
    d->share_taken = COPY(d->arena, from->share_taken, s->n_shares);
    d->type_starting = COPY(d->arena, from->type_starting, s->n_types);
}
