/*
 * exact.c - see exact.h.
 *
 * The program of prices (program.c) has few bins for each group of items; those that
 * turn out cheaper are added, and it is solved again.  On the way sets of bins are
 * looked for that its answer has too few of.
 */
#include "inside.h"

#include "../prices.h"

#include <string.h>

enum { ROUNDS = 12, BACK = 2, CUTS = 3 };
enum { ENOUGH = 45 }; /* rounds of assign.h before it */
/* Of more items than so many, prices are found for groups first: so many rounds; the
 * steps an item that takes, and as many again for the first value of all. */
enum { MANY = 700, GROUP_ROUNDS = 100 };
enum { GROUPS_FROM_ROUNDS = 10 };
#define GROUP_WORK UINT64_C(60)
#define NEAR_FIRST 1.1 /* such bins of a group are in the program */
#define NEAR 1.03
/* Of the value: a gap at which the program counts as solved, at first and later. */
#define CLOSE_FIRST 1e-2
#define CLOSE 5e-5
#define GAIN 2e-5 /* of the bound: worth another round */
#define AT_BOX 1e-2

/* ---- bins that count */

static bool had(const struct exact *x, const struct seats_set *set)
{
    for (uint32_t k = 0; k < x->n_sets; k++)
        if (x->set[k].least.bins == set->least.bins &&
            !memcmp(x->set[k].bins, set->bins,
                    (x->v->p->n_bins + 63) / 64 * sizeof *set->bins))
            return true;
    return false;
}

static void set_add(struct exact *x, const struct seats_set *set)
{
    uint32_t extra = exact_extra(x, set->least.bins, 0);
    double least = EXACT_NEVER;

    for (uint32_t t = 0; t < x->v->n_bins; t++) {
        uint32_t b = x->v->bin_of[t];

        if (!(set->bins[b / 64] >> (b % 64) & 1))
            continue;
        exact_tie(x, t, extra, 1);
        least = x->bin[t].cap < least ? x->bin[t].cap : least;
    }
    x->extra.v[extra].price = least < EXACT_NEVER ? EXACT_LITTLE * least : 0;
    x->set[x->n_sets++] = *set;
}

/* Sets that the program's answer has too few bins of; false: none are new. */
static bool sets_find(struct exact *x)
{
    struct seats_set set[SEATS_SETS];
    double *used = ARENA_ARRAY(x->arena, double, x->v->n_bins);
    uint32_t n, before = x->n_sets;

    for (uint32_t t = 0; t < x->v->n_bins; t++)
        used[t] = x->bin[t].used;
    n = seats_find(x->v, used, &x->work, set);
    for (uint32_t k = 0; k < n && x->n_sets < EXACT_SETS; k++)
        if (!had(x, &set[k]))
            set_add(x, &set[k]);
    for (uint32_t t = 0; t < x->v->n_bins; t++)
        exact_price_bin(x, t);
    return x->n_sets > before;
}

/* Prices that are worse go halfway to the best. */
static void go_back(struct exact *x)
{
    for (size_t k = 0; k < (size_t)x->v->n_bins * x->n; k++)
        x->price[k] = (x->price[k] + x->best_price[k]) / 2;
    for (uint32_t k = 0; k < x->extra.n; k++)
        x->extra.v[k].price = (x->extra.v[k].price + x->best_extra[k]) / 2;
}

/* Was a group held to less than it may be worth?  Then the value is not the best. */
static bool is_boxed(const struct exact *x)
{
    for (uint32_t g = 0; g < x->group.n; g++)
        if (x->dear[g] >= x->box[g] * (1 - AT_BOX))
            return true;
    return false;
}

/* False: this was the last. */
static bool go_on(struct exact *x)
{
    double had = x->bound, bound = exact_value(x, NEAR);
    bool near, more = false;

    x->solved++;
    for (int k = 0; k < BACK && bound < had; k++) {
        go_back(x);
        bound = exact_value(x, NEAR);
    }
    near = bound >= x->value * (1 - 10 * CLOSE_FIRST);
    if (x->cuts < CUTS && (near || x->solved == 2)) {
        more = sets_find(x);
        x->cuts += more || near;
    }
    if (!more && x->close <= CLOSE &&
        (bound < x->last * (1 + GAIN) ||
         (bound >= x->value * (1 - 2 * CLOSE) && !is_boxed(x))))
        return false;
    x->last = bound;
    if (near && !more)
        x->close = CLOSE;
    return x->solved < ROUNDS;
}

