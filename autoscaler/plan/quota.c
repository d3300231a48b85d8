/*
 * quota.c - counting what a queue's demands use.
 */
#include "quota.h"

#include <string.h>

enum { GPUS, CPUS, KINDS };
static const uint32_t columns[KINDS] = {COL_GPU, COL_CPU};

static int64_t quota_of(const struct pb_queue *q, int kind)
{
    return kind == GPUS ? q->gpus : q->cpus;
}

static int64_t running_of(const struct pb_queue *q, int kind)
{
    return kind == GPUS ? q->used_gpus : q->used_cpus;
}

static uint32_t shape_queue(const struct problem *s, uint32_t shape)
{
    uint32_t q = s->selectors[s->shapes[shape].selector].queue;

    return q < s->n_queues ? q : NONE;
}

uint32_t quota_queue(const struct candidate *d, uint32_t group, uint32_t alt)
{
    return shape_queue(d->t->s, tables_shape(d->t, group, alt));
}

static int64_t need_of(const struct problem *s, uint32_t shape, int kind)
{
    return pb_row(s, s->shapes[shape].row)[columns[kind]];
}

/* ---- what is used */

static void used(const struct candidate *d, uint32_t queue, enum side side,
                 int64_t *ret)
{
    const struct problem *s = d->t->s;

    for (int k = 0; k < KINDS; k++)
        ret[k] = side == SIDE_FREE ? running_of(&s->queues[queue], k) : 0;
    for (uint32_t i = 0; i < d->classes.n; i++) {
        const struct node_class *c = &d->classes.v[i];

        for (uint32_t h = c->n > 0 ? c->placed : NONE; h != NONE;
             h = d->placements.v[h].next) {
            const struct placement *x = &d->placements.v[h];
            uint32_t shape = tables_shape(d->t, x->group, x->alt);

            if (d->t->groups[x->group].side != side ||
                shape_queue(s, shape) != queue)
                continue;
            for (int k = 0; k < KINDS; k++)
                ret[k] = amount_add(ret[k],
                                    amount_times(need_of(s, shape, k),
                                                 (uint64_t)x->count * c->n));
        }
    }
}

/* The queue that will own nodes of an offer, by the rule that problem_queue.c has
 * for nodes: what the label names, else the only queue that the type is in. */
static uint32_t offer_home(const struct problem *s, uint32_t offer)
{
    const struct pb_offer *o = &s->offers[offer];
    uint32_t home = NONE, n = 0;

    for (uint32_t i = o->first_label; i < o->first_label + o->n_labels; i++) {
        const struct pb_label *l = &s->labels[i];

        if ((l->key & (PB_TAINT | PB_QUEUE)) == PB_QUEUE) {
            home = l->key & ~PB_QUEUE;
            n++;
        } else if (!(l->key & PB_TAINT) &&
                   strcmp(s->str[l->key], QUEUE_LABEL) == 0) {
            for (uint32_t q = 0; q < s->n_queues; q++)
                if (s->queues[q].name == l->value)
                    return q;
        }
    }
    return n == 1 ? home : NONE;
}

static uint32_t home_of(const struct candidate *d, const struct node_class *c)
{
    return c->kind == CLASS_NEW ? offer_home(d->t->s, c->offer)
                                : d->t->s->nodes[d->members[c->first]].queue;
}

static bool holds_work(const struct candidate *d, const struct node_class *c,
                       uint32_t queue)
{
    for (uint32_t h = c->placed; h != NONE; h = d->placements.v[h].next)
        if (quota_queue(d, d->placements.v[h].group, d->placements.v[h].alt) ==
            queue)
            return true;
    return false;
}

