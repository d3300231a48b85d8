/*
 * groups.c - see groups.h.
 *
 * Rounds of solving the program and pricing each bin, with worths between the best
 * known and the program's own; when that finds nothing, with the program's own.  Then
 * groups become finer, and from the best worths a new program has all columns that were
 * met; once groups are many, or can't be finer, bins have their joint bounds (joint.h).
 */
#include "inside.h"

#include <string.h>

#define SMOOTH 0.9   /* weight of the best worths */
#define LITTLE 2e-5  /* of the bound: less is no gain */
enum { MANY = 150 }; /* groups */

uint64_t groups_work(const struct groups *x)
{
    return lp_work(x->master.lp) + x->price->work + x->maker->work +
           prove_work(x->prove) + x->work + (x->joint ? x->joint->work : 0);
}

static bool over(const struct groups *x)
{
    return groups_work(x) >= x->until;
}

static bool solve(struct groups *x)
{
    enum lp_end end = LP_STOPPED;

    while (end == LP_STOPPED && !over(x))
        end = lp_primal(x->master.lp, 100);
    x->ended |= end == LP_BROKEN;
    return end == LP_OPTIMAL;
}

/* The program's worths, and what is asked with: `smooth` of the best. */
static void worths_read(struct groups *x, double smooth)
{
    const double *y = lp_duals(x->master.lp);

    for (uint32_t i = 0; i < x->v->n_items; i++) {
        double dual = y[x->group.class_of[i]];

        x->own.item[i] = dual > 0 ? dual * x->part[i] : 0;
        x->asked.item[i] = smooth * x->best.item[i] +
                           (1 - smooth) * x->own.item[i];
    }
    for (uint32_t k = 0; k < x->n_sets; k++) {
        double dual = y[x->group.n + k];

        x->own.set[k] = dual > 0 ? dual : 0;
        x->asked.set[k] = smooth * x->best.set[k] +
                          (1 - smooth) * x->own.set[k];
    }
    x->work += 2 * (uint64_t)x->v->n_items;
}

void groups_feed(struct groups *x, const struct partial *plan)
{
    for (uint32_t k = 0; k < plan->pattern.n; k++) {
        const struct partial_pattern *p = &plan->pattern.v[k];

        if (p->count)
            groups_add_parts(x, p->bin, plan->part.v + p->first, p->n);
    }
}

void groups_feed_program(struct groups *x, const struct master *m)
{
    double amount;

    for (uint32_t k = 0; k < lp_rows(m->lp); k++) {
        uint32_t column = lp_basic(m->lp, k, &amount);
        const struct partial_pattern *c;

        if (column >= m->column.n || !m->column.v[column].n)
            continue;
        c = &m->column.v[column];
        groups_add_parts(x, c->bin, m->part.v + c->first, c->n);
    }
}

/* A seat alone, where a bin has one. */
static void seats_add(struct groups *x)
{
    for (uint32_t t = 0; t < x->v->n_bins; t++)
        if (x->counts[t])
            groups_add_parts(x, t, NULL, 0);
}

/* False: it was cut short. */
static bool round_run(struct groups *x)
{
    double had = x->bound;
    bool first = !x->begun, added = false;

    if (!solve(x))
        return false;
    worths_read(x, first ? 1 : x->exact ? 0 : SMOOTH);
    for (uint32_t t = 0; t < x->v->n_bins; t++) {
        if (over(x))
            return false;
        added |= groups_price_bin(x, t, first);
    }
    groups_note(x);
    x->begun = true;
    x->done = x->exact && !added;
    x->exact = !added && x->bound <= had * (1 + LITTLE);
    return true;
}

/* With groups as they are there is no more to find. */
static void finer(struct groups *x)
{
    x->done = x->exact = false;
    if (!x->deep && (x->group.n >= MANY || !groups_divide(x))) {
        groups_deepen(x);
        x->deep = true;
    } else if (x->deep) {
        x->ended = !groups_divide(x);
    }
}

void groups_run(struct groups *x, uint64_t steps)
{
    x->until = groups_work(x) + steps;
    if (!x->begun)
        seats_add(x);
    while (!x->ended && round_run(x))
        if (x->done)
            finer(x);
}

const double *groups_worths(const struct groups *x)
{
    return x->best.item;
}

double groups_best(const struct groups *x, struct cover_proof *ret)
{
    struct cover_least *least;

    if (!ret)
        return x->bound;
    view_proof(x->v, x->best.item, x->money, ret);
    least = arena_copy(x->v->arena, x->least, x->n_sets * sizeof *least);
    for (uint32_t k = 0; k < x->n_sets; k++)
        least[k].worth = x->best.set[k];
    ret->least = least;
    ret->n_least = x->n_sets;
    return x->bound;
}
