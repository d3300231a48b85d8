/*
 * assign.c - see assign.h.
 *
 * It is the dual of the program that assigns parts of items to bins, with room
 * in each bin as sums (sums.h).  Each round assigns the items to the bins where
 * they cost the least (nearly as cheap ones have a part of them: less and less
 * with each round), and raises the prices of what is then short in a bin above
 * the rest.  A limit has a price too, of a bin or of all bins of a family; it is
 * what a bin costs beside its own price, and what all of the limit would cost is
 * taken off the bound.  It moves more slowly than prices of resources: else all items
 * go to and fro between bins that are short.  Any prices give a bound, so nothing need be exact.
 */
#include "assign.h"

#include <string.h>

#include "sums.h"

enum { LANES = 8 };     /* items that are computed together */
enum { OVERHEAD = 24 }; /* of a bin in a round, in items */
#define SHARPEST 2000.0 /* the end of a pass */
#define STEP_MOST 0.8
#define FAR 3.0    /* dearer than that: no part */
#define LEAST 1e-6 /* of a bin's price, for a resource that a bin has */
#define LITTLE 1e-3
#define MUCH 1e4
/* Of a limit's pace: at first, least; by so much quicker or slower. */
#define PACE 0.2
#define PACE_LEAST 0.02
#define QUICKER 1.2
#define SLOWER 0.5
#define NEVER 1e300

/* How much cheaper counts, at first; by how much more with each round; the step
 * of the prices, over that.  The second pass goes on from the first's prices. */
static const struct pass {
    double sharp, sharper, step;
} passes[] = {{8, 1.03, 12}, {20, 1.008, 16}};
enum { PASSES = sizeof passes / sizeof *passes };

/* The price of a limit, on top of what is paid for a bin (the mean of them, nothing for
 * the money).  It moves by a part (`pace`) of the step: less when too much was used and
 * then too little, more while it is the same. */
struct limit {
    double most, paid;
    double price, used, pace;
    bool above; /* more than the most was used */
};

struct assign {
    const struct view *v;
    uint64_t missing;        /* so many items may be left out */
    uint32_t n, lanes;       /* columns; items, rounded up */
    double *need, *column;   /* items x n, n x lanes */
    double *has;             /* bins x n */
    double *part;            /* bins x n: of what the bin costs */
    double *count, *least;   /* per lane; the least that one costs */
    double *near, *all;      /* per lane: of its parts; their sum */
    double *cost;            /* bins x lanes, then the parts */
    double *load;            /* n */
    uint32_t *own;           /* per bin: into limit, UINT32_MAX */
    uint32_t *family;        /* per family: the same */
    uint32_t bins, money;    /* the same */
    VEC(struct limit) limit; /* that of the money: a factor */
    uint32_t pass;
    double sharp;
    double bound, *worth, best_money; /* of the best round */
    uint64_t work;
};

/* ---- limits */

static uint32_t limit_add(struct assign *a, bool is, double most, double paid,
                          double price)
{
    const struct limit x = {most, paid, price, 0, PACE, false};

    if (!is)
        return UINT32_MAX;
    VEC_PUSH(a->v->arena, &a->limit, x);
    return a->limit.n - 1;
}

static double price_of(const struct assign *a, uint32_t limit)
{
    return limit == UINT32_MAX ? 0 : a->limit.v[limit].price;
}

static double bin_price(const struct assign *a, uint32_t t)
{
    const struct view *v = a->v;

    return (double)v->price[t] * (1 + price_of(a, a->money)) +
           price_of(a, a->own[t]) + price_of(a, a->bins) +
           (v->p->n_families ? price_of(a, a->family[v->family[t]]) : 0);
}

static void use(struct assign *a, uint32_t limit, double amount)
{
    if (limit != UINT32_MAX)
        a->limit.v[limit].used += amount;
}

/* So much of the bin is used. */
static void use_bin(struct assign *a, uint32_t t, double amount)
{
    const struct view *v = a->v;

    use(a, a->own[t], amount);
    use(a, a->bins, amount);
    use(a, a->money, amount * (double)v->price[t]);
    if (v->p->n_families)
        use(a, a->family[v->family[t]], amount);
}

