/*
 * rebuy.c - see rebuy.h.
 *
 * Of bins that the limits allow no more of, what they are worth to the plan
 * counts, not their price: else the first that come would fill them with anything.
 */
#include "rebuy.h"
#include "weight.h"

/* So many parts of the cost are bought anew in turn; it ends when so many tries
 * in a row were of no use, or after so many in all. */
#define TURN 5
#define USELESS 10
#define TRIES 60

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

/* trial = the best without its worst bins, about `share` of its cost. */
static uint64_t without_worst(struct rebuy *x, double share)
{
    const struct partial *best = x->best;
    const struct view *v = best->v;
    uint32_t n = best->pattern.n;
    double *worth = ARENA_ARRAY(v->arena, double, n);
    double low = 0, high = 2, cost;

    for (uint32_t k = 0; k < n; k++)
        worth[k] = worth_of(best, k, x->weight, greedy_prices(x->greedy));
    for (int halving = 0; halving < 12; halving++) {
        double middle = (low + high) / 2;

        cost = 0;
        for (uint32_t k = 0; k < n; k++)
            if (worth[k] < middle)
                cost += (double)v->price[best->pattern.v[k].bin] *
                        best->pattern.v[k].count;
        if (cost < share * (double)best->cost)
            low = middle;
        else
            high = middle;
    }
    partial_clear(x->trial);
    for (uint32_t k = 0; k < n; k++) {
        const struct partial_pattern *p = &best->pattern.v[k];

        if (p->count && worth[k] >= high)
            partial_buy(x->trial, p->bin, p->count, best->part.v + p->first,
                        p->n);
    }
    return 4 * (uint64_t)n;
}

/* One try: the counted work, and whether it was of use. */
static uint64_t buy_anew(struct rebuy *x, double share, bool *ret_useful)
{
    double *price = greedy_prices(x->greedy);
    uint64_t work = without_worst(x, share);
    uint32_t kept = x->trial->pattern.n, more;

    work += greedy_run(x->greedy, x->weight, x->sizes, false, x->trial);
    partial_downgrade(x->trial, kept, x->space);
    more = x->trial->pattern.n - kept;
    work += (uint64_t)more * x->trial->v->n_bins / 2;
    *ret_useful = partial_better(x->trial, x->best);
    if (*ret_useful)
        partial_copy(x->best, x->trial);
    weight_price_limits(x->trial, x->weight, price);
    weight_learn(x->trial, price, x->weight);
    return work;
}

uint64_t rebuy_run(struct rebuy *x, uint64_t most)
{
    static const double shares[TURN] = {0.5, 0.4, 0.3, 0.2, 0.1};
    double *price = greedy_prices(x->greedy);
    uint64_t work = 0, last = 0;
    int useless = 0;

    weight_learn(x->best, price, x->weight);
    weight_price_limits(x->best, x->weight, price);
    for (int r = 0; r < TRIES && useless < USELESS && work + last <= most &&
                    (x->best->n_left || x->best->cost > x->enough);
         r++) {
        bool useful;

        last = buy_anew(x, shares[r % TURN], &useful);
        work += last;
        useless = useful ? 0 : useless + 1;
    }
    for (uint32_t t = 0; t < x->best->v->n_bins; t++)
        price[t] = (double)x->best->v->price[t];
    return work;
}
