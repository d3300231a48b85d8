/*
 * proof.c - see proof.h.
 */
#include "proof.h"

#include "../bound.h"
#include "../exact/exact.h"
#include "../groups/groups.h"
#include "../mix.h"
#include "../seats/seated.h"
#include "branch.h"

#include <string.h>

/* Of a stage, for groups of many shapes; for column generation, which has little beside
 * those, and in the first stage with seats, which finds more columns that way; for the
 * program whose value is proved, and when the other is solved. */
#define GROUPS_TENTHS 8
#define GROUPS_TENTHS_FIRST 5 /* beside column generation, which begins there */
#define GENERATE_TENTHS 4
#define GENERATE_TENTHS_LITTLE 1
#define MIX_PART 5
#define MIX_PART_DONE 4
#define MIX_PART_SEATS 2
/* From stages on that end here: with the joint bound of a bin (joint.h) mixes are what
 * proves more still. */
#define MIX_LATE (2000 * COVER_STEPS_PER_MS)
#define MIX_PART_LATE 2
/* With less work an item than this it would take more from the plan than it gives. */
#define MIX_FROM UINT64_C(500000)
#define MIX_PART_LITTLE 40
/* Of a stage, for prices of resources: as long as they have few rounds more. */
#define ASSIGN_PART 20
#define PARTS_FIRST \
    16 /* the first look at what they prove is after so small a part */
#define ASSIGN_PART_FEW 8
#define ASSIGN_FEW (8 * COVER_STEPS_PER_MS)
/* From stages on that end here the best prices of all are looked for. */
#define EXACT_FROM (100 * COVER_STEPS_PER_MS)
#define EXACT_PART 4       /* of the steps until then */
#define EXACT_PART_CHEAP 3 /* while column generation has to wait */
/* In stages that end here column generation is far from its best: prices of all
 * resources prove more, and have their turn first. */
#define FIRST_UNTIL (100 * COVER_STEPS_PER_MS)
/* Of the program's value: so far from it, column generation is far from its end. */
#define FAR 0.0125
/* Of few shapes: the bound is of more use than the plan. */
#define BEHIND 0.03
/* Seats: from stages on that end at so many steps, times the square of the
 * shapes, and for few shapes. */
#define SEATS_FROM UINT64_C(9000)
/* The branch: from stages on that end at so many steps, times the square of the
 * shapes; its part of one.  A bound as near to the program's value is all there
 * is without one. */
#define BRANCH_FROM UINT64_C(20000)
#define BRANCH_PART 4
#define SOLVED 1e-3

/* Do prices of resources prove all that is to be proved? */
static bool is_enough(const struct generate *g)
{
    return (double)view_whole(g->v, assign_bound(g->assign)) >= g->enough;
}

/* More rounds of the prices of resources; of no use once they are the best. */
static void by_prices(struct generate *g, uint64_t steps)
{
    uint64_t from;
    double bound;

    if (g->settled)
        return;
    if (!g->assign) {
        g->assign = assign_make(g->v, g->missing);
        g->extra += assign_work(g->assign);
    }
    if (generate_stopped(g))
        return;
    if (steps > g->stop - generate_work(g))
        steps = g->stop - generate_work(g);
    from = assign_work(g->assign);
    for (uint64_t part = steps / PARTS_FIRST; part < steps && !is_enough(g);
         part *= 2)
        assign_run(g->assign, from + part);
    if (!is_enough(g))
        assign_run(g->assign, from + steps);
    g->extra += assign_work(g->assign) - from;
    bound = assign_bound(g->assign);
    if (bound <= g->bound || generate_stopped(g))
        return;
    g->bound = bound;
    memcpy(g->dual, assign_worth(g->assign), g->v->n_items * sizeof *g->dual);
    g->money = assign_money(g->assign);
}

