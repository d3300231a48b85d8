/*
 * test_plan_dive.c - dives into the linear program, cut off at any moment: the best plan
 * gets no worse, and the program that comes back is that of the whole demand, as if
 * there had been no dive; whole numbers of dear bins make it dearer, never cheaper.
 */
#include "../../autoscaler/model/amount.h"
#include "../../autoscaler/plan/cover/dive/inside.h"
#include "../../autoscaler/plan/cover/mix.h"
#include "../../autoscaler/plan/cover/rebuy.h"
#include "../../autoscaler/plan/cover/weight.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ITEMS = 14, BINS = 6, DEAR = 2, COLUMNS = 2, CASES = 60, DIVES = 12 };

static uint32_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

static struct {
    struct pb_column column[COLUMNS];
    struct cover_item item[ITEMS];
    struct cover_bin bin[BINS];
    int64_t need[ITEMS][COLUMNS], has[BINS][COLUMNS];
    uint64_t mask[ITEMS];
    struct cover_problem p;
    struct arena arena;
    struct view v;
    struct generate g;
    struct pool pool;
    struct dive dive;
    struct partial best, trial, from;
    struct space space;
    double *worth;
    uint32_t number[DEAR];
} t;

/* The last bins are dear ones: a third of the items fit nowhere else. */
static void problem(uint64_t *seed)
{
    memset(&t, 0, sizeof t);
    for (uint32_t b = 0; b < BINS; b++) {
        bool dear = b >= BINS - DEAR;

        for (uint32_t c = 0; c < COLUMNS; c++)
            t.has[b][c] = (int64_t)(8 + next(seed) % 24) * (dear ? 3 : 1) *
                          AMOUNT_ONE;
        t.bin[b] = (struct cover_bin){
            .has = t.has[b],
            .price = (int64_t)(500 + next(seed) % 500) * (dear ? 8000 : 1000),
            .max = next(seed) % 3 ? UNLIMITED : 40,
            .family = b,
            .rank = (int32_t)b,
        };
    }
    for (uint32_t i = 0; i < ITEMS; i++) {
        for (uint32_t c = 0; c < COLUMNS; c++)
            t.need[i][c] = (int64_t)(1 + next(seed) % 8) * AMOUNT_ONE;
        t.mask[i] = i % 3 ? UINT64_C(0x3f) : UINT64_C(0x30);
        t.item[i] = (struct cover_item){t.need[i], 1 + next(seed) % 6,
                                        &t.mask[i]};
    }
    t.p = (struct cover_problem){.columns = t.column,
                                 .n_columns = COLUMNS,
                                 .items = t.item,
                                 .n_items = ITEMS,
                                 .bins = t.bin,
                                 .n_bins = BINS,
                                 .max_bins = UNLIMITED,
                                 .max_cost = -1};
    view_make(&t.p, &t.arena, &t.v);
}

static void begin(void)
{
    const struct view *v = &t.v;
    struct greedy *greedy, *again;
    uint32_t n = 0;

    for (uint32_t k = v->n_bins; k-- > 0 && n < DEAR;)
        t.number[n++] = k;
    generate_make(v, t.number, n, &t.g);
    greedy = greedy_make(v, t.g.price, 0);
    again = greedy_make(v, NULL, ANEW);
    t.worth = ARENA_ARRAY(&t.arena, double, v->n_items);
    weight_from_prices(v, t.worth);
    partial_make(v, &t.best);
    partial_make(v, &t.trial);
    partial_make(v, &t.from);
    space_make(v, &t.space);
    pool_make(v, &t.pool);
    greedy_run(greedy, t.worth, 1u << BY_SUM, false, &t.best);
    assert_int_equal(t.best.n_left, 0);
    generate_begin(&t.g, t.worth);
    dive_make(&t.g, greedy, again, &t.pool, t.worth, &t.dive);
    master_add_partial(&t.g.master, &t.best);
}

static void buy_anew(void)
{
    struct rebuy rebuy = {.greedy = t.dive.again,
                          .best = &t.best,
                          .trial = &t.trial,
                          .from = &t.from,
                          .space = &t.space,
                          .weight = t.worth,
                          .pool = &t.pool,
                          .dearer = 0.01,
                          .useless = 20};

    rebuy_run(&rebuy, 200000, UINT64_MAX);
    master_add_partial(&t.g.master, &t.best);
}

