/*
 * one.c - see one.h.
 */
#include "one.h"

/* The price of the cheapest bin that may hold it; -1: there is none. */
static int64_t cheapest(const struct view *v, uint32_t item)
{
    int64_t least = -1;

    for (uint32_t t = 0; t < v->n_bins; t++)
        if (view_can(v, t, item) && (least < 0 || v->price[t] < least))
            least = v->price[t];
    return least;
}

static bool is_one(const struct view *v, const struct cover_plan *plan)
{
    if (plan->n_patterns != 1 || plan->patterns[0].count != 1)
        return false;
    for (uint32_t i = 0; i < v->p->n_items; i++)
        if (plan->unplaced[i])
            return false;
    return true;
}

/* A bin is needed for the item, and costs that much at least. */
static void prove(const struct view *v, uint32_t item, struct cover_plan *plan)
{
    double *share = ARENA_ARRAY(v->arena, double, v->p->n_items);
    struct cover_least *least = ARENA_NEW(v->arena, struct cover_least);

    share[v->item_of[item]] = 1.0 / v->count[item];
    *least = (struct cover_least){share, 1, (double)plan->cost};
    view_proof(v, ARENA_ARRAY(v->arena, double, v->n_items), 0, &plan->proof);
    plan->proof.least = least;
    plan->proof.n_least = 1;
    plan->bound = plan->cost;
}

bool one_bin(const struct view *v, struct cover_plan *plan)
{
    if (!is_one(v, plan))
        return false;
    for (uint32_t i = 0; i < v->n_items; i++)
        if (cheapest(v, i) == plan->cost) {
            prove(v, i, plan);
            return true;
        }
    return false;
}
