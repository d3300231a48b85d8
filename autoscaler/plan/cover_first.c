/*
 * cover_first.c - the first plan: the greedy with several weights and sizes,
 * each bin then made as small as its content, the cheapest result kept; then,
 * again and again, its worst bins are given back and bought anew.
 *
 * The first variant alone is the plain price-greedy plan; the others can only
 * improve on it.  How many run is decided by the size of the problem, in
 * counted work, never by a clock.
 */
#include "cover_weight.h"
#include "cover_greedy.h"

#include <string.h>

/* Work all variants together may use: about 1 ms, and 1 ms more for 700 items,
 * up to 6 ms. */
#define WORK_BASE UINT64_C(200000)
#define WORK_ITEM UINT64_C(400)
#define WORK_ALL UINT64_C(1900000)
/* One shape a pod: more, up to 150 ms. */
#define MANY_SHAPES 700
#define WORK_SHAPE UINT64_C(8000)
#define WORK_SHAPES UINT64_C(50000000)
#define ROUNDS 6
#define ROUNDS_LARGE 3      /* when more would leave too little for the rest */
/* Parts of the cost that are bought anew, in turn; over when so many times
 * were of no use. */
#define TURN 5
#define USELESS 10
#define TRIES 60

struct first {
    struct view v;
    struct greedy *g;
    struct draft d, best;
    struct room room;
    double *weight;
    bool any;
    uint64_t work, most;
};

/* Completes the draft; true when it is the best so far. */
static bool complete(struct first *x, const double *weight, unsigned sizes,
                     bool by_value)
{
    x->work += greedy_run(x->g, weight, sizes, by_value, &x->d);
    draft_downgrade(&x->d, &x->room);
    x->work += (uint64_t)x->d.pattern.n * x->v.n_bins / 2;
    if (x->any && !draft_better(&x->d, &x->best))
        return false;
    draft_copy(&x->best, &x->d);
    x->any = true;
    return true;
}

/* Weight in a bin for its price. */
static double worth_of(const struct draft *d, uint32_t pattern,
                       const double *weight)
{
    const struct draft_pattern *x = &d->pattern.v[pattern];
    const struct cover_part *part = d->part.v + x->first;
    int64_t price = d->v->price[x->bin];
    double sum = 0;

    for (uint32_t k = 0; k < x->n; k++)
        sum += weight[part[k].item] * part[k].count;
    return price > 0 ? sum / (double)price : 1e300;
}

/* The best without its worst bins, about `share` of its cost. */
static void without_worst(struct first *x, const double *weight, double share)
{
    const struct draft *best = &x->best;
    uint32_t n = best->pattern.n;
    double *worth = ARENA_ARRAY(x->v.arena, double, n);
    double low = 0, high = 2, cost;

    for (uint32_t k = 0; k < n; k++)
        worth[k] = worth_of(best, k, weight);
    for (int halving = 0; halving < 12; halving++) {
        double middle = (low + high) / 2;

        cost = 0;
        for (uint32_t k = 0; k < n; k++)
            if (worth[k] < middle)
                cost += (double)x->v.price[best->pattern.v[k].bin] *
                        best->pattern.v[k].count;
        if (cost < share * (double)best->cost)
            low = middle;
        else
            high = middle;
    }
    draft_clear(&x->d);
    for (uint32_t k = 0; k < n; k++) {
        const struct draft_pattern *p = &best->pattern.v[k];

        if (p->count && worth[k] >= high)
            draft_buy(&x->d, p->bin, p->count, best->part.v + p->first, p->n);
    }
    x->work += 4 * (uint64_t)n;
}

static void buy_anew(struct first *x, double *weight)
{
    static const double shares[TURN] = {0.5, 0.4, 0.3, 0.2, 0.1};
    const unsigned sizes = 1u << BY_SUM | 1u << BY_LARGEST | 1u << BY_SCARCE;
    uint64_t last = 0;
    int useless = 0;

    weight_learn(&x->best, weight);
    for (int r = 0; r < TRIES && useless < USELESS; r++) {
        uint64_t before = x->work;

        if (x->work + last > x->most)
            break;
        without_worst(x, weight, shares[r % TURN]);
        useless = complete(x, weight, sizes, false) ? 0 : useless + 1;
        weight_learn(&x->d, weight);
        last = x->work - before;
    }
}

static uint64_t most_work(const struct view *v)
{
    uint64_t most = WORK_ALL, more = 0;

    if (v->total < (WORK_ALL - WORK_BASE) / WORK_ITEM)
        most = WORK_BASE + WORK_ITEM * v->total;
    if (v->n_items > MANY_SHAPES)
        more = WORK_SHAPE * (v->n_items - MANY_SHAPES);
    return most + (more < WORK_SHAPES ? more : WORK_SHAPES);
}

void cover_first(const struct cover_problem *p, struct arena *arena,
                 struct cover_plan *ret)
{
    static const unsigned sizes[ROUNDS] = {
        1u << BY_SUM | 1u << BY_LARGEST,
        1u << BY_SUM | 1u << BY_SCARCE,
        1u << BY_SUM | 1u << BY_LARGEST | 1u << BY_SCARCE,
        1u << BY_SUM | 1u << BY_SCARCE,
        1u << BY_SUM | 1u << BY_SCARCE,
        1u << BY_SUM | 1u << BY_SCARCE,
    };
    struct first x = {0};
    uint64_t last = 0;
    double *plain;

    memset(ret, 0, sizeof *ret);
    view_make(p, arena, &x.v);
    x.g = greedy_make(&x.v, NULL);
    draft_make(&x.v, &x.d);
    draft_make(&x.v, &x.best);
    room_make(&x.v, &x.room);
    x.weight = ARENA_ARRAY(arena, double, x.v.n_items);
    weight_from_prices(&x.v, x.weight);
    plain = arena_copy(arena, x.weight, x.v.n_items * sizeof *plain);
    x.most = most_work(&x.v);
    for (int r = 0; r < ROUNDS; r++) {
        uint64_t before = x.work;

        if (r && x.work + last > x.most && !x.d.n_left)
            break;
        if (r >= ROUNDS_LARGE && x.work > x.most / 3)
            break;
        draft_clear(&x.d);
        complete(&x, x.weight, sizes[r], false);
        weight_learn(&x.d, x.weight);
        last = x.work - before;
    }
    buy_anew(&x, plain);
    if (x.best.n_left && p->max_bins != UNLIMITED) {
        /* Bins are what is short: the fullest first, whatever they cost. */
        draft_clear(&x.d);
        complete(&x, x.weight, sizes[ROUNDS_LARGE - 1], true);
    }
    draft_export(&x.best, ret);
    ret->work = x.work;
}
