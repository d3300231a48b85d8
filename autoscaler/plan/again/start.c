/*
 * start.c - see start.h.
 */
#include "start.h"

#include <string.h>

#include "facts.h"

void start_done(struct start *x)
{
    packed_done(&x->packed);
    arena_done(&x->fleet_arena);
    arena_done(&x->arena);
    *x = (struct start){.known = x->known, .packed.known = x->packed.known};
}

size_t start_bytes(const struct start *x)
{
    return x->arena.used + x->packed.arena.used + x->fleet_arena.used;
}

/* Makes it anew, unless it is about these facts. */
static void learn(struct start *x, const struct problem *now,
                  const enum leaving *gone, struct arena *arena)
{
    uint32_t n;
    const uint64_t *facts = facts_write(now, gone, x->n_facts, arena, &n);

    x->packed.used = false;
    if (x->facts && x->n_facts == n &&
        memcmp(x->facts, facts, n * sizeof *facts) == 0) {
        x->known++;
        return;
    }
    start_done(x);
    x->facts = arena_copy(&x->arena, facts, n * sizeof *facts);
    x->n_facts = n;
    tables_make(now, &x->arena, &x->tables);
    tables_could_keep(&x->tables);
    candidate_start(&x->tables, gone, &x->base);
}

void start_make(struct start *x, const struct problem *now,
                const enum leaving *gone, struct arena *arena,
                struct tables *ret_tables, struct candidate *ret_base)
{
    struct candidate *d = ret_base;

    if (!x) {
        tables_make(now, arena, ret_tables);
        candidate_start(ret_tables, gone, d);
        return;
    }
    learn(x, now, gone, arena);
    *ret_tables = x->tables;
    ret_tables->s = now;
    ret_tables->arena = arena;
    tables_demand_again(ret_tables);
    *d = x->base;
    d->t = ret_tables;
    d->arena = arena;
    d->start = x;
    d->left = ARENA_ARRAY(arena, uint32_t, ret_tables->n_groups);
    for (uint32_t i = 0; i < ret_tables->n_groups; i++)
        d->left[i] = ret_tables->groups[i].count;
}