/* What a program with the same columns costs that no dive has seen. */
static double fresh(void)
{
    const struct master *from = &t.g.master;
    struct master m;

    master_make(&t.v, NULL, 0, &m);
    for (uint32_t k = 0; k < from->column.n; k++) {
        const struct partial_pattern *c = &from->column.v[k];

        if (c->n)
            master_add(&m, c->bin, from->part.v + c->first, c->n);
    }
    for (uint32_t k = 0; k < from->n_exchanges; k++) {
        struct lp_entry e[2] = {{from->exchange[k].item, -1},
                                {from->exchange[k].count, 1}};

        lp_add(m.lp, 0, 1, e, 2);
    }
    while (lp_primal(m.lp, 1000) == LP_STOPPED)
        ;
    return lp_value(m.lp);
}

static void near_to(double a, double b)
{
    if (a > b * (1 + 1e-6) + 1 || a < b * (1 - 1e-6) - 1)
        fail_msg("%.3f is not %.3f", a, b);
}

/* The program is that of the whole demand, with no number asked for. */
static void is_whole(void)
{
    dive_free(&t.dive);
    assert_true(generate_solve(&t.g, UINT64_MAX));
    near_to(lp_value(t.g.master.lp), fresh());
}

static void test_cut_at_any_moment(void **state)
{
    uint64_t seed = 11;

    (void)state;
    for (int k = 0; k < CASES; k++) {
        int cheap = k % 2 * DIVES / 2; /* the first are cheap */

        problem(&seed);
        begin();
        for (int d = 0; d < DIVES; d++) {
            int64_t cost = t.best.cost;
            uint64_t until, now;

            buy_anew();
            now = generate_work(&t.g);
            t.g.stop = UINT64_MAX;
            until = now + next(&seed) % 3 * (next(&seed) % 30000);
            if (next(&seed) % 4 == 0)
                until = UINT64_MAX;
            if (d < cheap) {
                dive_cheaply(&t.dive, until, &t.best);
                dive_undo(&t.dive);
                if (next(&seed) % 2) /* it works on a copy */
                    mix_run(&t.g, 100, generate_work(&t.g) + 20000);
            } else if (next(&seed) % 3)
                dive_by_pool(&t.dive, until, &t.best);
            else
                dive_run(&t.dive, until, 0.96, 10, &t.best);
            assert_true(t.best.cost <= cost && t.best.n_left == 0);
            if (next(&seed) % 2)
                is_whole();
            else
                dive_undo(&t.dive);
        }
        arena_done(&t.arena);
    }
}

/* What no column covers is left to the greedy; in the end all is covered, and the
 * program is what it would have been. */
static void test_cheap(void **state)
{
    uint64_t seed = 23;
    int cheaper = 0;

    (void)state;
    for (int k = 0; k < CASES; k++) {
        double whole;

        problem(&seed);
        begin();
        buy_anew();
        whole = fresh();
        master_cheapen(&t.g.master, t.worth, 0.9);
        assert_true(t.g.master.is_cheap);
        while (lp_primal(t.g.master.lp, 1000) == LP_STOPPED)
            ;
        assert_true(lp_value(t.g.master.lp) <= whole * (1 + 1e-6) + 1);
        cheaper += lp_value(t.g.master.lp) < whole * 0.99;
        assert_true(generate_cover(&t.g, UINT64_MAX));
        assert_false(t.g.master.is_cheap);
        assert_true(generate_solve(&t.g, UINT64_MAX));
        near_to(lp_value(t.g.master.lp), whole);
        arena_done(&t.arena);
    }
    assert_true(cheaper > CASES / 3);
}

/* Each number that was made whole makes the program dearer, and none is asked for
 * after dive_free(). */
static void test_numbers(void **state)
{
    uint64_t seed = 5;
    int fixed = 0;

    (void)state;
    for (int k = 0; k < CASES; k++) {
        double value;

        problem(&seed);
        begin();
        buy_anew();
        assert_true(generate_solve(&t.g, UINT64_MAX));
        value = lp_value(t.g.master.lp);
        near_to(value, fresh());
        while (numbers_fix(&t.dive, UINT64_MAX)) {
            assert_true(lp_value(t.g.master.lp) >= value * (1 - 1e-6) - 1);
            value = lp_value(t.g.master.lp);
            fixed++;
        }
        for (uint32_t q = 0; q < t.g.master.n_numbers; q++) {
            const struct master_number *n = &t.g.master.number[q];

            assert_true(n->least <= n->most);
        }
        /* No plan that we know of is cheaper, with such numbers of bins. */
        dive_by_pool(&t.dive, UINT64_MAX, &t.best);
        is_whole();
        arena_done(&t.arena);
    }
    assert_true(fixed > CASES / 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut_at_any_moment),
        cmocka_unit_test(test_cheap),
        cmocka_unit_test(test_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
