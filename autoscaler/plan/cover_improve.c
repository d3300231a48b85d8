/*
 * cover_improve.c - spends a budget on a better plan than the first.
 */
#include "cover_dive.h"
#include "cover_greedy.h"
#include "cover_weight.h"

#include <string.h>
#ifdef COVER_TRACE
#include <stdio.h>
#endif

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

    view_make(p, arena, &v);
    generate_make(&v, &g);
    greedy = greedy_make(&v, g.price);
    draft_make(&v, &d);
    draft_make(&v, &best);
    room_make(&v, &room);
    weight_from_prices(&v, g.worth);
    for (int r = 0; r < 3; r++) {
        draft_clear(&d);
        greedy_run(greedy, g.worth, 7, false, &d);
        draft_downgrade(&d, &room);
        if (!r || draft_better(&d, &best))
            draft_copy(&best, &d);
        master_add_draft(&g.master, &d);
        weight_learn(&d, g.worth);
    }
    master_add_exchanges(&g.master, g.worth);
    generate_run(&g, v.count, budget * 5 / 10, 1e-4, 1000, true);
    dive_make(&g, greedy, &dive);
    dive_run(&dive, budget, &best);
    draft_export(&best, ret);
    if (ret->cost >= first->cost)
        *ret = *first;
    ret->bound = (int64_t)g.bound;
    ret->work = g.work;
}
