/*
 * sketch.c - classes of equal nodes, and taking things back.
 *
 * Rooms are values (room.h), so that undo keeps the old struct of a class and
 * nothing else.  Every change of a class goes through class_touch().
 */
#include "sketch.h"

#include <assert.h>
#include <string.h>

#include "limits.h"
#include "order.h"

/* ---- classes from nodes */

struct grouping {
    const struct tables *t;
    struct room *total, *room;
    int64_t *tight;     /* how much is free, as a share of the largest */
    bool *accelerator;
};

static bool on_its_way(const struct sn_node *n)
{
    return n->state == STATE_INTENDED || n->state == STATE_REQUESTED ||
           n->state == STATE_STARTING;
}

/* Ready and busy, ready and idle, on their way, draining. */
static uint32_t use_rank(const struct sn_node *n)
{
    if (n->state == STATE_DRAINING)
        return 3;
    if (on_its_way(n))
        return 2;
    return n->idle_ms >= 0;
}

static int labels_compare(const struct snapshot *s, const struct sn_node *a,
                          const struct sn_node *b)
{
    int r = ORDER(a->n_labels, b->n_labels);

    if (a->first_label == b->first_label)
        return r;
    for (uint32_t i = 0; r == 0 && i < a->n_labels; i++) {
        const struct sn_label *x = &s->labels[a->first_label + i];
        const struct sn_label *y = &s->labels[b->first_label + i];

        r = ORDER(x->key, y->key);
        if (r == 0)
            r = ORDER(x->value, y->value);
    }
    return r;
}

/* Order of use; 0 when the two may share a class. */
static int node_compare(const void *ctx, uint32_t a, uint32_t b)
{
    const struct grouping *g = ctx;
    const struct snapshot *s = g->t->s;
    const struct sn_node *x = &s->nodes[a], *y = &s->nodes[b];
    int r = ORDER(use_rank(x), use_rank(y));

    if (r == 0)
        r = ORDER(g->accelerator[a], g->accelerator[b]);
    if (r == 0)
        r = ORDER(g->tight[a], g->tight[b]);
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
    const struct snapshot *s = g->t->s;
    int r = node_compare(ctx, a, b);

    if (r == 0)
        r = ORDER(s->nodes[a].idle_ms, s->nodes[b].idle_ms);
    return r != 0 ? r : ORDER(a, b);
}

static int64_t tightness(const struct sketch *d, const int64_t *row)
{
    int64_t sum = 0;

    for (uint32_t c = 0; c < d->t->s->n_columns; c++)
        if (d->largest[c] > 0)
            sum += order_share(row[c], d->largest[c]);
    return sum;
}

static void node_measure(struct grouping *g, const struct sketch *d,
                         uint32_t i)
{
    const struct snapshot *s = g->t->s;
    const struct sn_node *n = &s->nodes[i];
    const int64_t *total = sn_row(s, n->total);

    g->total[i] = room_of_row(s, total, g->t->arena);
    g->room[i] = room_of_node(s, n, g->t->arena);
    g->tight[i] = tightness(d, sn_row(s, n->available));
    for (uint32_t c = 0; c < s->n_columns; c++)
        if (s->columns[c].device && total[c] > 0)
            g->accelerator[i] = true;
}

static void class_of_node(struct sketch *d, const struct grouping *g, uint32_t i,
                          uint32_t at)
{
    const struct snapshot *s = g->t->s;
    const struct sn_node *n = &s->nodes[i];
    struct node_class c = {
        .kind = n->state == STATE_DRAINING ? CLASS_DRAINING : CLASS_THERE,
        .n = 1,
        .first = at,
        .offer = n->offer,
        .room = {g->total[i], g->room[i]},
        .held = NONE,
        .next = NONE,
        .spread = NONE,
        .accelerator = g->accelerator[i],
        .starting = on_its_way(n),
        .tight = g->tight[i],
    };

    c.whole[SIDE_TOTAL] = c.kind == CLASS_THERE && !n->head && !n->foreign &&
                          c.offer != NONE;
    c.whole[SIDE_FREE] = c.whole[SIDE_TOTAL] &&
                         room_compare(s, &g->total[i], &g->room[i]) == 0;
    VEC_PUSH(d->arena, &d->classes, c);
}

