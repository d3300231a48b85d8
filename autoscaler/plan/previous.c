/*
 * previous.c - placing again what an earlier plan placed on nodes.
 *
 * The order is the earlier one, node by node: in that order it fits, device by
 * device.  A gang that is not placed whole is left out, and the rest is placed
 * again without it.
 */
#include "previous.h"

#include "buy/buy.h"
#include "failover.h"
#include "fallback.h"
#include "gang_facts.h"
#include "limits.h"
#include "order.h"
#include "pack.h"
#include "share.h"

#include <string.h>

enum { TRIES = 3 }; /* with fewer gangs each time; then without any */

/* Where nothing tells which nodes have work, each owner's bundles are counted for
 * themselves: what somebody else wants no more does not free his nodes. */
struct own {
    struct shares shares;
    uint64_t *left; /* per share: so many are wanted still */
    bool *back;     /* per class: its nodes are given back */
};

struct restore {
    struct candidate *d;
    bool *whole;     /* per gang: all of it is held, and as it must be */
    struct own *own; /* NULL: bundles of a group stand for one another */
};

/* ---- classes whose nodes have the same placements */

static const struct pb_node *node_of(const struct candidate *d, uint32_t member)
{
    return &d->t->s->nodes[d->members[member]];
}

/* Those that hold something first. */
static int previous_compare(const struct problem *s, const struct pb_node *x,
                            const struct pb_node *y)
{
    int r = ORDER(y->n_previous, x->n_previous);

    for (uint32_t k = 0; r == 0 && k < x->n_previous; k++) {
        const struct pb_placement *p = &s->previous[x->first_previous + k];
        const struct pb_placement *q = &s->previous[y->first_previous + k];

        r = ORDER(p->bundle, q->bundle);
        if (r == 0)
            r = ORDER(p->alt, q->alt);
        if (r == 0)
            r = ORDER(q->count, p->count);
    }
    return r;
}

static int previous_before(const void *ctx, uint32_t a, uint32_t b)
{
    const struct problem *s = ctx;

    return previous_compare(s, &s->nodes[a], &s->nodes[b]);
}

static void class_divide(struct candidate *d, uint32_t i)
{
    const struct problem *s = d->t->s;
    const struct node_class c = d->classes.v[i];
    uint32_t start = 0;

    order_sort(d->members + c.first, c.n, previous_before, s, d->arena);
    for (uint32_t k = 1; k < c.n; k++) {
        if (previous_compare(s, node_of(d, c.first + k - 1),
                             node_of(d, c.first + k)) == 0)
            continue;
        i = candidate_split(d, i, k - start);
        start = k;
    }
}

/* It is on its way, and what it is for may still be exchanged. */
static bool is_coming(const struct candidate *d, const struct node_class *c)
{
    return d->how.ready && node_of(d, c->first)->state != STATE_READY;
}

/* Those on their way stay together: what they are for must not change the order in
 * which they are used, or each plan would exchange it anew. */
static void classes_divide(struct candidate *d)
{
    d->members = arena_copy(d->arena, d->members,
                            d->t->s->n_nodes * sizeof *d->members);
    for (uint32_t i = 0, next; i != NONE; i = next) {
        next = d->classes.v[i].next;
        if (d->classes.v[i].kind == CLASS_THERE && d->classes.v[i].n > 1 &&
            !is_coming(d, &d->classes.v[i]))
            class_divide(d, i);
    }
}

/* What each node of the class holds; NULL: nothing, or it drains, or it is not ready
 * and only those count. */
static const struct pb_placement *class_previous(const struct candidate *d,
                                                 uint32_t i, uint32_t *ret_n)
{
    const struct node_class *c = &d->classes.v[i];
    const struct problem *s = d->t->s;
    uint32_t first = 0;

    *ret_n = 0;
    if (c->kind == CLASS_THERE && c->n > 0) {
        if (is_coming(d, c))
            return NULL;
        first = node_of(d, c->first)->first_previous;
        *ret_n = node_of(d, c->first)->n_previous;
    } else if (c->kind == CLASS_NEW && c->proposal != NONE) {
        first = s->proposed[c->proposal].first_previous;
        *ret_n = s->proposed[c->proposal].n_previous;
    }
    return *ret_n > 0 ? &s->previous[first] : NULL;
}

/* ---- placing */

