/*
 * pack.c - first fit over classes of equal nodes, the fullest first.
 *
 * Work that needs no accelerator looks at nodes without one first.
 */
#include "pack.h"

#include "fallback.h"
#include "quota.h"

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

void pack_on(struct candidate *d, uint32_t i, uint32_t group, uint32_t alt,
             uint32_t per_node, uint32_t nodes)
{
    const struct tables *t = d->t;
    enum side side = t->groups[group].side;
    const struct node_class *c = &d->classes.v[i];
    uint32_t left = least(d->left[group], quota_room(d, group, alt));
    uint32_t n = least(least(c->n, nodes), quota_nodes_on(d, i, group, alt));
    uint32_t full, rest, q;

    q = room_fit(t->s, &c->room[side],
                 &t->needs[tables_shape(d->t, group, alt)],
                 least(left, per_node));
    if (q == 0 || n == 0)
        return;
    full = least(left / q, n);
    rest = full < n ? left - full * q : 0;
    if (full < c->n) {
        uint32_t j = candidate_split(d, i, full);

        if (rest > 0) {
            if (d->classes.v[j].n > 1)
                candidate_split(d, j, 1);
            candidate_place(d, j, group, alt, rest);
        }
    }
    candidate_place(d, i, group, alt, q);
}

/* What a group asks of a class, found once for a loop over all of them. */
struct asked {
    uint32_t group, alt, shape;
    enum side side;
    const struct needs *needs;
    struct pack_rule rule;
};

static struct asked asked_of(const struct candidate *d, uint32_t group,
                             uint32_t alt, struct pack_rule rule)
{
    uint32_t shape = tables_shape(d->t, group, alt);

    return (struct asked){
        group, alt, shape, d->t->groups[group].side, &d->t->needs[shape], rule};
}

static bool may_lie_here(const struct candidate *d, uint32_t i,
                         const struct asked *a)
{
    const struct node_class *c = &d->classes.v[i];

    return candidate_matches(d, i, a->shape) &&
           (a->rule.patient || !fallback_silent(d, i, a->group, a->alt)) &&
           (a->rule.host_group == 0 || c->host_group == a->rule.host_group) &&
           (!a->rule.newer || fallback_newer(d, i, a->group));
}

/* Cheapest tests first: most classes fail one of them. */
static inline bool may_lie(struct candidate *d, uint32_t i,
                           const struct asked *a)
{
    const struct node_class *c = &d->classes.v[i];

    d->work++;
    return c->n > 0 && room_might(&c->room[a->side], a->needs) &&
           may_lie_here(d, i, a);
}

void pack_group(struct candidate *d, uint32_t group, uint32_t alt,
                struct pack_rule rule)
{
    const struct asked asked = asked_of(d, group, alt, rule);
    bool plain = !d->t->s->shapes[asked.shape].accelerator;

    for (int pass = plain ? 0 : 1; pass < 2; pass++) {
        uint32_t next;

        for (uint32_t i = 0; i != NONE && d->left[group] > 0; i = next) {
            next = d->classes.v[i].next;
            if (plain && d->classes.v[i].accelerator != (pass == 1))
                continue;
            if (may_lie(d, i, &asked))
                pack_on(d, i, group, alt, UINT32_MAX, UINT32_MAX);
        }
    }
}

/* ---- many groups, one after the other */

enum { BLOCK = 16 };

/* Classes in their order that have room for one of the demand groups: there is
 * no need to look at the others for each of them.  An entry is a class and what it
 * has been split into.  The most that any of these has free is here too, and the
 * most of BLOCK entries: many are passed by at a time.  The most is a row, then
 * for each column the largest part of a device. */
struct crowd {
    VEC(uint32_t) first, last; /* of an entry */
    VEC(int64_t) most;         /* 2 x columns of each entry */
    VEC(int64_t) block_most;   /* 2 x columns of each block */
    uint32_t columns;
    int64_t *least; /* of each column, that any of the groups asks for */
    enum side side;
};

