/*
 * by_pool.c - a dive by the fills that buying anew has met.
 *
 * It goes only as far as the program is of use: as soon as it leaves a quarter of the
 * cost, what is left is bought by the greedy at each step, and bought anew again
 * and again.  When that gets no cheaper from one step to the next the dive ends: its
 * last steps, with few items left, cost more than they gain.
 *
 * Of many shapes the program takes long to solve, and most of that to cover the last of
 * the items.  So what it does not cover is cheap at first, and a dive of one step is
 * made from what it has become when its time is over.
 */
#include "inside.h"

#include "../rebuy.h"

#include <string.h>

/* The worth of a bin whose content had to be changed, the least number of steps
 * (after a dive that came to nothing, which would go the same way again), the
 * rounds of columns before a dive and for each number of bins. */
#define WORTHY 0.96
#define STEPS 4
#define STEPS_ELSE 8
enum { ROUNDS = 30, ROUNDS_NUMBER = 3 };
/* A fill of the pool becomes a column if it is worth so much of its price. */
#define PAYS (1 + 1e-5)
/* Less than this part of the cost is left: it is bought anew, with so many steps an
 * item, until so many tries in a row are of no use. */
#define REST 0.25
#define REST_WORK UINT64_C(20000)
#define REST_PART 8 /* of the work that is left, no more than this part */
enum { REST_USELESS = 40 };
/* The program's part of a cheap dive. */
#define SOLVED_TENTHS 6

/* The greedy buys what is left; what it buys joins the pool. */
static void complete(struct dive *x, struct partial *best)
{
    uint64_t had = x->pool->work;
    uint32_t kept;

    partial_copy(&x->trial, &x->partial);
    kept = x->trial.pattern.n;
    x->g->extra += greedy_run(
        x->again, x->worth, 1u << BY_SUM | 1u << BY_LARGEST, false, &x->trial);
    pool_keep(x->pool, &x->trial, kept, x->worth, greedy_prices(x->again));
    partial_copy(&x->rest, &x->trial);
    partial_downgrade(&x->rest, 0, &x->space);
    x->g->extra += x->pool->work - had;
    if (partial_better(&x->rest, best))
        partial_copy(best, &x->rest);
}

/* Of the work that is left up to `until`, one part of so many. */
static uint64_t part_of(const struct dive *x, uint64_t until, uint64_t parts)
{
    uint64_t work = generate_work(x->g);

    return until > work ? (until - work) / parts : 0;
}

/* The trial's patterns that the program has not bought are bought anew. */
static void better_rest(struct dive *x, uint64_t part, struct partial *best)
{
    uint64_t work = generate_work(x->g), most = REST_WORK * x->partial.n_left;

    struct rebuy rebuy = {
        .greedy = x->again,
        .best = &x->rest,
        .trial = &x->trial,
        .from = &x->from,
        .space = &x->space,
        .weight = x->weight,
        .pool = x->pool,
        .fixed = x->partial.pattern.n,
        .useless = REST_USELESS,
    };

    memcpy(x->weight, x->learnt, x->v->n_items * sizeof *x->weight);
    x->g->extra += rebuy_run(&rebuy, most < part ? most : part,
                             x->g->stop - work);
    if (partial_better(&x->rest, best))
        partial_copy(best, &x->rest);
}

/* Solves the program again and again, each time with the best columns of the
 * pool; worth: its duals. */
static bool solve(struct dive *x, uint64_t until, int rounds)
{
    uint32_t added = 1;

    while (generate_solve(x->g, until)) {
        uint64_t had = x->pool->work;

        dive_read_worth(x);
        if (added == 0 || rounds-- == 0)
            return true;
        added = pool_feed(x->pool, &x->g->master, x->worth, PAYS,
                          x->v->n_items / 2 + 1);
        x->g->extra += x->pool->work - had;
    }
    return false;
}

/* total: what the program and what was bought of it cost before. */
static bool little_left(const struct dive *x, double total)
{
    return (double)x->partial.cost > (1 - REST) * total;
}

/* Is what the trial has become the best of this dive? */
static bool improves(const struct dive *x, uint64_t *n_left, int64_t *cost)
{
    if (x->rest.n_left > *n_left ||
        (x->rest.n_left == *n_left && x->rest.cost >= *cost))
        return false;
    *n_left = x->rest.n_left;
    *cost = x->rest.cost;
    return true;
}

void dive_by_pool(struct dive *x, uint64_t until, struct partial *best)
{
    uint64_t n_left = UINT64_MAX, had_left = best->n_left;
    int64_t cost = INT64_MAX, had_cost = best->cost;
    const double steps = x->useless ? STEPS_ELSE : STEPS;
    bool solved;

    x->useless = false;
    dive_undo(x);
    partial_clear(&x->partial);
    x->worthy = WORTHY;
    solved = solve(x, until, ROUNDS);
    while (solved && numbers_fix(x, until))
        solved = solve(x, until, ROUNDS_NUMBER);
    dive_keep(x);
    while (solved && x->partial.n_left && !generate_over(x->g, until)) {
        double total = (double)x->partial.cost + lp_value(x->g->master.lp);

        dive_read_worth(x);
        if (!dive_step(x, steps))
            break;
        complete(x, best);
        if (little_left(x, total) && !generate_stopped(x->g)) {
            better_rest(x, part_of(x, until, REST_PART), best);
            x->useless = best->n_left == had_left && best->cost == had_cost;
            if (!improves(x, &n_left, &cost))
                return;
        }
        solved = dive_follow(x, until);
    }
}

/* What is learnt makes the demand worth so much of the plan's cost. */
static double worth_of_all(const struct dive *x)
{
    double sum = 0;

    for (uint32_t i = 0; i < x->v->n_items; i++)
        sum += x->learnt[i] * x->v->count[i];
    return sum > 0 ? sum : 1;
}

void dive_cheaply(struct dive *x, uint64_t until, struct partial *best)
{
    struct generate *g = x->g;
    const uint64_t now = generate_work(g);
    const uint64_t part = until > now ? now + (until - now) * SOLVED_TENTHS / 10
                                      : now;

    dive_undo(x);
    partial_clear(&x->partial);
    if (!x->cheapened)
        master_cheapen(&g->master, x->learnt,
                       (double)best->cost / worth_of_all(x));
    x->cheapened = true;
    if (generate_cover(g, part)) {
        dive_by_pool(x, until, best);
        return;
    }
    if (generate_stopped(g))
        return;
    x->worthy = WORTHY;
    dive_keep(x);
    dive_read_worth(x);
    x->single = true;
    if (dive_step(x, STEPS)) {
        complete(x, best);
        if (!generate_stopped(g))
            better_rest(x, part_of(x, until, 1), best);
    }
    x->single = false;
}
