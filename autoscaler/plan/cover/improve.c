/*
 * improve.c - spends a counted budget on a better plan and a bound.
 *
 * More budget is never worse, by construction: the budget only says when the
 * work ends, nothing that is done before depends on it.  The work is divided
 * into stages that end at fixed marks.  In each, for eight tenths of it but no
 * longer than 400 ms, and so that half of it or 40 ms are left for the bound, the worst
 * bins are bought anew, and the linear program of all good fills that this met is
 * solved and dived into, in turn; where that is too short for a dive, for half of it,
 * and where it is too short for the program, they are only bought anew, for three
 * tenths.  Of the rest column generation goes on for four tenths, a fifth (a quarter
 * when the program is solved) goes to proving its bound, or a tenth and half of the
 * stage (proof.c); dives may use it up to 17/20, ruin and recreate has what is left.
 * With too many shapes for the linear program three tenths go to the bound, seven in
 * a stage too short for ruin and recreate, which has the rest and goes warmer there.
 */
#include "bound.h"
#include "dive/dive.h"
#include "exact/exact.h"
#include "greedy.h"
#include "groups/groups.h"
#include "proof/proof.h"
#include "rebuy.h"
#include "ruin.h"
#include "stage.h"
#include "weight.h"

#include <string.h>

#define MOST_DIVES 16 /* a stage */
#define PROVED 1e-5   /* a gap at which looking on is no use */
/* The first stage is at least so many times what the start took. */
#define START_TIMES 2
/* And so many steps a shape: in less a dive is of no use. */
#define LEAST_STAGE UINT64_C(80000)
/* Greedy runs at the start, of a problem without a linear program. */
#define GREEDY_WORK UINT64_C(8000000)
enum { GREEDY_SHAPES = 8000 }; /* of more there are none */

/* What is bought anew may be dearer than the best at first, by this part of it;
 * so many tries of no use are enough. */
#define DEARER 0.005
#define USELESS 300
/* Rounds of buying anew and a dive by what that met: so much of a stage in all,
 * and to buying anew in each.  In longer stages the program with columns of its
 * own is of more use. */
#define ROUNDS_TENTHS 8
#define ROUNDS_SHORT \
    5 /* where there is time for one round, and no dive in it */
#define ROUNDS_MOST (400 * COVER_STEPS_PER_MS)
/* The bound needs so much of a stage, but no more than half of it. */
#define ROUNDS_LEAVE (40 * COVER_STEPS_PER_MS)
/* In a stage of less than so many steps, times the square of the shapes, the
 * dives come to nothing. */
#define ROUNDS_FROM UINT64_C(800)
#define ROUNDS_WELL UINT64_C(2000) /* in less, one round comes to no dive */
#define ANEW_TENTHS 3
#define ANEW_MOST (40 * COVER_STEPS_PER_MS)
#define ANEW_ALONE \
    (100 * COVER_STEPS_PER_MS) /* where dives may come to nothing */
/* Of a stage without a linear program, for the bound; of one too short for ruin and
 * recreate. */
#define BOUND_TENTHS 3
#define BOUND_SHORT 7
/* How much dearer a step of ruin and recreate may be: where it is all there is, more. */
#define WARM 0.1
#define WARM_ALONE 0.4
/* Without a linear program, steps a shape: in less ruin and recreate comes to nothing;
 * a stage that is shorter is left out; to find like ones. */
#define RUIN_LEAST UINT64_C(6000)
#define LEAST_ALONE UINT64_C(2000)
#define LIKE_WORK UINT64_C(250)
/* Bins that cost so much of the plan are bought in whole numbers before a dive; the
 * dearest, at most so many. */
#define DEAR 0.02
enum { NUMBERS = 12 };
/* Columns to begin with, for each shape. */
#define FIRST_COLUMNS 2

/* Items whose needs have the same power of two learn from one another. */
static const struct view_rough LIKE = {VIEW_LEAVE_POWER, VIEW_LEAVE_POWER};

