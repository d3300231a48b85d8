/*
 * certify.c - a bound without a plan.
 *
 * A quarter of the work is for prices of resources; column generation and its proof
 * have the rest, in stages (stage.h), so that more is never worse.  With too many
 * shapes for it prices have all.
 */
#include "bound.h"
#include "exact/exact.h"
#include "greedy.h"
#include "prices.h"
#include "proof/proof.h"
#include "stage.h"
#include "steady/layout.h"
#include "weight.h"

/* For the bound from prices of resources: at least so many steps, of few shapes
 * fewer, whose program is soon solved, and of a budget. */
#define PRICES_LEAST UINT64_C(600000)
#define PRICES_SHAPE UINT64_C(4000)
/* Of so few the program comes first: when it is solved, prices prove no more. */
#define FEW_SHAPES 16
#define PRICES_PART 4
#define TIGHT 1e-7
#define STARTS 3 /* greedy plans whose patterns are the first columns */

static const unsigned SIZES = 1u << BY_SUM | 1u << BY_LARGEST | 1u << BY_SCARCE;

struct certify {
    struct view v;
    struct generate g;
    struct greedy *greedy;
    struct partial trial;
    struct space space;
    double *worth;
    int64_t enough; /* a bound of that is all there is */
};

/* hint: per item of the view, or NULL. */
static void start(struct certify *x, const double *hint)
{
    const struct view *v = &x->v;

    generate_make(v, NULL, 0, &x->g);
    x->greedy = greedy_make(v, x->g.price, 0);
    partial_make(v, &x->trial);
    space_make(v, &x->space);
    weight_from_prices(v, x->worth);
    for (int r = 0; r < STARTS; r++) {
        partial_clear(&x->trial);
        x->g.extra += greedy_run(x->greedy, x->worth, SIZES, false, &x->trial);
        partial_downgrade(&x->trial, 0, &x->space);
        master_add_partial(&x->g.master, &x->trial);
        weight_learn(&x->trial, greedy_prices(x->greedy), NULL, true, x->worth);
    }
    generate_begin(&x->g, hint ? hint : x->worth);
}

/* No bound of this kind is above the program's value, once it is under way, but for
 * numbers of bins. */
static bool tight(const struct generate *g)
{
    double value = lp_value(g->master.lp);

    return value > 0 && g->bound >= value * (1 - TIGHT) && !proof_may_rise(g);
}

static double by_program(struct certify *x, uint64_t missing,
                         const double *hint, uint64_t budget)
{
    struct generate *g = &x->g;

    start(x, hint);
    g->missing = missing;
    g->whole = !missing;
    g->stop = budget;
    g->enough = (double)x->enough;
    if (hint)
        bound_try(g, hint);
    for (uint32_t k = 0;
         k < STAGES && !generate_stopped(g) && !tight(g) && !proof_enough(g);
         k++)
        if (stage_end(k) > generate_work(g))
            proof_stage(g, stage_end(k) - generate_work(g), stage_end(k));
    return proof_best(g, NULL);
}

/* By the linear program of the items. */
static int64_t by_duals(struct certify *x, uint64_t missing, const double *hint,
                        uint64_t budget, uint64_t *work,
                        struct cover_proof *ret_proof)
{
    const struct view *v = &x->v;
    double *worth = NULL, bound;

    if (hint)
        worth = ARENA_ARRAY(v->arena, double, v->n_items);
    for (uint32_t i = 0; hint && i < v->n_items; i++)
        worth[i] = hint[v->item_of[i]];
    bound = by_program(x, missing, worth, budget);
    proof_best(&x->g, ret_proof);
    *work += generate_work(&x->g);
    return bound > 0 ? view_whole(v, bound) : 0;
}

/* As much as the program's value, to the last micro?  Then prices, which come to no
 * more than that, prove no more. */
static bool all_proved(const struct certify *x, int64_t bound)
{
    double value = lp_value(x->g.master.lp);

    return value > 0 && bound >= view_whole(&x->v, value);
}

static uint64_t least_of(const struct certify *x)
{
    if (x->v.n_items < PRICES_LEAST / PRICES_SHAPE)
        return PRICES_SHAPE * x->v.n_items;
    return PRICES_LEAST;
}

