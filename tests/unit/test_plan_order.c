/*
 * test_plan_order.c - in which order a few items go into a bin: bins that are alike
 * share one, none has an item that it could not hold.
 */
#include "../../autoscaler/model/amount.h"
#include "../../autoscaler/plan/cover/order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { COLUMNS = 3, ITEMS = 4, BINS = 4 };
enum { DOUBLE, SINGLE, TALL, EXTRA }; /* bins */
#define ONE AMOUNT_ONE

static const int64_t NEED[ITEMS][COLUMNS] = {
    {2 * ONE, ONE}, {ONE, 2 * ONE}, {ONE, 7 * ONE}, {ONE, ONE, ONE}};
static const int64_t HAS[BINS][COLUMNS] = {{8 * ONE, 8 * ONE},
                                           {4 * ONE, 4 * ONE},
                                           {4 * ONE, 16 * ONE},
                                           {4 * ONE, 4 * ONE, ONE}};
static const int64_t PRICE[BINS] = {190, 100, 150, 120};

struct rig {
    struct arena arena;
    struct view v;
    struct orders o;
    uint32_t bin[BINS], item[ITEMS]; /* where they are in the view */
    uint64_t work, seed;
};

static void rig_make(struct rig *r)
{
    struct pb_column column[COLUMNS] = {{0}};
    struct cover_item item[ITEMS];
    struct cover_bin bin[BINS];
    struct cover_problem p = {.columns = column,
                              .n_columns = COLUMNS,
                              .items = item,
                              .n_items = ITEMS,
                              .bins = bin,
                              .n_bins = BINS,
                              .max_bins = UNLIMITED,
                              .max_cost = -1};
    double worth[ITEMS];
    struct price *price;

    *r = (struct rig){.seed = 7};
    for (uint32_t i = 0; i < ITEMS; i++) {
        item[i] = (struct cover_item){NEED[i], 100, NULL};
        worth[i] = 40;
    }
    for (uint32_t t = 0; t < BINS; t++)
        bin[t] = (struct cover_bin){
            .has = HAS[t], .price = PRICE[t], .max = UNLIMITED};
    view_make(&p, &r->arena, &r->v);
    assert_int_equal(r->v.n_items, ITEMS);
    assert_int_equal(r->v.n_bins, BINS);
    for (uint32_t i = 0; i < ITEMS; i++)
        r->item[r->v.item_of[i]] = i;
    for (uint32_t t = 0; t < BINS; t++)
        r->bin[r->v.bin_of[t]] = t;
    price = price_make(&r->v);
    orders_make(&r->v, &r->work, &r->o);
    for (uint32_t t = BINS; t-- > 0;) {
        price_tune(price, t, worth, NULL, 0, 30);
        orders_add(&r->o, price, worth, t);
    }
}

/* Twice as large is alike; another proportion is not, nor one that holds what the
 * dearer one cannot. */
static void test_which_bins_share_one(void **state)
{
    struct rig r;
    const uint32_t *of;

    (void)state;
    rig_make(&r);
    of = r.o.of;
    assert_int_equal(of[r.bin[SINGLE]], of[r.bin[DOUBLE]]);
    assert_int_not_equal(of[r.bin[TALL]], of[r.bin[DOUBLE]]);
    assert_int_not_equal(of[r.bin[EXTRA]], of[r.bin[DOUBLE]]);
    assert_int_not_equal(of[r.bin[EXTRA]], of[r.bin[TALL]]);
    assert_int_equal(r.o.n, 3);
    arena_done(&r.arena);
}

/* All are worth the same, so the smaller comes first, whichever order was asked for
 * before. */
static void test_smallest_first(void **state)
{
    struct rig r;
    const struct order *o;

    (void)state;
    rig_make(&r);
    for (int turn = 0; turn < 2; turn++) {
        uint32_t hand[3] = {r.item[2], r.item[turn], r.item[3]};

        orders_begin(&r.o, hand, 3, 0, &r.seed);
        o = order_of(&r.o, r.bin[TALL]);
        assert_int_equal(o->n, 2); /* the last needs what it has not */
        o = order_of(&r.o, r.bin[DOUBLE]);
        assert_ptr_equal(o, order_of(&r.o, r.bin[SINGLE]));
        assert_int_equal(o->n, 2);
        assert_int_equal(o->item[0], r.item[turn]);
        assert_int_equal(o->item[1], r.item[2]);
        o = order_of(&r.o, r.bin[EXTRA]);
        assert_int_equal(o->n, 2);
        assert_true(o->item[0] == r.item[3] || o->item[1] == r.item[3]);
    }
    arena_done(&r.arena);
}

/* With noise each of two that are nearly alike comes first at times. */
static void test_noise_mixes(void **state)
{
    struct rig r;
    uint32_t first = 0;

    (void)state;
    rig_make(&r);
    for (int turn = 0; turn < 100; turn++) {
        uint32_t hand[2] = {r.item[0], r.item[1]};

        orders_begin(&r.o, hand, 2, 0.9, &r.seed);
        first += order_of(&r.o, r.bin[DOUBLE])->item[0] == r.item[0];
    }
    assert_in_range(first, 10, 90);
    arena_done(&r.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which_bins_share_one),
        cmocka_unit_test(test_smallest_first),
        cmocka_unit_test(test_noise_mixes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
