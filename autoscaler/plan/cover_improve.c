/*
 * cover_improve.c - spends a budget on a better plan than the first.
 */
#include "cover_dive.h"
#include "cover_greedy.h"
#include "cover_ruin.h"
#include "cover_weight.h"

#include <string.h>
#ifdef COVER_TRACE
#include <stdio.h>
#endif

#define MOST_ROWS 700

void cover_improve(const struct cover_problem *p, const struct cover_plan *first,
                   uint64_t budget, struct arena *arena,
                   struct cover_plan *ret)
{
    struct view v;
    struct generate g;
    struct greedy *greedy;
    struct draft d, best;
    struct room room;
    struct dive dive;
    struct ruin *ruin;
    double *worth;
    uint64_t used = 0;
    bool lp;

    view_make(p, arena, &v);
    lp = v.n_items <= MOST_ROWS;
    memset(&g, 0, sizeof g);
    worth = ARENA_ARRAY(arena, double, v.n_items);
    g.bound = -1;
    if (lp)
        generate_make(&v, &g);
    else
        g.price = price_make(&v);
    greedy = greedy_make(&v, g.price);
    draft_make(&v, &d);
    draft_make(&v, &best);
    room_make(&v, &room);
    weight_from_prices(&v, worth);
    for (int r = 0; r < 3; r++) {
        draft_clear(&d);
        used += greedy_run(greedy, worth, 7, false, &d);
        draft_downgrade(&d, &room);
        if (!r || draft_better(&d, &best))
            draft_copy(&best, &d);
        if (lp)
            master_add_draft(&g.master, &d);
        weight_learn(&d, worth);
    }
    if (lp) {
        memcpy(g.worth, worth, v.n_items * sizeof *worth);
        master_add_exchanges(&g.master, worth);
        generate_run(&g, v.count, budget * 4 / 10, 1e-4, 1000, true);
        uint64_t was = generate_work(&g);
        generate_certify(&g, g.worth, budget / 10000);
        generate_certify(&g, g.centre, budget / 10000);
#ifdef COVER_TRACE
        fprintf(stderr, "certified %.3f work %.1fM\n", g.bound / 1e6, (generate_work(&g)-was)/1e6);
#endif
        dive_make(&g, greedy, &dive);
        memcpy(worth, g.centre, v.n_items * sizeof *worth);
        dive_run(&dive, budget * 17 / 20, &best);
        used += generate_work(&g) + dive.work;
    }
    ruin = ruin_make(&v, g.price, worth);
#ifdef COVER_TRACE
    fprintf(stderr, "ruin from %.3f work %.1fM", (double)best.cost / 1e6, used/1e6);
#endif
    if (used < budget)
        used += ruin_run(ruin, &best, budget - used);
#ifdef COVER_TRACE
    fprintf(stderr, " to %.3f work %.1fM\n", (double)best.cost / 1e6, used/1e6);
#endif
    draft_downgrade(&best, &room);
    draft_export(&best, ret);
    ret->bound = (int64_t)g.bound;
    if (ret->cost >= first->cost) {
        *ret = *first;
        ret->bound = (int64_t)g.bound;
    }
    ret->work = used;
}