/* Prices of resources prove so much in so many steps; of large problems by duals that
 * are known, and with more steps, or where limits are in the way, by their own. */
static int64_t by_prices(const struct certify *x,
                         const struct cover_duals *duals, uint64_t missing,
                         uint64_t steps, uint64_t *work,
                         struct cover_proof *ret_proof)
{
    const uint64_t least = least_of(x);
    const uint64_t limits = duals ? duals->limits : prices_least(&x->v);
    struct cover_proof proof;
    int64_t bound, better;

    if (steps < limits)
        steps = limits;
    if (!duals)
        return exact_bound(&x->v, missing, steps < least ? least : steps, work,
                           ret_proof, NULL);
    bound = duals_prove(&x->v, duals, missing, ret_proof);
    *work += duals->work;
    if (steps <= least && limits == 0)
        return bound;
    better = exact_bound(&x->v, missing, steps, work, &proof, NULL);
    if (better > bound)
        *ret_proof = proof;
    return better > bound ? better : bound;
}

static int64_t prove_few(struct certify *x, uint64_t missing,
                         const double *hint, uint64_t budget,
                         const struct cover_duals *duals, uint64_t *work,
                         struct cover_proof *proof)
{
    struct cover_proof other = {0};
    uint64_t steps = budget / PRICES_PART;
    int64_t bound = 0, better = 0;
    bool few;

    budget -= steps;
    few = x->v.n_items <= FEW_SHAPES && budget > 0;
    if (few)
        better = by_duals(x, missing, hint, budget, work, &other);
    if (!few || (better < x->enough && !all_proved(x, better)))
        bound = by_prices(x, duals, missing, steps, work, proof);
    if (!few && budget > 0)
        better = by_duals(x, missing, hint, budget, work, &other);
    if (better > bound)
        *proof = other;
    return better > bound ? better : bound;
}

/* The view is made; duals: NULL, or of a large problem. */
static int64_t prove(struct certify *x, uint64_t missing, const double *hint,
                     uint64_t budget, const struct cover_duals *duals,
                     uint64_t *work, struct cover_proof *ret_proof)
{
    struct cover_proof proof = {0};
    int64_t bound;

    if (ret_proof)
        *ret_proof = proof;
    /* Those that fit nowhere are left out by any plan. */
    missing -= missing < x->v.no_home ? missing : x->v.no_home;
    if (!x->v.n_items || missing >= x->v.total)
        return 0;
    x->worth = ARENA_ARRAY(x->v.arena, double, x->v.n_items);
    bound = x->v.n_items > GENERATE_ROWS
                ? by_prices(x, duals, missing, budget, work, &proof)
                : prove_few(x, missing, hint, budget, duals, work, &proof);
    if (ret_proof)
        *ret_proof = proof;
    return bound;
}

int64_t cover_bound_from(const struct cover_problem *p,
                         const struct cover_layout *layout,
                         const struct cover_duals *duals, uint64_t missing,
                         const double *hint, int64_t enough, uint64_t budget,
                         struct arena *arena, uint64_t *work,
                         struct cover_proof *ret_proof)
{
    struct certify *x = ARENA_NEW(arena, struct certify);

    x->enough = enough;
    view_again(&layout->v, p, arena, &x->v);
    return prove(x, missing, hint, budget, duals, work, ret_proof);
}

int64_t cover_bound(const struct cover_problem *p, uint64_t missing,
                    const double *hint, int64_t enough, uint64_t budget,
                    struct arena *arena, uint64_t *work,
                    struct cover_proof *ret_proof)
{
    const struct cover_layout *layout;
    struct cover_problem rounded;
    struct cover_duals duals;
    struct certify *x;

    if (cover_rounded(p, arena, &rounded)) {
        layout = cover_layout(p, arena);
        cover_duals(&rounded, layout, arena, &duals);
        return cover_bound_from(p, layout, &duals, missing, hint, enough,
                                budget, arena, work, ret_proof);
    }
    x = ARENA_NEW(arena, struct certify);
    x->enough = enough;
    view_make(p, arena, &x->v);
    return prove(x, missing, hint, budget, NULL, work, ret_proof);
}
