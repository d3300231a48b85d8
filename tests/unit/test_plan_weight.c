/*
 * test_plan_weight.c - what an item is worth moves towards what a plan paid for it;
 * like items learn from one another, others do not.
 */
#include "../../autoscaler/model/amount.h"
#include "../../autoscaler/plan/cover/weight.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ITEMS = 3 };

/* Two bins of 1,000 were bought: the first item has one for itself, the others share
 * one.  All were thought to be worth 500. */
static void learn(const uint32_t *class_of, double *ret)
{
    static const int64_t need[ITEMS] = {2 * AMOUNT_ONE, 2 * AMOUNT_ONE - 100,
                                        2 * AMOUNT_ONE - 200};
    static const int64_t has = 4 * AMOUNT_ONE;
    struct pb_column column = {0};
    struct cover_item item[ITEMS];
    struct cover_bin bin = {.has = &has, .price = 1000, .max = UNLIMITED};
    struct cover_problem p = {.columns = &column,
                              .n_columns = 1,
                              .items = item,
                              .n_items = ITEMS,
                              .bins = &bin,
                              .n_bins = 1,
                              .max_bins = UNLIMITED,
                              .max_cost = -1};
    const double price = 1000;
    struct cover_part part[ITEMS];
    uint32_t of_view[ITEMS];
    double weight[ITEMS];
    struct alike like = {of_view, NULL, 2};
    struct arena arena = {0};
    struct partial d;
    struct view v;

    for (uint32_t i = 0; i < ITEMS; i++)
        item[i] = (struct cover_item){&need[i], 1, NULL};
    view_make(&p, &arena, &v);
    assert_int_equal(v.n_items, ITEMS);
    for (uint32_t i = 0; i < ITEMS; i++) {
        part[v.item_of[i]] = (struct cover_part){i, 1};
        of_view[i] = class_of ? class_of[v.item_of[i]] : 0;
        weight[i] = 500;
    }
    partial_make(&v, &d);
    partial_buy(&d, 0, 1, part, 1);
    partial_buy(&d, 0, 1, part + 1, 2);
    weight_learn(&d, &price, class_of ? &like : NULL, weight);
    for (uint32_t i = 0; i < ITEMS; i++)
        ret[v.item_of[i]] = weight[i];
    arena_done(&arena);
}

static void test_each_for_itself(void **state)
{
    double worth[ITEMS];

    (void)state;
    learn(NULL, worth);
    assert_float_equal(worth[0], 750, 1e-4);
    assert_float_equal(worth[1], 500, 1e-4);
    assert_float_equal(worth[2], 500, 1e-4);
}

/* The first two paid 1,500, half as much again as they were worth. */
static void test_like_items_learn_from_one_another(void **state)
{
    static const uint32_t class_of[ITEMS] = {0, 0, 1};
    double worth[ITEMS];

    (void)state;
    learn(class_of, worth);
    assert_float_equal(worth[0], 687.5, 1e-4);
    assert_float_equal(worth[1], 562.5, 1e-4);
    assert_float_equal(worth[2], 500, 1e-4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_for_itself),
        cmocka_unit_test(test_like_items_learn_from_one_another),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
