/*
 * test_plan_groups.c - the bound of groups of like items, on seeded random problems
 * with nodes that are there, limits and labels: never above what a plan costs, never
 * lower with more steps, and its worths are paid for by every fill that there is.
 */
#include "../../autoscaler/model/amount.h"
#include "../../autoscaler/plan/cover/exact/exact.h"
#include "../../autoscaler/plan/cover/groups/inside.h"
#include "seed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COLS = 3, GPU = 2, MOST = 12, CASES = 60 };
#define PRICE 1000000

struct made {
    struct cover_problem p;
    struct pb_column columns[COLS];
    struct cover_item items[MOST];
    struct cover_bin bins[MOST];
    int64_t need[MOST][COLS], has[MOST][COLS];
    uint64_t mask[MOST];
};

static uint32_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

static void frame(struct made *m)
{
    memset(m, 0, sizeof *m);
    m->columns[GPU].device = m->columns[GPU].fractions = true;
    m->p = (struct cover_problem){.columns = m->columns,
                                  .n_columns = COLS,
                                  .items = m->items,
                                  .bins = m->bins,
                                  .max_bins = UNLIMITED,
                                  .max_cost = -1};
}

static void add_bin(struct made *m, int64_t cpu, int64_t memory, int64_t gpu,
                    int64_t price, uint32_t max)
{
    uint32_t t = m->p.n_bins++;

    m->has[t][0] = cpu * AMOUNT_ONE;
    m->has[t][1] = memory * AMOUNT_ONE;
    m->has[t][GPU] = gpu * AMOUNT_ONE;
    m->bins[t] = (struct cover_bin){
        .has = m->has[t], .price = price, .max = max, .accelerator = gpu > 0};
}

/* Amounts in 1/10,000. */
static void add_item(struct made *m, int64_t cpu, int64_t memory, int64_t gpu,
                     uint32_t count)
{
    uint32_t i = m->p.n_items++;

    m->need[i][0] = cpu;
    m->need[i][1] = memory;
    m->need[i][GPU] = gpu;
    m->items[i] = (struct cover_item){.need = m->need[i], .count = count};
}

/* Some needs are nearly the same, so that groups have several items. */
static void random_problem(struct made *m, uint64_t *seed)
{
    static const int64_t parts[5] = {0, 0, 3000, 5000, 10000};
    uint32_t items = 2 + next(seed) % 6;

    frame(m);
    add_bin(m, 8, 32, 2, 3 * PRICE, UNLIMITED);
    for (uint32_t t = next(seed) % 5; t > 0; t--) {
        int64_t cpu = 2 << next(seed) % 3, gpu = next(seed) % 3;
        bool there = next(seed) % 4 == 0;

        add_bin(m, cpu, cpu * 2, gpu,
                there ? 0 : PRICE / 10 * (cpu + 4 * gpu) + next(seed) % PRICE,
                there                 ? 1 + next(seed) % 3
                : next(seed) % 3 == 0 ? 2
                                      : UNLIMITED);
    }
    while (m->p.n_items < items) {
        int64_t cpu = 1 + next(seed) % 3, gpu = parts[next(seed) % 5];

        for (uint32_t k = next(seed) % 3 + 1; k > 0 && m->p.n_items < MOST; k--)
            add_item(m, cpu * AMOUNT_ONE - next(seed) % 900,
                     2 * AMOUNT_ONE + next(seed) % 9000, gpu,
                     1 + next(seed) % 3);
    }
    for (uint32_t i = 0; i < m->p.n_items; i++)
        if (next(seed) % 4 == 0) {
            m->mask[i] = 1 | next(seed);
            m->items[i].bins = &m->mask[i];
        }
}

/* ---- the most that a bin can hold, by trying everything */

struct trial {
    const struct made *m;
    const struct cover_proof *proof;
    uint32_t bin;
    int64_t free[2], device[4];
    double most;
};

static void try_items(struct trial *x, uint32_t i, uint32_t had, double worth);

/* One more of item i, on each device that holds it. */
static void put(struct trial *x, uint32_t i, uint32_t had, double worth)
{
    const int64_t *need = x->m->need[i];
    const double more = worth + x->proof->worth[i];

    if (need[0] > x->free[0] || need[1] > x->free[1])
        return;
    x->free[0] -= need[0];
    x->free[1] -= need[1];
    if (!need[GPU])
        try_items(x, i, had + 1, more);
    for (int d = 0; need[GPU] && d < 4; d++) {
        if (need[GPU] > x->device[d])
            continue;
        x->device[d] -= need[GPU];
        try_items(x, i, had + 1, more);
        x->device[d] += need[GPU];
    }
    x->free[0] += need[0];
    x->free[1] += need[1];
}

static void try_items(struct trial *x, uint32_t i, uint32_t had, double worth)
{
    const struct made *m = x->m;

    if (worth > x->most)
        x->most = worth;
    if (i == m->p.n_items)
        return;
    try_items(x, i + 1, 0, worth);
    if (had < m->items[i].count &&
        (!m->items[i].bins || (*m->items[i].bins >> x->bin & 1)))
        put(x, i, had, worth);
}