static void largest_find(struct sketch *d)
{
    const struct snapshot *s = d->t->s;

    d->largest = ARENA_ARRAY(d->arena, int64_t, s->n_columns);
    for (uint32_t i = 0; i < s->n_nodes + s->n_types; i++) {
        const int64_t *row = sn_row(s, i < s->n_nodes
                                           ? s->nodes[i].total
                                           : s->types[i - s->n_nodes].row);

        for (uint32_t c = 0; c < s->n_columns; c++)
            if (row[c] > d->largest[c])
                d->largest[c] = row[c];
    }
}

static void fence_add(struct sketch *d)
{
    VEC_PUSH(d->arena, &d->classes,
             ((struct node_class){.held = NONE, .next = NONE, .offer = NONE,
                                  .spread = NONE, .demand = NONE}));
}

static void classes_make(struct sketch *d, const bool *ended)
{
    const struct snapshot *s = d->t->s;
    struct grouping g = {
        .t = d->t,
        .total = ARENA_ARRAY(d->arena, struct room, s->n_nodes),
        .room = ARENA_ARRAY(d->arena, struct room, s->n_nodes),
        .tight = ARENA_ARRAY(d->arena, int64_t, s->n_nodes),
        .accelerator = ARENA_ARRAY(d->arena, bool, s->n_nodes),
    };
    uint32_t n = 0, last;

    d->members = ARENA_ARRAY(d->arena, uint32_t, s->n_nodes);
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        if (ended[i] || !limits_gives_room(s, &s->nodes[i]))
            continue;
        node_measure(&g, d, i);
        d->members[n++] = i;
    }
    order_sort(d->members, n, node_before, &g, d->arena);
    fence_add(d);
    d->fence_new = NONE;
    last = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t node = d->members[i];
        bool drain = s->nodes[node].state == STATE_DRAINING;

        if (drain && d->fence_new == NONE) {
            d->fence_new = d->classes.n;
            d->classes.v[last].next = d->fence_new;
            last = d->fence_new;
            fence_add(d);
        } else if (i > 0 &&
                   node_compare(&g, d->members[i - 1], node) == 0) {
            d->classes.v[last].n++;
            continue;
        }
        d->classes.v[last].next = d->classes.n;
        last = d->classes.n;
        class_of_node(d, &g, node, i);
    }
    if (d->fence_new == NONE) {
        d->fence_new = d->classes.n;
        d->classes.v[last].next = d->fence_new;
        fence_add(d);
    }
}

void sketch_start(const struct tables *t, const bool *ended, struct sketch *ret)
{
    const struct snapshot *s = t->s;
    struct sketch *d = ret;

    *d = (struct sketch){.t = t, .arena = t->arena};
    largest_find(d);
    classes_make(d, ended);
    d->fence_kept = d->classes.n;
    fence_add(d);
    d->kept_offer = ARENA_ARRAY(t->arena, uint32_t, s->n_offers);
    d->kept_type = ARENA_ARRAY(t->arena, uint32_t, s->n_types);
    d->left = ARENA_ARRAY(t->arena, uint32_t, t->n_wants);
    for (uint32_t i = 0; i < t->n_wants; i++)
        d->left[i] = t->wants[i].count;
    d->type_count = ARENA_ARRAY(t->arena, uint32_t, s->n_types);
    d->type_starting = ARENA_ARRAY(t->arena, uint32_t, s->n_types);
    d->type_ready = ARENA_ARRAY(t->arena, uint32_t, s->n_types);
    d->offer_bought = ARENA_ARRAY(t->arena, uint32_t, s->n_offers);
    d->type_ended = ARENA_ARRAY(t->arena, uint32_t, s->n_types);
    d->bound = -1;
    for (uint32_t i = 0; i < s->n_nodes; i++)
        limits_count(d, &s->nodes[i], ended[i]);
}