bool exact_run(struct exact *x, uint64_t steps)
{
    enum exact_end end = EXACT_SOLVED;

    x->until = x->work + steps;
    while (!x->done && end == EXACT_SOLVED) {
        end = exact_solve(x);
        if (end != EXACT_TOO_LONG)
            x->done = end == EXACT_TOO_LARGE || !go_on(x);
    }
    return !x->done;
}
struct exact *exact_make(const struct view *v, const struct assign *a)
{
    struct exact *x = ARENA_NEW(v->arena, struct exact);

    x->v = v;
    x->arena = v->arena;
    x->words = (v->n_bins + 63) / 64;
    x->close = CLOSE_FIRST;
    x->done = !v->n_items || !v->n_bins;
    if (x->done)
        return x;
    exact_lay_out(x, a);
    exact_value(x, NEAR_FIRST);
    return x;
}

/* About how many steps the first part of it takes. */
static uint64_t exact_cost(struct exact *x)
{
    return x->done ? 0 : exact_solve_cost(x);
}

bool exact_too_large(const struct exact *x)
{
    return x->done && !x->solved;
}

uint64_t exact_work(const struct exact *x)
{
    return x->work;
}

double exact_best(const struct exact *x, struct cover_proof *ret)
{
    if (ret)
        *ret = x->proof;
    return x->bound;
}

/* With fewer steps there is no time for groups. */
static uint64_t from_groups(const struct view *v)
{
    return GROUPS_FROM_ROUNDS * assign_round(v);
}

/* From prices that were found for groups of items, which takes next to nothing.  0: the
 * program of prices is too large, or has no such prices. */
static int64_t bound_from_groups(const struct view *v, uint64_t steps,
                                 uint64_t *work, struct cover_proof *ret_proof,
                                 bool *ret_all)
{
    uint64_t used = GROUP_WORK * v->n_items;
    struct alike groups;
    struct assign *a;
    struct exact *x;
    struct view few;
    bool more = true;

    view_groups(v, EXACT_GROUPS, &groups);
    view_condense(v, &groups, &few);
    a = assign_make(&few, 0);
    assign_run(a, GROUP_ROUNDS * assign_round(&few));
    x = exact_make(v, a);
    used += assign_work(a);
    if (steps > used + exact_work(x))
        more = exact_run(x, steps - used - exact_work(x));
    *work += used + exact_work(x);
    if (exact_too_large(x) || exact_best(x, NULL) <= 0)
        return 0;
    if (ret_all)
        *ret_all = !more;
    return view_whole(v, exact_best(x, ret_proof));
}

int64_t exact_bound(const struct view *v, uint64_t missing, uint64_t steps,
                    uint64_t *work, struct cover_proof *ret_proof,
                    bool *ret_all)
{
    uint64_t enough = ENOUGH * assign_round(v);
    struct prices prices = {.v = v, .missing = missing, .steps = steps};
    struct exact *x = NULL;
    double bound = 0;

    if (ret_all)
        *ret_all = false;
    if (!missing && v->n_items > MANY && steps > from_groups(v)) {
        struct prices fewer = {.v = v, .steps = from_groups(v)};
        int64_t whole;

        prices_first(&fewer); /* all that fewer steps give */
        *work += fewer.used;
        whole = bound_from_groups(v, steps - fewer.used, work, ret_proof,
                                  ret_all);
        if (whole > fewer.bound)
            return whole;
    }
    if (!missing && steps > enough)
        prices.steps = enough;
    prices_first(&prices);
    prices_better(&prices);
    if (prices.assign && prices.steps < steps) {
        x = exact_make(v, prices.assign);
        enough += exact_cost(x);
        prices.steps = steps < enough ? steps : enough;
        prices_more(&prices);
    }
    if (x && steps > enough) {
        bool more = exact_run(x, steps - enough);

        bound = exact_best(x, NULL);
        if (ret_all)
            *ret_all = !more && !exact_too_large(x);
    }
    *work += prices.used + (x ? exact_work(x) : 0);
    *ret_proof = prices.proof;
    if (bound <= 0 || view_whole(v, bound) <= prices.bound)
        return prices.bound;
    exact_best(x, ret_proof);
    return view_whole(v, bound);
}