/* The mean price of bins that have one, and by the cheapest way to have each
 * column what a bin without a price would cost. */
static double mean_price(const struct view *v)
{
    double sum = 0;

    for (uint32_t t = 0; t < v->n_bins; t++)
        sum += (double)v->price[t];
    return v->n_bins ? sum / v->n_bins : 0;
}

static double replaced(const struct assign *a, uint32_t t)
{
    const struct view *v = a->v;
    double sum = 0, parts = 0;

    for (uint32_t c = 0; c < a->n; c++) {
        double rate = NEVER;

        for (uint32_t b = 0; b < v->n_bins; b++)
            if (v->price[b] > 0 && a->has[(size_t)b * a->n + c] > 0 &&
                (double)v->price[b] < rate * a->has[(size_t)b * a->n + c])
                rate = (double)v->price[b] / a->has[(size_t)b * a->n + c];
        if (rate < NEVER && a->part[(size_t)t * a->n + c] > 0) {
            sum += rate * a->has[(size_t)t * a->n + c];
            parts++;
        }
    }
    return parts > 0 ? sum / parts : 0;
}

static void limits_make(struct assign *a)
{
    const struct view *v = a->v;
    const struct cover_problem *p = v->p;
    double mean = mean_price(v);

    a->own = ARENA_ARRAY(v->arena, uint32_t, v->n_bins);
    a->family = ARENA_ARRAY(v->arena, uint32_t, p->n_families + 1);
    for (uint32_t t = 0; t < v->n_bins; t++) {
        uint32_t max = p->bins[v->bin_of[t]].max;

        a->own[t] = limit_add(
            a, max != UNLIMITED, max, (double)v->price[t],
            v->price[t] > 0 ? LITTLE * (double)v->price[t] : replaced(a, t));
    }
    for (uint32_t g = 0; g < p->n_families; g++)
        a->family[g] = limit_add(a, p->family_max[g] != UNLIMITED,
                                 p->family_max[g], mean, LITTLE * mean);
    a->bins = limit_add(a, p->max_bins != UNLIMITED, p->max_bins, mean,
                        LITTLE * mean);
    a->money = limit_add(a, p->max_cost >= 0, (double)p->max_cost, 0, LITTLE);
}

/* ---- a round */

/* What each item costs in bin t, NEVER where it may not lie. */
static void cost_bin(struct assign *a, uint32_t t, double price)
{
    const struct view *v = a->v;
    double *cost = a->cost + (size_t)t * a->lanes;

    memset(cost, 0, a->lanes * sizeof *cost);
    for (uint32_t c = 0; c < a->n; c++) {
        size_t at = (size_t)t * a->n + c;
        double rate = a->has[at] > 0 ? price * a->part[at] / a->has[at] : 0;
        const double *column = a->column + (size_t)c * a->lanes;

        for (uint32_t i = 0; rate > 0 && i < a->lanes; i += LANES)
            for (uint32_t k = i; k < i + LANES; k++)
                cost[k] += rate * column[k];
    }
    for (uint32_t w = 0; w * 64 < v->n_items; w++) {
        uint64_t bits = ~v->can[(size_t)t * v->words + w];

        if (w == v->n_items / 64)
            bits &= (UINT64_C(1) << (v->n_items % 64)) - 1;
        for (; bits; bits &= bits - 1)
            cost[w * 64 + (uint32_t)__builtin_ctzll(bits)] = NEVER;
    }
    for (uint32_t i = 0; i < a->lanes; i += LANES)
        for (uint32_t k = i; k < i + LANES; k++)
            a->least[k] = cost[k] < a->least[k] ? cost[k] : a->least[k];
}

