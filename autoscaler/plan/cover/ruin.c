/*
 * ruin.c - see ruin.h.
 *
 * Bins are picked by what they lose (price less the worth of their content).  A
 * step that is a little dearer is accepted now and then, more seldom as the
 * work runs out; the best plan met is the answer.
 */
#include "ruin.h"

#include "column.h"
#include "recreate.h"

enum { MOST_BINS = 8, TRIES = 8 };

struct ruin {
    const struct view *v;
    double warm;
    struct recreate hand; /* its work is all of it */
    struct partial best;
    VEC(uint32_t) alive; /* patterns with bins */
};

struct ruin *ruin_make(const struct view *v, struct price *price, double warm)
{
    struct ruin *r = ARENA_NEW(v->arena, struct ruin);

    r->v = v;
    r->warm = warm;
    recreate_make(v, price, &r->hand);
    partial_make(v, &r->best);
    return r;
}

void ruin_value(struct ruin *r, const double *worth)
{
    recreate_value(&r->hand, worth);
}

static void list_alive(struct ruin *r, const struct partial *d)
{
    r->alive.n = 0;
    for (uint32_t k = 0; k < d->pattern.n; k++)
        if (d->pattern.v[k].count)
            VEC_PUSH(r->v->arena, &r->alive, k);
    r->hand.work += d->pattern.n;
}

static double loss(const struct ruin *r, const struct partial *d, uint32_t k)
{
    const struct partial_pattern *x = &d->pattern.v[k];
    double sum = (double)r->v->price[x->bin];

    for (uint32_t q = 0; q < x->n; q++)
        sum -= r->hand.worth[d->part.v[x->first + q].item] *
               d->part.v[x->first + q].count;
    return sum;
}

/* The one of a few random patterns that loses most. */
static uint32_t pick(struct ruin *r, const struct partial *d)
{
    uint32_t best = UINT32_MAX;
    double most = -1e300;

    for (uint32_t k = 0; k < TRIES; k++) {
        uint32_t p = r->alive.v[column_random(&r->hand.seed) % r->alive.n];
        double l;

        if (!d->pattern.v[p].count)
            continue;
        l = loss(r, d, p);
        if (best == UINT32_MAX || l > most) {
            best = p;
            most = l;
        }
        r->hand.work += 16;
    }
    return best;
}

/* Takes one bin of the pattern apart. */
static bool take_apart(struct ruin *r, struct partial *d, uint32_t k)
{
    const struct partial_pattern *x = &d->pattern.v[k];

    if (!recreate_take(&r->hand, d->part.v + x->first, x->n))
        return false;
    partial_sell(d, k, 1);
    return true;
}

/* Into sold: patterns that lost a bin each; how many. */
static uint32_t ruin_some(struct ruin *r, struct partial *d, uint32_t *sold)
{
    uint32_t want = 2 + column_random(&r->hand.seed) % (MOST_BINS - 1), n = 0;

    recreate_begin(&r->hand);
    for (uint32_t k = 0; k < want; k++) {
        uint32_t p = pick(r, d);

        if (p != UINT32_MAX && take_apart(r, d, p))
            sold[n++] = p;
    }
    return n;
}

/* `more`: how much dearer the new bins may be. */
static void step(struct ruin *r, struct partial *d, double more)
{
    static const double noises[4] = {0, 0.05, 0.2, 0.5};
    uint32_t sold[MOST_BINS], patterns = d->pattern.n, parts = d->part.n, n;
    struct recreate *hand = &r->hand;
    int64_t cost = d->cost, gone;

    n = ruin_some(r, d, sold);
    gone = cost - d->cost + (int64_t)(more * column_fraction(&hand->seed));
    if (n &&
        recreate_run(hand, d, gone, noises[column_random(&hand->seed) % 4])) {
        for (uint32_t k = patterns; k < d->pattern.n; k++)
            VEC_PUSH(r->v->arena, &r->alive, k);
    } else {
        /* As it was. */
        for (uint32_t k = patterns; k < d->pattern.n; k++)
            partial_sell(d, k, d->pattern.v[k].count);
        d->pattern.n = patterns;
        d->part.n = parts;
        for (uint32_t k = 0; k < n; k++)
            partial_unsell(d, sold[k]);
    }
    hand->work += 128;
}

/* Copying a plan of many bins takes long, so the best plan is copied only now
 * and then; until it is, only steps that are not dearer are accepted. */
uint64_t ruin_run(struct ruin *r, struct partial *d, uint64_t work,
                  uint64_t stop)
{
    double mean = d->n_bought ? (double)d->cost / (double)d->n_bought : 0;
    bool copied = true;
    uint64_t next = 0;
    uint32_t full;

    r->hand.work = 0;
    partial_compact(d);
    list_alive(r, d);
    full = r->alive.n;
    partial_copy(&r->best, d);
    while (r->hand.work < work && r->hand.work < stop && r->alive.n > 1) {
        double cool = 1 - (double)r->hand.work / (double)work;

        step(r, d, copied ? r->warm * mean * cool * cool : 0);
        copied = copied && !partial_better(d, &r->best);
        if (!copied && r->hand.work >= next) {
            partial_copy(&r->best, d);
            r->hand.work += d->pattern.n + d->part.n;
            next = r->hand.work + 16 * (uint64_t)(d->pattern.n + d->part.n);
            copied = true;
        }
        if (r->alive.n > 2 * full + 256) {
            partial_compact(d);
            list_alive(r, d);
            full = r->alive.n;
        }
    }
    if (copied)
        partial_copy(d, &r->best);
    partial_compact(d);
    return r->hand.work;
}
