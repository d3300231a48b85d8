/*
 * bound.c - the lower bound that comes with the duals, and its proof.
 *
 * Duals are divided, item by item, by the worst ratio of earnings to price
 * among the bins the item may lie in (Farley's scaling, but per item); what
 * remains is feasible for the dual of the whole problem, whatever rounding
 * the LP suffered.  The ratios are upper bounds: Lagrangian, or searched.
 */
#include "bound.h"

#include <string.h>

/* For worths that are tried: nodes of a search, and steps an item and bin. */
#define TRY_NODES 20000
#define TRY_WORK UINT64_C(200)
#define MILD 1.0005 /* a ratio that does not matter */

/* Does this limit's price follow from the worths?  Else it is the LP's. */
static bool pays(const struct generate *g, uint32_t t, bool own)
{
    return own && g->master.bin_row[t] != UINT32_MAX;
}

/* Per item the worst ratio of the bins it may lie in, into scaled[]; at least 1
 * if one of them pays; 0: no bin can earn anything. */
static void worst_ratios(struct generate *g, bool own)
{
    const struct view *v = g->v;

    for (uint32_t i = 0; i < v->n_items; i++)
        g->scaled[i] = 0;
    for (uint32_t t = 0; t < v->n_bins; t++) {
        double ratio = pays(g, t, own) ? 1 : g->ratio[t];

        for (uint32_t w = 0; w < v->words; w++) {
            uint64_t bits = v->can[(size_t)t * v->words + w];

            for (; bits; bits &= bits - 1) {
                uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(bits);

                if (ratio > g->scaled[i])
                    g->scaled[i] = ratio;
            }
        }
    }
}

/* The price of the limits; those that pay: by what the scaled worths, at most
 * the worths themselves there, earn over the rest of the bin's price. */
static double limits_of(const struct generate *g, bool own)
{
    const struct view *v = g->v;
    const struct master *m = &g->master;
    const double *y = lp_duals(m->lp);
    double sum = 0;

    for (uint32_t k = 0; k < m->n_limits; k++)
        if (y[m->first_limit + k] < 0)
            sum -= y[m->first_limit + k] * m->limit[k];
    for (uint32_t t = 0; t < v->n_bins; t++) {
        double dual, more;

        if (!pays(g, t, own))
            continue;
        dual = y[m->bin_row[t]] < 0 ? -y[m->bin_row[t]] : 0;
        more = g->earn[t] - (master_limited_price(m, t) - dual);
        sum += m->limit[m->bin_row[t] - m->first_limit] *
               ((more > 0 ? more : 0) - dual);
    }
    return sum;
}

/* The bound by one of the two ways to price bins with a limit of their own. */
static double note(struct generate *g, const double *worth, bool own)
{
    const struct view *v = g->v;
    double covered = 0, bound;

    worst_ratios(g, own);
    for (uint32_t i = 0; i < v->n_items; i++) {
        g->trial[i] = g->scaled[i] > 0 && g->scaled[i] < GENERATE_FREE
                          ? worth[i] / g->scaled[i]
                          : 0;
        covered += g->trial[i] * v->count[i];
    }
    bound = covered * (1 - GENERATE_SAFE) -
            limits_of(g, own) * (1 + GENERATE_SAFE) -
            view_dearest(v, g->trial, g->missing);
    if (bound > g->tried) {
        g->tried = bound;
        memcpy(g->tried_dual, g->trial, v->n_items * sizeof *g->tried_dual);
    }
    if (bound > g->bound) {
        g->bound = bound;
        memcpy(g->dual, g->trial, v->n_items * sizeof *g->dual);
        g->money = master_money(&g->master);
    }
    return bound;
}

double bound_note(struct generate *g, const double *worth)
{
    double bound = note(g, worth, false), other;

    if (!g->master.own_limits)
        return bound;
    other = note(g, worth, true);
    return other > bound ? other : bound;
}

double bound_without(const struct generate *g, uint64_t missing)
{
    double bound = g->bound - view_dearest(g->v, g->dual, missing);

    return bound > 0 ? bound : 0;
}

/* The best proved ratio of worth to price of one bin.  True when the search
 * found a fill that earns more than its bin costs and adds it as a column. */
