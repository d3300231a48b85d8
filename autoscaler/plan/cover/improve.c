/*
 * improve.c - spends a counted budget on a better plan and a bound.
 *
 * Four tenths go to column generation, an eighth to its exact pricing where
 * there is enough for that, a fortieth (a sixth when the program is solved) to
 * proving its bound; the dive may use it up to 17/20 (others follow while 6/10
 * are not used and they are of use), ruin and recreate has what is left.  With
 * too many shapes for the linear program it gets clusters of like ones, or is
 * left out; the bound is then one for clusters.  Every phase starts from the
 * best plan so far and can only better it.
 */
#include "bound.h"
#include "coarse.h"
#include "dive.h"
#include "greedy.h"
#include "rebuy.h"
#include "relax.h"
#include "ruin.h"
#include "weight.h"

#include <string.h>

/* More shapes than this: no linear program (its inverse is rows squared). */
#define MOST_ROWS 700
/* Up to here like shapes are worth clustering for it; beyond, clusters so
 * coarse lose more than the program gains. */
#define CLUSTERED 3000
#define MOST_CLUSTERS 250
#define MOST_BOUND_CLUSTERS 150
#define MOST_DIVES 16
/* Steps an item from which exact pricing pays. */
#define EXACT_FROM UINT64_C(2000000)
#define PROVED 1e-5 /* a gap at which looking on is no use */

struct improve {
    struct view v;
    struct generate g;
    struct greedy *greedy;
    struct partial trial, best;
    struct space space;
    double *worth;
    uint64_t used;
    bool lp;
    int64_t bound; /* by clusters, -1: none */
};

/* The first plan as a partial solution; what does not hold (it always does)
 * stays out. */
static void import(struct improve *x, const struct cover_plan *plan,
                   struct partial *d)
{
    const struct view *v = &x->v;
    const struct cover_problem *p = v->p;
    uint32_t *item = ARENA_ARRAY(v->arena, uint32_t, p->n_items);
    uint32_t *bin = ARENA_ARRAY(v->arena, uint32_t, p->n_bins);
    VEC(struct cover_part) part = {0};

    memset(bin, 0xff, p->n_bins * sizeof *bin);
    for (uint32_t i = 0; i < v->n_items; i++)
        item[v->item_of[i]] = i;
    for (uint32_t t = 0; t < v->n_bins; t++)
        bin[v->bin_of[t]] = t;
    partial_clear(d);
    for (uint32_t k = 0; k < plan->n_patterns; k++) {
        const struct cover_pattern *y = &plan->patterns[k];

        part.n = 0;
        for (uint32_t q = 0; q < y->n; q++) {
            struct cover_part z = plan->parts[y->first + q];

            z.item = item[z.item];
            VEC_PUSH(v->arena, &part, z);
        }
        if (bin[y->bin] != UINT32_MAX &&
            partial_holds(v, bin[y->bin], part.v, part.n, &x->space))
            partial_buy(d, bin[y->bin], y->count, part.v, part.n);
    }
}

/* Every plan costs a multiple of what divides all prices: the bound may be
 * rounded up to one. */
static int64_t whole_prices(const struct view *v, double bound)
{
    int64_t unit = 0, floor = (int64_t)bound;

    for (uint32_t t = 0; t < v->n_bins; t++)
        for (int64_t a = v->price[t], b = unit; a; unit = b) {
            int64_t r = b % a;

            b = a;
            a = r;
        }
    if (unit <= 1)
        return floor;
    return (floor + ((double)floor < bound) + unit - 1) / unit * unit;
}

/* Greedy plans: columns to start from, and weights that were learnt. */
static void start(struct improve *x, const struct cover_plan *first,
                  uint64_t budget)
{
    const unsigned sizes = 1u << BY_SUM | 1u << BY_LARGEST | 1u << BY_SCARCE;

    weight_from_prices(&x->v, x->worth);
    import(x, first, &x->best);
    if (x->lp)
        master_add_partial(&x->g.master, &x->best);
    for (int r = 0; r < 3 && (x->lp || x->used < budget / 16); r++) {
        partial_clear(&x->trial);
        x->used += greedy_run(x->greedy, x->worth, sizes, false, &x->trial);
        partial_downgrade(&x->trial, &x->space);
        if (partial_better(&x->trial, &x->best))
            partial_copy(&x->best, &x->trial);
        if (x->lp)
            master_add_partial(&x->g.master, &x->trial);
        weight_learn(&x->trial, x->worth);
    }
}