static void note(struct assign *a)
{
    const struct view *v = a->v;
    double bound = 0, limits = 0;

    for (uint32_t i = 0; i < v->n_items; i++)
        bound += a->least[i] * a->count[i];
    for (uint32_t k = 0; k < a->limit.n; k++)
        limits += a->limit.v[k].price * a->limit.v[k].most;
    bound = bound * (1 - VIEW_SAFE) - limits * (1 + VIEW_SAFE) -
            view_dearest(v, a->least, a->missing);
    if (bound <= a->bound)
        return;
    a->bound = bound;
    memcpy(a->worth, a->least, v->n_items * sizeof *a->worth);
    a->best_money = price_of(a, a->money);
}

/* Costs become parts: 1 where an item costs the least, less where it costs
 * more. */
static void part_items(struct assign *a)
{
    const struct view *v = a->v;

    for (uint32_t i = 0; i < a->lanes; i++) {
        a->all[i] = 0;
        a->near[i] = a->least[i] > 0 && a->least[i] < NEVER
                         ? a->sharp / 4 / a->least[i]
                         : NEVER;
    }
    for (uint32_t t = 0; t < v->n_bins; t++) {
        double *cost = a->cost + (size_t)t * a->lanes;

        for (uint32_t i = 0; i < v->n_items; i++) {
            double far = (cost[i] - a->least[i]) * a->near[i];

            cost[i] = 0;
            if (far < FAR && a->near[i] < NEVER) {
                double part = 1 / (1 + far);

                part *= part;
                cost[i] = part * part;
                a->all[i] += cost[i];
            }
        }
    }
}

/* What the parts of items in bin t need. */
static void load_bin(struct assign *a, uint32_t t)
{
    const double *part = a->cost + (size_t)t * a->lanes;

    memset(a->load, 0, a->n * sizeof *a->load);
    for (uint32_t i = 0; i < a->v->n_items; i++) {
        const double *need = a->need + (size_t)i * a->n;
        double amount;

        if (part[i] <= 0)
            continue;
        amount = part[i] / a->all[i] * a->count[i];
        for (uint32_t c = 0; c < a->n; c++)
            a->load[c] += amount * need[c];
    }
}

/* Between (1 - step) / (1 + step) and the inverse: about (a / b) ^ step. */
static double toward(double a, double b, double step)
{
    double above = (1 + step) * a + (1 - step) * b;
    double below = (1 - step) * a + (1 + step) * b;

    return below > 0 ? above / below : 1;
}

/* What is short in the bin becomes a larger part of its price. */
static void reprice_bin(struct assign *a, uint32_t t, double step)
{
    double *part = a->part + (size_t)t * a->n, used = 0, sum = 0;
    const double *has = a->has + (size_t)t * a->n;

    load_bin(a, t);
    for (uint32_t c = 0; c < a->n; c++) {
        a->load[c] = has[c] > 0 ? a->load[c] / has[c] : 0;
        used += part[c] * a->load[c];
    }
    use_bin(a, t, used);
    if (used <= 0)
        return;
    for (uint32_t c = 0; c < a->n; c++) {
        part[c] *= toward(a->load[c], used, step);
        part[c] = part[c] > LEAST || part[c] <= 0 ? part[c] : LEAST;
        sum += part[c];
    }
    for (uint32_t c = 0; c < a->n; c++)
        part[c] /= sum;
}

/* What is paid for it with its price becomes more when too much is used: a bin without
 * a limit in the way costs its own price, however long that was so. */
static void reprice_limit(struct limit *x, double step, double most)
{
    bool above = x->used > x->most;

    x->pace *= above == x->above ? QUICKER : SLOWER;
    x->pace = x->pace < PACE_LEAST ? PACE_LEAST : x->pace < 1 ? x->pace : 1;
    x->above = above;
    x->price = (x->paid + x->price) * toward(x->used, x->most, step * x->pace) -
               x->paid;
    x->price = x->price < 0 ? 0 : x->price < most ? x->price : most;
    x->used = 0;
}

static void reprice_limits(struct assign *a, double step)
{
    double most = MUCH * (mean_price(a->v) + 1);

    for (uint32_t k = 0; k < a->limit.n; k++)
        reprice_limit(&a->limit.v[k], step, most);
}

uint64_t assign_round(const struct view *v)
{
    return (uint64_t)v->n_bins * (v->n_items + OVERHEAD) *
           (sums_columns(v) + 8) / 6;
}

