/*
 * bundle.c - do two bundles ask for the same?
 *
 * Resources, conditions and tolerations are compared as sets, since their order
 * means nothing; alternatives in their order.
 */
#include "snapshot.h"

#include <string.h>

static bool names_equal(const struct names *a, const struct names *b)
{
    for (uint32_t i = 0; i < a->n && a->n == b->n; i++)
        if (strcmp(a->v[i], b->v[i]) != 0)
            return false;
    return a->n == b->n;
}

static bool has_quantity(const struct qtys *all, const struct qty *q)
{
    for (uint32_t i = 0; i < all->n; i++)
        if (all->v[i].amount == q->amount &&
            strcmp(all->v[i].name, q->name) == 0)
            return true;
    return false;
}

static bool has_term(const struct terms *all, const struct term *t)
{
    for (uint32_t i = 0; i < all->n; i++)
        if (all->v[i].op == t->op && strcmp(all->v[i].key, t->key) == 0 &&
            names_equal(&all->v[i].values, &t->values))
            return true;
    return false;
}

static bool has_toleration(const struct tolerations *all,
                           const struct toleration *t)
{
    for (uint32_t i = 0; i < all->n; i++)
        if (all->v[i].op == t->op && all->v[i].effect == t->effect &&
            strcmp(all->v[i].key, t->key) == 0 &&
            strcmp(all->v[i].value, t->value) == 0)
            return true;
    return false;
}

/* All of a is in b, and b has no more entries. */
static bool alt_within(const struct snap_alt *a, const struct snap_alt *b)
{
    if (a->after_ms != b->after_ms || a->resources.n != b->resources.n ||
        a->selector.n != b->selector.n || a->tolerations.n != b->tolerations.n)
        return false;
    for (uint32_t i = 0; i < a->resources.n; i++)
        if (!has_quantity(&b->resources, &a->resources.v[i]))
            return false;
    for (uint32_t i = 0; i < a->selector.n; i++)
        if (!has_term(&b->selector, &a->selector.v[i]))
            return false;
    for (uint32_t i = 0; i < a->tolerations.n; i++)
        if (!has_toleration(&b->tolerations, &a->tolerations.v[i]))
            return false;
    return true;
}

bool snap_bundle_equal(const struct snap_bundle *a, const struct snap_bundle *b)
{
    if (a->n_alts != b->n_alts)
        return false;
    for (uint32_t i = 0; i < a->n_alts; i++)
        if (!alt_within(&a->alts[i], &b->alts[i]) ||
            !alt_within(&b->alts[i], &a->alts[i]))
            return false;
    return true;
}