/* On the nodes of the classes from i up to `end`, which were one class. */
static void previous_place(const struct restore *r, uint32_t i, uint32_t end,
                           const struct pb_placement *h)
{
    struct candidate *d = r->d;
    uint32_t group = d->t->group_of[h->bundle], next;
    uint32_t shape = tables_shape(d->t, group, h->alt);

    for (; i != end && d->left[group] > 0; i = next) {
        uint32_t had = d->left[group], each = h->count, nodes = UINT32_MAX;

        next = d->classes.v[i].next;
        d->work++;
        if (!candidate_matches(d, i, shape) ||
            fallback_silent(d, i, group, h->alt))
            continue;
        if (r->own) {
            uint64_t left = r->own->left[r->own->shares.of[h->bundle]];

            if (left == 0)
                return;
            each = each < left ? each : (uint32_t)left;
            nodes = left / each < UINT32_MAX ? (uint32_t)(left / each)
                                             : UINT32_MAX;
        }
        pack_on(d, i, group, h->alt, each, nodes);
        if (r->own)
            r->own->left[r->own->shares.of[h->bundle]] -= had - d->left[group];
    }
}

/* Likewise all that these nodes held, of the gangs only whole ones.  Unconfirmed
 * demand has its turn later. */
static void class_place(const struct restore *r, uint32_t i, uint32_t end)
{
    const struct candidate *d = r->d;
    uint32_t n;
    const struct pb_placement *v = class_previous(d, i, &n);

    for (uint32_t k = 0; k < n; k++) {
        uint32_t group = d->t->group_of[v[k].bundle];
        uint32_t gang = d->t->gang_of[group];

        if (d->how.waits && d->t->groups[group].priority < d->how.priority)
            continue;
        if (gang == NONE ? d->t->groups[group].rank != RANK_UNCONFIRMED
                         : r->whole[gang])
            previous_place(r, i, end, &v[k]);
    }
}

static void all_place(const struct restore *r)
{
    for (uint32_t i = 0, end; i != NONE; i = end) {
        end = r->d->classes.v[i].next;
        if (!r->own || !r->own->back[i])
            class_place(r, i, end);
    }
}

/* ---- an owner's own nodes */

static int dearer(const void *ctx, uint32_t a, uint32_t b)
{
    const struct candidate *d = ctx;
    const struct pb_node *x = node_of(d, d->classes.v[a].first);
    const struct pb_node *y = node_of(d, d->classes.v[b].first);

    return ORDER(y->price_micros_hour, x->price_micros_hour);
}

/* What one node of the class holds, if that is of one share.  0: it is not. */
static uint64_t holds_alone(const struct candidate *d, const struct own *own,
                            uint32_t i, uint32_t *ret_share)
{
    uint32_t n;
    const struct pb_placement *h = class_previous(d, i, &n);
    uint64_t sum = 0;

    for (uint32_t k = 0; k < n; k++) {
        *ret_share = own->shares.of[h->bundle];
        if (own->shares.of[h[k].bundle] != *ret_share)
            return 0;
        sum += h[k].count;
    }
    return d->classes.v[i].kind == CLASS_THERE ? sum : 0;
}

/* Of a share that is smaller than what it holds, whole nodes are given back that hold
 * nothing else, the dearest first.  surplus: per share. */
static void nodes_give_back(struct candidate *d, struct own *own,
                            uint64_t *surplus)
{
    const uint32_t most = 2 * d->classes.n; /* each is split once */
    uint32_t *order = ARENA_ARRAY(d->arena, uint32_t, most), n = 0, share;

    own->back = ARENA_ARRAY(d->arena, bool, most);
    for (uint32_t i = 0; i != NONE; i = d->classes.v[i].next)
        if (holds_alone(d, own, i, &share) > 0 && surplus[share] > 0)
            order[n++] = i;
    order_sort(order, n, dearer, d, d->arena);
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t all = d->classes.v[order[k]].n;
        uint64_t each = holds_alone(d, own, order[k], &share);
        uint64_t nodes = surplus[share] / each;

        if (nodes == 0)
            continue;
        nodes = nodes < all ? nodes : all;
        surplus[share] -= nodes * each;
        if (nodes < all)
            own->back[candidate_split(d, order[k], all - (uint32_t)nodes)] =
                true;
        else
            own->back[order[k]] = true;
    }
}

static void own_begin(struct own *own)
{
    for (uint32_t i = 0; i < own->shares.n; i++)
        own->left[i] = own->shares.v[i].count;
}

