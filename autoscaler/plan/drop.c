/*
 * drop.c - purchases that turn out to be needless.
 *
 * Gangs and tasks buy one after the other, and the cover does not see the free
 * room on nodes bought before it, so the work of a bought node may fit on the
 * others.  The emptiest are tried first.  A gang's bundles stay where they are,
 * but for PACK, which is best effort.
 */
#include "drop.h"

#include <string.h>

#include "order.h"
#include "pack.h"

enum { TRIES = 64 }; /* nodes looked at in one candidate */

static int emptier(const void *ctx, uint32_t a, uint32_t b)
{
    const struct candidate *d = ctx;
    int r = ORDER(candidate_tightness(d, d->classes.v[b].room[SIDE_FREE].row),
                  candidate_tightness(d, d->classes.v[a].room[SIDE_FREE].row));

    return r != 0 ? r : ORDER(a, b);
}

static bool may_drop(const struct candidate *d, const struct node_class *c)
{
    if (c->kind != CLASS_NEW || c->n == 0 ||
        tables_hosts(d->t->s, c->offer) > 1 || c->why == REASON_FOR_MIN ||
        c->why == REASON_FOR_CONSOLIDATE)
        return false;
    for (uint32_t k = c->placed; k != NONE; k = d->placements.v[k].next) {
        const struct group *w = &d->t->groups[d->placements.v[k].group];
        enum strategy strategy = d->t->s->demands[w->demand].strategy;

        if (strategy != STRATEGY_NONE && strategy != STRATEGY_PACK)
            return false;
    }
    return true;
}

/* One node of the class, if its work fits elsewhere; *ret_rest is the class of
 * the others, or NONE. */
static bool drop_one(struct candidate *d, uint32_t i, uint32_t *ret_rest)
{
    const size_t size = d->t->n_groups * sizeof *d->left;
    const uint32_t *left = arena_copy(d->arena, d->left, size);
    struct mark mark = candidate_mark(d);
    uint32_t first = d->classes.v[i].placed;
    bool fits = true;

    *ret_rest = d->classes.v[i].n > 1 ? candidate_split(d, i, 1) : NONE;
    candidate_drop(d, i);
    for (uint32_t k = first; k != NONE; k = d->placements.v[k].next)
        pack_group(d, d->placements.v[k].group, d->placements.v[k].alt,
                   (struct pack_rule){0});
    for (uint32_t k = first; k != NONE; k = d->placements.v[k].next)
        fits = fits && d->left[d->placements.v[k].group] <=
                           left[d->placements.v[k].group];
    if (!fits) {
        candidate_undo(d, mark);
        memcpy(d->left, left, size);
    }
    return fits;
}

uint32_t drop_unneeded(struct candidate *d)
{
    uint32_t *order, n = 0, dropped = 0;

    for (uint32_t i = 0; i < d->classes.n; i++)
        n += may_drop(d, &d->classes.v[i]);
    if (n == 0 || n > TRIES)
        return 0;
    order = ARENA_ARRAY(d->arena, uint32_t, n);
    n = 0;
    for (uint32_t i = 0; i < d->classes.n; i++)
        if (may_drop(d, &d->classes.v[i]))
            order[n++] = i;
    order_sort(order, n, emptier, d, d->arena);
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = order[k], rest; i != NONE; i = rest)
            /* one dropped before may have changed this one */
            if (may_drop(d, &d->classes.v[i]) && drop_one(d, i, &rest))
                dropped++;
            else
                break;
    return dropped;
}
