/*
 * test_plan_trade.c - trades in a fill of one bin: the gain, and devices kept.
 */
#include "../../autoscaler/model/amount.h"
#include "../../autoscaler/plan/cover/trade.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { CPU, GPU, COLUMNS };

/* Runs trades on a fill of the one bin (CPU 10, GPU devices) with `had`; items are
 * numbered as they are given. */
static struct fill trade_in(struct arena *a, uint32_t devices,
                            const int64_t (*need)[COLUMNS], const double *worth,
                            uint32_t n, const uint32_t *had, uint32_t n_had)
{
    struct pb_column columns[COLUMNS] = {{0, false, false}, {1, true, true}};
    int64_t has[COLUMNS] = {10 * AMOUNT_ONE, devices * AMOUNT_ONE};
    struct cover_bin bin = {has, 1000000, UNLIMITED, 0, 0, devices > 0};
    struct cover_item item[8] = {0};
    uint32_t family_max = UNLIMITED, left[8], order[8];
    double of[8];
    struct cover_problem p = {columns,     COLUMNS, item,      n,  &bin, 1,
                              &family_max, 1,       UNLIMITED, -1, false};
    struct view v;
    struct trade trade;
    struct fill fill = {0};
    struct trade_from from = {0, order, n, left, of};

    for (uint32_t i = 0; i < n; i++)
        item[i] = (struct cover_item){need[i], 1, NULL};
    view_make(&p, a, &v);
    assert_int_equal(v.n_items, n);
    for (uint32_t i = 0; i < n; i++) {
        order[i] = i;
        left[i] = 1;
        of[i] = worth[v.item_of[i]];
    }
    trade_make(&v, &trade);
    for (uint32_t k = 0; k < n_had; k++)
        for (uint32_t i = 0; i < n; i++)
            if (v.item_of[i] == had[k]) {
                fill_add(&fill, i, 1, a);
                fill.value += of[i];
            }
    trade_run(&trade, &from, &fill);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(trade.inside[i], 0);
    for (uint32_t q = 0; q < fill.part.n; q++)
        fill.part.v[q].item = v.item_of[fill.part.v[q].item];
    return fill;
}

static bool has_item(const struct fill *f, uint32_t item)
{
    for (uint32_t q = 0; q < f->part.n; q++)
        if (f->part.v[q].item == item)
            return true;
    return false;
}

/* 6 of 10 are filled, at the best rate; 9 at a worse one are worth more, and 1 more
 * goes in beside. */
static void test_gains(void **state)
{
    static const int64_t need[][COLUMNS] = {
        {6 * AMOUNT_ONE, 0}, {9 * AMOUNT_ONE, 0}, {1 * AMOUNT_ONE, 0}};
    static const double worth[] = {6.6, 9, 0.5};
    struct arena a = {0};
    struct fill f = trade_in(&a, 0, need, worth, 3, (uint32_t[]){0}, 1);

    (void)state;
    assert_true(has_item(&f, 1) && has_item(&f, 2) && !has_item(&f, 0));
    assert_true(f.value > 9.49 && f.value < 9.51);
    arena_done(&a);
}

/* Two devices with 0.6 + 0.4 and 0.5: another 0.6 has no room in place of the 0.4,
 * though the sums would allow it and it would gain most. */
static void test_keeps_devices(void **state)
{
    static const int64_t need[][COLUMNS] = {{AMOUNT_ONE, 6000},
                                            {AMOUNT_ONE, 4000},
                                            {AMOUNT_ONE, 5000},
                                            {AMOUNT_ONE, 6000}};
    static const double worth[] = {5, 1, 2, 4};
    struct arena a = {0};
    struct fill f = trade_in(&a, 2, need, worth, 4, (uint32_t[]){0, 1, 2}, 3);

    (void)state;
    assert_true(has_item(&f, 0) && has_item(&f, 1) && has_item(&f, 3));
    assert_false(has_item(&f, 2));
    assert_true(f.value > 9.99 && f.value < 10.01);
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gains),
        cmocka_unit_test(test_keeps_devices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
