/*
 * test_plan_prove.c - a search of fills ends where counted steps do, whatever number of
 * nodes it may look at; and the stages, from which that number comes, have an end.
 */
#include "../../autoscaler/plan/cover/prove.h"
#include "../../autoscaler/plan/cover/stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { ITEMS = 90, COLUMNS = 3 };
#define STEPS UINT64_C(3000000)

static uint32_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

/* A large bin, and items that are worth about what they need: no relaxation tells which
 * of its many fills is the best. */
static void test_it_stops_at_so_many_steps(void **state)
{
    int64_t need[ITEMS][COLUMNS], has[COLUMNS];
    struct pb_column column[COLUMNS] = {{0}, {0}, {0, 1, 1}};
    struct cover_bin bin = {
        .has = has, .price = 1000000, .max = UNLIMITED, .accelerator = true};
    struct cover_item item[ITEMS];
    struct cover_problem p = {.columns = column,
                              .n_columns = COLUMNS,
                              .items = item,
                              .n_items = ITEMS,
                              .bins = &bin,
                              .n_bins = 1,
                              .max_bins = UNLIMITED,
                              .max_cost = -1};
    const struct cover_part *part;
    double worth[ITEMS], best;
    struct arena a = {0};
    uint64_t seed = 20261129, work;
    struct price *price;
    struct prove *x;
    struct view v;
    uint32_t n;

    (void)state;
    for (uint32_t c = 0; c < COLUMNS; c++)
        has[c] = (c < 2 ? 96 : 8) * AMOUNT_ONE;
    for (uint32_t i = 0; i < ITEMS; i++) {
        for (uint32_t c = 0; c < 2; c++)
            need[i][c] = 20000 + next(&seed) % 100000;
        need[i][2] = 300 + next(&seed) % 5000;
        item[i] = (struct cover_item){need[i], 5, NULL};
    }
    view_make(&p, &a, &v);
    for (uint32_t i = 0; i < v.n_items; i++) {
        const int64_t *of = need[v.item_of[i]];

        worth[i] = (double)(of[0] + of[1] + 12 * of[2]) + next(&seed) % 2000;
    }
    price = price_make(&v);
    price_tune(price, 0, worth, NULL, 0, 60);
    x = prove_make(&v, price);
    work = prove_work(x);
    prove_stop_at(x, work + STEPS);
    assert_false(prove_search(x, 0, worth, 0, UINT64_MAX, &best, &part, &n));
    assert_in_range(prove_work(x) - work, STEPS, STEPS + STEPS / 10);
    arena_done(&a);
}

static void test_stages_have_an_end(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < STAGES; k++) {
        assert_true(stage_end(k) <= UINT64_MAX / 20);
        assert_true(k == 0 || stage_end(k) >= 2 * stage_end(k - 1));
        assert_true(k == 0 || stage_end(k) <= 5 * stage_end(k - 1));
    }
    /* Nobody waits as long as the last. */
    assert_true(stage_end(STAGES - 1) / COVER_STEPS_PER_MS > UINT64_C(1) << 37);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_stops_at_so_many_steps),
        cmocka_unit_test(test_stages_have_an_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
