/*
 * seated.c - see seated.h.
 *
 * A program of its own: seats are rows.  Every column of the other one is one
 * here, with the seat that its bin has.
 */
#include "seated.h"

#include "../bound.h"
#include "../mix.h"

#include <string.h>

/* Of the work, to the program itself; the rest proves its bound, for which at first the
 * other program's columns are good enough. */
#define PROGRAM_PART 2
#define PROGRAM_PART_FIRST 10

static void numbers_make(struct seated *x, const struct view *v)
{
    const struct view *w = &x->v;
    struct arena *a = w->arena;
    uint32_t *at = ARENA_ARRAY(a, uint32_t, x->p.n_items);

    x->item = ARENA_ARRAY(a, uint32_t, v->n_items);
    x->other_item = ARENA_ARRAY(a, uint32_t, w->n_items);
    memset(x->other_item, 0xff, w->n_items * sizeof *x->other_item);
    for (uint32_t i = 0; i < w->n_items; i++)
        at[w->item_of[i]] = i;
    for (uint32_t i = 0; i < v->n_items; i++) {
        x->item[i] = at[v->item_of[i]];
        x->other_item[x->item[i]] = i;
    }
    x->bin = view_bin_numbers(w);
    x->other_bin = ARENA_ARRAY(a, uint32_t, w->n_bins);
    at = view_bin_numbers(v);
    for (uint32_t t = 0; t < w->n_bins; t++)
        x->other_bin[t] = at[w->bin_of[t]];
    x->seat = ARENA_ARRAY(a, uint32_t, w->n_items);
    for (uint32_t i = 0; i < w->n_items; i++)
        if (x->other_item[i] == UINT32_MAX)
            x->seat[x->n_seats++] = i;
}

struct seated *seated_make(struct generate *g, const struct cover_problem *p,
                           struct arena *arena)
{
    const struct view *v = g->v;
    struct seated *x = ARENA_NEW(arena, struct seated);

    x->p = *p;
    view_make(&x->p, arena, &x->v);
    numbers_make(x, v);
    x->worth = ARENA_ARRAY(arena, double, x->v.n_items);
    x->n_items = v->n_items;
    generate_make(&x->v, NULL, 0, &x->g);
    g->extra += (uint64_t)v->n_items * v->n_items / 8;
    return x;
}

/* Its program gets those of g's columns that it has not. */
static void feed(struct seated *x, const struct generate *g)
{
    const struct master *m = &g->master;

    for (; x->fed < m->column.n; x->fed++) {
        const struct partial_pattern *c = &m->column.v[x->fed];
        uint32_t bin = c->n ? x->bin[g->v->bin_of[c->bin]] : UINT32_MAX;

        if (bin == UINT32_MAX)
            continue;
        x->part.n = 0;
        for (uint32_t k = 0; k < c->n; k++) {
            struct cover_part part = m->part.v[c->first + k];

            part.item = x->item[part.item];
            VEC_PUSH(x->v.arena, &x->part, part);
        }
        for (uint32_t k = 0; k < x->n_seats; k++)
            if (view_can(&x->v, bin, x->seat[k]))
                VEC_PUSH(x->v.arena, &x->part,
                         ((struct cover_part){x->seat[k], 1}));
        master_add(&x->g.master, bin, x->part.v, x->part.n);
        x->g.extra += c->n;
    }
}

/* And g's its columns from `from` on. */
static void give(struct seated *x, struct generate *g, uint32_t from)
{
    const struct master *m = &x->g.master;

    for (; from < m->column.n; from++) {
        const struct partial_pattern *c = &m->column.v[from];
        uint32_t bin = c->n ? x->other_bin[c->bin] : UINT32_MAX;

        if (bin == UINT32_MAX)
            continue;
        x->part.n = 0;
        for (uint32_t k = 0; k < c->n; k++) {
            struct cover_part part = m->part.v[c->first + k];

            part.item = x->other_item[part.item];
            if (part.item != UINT32_MAX)
                VEC_PUSH(x->v.arena, &x->part, part);
        }
        if (x->part.n)
            master_add(&g->master, bin, x->part.v, x->part.n);
    }
    x->fed = g->master.column.n;
}

/* Worths of g's items as those of its own; seats have none.  Until the next call. */
static const double *worth_here(struct seated *x, const double *worth)
{
    memset(x->worth, 0, x->v.n_items * sizeof *x->worth);
    for (uint32_t i = 0; i < x->n_items; i++)
        x->worth[x->item[i]] = worth[i];
    return x->worth;
}

/* What was proved without seats is proved with them; to go on from there. */
static void go_on_from(struct generate *seated, double bound,
                       const double *worth)
{
    if (bound <= seated->tried)
        return;
    for (uint32_t t = 0; t < seated->v->n_bins && !generate_stopped(seated);
         t++)
        generate_earns(seated, t,
                       price_tune(seated->price, t, worth, NULL, 0, 40));
    if (!generate_stopped(seated))
        bound_note(seated, worth);
}

bool seated_run(struct seated *x, struct generate *g, double bound,
                const double *worth, uint64_t nodes, uint64_t until)
{
    uint64_t from = generate_work(&x->g), now = generate_work(g), steps;
    uint32_t had,
        part = x->begun || g->done ? PROGRAM_PART : PROGRAM_PART_FIRST;

    if (now >= until || generate_stopped(g))
        return false;
    steps = until - now;
    x->g.stop = from + g->stop - now;
    feed(x, g);
    if (!x->begun)
        generate_begin(&x->g, worth ? worth : worth_here(x, g->worth));
    x->begun = true;
    go_on_from(&x->g, bound, worth ? worth : worth_here(x, g->dual));
    had = x->g.master.column.n;
    generate_run(&x->g, x->v.count, from + steps / part, 1e-4, UINT32_MAX,
                 true);
    mix_run(&x->g, nodes, from + steps);
    g->extra += generate_work(&x->g) - from;
    if (generate_stopped(g))
        return false;
    give(x, g, had);
    return generate_work(g) < until;
}
