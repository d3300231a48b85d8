/*
 * duals.c - bounds that are mostly proved in the same way when one item more or
 * less is wanted.
 *
 * Worths that prove a bound do not depend on how many of each item are wanted;
 * what they add up to does.  So they are found for a problem whose counts are
 * rounded to powers of two.  It is mostly the same when a count changes, and
 * whoever remembers its duals has a sum left to do.  The bounds are no worse:
 * prices of resources depend little on single counts (docs/notes/packing.md).
 */
#include "../prices.h"
#include "../weight.h"
#include "layout.h"

/* Of fewer items duals are found soon enough, and a plan from that of a base shows in
 * the cost: many are of a shape of their own. */
#define LARGE 4000
#define MANY_A_SHAPE 8 /* items a shape, on average */
/* For the duals; as first.c has it for large problems. */
#define WORK UINT64_C(480000)

struct cover_layout *cover_layout(const struct cover_problem *p,
                                  struct arena *arena)
{
    struct cover_layout *ret = ARENA_NEW(arena, struct cover_layout);
    double *weight;

    view_make(p, arena, &ret->v);
    weight = ARENA_ARRAY(arena, double, ret->v.n_items);
    weight_from_prices(&ret->v, weight);
    ret->weight = weight;
    return ret;
}

bool layout_large(const struct cover_problem *p)
{
    uint64_t all = 0, shapes = 0;

    for (uint32_t i = 0; i < p->n_items; i++) {
        all += p->items[i].count;
        shapes += p->items[i].count > 0;
    }
    return all >= LARGE && all >= MANY_A_SHAPE * shapes;
}

/* To the nearest of 1 2 3 4 6 8 12 16 24 ... */
static uint32_t rounded(uint32_t count)
{
    uint32_t power = 1, half, above;

    while (power <= count / 2)
        power *= 2;
    half = power / 2;
    if (count < 4)
        return count;
    above = count - power;
    if (above < half)
        return 2 * above < half ? power : power + half;
    return 2 * above < 3 * half ? power + half : power + power;
}

bool cover_rounded(const struct cover_problem *p, struct arena *arena,
                   struct cover_problem *ret)
{
    struct cover_item *items;

    if (!layout_large(p))
        return false;
    items = arena_copy(arena, p->items, p->n_items * sizeof *items);
    for (uint32_t i = 0; i < p->n_items; i++)
        items[i].count = rounded(items[i].count);
    *ret = *p;
    ret->items = items;
    return true;
}

void cover_duals(const struct cover_problem *rounded,
                 const struct cover_layout *layout, struct arena *arena,
                 struct cover_duals *ret)
{
    struct view v;
    struct prices x = {.v = &v, .steps = WORK};

    view_again(&layout->v, rounded, arena, &v);
    prices_first(&x);
    prices_better(&x);
    *ret = (struct cover_duals){x.proof.worth, x.off, x.proof.money, x.used,
                                prices_least(&v)};
}

int64_t duals_prove(const struct view *v, const struct cover_duals *duals,
                    uint64_t missing, struct cover_proof *ret)
{
    double *worth;
    int64_t bound;

    *ret = (struct cover_proof){0};
    if (!duals->worth)
        return 0;
    worth = ARENA_ARRAY(v->arena, double, v->n_items);
    for (uint32_t i = 0; i < v->n_items; i++)
        worth[i] = duals->worth[v->item_of[i]];
    bound = prices_prove(v, worth, duals->off, missing);
    view_proof(v, worth, duals->money, ret);
    return bound;
}
