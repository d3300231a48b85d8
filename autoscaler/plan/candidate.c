/*
 * candidate.c - changing a candidate, and taking changes back.
 *
 * Rooms are values (room.h), so that undo keeps the old struct of a class and
 * nothing else.  Every change of a class goes through candidate_touch().
 */
#include "candidate.h"

#include <assert.h>

#include "limits.h"

struct node_class *candidate_touch(struct candidate *d, uint32_t i)
{
    if (d->marked) {
        struct undo u = {i, d->classes.v[i]};

        VEC_PUSH(d->arena, &d->undo, u);
    }
    d->work++;
    return &d->classes.v[i];
}

struct mark candidate_mark(struct candidate *d)
{
    d->marked = true;
    return (struct mark){d->undo.n, d->classes.n, d->bought.n};
}

void candidate_undo(struct candidate *d, struct mark m)
{
    while (d->undo.n > m.n_undo) {
        const struct undo *u = &d->undo.v[--d->undo.n];

        if (u->ix < m.n_classes)
            d->classes.v[u->ix] = u->old;
    }
    d->classes.n = m.n_classes;
    while (d->bought.n > m.n_bought) {
        const struct bought *b = &d->bought.v[--d->bought.n];

        limits_bought(d, b->offer, b->count, b->dropped ? 1 : -1);
    }
}

uint32_t candidate_split(struct candidate *d, uint32_t i, uint32_t k)
{
    uint32_t j = d->classes.n;
    struct node_class rest = d->classes.v[i];
    struct node_class *c;

    assert(k > 0 && k < rest.n);
    rest.first += k;
    rest.n -= k;
    VEC_PUSH(d->arena, &d->classes, rest);
    c = candidate_touch(d, i);
    c->n = k;
    c->next = j;
    return j;
}

void candidate_place(struct candidate *d, uint32_t i, uint32_t group,
                     uint32_t alt, uint32_t count)
{
    const struct tables *t = d->t;
    enum side side = t->groups[group].side;
    struct node_class *c = candidate_touch(d, i);
    struct placement p = {group, alt, count, c->placed};

    assert(count > 0 && (uint64_t)c->n * count <= d->left[group]);
    c->room[side] = room_take(t->s, &c->room[side],
                              &t->needs[tables_shape(d->t, group, alt)], count,
                              d->arena);
    c->placed = d->placements.n;
    VEC_PUSH(d->arena, &d->placements, p);
    d->left[group] -= c->n * count;
}

void candidate_spread(struct candidate *d, uint32_t i, uint32_t gang)
{
    candidate_touch(d, i)->spread = gang;
}

void candidate_undrain(struct candidate *d, uint32_t i)
{
    candidate_touch(d, i)->undrain = true;
}

void candidate_drop(struct candidate *d, uint32_t i)
{
    struct node_class *c = candidate_touch(d, i);
    struct bought b = {c->offer, c->n, true};

    assert(c->kind == CLASS_NEW && c->n > 0);
    for (uint32_t k = c->placed; k != NONE; k = d->placements.v[k].next)
        d->left[d->placements.v[k].group] += d->placements.v[k].count * c->n;
    c->kind = CLASS_SENTINEL;
    c->n = 0;
    c->placed = NONE;
    limits_bought(d, b.offer, b.count, -1);
    VEC_PUSH(d->arena, &d->bought, b);
}

bool candidate_matches(const struct candidate *d, uint32_t i, uint32_t shape)
{
    const struct node_class *c = &d->classes.v[i];
    uint32_t selector = d->t->s->shapes[shape].selector;

    return c->kind == CLASS_NEW
               ? tables_match_offer(d->t, selector, c->offer)
               : tables_match_node(d->t, selector, d->members[c->first]);
}

/* How far down its alternatives each group had to go, all bundles together. */
static const uint64_t *lateness(const struct candidate *d)
{
    uint64_t *late = ARENA_ARRAY(d->arena, uint64_t, d->t->n_groups);

    for (uint32_t i = 0; i < d->classes.n; i++) {
        const struct node_class *c = &d->classes.v[i];

        for (uint32_t h = c->n > 0 ? c->placed : NONE; h != NONE;
             h = d->placements.v[h].next)
            late[d->placements.v[h].group] += (uint64_t)d->placements.v[h].alt *
                                              d->placements.v[h].count * c->n;
    }
    return late;
}

bool candidate_later(const struct candidate *a, const struct candidate *b)
{
    const struct tables *t = a->t;
    const uint64_t *x, *y;
    uint32_t i = 0;

    while (i < t->n_groups && t->groups[i].n_alts == 1)
        i++;
    if (i == t->n_groups)
        return false;
    x = lateness(a);
    y = lateness(b);
    for (; i < t->n_groups; i++)
        if (t->groups[i].rank != RANK_UNCONFIRMED && x[i] > y[i])
            return true;
    return false;
}