/* The queue's own nodes that are there are in used_nodes. */
static uint64_t nodes_used(const struct candidate *d, uint32_t queue)
{
    uint64_t n = d->t->s->queues[queue].used_nodes;

    for (uint32_t i = 0; i < d->classes.n; i++) {
        const struct node_class *c = &d->classes.v[i];
        bool own;

        if (c->n == 0)
            continue;
        own = home_of(d, c) == queue;
        if (c->kind == CLASS_NEW || !own)
            n += own || holds_work(d, c, queue) ? c->n : 0;
    }
    return n;
}

/* ---- what is left */

static bool limits_work(const struct pb_queue *q)
{
    return q->gpus >= 0 || q->cpus >= 0;
}

static uint32_t bundles_in(const struct problem *s, uint32_t shape,
                           const int64_t *left)
{
    uint64_t n = UNLIMITED;

    for (int k = 0; k < KINDS; k++) {
        int64_t need = need_of(s, shape, k);

        if (left[k] >= 0 && need > 0 && (uint64_t)(left[k] / need) < n)
            n = (uint64_t)(left[k] / need);
    }
    return (uint32_t)n;
}

/* -1: no quota. */
static void left_of(const struct candidate *d, uint32_t queue, enum side side,
                    int64_t *ret)
{
    const struct pb_queue *q = &d->t->s->queues[queue];
    int64_t u[KINDS];

    used(d, queue, side, u);
    for (int k = 0; k < KINDS; k++) {
        int64_t most = quota_of(q, k);

        ret[k] = most < 0 ? -1 : most > u[k] ? most - u[k] : 0;
    }
}

uint32_t quota_room(const struct candidate *d, uint32_t group, uint32_t alt)
{
    const struct problem *s = d->t->s;
    uint32_t queue;
    int64_t left[KINDS];

    if (s->n_queues == 0)
        return UNLIMITED;
    queue = quota_queue(d, group, alt);
    if (queue == NONE || !limits_work(&s->queues[queue]))
        return UNLIMITED;
    left_of(d, queue, d->t->groups[group].side, left);
    return bundles_in(s, tables_shape(d->t, group, alt), left);
}

uint32_t quota_nodes(const struct candidate *d, uint32_t queue)
{
    const struct problem *s = d->t->s;
    uint64_t n;

    if (queue >= s->n_queues || s->queues[queue].nodes == UNLIMITED)
        return UNLIMITED;
    n = nodes_used(d, queue);
    return s->queues[queue].nodes > n ? (uint32_t)(s->queues[queue].nodes - n)
                                      : 0;
}

uint32_t quota_nodes_on(const struct candidate *d, uint32_t class_ix,
                        uint32_t group, uint32_t alt)
{
    const struct problem *s = d->t->s;
    const struct node_class *c = &d->classes.v[class_ix];
    uint32_t queue = s->n_queues > 0 ? quota_queue(d, group, alt) : NONE;

    if (queue == NONE || s->queues[queue].nodes == UNLIMITED ||
        holds_work(d, c, queue))
        return UNLIMITED;
    if (home_of(d, c) != queue)
        return quota_nodes(d, queue);
    /* Its own are counted already, but other queues may have bought one too
     * many of them. */
    return c->kind != CLASS_NEW ||
                   nodes_used(d, queue) <= s->queues[queue].nodes
               ? UNLIMITED
               : 0;
}

struct quota_budget quota_budget(const struct candidate *d, enum side side)
{
    const struct problem *s = d->t->s;
    struct quota_budget b = {NULL};

    if (s->n_queues == 0)
        return b;
    b.left = arena_alloc(d->arena, sizeof *b.left * s->n_queues);
    for (uint32_t q = 0; q < s->n_queues; q++) {
        b.left[q][GPUS] = b.left[q][CPUS] = -1;
        if (limits_work(&s->queues[q]))
            left_of(d, q, side, b.left[q]);
    }
    return b;
}

