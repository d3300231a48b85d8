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

#ifndef SCALEC
#define SCALEC 0
#endif
#ifndef ALPHA
#define ALPHA 0.7
#endif
#ifndef DULL
#define DULL 0.98
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
    ret->prove = prove_make(v, ret->price);
    ret->worth = ARENA_ARRAY(a, double, v->n_items);
    ret->asked = ARENA_ARRAY(a, double, v->n_items);
    ret->centre = ARENA_ARRAY(a, double, v->n_items);
    ret->scaled = ARENA_ARRAY(a, double, v->n_items);
    ret->ratio = ARENA_ARRAY(a, double, v->n_bins);
    ret->bound = -1;
}

uint64_t generate_work(struct generate *g)
{
    g->work = lp_work(g->master.lp) + g->price->work + g->maker->work +
              prove_work(g->prove);
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

/* The duals the pricing is asked with: between the LP's and the centre. */
static void smooth(struct generate *g, double alpha)
{
    const struct view *v = g->v;

    for (uint32_t i = 0; i < v->n_items; i++)
        g->asked[i] = alpha * g->centre[i] + (1 - alpha) * g->worth[i];
}

static double worth_of(const struct column_fill *f, const double *worth)
{
    double sum = 0;

    for (uint32_t k = 0; k < f->part.n; k++)
        sum += worth[f->part.v[k].item] * f->part.v[k].count;
    return sum;
}

static double limited_price(const struct generate *g, uint32_t t)
{
    double price = master_price(&g->master, t);

    return price > (double)g->v->price[t] ? price : (double)g->v->price[t];
}

/* Exact pricing: a fill the heuristics missed becomes a column; when there is
 * none, the bin's bound is its price. */
static uint32_t search_bin(struct generate *g, uint32_t t, double price,
                           const double *worth, uint64_t nodes)
{
    const struct cover_part *part;
    struct room *room = &g->maker->room;
    double best;
    uint32_t n;
    bool all = prove_search(g->prove, t, worth, price * (1 + 1e-6), nodes,
                            &best, &part, &n);

    if (all && best * (1 + SAFE) < g->ratio[t] * price)
        g->ratio[t] = best * (1 + SAFE) / price;
    if (!n || !draft_holds(g->v, t, part, n, room))
        return 0;
    master_add(&g->master, t, part, n);
    return 1;
}

/* Adds what pays at the LP's own duals; how many. */
static uint32_t price_bin(struct generate *g, uint32_t t, double price,
                          const uint32_t *left, bool exact, bool prove)
{
    struct master *m = &g->master;
    struct column_maker *maker = g->maker;
    uint32_t added = 0;
    double ub = price_tune(g->price, t, g->asked, NULL,
                           price * (exact ? 1 - 1e-6 : DULL),
                           exact ? 40 : 20);

    g->ratio[t] = price > 0 ? ub * (1 + SAFE) / price : 1e300;
    if (ub <= price * (exact ? 1 + 1e-7 : DULL))
        return 0;
    column_search(maker, t, g->asked, left,
                  price * (exact ? 1 + 1e-6 : 0.95), 2);
    for (uint32_t k = 0; k < maker->n_best; k++) {
        if (worth_of(&maker->best[k], g->worth) <= price * (1 + 1e-6))
            continue;
        master_add(m, t, maker->best[k].part.v, maker->best[k].part.n);
        added++;
    }
    if (!added && exact && prove)
        added = search_bin(g, t, price, g->asked, 20000);
    return added;
}

/* The best proved ratio of worth to price of one bin. */
static void prove_bin(struct generate *g, uint32_t t, const double *worth,
                      uint64_t nodes)
{
    double price = limited_price(g, t), step = 2e-4, best;
    double ub = price_tune(g->price, t, worth, NULL, price, 60);

    g->ratio[t] = price > 0 ? ub * (1 + SAFE) / price : 1e300;
    for (; price > 0 && price * (1 + step) < ub; step *= 1.7) {
        const struct cover_part *part;
        uint32_t n;

        if (!prove_search(g->prove, t, worth, price * (1 + step), nodes, &best,
                          &part, &n))
            continue;
        if (best * (1 + SAFE) < g->ratio[t] * price)
            g->ratio[t] = best * (1 + SAFE) / price;
        return;
    }
}

/* Bins that earn more than they cost by these duals spoil the bound for every
 * item they may hold.  Items that fit such bins only give way first: they are
 * few, the others are many. */
static bool yield(struct generate *g, double *worth)
{
    const struct view *v = g->v;
    bool any = false;

    for (uint32_t i = 0; i < v->n_items; i++) {
        double worst = 1;
        bool good = false;

        for (uint32_t t = 0; t < v->n_bins && !good; t++) {
            if (!view_can(v, t, i))
                continue;
            good = g->ratio[t] <= 1 + 1e-5;
            if (g->ratio[t] > worst)
                worst = g->ratio[t];
        }
        if (good || worst <= 1 + 1e-5 || worth[i] <= 0)
            continue;
        worth[i] /= 1 + 1.2 * (worst - 1);
        any = true;
    }
    return any;
}

void generate_certify(struct generate *g, const double *duals, uint64_t nodes)
{
    const struct view *v = g->v;
    double *worth = g->asked, bound;

    memcpy(worth, duals, v->n_items * sizeof *worth);
    for (uint32_t t = 0; t < v->n_bins; t++)
        prove_bin(g, t, worth, nodes);
    for (int round = 0; round < 8; round++) {
        bound = bound_of(g, worth);
#ifdef COVER_TRACE
        fprintf(stderr, "certify %.3f:", bound / 1e6);
        for (uint32_t t = 0; t < v->n_bins; t++) if (g->ratio[t] > 1.0001) fprintf(stderr, " %u:%.4f", t, g->ratio[t]);
        fprintf(stderr, "\n");
#endif
        if (bound > g->bound)
            g->bound = bound;
        if (!yield(g, worth))
            break;
        for (uint32_t t = 0; t < v->n_bins; t++)
            if (g->ratio[t] > 1 + 1e-5)
                prove_bin(g, t, worth, nodes);
    }
}

bool generate_run(struct generate *g, const uint32_t *left, uint64_t until,
                  double gap, uint32_t rounds, bool with_bound)
{
    const struct view *v = g->v;
    struct master *m = &g->master;
    double alpha = 0;

    if (with_bound)
        g->maker->dives = 2;
    if (g->bound < 0 && with_bound) {
        memcpy(g->asked, g->worth, v->n_items * sizeof *g->asked);
        for (uint32_t t = 0; t < v->n_bins; t++) {
            double price = (double)v->price[t];
            double ub = price_tune(g->price, t, g->asked, NULL, 0, 40);

            g->ratio[t] = price > 0 ? ub * (1 + SAFE) / price : 1e300;
        }
        g->bound = bound_of(g, g->asked);
        for (uint32_t i = 0; i < v->n_items; i++)
           g->centre[i] = g->scaled[i] > 0 ? g->asked[i] / g->scaled[i] : 0;
#ifdef COVER_TRACE
        fprintf(stderr, "start bound %.3f\n", g->bound / 1e6);
#endif
    }
    for (uint32_t round = 0; round < rounds && generate_work(g) < until;
         round++) {
        enum lp_end end = lp_primal(m->lp, 20000);
        const double *y = lp_duals(m->lp);
        uint32_t added = 0;
        double z = lp_value(m->lp), bound = 0;
        bool exact;

        if (end == LP_BROKEN)
            return false;
        for (uint32_t i = 0; i < v->n_items; i++)
            g->worth[i] = y[i] > 0 && left[i] ? y[i] : 0;
        alpha = with_bound && g->bound > 0.5 * z ? ALPHA : 0;
        for (int turn = 0; turn < 2 && !added; turn++) {
            exact = turn == 1 || alpha == 0;
            smooth(g, exact ? 0 : alpha);
            for (uint32_t t = 0; t < v->n_bins; t++) {
                added += price_bin(g, t, limited_price(g, t), left, exact,
                                   with_bound);
            }
            bound = bound_of(g, g->asked);
            if (with_bound && bound > g->bound) {
                g->bound = bound;
                for (uint32_t i = 0; i < v->n_items; i++)
                    g->centre[i] = SCALEC ? g->scaled[i] > 0 ? g->asked[i] / g->scaled[i] : 0 : g->asked[i];
            }
            if (alpha == 0)
                break;
        }
#ifdef COVER_TRACE
        if (with_bound) { extern int lp_total;
        fprintf(stderr, "piv %d round %u z %.3f bound %.3f best %.3f cols %u added %u exact %d work lp %.1fM price %.1fM col %.1fM\n", lp_total, round, z/1e6, bound/1e6, g->bound/1e6, lp_columns(m->lp), added, exact, (double)lp_work(m->lp)/1e6, (double)g->price->work/1e6,(double)g->maker->work/1e6); }
#endif
        if (with_bound && added < v->n_bins / 4 + 4 && g->maker->dives < 16)
            g->maker->dives *= 2;
        if (!added || (with_bound && g->bound >= z * (1 - gap)))
            return true;
    }
    lp_primal(m->lp, 20000);
    return false;
}
