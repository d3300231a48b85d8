/*
 * packed.c - see packed.h.
 */
#include "start.h"

#include <string.h>

void packed_done(struct packed *x)
{
    arena_done(&x->arena);
    *x = (struct packed){.known = x->known};
}

/* Quotas of queues are counted from all that is placed: they are not in the
 * question. */
static bool untouched(const struct candidate *d)
{
    return d->start && d->work == 0 && d->placements.n == 0 &&
           d->bought.n == 0 && !d->marked && !d->how.pool &&
           d->t->s->n_queues == 0;
}

static bool same(const struct packed *x, const struct candidate *d,
                 const uint32_t *groups, const uint32_t *alts, uint32_t n)
{
    if (!x->any || x->n != n ||
        memcmp(x->groups, groups, n * sizeof *groups) != 0 ||
        memcmp(x->alts, alts, n * sizeof *alts) != 0)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t left = d->left[groups[i]];
        const uint32_t placed = x->before[i] - x->after[i];

        if (left != x->before[i] && (x->after[i] == 0 || left <= placed))
            return false;
    }
    return true;
}

bool packed_again(struct candidate *d, const uint32_t *groups,
                  const uint32_t *alts, uint32_t n)
{
    struct packed *x = d->start ? &d->start->packed : NULL;

    if (!untouched(d) || !same(x, d, groups, alts, n))
        return false;
    for (uint32_t i = 0; i < n; i++)
        d->left[groups[i]] -= x->before[i] - x->after[i];
    d->classes.n = 0;
    d->classes.v = arena_copy(d->arena, x->d.classes.v,
                              x->d.classes.n * sizeof *x->d.classes.v);
    d->classes.n = d->classes.cap = x->d.classes.n;
    d->placements.v = arena_copy(d->arena, x->d.placements.v,
                                 x->d.placements.n * sizeof *x->d.placements.v);
    d->placements.n = d->placements.cap = x->d.placements.n;
    d->work = x->d.work;
    x->used = true;
    x->known++;
    return true;
}

const uint32_t *packed_before(const struct candidate *d)
{
    if (!untouched(d) || d->start->packed.used)
        return NULL;
    return arena_copy(d->arena, d->left, d->t->n_groups * sizeof *d->left);
}

/* Rooms that the candidate made are in its arena. */
static void own_rooms(struct packed *x)
{
    const uint32_t columns = x->d.t->s->n_columns;

    for (uint32_t i = 0; i < x->d.classes.n; i++) {
        struct node_class *c = &x->d.classes.v[i];

        for (int side = 0; side < SIDES && c->placed != NONE; side++) {
            struct room *r = &c->room[side];

            r->row = arena_copy(&x->arena, r->row, columns * sizeof *r->row);
            r->parts = arena_copy(&x->arena, r->parts,
                                  r->n_parts * sizeof *r->parts);
        }
    }
}

static const uint32_t *lefts(struct packed *x, const uint32_t *left,
                             const uint32_t *groups, uint32_t n)
{
    uint32_t *ret = ARENA_ARRAY(&x->arena, uint32_t, n);

    for (uint32_t i = 0; i < n; i++)
        ret[i] = left[groups[i]];
    return ret;
}

void packed_keep(const struct candidate *d, const uint32_t *groups,
                 const uint32_t *alts, uint32_t n, const uint32_t *before)
{
    struct packed *x;
    struct arena *a;

    if (!before)
        return;
    x = &d->start->packed;
    a = &x->arena;
    packed_done(x);
    x->used = x->any = true;
    x->n = n;
    x->d = *d;
    x->groups = arena_copy(a, groups, n * sizeof *groups);
    x->alts = arena_copy(a, alts, n * sizeof *alts);
    x->before = lefts(x, before, groups, n);
    x->after = lefts(x, d->left, groups, n);
    x->d.classes.v = arena_copy(a, d->classes.v,
                                d->classes.n * sizeof *d->classes.v);
    x->d.placements.v = arena_copy(a, d->placements.v,
                                   d->placements.n * sizeof *d->placements.v);
    own_rooms(x);
}
