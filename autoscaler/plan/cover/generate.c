/*
 * generate.c - see generate.h.
 *
 * Pricing uses duals between the LP's own and those of the best bound so far
 * (smoothing: it damps their jumps); heuristics first, and a search when they
 * find nothing more.
 */
#include "bound.h"

#include <string.h>

#define SMOOTH 0.8 /* weight of the centre */
#define DEARER 1.1 /* in each step: what is not covered */
#define DULL 0.98  /* bins that earn less of their price are left out */

void generate_make(const struct view *v, const uint32_t *number,
                   uint32_t n_numbers, struct generate *ret)
{
    struct arena *a = v->arena;

    memset(ret, 0, sizeof *ret);
    ret->v = v;
    master_make(v, number, n_numbers, &ret->master);
    ret->price = price_make(v);
    ret->maker = column_make(v, ret->price);
    ret->prove = prove_make(v, ret->price);
    ret->worth = ARENA_ARRAY(a, double, v->n_items);
    ret->asked = ARENA_ARRAY(a, double, v->n_items);
    ret->centre = ARENA_ARRAY(a, double, v->n_items);
    ret->scaled = ARENA_ARRAY(a, double, v->n_items);
    view_classes(v, &ret->classes);
    ret->class_part = ARENA_ARRAY(a, double, ret->classes.n);
    ret->earn = ARENA_ARRAY(a, double, v->n_bins);
    ret->ratio = ARENA_ARRAY(a, double, v->n_bins);
    ret->trial = ARENA_ARRAY(a, double, v->n_items);
    ret->dual = ARENA_ARRAY(a, double, v->n_items);
    ret->tried_dual = ARENA_ARRAY(a, double, v->n_items);
    ret->bound = ret->tried = -1;
    ret->enough = GENERATE_FREE;
    ret->stop = UINT64_MAX;
}

uint64_t generate_work(const struct generate *g)
{
    return lp_work(g->master.lp) + g->price->work + g->maker->work +
           prove_work(g->prove) + g->extra;
}

void generate_begin(struct generate *g, const double *worth)
{
    uint64_t n = g->v->n_items;

    memcpy(g->worth, worth, n * sizeof *worth);
    master_add_exchanges(&g->master, worth);
    g->extra += n * n * 3;
}

void generate_earns(struct generate *g, uint32_t bin, double most)
{
    double price = master_limited_price(&g->master, bin);

    g->earn[bin] = most * (1 + GENERATE_SAFE);
    g->ratio[bin] = most <= 0   ? 0
                    : price > 0 ? g->earn[bin] / price
                                : GENERATE_FREE;
}

/* The duals that pricing uses: alpha of the centre, the rest of the LP. */
static void smooth(struct generate *g, double alpha)
{
    const struct view *v = g->v;

    for (uint32_t i = 0; i < v->n_items; i++)
        g->asked[i] = alpha * g->centre[i] + (1 - alpha) * g->worth[i];
}

static double worth_of(const struct fill *f, const double *worth)
{
    double sum = 0;

    for (uint32_t k = 0; k < f->part.n; k++)
        sum += worth[f->part.v[k].item] * f->part.v[k].count;
    return sum;
}

/* Exact pricing: a fill the heuristics missed becomes a column; when there is
 * none, the bin's bound is its price. */
static uint32_t search_bin(struct generate *g, uint32_t t, double price,
                           const double *worth, uint64_t nodes)
{
    const struct cover_part *part;
    struct space *space = &g->maker->space;
    double best;
    uint32_t n;
    bool all = prove_search(generate_prover(g), t, worth, price * (1 + 1e-6),
                            nodes, &best, &part, &n);

    if (all && best * (1 + GENERATE_SAFE) < g->earn[t])
        generate_earns(g, t, best);
    if (!n || !partial_holds(g->v, t, part, n, space))
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
                           price * (exact ? 1 - 1e-6 : DULL), exact ? 40 : 20);

    generate_earns(g, t, ub);
    if (ub <= price * (exact ? 1 + 1e-7 : DULL))
        return 0;
    column_search(maker, t, g->asked, left, price * (exact ? 1 + 1e-6 : 0.95),
                  2);
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

