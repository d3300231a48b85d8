/*
 * planner.c - the order of passes.
 *
 * Forced ends and mins come first and are the same in every sketch.  Then the
 * demand is sketched: first fit on what is there, the cover for the rest.  Only
 * when that buys something are other sketches tried (planner.h: the same
 * snapshot, the same plan), and the best of them becomes the plan.
 */
#include "planner.h"

#include "sketch.h"
#include "report.h"
#include "serve.h"
#include "shrink.h"

static uint64_t left_of(const struct sketch *d)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < d->t->n_wants; i++)
        n += d->left[i];
    return n;
}

static uint64_t bought_of(const struct sketch *d)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < d->bought.n; i++)
        n += d->bought.v[i].count;
    return n;
}

/* Fewer bundles left, then cheaper, then fewer nodes; the earlier sketch on a
 * tie. */
static bool better(const struct sketch *a, const struct sketch *b)
{
    uint64_t la = left_of(a), lb = left_of(b);

    if (la != lb)
        return la < lb;
    if (a->bought_cost != b->bought_cost)
        return a->bought_cost < b->bought_cost;
    return bought_of(a) < bought_of(b);
}

struct chances {         /* which other sketches can differ from the first */
    bool starting, whole, both_sides;
};

static struct chances chances_of(const struct sketch *base)
{
    const struct tables *t = base->t;
    struct chances c = {0};
    bool total = false, available = false;

    for (uint32_t i = 0; i < base->classes.n; i++) {
        const struct node_class *n = &base->classes.v[i];

        if (n->n == 0 || n->kind != CLASS_THERE || !n->whole[SIDE_TOTAL])
            continue;
        c.starting = c.starting || n->starting;
        c.whole = c.whole || !n->starting;
    }
    for (uint32_t i = 0; i < t->n_wants; i++)
        *(t->wants[i].side == SIDE_TOTAL ? &total : &available) = true;
    c.both_sides = total && available;
    return c;
}

static void try_draft(const struct sketch *base, enum keep_back keep,
                      bool work_first, struct sketch *best, uint64_t *work)
{
    struct sketch d;

    sketch_copy(base, &d);
    serve_all(&d, keep, work_first);
    *work += d.work;
    if (better(&d, best))
        *best = d;
}

static struct sketch sketch_best(const struct sketch *base)
{
    const struct chances may = chances_of(base);
    struct sketch best;
    uint64_t work;

    sketch_copy(base, &best);
    serve_all(&best, KEEP_BACK_NONE, false);
    work = best.work;
    if (best.bought.n > base->bought.n) {
        if (may.starting)
            try_draft(base, KEEP_BACK_STARTING, false, &best, &work);
        if (may.whole && best.bought.n > base->bought.n)
            try_draft(base, KEEP_BACK_WHOLE, false, &best, &work);
        if (may.both_sides && best.bought.n > base->bought.n)
            try_draft(base, KEEP_BACK_NONE, true, &best, &work);
    }
    best.work = work;
    return best;
}

/* A bound on the cost of the cover is one on the plan's when nothing else was
 * bought but mins, and no node that is there took part. */
static int64_t bound_of(const struct sketch *d, const struct sketch *base)
{
    if (d->bought.n == base->bought.n)
        return d->bought_cost;
    for (uint32_t i = 0; i < base->classes.n; i++)
        if (base->classes.v[i].n > 0)
            return -1;
    if (d->n_covers != 1 || d->n_single > 0 || d->bound < 0)
        return -1;
    return d->bound;
}

void planner_run(const struct snapshot *now, struct arena *arena,
                 struct plan *ret)
{
    struct verdict *verdicts = ARENA_ARRAY(arena, struct verdict, now->n_nodes);
    bool *gone = ARENA_ARRAY(arena, bool, now->n_nodes);
    struct tables tables;
    struct sketch base, best;

    tables_make(now, arena, &tables);
    shrink_forced(now, arena, verdicts);
    for (uint32_t i = 0; i < now->n_nodes; i++)
        gone[i] = verdicts[i].ended || verdicts[i].going;
    sketch_start(&tables, gone, &base);
    serve_mins(&base);
    best = sketch_best(&base);
    best.bound = bound_of(&best, &base);
    report_make(&best, verdicts, ret);
}