static void run_round(struct assign *a)
{
    const struct view *v = a->v;
    const struct pass *pass = &passes[a->pass];
    double step = pass->step / a->sharp;

    step = step < STEP_MOST ? step : STEP_MOST;
    for (uint32_t i = 0; i < a->lanes; i++)
        a->least[i] = NEVER;
    for (uint32_t t = 0; t < v->n_bins; t++)
        cost_bin(a, t, bin_price(a, t));
    note(a);
    part_items(a);
    for (uint32_t t = 0; t < v->n_bins; t++)
        reprice_bin(a, t, step);
    reprice_limits(a, step);
    a->sharp *= pass->sharper;
    if (a->sharp >= SHARPEST && ++a->pass < PASSES)
        a->sharp = passes[a->pass].sharp;
    a->work += assign_round(v);
}

/* ---- all */

/* At first all columns that are needed have the same part of a bin's price. */
static void columns_make(struct assign *a)
{
    const struct view *v = a->v;

    for (uint32_t c = 0; c < a->n; c++) {
        bool any = false;

        for (uint32_t i = 0; i < v->n_items; i++) {
            double need = sums_need(v, i, c);

            a->need[(size_t)i * a->n + c] = need;
            a->column[(size_t)c * a->lanes + i] = need;
            any |= need > 0;
        }
        for (uint32_t t = 0; t < v->n_bins; t++) {
            double has = a->has[(size_t)t * a->n + c] = sums_has(v, t, c);

            a->part[(size_t)t * a->n + c] = any && has > 0 ? 1 : 0;
        }
    }
    for (uint32_t t = 0; t < v->n_bins; t++) {
        double *part = a->part + (size_t)t * a->n, sum = 0;

        for (uint32_t c = 0; c < a->n; c++)
            sum += part[c];
        for (uint32_t c = 0; c < a->n && sum > 0; c++)
            part[c] /= sum;
    }
}

struct assign *assign_make(const struct view *v, uint64_t missing)
{
    struct assign *a = ARENA_NEW(v->arena, struct assign);

    a->v = v;
    a->missing = missing;
    a->n = sums_columns(v);
    a->lanes = (v->n_items + LANES - 1) / LANES * LANES;
    a->need = ARENA_ARRAY(v->arena, double, (size_t)v->n_items * a->n);
    a->column = ARENA_ARRAY(v->arena, double, (size_t)a->n * a->lanes);
    a->has = ARENA_ARRAY(v->arena, double, (size_t)v->n_bins * a->n);
    a->part = ARENA_ARRAY(v->arena, double, (size_t)v->n_bins * a->n);
    a->count = ARENA_ARRAY(v->arena, double, a->lanes);
    a->least = ARENA_ARRAY(v->arena, double, a->lanes);
    a->near = ARENA_ARRAY(v->arena, double, a->lanes);
    a->all = ARENA_ARRAY(v->arena, double, a->lanes);
    a->cost = ARENA_ARRAY(v->arena, double, (size_t)v->n_bins * a->lanes);
    a->load = ARENA_ARRAY(v->arena, double, a->n);
    a->worth = ARENA_ARRAY(v->arena, double, v->n_items);
    for (uint32_t i = 0; i < v->n_items; i++)
        a->count[i] = v->count[i];
    a->sharp = passes[0].sharp;
    columns_make(a);
    limits_make(a);
    a->work = (uint64_t)v->n_bins * v->n_items / 2 + a->n * v->n_items;
    return a;
}

void assign_run(struct assign *a, uint64_t until)
{
    while (a->work < until && a->pass < PASSES && a->v->n_bins)
        run_round(a);
}

uint64_t assign_work(const struct assign *a)
{
    return a->work;
}

double assign_bound(const struct assign *a)
{
    return a->bound;
}

const double *assign_worth(const struct assign *a)
{
    return a->worth;
}

double assign_money(const struct assign *a)
{
    return a->best_money;
}

const double *assign_part(const struct assign *a)
{
    return a->part;
}