static void own_make(struct candidate *d, struct own *ret)
{
    uint64_t *held;

    shares_make(d->t, d->arena, &ret->shares);
    ret->left = ARENA_ARRAY(d->arena, uint64_t, ret->shares.n);
    own_begin(ret);
    held = ARENA_ARRAY(d->arena, uint64_t, ret->shares.n);
    for (uint32_t i = 0; i != NONE; i = d->classes.v[i].next) {
        uint32_t n;
        const struct pb_placement *h = class_previous(d, i, &n);

        for (uint32_t k = 0; k < n; k++)
            held[ret->shares.of[h[k].bundle]] += (uint64_t)h[k].count *
                                                 d->classes.v[i].n;
    }
    for (uint32_t i = 0; i < ret->shares.n; i++)
        held[i] = held[i] > ret->left[i] ? held[i] - ret->left[i] : 0;
    nodes_give_back(d, ret, held);
}

/* ---- gangs */

/* How much of each gang is held, and are its bundles spread as they must be? */
struct gang_count {       /* of one gang, over all nodes */
    uint64_t nodes, most; /* that hold of it; bundles on one of them */
};

struct tally {
    const struct tables *t;
    struct gang_count *v; /* per gang */
    uint64_t *have;       /* per group */
    uint32_t *here;       /* per gang: on the node at hand */
};

static struct tally tally_make(const struct candidate *d)
{
    return (struct tally){
        d->t, ARENA_ARRAY(d->arena, struct gang_count, d->t->n_gangs),
        ARENA_ARRAY(d->arena, uint64_t, d->t->n_groups),
        ARENA_ARRAY(d->arena, uint32_t, d->t->n_gangs)};
}

/* Each of so many nodes holds this. */
static void tally_add(struct tally *x, uint32_t nodes,
                      const struct pb_placement *h, uint32_t n)
{
    const struct tables *t = x->t;

    for (uint32_t k = 0; k < n; k++) {
        uint32_t group = t->group_of[h[k].bundle], g = t->gang_of[group];

        if (g == NONE)
            continue;
        x->v[g].nodes += x->here[g] == 0 ? nodes : 0;
        x->here[g] += h[k].count;
        x->have[group] += (uint64_t)h[k].count * nodes;
        x->v[g].most = x->here[g] > x->v[g].most ? x->here[g] : x->v[g].most;
    }
    for (uint32_t k = 0; k < n; k++)
        if (t->gang_of[t->group_of[h[k].bundle]] != NONE)
            x->here[t->gang_of[t->group_of[h[k].bundle]]] = 0;
}

static void tally_judge(const struct tally *x, bool *whole)
{
    const struct tables *t = x->t;

    for (uint32_t g = 0; g < t->n_gangs; g++) {
        const struct gang *gang = &t->gangs[g];
        enum strategy how = t->s->demands[gang->demand].strategy;

        whole[g] = !gang->unconfirmed &&
                   !(how == STRATEGY_STRICT_PACK && x->v[g].nodes != 1) &&
                   !(how == STRATEGY_STRICT_SPREAD && x->v[g].most != 1);
        for (uint32_t k = 0; k < gang->n_groups; k++)
            if (x->have[gang->first_group + k] <
                t->groups[gang->first_group + k].count)
                whole[g] = false;
    }
}

static void gangs_judge(struct restore *r)
{
    const struct candidate *d = r->d;
    struct tally x = tally_make(d);

    for (uint32_t i = 0; i != NONE; i = d->classes.v[i].next) {
        uint32_t n;
        const struct pb_placement *h = class_previous(d, i, &n);

        tally_add(&x, d->classes.v[i].n, h, n);
    }
    tally_judge(&x, r->whole);
}

/* False when a gang was not placed whole: it is left out from now on. */
static bool gangs_came(struct restore *r, bool last)
{
    bool all = true;

    for (uint32_t g = 0; g < r->d->t->n_gangs; g++)
        if (r->whole[g] && !gang_settled(r->d, g))
            all = r->whole[g] = false;
    for (uint32_t g = 0; !all && last && g < r->d->t->n_gangs; g++)
        r->whole[g] = false;
    return all;
}

void previous_restore(struct candidate *d)
{
    struct restore r = {d, ARENA_ARRAY(d->arena, bool, d->t->n_gangs), NULL};
    struct own own;
    struct mark mark = {0}; /* without gangs one pass is enough */

    classes_divide(d);
    if (d->t->s->work_unknown) {
        own_make(d, &own);
        r.own = &own;
    }
    gangs_judge(&r);
    if (d->t->n_gangs > 0)
        mark = candidate_mark(d);
    for (int k = 1;; k++) {
        all_place(&r);
        if (gangs_came(&r, k >= TRIES))
            return;
        candidate_undo(d, mark);
        if (r.own)
            own_begin(&own);
        for (uint32_t i = 0; i < d->t->n_groups; i++)
            d->left[i] = d->t->groups[i].count;
    }
}

