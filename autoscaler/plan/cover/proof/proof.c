/*
 * proof.c - see proof.h.
 */
#include "proof.h"

#include "../bound.h"
#include "../exact/exact.h"
#include "../mix.h"

#include <string.h>

/* Of a stage: for column generation; for the program whose value is proved, while the
 * other is not solved and when it is. */
#define GENERATE_TENTHS 4
#define MIX_PART 5
#define MIX_PART_DONE 4
/* In stages that end here or later, mixes are what proves more still. */
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
    for (uint64_t part = steps / PARTS_FIRST;
         part && part < steps && !is_enough(g); part *= 2)
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
    if (end >= EXACT_FROM || g->done)
        by_exact(g, end / (g->master.is_cheap ? EXACT_PART_CHEAP : EXACT_PART));
}

/* The part of a stage for mixes: one of so many. */
static uint64_t mix_part(const struct generate *g, uint64_t end)
{
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
    uint64_t nodes = end / 20000 + 1000, until;

    if (first)
        by_all(g, stage, end);
    if (proof_enough(g))
        return;
    note_value(g);
    until = generate_work(g) + stage * GENERATE_TENTHS / 10;
    g->done = generate_run(g, g->v->count, until, 1e-4,
                           g->master.is_cheap ? 0 : UINT32_MAX, true);
    if (proof_enough(g))
        return;
    note_value(g);
    until = generate_work(g) + stage / mix_part(g, end);
    if (!first)
        by_all(g, stage, end);
    mix_run(g, nodes, until);
}

bool proof_may_rise(const struct generate *g)
{
    return g->whole && !g->settled && g->v->n_items <= PROOF_FEW &&
           !(g->exact && exact_too_large(g->exact));
}

double proof_best(const struct generate *g, struct cover_proof *ret)
{
    if (g->exact && exact_best(g->exact, NULL) > g->bound)
        return exact_best(g->exact, ret);
    if (ret)
        view_proof(g->v, g->dual, g->money, ret);
    return g->bound;
}

/* ---- a proof in other numbers */

static const double *mapped(const double *x, const uint32_t *from, uint32_t n,
                            struct arena *arena)
{
    double *ret = ARENA_ARRAY(arena, double, n);

    for (uint32_t i = 0; i < n; i++)
        if (!from)
            ret[i] = x[i];
        else if (from[i] != UINT32_MAX)
            ret[i] = x[from[i]];
    return ret;
}

struct cover_proof cover_proof_map(const struct cover_proof *proof,
                                   const uint32_t *from, uint32_t n,
                                   struct arena *arena)
{
    struct cover_least *least = arena_copy(arena, proof->least,
                                           proof->n_least * sizeof *least);
    struct cover_proof ret = *proof;

    if (proof->worth)
        ret.worth = mapped(proof->worth, from, n, arena);
    for (uint32_t k = 0; k < proof->n_least; k++)
        least[k].share = mapped(least[k].share, from, n, arena);
    ret.least = least;
    return ret;
}
