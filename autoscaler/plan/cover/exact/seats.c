/*
 * seats.c - see seats.h.
 *
 * A set of items is those that fit no bins but the ones that the items of one
 * class (view_classes()) fit.  With the same price for each of these bins, the bound of
 * what they cost says how many are needed, and what share of one each item is.
 * Bins without a price hold what they can; they have no seats.
 * The sets that gain the most come first; no bin has two seats.
 */
#include "seats.h"

#include "../sums.h"
#include "count.h"

#include <math.h>
#include <string.h>

enum { MOST_BINS = 64, MOST_SHAPES = 300 };
/* Of what a plan costs: with less to gain a set is not tried. */
#define GAIN_LEAST 2e-4

struct set {
    uint32_t class;
    uint64_t *bins; /* of the problem */
    int64_t cheapest;
    double gain;
    struct cover_least least;
};

struct search {
    const struct view *v;
    struct alike classes;
    uint32_t words, bin_words; /* of sets of bins: the view's, the problem's */
    uint64_t *priced;          /* of the view's */
    double cost;               /* about that of a plan */
    double *enough;            /* per class: so many bins are, about */
    const double *used;        /* per bin; NULL: not known */
    uint64_t *work;
};

/* ---- the items and bins of a set */

static bool within(const struct search *x, uint32_t class, uint32_t set)
{
    for (uint32_t w = 0; w < x->words; w++)
        if (x->classes.mask[class][w] & x->priced[w] & ~x->classes.mask[set][w])
            return false;
    return true;
}

/* The cheapest bin of a class; 0: it has none with a price, or most bins. */
static int64_t cheapest(const struct search *x, uint32_t class)
{
    const struct view *v = x->v;
    uint32_t n = 0, all = 0;
    int64_t least = INT64_MAX;

    for (uint32_t t = 0; t < v->n_bins; t++) {
        if (!v->price[t])
            continue;
        all++;
        if (!(x->classes.mask[class][t / 64] >> (t % 64) & 1))
            continue;
        n++;
        least = v->price[t] < least ? v->price[t] : least;
    }
    return n > 0 && 2 * n <= all ? least : 0;
}

static bool fits(const struct cover_problem *p, uint32_t b, uint32_t i)
{
    const struct cover_item *item = &p->items[i];

    if (item->bins && !(item->bins[b / 64] >> (b % 64) & 1))
        return false;
    for (uint32_t c = 0; c < p->n_columns; c++) {
        int64_t has = p->bins[b].has[c];

        if (p->columns[c].device)
            has -= has % AMOUNT_ONE;
        if (item->need[c] > has)
            return false;
    }
    return true;
}

static struct cover_bin counted(const struct cover_problem *p, uint32_t b)
{
    struct cover_bin bin = p->bins[b];

    if (p->n_families && p->family_max[bin.family] < bin.max)
        bin.max = p->family_max[bin.family];
    if (bin.price > 0) {
        bin.price = COUNT_PRICE;
        bin.max = UNLIMITED;
    }
    bin.family = 0;
    return bin;
}

/* How many of a class's bins with a price there are in the given mix of bins. */
static double used_by(const struct search *x, uint32_t class)
{
    double sum = 0;

    for (uint32_t t = 0; t < x->v->n_bins; t++)
        if (x->priced[t / 64] & x->classes.mask[class][t / 64] &
            UINT64_C(1) << (t % 64))
            sum += x->used[t];
    return sum;
}

/* What so many bins of the set gain, whose items are `share` of one in all. */
static double gain(const struct search *x, const struct set *set, uint32_t bins,
                   double share)
{
    if (x->used)
        share = used_by(x, set->class);
    return (bins - share) * (double)set->cheapest;
}

static double share_of(const struct cover_problem *few,
                       const struct cover_proof *proof)
{
    double sum = 0;

    for (uint32_t k = 0; proof->worth && k < few->n_items; k++)
        sum += proof->worth[k] / (double)COUNT_PRICE * few->items[k].count;
    return sum;
}

/* How many bins the items need; what share of one each is. */
static void count(const struct search *x, struct set *set,
                  const struct cover_problem *few, const uint32_t *of)
{
    double *share = ARENA_ARRAY(x->v->arena, double, x->v->p->n_items);
    struct cover_proof proof;
    struct view v;
    uint32_t bins;

    view_make(few, x->v->arena, &v);
    bins = count_by_prices(&v, x->work, &proof);
    if (gain(x, set, bins + 1, share_of(few, &proof)) > GAIN_LEAST * x->cost)
        bins = count_by_fills(&v, bins, x->work, &proof);
    for (uint32_t k = 0; proof.worth && k < few->n_items; k++)
        share[of[k]] = proof.worth[k] / (double)COUNT_PRICE;
    set->least = (struct cover_least){share, bins, 0};
    set->gain = gain(x, set, bins, share_of(few, &proof));
}

