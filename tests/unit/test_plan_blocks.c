/*
 * test_plan_blocks.c - an order in blocks: what is passed over would not have gone
 * in, on seeded random items and bins, with one kind of device or two.
 */
#include "../../autoscaler/plan/cover/blocks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MOST = 1500, COLS = 5, WORLDS = 300 };

static uint32_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

/* Items with some columns, like ones near each other; one bin that holds each. */
static void make(uint64_t *seed, struct arena *a, struct view *ret)
{
    struct pb_column *columns = ARENA_ARRAY(a, struct pb_column, COLS);
    struct cover_problem *p = ARENA_NEW(a, struct cover_problem);
    uint32_t n = 1 + next(seed) % MOST, devices = 1 + next(seed) % 2;
    struct cover_item *items = ARENA_ARRAY(a, struct cover_item, n);
    struct cover_bin *bin = ARENA_NEW(a, struct cover_bin);
    int64_t *has = ARENA_ARRAY(a, int64_t, COLS);

    for (uint32_t c = 0; c < COLS; c++) {
        columns[c].device = columns[c].fractions = c >= COLS - devices;
        has[c] = 8 * AMOUNT_ONE;
    }
    for (uint32_t i = 0; i < n; i++) {
        int64_t *need = ARENA_ARRAY(a, int64_t, COLS);

        for (uint32_t c = 0; c < COLS; c++)
            if ((i / 100 + c) % 3)
                need[c] = columns[c].device
                              ? (next(seed) % 2 ? next(seed) % 10000 : 20000)
                              : (int64_t)(1 + i / 8 * 7 % 30 * 2000 +
                                          next(seed) % 50);
        items[i] = (struct cover_item){need, 1, NULL};
    }
    *bin = (struct cover_bin){has, 1000, UNLIMITED, 0, 0, true};
    *p = (struct cover_problem){.columns = columns,
                                .n_columns = COLS,
                                .items = items,
                                .n_items = n,
                                .bins = bin,
                                .n_bins = 1,
                                .max_bins = UNLIMITED,
                                .max_cost = -1};
    view_make(p, a, ret);
}

/* Fills the bin by the order; how many places were passed over. */
static uint32_t fill(const struct view *v, const uint32_t *order, uint32_t n,
                     struct arena *a)
{
    int64_t *least = ARENA_ARRAY(a, int64_t, v->n_plain);
    struct space space;
    struct blocks b;
    uint32_t over = 0;

    space_make(v, &space);
    space_open(&space, 0);
    blocks_make(v, n, &b);
    blocks_measure(v, order, n, &b, least);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t c = 0; c < v->n_plain; c++)
            assert_true(view_need(v, order[i])[c] >= least[c]);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t from = k;

        if (!blocks_skip(&b, &space, &k)) {
            space_put(&space, order[k], 1);
            continue;
        }
        for (uint32_t q = from; q <= k && q < n; q++, over++)
            assert_false(space_fits(&space, order[q]));
    }
    return over;
}

static void test_nothing_that_fits_is_passed_over(void **state)
{
    uint64_t seed = 1;
    uint32_t over = 0, all = 0;

    (void)state;
    for (int w = 0; w < WORLDS; w++) {
        struct arena arena = {0};
        struct view v;
        uint32_t *order, n;

        make(&seed, &arena, &v);
        order = ARENA_ARRAY(&arena, uint32_t, v.n_items);
        n = v.n_items ? next(&seed) % (v.n_items + 1) : 0;
        for (uint32_t k = 0; k < n; k++)
            order[k] = k;
        over += fill(&v, order, n, &arena);
        all += n;
        arena_done(&arena);
    }
    assert_true(all > 10000);
    assert_true(over > all / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_that_fits_is_passed_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
