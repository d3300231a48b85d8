/*
 * cover_generate.c - see cover_generate.h.
 *
 * The bound: duals are divided, item by item, by the worst ratio of earnings
 * to price among the bins the item may lie in (Farley's scaling, but per
 * item); what remains is feasible for the dual of the whole problem, whatever
 * rounding the LP suffered.
 */
#include "cover_generate.h"

#include <string.h>
#ifdef COVER_TRACE
#include <stdio.h>
#endif

#define SAFE 1e-9            /* taken off for floating point, see cover_price */

void generate_make(const struct view *v, struct generate *ret)
{
    struct arena *a = v->arena;

    memset(ret, 0, sizeof *ret);
    ret->v = v;
    master_make(v, &ret->master);
    ret->price = price_make(v);
    ret->maker = column_make(v, ret->price);
    ret->worth = ARENA_ARRAY(a, double, v->n_items);
    ret->centre = ARENA_ARRAY(a, double, v->n_items);
    ret->scaled = ARENA_ARRAY(a, double, v->n_items);
    ret->ratio = ARENA_ARRAY(a, double, v->n_bins);
    ret->bound = -1;
}

uint64_t generate_work(struct generate *g)
{
    g->work = lp_work(g->master.lp) + g->price->work + g->maker->work;
    return g->work;
}

/* Of worth[] and ratio[]: a valid bound on the cost of the whole demand. */
static double bound_of(struct generate *g, const double *worth)
{
    const struct view *v = g->v;
    const struct master *m = &g->master;
    const double *y = lp_duals(m->lp);
    double bound = 0;

    for (uint32_t i = 0; i < v->n_items; i++)
        g->scaled[i] = 0;
    for (uint32_t t = 0; t < v->n_bins; t++)
        for (uint32_t w = 0; w < v->words; w++) {
            uint64_t bits = v->can[(size_t)t * v->words + w];

            for (; bits; bits &= bits - 1) {
                uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(bits);

                if (g->ratio[t] > g->scaled[i])
                    g->scaled[i] = g->ratio[t];
            }
        }
    for (uint32_t i = 0; i < v->n_items; i++)
        if (g->scaled[i] > 0)
            bound += worth[i] / g->scaled[i] * v->count[i];
    bound *= 1 - SAFE;
    for (uint32_t k = 0; k < m->n_limits; k++)
        if (y[v->n_items + k] < 0)
            bound += y[v->n_items + k] * m->limit[k] * (1 + SAFE);
    return bound;
}

bool generate_run(struct generate *g, const uint32_t *left, uint64_t until,
                  double gap, bool with_bound)
{
    const struct view *v = g->v;
    struct master *m = &g->master;

    for (uint32_t round = 0; generate_work(g) < until; round++) {
        enum lp_end end = lp_primal(m->lp, 20000);
        const double *y = lp_duals(m->lp);
        uint32_t added = 0;
        double z = lp_value(m->lp), bound;

        if (end == LP_BROKEN)
            return false;
        for (uint32_t i = 0; i < v->n_items; i++)
            g->worth[i] = y[i] > 0 ? y[i] : 0;
        for (uint32_t t = 0; t < v->n_bins; t++) {
            double price = master_price(m, t), ub;

            if (price < (double)v->price[t])
                price = (double)v->price[t];
            ub = price_tune(g->price, t, g->worth, NULL, price * (1 - 1e-6), 20);
            g->ratio[t] = price > 0 ? ub * (1 + SAFE) / price : 1e300;
            if (ub <= price * (1 + 1e-7))
                continue;
            price_evaluate(g->price, t, g->worth, NULL);
            column_search(g->maker, t, g->worth, left, price * (1 + 1e-6), 1);
            if (!g->maker->n_best)
                column_search(g->maker, t, g->worth, left, price * (1 + 1e-6),
                              2);
            for (uint32_t k = 0; k < g->maker->n_best; k++, added++)
                master_add(m, t, g->maker->best[k].part.v,
                           g->maker->best[k].part.n);
        }
        bound = bound_of(g, g->worth);
        if (with_bound && bound > g->bound) {
            g->bound = bound;
            memcpy(g->centre, g->worth, v->n_items * sizeof *g->centre);
        }
#ifdef COVER_TRACE
        fprintf(stderr, "round %u z %.3f bound %.3f best %.3f cols %u added %u work lp %.1fM price %.1fM col %.1fM\n", round, z/1e6, bound/1e6, g->bound/1e6, lp_columns(m->lp), added, (double)lp_work(m->lp)/1e6, (double)g->price->work/1e6,(double)g->maker->work/1e6);
#endif
        if (!added || (with_bound && g->bound >= z * (1 - gap)))
            return true;
    }
    return false;
}
