/*
 * without.c - see without.h.
 */
#include "without.h"

#include "../limits.h"

enum { TRIES = 24 }; /* plans made again in one pass */

bool without_awaited(const struct candidate *d, const struct node_class *c)
{
    for (uint32_t h = c->placed; h != NONE; h = d->placements.v[h].next)
        if (d->t->groups[d->placements.v[h].group].side == SIDE_FREE)
            return true;
    return false;
}

/* ---- as good? */

/* Would a type have fewer machines than its min, and than it has now?  What
 * goes counts towards its max until it is gone, so the min could not be filled
 * up in the same plan. */
static bool min_is_broken(const struct candidate *d,
                          const struct candidate *now)
{
    for (uint32_t t = 0; t < d->t->s->n_types; t++) {
        uint32_t kept = d->type_count[t] - d->type_ended[t];

        if (kept < d->t->s->types[t].min &&
            kept < now->type_count[t] - now->type_ended[t])
            return true;
    }
    return false;
}

bool without_as_good(const struct candidate *d, const struct candidate *now)
{
    if (candidate_later(d, now))
        return false;
    for (uint32_t i = 0; i < d->t->n_groups; i++)
        if (d->left[i] > now->left[i])
            return false;
    return !d->broken && !min_is_broken(d, now);
}

/* ---- what drains */

struct drained {
    struct candidate *best;
    enum leaving *gone;
    const struct host_groups *u;
    struct candidate (*again)(const struct candidate *base);
};

static bool buys(const struct candidate *d)
{
    for (uint32_t i = 0; i < d->t->s->n_offers; i++)
        if (d->offer_bought[i] > 0)
            return true;
    return false;
}

/* What becomes of a node that drains. */
enum back {
    BACK_NOT,
    BACK_FOR_REQUESTS,
    BACK_NOW /* for work that waits, or its type's min */
};

/* Per node. */
static enum back *backs_of(const struct candidate *d)
{
    enum back *back = ARENA_ARRAY(d->arena, enum back, d->t->s->n_nodes);

    for (uint32_t i = 0; i < d->classes.n; i++) {
        const struct node_class *c = &d->classes.v[i];
        enum back b = c->placed == NONE ? BACK_NOT : BACK_FOR_REQUESTS;

        if (c->undrain || without_awaited(d, c))
            b = BACK_NOW;
        for (uint32_t k = 0; k < c->n && c->kind == CLASS_DRAINING; k++)
            back[d->members[c->first + k]] = b;
    }
    return back;
}

/* A host group goes and comes back as one. */
static void backs_join(const struct drained *x, enum back *back)
{
    for (uint32_t k = 0; k < x->best->t->s->n_nodes; k++)
        for (uint32_t i = x->u->next[k]; i != k; i = x->u->next[i])
            if (back[i] > back[k])
                back[k] = back[i];
}

static void mark(const struct drained *x, uint32_t first, enum leaving as)
{
    for (uint32_t i = first; i != NONE; i = host_group_next(x->u, first, i))
        if (x->best->t->s->nodes[i].state == STATE_DRAINING &&
            limits_gives_room(x->best->t->s, &x->best->t->s->nodes[i]))
            x->gone[i] = as;
}

/* With what is marked. */
static bool stands(const struct drained *x)
{
    struct candidate base, d;

    candidate_start(x->best->t, x->gone, &base);
    d = x->again(&base);
    if (buys(&d) || !without_as_good(&d, x->best))
        return false;
    *x->best = d;
    return true;
}

/* All of them, as the plan before had it; else one by one, as the demand has
 * changed. */
void without_drained(struct candidate *best, enum leaving *gone,
                     const struct host_groups *u,
                     struct candidate (*again)(const struct candidate *base))
{
    const uint32_t n = best->t->s->n_nodes;
    const struct drained x = {best, gone, u, again};
    enum back *back;
    uint32_t any = 0;

    if (buys(best))
        return;
    back = backs_of(best);
    backs_join(&x, back);
    for (uint32_t i = 0; i < n; i++) {
        any += back[i] == BACK_FOR_REQUESTS;
        if (back[i] != BACK_NOW)
            mark(&x, i, LEAVES);
    }
    if (any == 0 || stands(&x))
        return;
    for (uint32_t i = 0; i < n; i++)
        if (back[i] == BACK_FOR_REQUESTS)
            mark(&x, i, LEAVES_NOT);
    for (uint32_t i = 0, tries = TRIES; i < n && tries > 0 && any > 1; i++) {
        if (back[i] != BACK_FOR_REQUESTS)
            continue;
        tries--;
        mark(&x, i, LEAVES);
        if (!stands(&x))
            mark(&x, i, LEAVES_NOT);
    }
}
