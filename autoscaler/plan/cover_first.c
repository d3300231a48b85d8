/*
 * cover_first.c - the first plan: the greedy with several weights and sizes,
 * the cheapest result kept, each bin then made as small as its content.
 *
 * The first variant alone is the plain price-greedy plan; the others can only
 * improve on it.  How many run is decided by the size of the problem, in
 * counted work, never by a clock.
 */
#include "cover_weight.h"
#include "cover_greedy.h"

#include <string.h>

/* Work all variants together may use: about 1 ms, and 1 ms more for 700 items,
 * up to 8 ms. */
#define WORK_BASE UINT64_C(300000)
#define WORK_ITEM UINT64_C(400)
#define WORK_ALL UINT64_C(3000000)
#define ROUNDS 6

static void keep(const struct draft *d, struct draft *best, bool *any)
{
    if (*any && !draft_better(d, best))
        return;
    draft_copy(best, d);
    *any = true;
}

void cover_first(const struct cover_problem *p, struct arena *arena,
                 struct cover_plan *ret)
{
    static const unsigned plan_sizes[ROUNDS] = {
        1u << BY_SUM | 1u << BY_LARGEST,
        1u << BY_SUM | 1u << BY_SCARCE,
        1u << BY_SUM | 1u << BY_LARGEST | 1u << BY_SCARCE,
        1u << BY_SUM | 1u << BY_SCARCE,
        1u << BY_SUM | 1u << BY_SCARCE,
        1u << BY_SUM | 1u << BY_SCARCE,
    };
    struct view v;
    struct greedy *g;
    struct draft d, best;
    struct room room;
    double *weight;
    uint64_t work = 0, last = 0, most;
    bool any = false;

    memset(ret, 0, sizeof *ret);
    view_make(p, arena, &v);
    g = greedy_make(&v, NULL);
    draft_make(&v, &d);
    draft_make(&v, &best);
    room_make(&v, &room);
    weight = ARENA_ARRAY(arena, double, v.n_items);
    weight_from_prices(&v, weight);
    most = v.total < 10000 ? WORK_BASE + WORK_ITEM * v.total : WORK_ALL;
    most = most < WORK_ALL ? most : WORK_ALL;
    for (int r = 0; r < ROUNDS; r++) {
        if (r && work + last > most && !d.n_left)
            break;
        draft_clear(&d);
        last = greedy_run(g, weight, plan_sizes[r], false, &d);
        work += last;
        draft_downgrade(&d, &room);
        keep(&d, &best, &any);
        weight_learn(&d, weight);
    }
    if (best.n_left && p->max_bins != UNLIMITED) {
        /* Bins are what is short: the fullest first, whatever they cost. */
        draft_clear(&d);
        work += greedy_run(g, weight, plan_sizes[2], true, &d);
        draft_downgrade(&d, &room);
        keep(&d, &best, &any);
    }
    draft_export(&best, ret);
    ret->work = work;
}