#define COPY(a, v, n) arena_copy((a), (v), sizeof *(v) * (size_t)(n))

void sketch_copy(const struct sketch *from, struct sketch *ret)
{
    const struct snapshot *s = from->t->s;
    struct sketch *d = ret;

    *d = *from;
    d->classes.v = COPY(d->arena, from->classes.v, from->classes.n);
    d->classes.cap = from->classes.n;
    d->held.v = COPY(d->arena, from->held.v, from->held.n);
    d->held.cap = from->held.n;
    d->undo.v = NULL;
    d->undo.n = d->undo.cap = 0;
    d->bought.v = COPY(d->arena, from->bought.v, from->bought.n);
    d->bought.cap = from->bought.n;
    d->left = COPY(d->arena, from->left, from->t->n_wants);
    d->type_count = COPY(d->arena, from->type_count, s->n_types);
    d->offer_bought = COPY(d->arena, from->offer_bought, s->n_offers);
    d->kept_offer = COPY(d->arena, from->kept_offer, s->n_offers);
    d->kept_type = COPY(d->arena, from->kept_type, s->n_types);
    d->type_starting = COPY(d->arena, from->type_starting, s->n_types);
}

/* ---- changes */

static struct node_class *class_touch(struct sketch *d, uint32_t i)
{
    struct undo u = {i, d->classes.v[i]};

    VEC_PUSH(d->arena, &d->undo, u);
    d->work++;
    return &d->classes.v[i];
}

struct mark sketch_mark(const struct sketch *d)
{
    return (struct mark){d->undo.n, d->classes.n, d->bought.n};
}

void sketch_undo(struct sketch *d, struct mark m)
{
    while (d->undo.n > m.n_undo) {
        const struct undo *u = &d->undo.v[--d->undo.n];

        if (u->ix < m.n_classes)
            d->classes.v[u->ix] = u->old;
    }
    d->classes.n = m.n_classes;
    while (d->bought.n > m.n_bought) {
        const struct bought *b = &d->bought.v[--d->bought.n];

        if (b->kept_back)
            limits_taken(d, b->offer, b->count, -1);
        else
            limits_bought(d, b->offer, b->count, -1);
    }
}

uint32_t sketch_split(struct sketch *d, uint32_t i, uint32_t k)
{
    uint32_t j = d->classes.n;
    struct node_class rest = d->classes.v[i];
    struct node_class *c;

    assert(k > 0 && k < rest.n);
    rest.first += k;
    rest.n -= k;
    VEC_PUSH(d->arena, &d->classes, rest);
    c = class_touch(d, i);
    c->n = k;
    c->next = j;
    return j;
}

void sketch_hold(struct sketch *d, uint32_t i, uint32_t want, uint32_t alt,
                uint32_t count)
{
    const struct tables *t = d->t;
    enum side side = t->wants[want].side;
    struct node_class *c = class_touch(d, i);
    struct held h = {want, alt, count, c->held};

    assert((uint64_t)c->n * count <= d->left[want]);
    c->room[side] = room_take(t->s, &c->room[side],
                              &t->needs[sketch_shape(d, want, alt)], count,
                              d->arena);
    c->held = d->held.n;
    VEC_PUSH(d->arena, &d->held, h);
    d->left[want] -= c->n * count;
}

void sketch_spread(struct sketch *d, uint32_t i, uint32_t gang)
{
    class_touch(d, i)->spread = gang;
}

void sketch_undrain(struct sketch *d, uint32_t i)
{
    class_touch(d, i)->undrain = true;
}

/* ---- nodes kept back, and new ones */

