/*
 * certify.c - a bound without a plan.
 *
 * The bound of the resources first; then column generation and its proof have
 * all the work, in stages (stage.h), so that more is never worse.  With
 * too many shapes the bound is one for clusters of like ones, each as small as
 * its smallest: valid for them too.
 */
#include "bound.h"
#include "coarse.h"
#include "greedy.h"
#include "relax.h"
#include "stage.h"
#include "weight.h"

#define RELAX_WORK 1000000
#define TIGHT 1e-7
#define STARTS 3 /* greedy plans whose patterns are the first columns */

struct certify {
    struct view v;
    struct generate g;
    struct greedy *greedy;
    struct partial trial;
    struct space space;
    double *worth;
};

static void start(struct certify *x)
{
    const unsigned sizes = 1u << BY_SUM | 1u << BY_LARGEST | 1u << BY_SCARCE;
    const struct view *v = &x->v;

    generate_make(v, &x->g);
    x->greedy = greedy_make(v, x->g.price);
    partial_make(v, &x->trial);
    space_make(v, &x->space);
    x->worth = ARENA_ARRAY(v->arena, double, v->n_items);
    weight_from_prices(v, x->worth);
    for (int r = 0; r < STARTS; r++) {
        partial_clear(&x->trial);
        x->g.extra += greedy_run(x->greedy, x->worth, sizes, false, &x->trial);
        partial_downgrade(&x->trial, &x->space);
        master_add_partial(&x->g.master, &x->trial);
        weight_learn(&x->trial, x->worth);
    }
    generate_begin(&x->g, x->worth);
}

/* No bound of this kind is above the program's value. */
static bool tight(const struct generate *g)
{
    return g->bound >= lp_value(g->master.lp) * (1 - TIGHT);
}

static double by_program(struct certify *x, uint64_t missing, uint64_t budget)
{
    struct generate *g = &x->g;

    start(x);
    g->missing = missing;
    g->stop = budget;
    for (uint32_t k = 0; k < STAGES && !generate_stopped(g) && !tight(g); k++)
        if (stage_end(k) > generate_work(g))
            bound_stage(g, stage_end(k) - generate_work(g), stage_end(k));
    return g->bound;
}

static int64_t by_clusters(struct certify *x, uint64_t missing, uint64_t budget,
                           uint64_t *work)
{
    struct coarse coarse;

    coarse_make(&x->v, COARSE_BOUND, true, &coarse);
    *work += coarse.work;
    if (!coarse.p.n_items || coarse.work >= budget)
        return 0;
    coarse.p.conserve = false;
    return cover_bound(&coarse.p, missing, budget - coarse.work, x->v.arena,
                       work);
}

int64_t cover_bound(const struct cover_problem *p, uint64_t missing,
                    uint64_t budget, struct arena *arena, uint64_t *work)
{
    struct certify *x = ARENA_NEW(arena, struct certify);
    int64_t bound, better = 0;

    view_make(p, arena, &x->v);
    /* Those that fit nowhere are left out by any plan. */
    missing -= missing < x->v.no_home ? missing : x->v.no_home;
    if (!x->v.n_items || missing >= x->v.total)
        return 0;
    bound = relax_bound(&x->v, missing, RELAX_WORK, work);
    if (budget > 0 && x->v.n_items > GENERATE_ROWS) {
        better = by_clusters(x, missing, budget, work);
    } else if (budget > 0) {
        better = bound_whole(&x->v, by_program(x, missing, budget));
        *work += generate_work(&x->g);
    }
    return better > bound ? better : bound;
}
