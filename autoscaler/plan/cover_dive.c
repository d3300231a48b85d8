/*
 * cover_dive.c - see cover_dive.h.
 *
 * What is whole in the LP is bought, then the largest fractions, a few at a
 * time; the LP follows with its dual simplex and new columns for what is left.
 * At every step the greedy completes the plan: a dive that is cut short has
 * still found something.
 */
#include "cover_dive.h"

#include <string.h>
#ifdef COVER_TRACE
#include <stdio.h>
#endif

void dive_make(struct generate *g, struct greedy *greedy, struct dive *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->v = g->v;
    ret->g = g;
    ret->greedy = greedy;
    draft_make(g->v, &ret->draft);
    draft_make(g->v, &ret->trial);
    room_make(g->v, &ret->room);
    ret->worth = ARENA_ARRAY(g->v->arena, double, g->v->n_items);
}

/* How often the pattern fits what is left as it is. */
static uint32_t whole_times(const struct draft *d,
                            const struct cover_part *part, uint32_t n)
{
    uint32_t best = UINT32_MAX;

    for (uint32_t k = 0; k < n; k++) {
        uint32_t need = 0;

        for (uint32_t q = 0; q < n; q++)
            if (part[q].item == part[k].item)
                need += part[q].count;
        if (d->left[part[k].item] / need < best)
            best = d->left[part[k].item] / need;
    }
    return best;
}

/* Buys up to `times` of the LP's column; what the demand no longer has is
 * replaced by what it has. */
static uint32_t buy_column(struct dive *x, uint32_t column, uint32_t times)
{
    const struct master *m = &x->g->master;
    struct draft *d = &x->draft;
    struct draft_pattern c = m->column.v[column];
    const struct cover_part *part = m->part.v + c.first;
    struct column_maker *maker = x->g->maker;
    uint32_t bought = 0;

    while (bought < times && draft_room(d, c.bin)) {
        uint32_t n = whole_times(d, part, c.n);
        double wanted = 0, had = 0;

        if (n > times - bought)
            n = times - bought;
        if (n > draft_room(d, c.bin))
            n = draft_room(d, c.bin);
        if (n) {
            draft_buy(d, c.bin, n, part, c.n);
            bought += n;
            continue;
        }
        for (uint32_t k = 0; k < c.n; k++) {
            uint32_t left = d->left[part[k].item];

            wanted += x->worth[part[k].item] * part[k].count;
            had += x->worth[part[k].item] *
                   (left < part[k].count ? left : part[k].count);
        }
        if (had < 0.5 * wanted)
            break;
        column_top_up(maker, c.bin, x->worth, d->left, part, c.n);
        if (!maker->n_best ||
            maker->best[0].value < 0.93 * (double)x->v->price[c.bin])
            break;
        draft_buy(d, c.bin, 1, maker->best[0].part.v, maker->best[0].part.n);
        bought++;
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
        bought += buy_column(x, column, (uint32_t)(amount + 1e-6));
    }
    return bought;
}

/* The largest fractions, one bin each. */
static uint32_t buy_largest(struct dive *x, uint32_t most)
{
    struct lp *lp = x->g->master.lp;
    uint32_t bought = 0, tried = 0;
    double below = 2;

    while (bought < most && tried < 4 * most) {
        uint32_t best = UINT32_MAX;
        double top = 0;

        for (uint32_t k = 0; k < lp_rows(lp); k++) {
            double amount;
            uint32_t column = lp_basic(lp, k, &amount);

            if (column != UINT32_MAX && x->g->master.column.v[column].n &&
                amount > top && amount < below) {
                top = amount;
                best = column;
            }
        }
        if (best == UINT32_MAX || (bought && top < 0.3))
            break;
        below = top;
        tried++;
        bought += buy_column(x, best, 1);
    }
    return bought;
}

static void complete(struct dive *x, struct draft *best)
{
    draft_copy(&x->trial, &x->draft);
    x->work += greedy_run(x->greedy, x->worth,
                          1u << BY_PRICED | 1u << BY_SUM | 1u << BY_SCARCE,
                          false, &x->trial);
    draft_downgrade(&x->trial, &x->room);
    if (draft_better(&x->trial, best))
        draft_copy(best, &x->trial);
}

static uint32_t fractions(const struct dive *x)
{
    struct lp *lp = x->g->master.lp;
    uint32_t n = 0;

    for (uint32_t k = 0; k < lp_rows(lp); k++) {
        double amount;
        uint32_t column = lp_basic(lp, k, &amount);

        n += column != UINT32_MAX && x->g->master.column.v[column].n &&
             amount > 1e-6;
    }
    return n;
}

static uint64_t work_of(const struct dive *x)
{
    return generate_work(x->g) + x->work;
}

void dive_run(struct dive *x, uint64_t until, struct draft *best)
{
    struct master *m = &x->g->master;

    draft_clear(&x->draft);
    lp_primal(m->lp, 20000);
    while (x->draft.n_left && work_of(x) < until) {
        const double *y = lp_duals(m->lp);
        uint32_t bought, some;

        for (uint32_t i = 0; i < x->v->n_items; i++)
            x->worth[i] = y[i] > 0 ? y[i] : 0;
        complete(x, best);
        some = fractions(x) / 16 + 1;
        bought = buy_whole(x);
        if (!bought)
            bought = buy_largest(x, some);
#ifdef COVER_TRACE
        fprintf(stderr, "dive: bought %u left %llu cost %.3f + lp %.3f = %.3f completed %.3f best %.3f work %.1fM\n", bought, (unsigned long long)x->draft.n_left, (double)x->draft.cost/1e6, lp_value(m->lp)/1e6, ((double)x->draft.cost+lp_value(m->lp))/1e6, (double)x->trial.cost/1e6, (double)best->cost/1e6, (double)work_of(x)/1e6);
#endif
        if (!bought)
            break;
        master_residual(m, &x->draft);
        if (lp_dual(m->lp, 2000) == LP_BROKEN)
            lp_restart(m->lp);
        generate_run(x->g, x->draft.left, until, 1e-4, 2, false);
    }
    complete(x, best);
    draft_clear(&x->draft);
    master_residual(m, &x->draft);
    if (lp_dual(m->lp, 5000) == LP_BROKEN)
        lp_restart(m->lp);
}