/* From there to the best, with whole bins. */
static void by_exact(struct generate *g, uint64_t steps)
{
    uint64_t from;

    if (!g->whole || !g->assign || generate_stopped(g))
        return;
    if (!g->exact) {
        g->exact = exact_make(g->v, g->assign);
        g->extra += exact_work(g->exact);
    }
    if (generate_stopped(g))
        return;
    if (steps > g->stop - generate_work(g))
        steps = g->stop - generate_work(g);
    from = exact_work(g->exact);
    g->settled = !exact_run(g->exact, steps) && !exact_too_large(g->exact);
    g->extra += exact_work(g->exact) - from;
}

/* Both, as long as such a stage has for them. */
static void by_all(struct generate *g, uint64_t stage, uint64_t end)
{
    uint64_t few = stage / ASSIGN_PART_FEW;

    few = few < ASSIGN_FEW ? few : ASSIGN_FEW;
    by_prices(g, few > stage / ASSIGN_PART ? few : stage / ASSIGN_PART);
    if (end >= EXACT_FROM)
        by_exact(g, end / (g->master.is_cheap ? EXACT_PART_CHEAP : EXACT_PART));
}

/* Of many shapes groups prove more than the program, as long as that is not solved, and
 * their worths are where its columns are looked for. */
static void by_groups(struct generate *g, uint64_t steps)
{
    struct cover_proof proof;
    uint64_t had = 0;

    if (generate_stopped(g))
        return;
    if (!g->groups) {
        double bound = proof_best(g, &proof);

        if (bound <= 0 || !proof.worth ||
            !(g->groups = groups_make(g->v, bound, &proof)))
            return;
    } else {
        had = groups_work(g->groups);
    }
    groups_feed_program(g->groups, &g->master);
    if (steps > g->stop - generate_work(g))
        steps = g->stop - generate_work(g);
    groups_run(g->groups, steps);
    g->extra += groups_work(g->groups) - had;
    generate_centre(g, groups_worths(g->groups), groups_best(g->groups, NULL));
}

/* How many of each bin the program buys. */
static const double *used(const struct generate *g)
{
    const struct master *m = &g->master;
    double *ret = ARENA_ARRAY(g->v->arena, double, g->v->n_bins), amount;

    for (uint32_t k = 0; k < lp_rows(m->lp); k++) {
        uint32_t column = lp_basic(m->lp, k, &amount);

        if (column < m->column.n && m->column.v[column].n)
            ret[m->column.v[column].bin] += amount;
    }
    return ret;
}

/* Is a stage long enough for what takes so many steps times the square of the
 * shapes, which are few? */
static bool small(const struct generate *g, uint64_t end, uint64_t steps)
{
    const uint64_t n = g->v->n_items;

    return g->whole && n <= PROOF_FEW && end >= steps * n * n;
}

static void seats_look(struct generate *g)
{
    if (g->seats)
        return;
    g->seats = ARENA_NEW(g->v->arena, struct seats);
    if (seats_make(g->v, used(g), &g->extra, g->seats))
        g->seated = seated_make(g, &g->seats->p, g->v->arena);
}

/* Its bound is the value of the program. */
static bool solved(const struct generate *g)
{
    return g->bound >= lp_value(g->master.lp) * (1 - SOLVED);
}

/* The rest, when all else is done. */
static void by_branch(struct generate *g, uint64_t nodes, uint64_t steps)
{
    double bound = proof_best(g, NULL);

    if (generate_stopped(g) || !g->v->p->n_kinds || bound <= 0 ||
        (double)view_whole(g->v, bound) >= g->enough ||
        !solved(g->seated ? &g->seated->g : g))
        return;
    if (!g->branch)
        g->branch = branch_make(g, g->seated ? g->seats : NULL, g->seated);
    branch_run(g->branch, g->enough, nodes, generate_work(g) + steps);
}

/* The part of a stage for mixes: one of so many. */
static uint64_t mix_part(const struct generate *g, uint64_t end, bool seats)
{
    if (!g->done && seats)
        return MIX_PART_SEATS;
    if (!g->done && end / MIX_FROM < g->v->n_items)
        return MIX_PART_LITTLE;
    if (end >= MIX_LATE)
        return MIX_PART_LATE;
    return g->done ? MIX_PART_DONE : MIX_PART;
}

