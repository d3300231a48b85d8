/*
 * first.c - the first plan: the greedy, each bin then made as small as its
 * content; then, again and again, the worst bins are given back and bought anew.
 *
 * One bin than which nothing costs less is a plan at once.  How often is decided by
 * the size of the problem, in counted work, never by a clock; near its bound it ends
 * sooner.
 */
#include "first.h"
#include "prices.h"
#include "rebuy.h"
#include "weight.h"

/* Work that it may use: half a millisecond, of more than some items five times
 * as much an item, up to 7 ms. */
#define WORK_BASE UINT64_C(250000)
#define WORK_ITEM UINT64_C(600)
#define SOME_ITEMS 200
/* Of fewer, in proportion: the loop makes many such plans a step. */
#define FEW_ITEMS UINT64_C(100)
#define WORK_MORE UINT64_C(2000)
#define WORK_ALL UINT64_C(3900000)
/* Many shapes: more. */
#define MANY_SHAPES 700
#define WORK_SHAPE UINT64_C(12000)
#define WORK_SHAPES UINT64_C(36000000)
/* For its bound: a part of all, less of few shapes. */
#define BOUND_PART 8
#define BOUND_SHAPE UINT64_C(5000)
/* So near its bound a first plan is good enough. */
#define ENOUGH 1.001
/* So near it the worths that prove it are nearly those that items have. */
#define NEAR 1.02
#define USELESS 10 /* tries to buy anew in a row */

static const unsigned SIZES = 1u << BY_SUM | 1u << BY_LARGEST;

struct first {
    struct view v;
    struct greedy *g;
    struct partial d, best, from;
    struct space space;
    double *weight;
    struct prices prices; /* the bound */
    bool any;
    uint64_t work, most;
};

/* Completes the plan, which may be the best so far. */
static void complete(struct first *x, const double *weight, bool by_value)
{
    x->work += greedy_run(x->g, weight, SIZES, by_value, &x->d);
    partial_downgrade(&x->d, 0, &x->space);
    x->work += (uint64_t)x->d.pattern.n * x->v.n_bins / 2;
    if (x->any && !partial_better(&x->d, &x->best))
        return;
    partial_copy(&x->best, &x->d);
    x->any = true;
}

static uint64_t most_work(const struct view *v)
{
    uint64_t n = v->total < WORK_ALL / WORK_ITEM ? v->total
                                                 : WORK_ALL / WORK_ITEM;
    uint64_t few = n < FEW_ITEMS ? n : FEW_ITEMS;
    uint64_t most = WORK_BASE * few / FEW_ITEMS + WORK_ITEM * n, more = 0;

    if (n > SOME_ITEMS)
        most += WORK_MORE * (n - SOME_ITEMS);
    if (most > WORK_ALL)
        most = WORK_ALL;
    if (v->n_items > MANY_SHAPES)
        more = WORK_SHAPE * (v->n_items - MANY_SHAPES);
    return most + (more < WORK_SHAPES ? more : WORK_SHAPES);
}

static void prepare(struct first *x, const struct cover_problem *p,
                    struct arena *arena)
{
    view_make(p, arena, &x->v);
    x->g = greedy_make(&x->v, NULL, ANEW);
    partial_make(&x->v, &x->d);
    partial_make(&x->v, &x->best);
    partial_make(&x->v, &x->from);
    space_make(&x->v, &x->space);
    x->weight = ARENA_ARRAY(arena, double, x->v.n_items);
    x->most = most_work(&x->v);
}

/* Of plans that leave as many out as the best one. */
static void bound(struct first *x)
{
    uint64_t most = x->most / BOUND_PART, shapes = BOUND_SHAPE * x->v.n_items;

    x->prices = (struct prices){.v = &x->v,
                                .missing = x->best.n_left,
                                .steps = most < shapes ? most : shapes};
    prices_first(&x->prices);
    x->work += x->prices.used;
}

/* The work that the better bound may take. */
static uint64_t bound_left(const struct first *x)
{
    const struct prices *p = &x->prices;

    return p->used < p->steps ? p->steps - p->used : 0;
}

static int64_t enough(const struct first *x)
{
    return (int64_t)((double)x->prices.bound * ENOUGH);
}

/* Where shapes are nearly alike the first bound is mostly all but the optimum, and what
 * proves it makes the plan: 10,000 bundles that differ in memory only. */