static const unsigned SIZES = 1u << BY_SUM | 1u << BY_LARGEST | 1u << BY_SCARCE;

struct improve {
    struct view v;
    struct generate g;
    struct dive dive;
    struct pool pool;
    struct ruin *ruin;
    struct greedy *greedy, *again; /* again: its fills are filled anew */
    struct partial trial, best, from;
    struct space space;
    double *worth;
    uint64_t used;  /* work that g does not count */
    uint64_t stop;  /* the budget */
    bool lp, begun; /* a linear program; it has columns */
    bool fed;       /* some of the pool's */
    int n_dives;
    /* Without a linear program: weights of like items, a bound by other means. */
    struct alike like;
    struct groups *groups;
    bool priced;   /* prices of resources prove no more */
    bool between;  /* weights have learnt from the bound's */
    int64_t bound; /* -1: none */
    struct cover_proof proof;
};

static uint64_t work_of(const struct improve *x)
{
    if (x->lp)
        return x->used + generate_work(&x->g);
    return x->used + (x->g.price ? x->g.price->work : 0);
}

static uint64_t left_of(const struct improve *x)
{
    uint64_t work = work_of(x);

    return work < x->stop ? x->stop - work : 0;
}

/* The trial, each bin as small as its content, if it is better. */
static void offer(struct improve *x)
{
    partial_downgrade(&x->trial, 0, &x->space);
    if (partial_better(&x->trial, &x->best))
        partial_copy(&x->best, &x->trial);
}

/* What greedy plans by worth over priced size need, and ruin and recreate: takes long of
 * many shapes, so it is made when it is needed. */
static void hands_make(struct improve *x)
{
    const struct view *v = &x->v;

    if (x->ruin)
        return;
    if (!x->lp)
        x->g.price = price_make(v);
    x->used += (uint64_t)v->n_items * v->n_items / 8;
    x->greedy = greedy_make(v, x->g.price, 0);
    x->ruin = ruin_make(v, x->g.price, x->lp ? WARM : WARM_ALONE);
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
    hands_make(x);
    for (int r = 0; r < 3 && (x->lp || x->used < GREEDY_WORK); r++) {
        partial_clear(&x->trial);
        x->used += greedy_run(x->greedy, x->worth, SIZES, false, &x->trial);
        offer(x);
        if (x->lp)
            master_add_partial(&x->g.master, &x->trial);
        weight_learn(&x->trial, greedy_prices(x->greedy), NULL, x->worth);
    }
}

static int64_t bound_now(const struct improve *x)
{
    double bound;

    if (!x->lp)
        return x->best.n_left ? -1 : x->bound;
    if (x->g.bound < 0)
        return -1;
    bound = x->best.n_left ? bound_without(&x->g, x->best.n_left)
                           : proof_best(&x->g, NULL);
    return bound < 0 ? 0 : view_whole(&x->v, bound);
}

/* Is the best plan as good as proved to be the best there is? */
static bool proved(const struct improve *x)
{
    int64_t bound = bound_now(x);

    return bound >= 0 && (double)bound >= (double)x->best.cost * (1 - PROVED);
}

/* ---- by buying anew */

/* The worst bins are bought anew; what that teaches about worths. */
static const double *better_anew(struct improve *x, uint64_t budget)
{
    struct rebuy rebuy = {
        .greedy = x->again,
        .best = &x->best,
        .trial = &x->trial,
        .from = &x->from,
        .space = &x->space,
        .weight = arena_copy(x->v.arena, x->worth,
                             x->v.n_items * sizeof *x->worth),
        .like = x->lp ? NULL : &x->like,
        .pool = x->lp ? &x->pool : NULL,
        .dearer = DEARER,
        .useless = USELESS,
    };

    x->used += rebuy_run(&rebuy, budget, left_of(x));
    return rebuy.weight;
}

/* ---- by the linear program */

