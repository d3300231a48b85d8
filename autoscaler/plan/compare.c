/*
 * compare.c - see compare.h.
 */
#include "compare.h"

#include "gang_facts.h"
#include "limits.h"
#include "order.h"

/* Priorities compared one by one; all lower ones count as one. */
#define LEVELS 8

/* Is there an offer for it that only limits.conserve keeps us from? */
static bool spared(const struct candidate *d, uint32_t group)
{
    const struct tables *t = d->t;
    uint32_t shape = tables_shape(d->t, group, 0);
    enum reason why;

    if (!tables_spares_accelerators(t, shape))
        return false;
    for (uint32_t i = 0; i < t->s->n_offers; i++)
        if (t->s->types[t->s->offers[i].type].accelerator &&
            tables_could(t, shape, i) && limits_room(d, i, &why) > 0)
            return true;
    return false;
}

/* What is left over of one priority: gangs, and bundles of no gang.  Those
 * that could only lie on accelerators bought for others do not count: a plan
 * that pushes them there, and buys more accelerators for those others, is no
 * better.  Nor do unconfirmed ones, and spare capacity comes after all
 * other demand. */
struct left {
    uint64_t gangs, bundles;
};

static struct left left_of(const struct candidate *d, int64_t above,
                           int64_t priority)
{
    const struct tables *t = d->t;
    struct left n = {0, 0};

    for (uint32_t i = 0; i < t->n_gangs; i++)
        if (t->gangs[i].priority < above && t->gangs[i].priority >= priority &&
            !t->gangs[i].unconfirmed)
            n.gangs += !gang_settled(d, i);
    for (uint32_t k = 0; k < t->n_loose; k++) {
        uint32_t i = t->loose[k];

        if (d->left[i] > 0 && t->groups[i].priority < above &&
            t->groups[i].priority >= priority &&
            t->groups[i].rank < RANK_SPARE && !spared(d, i))
            n.bundles += d->left[i];
    }
    return n;
}

/* The highest priority below `above`, or INT64_MIN when there is none. */
static int64_t priority_below(const struct tables *t, int64_t above)
{
    int64_t best = INT64_MIN;

    for (uint32_t i = 0; i < t->n_groups; i++)
        if (t->groups[i].priority < above && t->groups[i].priority > best)
            best = t->groups[i].priority;
    return best;
}

/* Spare capacity that is left over. */
static uint64_t left_spare(const struct candidate *d)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < d->t->n_groups; i++)
        if (d->t->groups[i].rank == RANK_SPARE && d->left[i] > 0 &&
            !spared(d, i))
            n += d->left[i];
    return n;
}

int compare_left(const struct candidate *a, const struct candidate *b)
{
    int64_t above = INT64_MAX, priority;
    int r = 0;

    for (unsigned level = 1; r == 0 && above != INT64_MIN; level++) {
        struct left x, y;

        priority = level < LEVELS ? priority_below(a->t, above) : INT64_MIN;
        x = left_of(a, above, priority);
        y = left_of(b, above, priority);
        r = ORDER(x.gangs, y.gangs);
        if (r == 0)
            r = ORDER(x.bundles, y.bundles);
        above = priority;
    }
    return r ? r : ORDER(left_spare(a), left_spare(b));
}

uint64_t compare_bought(const struct candidate *d)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < d->t->s->n_offers; i++)
        n += d->offer_bought[i];
    return n;
}

static bool better(const struct candidate *a, const struct candidate *b)
{
    int r;

    if (a->broken || b->broken)
        return !a->broken;
    r = compare_left(a, b);
    if (r != 0)
        return r < 0;
    if (a->bought_cost != b->bought_cost)
        return a->bought_cost < b->bought_cost;
    return compare_bought(a) < compare_bought(b);
}

/* If a buys for all together: does it leave a lower priority what a higher one has as its
 * first alternative in b? */
static bool unfair(const struct candidate *a, const struct candidate *b)
{
    return a->how.together && !b->broken && candidate_later(a, b);
}

bool compare_better(const struct candidate *a, const struct candidate *b)
{
    return better(a, b) && !unfair(a, b);
}

bool compare_as_good(const struct candidate *a, const struct candidate *b)
{
    return !better(b, a) && !unfair(a, b);
}

bool compare_all_placed(const struct candidate *d)
{
    const struct left all = left_of(d, INT64_MAX, INT64_MIN);

    return all.gangs + all.bundles == 0;
}