uint32_t quota_share(const struct candidate *d, struct quota_budget *b,
                     uint32_t group, uint32_t alt, uint32_t count)
{
    uint32_t shape = tables_shape(d->t, group, alt), queue, n;

    if (!b->left || (queue = quota_queue(d, group, alt)) == NONE)
        return count;
    n = bundles_in(d->t->s, shape, b->left[queue]);
    if (n > count)
        n = count;
    for (int k = 0; k < KINDS; k++)
        if (b->left[queue][k] >= 0)
            b->left[queue][k] -= amount_times(need_of(d->t->s, shape, k), n);
    return n;
}

bool quota_kept(const struct candidate *d)
{
    const struct problem *s = d->t->s;

    for (uint32_t q = 0; q < s->n_queues; q++) {
        const struct pb_queue *x = &s->queues[q];

        if (x->nodes != UNLIMITED && nodes_used(d, q) > x->nodes &&
            nodes_used(d, q) > x->used_nodes)
            return false;
        for (int side = 0; side < SIDES && limits_work(x); side++) {
            int64_t u[KINDS];

            used(d, q, (enum side)side, u);
            for (int k = 0; k < KINDS; k++)
                if (quota_of(x, k) >= 0 && u[k] > quota_of(x, k) &&
                    u[k] > (side == SIDE_FREE ? running_of(x, k) : 0))
                    return false;
        }
    }
    return true;
}

/* ---- why not */

/* What one more takes: all of it that is left, when it is of a gang. */
static void asked(const struct tables *t, uint32_t group, uint32_t alt,
                  int64_t *ret)
{
    const struct problem *s = t->s;
    uint32_t gang = t->gang_of[group], first = group, n = 1;

    ret[GPUS] = ret[CPUS] = 0;
    if (gang != NONE) {
        first = t->gangs[gang].first_group;
        n = t->gangs[gang].n_groups;
    }
    for (uint32_t i = first; i < first + n; i++) {
        const struct group *w = &t->groups[i];
        uint32_t a = i == group ? alt : 0;
        uint32_t shape = s->alts[w->first_alt + a].shape;

        for (int k = 0; k < KINDS; k++)
            ret[k] = amount_add(ret[k],
                                amount_times(need_of(s, shape, k),
                                             gang != NONE ? w->count : 1));
    }
}

bool quota_never(const struct tables *t, uint32_t group, uint32_t alt)
{
    const struct problem *s = t->s;
    uint32_t queue = shape_queue(
        s, s->alts[t->groups[group].first_alt + alt].shape);
    int64_t ask[KINDS];

    if (queue == NONE)
        return false;
    asked(t, group, alt, ask);
    for (int k = 0; k < KINDS; k++)
        if (quota_of(&s->queues[queue], k) >= 0 &&
            ask[k] > quota_of(&s->queues[queue], k))
            return true;
    return s->queues[queue].nodes == 0;
}

bool quota_obstacle(const struct candidate *d, uint32_t group, uint32_t alt,
                    struct plan_refusal *ret)
{
    const struct problem *s = d->t->s;
    uint32_t queue = s->n_queues > 0 ? quota_queue(d, group, alt) : NONE;
    int64_t ask[KINDS], u[KINDS];

    if (queue == NONE)
        return false;
    asked(d->t, group, alt, ask);
    used(d, queue, d->t->groups[group].side, u);
    for (int k = 0; k < KINDS; k++) {
        int64_t most = quota_of(&s->queues[queue], k);

        if (most < 0 || ask[k] == 0 || amount_add(u[k], ask[k]) <= most)
            continue;
        ret->why = REASON_QUEUE_FULL;
        ret->column = columns[k];
        ret->has = u[k];
        ret->needs = most;
        return true;
    }
    if (quota_nodes(d, queue) > 0)
        return false;
    ret->why = REASON_QUEUE_FULL;
    ret->column = NONE;
    ret->has = amount_times(AMOUNT_ONE, nodes_used(d, queue));
    ret->needs = amount_times(AMOUNT_ONE, s->queues[queue].nodes);
    return true;
}
