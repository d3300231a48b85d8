/*
 * rebuy.c - see rebuy.h.
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
                       const double *weight)
{
    const struct partial_pattern *x = &d->pattern.v[pattern];
    const struct cover_part *part = d->part.v + x->first;
    int64_t price = d->v->price[x->bin];
    double sum = 0;

    for (uint32_t k = 0; k < x->n; k++)
        sum += weight[part[k].item] * part[k].count;
    return price > 0 ? sum / (double)price : 1e300;
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
        worth[k] = worth_of(best, k, x->weight);
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

uint64_t rebuy_run(struct rebuy *x, uint64_t most)
{
    static const double shares[TURN] = {0.5, 0.4, 0.3, 0.2, 0.1};
    uint64_t work = 0, last = 0;
    int useless = 0;

    weight_learn(x->best, x->weight);
    for (int r = 0; r < TRIES && useless < USELESS && work + last <= most;
         r++) {
        uint64_t before = work;

        work += without_worst(x, shares[r % TURN]);
        work += greedy_run(x->greedy, x->weight, x->sizes, false, x->trial);
        partial_downgrade(x->trial, x->space);
        work += (uint64_t)x->trial->pattern.n * x->trial->v->n_bins / 2;
        useless++;
        if (partial_better(x->trial, x->best)) {
            partial_copy(x->best, x->trial);
            useless = 0;
        }
        weight_learn(x->trial, x->weight);
        last = work - before;
    }
    return work;
}
