/*
 * program.c - a stage with a linear program.
 *
 * The worst bins are bought anew, and the program of all good fills that this met is
 * solved and dived into, in turn; then column generation goes on, its bound is proved,
 * and dives go from what it has become.
 */
#include "inside.h"

#include "../proof/proof.h"

#include <string.h>

#define MOST_DIVES 16 /* a stage */
/* Rounds of buying anew and a dive by what that met: so much of a stage in all,
 * and to buying anew in each.  In longer stages the program with columns of its
 * own is of more use. */
#define ROUNDS_TENTHS 8
#define ROUNDS_SHORT \
    5 /* where there is time for one round, and no dive in it */
#define ROUNDS_BEHIND 5 /* where the bound is far behind */
#define ROUNDS_MOST (400 * COVER_STEPS_PER_MS)
#define ROUNDS_LONG \
    UINT64_C(4000) /* or these, times the square of the shapes */
/* The bound needs so much of a stage, but no more than half of it. */
#define ROUNDS_LEAVE (40 * COVER_STEPS_PER_MS)
/* In a stage of less than so many steps, times the square of the shapes, the
 * dives come to nothing. */
#define ROUNDS_FROM UINT64_C(800)
#define CHEAP_FROM UINT64_C(200) /* the cheap ones do */
/* In less, one round comes to no dive: the program alone takes what there is, so the
 * dive is a cheap one.  Of many shapes it always is. */
#define ROUNDS_WELL UINT64_C(2000)
#define ANEW_TENTHS 3
#define ANEW_TENTHS_SHORT 2 /* where dives are cheap ones */
#define ANEW_MOST (40 * COVER_STEPS_PER_MS)
#define ANEW_ALONE \
    (100 * COVER_STEPS_PER_MS) /* where dives may come to nothing */
/* Columns to begin with, for each shape. */
#define FIRST_COLUMNS 2

/* The program is that of the whole demand, as it was left. */
static void resume(struct improve *x)
{
    struct generate *g = &x->g;

    if (x->begun) {
        dive_undo(&x->dive);
        return;
    }
    generate_begin(g, x->worth);
    dive_make(g, x->greedy, x->again, &x->pool, x->worth, &x->dive);
    x->begun = true;
}

static void dive_some(struct improve *x, uint64_t from, uint64_t stage)
{
    static const double worthy[3] = {0.96, 0.98, 0.94};
    static const double steps[4] = {10, 20, 14, 30};
    struct generate *g = &x->g;

    for (int k = 0; k < MOST_DIVES && !generate_stopped(g); k++) {
        int64_t cost = x->best.cost;
        int n = x->n_dives++;

        if (k > 0 &&
            (generate_work(g) >= from + stage * 6 / 10 || improve_proved(x)))
            break;
        dive_run(&x->dive, from + (k ? stage * 7 / 10 : stage * 17 / 20),
                 worthy[n % 3], steps[n % 4], &x->best);
        if (k > 1 && x->best.cost == cost)
            break;
    }
}

static void by_program(struct improve *x, uint64_t stage, uint64_t end)
{
    struct generate *g = &x->g;
    uint64_t from = generate_work(g);

    g->stop = from + improve_left(x);
    g->enough = (double)x->best.cost * (1 - PROVED);
    resume(x);
    dive_free(&x->dive);
    proof_stage(g, stage, end);
    memcpy(x->worth, g->centre, x->v.n_items * sizeof *x->worth);
    if (!improve_proved(x) && !g->master.is_cheap)
        dive_some(x, from, stage);
}

/* The best plan's fills, and at first some of the best that were met. */
static void feed(struct improve *x)
{
    struct master *m = &x->g.master;
    uint64_t had = x->pool.work;

    master_add_partial(m, &x->best);
    if (!x->fed)
        pool_feed(&x->pool, m, x->worth, 0, FIRST_COLUMNS * x->v.n_items);
    x->g.extra += x->pool.work - had;
    x->fed = true;
}

/* Buying anew and a dive by what it met, in turn, up to `end`. */
static void rounds(struct improve *x, uint64_t anew, uint64_t end, bool cheap)
{
    uint64_t now;

    while ((now = improve_work(x)) < end && improve_left(x) > 0 &&
           !improve_proved(x)) {
        memcpy(x->worth, improve_anew(x, anew < end - now ? anew : end - now),
               x->v.n_items * sizeof *x->worth);
        now = improve_work(x);
        if (now >= end || improve_left(x) == 0)
            return;
        x->g.stop = generate_work(&x->g) + improve_left(x);
        resume(x);
        feed(x);
        if (cheap)
            dive_cheaply(&x->dive, generate_work(&x->g) + end - now, &x->best);
        else
            dive_by_pool(&x->dive, generate_work(&x->g) + end - now, &x->best);
    }
}

/* How much of a stage rounds may take. */
static uint64_t rounds_most(const struct improve *x, uint64_t stage, bool well)
{
    const uint64_t n = x->v.n_items;
    uint64_t most = stage * (well ? ROUNDS_TENTHS : ROUNDS_SHORT) / 10;
    uint64_t longest = ROUNDS_MOST;

    if (ROUNDS_LONG * n * n > longest && proof_far(&x->g))
        longest = ROUNDS_LONG * n * n;
    if (proof_behind(&x->g))
        most = stage * ROUNDS_BEHIND / 10;
    if (most + ROUNDS_LEAVE > stage)
        most = stage > 2 * ROUNDS_LEAVE ? stage - ROUNDS_LEAVE : stage / 2;
    return most < longest ? most : longest;
}

void improve_by_program(struct improve *x, uint64_t stage, uint64_t end)
{
    uint64_t n = x->v.n_items;
    bool well = stage >= ROUNDS_WELL * n * n;
    bool long_enough = stage >= ROUNDS_FROM * n * n;
    bool cheap = n > PROOF_FEW ? stage >= CHEAP_FROM * n * n
                               : long_enough && !well;
    uint64_t anew = stage * (cheap && !well ? ANEW_TENTHS_SHORT : ANEW_TENTHS) /
                    10;
    uint64_t most = well ? ANEW_MOST : ANEW_ALONE;

    anew = anew < most ? anew : most;
    if (cheap || long_enough)
        rounds(x, anew, improve_work(x) + rounds_most(x, stage, well), cheap);
    else
        improve_anew(x, anew);
    if (improve_left(x) > 0 && improve_work(x) < end)
        by_program(x, end - improve_work(x), end);
}