/* The program is that of the whole demand, as it was left. */
static void resume(struct improve *x)
{
    struct generate *g = &x->g;

    if (x->begun) {
        dive_undo(&x->dive);
        return;
    }
    generate_begin(g, x->worth);
    dive_make(g, x->greedy, x->again, &x->pool, x->worth, &x->dive);
    x->begun = true;
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
    g->enough = (double)x->best.cost * (1 - PROVED);
    resume(x);
    dive_free(&x->dive);
    proof_stage(g, stage, end);
    memcpy(x->worth, g->centre, x->v.n_items * sizeof *x->worth);
    if (!proved(x))
        dive_some(x, from, stage);
}

/* ---- the bound, without a linear program */

static void note_bound(struct improve *x, int64_t bound,
                       const struct cover_proof *proof)
{
    if (bound <= x->bound)
        return;
    x->bound = bound;
    x->proof = *proof;
}

/* From what is proved so far, for groups of items. */
static void bound_by_groups(struct improve *x, uint64_t budget)
{
    struct cover_proof proof;
    uint64_t had;

    if (!x->groups) {
        x->groups = groups_make(&x->v, (double)x->bound, &x->proof);
        if (!x->groups)
            return;
        groups_feed(x->groups, &x->best);
        x->used += groups_work(x->groups);
    }
    had = groups_work(x->groups);
    groups_run(x->groups, budget);
    x->used += groups_work(x->groups) - had;
    note_bound(x, view_whole(&x->v, groups_best(x->groups, &proof)), &proof);
}

/* Prices of resources prove a bound, and groups of shapes a better one. */
static void bound_alone(struct improve *x, uint64_t budget)
{
    uint64_t steps = GROUPS_FROM * x->v.n_items, had = x->used;
    struct cover_proof proof;
    int64_t bound;

    if (left_of(x) < budget)
        return;
    if (!x->groups && !x->priced) {
        bound = exact_bound(&x->v, 0, budget < steps ? budget : steps, &x->used,
                            &proof, &x->priced);
        note_bound(x, bound, &proof);
    }
    if (x->proof.worth && budget > steps && x->used - had < budget)
        bound_by_groups(x, budget - (x->used - had));
}

/* ---- stages */

/* Weights that were learnt are more than items are worth, a bound's worths are less:
 * between the two, where there is no linear program to tell. */
static const double *worth_between(struct improve *x)
{
    const struct view *v = &x->v;
    double *worth;

    if (!x->proof.worth)
        return x->worth;
    worth = ARENA_ARRAY(v->arena, double, v->n_items);
    for (uint32_t i = 0; i < v->n_items; i++)
        worth[i] = (x->worth[i] + x->proof.worth[v->item_of[i]]) / 2;
    return worth;
}

