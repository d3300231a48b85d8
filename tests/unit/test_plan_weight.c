/*
 * test_plan_weight.c - what an item is worth moves towards what a plan paid for it;
 * like items learn from one another, others do not.  Under limits: what is left out is
 * worth as much as the dearest that has a place, and bins cost a toll.
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
    weight_learn(&d, &price, class_of ? &like : NULL, true, weight);
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

/* ---- limits */

enum { BINS = 3, SMALL = 0, LARGE = 1, OTHER = 2 };

/* A small and a large bin of one family and another are bought, with an item in each; a
 * fourth item is left out. */
struct world {
    struct pb_column column;
    struct cover_item item[BINS + 1];
    struct cover_bin bin[BINS];
    uint32_t family_max[2];
    struct cover_problem p;
    struct arena arena;
    struct view v;
    struct partial d;
    double weight[BINS + 1], price[BINS];
};

static void world_make(struct world *w, uint32_t max_other, uint32_t max_family,
                       uint32_t max_bins)
{
    static const int64_t need[BINS + 1] = {AMOUNT_ONE, 2 * AMOUNT_ONE,
                                           3 * AMOUNT_ONE, AMOUNT_ONE / 2};
    static const int64_t has[BINS] = {AMOUNT_ONE, 2 * AMOUNT_ONE,
                                      3 * AMOUNT_ONE};

    *w = (struct world){.family_max = {max_family, UNLIMITED}};
    for (uint32_t i = 0; i <= BINS; i++)
        w->item[i] = (struct cover_item){&need[i], 1, NULL};
    for (uint32_t t = 0; t < BINS; t++)
        w->bin[t] = (struct cover_bin){
            .has = &has[t],
            .price = 1000 * (t + 1),
            .max = t == OTHER ? max_other : UNLIMITED,
            .family = t == OTHER};
    w->p = (struct cover_problem){.columns = &w->column,
                                  .n_columns = 1,
                                  .items = w->item,
                                  .n_items = BINS + 1,
                                  .bins = w->bin,
                                  .n_bins = BINS,
                                  .family_max = w->family_max,
                                  .n_families = 2,
                                  .max_bins = max_bins,
                                  .max_cost = -1};
    view_make(&w->p, &w->arena, &w->v);
    assert_int_equal(w->v.n_bins, BINS);
    partial_make(&w->v, &w->d);
    for (uint32_t i = 0; i <= BINS; i++) {
        struct cover_part part = {i, 1};
        uint32_t of = w->v.item_of[i];

        if (of < BINS)
            partial_buy(&w->d, of, 1, &part, 1);
    }
    for (uint32_t t = 0; t < BINS; t++)
        w->price[t] = (double)w->v.price[t];
}

static void say_weights(struct world *w, double small, double large,
                        double other, double out)
{
    const double weight[BINS + 1] = {small, large, other, out};

    for (uint32_t i = 0; i <= BINS; i++)
        w->weight[i] = weight[w->v.item_of[i]];
}

static double weight_of(const struct world *w, uint32_t item)
{
    for (uint32_t i = 0; i <= BINS; i++)
        if (w->v.item_of[i] == item)
            return w->weight[i];
    return -1;
}

static void assert_prices(const struct world *w, double small, double large,
                          double other)
{
    assert_float_equal(w->price[SMALL], small, 1e-4);
    assert_float_equal(w->price[LARGE], large, 1e-4);
    assert_float_equal(w->price[OTHER], other, 1e-4);
}

/* 3,000 is paid for the dearest. */
static void test_what_is_left_out_is_worth_no_more_than_the_dearest(void **state)
{
    struct world w;

    (void)state;
    world_make(&w, UNLIMITED, UNLIMITED, BINS);
    say_weights(&w, 1000, 2000, 3000, 800);
    weight_learn(&w.d, w.price, NULL, true, w.weight);
    assert_float_equal(weight_of(&w, BINS), 1600, 1e-4);
    weight_learn(&w.d, w.price, NULL, true, w.weight);
    assert_float_equal(weight_of(&w, BINS), 3000, 1e-4);
    assert_float_equal(weight_of(&w, SMALL), 1000, 1e-4);
    say_weights(&w, 9000, 2000, 3000, 800);
    weight_learn(&w.d, w.price, NULL, true, w.weight);
    assert_float_equal(weight_of(&w, SMALL), 3000, 1e-4);
    /* of a plan that does not hold all yet nothing is told */
    say_weights(&w, 1000, 2000, 3000, 2800);
    weight_learn(&w.d, w.price, NULL, false, w.weight);
    assert_float_equal(weight_of(&w, BINS), 5600, 1e-4);
    arena_done(&w.arena);
}

/* The first two hold 900 more than they cost. */
static void test_bins_of_a_limit_share_a_toll(void **state)
{
    struct world w;

    (void)state;
    world_make(&w, UNLIMITED, UNLIMITED, BINS);
    say_weights(&w, 1900, 2000, 3000, 1);
    weight_price_limits(&w.d, w.weight, w.price);
    assert_prices(&w, 1150, 2150, 3150);
    arena_done(&w.arena);
    world_make(&w, UNLIMITED, 2, UNLIMITED);
    say_weights(&w, 1900, 2000, 3000, 1);
    weight_price_limits(&w.d, w.weight, w.price);
    assert_prices(&w, 1225, 2225, 3000);
    arena_done(&w.arena);
}

static void test_a_bin_at_its_own_limit_is_worth_its_content(void **state)
{
    struct world w;

    (void)state;
    world_make(&w, 1, UNLIMITED, UNLIMITED);
    say_weights(&w, 1900, 2000, 4000, 1);
    weight_price_limits(&w.d, w.weight, w.price);
    assert_prices(&w, 1000, 2000, 3500);
    arena_done(&w.arena);
}

static void test_no_toll_where_more_are_allowed(void **state)
{
    struct world w;

    (void)state;
    world_make(&w, 2, 3, BINS + 1);
    say_weights(&w, 1900, 2000, 4000, 1);
    w.price[SMALL] = 1400;
    weight_price_limits(&w.d, w.weight, w.price);
    assert_prices(&w, 1200, 2000, 3000);
    arena_done(&w.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_for_itself),
        cmocka_unit_test(test_like_items_learn_from_one_another),
        cmocka_unit_test(
            test_what_is_left_out_is_worth_no_more_than_the_dearest),
        cmocka_unit_test(test_bins_of_a_limit_share_a_toll),
        cmocka_unit_test(test_a_bin_at_its_own_limit_is_worth_its_content),
        cmocka_unit_test(test_no_toll_where_more_are_allowed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
