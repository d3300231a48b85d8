/*
 * dive.c - see dive.h.
 *
 * What is whole in the LP is bought, then the largest fractions, a few at a
 * time; the LP follows with its dual simplex and new columns for what is left.
 * Places that the LP exchanges between items go to the items that it gives
 * them to, so buying the whole part of an optimal solution leaves its basis
 * optimal.  At every step the greedy completes the plan, so a dive that is cut
 * short has an answer too.
 */
#include "inside.h"

#include <string.h>

/* A bin of the LP's whole part whose content had to be changed must still be
 * worth this part of its price; if not, the next LP decides. */
#define WHOLE_WORTHY 0.96
/* Steps of a dive when little work is left. */
#define FEWEST 4
/* Of the dual simplex: so many at a time, and in all. */
enum { PIVOTS = 250, PIVOTS_MOST = 5000 };

void dive_make(struct generate *g, struct greedy *greedy, struct greedy *again,
               struct pool *pool, const double *learnt, struct dive *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->v = g->v;
    ret->g = g;
    ret->greedy = greedy;
    ret->again = again;
    ret->pool = pool;
    ret->learnt = learnt;
    partial_make(g->v, &ret->partial);
    partial_make(g->v, &ret->trial);
    partial_make(g->v, &ret->rest);
    partial_make(g->v, &ret->from);
    space_make(g->v, &ret->space);
    ret->fraction = ARENA_ARRAY(g->v->arena, double, lp_rows(g->master.lp));
    ret->column = ARENA_ARRAY(g->v->arena, uint32_t, lp_rows(g->master.lp));
    ret->flow = ARENA_ARRAY(g->v->arena, double, g->master.n_exchanges);
    ret->left = ARENA_ARRAY(g->v->arena, uint32_t, g->v->n_items);
    ret->worth = ARENA_ARRAY(g->v->arena, double, g->v->n_items);
    ret->weight = ARENA_ARRAY(g->v->arena, double, g->v->n_items);
}

static void read_flows(struct dive *x)
{
    const struct master *m = &x->g->master;

    for (uint32_t k = 0; k < m->n_exchanges; k++)
        x->flow[k] = 0;
    for (uint32_t k = 0; k < lp_rows(m->lp); k++) {
        double amount;
        uint32_t column = lp_basic(m->lp, k, &amount);

        if (column >= m->first_exchange &&
            column < m->first_exchange + m->n_exchanges)
            x->flow[column - m->first_exchange] = amount;
    }
}

/* One place of the item goes where the LP moves most of such places. */
static uint32_t moved(struct dive *x, const uint32_t *left, uint32_t item)
{
    const struct master *m = &x->g->master;

    for (int hop = 0; hop < 8 && !left[item]; hop++) {
        uint32_t best = UINT32_MAX;

        for (uint32_t k = 0; k < m->n_exchanges; k++)
            if (m->exchange[k].item == item && x->flow[k] > 0.01 &&
                (best == UINT32_MAX || x->flow[k] > x->flow[best]))
                best = k;
        if (best == UINT32_MAX)
            return UINT32_MAX;
        x->flow[best] -= 1;
        item = m->exchange[best].count;
    }
    x->g->extra += m->n_exchanges;
    return left[item] ? item : UINT32_MAX;
}

/* The parts; in place of items that are not left, those that the LP gives their
 * places to. */
static void replace_parts(struct dive *x, const struct cover_part *part,
                          uint32_t n)
{
    uint32_t *left = x->left;

    memcpy(left, x->partial.left, x->v->n_items * sizeof *left);
    x->parts.n = 0;
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t c = 0; c < part[k].count; c++) {
            uint32_t item = moved(x, left, part[k].item);

            if (item == UINT32_MAX)
                item = part[k].item; /* the top-up finds another */
            else
                left[item]--;
            VEC_PUSH(x->v->arena, &x->parts, ((struct cover_part){item, 1}));
        }
}

/* How many more of the bin the limits and its number allow. */
static uint32_t allows(const struct dive *x, uint32_t bin)
{
    uint32_t n = partial_allows(&x->partial, bin);
    uint32_t most = master_number_most(&x->g->master, bin);
    uint32_t had = x->partial.bought[bin];

    if (most == UNLIMITED)
        return n;
    most = most > had ? most - had : 0;
    return most < n ? most : n;
}

/* How often the bin that was topped up is bought, `most` times at most.  Where the
 * program is to follow, what fits best is looked for each time: then it has less to do. */
static uint32_t topped_times(const struct dive *x, uint32_t bin, uint32_t most)
{
    const struct fill *f = &x->g->maker->best[0];
    uint32_t n = 1;

    if (x->single)
        n = partial_times(&x->partial, f->part.v, f->part.n);
    n = n < most ? n : most;
    return n < allows(x, bin) ? n : allows(x, bin);
}

/* Buys up to `times` of the LP's column, with other items in place of those
 * that are not left. */
static uint32_t buy_column(struct dive *x, uint32_t column, uint32_t times,
                           double worthy)
{
    const struct master *m = &x->g->master;
    struct partial *d = &x->partial;
    struct partial_pattern c = m->column.v[column];
    const struct cover_part *part = m->part.v + c.first;
    struct column_maker *maker = x->g->maker;
    double price = master_limited_price(m, c.bin) -
                   master_number_worth(m, c.bin);
    uint32_t bought = 0;

    while (bought < times && allows(x, c.bin)) {
        uint32_t n = partial_times(d, part, c.n);

        if (n > times - bought)
            n = times - bought;
        if (n > allows(x, c.bin))
            n = allows(x, c.bin);
        if (n) {
            partial_buy(d, c.bin, n, part, c.n);
            bought += n;
            continue;
        }
        replace_parts(x, part, c.n);
        column_top_up(maker, c.bin, x->worth, d->left, x->parts.v, x->parts.n);
        if (!maker->n_best || maker->best[0].value < worthy * price)
            break;
        n = topped_times(x, c.bin, times - bought);
        partial_buy(d, c.bin, n, maker->best[0].part.v, maker->best[0].part.n);
        bought += n;
    }
    return bought;
}