static void by_worths(struct first *x)
{
    const double *worth = x->prices.proof.worth;
    double *weight;

    if (!worth || x->best.cost <= enough(x) ||
        (double)x->best.cost > (double)x->prices.bound * NEAR)
        return;
    weight = ARENA_ARRAY(x->v.arena, double, x->v.n_items);
    for (uint32_t i = 0; i < x->v.n_items; i++)
        weight[i] = worth[x->v.item_of[i]];
    partial_clear(&x->d);
    complete(x, weight, false);
}

/* Only when the plan is not near enough to the first bound. */
static void better_bound(struct first *x, uint64_t n_left)
{
    if (x->best.n_left != n_left)
        bound(x);
    if (x->best.cost <= enough(x))
        return;
    x->work -= x->prices.used;
    prices_better(&x->prices);
    x->work += x->prices.used;
}

/* ---- one bin, the cheapest of all that hold some item of it: most purchases of a
 * running cluster are of one machine */

/* The price of the cheapest bin that may hold it; -1: there is none. */
static int64_t cheapest(const struct view *v, uint32_t item)
{
    int64_t least = -1;

    for (uint32_t t = 0; t < v->n_bins; t++)
        if (view_can(v, t, item) && (least < 0 || v->price[t] < least))
            least = v->price[t];
    return least;
}

static bool is_one(const struct view *v, const struct cover_plan *plan)
{
    if (plan->n_patterns != 1 || plan->patterns[0].count != 1)
        return false;
    for (uint32_t i = 0; i < v->p->n_items; i++)
        if (plan->unplaced[i])
            return false;
    return true;
}

/* A bin is needed for the item, and costs that much at least. */
static void one_prove(const struct view *v, uint32_t item,
                      struct cover_plan *plan)
{
    double *share = ARENA_ARRAY(v->arena, double, v->p->n_items);
    struct cover_least *least = ARENA_NEW(v->arena, struct cover_least);

    share[v->item_of[item]] = 1.0 / v->count[item];
    *least = (struct cover_least){share, 1, (double)plan->cost};
    view_proof(v, ARENA_ARRAY(v->arena, double, v->n_items), 0, &plan->proof);
    plan->proof.least = least;
    plan->proof.n_least = 1;
    plan->bound = plan->cost;
}

/* True: nothing costs less than this plan, whose cost is its bound, with a proof.
 * Otherwise it is left alone. */
static bool one_bin(const struct view *v, struct cover_plan *plan)
{
    if (!is_one(v, plan))
        return false;
    for (uint32_t i = 0; i < v->n_items; i++)
        if (cheapest(v, i) == plan->cost) {
            one_prove(v, i, plan);
            return true;
        }
    return false;
}

/* ---- more */

/* Where the limits leave something out for want of bins, the fullest are tried, whatever
 * they cost: not before the prices of limits have been learnt, nor after there is no
 * work left to make that plan cheaper. */
static void buy_anew(struct first *x, struct rebuy *rebuy, uint64_t most)
{
    bool of_bins = x->best.n_left && x->v.p->max_bins != UNLIMITED;
    uint64_t left = x->work < most ? most - x->work : 0;

    x->work += rebuy_run(rebuy, of_bins ? left / 2 : left, UINT64_MAX);
    if (!of_bins)
        return;
    if (x->best.n_left) {
        partial_clear(&x->d);
        complete(x, x->weight, true);
    }
    left = x->work < most ? most - x->work : 0;
    x->work += rebuy_run(rebuy, left, UINT64_MAX);
}

void first_make(const struct cover_problem *p, bool bounded,
                struct arena *arena, struct cover_plan *ret)
{
    struct first x = {0};
    struct rebuy rebuy;
    uint64_t n_left;

    prepare(&x, p, arena);
    weight_from_prices(&x.v, x.weight);
    complete(&x, x.weight, false);
    if (bounded && x.best.pattern.n == 1) {
        partial_export(&x.best, ret);
        ret->work = x.work;
        if (one_bin(&x.v, ret))
            return;
    }
    n_left = x.best.n_left;
    if (bounded) {
        bound(&x);
        by_worths(&x);
    } else /* what is bought beside it costs the rest */
        x.most = x.most / 5 * 4;
    greedy_look(x.g, LOOK_AT_MANY);
    rebuy = (struct rebuy){.greedy = x.g,
                           .best = &x.best,
                           .trial = &x.d,
                           .from = &x.from,
                           .space = &x.space,
                           .weight = x.weight,
                           .enough = enough(&x),
                           .useless = USELESS};
    buy_anew(&x, &rebuy, x.most - bound_left(&x));
    if (bounded)
        better_bound(&x, n_left);
    partial_export(&x.best, ret);
    ret->bound = x.prices.bound < ret->cost ? x.prices.bound : ret->cost;
    ret->proof = x.prices.proof;
    ret->work = x.work;
}
