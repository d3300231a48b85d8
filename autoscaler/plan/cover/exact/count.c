/*
 * count.c - see count.h.
 *
 * Prices of resources let a bin hold parts of items.  Eight items that need all of a
 * bin's CPU and a little more are 1.003 bins for them; but a bin holds seven at most,
 * so they are 8/7, and beside an item that needs a bin for itself they take two more,
 * not one.
 */
#include "count.h"

#include "../bound.h"
#include "../mix.h"
#include "../prices.h"

#define STEPS_ITEM UINT64_C(10000)
#define STEPS_MOST (COVER_STEPS_PER_MS / 2)
/* By fills: so many steps times the square of the shapes, which are few. */
#define FILL_STEPS UINT64_C(4000)
#define FILL_SHAPES 24
#define FILL_NODES 2000
#define ROUNDS 3 /* at a time */
/* A bound is not rounded up for less of a bin than this: shares are told in 1e-9. */
#define NEAR 1e-4

static uint32_t bins_of(double bound)
{
    double least = bound / (double)COUNT_PRICE - NEAR;

    return least > 0 ? (uint32_t)least + 1 : 0;
}

uint32_t count_by_prices(const struct view *v, uint64_t *work,
                         struct cover_proof *ret_proof)
{
    uint64_t steps = STEPS_ITEM * v->n_items;

    steps = steps < STEPS_MOST ? steps : STEPS_MOST;
    return (uint32_t)(prices_bound(v, 0, steps, work, ret_proof) / COUNT_PRICE);
}

/* Its columns buy more than so many bins still?  No more than that can be proved. */
static bool may_rise(const struct generate *g, uint32_t bins)
{
    double value = lp_value(g->master.lp);

    return value <= 0 || bins_of(value) > bins;
}

uint32_t count_by_fills(const struct view *v, uint32_t bins, uint64_t *work,
                        struct cover_proof *proof)
{
    const uint64_t n = v->n_items, steps = FILL_STEPS * n * n;
    double *worth = ARENA_ARRAY(v->arena, double, n);
    struct generate g;
    bool ended = false;
    uint32_t more;

    if (n > FILL_SHAPES || !proof->worth)
        return bins;
    for (uint32_t i = 0; i < n; i++)
        worth[i] = proof->worth[v->item_of[i]];
    generate_make(v, NULL, 0, &g);
    g.whole = true;
    g.stop = steps;
    generate_begin(&g, worth);
    while (!ended && may_rise(&g, bins))
        ended = generate_run(&g, v->count, steps, NEAR, ROUNDS, true) ||
                generate_stopped(&g);
    if (may_rise(&g, bins))
        mix_run(&g, FILL_NODES, steps);
    *work += generate_work(&g);
    more = bins_of(g.bound);
    if (more > bins)
        view_proof(v, g.dual, g.money, proof);
    return more > bins ? more : bins;
}