static double most_of(const struct made *m, const struct cover_proof *proof,
                      uint32_t bin)
{
    struct trial x = {.m = m, .proof = proof, .bin = bin};

    x.free[0] = m->has[bin][0];
    x.free[1] = m->has[bin][1];
    for (int d = 0; d < m->has[bin][GPU] / AMOUNT_ONE; d++)
        x.device[d] = AMOUNT_ONE;
    try_items(&x, 0, 0, 0);
    return x.most;
}

/* Of the sets in which the bin counts. */
static double seats_of(const struct made *m, const struct cover_proof *proof,
                       uint32_t t)
{
    double sum = 0;

    for (uint32_t k = 0; k < proof->n_least && m->bins[t].price; k++) {
        bool counts = false;

        for (uint32_t i = 0; i < m->p.n_items; i++) {
            const uint64_t *bins = m->items[i].bins;
            bool fits = !bins || (*bins >> t & 1);

            for (int c = 0; c < COLS; c++)
                fits = fits && m->need[i][c] <= m->has[t][c];
            counts = counts || (fits && proof->least[k].share[i] > 0);
        }
        sum += counts ? proof->least[k].worth : 0;
    }
    return sum;
}

/* What the worths prove, each bin's fills tried: as docs/planner.md says it. */
static double proved(const struct made *m, const struct cover_proof *proof)
{
    double sum = 0;

    for (uint32_t i = 0; i < m->p.n_items; i++)
        sum += proof->worth[i] * m->items[i].count;
    for (uint32_t k = 0; k < proof->n_least; k++)
        sum += proof->least[k].worth * proof->least[k].bins;
    for (uint32_t t = 0; t < m->p.n_bins; t++) {
        double more = most_of(m, proof, t) + seats_of(m, proof, t) -
                      (double)m->bins[t].price;

        if (more <= 1e-8 * PRICE)
            continue;
        if (m->bins[t].max == UNLIMITED)
            fail_msg("bin %u holds %g more than it costs", t, more);
        sum -= more * m->bins[t].max;
    }
    return sum;
}

static struct groups *made(const struct made *m, struct view *v,
                           struct arena *arena, int64_t *ret_prices)
{
    struct cover_proof proof;
    struct groups *x;
    uint64_t work = 0;

    view_make(&m->p, arena, v);
    *ret_prices = exact_bound(v, 0, 4 * COVER_STEPS_PER_MS, &work, &proof,
                              NULL);
    assert_non_null(proof.worth);
    x = groups_make(v, (double)*ret_prices, &proof);
    assert_non_null(x);
    return x;
}

static void test_random(void **state)
{
    uint64_t seed = seed_of(20261123);
    uint32_t better = 0, tried = 0;

    (void)state;
    for (uint32_t k = 0; k < CASES; k++) {
        struct arena arena = {0};
        struct cover_plan first, plan;
        struct cover_proof proof;
        struct groups *x;
        struct view v;
        struct made m;
        double bound = 0;
        int64_t prices;

        random_problem(&m, &seed);
        x = made(&m, &v, &arena, &prices);
        if (k % 2) /* searches that are cut short prove nothing */
            x->nodes = x->nodes_one = 1 + k % 9;
        cover_first(&m.p, &arena, &first);
        cover_improve(&m.p, &first, 4 * COVER_STEPS_PER_MS, &arena, &plan);
        for (uint64_t steps = 1000; v.no_home == 0 && steps < 2000000;
             steps *= 4) {
            groups_run(x, steps);
            assert_true(groups_best(x, NULL) >= bound);
            bound = groups_best(x, &proof);
        }
        /* That of prices is rounded up to a multiple. */
        if (bound > (double)plan.cost + 1 ||
            (bound > (double)prices &&
             bound > proved(&m, &proof) + 1e-6 * bound + 1))
            fail_msg("case %u: a bound of %.0f; worths prove %.0f, the plan "
                     "costs %lld",
                     k, bound, proved(&m, &proof), (long long)plan.cost);
        tried++;
        better += bound > (double)prices + 1;
        arena_done(&arena);
    }
    print_message("better than prices: %u of %u\n", better, tried);
    assert_true(better > CASES / 4);
}

/* Beside what needs the device nothing has room: by sums five bins would do. */
static void test_room_that_is_lost(void **state)
{
    struct arena arena = {0};
    struct groups *x;
    struct view v;
    struct made m;
    int64_t prices;

    (void)state;
    frame(&m);
    add_bin(&m, 4, 4, 1, PRICE, UNLIMITED);
    add_item(&m, 3 * AMOUNT_ONE, 0, AMOUNT_ONE, 4);
    add_item(&m, 2 * AMOUNT_ONE, 0, 0, 4);
    x = made(&m, &v, &arena, &prices);
    assert_true(prices <= 5 * PRICE);
    groups_run(x, COVER_STEPS_PER_MS);
    assert_true(groups_best(x, NULL) > 5.99 * PRICE);
    assert_true(groups_best(x, NULL) <= 6.0 * PRICE);
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_room_that_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