void previous_group(struct candidate *d, uint32_t group)
{
    const struct restore r = {d, NULL, NULL};

    for (uint32_t i = 0, end; i != NONE; i = end) {
        uint32_t n;
        const struct pb_placement *h = class_previous(d, i, &n);

        end = d->classes.v[i].next;
        for (uint32_t k = 0; k < n; k++)
            if (d->t->group_of[h[k].bundle] == group)
                previous_place(&r, i, end, &h[k]);
    }
}

bool previous_gang(struct candidate *d, uint32_t gang)
{
    const struct restore r = {d, NULL, NULL};
    const struct tables *t = d->t;
    enum strategy how = t->s->demands[t->gangs[gang].demand].strategy;
    bool any = false;

    if (!d->how.previous || how == STRATEGY_STRICT_PACK)
        return false;
    for (uint32_t i = 0, next; i != NONE; i = next) {
        uint32_t n, taken = 0;
        const struct pb_placement *h = class_previous(d, i, &n);

        next = d->classes.v[i].next;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t group = t->group_of[h[k].bundle], left = d->left[group];

            if (t->gang_of[group] != gang ||
                (how == STRATEGY_STRICT_SPREAD && taken > 0))
                continue;
            previous_place(&r, i, next, &h[k]);
            taken += left - d->left[group];
        }
        for (uint32_t x = i; taken > 0 && x != next; x = d->classes.v[x].next)
            candidate_spread(d, x, gang);
        any = any || taken > 0;
    }
    return any;
}

/* ---- proposed nodes */

/* How many of these nodes would each be of use now; *ret_group: the first
 * demand group that an offer of its kind may be bought for. */
static uint32_t useful(const struct restore *r, const struct pb_proposal *x,
                       uint32_t *ret_group)
{
    const struct candidate *d = r->d;
    const struct tables *t = d->t;
    uint32_t most = 0;

    *ret_group = NONE;
    for (uint32_t k = 0; k < x->n_previous; k++) {
        const struct pb_placement *h = &t->s->previous[x->first_previous + k];
        uint32_t group = t->group_of[h->bundle], gang = t->gang_of[group], n;

        if ((gang != NONE && !r->whole[gang]) || d->left[group] == 0 ||
            t->groups[group].rank == RANK_UNCONFIRMED ||
            !tables_may_buy(t, tables_shape(t, group, h->alt), x->offer) ||
            failover_waits_group(d, group, h->alt, x->offer))
            continue;
        n = (d->left[group] - 1) / h->count + 1;
        most = n > most ? n : most;
        if (*ret_group == NONE)
            *ret_group = group;
    }
    return most < x->count ? most : x->count;
}

static void proposal_take(const struct restore *r, uint32_t k)
{
    struct candidate *d = r->d;
    const struct tables *t = d->t;
    const struct pb_proposal *x = &t->s->proposed[k];
    bool final = tables_hosts(t->s, x->offer) > 1;
    uint32_t group, n = useful(r, x, &group), i;

    while (n > 0 && (i = candidate_obtain(d, x->offer, n, buy_reason(d, group),
                                          t->groups[group].demand)) != NONE) {
        n -= d->classes.v[i].n;
        d->classes.v[i].proposal = k;
        d->classes.v[i].final = final;
        d->improvable = d->improvable || !final;
        class_place(r, i, d->classes.v[i].next);
    }
}

/* The gangs that the proposed nodes hold as a whole. */
static void proposals_judge(struct restore *r)
{
    const struct candidate *d = r->d;
    const struct problem *s = d->t->s;
    struct tally all = tally_make(d);

    for (uint32_t k = 0; k < s->n_proposed; k++)
        tally_add(&all, s->proposed[k].count,
                  s->previous + s->proposed[k].first_previous,
                  s->proposed[k].n_previous);
    tally_judge(&all, r->whole);
    for (uint32_t g = 0; g < d->t->n_gangs; g++)
        r->whole[g] = r->whole[g] && !gang_settled(d, g);
}

void previous_propose(struct candidate *d)
{
    const size_t size = d->t->n_groups * sizeof *d->left;
    const uint32_t *left = arena_copy(d->arena, d->left, size);
    struct restore r = {d, ARENA_ARRAY(d->arena, bool, d->t->n_gangs), NULL};
    struct mark mark = {0}; /* without gangs one pass is enough */

    proposals_judge(&r);
    if (d->t->n_gangs > 0)
        mark = candidate_mark(d);
    for (int k = 1;; k++) {
        for (uint32_t i = 0; i < d->t->s->n_proposed; i++)
            proposal_take(&r, i);
        if (gangs_came(&r, k >= TRIES))
            return;
        candidate_undo(d, mark);
        memcpy(d->left, left, size);
    }
}