static void least_find(const struct candidate *d, const uint32_t *groups,
                       const uint32_t *alts, uint32_t n, int64_t *least)
{
    uint32_t columns = d->t->s->n_columns, met = 0;
    int64_t *row = ARENA_ARRAY(d->arena, int64_t, columns);

    for (uint32_t i = 0; i < n; i++) {
        const struct needs *needs =
            &d->t->needs[tables_shape(d->t, groups[i], alts[i])];

        if (d->left[groups[i]] == 0)
            continue;
        for (uint32_t c = 0; c < columns; c++)
            row[c] = 0;
        for (uint32_t k = 0; k < needs->n_whole; k++)
            row[needs->v[k].column] = needs->v[k].amount;
        for (uint32_t c = 0; c < columns; c++)
            if (met == 0 || row[c] < least[c])
                least[c] = row[c];
        met++;
    }
}

static bool has_room(const struct candidate *d, const struct crowd *w,
                     uint32_t i)
{
    const struct node_class *c = &d->classes.v[i];

    for (uint32_t k = 0; c->n > 0 && k < w->columns; k++)
        if (c->room[w->side].row[k] < w->least[k])
            return false;
    return c->n > 0;
}

static int64_t *most_of(const struct crowd *w, uint32_t entry)
{
    return w->most.v + (size_t)entry * 2 * w->columns;
}

static void most_clear(const struct crowd *w, int64_t *most)
{
    for (uint32_t c = 0; c < 2 * w->columns; c++)
        most[c] = -1;
}

static void raise(int64_t *most, int64_t free)
{
    if (free > *most)
        *most = free;
}

static void most_raise(const struct crowd *w, int64_t *most,
                       const struct room *room)
{
    for (uint32_t c = 0; c < w->columns; c++) {
        raise(&most[c], room->row[c]);
        if (room->row[c] >= AMOUNT_ONE)
            raise(&most[w->columns + c], AMOUNT_ONE);
    }
    for (uint32_t p = 0; p < room->n_parts; p++)
        raise(&most[w->columns + room->parts[p].column], room->parts[p].free);
}

static void block_measure(struct crowd *w, uint32_t block)
{
    int64_t *most = w->block_most.v + (size_t)block * 2 * w->columns;
    uint32_t end = (block + 1) * BLOCK;

    most_clear(w, most);
    end = end < w->first.n ? end : w->first.n;
    for (uint32_t k = block * BLOCK; k < end; k++)
        for (uint32_t c = 0; c < 2 * w->columns; c++)
            raise(&most[c], most_of(w, k)[c]);
}

/* The entry is now the classes from its first up to `end`. */
static void entry_measure(const struct candidate *d, struct crowd *w,
                          uint32_t k, uint32_t end)
{
    int64_t *most = most_of(w, k);

    most_clear(w, most);
    for (uint32_t i = w->first.v[k]; i != end; i = d->classes.v[i].next) {
        w->last.v[k] = i;
        if (has_room(d, w, i))
            most_raise(w, most, &d->classes.v[i].room[w->side]);
    }
}

static void crowd_make(struct candidate *d, struct crowd *w)
{
    for (uint32_t i = 0; i != NONE; i = d->classes.v[i].next) {
        if (!has_room(d, w, i))
            continue;
        VEC_PUSH(d->arena, &w->first, i);
        VEC_PUSH(d->arena, &w->last, i);
        for (uint32_t c = 0; c < 2 * w->columns; c++)
            VEC_PUSH(d->arena, &w->most, -1);
        most_raise(w, most_of(w, w->first.n - 1),
                   &d->classes.v[i].room[w->side]);
    }
    for (uint32_t b = 0; b * BLOCK < w->first.n; b++) {
        for (uint32_t c = 0; c < 2 * w->columns; c++)
            VEC_PUSH(d->arena, &w->block_most, -1);
        block_measure(w, b);
    }
}