/* What is cut short has become as good as it was to become until then. */
static void ruin_some(struct improve *x, uint64_t end)
{
    uint64_t work = work_of(x);

    if (!x->lp &&
        work + RUIN_LEAST * x->v.n_items > (end < x->stop ? end : x->stop))
        return;
    hands_make(x);
    ruin_value(x->ruin, worth_between(x));
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

/* The best plan's fills, and at first some of the best that were met. */
static void feed(struct improve *x)
{
    struct master *m = &x->g.master;
    uint64_t had = x->pool.work;

    master_add_partial(m, &x->best);
    if (!x->fed)
        pool_feed(&x->pool, m, x->worth, 0, FIRST_COLUMNS * x->v.n_items);
    x->g.extra += x->pool.work - had;
    x->fed = true;
}

/* Buying anew and a dive by what it met, in turn, up to `end`. */
static void rounds(struct improve *x, uint64_t anew, uint64_t end)
{
    uint64_t now;

    while ((now = work_of(x)) < end && left_of(x) > 0 && !proved(x)) {
        memcpy(x->worth, better_anew(x, anew < end - now ? anew : end - now),
               x->v.n_items * sizeof *x->worth);
        now = work_of(x);
        if (now >= end || left_of(x) == 0)
            return;
        x->g.stop = generate_work(&x->g) + left_of(x);
        resume(x);
        feed(x);
        dive_by_pool(&x->dive, generate_work(&x->g) + end - now, &x->best);
    }
}

/* How much of a stage rounds may take. */
static uint64_t rounds_most(uint64_t stage, bool well)
{
    uint64_t most = stage * (well ? ROUNDS_TENTHS : ROUNDS_SHORT) / 10;

    if (most + ROUNDS_LEAVE > stage)
        most = stage > 2 * ROUNDS_LEAVE ? stage - ROUNDS_LEAVE : stage / 2;
    return most < ROUNDS_MOST ? most : ROUNDS_MOST;
}

static void stage_with_program(struct improve *x, uint64_t stage, uint64_t end)
{
    uint64_t anew = stage * ANEW_TENTHS / 10, n = x->v.n_items;
    bool well = stage >= ROUNDS_WELL * n * n;
    uint64_t most = well ? ANEW_MOST : ANEW_ALONE;

    anew = anew < most ? anew : most;
    if (stage >= ROUNDS_FROM * n * n)
        rounds(x, anew, work_of(x) + rounds_most(stage, well));
    else
        better_anew(x, anew);
    if (left_of(x) > 0 && work_of(x) < end)
        by_program(x, end - work_of(x), end);
    if (left_of(x) > 0 && !proved(x))
        ruin_some(x, end);
}

/* Many shapes and little time: the bound, and what is left is for buying anew.  The first
 * weights that it learns from are between what a plan taught and the bound's. */
static void short_stage(struct improve *x, uint64_t stage, uint64_t end)
{
    uint64_t most = stage - stage * BOUND_SHORT / 10, left;

    bound_alone(x, stage * BOUND_SHORT / 10);
    if (!x->between && x->proof.worth) {
        memcpy(x->worth, worth_between(x), x->v.n_items * sizeof *x->worth);
        x->between = true;
    }
    left = work_of(x) < end ? end - work_of(x) : 0;
    if (left < most + RUIN_LEAST * x->v.n_items)
        most = left;
    memcpy(x->worth, better_anew(x, most), x->v.n_items * sizeof *x->worth);
}

static void stage_run(struct improve *x, uint64_t end)
{
    uint64_t from = work_of(x), stage = end - from;

    if (x->lp) {
        stage_with_program(x, stage, end);
        return;
    }
    if (end < LEAST_STAGE * x->v.n_items) {
        short_stage(x, stage, end);
    } else {
        bound_alone(x, stage * BOUND_TENTHS / 10);
    }
    if (left_of(x) > 0 && !proved(x))
        ruin_some(x, end);
}

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
    greedy_look_wide(x->again);
    if (x->lp)
        pool_make(v, &x->pool);
    partial_make(v, &x->trial);
    partial_make(v, &x->best);
    partial_make(v, &x->from);
    space_make(v, &x->space);
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
    least = (x->lp ? LEAST_STAGE : LEAST_ALONE) * x->v.n_items;
    if (least < START_TIMES * work_of(x))
        least = START_TIMES * work_of(x);
    for (uint32_t k = 0; k < STAGES && left_of(x) > 0 && !proved(x); k++)
        if (stage_end(k) >= least && stage_end(k) > work_of(x))
            stage_run(x, stage_end(k));
    partial_export(&x->best, ret);
    ret->bound = bound_now(x);
    ret->proof = x->proof;
    if (x->lp) {
        proof_best(&x->g, &ret->proof);
        proof_done(&x->g);
    }
    if (ret->bound < first->bound) { /* left out as many, or more */
        ret->bound = first->bound;
        ret->proof = first->proof;
    }
    if (ret->bound > ret->cost)
        ret->bound = ret->cost;
    ret->work = work_of(x);
}
