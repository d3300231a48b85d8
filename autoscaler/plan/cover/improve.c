/*
 * improve.c - spends a counted budget on a better plan and a bound.
 *
 * More budget is never worse, by construction: the budget only says when the
 * work ends, nothing that is done before depends on it.  The work is divided
 * into stages that end at fixed marks.  In each column generation goes on for
 * four tenths of the stage, an eighth goes to its exact pricing where there is
 * enough for that, a fortieth (a sixth when the program is solved) to proving
 * its bound; dives may use it up to 17/20, ruin and recreate has the rest.
 * With too many shapes for the linear program it gets clusters of like ones, or
 * is left out; the bound is then one for clusters.
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
#define MOST_DIVES 16 /* a stage */
/* Steps an item from which exact pricing pays. */
#define EXACT_FROM UINT64_C(2000000)
#define PROVED 1e-5 /* a gap at which looking on is no use */
/* The first stage is at least so many times what the start took. */
#define START_TIMES 2
/* And so many steps a shape: in less a dive is of no use. */
#define LEAST_STAGE UINT64_C(80000)
/* Greedy runs at the start, of a problem without a linear program. */
#define GREEDY_WORK UINT64_C(8000000)

static const unsigned SIZES = 1u << BY_SUM | 1u << BY_LARGEST | 1u << BY_SCARCE;

/* Many shapes in place of which a few are covered. */
struct clustered {
    struct coarse coarse;
    struct cover_plan first;
    bool made;
};

struct improve {
    struct view v;
    struct generate g;
    struct dive dive;
    struct ruin *ruin;
    struct greedy *greedy;
    struct partial trial, best;
    struct space space;
    double *worth;
    uint64_t used;  /* work that g does not count */
    uint64_t stop;  /* the budget */
    bool lp, begun; /* a linear program; it has columns */
    bool solved;    /* there is no better column */
    int n_dives;
    struct clustered largest, smallest;
    int64_t bound; /* by clusters, -1: none */
};

static uint64_t work_of(const struct improve *x)
{
    return x->used + (x->lp ? generate_work(&x->g) : x->g.price->work);
}

static uint64_t left_of(const struct improve *x)
{
    uint64_t work = work_of(x);

    return work < x->stop ? x->stop - work : 0;
}

/* The end of the k-th stage in counted steps.  A stage must be long against all
 * before it, else its dive comes to nothing; budgets that people give are ends
 * of stages, so none of their work is cut short. */
static uint64_t mark(uint32_t k)
{
    static const uint64_t ms[] = {1, 5, 20, 100, 500, 2000, 5000, 20000};
    uint32_t n = sizeof ms / sizeof *ms;

    if (k < n)
        return ms[k] * COVER_STEPS_PER_MS;
    return k < n + 8 ? mark(k - 1) * 5 : UINT64_MAX;
}

/* The trial, each bin as small as its content, if it is better. */
static void offer(struct improve *x)
{
    partial_downgrade(&x->trial, &x->space);
    if (partial_better(&x->trial, &x->best))
        partial_copy(&x->best, &x->trial);
}

