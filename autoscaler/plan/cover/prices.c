/*
 * prices.c - see prices.h.
 *
 * One price for each resource is found in less time, prices for each bin are
 * better: a quarter of the steps for the one at most, the rest for the other.
 * Only the latter know of limits.
 */
#include "prices.h"

#include "assign.h"
#include "relax.h"
#include "sums.h"

#include <string.h>

#define ROUNDS 10 /* with less, one price for each resource is better */
/* Until prices of limits say something; never so many steps in all. */
#define LIMIT_ROUNDS 60
#define LIMIT_STEPS UINT64_C(2500000)
#define SPARE 1.5 /* limits that allow so many times of what is wanted: far */

/* ---- are limits in the way? */

struct near {
    const struct view *v;
    uint32_t n, words;     /* columns; of a mask of bins */
    struct alike classes;  /* items by their bins */
    double *need;          /* classes x n */
    double *sum, *has;     /* n: scratch */
    uint32_t *family_left; /* scratch */
};

static void near_make(const struct view *v, struct near *x)
{
    *x = (struct near){
        .v = v, .n = sums_columns(v), .words = (v->n_bins + 63) / 64};
    view_classes(v, &x->classes);
    x->need = ARENA_ARRAY(v->arena, double, (size_t)x->classes.n * x->n);
    x->sum = ARENA_ARRAY(v->arena, double, x->n);
    x->has = ARENA_ARRAY(v->arena, double, x->n);
    x->family_left = ARENA_ARRAY(v->arena, uint32_t, v->p->n_families + 1);
    for (uint32_t i = 0; i < v->n_items; i++)
        for (uint32_t c = 0; c < x->n; c++)
            x->need[(size_t)x->classes.class_of[i] * x->n + c] +=
                sums_need(v, i, c) * v->count[i];
}

/* How many machines of bin t there may be; takes them off what its family may have. */
static double most_of(struct near *x, uint32_t t)
{
    const struct view *v = x->v;
    uint32_t n = v->max[t], *left = NULL;

    if (v->p->n_families)
        left = &x->family_left[v->family[t]];
    if (left && *left < n)
        n = *left;
    if (left && *left != UNLIMITED)
        *left -= n;
    return n == UNLIMITED ? 1e9 : (double)n;
}

/* What must lie in bins of the mask. */
static void sum_within(struct near *x, const uint64_t *mask)
{
    memset(x->sum, 0, x->n * sizeof *x->sum);
    for (uint32_t k = 0; k < x->classes.n; k++) {
        bool within = true;

        for (uint32_t w = 0; within && w < x->words; w++)
            within = !(x->classes.mask[k][w] & ~mask[w]);
        for (uint32_t c = 0; within && c < x->n; c++)
            x->sum[c] += x->need[(size_t)k * x->n + c];
    }
}

static bool is_enough(const struct near *x)
{
    for (uint32_t c = 0; c < x->n; c++)
        if (x->sum[c] > 0 && x->has[c] < SPARE * x->sum[c])
            return false;
    return true;
}

/* Have the bins of the mask little more of some column than must lie in them?  Mostly
 * the first few have enough. */
static bool is_short(struct near *x, const uint64_t *mask)
{
    const struct view *v = x->v;

    sum_within(x, mask);
    memset(x->has, 0, x->n * sizeof *x->has);
    if (v->p->n_families)
        memcpy(x->family_left, v->p->family_max,
               v->p->n_families * sizeof *x->family_left);
    for (uint32_t t = 0; t < v->n_bins && !is_enough(x); t++) {
        double most;

        if (!(mask[t / 64] >> (t % 64) & 1))
            continue;
        most = most_of(x, t);
        for (uint32_t c = 0; c < x->n; c++)
            x->has[c] += most * sums_has(v, t, c);
    }
    return !is_enough(x);
}

static bool limits_near(const struct view *v)
{
    uint64_t *all;
    struct near x;

    near_make(v, &x);
    all = ARENA_ARRAY(v->arena, uint64_t, x.words);
    memset(all, 0xff, x.words * sizeof *all);
    if (is_short(&x, all))
        return true;
    for (uint32_t k = 0; k < x.classes.n; k++)
        if (is_short(&x, x.classes.mask[k]))
            return true;
    return false;
}

uint64_t prices_least(const struct view *v)
{
    uint64_t rounds = LIMIT_ROUNDS * assign_round(v);

    if (!v->n_items || !v->n_bins || !limits_near(v))
        return 0;
    return rounds < LIMIT_STEPS ? rounds : LIMIT_STEPS;
}

/* ---- prices */

static bool few(const struct prices *x)
{
    return x->steps / 4 * 3 / ROUNDS < assign_round(x->v);
}

/* Of the steps, never fewer for more of them. */
static uint64_t for_the_first(const struct prices *x)
{
    uint64_t most = ROUNDS * assign_round(x->v) / 3;

    if (!few(x))
        return x->steps / 4;
    return x->steps < most ? x->steps : most;
}

void prices_first(struct prices *x)
{
    const struct view *v = x->v;
    double *worth;

    x->used = 0;
    x->bound = 0;
    x->proof = (struct cover_proof){0};
    if (!v->n_items || !v->n_bins)
        return;
    worth = ARENA_ARRAY(v->arena, double, v->n_items);
    x->bound = relax_bound(v, x->missing, for_the_first(x), &x->used, worth,
                           &x->off);
    view_proof(v, worth, 0, &x->proof);
}

static double worth_of_all(const struct view *v, const double *worth)
{
    double sum = 0;

    for (uint32_t i = 0; i < v->n_items; i++)
        sum += worth[i] * v->count[i];
    return sum;
}

int64_t prices_prove(const struct view *v, const double *worth, double off,
                     uint64_t missing)
{
    double bound = worth_of_all(v, worth) * (1 - VIEW_SAFE) -
                   off * (1 + VIEW_SAFE) - view_dearest(v, worth, missing);

    return bound > 0 ? view_whole(v, bound) : 0;
}

void prices_more(struct prices *x)
{
    const struct view *v = x->v;
    struct assign *a = x->assign;
    const double *worth = assign_worth(a);
    int64_t bound = 0;

    assign_run(a, x->first < x->steps ? x->steps - x->first : 0);
    x->used = x->first + assign_work(a);
    if (assign_bound(a) > 0)
        bound = view_whole(v, assign_bound(a));
    if (bound <= x->bound)
        return;
    x->bound = bound;
    x->off = worth_of_all(v, worth) - assign_bound(a) -
             view_dearest(v, worth, x->missing);
    x->off = x->off > 0 ? x->off : 0;
    view_proof(v, worth, assign_money(a), &x->proof);
}

void prices_better(struct prices *x)
{
    if (!x->v->n_items || !x->v->n_bins || few(x))
        return;
    x->assign = assign_make(x->v, x->missing);
    x->first = x->used;
    prices_more(x);
}

int64_t prices_bound(const struct view *v, uint64_t missing, uint64_t steps,
                     uint64_t *work, struct cover_proof *ret_proof)
{
    struct prices x = {.v = v, .missing = missing, .steps = steps};

    prices_first(&x);
    prices_better(&x);
    *work += x.used;
    *ret_proof = x.proof;
    return x.bound;
}
