/*
 * steps.c - what stages are made of: buying anew, ruin and recreate.
 */
#include "inside.h"

#include "../proof/proof.h"
#include "../rebuy.h"

#include <string.h>

/* What is bought anew may be dearer than the best at first, by this part of it;
 * so many tries of no use are enough. */
#define DEARER 0.005
#define USELESS 300
/* How much dearer a step of ruin and recreate may be: where it is all there is, more. */
#define WARM 0.1
#define WARM_ALONE 0.4

uint64_t improve_work(const struct improve *x)
{
    if (x->lp)
        return x->used + generate_work(&x->g);
    return x->used + (x->g.price ? x->g.price->work : 0);
}

uint64_t improve_left(const struct improve *x)
{
    uint64_t work = improve_work(x);

    return work < x->stop ? x->stop - work : 0;
}

int64_t improve_bound(const struct improve *x)
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

bool improve_proved(const struct improve *x)
{
    int64_t bound = improve_bound(x);

    return bound >= 0 && (double)bound >= (double)x->best.cost * (1 - PROVED);
}

void improve_hands(struct improve *x)
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

void improve_offer(struct improve *x)
{
    partial_downgrade(&x->trial, 0, &x->space);
    if (partial_better(&x->trial, &x->best))
        partial_copy(&x->best, &x->trial);
}

const double *improve_anew(struct improve *x, uint64_t budget)
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

    x->used += rebuy_run(&rebuy, budget, improve_left(x));
    return rebuy.weight;
}

const double *improve_worth(struct improve *x)
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

void improve_ruin(struct improve *x, uint64_t end)
{
    uint64_t work = improve_work(x);

    if (!x->lp &&
        work + RUIN_LEAST * x->v.n_items > (end < x->stop ? end : x->stop))
        return;
    improve_hands(x);
    ruin_value(x->ruin, improve_worth(x));
    work = improve_work(x);
    if (work >= end || work >= x->stop)
        return;
    partial_copy(&x->trial, &x->best);
    x->used += ruin_run(x->ruin, &x->trial, end - work, x->stop - work);
    if (improve_work(x) < x->stop)
        improve_offer(x);
    else if (partial_better(&x->trial, &x->best))
        partial_copy(&x->best, &x->trial);
}
