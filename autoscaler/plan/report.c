/*
 * report.c - which bundle is placed where.
 *
 * A candidate places demand groups, many equal bundles each; hand.c says whose they
 * are.  Nodes that get the same are one launch.
 */
#include "report.h"

#include <string.h>

#include "explain.h"
#include "hand.h"
#include "order.h"

struct report {
    const struct candidate *d;
    struct hands *hands;
    struct plan_bundle *bundles;
    struct plan_node *nodes;
    const struct group **needed_by; /* per node */
    uint32_t *seen_by; /* per group: the class, and 1, that was looked at last */
    VEC(struct plan_placement) placements;
    VEC(struct plan_launch) launches;
};

/* Places `count` of a group on each of `nodes` nodes. */
static void place(struct report *r, const struct placement *h, uint32_t node,
                  uint32_t nodes, bool launched)
{
    for (uint32_t count = h->count; count > 0;) {
        uint32_t b, each = hand_out(r->hands, h->group, node, nodes, count, &b);
        struct plan_bundle *pb = &r->bundles[b];

        VEC_PUSH(r->d->arena, &r->placements,
                 ((struct plan_placement){b, h->alt, each}));
        if (launched)
            pb->launched += each * nodes;
        else
            pb->placed += each * nodes;
        pb->alt = h->alt;
        count -= each;
    }
}

/* How many of n nodes get the very same bundles, at least 1. */
static uint32_t alike(const struct report *r, const struct node_class *c,
                      uint32_t n)
{
    for (uint32_t k = c->placed; k != NONE; k = r->d->placements.v[k].next) {
        const struct placement *h = &r->d->placements.v[k];

        n = hands_alike(r->hands, h->group, h->count, n);
    }
    return n;
}

/* The same group may be held by a class in several goes: then bundles are
 * counted one node at a time. */
static bool repeats(const struct report *r, const struct node_class *c,
                    uint32_t ix)
{
    for (uint32_t k = c->placed; k != NONE; k = r->d->placements.v[k].next) {
        uint32_t *seen = &r->seen_by[r->d->placements.v[k].group];

        if (*seen == ix + 1)
            return true;
        *seen = ix + 1;
    }
    return false;
}

/* The group a node is kept for: a request before anything else. */
static const struct group *need_of(const struct report *r,
                                   const struct node_class *c)
{
    const struct group *need = NULL;

    for (uint32_t k = c->placed; k != NONE; k = r->d->placements.v[k].next) {
        const struct group *w = &r->d->t->groups[r->d->placements.v[k].group];

        if (!need || w->side < need->side ||
            (w->side == need->side && w->demand < need->demand))
            need = w;
    }
    return need;
}

/* Bundles of one shape are one group, whoever asked for them: of the demands
 * whose bundles lie here, the first of the same source. */
static uint32_t demand_of(const struct report *r, uint32_t first, uint32_t n,
                          uint32_t demand)
{
    const struct problem *s = r->d->t->s;
    uint32_t least = NONE;

    for (uint32_t i = first; demand != NONE && i < first + n; i++) {
        uint32_t d = s->bundles[r->placements.v[i].bundle].demand;

        if (s->demands[d].source == s->demands[demand].source &&
            (least == NONE || d < least))
            least = d;
    }
    return least == NONE ? demand : least;
}

/* What each node of a class gets, in the order in which it was placed: put
 * back in that order it fits again. */
static uint32_t placements_add(struct report *r, const struct node_class *c,
                               uint32_t node, uint32_t nodes)
{
    uint32_t first = r->placements.n, n = 0;
    uint32_t *order;

    for (uint32_t k = c->placed; k != NONE; k = r->d->placements.v[k].next)
        n++;
    order = ARENA_ARRAY(r->d->arena, uint32_t, n);
    for (uint32_t k = c->placed; k != NONE; k = r->d->placements.v[k].next)
        order[--n] = k;
    for (uint32_t k = c->placed; k != NONE; k = r->d->placements.v[k].next)
        place(r, &r->d->placements.v[order[n++]], node, nodes,
              c->kind == CLASS_NEW);
    return r->placements.n - first;
}

static void class_report(struct report *r, uint32_t ix)
{
    const struct node_class *c = &r->d->classes.v[ix];
    bool by_node = hands_by_node(r->hands, c);
    bool single = by_node || (c->n > 1 && repeats(r, c, ix));
    uint32_t done = 0;

    while (done < c->n) {
        uint32_t n = single ? 1 : alike(r, c, c->n - done);
        uint32_t first = r->placements.n;
        uint32_t node = by_node ? r->d->members[c->first + done] : NONE;
        uint32_t n_placements = placements_add(r, c, node, n);

        if (c->kind == CLASS_NEW)
            VEC_PUSH(r->d->arena, &r->launches,
                     ((struct plan_launch){
                         .offer = c->offer,
                         .count = n,
                         .final = c->final || !r->d->improvable,
                         .why = c->why,
                         .demand = demand_of(r, first, n_placements, c->demand),
                         .first_placement = first,
                         .n_placements = n_placements}));
        for (uint32_t k = 0; c->kind != CLASS_NEW && k < n; k++) {
            uint32_t i = r->d->members[c->first + done + k];
            struct plan_node *p = &r->nodes[i];

            p->first_placement = first;
            p->n_placements = n_placements;
            r->needed_by[i] = need_of(r, c);
            if (c->kind == CLASS_DRAINING && (c->undrain || c->placed != NONE))
                p->action = NODE_UNDRAIN;
        }
        done += n;
    }
}