/* The bound may rise, and is less than this part of what the program buys for. */
static bool less_than(const struct generate *g, double part)
{
    return g->whole && !g->missing && !g->done &&
           (g->value <= 0 || proof_best(g, NULL) < g->value * part);
}

bool proof_far(const struct generate *g)
{
    return g->v->n_items > PROOF_FEW && less_than(g, 1 - FAR);
}

bool proof_behind(const struct generate *g)
{
    return g->v->n_items <= PROOF_FEW && g->exact && g->value > 0 &&
           less_than(g, 1 - BEHIND);
}

/* A program that leaves items to a greedy tells nothing. */
static void note_value(struct generate *g)
{
    if (!g->master.is_cheap)
        g->value = lp_value(g->master.lp);
}

bool proof_enough(const struct generate *g)
{
    double bound = proof_best(g, NULL);

    return bound > 0 && (double)view_whole(g->v, bound) >= g->enough;
}

void proof_stage(struct generate *g, uint64_t stage, uint64_t end)
{
    const bool first = !g->done && end <= FIRST_UNTIL;
    const bool seats = !g->seats && small(g, end, SEATS_FROM);
    uint64_t nodes = end / 20000 + 1000, tenths = GENERATE_TENTHS, until;
    bool groups;

    if (first)
        by_all(g, stage, end);
    if (proof_enough(g))
        return;
    note_value(g);
    /* From the best that prices prove: worths keep their proportions. */
    groups = proof_far(g) && (g->settled || end > EXACT_FROM);
    if (groups)
        by_groups(g,
                  stage * (first ? GROUPS_TENTHS_FIRST : GROUPS_TENTHS) / 10);
    if ((groups && !first) || seats)
        tenths = GENERATE_TENTHS_LITTLE;
    until = generate_work(g) + stage * tenths / 10;
    g->done = generate_run(g, g->v->count, until, 1e-4,
                           g->master.is_cheap ? 0 : UINT32_MAX, true);
    if (proof_enough(g))
        return;
    note_value(g);
    until = generate_work(g) + stage / mix_part(g, end, seats);
    if (!first && !g->done) /* else they prove no more than the program does */
        by_all(g, stage, end);
    if (!small(g, end, SEATS_FROM)) {
        if (!groups || g->done)
            mix_run(g, nodes, until);
        return;
    }
    seats_look(g);
    if (g->seated)
        seated_run(g->seated, g, g->bound, NULL, nodes, until);
    else
        mix_run(g, nodes, until);
    if (g->done && small(g, end, BRANCH_FROM))
        by_branch(g, nodes, stage / BRANCH_PART);
}

void proof_done(struct generate *g)
{
    if (g->branch)
        branch_done(g->branch);
}

bool proof_may_rise(const struct generate *g)
{
    if (!g->whole || g->v->n_items > PROOF_FEW)
        return false;
    return !g->seats ||
           (g->branch ? !branch_ended(g->branch) : g->v->p->n_kinds > 0);
}

/* Without a branch; of the two programs alone. */
static double undivided(const struct generate *g, struct cover_proof *ret)
{
    const struct seated *x = g->seated;

    if (!x || x->g.bound <= g->bound) {
        if (ret)
            view_proof(g->v, g->dual, g->money, ret);
        if (ret && x)
            seats_least(g->seats, g->v, NULL, ret);
        return g->bound;
    }
    if (ret) {
        view_proof(&x->v, x->g.dual, x->g.money, ret);
        seats_least(g->seats, g->v, ret->worth, ret);
    }
    return x->g.bound;
}

double proof_best(const struct generate *g, struct cover_proof *ret)
{
    double whole = undivided(g, ret);

    if (g->groups && groups_best(g->groups, NULL) > whole)
        whole = groups_best(g->groups, ret);
    if (g->branch && branch_bound(g->branch) > whole) {
        whole = branch_bound(g->branch);
        if (ret)
            branch_proof(g->branch, ret);
    }
    if (g->exact && exact_best(g->exact, NULL) > whole)
        return exact_best(g->exact, ret);
    return whole;
}
