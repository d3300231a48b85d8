/*
 * improve.c - spends a counted budget on a better plan and a bound.
 *
 * More budget is never worse, by construction: the budget only says when the
 * work ends, nothing that is done before depends on it.  The work is divided
 * into stages that end at fixed marks.  In each, for eight tenths of it but no
 * longer than 400 ms (of many shapes longer), and so that half of it or 40 ms are left for the bound, the worst
 * bins are bought anew, and the linear program of all good fills that this met is
 * solved and dived into, in turn; where that is too short for a dive, for half of it,
 * and where it is too short for the program, they are only bought anew, for three
 * tenths.  Of many shapes, and where the program takes all the time there is, dives are
 * cheap ones until it covers all, and columns are not generated until then.
 * Of the rest column generation goes on for four tenths,
 * a fifth (a quarter when the program is solved) goes to proving its bound, or a tenth
 * and half of the stage (proof.c), or of many shapes nine tenths in all; dives may use
 * it up to 17/20, ruin and recreate has what is left.
 * With too many shapes for the linear program three tenths go to the bound, seven in
 * a stage too short for ruin and recreate, which has the rest and goes warmer there.
 */
#include "inside.h"

#include "../greedy.h"
#include "../proof/proof.h"
#include "../rebuy.h"
#include "../stage.h"
#include "../weight.h"

/* The first stage is at least so many times what the start took. */
#define START_TIMES 2
/* And so many steps a shape without a linear program; to find like ones. */
#define LEAST_ALONE UINT64_C(2000)
#define LIKE_WORK UINT64_C(250)
/* Greedy runs at the start, of a problem without a linear program. */
#define GREEDY_WORK UINT64_C(8000000)
enum { GREEDY_SHAPES = 8000 }; /* of more there are none */
/* Bins that cost so much of the plan are bought in whole numbers before a dive; the
 * dearest, at most so many. */
#define DEAR 0.02
enum { NUMBERS = 12 };

/* Items whose needs have the same power of two learn from one another. */
static const struct view_rough LIKE = {VIEW_LEAVE_POWER, VIEW_LEAVE_POWER};

static const unsigned SIZES = 1u << BY_SUM | 1u << BY_LARGEST | 1u << BY_SCARCE;

/* Into bin[]: those whose number is asked for; how many. */
static uint32_t dear_bins(const struct view *v, int64_t cost, uint32_t *bin)
{
    uint32_t n = 0;

    for (uint32_t t = v->n_bins; t-- > 0 && n < NUMBERS;)
        if ((double)v->price[t] >= DEAR * (double)cost)
            bin[n++] = t;
    return n;
}

static void prepare(struct improve *x, int64_t cost)
{
    const struct view *v = &x->v;
    uint32_t bin[NUMBERS];

    x->lp = v->n_items <= GENERATE_ROWS;
    x->bound = -1;
    x->worth = ARENA_ARRAY(v->arena, double, v->n_items);
    if (x->lp) {
        generate_make(v, bin, dear_bins(v, cost, bin), &x->g);
    } else {
        view_groups(v, LIKE, &x->like);
        x->used += LIKE_WORK * v->n_items;
    }
    x->again = greedy_make(v, NULL, ANEW);
    greedy_look(x->again, LOOK_AT_ALL);
    if (x->lp)
        pool_make(v, &x->pool);
    partial_make(v, &x->trial);
    partial_make(v, &x->best);
    partial_make(v, &x->from);
    space_make(v, &x->space);
}

/* Greedy plans: columns to start from, and weights that were learnt. */
static void start(struct improve *x, const struct cover_plan *first)
{
    weight_from_prices(&x->v, x->worth);
    partial_import(&x->best, first, &x->space);
    if (x->lp)
        master_add_partial(&x->g.master, &x->best);
    if (!x->lp && x->v.n_items > GREEDY_SHAPES)
        return;
    improve_hands(x);
    for (int r = 0; r < 3 && (x->lp || x->used < GREEDY_WORK); r++) {
        partial_clear(&x->trial);
        x->used += greedy_run(x->greedy, x->worth, SIZES, false, &x->trial);
        improve_offer(x);
        if (x->lp)
            master_add_partial(&x->g.master, &x->trial);
        weight_learn(&x->trial, greedy_prices(x->greedy), NULL, true, x->worth);
    }
}

static void stage_run(struct improve *x, uint64_t end)
{
    uint64_t stage = end - improve_work(x);

    if (x->lp)
        improve_by_program(x, stage, end);
    else
        improve_alone(x, stage, end);
    if (improve_left(x) > 0 && !improve_proved(x))
        improve_ruin(x, end);
}

void cover_improve(const struct cover_problem *p,
                   const struct cover_plan *first, uint64_t budget,
                   struct arena *arena, struct cover_plan *ret)
{
    struct improve *x = ARENA_NEW(arena, struct improve);
    uint64_t least;

    view_make(p, arena, &x->v);
    if (!x->v.n_items || !budget) {
        *ret = *first;
        return;
    }
    x->stop = budget;
    prepare(x, first->cost);
    start(x, first);
    x->g.whole = !x->best.n_left;
    least = (x->lp ? DIVE_LEAST : LEAST_ALONE) * x->v.n_items;
    if (least < START_TIMES * improve_work(x))
        least = START_TIMES * improve_work(x);
    for (uint32_t k = 0;
         k < STAGES && improve_left(x) > 0 && !improve_proved(x); k++)
        if (stage_end(k) >= least && stage_end(k) > improve_work(x))
            stage_run(x, stage_end(k));
    partial_export(&x->best, ret);
    ret->bound = improve_bound(x);
    ret->proof = x->proof;
    if (x->lp)
        proof_best(&x->g, &ret->proof);
    if (ret->bound < first->bound) { /* left out as many, or more */
        ret->bound = first->bound;
        ret->proof = first->proof;
    }
    if (ret->bound > ret->cost)
        ret->bound = ret->cost;
    ret->work = improve_work(x);
}