static int64_t bound_now(const struct improve *x)
{
    double bound;

    if (!x->lp)
        return x->best.n_left ? -1 : x->bound;
    if (x->g.bound < 0)
        return -1;
    bound = x->best.n_left ? bound_without(&x->g, x->best.n_left) : x->g.bound;
    return bound < 0 ? 0 : whole_prices(&x->v, bound);
}

/* Is the best plan as good as proved to be the best there is? */
static bool proved(const struct improve *x)
{
    int64_t bound = bound_now(x);

    return bound >= 0 && (double)bound >= (double)x->best.cost * (1 - PROVED);
}

static void by_program(struct improve *x, uint64_t budget)
{
    static const double worthy[3] = {0.96, 0.98, 0.94};
    static const double steps[4] = {10, 20, 14, 30};
    struct generate *g = &x->g;
    const struct view *v = &x->v;
    struct dive dive;
    uint64_t before, proof;
    bool done;

    memcpy(g->worth, x->worth, v->n_items * sizeof *x->worth);
    master_add_exchanges(&g->master, x->worth);
    g->extra += (uint64_t)v->n_items * v->n_items * 3;
    done = generate_run(g, v->count, budget * 4 / 10, 1e-4, UINT32_MAX, true);
    before = generate_work(g);
    if (budget / EXACT_FROM >= v->n_items)
        bound_exact(g, budget / 20000 + 1000, before + budget / 8);
    before = generate_work(g);
    proof = done ? budget / 6 : budget / 40;
    bound_certify(g, g->worth, budget / 20000 + 1000, before + proof * 3 / 4);
    bound_certify(g, g->centre, budget / 20000 + 1000, before + proof);
    memcpy(x->worth, g->centre, v->n_items * sizeof *x->worth);
    if (proved(x)) {
        x->used += generate_work(g);
        return;
    }
    dive_make(g, x->greedy, &dive);
    dive_run(&dive, budget * 17 / 20, worthy[0], steps[0], &x->best);
    for (int k = 1;
         k < MOST_DIVES && generate_work(g) + dive.work < budget * 6 / 10 &&
         !proved(x);
         k++) {
        int64_t cost = x->best.cost;

        dive_run(&dive, budget * 7 / 10, worthy[k % 3], steps[k % 4], &x->best);
        if (k > 1 && x->best.cost == cost)
            break;
    }
    x->used += generate_work(g) + dive.work;
}

static void improve(const struct cover_problem *p,
                    const struct cover_plan *first, uint64_t budget,
                    struct arena *arena, struct cover_plan *ret,
                    double *ret_worth);

/* Too many shapes for the program: a plan for clusters of like ones, what it
 * leaves out by the greedy. */
static void by_clusters(struct improve *x, uint64_t budget)
{
    const struct view *v = &x->v;
    struct arena *arena = v->arena;
    struct coarse coarse;
    struct cover_plan first, plan;
    double *worth, *price, *largest;

    coarse_make(v, MOST_CLUSTERS, false, &coarse);
    x->used += coarse.work;
    if (!coarse.p.n_items)
        return;
    worth = ARENA_ARRAY(arena, double, coarse.p.n_items);
    largest = ARENA_ARRAY(arena, double, coarse.p.n_items);
    price = ARENA_ARRAY(arena, double, v->n_items);
    cover_first(&coarse.p, arena, &first);
    improve(&coarse.p, &first, budget, arena, &plan, worth);
    /* A cluster's dual is what its largest is worth. */
    weight_from_prices(v, price);
    for (uint32_t i = 0; i < v->n_items; i++)
        if (price[i] > largest[coarse.of[i]])
            largest[coarse.of[i]] = price[i];
    for (uint32_t i = 0; i < v->n_items; i++)
        if (worth[coarse.of[i]] > 0)
            x->worth[i] =
                worth[coarse.of[i]] * price[i] / largest[coarse.of[i]];
    x->used += first.work + plan.work;
    coarse_apply(&coarse, &plan, &x->trial, &x->space);
    x->used += greedy_run(x->greedy, x->worth, 1u << BY_SUM | 1u << BY_SCARCE,
                          false, &x->trial);
    partial_downgrade(&x->trial, &x->space);
    if (partial_better(&x->trial, &x->best))
        partial_copy(&x->best, &x->trial);
}

