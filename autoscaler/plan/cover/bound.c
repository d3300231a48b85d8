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

#define MILD 1.0005 /* a ratio that does not matter */

/* Per item the worst ratio of its bins, into scaled[]. */
static void worst_ratios(struct generate *g)
{
    const struct view *v = g->v;

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
}

bool bound_note(struct generate *g, const double *worth)
{
    const struct view *v = g->v;
    const struct master *m = &g->master;
    const double *y = lp_duals(m->lp);
    double covered = 0, limits = 0;

    worst_ratios(g);
    for (uint32_t i = 0; i < v->n_items; i++)
        if (g->scaled[i] > 0)
            covered += worth[i] / g->scaled[i] * v->count[i];
    for (uint32_t k = 0; k < m->n_limits; k++)
        if (y[v->n_items + k] < 0)
            limits -= y[v->n_items + k] * m->limit[k];
    covered *= 1 - GENERATE_SAFE;
    limits *= 1 + GENERATE_SAFE;
    if (covered - limits <= g->bound)
        return false;
    g->bound = covered - limits;
    for (uint32_t i = 0; i < v->n_items; i++)
        g->dual[i] = g->scaled[i] > 0 ? worth[i] / g->scaled[i] : 0;
    return true;
}

double bound_without(const struct generate *g, uint64_t missing)
{
    const struct view *v = g->v;
    double bound = g->bound;
    double below = 1e300;

    while (missing && bound > 0) {
        double most = -1;
        uint64_t many = 0;

        for (uint32_t i = 0; i < v->n_items; i++) {
            if (g->dual[i] < below && g->dual[i] > most) {
                most = g->dual[i];
                many = 0;
            }
            if (g->dual[i] == most)
                many += v->count[i];
        }
        if (most <= 0)
            break;
        many = many < missing ? many : missing;
        bound -= most * (double)many * (1 + GENERATE_SAFE);
        missing -= many;
        below = most;
    }
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

    g->ratio[t] = price > 0 ? ub * (1 + GENERATE_SAFE) / price : 1e300;
    for (; !all && price > 0 && price * (1 + step) < ub &&
           generate_work(g) < until;
         step *= 1.7) {
        const struct cover_part *part;
        uint32_t n;

        all = prove_search(g->prove, t, worth, price * (1 + step), nodes, &best,
                           &part, &n);
        if (n && partial_holds(g->v, t, part, n, &g->maker->space)) {
            master_add(&g->master, t, part, n);
            found = true;
            step = step > best / price - 1 ? step : best / price - 1;
        }
        if (all && best * (1 + GENERATE_SAFE) < g->ratio[t] * price)
            g->ratio[t] = best * (1 + GENERATE_SAFE) / price;
    }
    return found;
}

/* Per item: the part of all worth that items with the same bins have. */
static void class_parts(struct generate *g, const double *worth, double *ret)
{
    const struct view *v = g->v;
    uint64_t *bins = g->class_hash;
    double all = 0;

    for (uint32_t i = 0; i < v->n_items; i++) {
        bins[i] = 0x9e3779b97f4a7c15u;
        for (uint32_t t = 0; t < v->n_bins; t++)
            bins[i] = (bins[i] ^ view_can(v, t, i)) * 0xff51afd7ed558ccdu +
                      (bins[i] >> 40);
        all += worth[i] * v->count[i];
    }
    for (uint32_t i = 0; i < v->n_items; i++) {
        ret[i] = 0;
        for (uint32_t k = 0; k < v->n_items; k++)
            if (bins[k] == bins[i])
                ret[i] += worth[k] * v->count[k] / all;
    }
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
    bound_note(g, worth);
    return found;
}

void bound_certify(struct generate *g, const double *duals, uint64_t nodes,
                   uint64_t until)
{
    double *worth = g->asked;

    memcpy(worth, duals, g->v->n_items * sizeof *worth);
    prove_all(g, worth, nodes, until, false);
    for (int round = 0;
         round < 8 && generate_work(g) < until && yield(g, worth); round++)
        prove_all(g, worth, nodes, until, true);
}

bool bound_exact(struct generate *g, uint64_t nodes, uint64_t until)
{
    const double *y = lp_duals(g->master.lp);
    uint32_t found = 1;

    while (found && generate_work(g) < until) {
        if (!generate_solve(g, until))
            return false;
        for (uint32_t i = 0; i < g->v->n_items; i++)
            g->asked[i] = g->worth[i] = y[i] > 0 ? y[i] : 0;
        found = prove_all(g, g->asked, nodes, until, false);
    }
    return !found;
}