struct lp *generate_program(const struct generate *g)
{
    struct lp *lp = g->master.lp;
    uint64_t work = generate_work(g);

    lp_stop_at(lp, work < g->stop ? lp_work(lp) + (g->stop - work) : 0);
    return lp;
}

struct prove *generate_prover(const struct generate *g)
{
    uint64_t work = generate_work(g);

    prove_stop_at(g->prove,
                  prove_work(g->prove) + (work < g->stop ? g->stop - work : 0));
    return g->prove;
}

static bool pivots(struct generate *g, uint64_t until)
{
    enum lp_end end = LP_STOPPED;

    while (end == LP_STOPPED && !generate_over(g, until))
        end = lp_primal(generate_program(g), 100);
    return end == LP_OPTIMAL;
}

bool generate_solve(struct generate *g, uint64_t until)
{
    master_dear(&g->master);
    return pivots(g, until);
}

bool generate_cover(struct generate *g, uint64_t until)
{
    while (g->master.is_cheap) {
        if (!pivots(g, until))
            return false;
        if (!master_dearer(&g->master, DEARER))
            master_dear(&g->master);
    }
    return true;
}

/* The bound of the first duals, which are weights that a greedy learnt: the
 * centre to start from. */
static void first_centre(struct generate *g)
{
    const struct view *v = g->v;

    memcpy(g->asked, g->worth, v->n_items * sizeof *g->asked);
    for (uint32_t t = 0; t < v->n_bins && !generate_stopped(g); t++)
        generate_earns(g, t, price_tune(g->price, t, g->asked, NULL, 0, 40));
    if (generate_stopped(g))
        return;
    g->centre_bound = bound_note(g, g->asked);
    memcpy(g->centre, g->tried_dual, v->n_items * sizeof *g->centre);
    g->centred = true;
}

/* The bound of the duals that pricing has used: they are the centre if it is
 * better than the centre's.  A bound that a search has proved is no measure. */
static void note_centre(struct generate *g)
{
    double bound = bound_note(g, g->asked);

    if (bound <= g->centre_bound)
        return;
    g->centre_bound = bound;
    memcpy(g->centre, g->asked, g->v->n_items * sizeof *g->centre);
}

/* One round of pricing at the duals between the LP's and the centre, and if
 * that finds nothing at the LP's own.  It is cut short when all work is used up. */
static uint32_t price_all(struct generate *g, const uint32_t *left,
                          double alpha, bool with_bound)
{
    const struct view *v = g->v;
    uint32_t added = 0;

    for (int turn = 0; turn < 2 && !added; turn++) {
        bool exact = turn == 1 || alpha == 0;

        smooth(g, exact ? 0 : alpha);
        for (uint32_t t = 0; t < v->n_bins && !generate_stopped(g); t++)
            added += price_bin(g, t, master_limited_price(&g->master, t), left,
                               exact, with_bound);
        if (generate_stopped(g))
            break;
        if (with_bound)
            note_centre(g);
        if (alpha == 0)
            break;
    }
    return added;
}

bool generate_run(struct generate *g, const uint32_t *left, uint64_t until,
                  double gap, uint32_t rounds, bool with_bound)
{
    const struct view *v = g->v;
    struct lp *lp = g->master.lp;

    if (with_bound) {
        g->maker->dives = 2;
        g->maker->polish = true;
        if (!g->centred)
            first_centre(g);
    }
    for (uint32_t round = 0; round < rounds && !generate_over(g, until);
         round++) {
        bool solved = generate_solve(g, until);
        const double *y = lp_duals(lp);
        double z = lp_value(lp);
        bool smoothed = with_bound && g->centre_bound > 0.5 * z;
        uint32_t added;

        if (!solved)
            return false;
        for (uint32_t i = 0; i < v->n_items; i++)
            g->worth[i] = y[i] > 0 && left[i] ? y[i] : 0;
        added = price_all(g, left, smoothed ? SMOOTH : 0, with_bound);
        if (generate_stopped(g))
            return false;
        if (with_bound && added < v->n_bins / 4 + 4 && g->maker->dives < 16)
            g->maker->dives *= 2;
        if (!added || (with_bound && g->bound >= z * (1 - gap)))
            return true;
    }
    if (rounds)
        generate_solve(g, until);
    return false;
}
