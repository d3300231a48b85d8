/*
 * rebuy.c - see rebuy.h.
 *
 * Of bins that the limits allow no more of, what they are worth to the plan
 * counts, not their price: else the first that come would fill them with anything.
 */
#include "rebuy.h"
#include "weight.h"

#define TURN 5 /* so many parts of the cost are bought anew in turn */

static const unsigned SIZES = 1u << BY_SUM | 1u << BY_LARGEST;

/* Weight in a bin for its price. */
static double worth_of(const struct partial *d, uint32_t pattern,
                       const double *weight, const double *prices)
{
    const struct partial_pattern *x = &d->pattern.v[pattern];
    const struct cover_part *part = d->part.v + x->first;
    double price = prices[x->bin];
    double sum = 0;

    for (uint32_t k = 0; k < x->n; k++)
        sum += weight[part[k].item] * part[k].count;
    return price > 0 ? sum / price : 1e300;
}

/* trial = what is gone on from without its worst bins, about `share` of the cost
 * of those that need not stay. */
static uint64_t without_worst(struct rebuy *x, double share)
{
    const struct partial *from = x->from;
    const struct view *v = from->v;
    uint32_t n = from->pattern.n;
    double *worth = ARENA_ARRAY(v->arena, double, n);
    double low = 0, high = 2, cost, all = 0;

    for (uint32_t k = x->fixed; k < n; k++) {
        worth[k] = worth_of(from, k, x->weight, greedy_prices(x->greedy));
        all += (double)v->price[from->pattern.v[k].bin] *
               from->pattern.v[k].count;
    }
    for (int halving = 0; halving < 12; halving++) {
        double middle = (low + high) / 2;

        cost = 0;
        for (uint32_t k = x->fixed; k < n; k++)
            if (worth[k] < middle)
                cost += (double)v->price[from->pattern.v[k].bin] *
                        from->pattern.v[k].count;
        if (cost < share * all)
            low = middle;
        else
            high = middle;
    }
    partial_clear(x->trial);
    for (uint32_t k = 0; k < n; k++) {
        const struct partial_pattern *p = &from->pattern.v[k];

        if (p->count && (k < x->fixed || worth[k] >= high))
            partial_buy(x->trial, p->bin, p->count, from->part.v + p->first,
                        p->n);
    }
    return 4 * (uint64_t)n;
}

/* Does the trial replace what is gone on from?  Not if it is dearer than the best
 * by more than `most`, a part of its cost. */
static bool goes_on(const struct rebuy *x, double most)
{
    const struct partial *best = x->best, *trial = x->trial;

    return trial->n_left <= best->n_left &&
           (double)trial->cost <= (double)best->cost * (1 + most);
}

/* One try: the counted work, and whether the best is better. */
static uint64_t buy_anew(struct rebuy *x, double share, double most,
                         bool *ret_better)
{
    double *price = greedy_prices(x->greedy);
    uint64_t work = without_worst(x, share);
    uint32_t kept = x->trial->pattern.n, more;

    work += greedy_run(x->greedy, x->weight, SIZES, false, x->trial);
    if (x->pool) {
        uint64_t had = x->pool->work;

        pool_keep(x->pool, x->trial, kept, x->weight, price);
        work += x->pool->work - had;
    }
    partial_downgrade(x->trial, kept, x->space);
    more = x->trial->pattern.n - kept;
    work += (uint64_t)more * x->trial->v->n_bins / 2;
    *ret_better = partial_better(x->trial, x->best);
    if (*ret_better)
        partial_copy(x->best, x->trial);
    if (goes_on(x, most))
        partial_copy(x->from, x->trial);
    weight_price_limits(x->trial, x->weight, price);
    weight_learn(x->trial, price, x->like, true, x->weight);
    return work;
}

uint64_t rebuy_run(struct rebuy *x, uint64_t most, uint64_t stop)
{
    static const double shares[TURN] = {0.6, 0.3, 0.15, 0.1, 0.05};
    double *price = greedy_prices(x->greedy);
    uint64_t work = 0, last = 0;
    uint32_t useless = 0;

    partial_copy(x->from, x->best);
    weight_learn(x->best, price, x->like, true, x->weight);
    weight_price_limits(x->best, x->weight, price);
    for (uint32_t r = 0;
         useless < x->useless && work + last <= most && work < stop &&
         (x->best->n_left || x->best->cost > x->enough);
         r++) {
        double cool = most ? 1 - (double)work / (double)most : 0;
        bool better;

        last = buy_anew(x, shares[r % TURN], x->dearer * cool, &better);
        work += last;
        useless = better ? 0 : useless + 1;
    }
    for (uint32_t t = 0; t < x->best->v->n_bins; t++)
        price[t] = (double)x->best->v->price[t];
    return work;
}
