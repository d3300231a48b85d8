/*
 * bill.c - see bill.h.
 */
#include "bill.h"

#include <string.h>

/* Parts of a node's price are counted in this many. */
#define WHOLE INT64_C(1000000)

struct billing {
    const struct snapshot *f;
    const struct problem *s;
    const struct plan *plan;
    struct arena *a;
    VEC(struct bill_offer) offers;
    int64_t *owner;        /* micros, by string of the problem */
    uint32_t *nodes;       /* that hold something of it */
    uint32_t *last;        /* the last such node, from 1: counted once */
    const char **asked_by; /* likewise by string */
    uint32_t busy;         /* nodes with work of nobody's we know */
    int64_t running, idle;
};

int64_t bill_node_price(const struct snap_node *n, const struct problem *s,
                        uint32_t node)
{
    const struct pb_node *p = node == NONE ? NULL : &s->nodes[node];

    if (n->price_micros_hour >= 0)
        return n->price_micros_hour;
    if (!p || n->unmanaged || n->head)
        return -1;
    if (p->price_micros_hour >= 0)
        return p->price_micros_hour;
    return p->offer < s->n_offers ? pb_offer_bill(&s->offers[p->offer]) : -1;
}

static void offer_add(struct billing *b, const struct snap_node *n,
                      int64_t price)
{
    const char *provider = n->provider ? n->provider : "";
    struct bill_offer *o = NULL;

    for (uint32_t i = 0; i < b->offers.n && !o; i++) {
        struct bill_offer *x = &b->offers.v[i];

        if (x->spot == n->spot && strcmp(x->type, n->type) == 0 &&
            strcmp(x->provider, provider) == 0)
            o = x;
    }
    if (!o) {
        VEC_PUSH(b->a, &b->offers,
                 ((struct bill_offer){n->type, provider, n->spot, 0, 0}));
        o = &b->offers.v[b->offers.n - 1];
    }
    o->nodes++;
    o->micros_hour += price;
}

/* The largest part of any resource of the node, of WHOLE. */
static int64_t part_of(const struct problem *s, const int64_t *total,
                       const int64_t *need, int64_t count)
{
    int64_t most = 0;

    for (uint32_t c = 0; c < s->n_columns; c++) {
        double x = total[c] > 0 && need[c] > 0
                       ? (double)need[c] * (double)count / (double)total[c]
                       : 0;

        x = x < 1 ? x * (double)WHOLE : (double)WHOLE;
        if ((int64_t)x > most)
            most = (int64_t)x;
    }
    return most;
}

/* How much of it running work takes, planned for or not. */
static int64_t part_used(const struct problem *s, const struct pb_node *n)
{
    const int64_t *total = pb_row(s, n->total), *left = pb_row(s, n->available);
    int64_t most = 0;

    if (n->template_room)
        return 0;
    for (uint32_t c = 0; c < s->n_columns; c++) {
        double x = total[c] > left[c]
                       ? (double)(total[c] - left[c]) / (double)total[c]
                       : 0;

        if ((int64_t)(x * (double)WHOLE) > most)
            most = (int64_t)(x * (double)WHOLE);
    }
    return most;
}

static int64_t placed_part(const struct billing *b, const struct pb_node *n,
                           const struct plan_placement *q)
{
    const struct pb_bundle *bundle = &b->s->bundles[q->bundle];
    const struct pb_alt *alt = &b->s->alts[bundle->first_alt + q->alt];

    return part_of(b->s, pb_row(b->s, n->total),
                   pb_row(b->s, b->s->shapes[alt->shape].row), q->count);
}

/* More than the whole is on it where parts are of different resources: then each
 * bears less. */
static void node_share(struct billing *b, uint32_t node, int64_t price)
{
    const struct pb_node *n = &b->s->nodes[node];
    const struct plan_node *p = &b->plan->nodes[node];
    const struct plan_placement *q = b->plan->placements + p->first_placement;
    int64_t sum = 0, used = part_used(b->s, n), whole, left = price;

    for (uint32_t i = 0; i < p->n_placements; i++)
        sum += placed_part(b, n, &q[i]);
    used = used > sum ? used - sum : 0;
    whole = sum + used > WHOLE ? sum + used : WHOLE;
    for (uint32_t i = 0; i < p->n_placements; i++) {
        const struct pb_demand *d =
            &b->s->demands[b->s->bundles[q[i].bundle].demand];
        int64_t part =
            (int64_t)((double)price *
                      ((double)placed_part(b, n, &q[i]) / (double)whole));

        b->owner[d->owner] += part;
        if (d->from < b->f->n_demands)
            b->asked_by[d->owner] = b->f->demands[d->from].asked_by;
        b->nodes[d->owner] += b->last[d->owner] != node + 1;
        b->last[d->owner] = node + 1;
        left -= part;
    }
    used = (int64_t)((double)price * ((double)used / (double)whole));
    b->running += used;
    b->busy += used > 0;
    b->idle += left - used;
}

static void owners_take(struct billing *b, struct bill *ret)
{
    VEC(struct bill_owner) v = {0};

    for (uint32_t i = 0; i < b->s->n_str; i++)
        if (b->owner[i])
            VEC_PUSH(b->a, &v,
                     ((struct bill_owner){b->s->str[i], b->owner[i],
                                          b->nodes[i], b->asked_by[i]}));
    if (b->running)
        VEC_PUSH(
            b->a, &v,
            ((struct bill_owner){BILL_RUNNING, b->running, b->busy, NULL}));
    ret->owners = v.v;
    ret->n_owners = v.n;
}

static bool is_billed(const struct snap_node *n, bool of_intents)
{
    return !n->head && !n->unmanaged && n->state != STATE_GONE &&
           (of_intents || n->state != STATE_INTENDED);
}

void bill_make(const struct snapshot *f, const struct problem *s,
               const struct plan *plan, bool of_intents, struct arena *a,
               struct bill *ret)
{
    struct billing b = {.f = f, .s = s, .plan = plan, .a = a};
    uint32_t *node_of = ARENA_ARRAY(a, uint32_t, f->n_nodes);

    *ret = (struct bill){0};
    b.owner = ARENA_ARRAY(a, int64_t, s->n_str);
    b.nodes = ARENA_ARRAY(a, uint32_t, s->n_str);
    b.asked_by = ARENA_ARRAY(a, const char *, s->n_str);
    b.last = ARENA_ARRAY(a, uint32_t, s->n_str);
    for (uint32_t i = 0; i < f->n_nodes; i++)
        node_of[i] = NONE;
    for (uint32_t i = 0; i < s->n_nodes; i++)
        node_of[s->nodes[i].from] = i;
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        int64_t price;

        if (!is_billed(&f->nodes[i], of_intents))
            continue;
        price = bill_node_price(&f->nodes[i], s, node_of[i]);
        ret->unpriced += price < 0;
        price = price > 0 ? price : 0;
        offer_add(&b, &f->nodes[i], price);
        ret->micros_hour += price;
        if (node_of[i] != NONE && plan->nodes)
            node_share(&b, node_of[i], price);
        else
            b.idle += price;
    }
    ret->offers = b.offers.v;
    ret->n_offers = b.offers.n;
    ret->idle_micros_hour = b.idle;
    owners_take(&b, ret);
}
