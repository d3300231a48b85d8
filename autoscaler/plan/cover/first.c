/*
 * first.c - the first plan: the greedy with several weights and sizes,
 * each bin then made as small as its content, the cheapest result kept; then,
 * again and again, its worst bins are given back and bought anew.
 *
 * The first variant alone is the plain price-greedy plan; the others can only
 * improve on it.  How many run is decided by the size of the problem, in
 * counted work, never by a clock.
 */
#include "prices.h"
#include "rebuy.h"
#include "weight.h"

/* Work all variants together may use: about 1 ms, and 1 ms more for 700 items,
 * up to 6 ms. */
#define WORK_BASE UINT64_C(200000)
#define WORK_ITEM UINT64_C(400)
#define WORK_ALL UINT64_C(1900000)
/* One shape a pod: more, up to 150 ms. */
#define MANY_SHAPES 700
#define WORK_SHAPE UINT64_C(40000)
#define WORK_SHAPES UINT64_C(50000000)
#define ROUNDS 6
#define ROUNDS_LARGE 3 /* when more would leave too little for the rest */

static const unsigned ALL_SIZES = 1u << BY_SUM | 1u << BY_LARGEST |
                                  1u << BY_SCARCE;

struct first {
    struct view v;
    struct greedy *g;
    struct partial d, best;
    struct space space;
    double *weight;
    bool any;
    uint64_t work, most;
};

/* Completes the plan; true when it is the best so far. */
static bool complete(struct first *x, const double *weight, unsigned sizes,
                     bool by_value)
{
    x->work += greedy_run(x->g, weight, sizes, by_value, &x->d);
    partial_downgrade(&x->d, &x->space);
    x->work += (uint64_t)x->d.pattern.n * x->v.n_bins / 2;
    if (x->any && !partial_better(&x->d, &x->best))
        return false;
    partial_copy(&x->best, &x->d);
    x->any = true;
    return true;
}

static uint64_t most_work(const struct view *v)
{
    uint64_t most = WORK_ALL, more = 0;

    if (v->total < (WORK_ALL - WORK_BASE) / WORK_ITEM)
        most = WORK_BASE + WORK_ITEM * v->total;
    if (v->n_items > MANY_SHAPES)
        more = WORK_SHAPE * (v->n_items - MANY_SHAPES);
    return most + (more < WORK_SHAPES ? more : WORK_SHAPES);
}

/* Variants with other sizes and with weights that learn from each. */
static void try_variants(struct first *x)
{
    static const unsigned sizes[ROUNDS] = {
        1u << BY_SUM | 1u << BY_LARGEST,
        1u << BY_SUM | 1u << BY_SCARCE,
        ALL_SIZES,
        1u << BY_SUM | 1u << BY_SCARCE,
        1u << BY_SUM | 1u << BY_SCARCE,
        1u << BY_SUM | 1u << BY_SCARCE,
    };
    uint64_t last = 0;

    for (int r = 0; r < ROUNDS; r++) {
        uint64_t before = x->work;

        if (r && x->work + last > x->most && !x->d.n_left)
            break;
        if (r >= ROUNDS_LARGE && x->work > x->most / 3)
            break;
        partial_clear(&x->d);
        complete(x, x->weight, sizes[r], false);
        weight_learn(&x->d, x->weight);
        last = x->work - before;
    }
}

static void prepare(struct first *x, const struct cover_problem *p,
                    struct arena *arena)
{
    view_make(p, arena, &x->v);
    x->g = greedy_make(&x->v, NULL);
    partial_make(&x->v, &x->d);
    partial_make(&x->v, &x->best);
    space_make(&x->v, &x->space);
    x->weight = ARENA_ARRAY(arena, double, x->v.n_items);
    x->most = most_work(&x->v);
}

void cover_first(const struct cover_problem *p, struct arena *arena,
                 struct cover_plan *ret)
{
    struct first x = {0};
    struct rebuy rebuy;
    double *plain;

    prepare(&x, p, arena);
    weight_from_prices(&x.v, x.weight);
    plain = arena_copy(arena, x.weight, x.v.n_items * sizeof *plain);
    try_variants(&x);
    rebuy = (struct rebuy){x.g, ALL_SIZES, &x.best, &x.d, &x.space, plain};
    if (x.work < x.most)
        x.work += rebuy_run(&rebuy, x.most - x.work);
    if (x.best.n_left && p->max_bins != UNLIMITED) {
        /* Bins are what is short: the fullest first, whatever they cost. */
        partial_clear(&x.d);
        complete(&x, x.weight, ALL_SIZES, true);
    }
    partial_export(&x.best, ret);
    ret->bound = prices_bound(&x.v, x.best.n_left, x.most / 8, &x.work,
                              &ret->proof);
    if (ret->bound > ret->cost)
        ret->bound = ret->cost;
    ret->work = x.work;
}