/* False: not worth it. */
static bool set_try(const struct search *x, struct set *set)
{
    const struct view *v = x->v;
    const struct cover_problem *p = v->p;
    struct cover_item *items = ARENA_ARRAY(v->arena, struct cover_item,
                                           v->n_items);
    struct cover_bin *bins = ARENA_ARRAY(v->arena, struct cover_bin, p->n_bins);
    uint32_t *of = ARENA_ARRAY(v->arena, uint32_t, v->n_items);
    struct cover_problem few = *p;

    few.n_items = 0;
    for (uint32_t i = 0; i < v->n_items; i++)
        if (within(x, x->classes.class_of[i], set->class)) {
            of[few.n_items] = v->item_of[i];
            items[few.n_items++] = p->items[v->item_of[i]];
        }
    if (few.n_items > MOST_SHAPES)
        return false;
    set->bins = ARENA_ARRAY(v->arena, uint64_t, x->bin_words);
    for (uint32_t b = 0; b < p->n_bins; b++) {
        bins[b] = counted(p, b);
        for (uint32_t k = 0; k < few.n_items && bins[b].price > 0; k++)
            if (fits(p, b, of[k])) {
                set->bins[b / 64] |= UINT64_C(1) << (b % 64);
                break;
            }
    }
    *x->work += (uint64_t)p->n_bins * few.n_items;
    few.items = items;
    few.bins = bins;
    few.n_families = 0;
    few.max_bins = UNLIMITED;
    few.max_cost = -1;
    few.conserve = false;
    count(x, set, &few, of);
    return set->least.bins > 0 && set->least.bins <= MOST_BINS &&
           set->gain > GAIN_LEAST * x->cost;
}

/* ---- all sets */

/* Of the empty bin: the part that one item needs, of what it needs most but devices, and
 * the sum of its parts, devices' too. */
static double part_of(const struct view *v, uint32_t t, uint32_t i,
                      double *ret_sum)
{
    double most = 0;

    *ret_sum = 0;
    for (uint32_t c = 0; c < v->n_plain; c++) {
        double part = 0;

        if (view_has(v, t)[c] > 0)
            part = (double)view_need(v, i)[c] / (double)view_has(v, t)[c];
        *ret_sum += part;
        most = part > most ? part : most;
    }
    for (uint32_t c = v->n_plain; c < sums_columns(v); c += SUMS_FUNCTIONS)
        if (sums_has(v, t, c) > 0)
            *ret_sum += sums_need(v, i, c) / sums_has(v, t, c);
    return most;
}

/* About: what a plan costs, each item by its share of the cheapest bin; and how many
 * bins are enough for each class (of any two that are bought as items come, the parts
 * are more than one). */
static void estimate(struct search *x)
{
    const struct view *v = x->v;

    x->enough = ARENA_ARRAY(v->arena, double, x->classes.n);
    for (uint32_t i = 0; i < v->n_items; i++) {
        double least = 1e300, fewest = 1e300, sum;

        for (uint32_t t = 0; t < v->n_bins; t++) {
            double cost;

            if (!view_can(v, t, i))
                continue;
            cost = part_of(v, t, i, &sum) * (double)v->price[t];
            least = cost < least ? cost : least;
            if (v->price[t] > 0 && sum < fewest)
                fewest = sum;
        }
        x->cost += least < 1e300 ? least * v->count[i] : 0;
        if (fewest < 1e300)
            x->enough[x->classes.class_of[i]] += 2 * fewest * v->count[i];
    }
}

/* More bins of a class are used than all that must lie there could need. */
static bool hopeless(const struct search *x, uint32_t set)
{
    double sum = 2;

    for (uint32_t k = 0; k < x->classes.n; k++)
        if (within(x, k, set))
            sum += x->enough[k];
    return x->used && used_by(x, set) > sum;
}

/* What a set would gain if all that is used of its bins were rounded up. */
static double hope(const struct search *x, uint32_t class)
{
    double used = x->used ? used_by(x, class) : 0;

    return (double)cheapest(x, class) * (x->used ? ceil(used) - used : 1);
}

/* The most promising sets. */
static uint32_t sets_choose(const struct search *x, struct set *set)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < x->classes.n; k++) {
        struct set one = {
            .class = k, .cheapest = cheapest(x, k), .gain = hope(x, k)};
        uint32_t at;

        if (one.gain <= GAIN_LEAST * x->cost || hopeless(x, k))
            continue;
        for (at = n; at && one.gain > set[at - 1].gain; at--)
            if (at < SEATS_SETS)
                set[at] = set[at - 1];
        if (at < SEATS_SETS)
            set[at] = one;
        n += n < SEATS_SETS;
    }
    return n;
}

uint32_t seats_find(const struct view *v, const double *used, uint64_t *work,
                    struct seats_set ret[SEATS_SETS])
{
    struct search x = {.v = v,
                       .words = (v->n_bins + 63) / 64,
                       .bin_words = (v->p->n_bins + 63) / 64,
                       .used = used,
                       .work = work};
    struct set set[SEATS_SETS + 1];
    uint32_t n, good = 0;

    view_classes(v, &x.classes);
    x.priced = ARENA_ARRAY(v->arena, uint64_t, x.words);
    for (uint32_t t = 0; t < v->n_bins; t++)
        if (v->price[t] > 0)
            x.priced[t / 64] |= UINT64_C(1) << (t % 64);
    estimate(&x);
    n = sets_choose(&x, set);
    *work += (uint64_t)v->n_items * v->n_bins * 2 +
             (uint64_t)x.classes.n * x.classes.n * x.words;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t at = good;

        if (!set_try(&x, &set[k]))
            continue;
        for (; at && set[k].gain > ret[at - 1].gain; at--)
            ret[at] = ret[at - 1];
        ret[at] = (struct seats_set){set[k].bins, set[k].least, set[k].gain};
        good++;
    }
    return good;
}
