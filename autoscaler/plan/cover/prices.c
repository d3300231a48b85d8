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
    x->bound = relax_bound(v, x->missing, for_the_first(x), &x->used, worth);
    view_proof(v, worth, 0, &x->proof);
}

void prices_better(struct prices *x)
{
    const struct view *v = x->v;
    double bound;

    if (!v->n_items || !v->n_bins || few(x))
        return;
    x->assign = assign_make(v, x->missing);
    assign_run(x->assign, x->used < x->steps ? x->steps - x->used : 0);
    x->used += assign_work(x->assign);
    bound = assign_bound(x->assign);
    if (bound <= 0 || view_whole(v, bound) <= x->bound)
        return;
    x->bound = view_whole(v, bound);
    view_proof(v, assign_worth(x->assign), assign_money(x->assign), &x->proof);
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