static void bundles_explain(struct report *r, struct plan *plan)
{
    const struct tables *t = r->d->t;
    struct refusals out = {{0}};

    for (uint32_t i = 0; i < t->n_groups; i++) {
        const struct group *w = &t->groups[i];
        uint32_t first, n;
        bool ever;

        if (r->d->left[i] == 0)
            continue;
        ever = explain_could_ever(r->d, i);
        explain_group(r->d, i, &out, &first, &n);
        for (uint32_t k = 0; k < w->n; k++) {
            uint32_t b = t->bundles[w->first + k];
            struct plan_bundle *pb = &r->bundles[b];
            uint32_t open = t->s->bundles[b].count - pb->placed - pb->launched;

            if (open == 0)
                continue;
            *(ever ? &pb->waiting : &pb->infeasible) = open;
            pb->first_refusal = first;
            pb->n_refusals = n;
        }
    }
    plan->refusals = out.list.v;
    plan->n_refusals = out.list.n;
}

/* By reason, demand, offer. */
static int launch_before(const void *ctx, uint32_t a, uint32_t b)
{
    const struct report *r = ctx;
    const struct plan_launch *x = &r->launches.v[a], *y = &r->launches.v[b];
    int c = ORDER(x->why, y->why);

    if (c == 0)
        c = ORDER(x->demand + 1, y->demand + 1); /* NONE first */
    if (c == 0)
        c = ORDER(r->d->t->offer_rank[x->offer], r->d->t->offer_rank[y->offer]);
    return c != 0 ? c : ORDER(a, b);
}

static void launches_sort(struct report *r, struct plan *plan)
{
    uint32_t n = r->launches.n;
    uint32_t *order = ARENA_ARRAY(r->d->arena, uint32_t, n);
    struct plan_launch *sorted = ARENA_ARRAY(r->d->arena, struct plan_launch,
                                             n);

    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    order_sort(order, n, launch_before, r, r->d->arena);
    for (uint32_t i = 0; i < n; i++) {
        sorted[i] = r->launches.v[order[i]];
        plan->n_launched += sorted[i].count;
    }
    plan->launches = sorted;
    plan->n_launches = n;
}

void report_make(const struct candidate *d, const struct verdict *verdicts,
                 struct plan *ret)
{
    const struct problem *s = d->t->s;
    struct report r = {
        .d = d,
        .hands = hands_make(d),
        .bundles = ARENA_ARRAY(d->arena, struct plan_bundle, s->n_bundles),
        .nodes = ARENA_ARRAY(d->arena, struct plan_node, s->n_nodes),
        .needed_by = ARENA_ARRAY(d->arena, const struct group *, s->n_nodes),
        .seen_by = ARENA_ARRAY(d->arena, uint32_t, d->t->n_groups),
    };

    *ret = (struct plan){0};
    for (uint32_t i = 0; i < s->n_bundles; i++)
        r.bundles[i].alt = NONE;
    for (uint32_t i = 0; i < s->n_nodes; i++)
        r.nodes[i].demand = NONE;
    for (uint32_t i = 0; i != NONE; i = d->classes.v[i].next)
        if (d->classes.v[i].n > 0)
            class_report(&r, i);
    shrink_idle(d, verdicts, r.needed_by, r.nodes);
    for (uint32_t i = 0; i < s->n_nodes; i++)
        r.nodes[i].demand = demand_of(&r, r.nodes[i].first_placement,
                                      r.nodes[i].n_placements,
                                      r.nodes[i].demand);
    bundles_explain(&r, ret);
    launches_sort(&r, ret);
    for (uint32_t i = 0; i < s->n_nodes; i++)
        ret->n_ended += r.nodes[i].action == NODE_END;
    ret->placements = r.placements.v;
    ret->n_placements = r.placements.n;
    ret->nodes = r.nodes;
    ret->bundles = r.bundles;
    ret->cost_micros_hour = d->bought_cost;
    ret->work = d->work;
}

/* ---- copies */

#define COPY(v, n) arena_copy(arena, (v), sizeof *(v) * (size_t)(n))

static struct plan_proof proof_copy(const struct plan_proof *proof,
                                    struct arena *arena)
{
    struct plan_least *least = COPY(proof->least, proof->n_least);
    struct plan_proof ret = *proof;

    for (uint32_t i = 0; i < proof->n_least; i++)
        least[i].shares = COPY(least[i].shares, least[i].n_shares);
    ret.least = least;
    return ret;
}

static const struct plan_worth *worths_copy(const struct plan *plan,
                                            struct arena *arena)
{
    struct plan_worth *v = COPY(plan->worths, plan->n_worths);

    for (uint32_t i = 0; i < plan->n_worths; i++)
        v[i].demands = COPY(v[i].demands, v[i].n_demands);
    return v;
}

void report_copy_proof(const struct plan *plan, struct arena *arena,
                       struct plan *ret)
{
    ret->worths = worths_copy(plan, arena);
    ret->n_worths = plan->n_worths;
    ret->fleet_proof = proof_copy(&plan->fleet_proof, arena);
    ret->launch_proof = proof_copy(&plan->launch_proof, arena);
}

struct plan report_copy(const struct plan *plan, const struct problem *now,
                        struct arena *arena)
{
    struct plan ret = *plan;

    ret.launches = COPY(plan->launches, plan->n_launches);
    ret.placements = COPY(plan->placements, plan->n_placements);
    ret.nodes = COPY(plan->nodes, now->n_nodes);
    ret.bundles = COPY(plan->bundles, now->n_bundles);
    ret.refusals = COPY(plan->refusals, plan->n_refusals);
    report_copy_proof(plan, arena, &ret);
    return ret;
}