/* Is there enough at a glance? */
static inline bool enough(const struct crowd *w, const int64_t *most,
                          const struct needs *needs)
{
    for (uint32_t i = 0; i < needs->n_whole; i++)
        if (most[needs->v[i].column] < needs->v[i].amount)
            return false;
    for (uint32_t i = needs->n_whole; i < needs->n; i++)
        if (most[w->columns + needs->v[i].column] < needs->v[i].amount)
            return false;
    return true;
}

/* only: classes with (1) or without (0) accelerators, -1: all. */
static void entry_pack(struct candidate *d, struct crowd *w, uint32_t k,
                       const struct asked *a, int only)
{
    const uint32_t end = d->classes.v[w->last.v[k]].next;
    const uint32_t left = d->left[a->group];
    uint32_t next;

    for (uint32_t i = w->first.v[k]; i != end && d->left[a->group] > 0;
         i = next) {
        next = d->classes.v[i].next;
        if ((only >= 0 && d->classes.v[i].accelerator != only) ||
            !may_lie(d, i, a))
            continue;
        pack_on(d, i, a->group, a->alt, UINT32_MAX, UINT32_MAX);
    }
    if (d->left[a->group] == left)
        return;
    entry_measure(d, w, k, end);
    block_measure(w, k / BLOCK);
}

static void crowd_pack(struct candidate *d, struct crowd *w,
                       const struct asked *a, int only)
{
    uint32_t step;

    for (uint32_t k = 0; k < w->first.n && d->left[a->group] > 0; k += step) {
        const int64_t *block = w->block_most.v +
                               (size_t)(k / BLOCK) * 2 * w->columns;

        step = k % BLOCK == 0 && !enough(w, block, a->needs) ? BLOCK : 1;
        d->work += step;
        if (step == 1 && enough(w, most_of(w, k), a->needs))
            entry_pack(d, w, k, a, only);
    }
}

void pack_groups(struct candidate *d, const uint32_t *groups,
                 const uint32_t *alts, uint32_t n, struct pack_rule rule)
{
    struct crowd w = {
        .least = ARENA_ARRAY(d->arena, int64_t, d->t->s->n_columns),
        .columns = d->t->s->n_columns,
        .side = d->t->groups[groups[0]].side};

    least_find(d, groups, alts, n, w.least);
    crowd_make(d, &w);
    for (uint32_t i = 0; i < n; i++) {
        const struct asked a = asked_of(d, groups[i], alts[i], rule);

        if (d->left[groups[i]] == 0)
            continue;
        if (d->t->s->shapes[a.shape].accelerator) {
            crowd_pack(d, &w, &a, -1);
        } else {
            crowd_pack(d, &w, &a, false);
            crowd_pack(d, &w, &a, true);
        }
    }
}

void pack_later(struct candidate *d, const uint32_t *groups, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!fallback_has(d, groups[i]))
            continue;
        pack_group(d, groups[i], 0, (struct pack_rule){0});
        for (uint32_t k = 1; k < d->t->groups[groups[i]].n_alts; k++)
            if (d->left[groups[i]] > 0 && fallback_may_try(d, groups[i], k))
                pack_group(d, groups[i], k, (struct pack_rule){.newer = true});
    }
}

void pack_spread(struct candidate *d, uint32_t group, uint32_t alt,
                 uint32_t gang, struct pack_rule rule)
{
    const struct asked asked = asked_of(d, group, alt, rule);
    bool plain = !d->t->s->shapes[asked.shape].accelerator;

    for (int pass = plain ? 0 : 1; pass < 2; pass++) {
        uint32_t next;

        for (uint32_t i = 0; i != NONE && d->left[group] > 0; i = next) {
            const struct node_class *c = &d->classes.v[i];
            uint32_t before = d->left[group];

            next = c->next;
            if ((plain && c->accelerator != (pass == 1)) || c->spread == gang ||
                !may_lie(d, i, &asked))
                continue;
            pack_on(d, i, group, alt, 1, UINT32_MAX);
            if (d->left[group] < before)
                candidate_spread(d, i, gang);
        }
    }
}