static bool keeps_back(const struct node_class *c, enum keep_back keep)
{
    if (c->kind != CLASS_THERE || c->n == 0 || !c->whole[SIDE_TOTAL])
        return false;
    switch (keep) {
    case KEEP_BACK_NONE: break;
    case KEEP_BACK_STARTING: return c->starting;
    case KEEP_BACK_WHOLE: return c->whole[SIDE_FREE];
    case KEEP_BACK_OWNED: return true;
    }
    return false;
}

void sketch_keep_back(struct sketch *d, enum keep_back keep)
{
    uint32_t last = 0, last_kept = d->fence_kept, next;

    for (uint32_t i = d->classes.v[0].next; i != NONE; i = next) {
        const struct node_class *c = &d->classes.v[i];

        next = c->next;
        if (!keeps_back(c, keep)) {
            last = i;
            continue;
        }
        class_touch(d, last)->next = next;
        class_touch(d, last_kept)->next = i;
        last_kept = i;
        limits_taken(d, c->offer, c->n, -1);
        class_touch(d, i)->kept_back = true;
    }
    if (last_kept != d->fence_kept)
        class_touch(d, last_kept)->next = NONE;
}

/* Moves class i, which follows `before` among those kept back, to the new
 * ones. */
static void bring_back(struct sketch *d, uint32_t before, uint32_t i)
{
    struct node_class *c = class_touch(d, i);
    uint32_t next = c->next;

    c->kept_back = c->pooled = false;
    c->next = d->classes.v[d->fence_new].next;
    class_touch(d, before)->next = next;
    class_touch(d, d->fence_new)->next = i;
}

static void taken(struct sketch *d, uint32_t i)
{
    struct bought b = {d->classes.v[i].offer, d->classes.v[i].n, true};

    limits_taken(d, b.offer, b.count, 1);
    VEC_PUSH(d->arena, &d->bought, b);
}

void sketch_let_go(struct sketch *d)
{
    uint32_t i;

    while ((i = d->classes.v[d->fence_kept].next) != NONE) {
        bring_back(d, d->fence_kept, i);
        taken(d, i);
    }
}

void sketch_unpool(struct sketch *d)
{
    uint32_t before = d->fence_kept, i;

    while ((i = d->classes.v[before].next) != NONE)
        if (d->classes.v[i].pooled)
            bring_back(d, before, i);
        else
            before = i;
}

void sketch_pool(struct sketch *d)
{
    uint32_t last = 0, last_kept = d->fence_kept, next;

    while (d->classes.v[last_kept].next != NONE)
        last_kept = d->classes.v[last_kept].next;
    for (uint32_t i = d->classes.v[0].next; i != NONE; i = next) {
        const struct node_class *c = &d->classes.v[i];

        next = c->next;
        if (c->n == 0 || c->kind == CLASS_DRAINING) {
            last = i;
            continue;
        }
        class_touch(d, last)->next = next;
        class_touch(d, last_kept)->next = i;
        last_kept = i;
        class_touch(d, i)->pooled = true;
    }
    if (last_kept != d->fence_kept)
        class_touch(d, last_kept)->next = NONE;
}

void sketch_take(struct sketch *d, uint32_t class_ix, uint32_t count)
{
    uint32_t before = d->fence_kept;

    while (d->classes.v[before].next != class_ix)
        before = d->classes.v[before].next;
    if (count < d->classes.v[class_ix].n)
        sketch_split(d, class_ix, count);
    bring_back(d, before, class_ix);
}

static uint32_t buy(struct sketch *d, uint32_t offer, uint32_t count,
                    enum reason why, uint32_t demand)
{
    const struct sn_offer *o = &d->t->s->offers[offer];
    const struct room *room = &d->t->room[o->type];
    uint32_t i = d->classes.n;
    struct node_class c = {
        .kind = CLASS_NEW,
        .n = count,
        .offer = offer,
        .room = {*room, *room},
        .held = NONE,
        .next = d->classes.v[d->fence_new].next,
        .spread = NONE,
        .accelerator = d->t->accelerator[o->type],
        .tight = tightness(d, sn_row(d->t->s, d->t->s->types[o->type].row)),
        .why = why,
        .demand = demand,
    };
    struct bought b = {offer, count, false};