/* The worst bins are bought anew, which teaches the weights too. */
static void better_anew(struct improve *x, uint64_t budget)
{
    struct rebuy rebuy = {
        x->greedy,
        1u << BY_SUM | 1u << BY_LARGEST | 1u << BY_SCARCE,
        &x->best,
        &x->trial,
        &x->space,
        arena_copy(x->v.arena, x->worth, x->v.n_items * sizeof *x->worth)};

    x->used += rebuy_run(&rebuy, budget);
    memcpy(x->worth, rebuy.weight, x->v.n_items * sizeof *x->worth);
}

/* Too many shapes for a bound of their own: one for clusters of like ones, each
 * as small as its smallest and lying where it likes, is valid for them too. */
static void bound_by_clusters(struct improve *x, uint64_t budget)
{
    struct arena *arena = x->v.arena;
    struct coarse coarse;
    struct cover_plan first, plan;

    coarse_make(&x->v, MOST_BOUND_CLUSTERS, true, &coarse);
    x->used += coarse.work;
    if (!coarse.p.n_items)
        return;
    coarse.p.conserve = false;
    cover_first(&coarse.p, arena, &first);
    cover_improve(&coarse.p, &first, budget, arena, &plan);
    x->used += first.work + plan.work;
    x->bound = plan.bound;
}

static void improve(const struct cover_problem *p,
                    const struct cover_plan *first, uint64_t budget,
                    struct arena *arena, struct cover_plan *ret,
                    double *ret_worth)
{
    struct improve *x = ARENA_NEW(arena, struct improve);

    view_make(p, arena, &x->v);
    if (!x->v.n_items || !budget) {
        *ret = *first;
        return;
    }
    x->lp = x->v.n_items <= MOST_ROWS;
    x->bound = -1;
    x->worth = ARENA_ARRAY(arena, double, x->v.n_items);
    if (x->lp)
        generate_make(&x->v, &x->g);
    else
        x->g.price = price_make(&x->v);
    x->used += (uint64_t)x->v.n_items * x->v.n_items / 8;
    x->greedy = greedy_make(&x->v, x->g.price);
    partial_make(&x->v, &x->trial);
    partial_make(&x->v, &x->best);
    space_make(&x->v, &x->space);
    start(x, first, budget);
    if (x->lp) {
        by_program(x, budget);
    } else {
        if (x->v.n_items <= CLUSTERED)
            by_clusters(x, budget / 4);
        better_anew(x, budget / 8);
        bound_by_clusters(x, budget / 8);
    }
    if (x->used < budget && !proved(x)) {
        uint64_t before = x->g.price->work;
        struct ruin *ruin = ruin_make(&x->v, x->g.price, x->worth);

        x->used += x->g.price->work - before;
        if (x->used < budget)
            x->used += ruin_run(ruin, &x->best, budget - x->used);
    }
    partial_downgrade(&x->best, &x->space);
    partial_export(&x->best, ret);
    ret->bound = bound_now(x);
    if (ret->bound < first->bound)
        ret->bound = first->bound; /* left out as many, or more */
    if (ret->bound > ret->cost)
        ret->bound = ret->cost;
    ret->work = x->used;
    for (uint32_t i = 0; ret_worth && i < x->v.n_items; i++)
        ret_worth[x->v.item_of[i]] = x->worth[i];
}

void cover_improve(const struct cover_problem *p,
                   const struct cover_plan *first, uint64_t budget,
                   struct arena *arena, struct cover_plan *ret)
{
    improve(p, first, budget, arena, ret, NULL);
}