static bool prove_bin(struct generate *g, uint32_t t, const double *worth,
                      uint64_t nodes, uint64_t until)
{
    double price = master_limited_price(&g->master, t), step = 2e-4, best;
    double ub = price_tune(g->price, t, worth, NULL, price, 60);
    bool found = false, all = false;

    generate_earns(g, t, ub);
    for (; !all && price > 0 && price * (1 + step) < ub &&
           !generate_over(g, until);
         step *= 1.7) {
        const struct cover_part *part;
        uint32_t n;

        all = prove_search(generate_prover(g), t, worth, price * (1 + step),
                           nodes, &best, &part, &n);
        if (n && partial_holds(g->v, t, part, n, &g->maker->space)) {
            master_add(&g->master, t, part, n);
            found = true;
            step = step > best / price - 1 ? step : best / price - 1;
        }
        if (all && best * (1 + GENERATE_SAFE) < g->earn[t])
            generate_earns(g, t, best);
    }
    return found;
}

/* Per item: the part of all worth that items with the same bins have. */
static void class_parts(struct generate *g, const double *worth, double *ret)
{
    const struct view *v = g->v;
    const uint32_t *class_of = g->classes.class_of;
    double *part = g->class_part, all = 0;

    for (uint32_t i = 0; i < v->n_items; i++) {
        all += worth[i] * v->count[i];
        part[class_of[i]] = 0;
    }
    for (uint32_t i = 0; i < v->n_items; i++)
        part[class_of[i]] += worth[i] * v->count[i] / all;
    for (uint32_t i = 0; i < v->n_items; i++)
        ret[i] = part[class_of[i]];
}

/* A bin that earns more than it costs by these duals lowers the bound for every
 * item it may hold.  So the duals of small classes (labels that few items ask
 * for) are lowered until their bins earn no more than they cost: that loses
 * little, and the others, most of the demand, keep theirs. */
static bool yield(struct generate *g, double *worth)
{
    const struct view *v = g->v;
    double *part = g->scaled;
    bool any = false;

    class_parts(g, worth, part);
    g->extra += (uint64_t)v->n_items * (v->n_items + 2 * v->n_bins);
    for (uint32_t i = 0; i < v->n_items; i++) {
        double worst = 1;

        for (uint32_t t = 0; t < v->n_bins; t++)
            if (view_can(v, t, i) && g->ratio[t] > worst)
                worst = g->ratio[t];
        if (worst <= MILD || worth[i] <= 0 || part[i] > 0.2)
            continue;
        worth[i] /= 1 + 1.5 * (worst - 1);
        any = true;
    }
    return any;
}

/* Searches each bin (again: those that earn more than they cost); how many new
 * columns that gave. */
static uint32_t prove_all(struct generate *g, const double *worth,
                          uint64_t nodes, uint64_t until, bool again)
{
    uint32_t found = 0;

    for (uint32_t t = 0; t < g->v->n_bins; t++)
        if (!again || g->ratio[t] > MILD)
            found += prove_bin(g, t, worth, nodes, until);
    if (!generate_stopped(g))
        bound_note(g, worth);
    return found;
}

/* Raises the bound from the given duals by searching each bin, with up to
 * `nodes` steps a bin, until the work is `until`. */
static void certify(struct generate *g, const double *duals, uint64_t nodes,
                    uint64_t until)
{
    double *worth = g->asked;

    memcpy(worth, duals, g->v->n_items * sizeof *worth);
    prove_all(g, worth, nodes, until, false);
    for (int round = 0;
         round < 8 && !generate_over(g, until) && yield(g, worth); round++)
        prove_all(g, worth, nodes, until, true);
}

void bound_try(struct generate *g, const double *worth)
{
    const struct view *v = g->v;

    for (uint32_t t = 0; t < v->n_bins && !generate_stopped(g); t++)
        generate_earns(g, t, price_tune(g->price, t, worth, NULL, 0, 40));
    if (generate_stopped(g))
        return;
    bound_note(g, worth);
    certify(g, worth, TRY_NODES,
            generate_work(g) + TRY_WORK * v->n_items * v->n_bins);
}
