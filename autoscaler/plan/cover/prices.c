/*
 * prices.c - see prices.h.
 *
 * One price for each resource is found in less time, prices for each bin are
 * better: a quarter of the steps for the one at most, the rest for the other.
 */
#include "prices.h"

#include "assign.h"
#include "relax.h"

#define ROUNDS 10 /* with less, one price for each resource is better */

static bool few(const struct prices *x)
{
    return x->steps / 4 * 3 / ROUNDS < assign_round(x->v);
}

/* Of the steps, never fewer for more of them. */
static uint64_t for_the_first(const struct prices *x)
{
    uint64_t most = ROUNDS * assign_round(x->v) / 3;

    if (!few(x))
        return x->steps / 4;
    return x->steps < most ? x->steps : most;
}

void prices_first(struct prices *x)
{
    const struct view *v = x->v;
    double *worth;

    x->used = 0;
    x->bound = 0;
    x->proof = (struct cover_proof){0};
    if (!v->n_items || !v->n_bins)
        return;
    worth = ARENA_ARRAY(v->arena, double, v->n_items);
    x->bound = relax_bound(v, x->missing, for_the_first(x), &x->used, worth,
                           &x->off);
    view_proof(v, worth, 0, &x->proof);
}

static double worth_of_all(const struct view *v, const double *worth)
{
    double sum = 0;

    for (uint32_t i = 0; i < v->n_items; i++)
        sum += worth[i] * v->count[i];
    return sum;
}

int64_t prices_prove(const struct view *v, const double *worth, double off,
                     uint64_t missing)
{
    double bound = worth_of_all(v, worth) * (1 - VIEW_SAFE) -
                   off * (1 + VIEW_SAFE) - view_dearest(v, worth, missing);

    return bound > 0 ? view_whole(v, bound) : 0;
}

void prices_more(struct prices *x)
{
    const struct view *v = x->v;
    struct assign *a = x->assign;
    const double *worth = assign_worth(a);
    int64_t bound = 0;

    assign_run(a, x->first < x->steps ? x->steps - x->first : 0);
    x->used = x->first + assign_work(a);
    if (assign_bound(a) > 0)
        bound = view_whole(v, assign_bound(a));
    if (bound <= x->bound)
        return;
    x->bound = bound;
    x->off = worth_of_all(v, worth) - assign_bound(a) -
             view_dearest(v, worth, x->missing);
    x->off = x->off > 0 ? x->off : 0;
    view_proof(v, worth, assign_money(a), &x->proof);
}

void prices_better(struct prices *x)
{
    if (!x->v->n_items || !x->v->n_bins || few(x))
        return;
    x->assign = assign_make(x->v, x->missing);
    x->first = x->used;
    prices_more(x);
}

int64_t prices_bound(const struct view *v, uint64_t missing, uint64_t steps,
                     uint64_t *work, struct cover_proof *ret_proof)
{
    struct prices x = {.v = v, .missing = missing, .steps = steps};

    prices_first(&x);
    prices_better(&x);
    *work += x.used;
    *ret_proof = x.proof;
    return x.bound;
}