    VEC_PUSH(d->arena, &d->classes, c);
    class_touch(d, d->fence_new)->next = i;
    VEC_PUSH(d->arena, &d->bought, b);
    limits_bought(d, offer, count, 1);
    return i;
}

uint32_t sketch_obtain(struct sketch *d, uint32_t offer, uint32_t count,
                       enum claim claim, enum reason why, uint32_t demand,
                       sketch_fits_fn *fits, const void *ctx)
{
    uint32_t before = d->fence_kept, most;

    if (d->kept_offer[offer] > 0)
        for (uint32_t i = d->classes.v[before].next; i != NONE;
             i = d->classes.v[i].next) {
            d->work++;
            if (d->classes.v[i].offer == offer && !d->classes.v[i].pooled &&
                (fits == NULL || fits(ctx, i))) {
                if (d->classes.v[i].n > count)
                    sketch_split(d, i, count);
                bring_back(d, before, i);
                taken(d, i);
                return i;
            }
            before = i;
        }
    most = limits_room_new(d, offer, claim);
    if (most > count)
        most = count;
    return most > 0 ? buy(d, offer, most, why, demand) : NONE;
}

bool sketch_matches(const struct sketch *d, uint32_t i, uint32_t shape)
{
    const struct node_class *c = &d->classes.v[i];
    uint32_t selector = d->t->s->shapes[shape].selector;

    return c->kind == CLASS_NEW
               ? tables_match_offer(d->t, selector, c->offer)
               : tables_match_node(d->t, selector, d->members[c->first]);
}

uint32_t sketch_shape(const struct sketch *d, uint32_t want, uint32_t alt)
{
    const struct tables *t = d->t;

    return t->s->alts[t->wants[want].first_alt + alt].shape;
}

static bool offered(const struct sketch *d, uint32_t shape)
{
    for (uint32_t i = 0; i < d->t->s->n_offers; i++)
        if (tables_could(d->t, shape, i))
            return true;
    return false;
}

bool sketch_may_try(const struct sketch *d, uint32_t want, uint32_t alt)
{
    const struct snapshot *s = d->t->s;
    const struct want *w = &d->t->wants[want];
    int64_t since = s->demands[w->demand].since_ms, wait = 0;

    if (since == 0 || s->now_ms == 0)
        return true;
    for (uint32_t i = 1; i <= alt; i++)
        if (offered(d, sketch_shape(d, want, i - 1)))
            wait = amount_add(wait, s->alts[w->first_alt + i].after_ms);
    return s->now_ms - since >= wait;
}

static int tighter(const void *ctx, uint32_t a, uint32_t b)
{
    const struct sketch *d = ctx;
    const struct node_class *x = &d->classes.v[a], *y = &d->classes.v[b];
    int r = ORDER(x->tight, y->tight);

    return r != 0 ? r : ORDER(a, b);
}

void sketch_tighten(struct sketch *d)
{
    uint32_t *order = ARENA_ARRAY(d->arena, uint32_t, d->classes.n);
    uint32_t n = 0, last = 0, after = NONE;

    for (uint32_t i = 0; i != NONE; i = d->classes.v[i].next) {
        if (d->classes.v[i].kind == CLASS_DRAINING) {
            after = i;     /* the draining ones are the end of the list */
            break;
        }
        if (d->classes.v[i].kind != CLASS_FENCE)
            order[n++] = i;
    }
    order_sort(order, n, tighter, d, d->arena);
    for (uint32_t k = 0; k < n; k++) {
        class_touch(d, last)->next = order[k];
        last = order[k];
    }
    class_touch(d, last)->next = d->fence_new;
    class_touch(d, d->fence_new)->next = after;
}