/* Greedy plans: columns to start from, and weights that were learnt. */
static void start(struct improve *x, const struct cover_plan *first)
{
    weight_from_prices(&x->v, x->worth);
    partial_import(&x->best, first, &x->space);
    if (x->lp)
        master_add_partial(&x->g.master, &x->best);
    for (int r = 0; r < 3 && (x->lp || x->used < GREEDY_WORK); r++) {
        partial_clear(&x->trial);
        x->used += greedy_run(x->greedy, x->worth, SIZES, false, &x->trial);
        offer(x);
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
    return bound < 0 ? 0 : bound_whole(&x->v, bound);
}

/* Is the best plan as good as proved to be the best there is? */
static bool proved(const struct improve *x)
{
    int64_t bound = bound_now(x);

    return bound >= 0 && (double)bound >= (double)x->best.cost * (1 - PROVED);
}

/* ---- by the linear program */

/* The program is that of the whole demand, as it was left. */
static void resume(struct improve *x)
{
    struct generate *g = &x->g;
    uint64_t n = x->v.n_items;

    if (x->n_dives > 0)
        dive_undo(&x->dive);
    if (x->begun)
        return;
    memcpy(g->worth, x->worth, n * sizeof *x->worth);
    master_add_exchanges(&g->master, x->worth);
    g->extra += n * n * 3;
    dive_make(g, x->greedy, &x->dive);
    x->begun = true;
}

/* Columns and the bound; `stage` steps from now on, up to `end` in all. */
static void generate_some(struct improve *x, uint64_t stage, uint64_t end)
{
    struct generate *g = &x->g;
    uint64_t from = generate_work(g), nodes = end / 20000 + 1000, now;
    bool done = generate_run(g, x->v.count, from + stage * 4 / 10, 1e-4,
                             UINT32_MAX, true);

    now = generate_work(g);
    if (end / EXACT_FROM >= x->v.n_items && !x->solved)
        x->solved = bound_exact(g, nodes, now + stage / 8);
    now = generate_work(g);
    stage = done ? stage / 6 : stage / 40;
    bound_certify(g, g->worth, nodes, now + stage * 3 / 4);
    bound_certify(g, g->centre, nodes, now + stage);
}

static void dive_some(struct improve *x, uint64_t from, uint64_t stage)
{
    static const double worthy[3] = {0.96, 0.98, 0.94};
    static const double steps[4] = {10, 20, 14, 30};
    struct generate *g = &x->g;

    for (int k = 0; k < MOST_DIVES && !generate_stopped(g); k++) {
        int64_t cost = x->best.cost;
        int n = x->n_dives++;

        if (k > 0 && (generate_work(g) >= from + stage * 6 / 10 || proved(x)))
            break;
        dive_run(&x->dive, from + (k ? stage * 7 / 10 : stage * 17 / 20),
                 worthy[n % 3], steps[n % 4], &x->best);
        if (k > 1 && x->best.cost == cost)
            break;
    }
}

static void by_program(struct improve *x, uint64_t stage, uint64_t end)
{
    struct generate *g = &x->g;
    uint64_t from = generate_work(g);

    g->stop = from + left_of(x);
    resume(x);
    generate_some(x, stage, end);
    memcpy(x->worth, g->centre, x->v.n_items * sizeof *x->worth);
    if (!proved(x))
        dive_some(x, from, stage);
}

/* ---- by clusters */

static void improve(const struct cover_problem *p,
                    const struct cover_plan *first, uint64_t budget,
                    struct arena *arena, struct cover_plan *ret,
                    double *ret_worth);

/* False: the shapes are too many to be clustered, or there is no time. */
static bool cluster(struct improve *x, struct clustered *c, uint32_t most,
                    bool smallest)
{
    if (!c->made) {
        coarse_make(&x->v, most, smallest, &c->coarse);
        if (smallest)
            c->coarse.p.conserve = false;
        x->used += c->coarse.work;
        if (c->coarse.p.n_items) {
            cover_first(&c->coarse.p, x->v.arena, &c->first);
            x->used += c->first.work;
        }
        c->made = true;
    }
    return c->coarse.p.n_items > 0;
}

/* What items are worth by the duals of the clusters: a cluster's is that of its
 * largest. */
static void spread_worth(struct improve *x, const struct coarse *coarse,
                         const double *worth)
{
    const struct view *v = &x->v;
    double *largest = ARENA_ARRAY(v->arena, double, coarse->p.n_items);
    double *price = ARENA_ARRAY(v->arena, double, v->n_items);

    weight_from_prices(v, price);
    for (uint32_t i = 0; i < v->n_items; i++)
        if (price[i] > largest[coarse->of[i]])
            largest[coarse->of[i]] = price[i];
    for (uint32_t i = 0; i < v->n_items; i++)
        if (worth[coarse->of[i]] > 0)
            x->worth[i] = worth[coarse->of[i]] * price[i] /
                          largest[coarse->of[i]];
}

/* Too many shapes for the program: a plan for clusters of like ones, what it
 * leaves out by the greedy. */
static void by_clusters(struct improve *x, uint64_t budget)
{
    struct arena *arena = x->v.arena;
    struct clustered *c = &x->largest;
    struct cover_plan plan;
    double *worth;

    if (!cluster(x, c, MOST_CLUSTERS, false) || left_of(x) < budget)
        return;
    worth = ARENA_ARRAY(arena, double, c->coarse.p.n_items);
    improve(&c->coarse.p, &c->first, budget, arena, &plan, worth);
    x->used += plan.work;
    spread_worth(x, &c->coarse, worth);
    coarse_apply(&c->coarse, &plan, &x->trial, &x->space);
    x->used += greedy_run(x->greedy, x->worth, 1u << BY_SUM | 1u << BY_SCARCE,
                          false, &x->trial);
    offer(x);
}

/* The worst bins are bought anew, which teaches the weights too. */
static void better_anew(struct improve *x, uint64_t budget)
{
    uint64_t left = left_of(x);
    struct rebuy rebuy = {
        x->greedy,
        SIZES,
        &x->best,
        &x->trial,
        &x->space,
        arena_copy(x->v.arena, x->worth, x->v.n_items * sizeof *x->worth)};

    x->used += rebuy_run(&rebuy, budget < left ? budget : left);
    memcpy(x->worth, rebuy.weight, x->v.n_items * sizeof *x->worth);
}

/* Too many shapes for a bound of their own: one for clusters of like ones, each
 * as small as its smallest and lying where it likes, is valid for them too. */
static void bound_by_clusters(struct improve *x, uint64_t budget)
{
    struct clustered *c = &x->smallest;
    struct cover_plan plan;

    if (!cluster(x, c, MOST_BOUND_CLUSTERS, true) || left_of(x) < budget)
        return;
    cover_improve(&c->coarse.p, &c->first, budget, x->v.arena, &plan);
    x->used += plan.work;
    if (plan.bound > x->bound)
        x->bound = plan.bound;
}

/* ---- stages */

/* What is cut short has become as good as it was to become until then. */
static void ruin_some(struct improve *x, uint64_t end)
{
    uint64_t work;

    ruin_value(x->ruin, x->worth);
    work = work_of(x);
    if (work >= end || work >= x->stop)
        return;
    partial_copy(&x->trial, &x->best);
    x->used += ruin_run(x->ruin, &x->trial, end - work, x->stop - work);
    if (work_of(x) < x->stop)
        offer(x);
    else if (partial_better(&x->trial, &x->best))
        partial_copy(&x->best, &x->trial);
}

static void stage_run(struct improve *x, uint64_t end)
{
    uint64_t from = work_of(x), stage = end - from;

    if (x->lp) {
        by_program(x, stage, end);
    } else {
        if (x->v.n_items <= CLUSTERED)
            by_clusters(x, stage / 4);
        better_anew(x, stage / 8);
        bound_by_clusters(x, stage / 8);
    }
    if (left_of(x) > 0 && !proved(x))
        ruin_some(x, end);
}

static void prepare(struct improve *x)
{
    const struct view *v = &x->v;

    x->lp = v->n_items <= MOST_ROWS;
    x->bound = -1;
    x->worth = ARENA_ARRAY(v->arena, double, v->n_items);
    if (x->lp)
        generate_make(v, &x->g);
    else
        x->g.price = price_make(v);
    x->used += (uint64_t)v->n_items * v->n_items / 8;
    x->greedy = greedy_make(v, x->g.price);
    x->ruin = ruin_make(v, x->g.price);
    partial_make(v, &x->trial);
    partial_make(v, &x->best);
    space_make(v, &x->space);
}

static void improve(const struct cover_problem *p,
                    const struct cover_plan *first, uint64_t budget,
                    struct arena *arena, struct cover_plan *ret,
                    double *ret_worth)
{
    struct improve *x = ARENA_NEW(arena, struct improve);
    uint64_t least;

    view_make(p, arena, &x->v);
    if (!x->v.n_items || !budget) {
        *ret = *first;
        return;
    }
    x->stop = budget;
    prepare(x);
    start(x, first);
    least = LEAST_STAGE * x->v.n_items;
    if (least < START_TIMES * work_of(x))
        least = START_TIMES * work_of(x);
    for (uint32_t k = 0; left_of(x) > 0 && !proved(x); k++)
        if (mark(k) >= least && mark(k) > work_of(x))
            stage_run(x, mark(k));
    partial_export(&x->best, ret);
    ret->bound = bound_now(x);
    if (ret->bound < first->bound)
        ret->bound = first->bound; /* left out as many, or more */
    if (ret->bound > ret->cost)
        ret->bound = ret->cost;
    ret->work = work_of(x);
    for (uint32_t i = 0; ret_worth && i < x->v.n_items; i++)
        ret_worth[x->v.item_of[i]] = x->worth[i];
}

void cover_improve(const struct cover_problem *p,
                   const struct cover_plan *first, uint64_t budget,
                   struct arena *arena, struct cover_plan *ret)
{
    improve(p, first, budget, arena, ret, NULL);
}