static uint32_t buy_whole(struct dive *x)
{
    struct lp *lp = x->g->master.lp;
    uint32_t bought = 0;

    for (uint32_t k = 0; k < lp_rows(lp); k++) {
        double amount;
        uint32_t column = lp_basic(lp, k, &amount);

        if (column == UINT32_MAX || !x->g->master.column.v[column].n ||
            amount < 1 - 1e-6)
            continue;
        bought += buy_column(x, column, (uint32_t)(amount + 1e-6),
                             WHOLE_WORTHY);
    }
    return bought;
}

/* The largest fractions, one bin each, until the plan costs `cost`. */
static uint32_t buy_largest(struct dive *x, double cost)
{
    struct lp *lp = x->g->master.lp;
    uint32_t bought = 0, n = 0;

    for (uint32_t k = 0; k < lp_rows(lp); k++) {
        double amount;
        uint32_t column = lp_basic(lp, k, &amount), at;

        if (column == UINT32_MAX || !x->g->master.column.v[column].n)
            continue;
        amount -= (double)(uint32_t)(amount + 1e-6);
        if (amount < 0.02)
            continue;
        for (at = n++; at && x->fraction[at - 1] < amount; at--) {
            x->fraction[at] = x->fraction[at - 1];
            x->column[at] = x->column[at - 1];
        }
        x->fraction[at] = amount;
        x->column[at] = column;
        x->g->extra += 4;
    }
    for (uint32_t k = 0; k < n; k++) {
        if ((double)x->partial.cost >= cost && bought)
            break;
        bought += buy_column(x, x->column[k], 1, x->worthy);
    }
    return bought;
}

static void complete(struct dive *x, struct partial *best)
{
    partial_copy(&x->trial, &x->partial);
    x->g->extra += greedy_run(x->greedy, x->worth,
                              1u << BY_PRICED | 1u << BY_SUM | 1u << BY_SCARCE,
                              false, &x->trial);
    partial_downgrade(&x->trial, 0, &x->space);
    if (partial_better(&x->trial, best))
        partial_copy(best, &x->trial);
}

/* How many steps the remaining work allows if each costs as much as the
 * last. */
static double steps_left(uint64_t last, uint64_t now, uint64_t until,
                         double least)
{
    double step = (double)(now - last) + 1;
    double n = now < until ? (double)(until - now) / step : 1;

    return n < FEWEST ? FEWEST : n > 3 * least ? 3 * least : n;
}

bool dive_follow(struct dive *x, uint64_t until)
{
    struct master *m = &x->g->master;
    enum lp_end end = LP_STOPPED;

    master_residual(m, &x->partial);
    for (uint32_t k = 0;
         k < PIVOTS_MOST && end == LP_STOPPED && !generate_over(x->g, until);
         k += PIVOTS)
        end = lp_dual(generate_program(x->g), PIVOTS);
    if (end == LP_STOPPED && generate_over(x->g, until))
        return false;
    if (end != LP_OPTIMAL)
        lp_restart(m->lp);
    return generate_solve(x->g, until);
}

void dive_keep(struct dive *x)
{
    lp_keep(x->g->master.lp, LP_KEPT_WHOLE);
    x->dived = true;
}

void dive_undo(struct dive *x)
{
    if (!x->dived)
        return;
    partial_clear(&x->partial);
    master_residual(&x->g->master, &x->partial);
    lp_recall(x->g->master.lp, LP_KEPT_WHOLE);
    x->dived = false;
}

void dive_free(struct dive *x)
{
    dive_undo(x);
    if (!numbers_clear(x))
        return;
    partial_clear(&x->partial);
    master_residual(&x->g->master, &x->partial);
    lp_recall(x->g->master.lp, LP_KEPT_FREE);
}

void dive_read_worth(struct dive *x)
{
    const double *y = lp_duals(x->g->master.lp);

    for (uint32_t i = 0; i < x->v->n_items; i++)
        x->worth[i] = y[i] > 0 ? y[i] : 0;
}

uint32_t dive_step(struct dive *x, double steps)
{
    double cost = (double)x->partial.cost + lp_value(x->g->master.lp) / steps;
    uint32_t bought;

    read_flows(x);
    bought = buy_whole(x);
    if ((double)x->partial.cost < cost)
        bought += buy_largest(x, cost);
    return bought;
}

void dive_run(struct dive *x, uint64_t until, double worthy, double least,
              struct partial *best)
{
    uint64_t last = generate_work(x->g);
    double steps = least;
    bool first = true; /* buys most: it may take long */

    partial_clear(&x->partial);
    x->worthy = worthy;
    if (x->dived) {
        dive_undo(x);
        generate_run(x->g, x->v->count, until, 1e-4, 3, true);
    }
    x->g->maker->dives = 2;
    if (!generate_solve(x->g, until))
        return;
    dive_keep(x);
    while (x->partial.n_left && !generate_over(x->g, until)) {
        dive_read_worth(x);
        complete(x, best);
        if (!dive_step(x, steps))
            break;
        if (first)
            complete(x, best);
        first = false;
        if (!dive_follow(x, until))
            break;
        generate_run(x->g, x->partial.left, until, 1e-4, 1, false);
        steps = steps_left(last, generate_work(x->g), until, least);
        last = generate_work(x->g);
    }
    if (!generate_stopped(x->g))
        complete(x, best);
}
