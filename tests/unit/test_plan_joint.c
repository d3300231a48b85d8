/*
 * test_plan_joint.c - what one bin can earn at most, one plain column exact: against the
 * best of all fills of small bins; and what is said to be taken earns just that.  With more
 * items than its tables have room for, it is the plain bound.
 */
#include "../../autoscaler/model/amount.h"
#include "../../autoscaler/plan/cover/joint.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fills.h"

enum { CPU, MEMORY, GPU, COLUMNS, ITEMS = 5, DEVICES = 3, CASES = 200 };
#define ONE AMOUNT_ONE

static uint32_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

static double unit(uint64_t *seed)
{
    return next(seed) / (double)(UINT32_MAX >> 1);
}

struct rig {
    struct arena arena;
    struct view v;
    struct price *plain, *joint;
    double worth[ITEMS];
    int64_t need[ITEMS][COLUMNS], has[COLUMNS];
};

static void rig_make(struct rig *r, uint64_t *seed)
{
    static const int64_t parts[] = {0,    0,    1000, 2500, 3300,   5000,
                                    6000, 7000, ONE,  ONE,  2 * ONE};
    struct pb_column column[COLUMNS] = {
        [GPU] = {.device = true, .fractions = true}};
    struct cover_item item[ITEMS];
    struct cover_bin bin = {
        .has = r->has, .price = 1000000, .max = UNLIMITED, .accelerator = true};
    struct cover_problem p = {.columns = column,
                              .n_columns = COLUMNS,
                              .items = item,
                              .n_items = 1 + next(seed) % ITEMS,
                              .bins = &bin,
                              .n_bins = 1,
                              .max_bins = UNLIMITED,
                              .max_cost = -1};

    *r = (struct rig){.has = {(4 << next(seed) % 3) * ONE,
                              (8 << next(seed) % 3) * ONE,
                              next(seed) % (DEVICES + 1) * ONE}};
    for (uint32_t i = 0; i < p.n_items; i++) {
        r->need[i][CPU] = (1 + next(seed) % 40) * ONE / 10;
        r->need[i][MEMORY] = (1 + next(seed) % 80) * ONE / 10;
        r->need[i][GPU] = parts[next(seed) % 11];
        r->worth[i] = 0.1 + 3 * unit(seed);
        item[i] = (struct cover_item){.need = r->need[i],
                                      .count = 1 + next(seed) % 3};
    }
    view_make(&p, &r->arena, &r->v);
    if (!r->v.n_bins)
        return;
    r->plain = price_make(&r->v);
    r->joint = price_make_joint(&r->v);
    r->joint->bin[0].column[0] = next(seed) % r->v.n_plain;
}

/* What was taken earns, the multipliers paid, and what is free costs. */
static double earned(const struct price *p)
{
    const struct price_bin *b = &p->bin[0];
    double value = 0;

    for (uint32_t s = 0; s < p->scalars; s++)
        value += b->lambda[s];
    for (uint32_t q = 0; q < b->n_scarce; q++)
        value += b->sigma[q] * b->fits[b->scarce[q]];
    for (uint32_t k = 0; k < b->n; k++)
        value += p->profit[k] * p->taken[k];
    return value;
}

static void test_never_less(void **state)
{
    uint64_t seed = 20261126;
    double plain = 0, joint = 0, all = 0;
    uint32_t scarce = 0;

    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int k = 0; k < CASES; k++) {
        struct rig r;
        double worth[ITEMS], most, value, tuned;

        rig_make(&r, &seed);
        if (!r.v.n_bins) {
            arena_done(&r.arena);
            continue;
        }
        for (uint32_t i = 0; i < r.v.n_items; i++)
            worth[i] = r.worth[r.v.item_of[i]];
        memcpy(r.worth, worth, sizeof worth);
        most = fills_best(&r.v, 0, worth);
        for (int turn = 0; turn < 5; turn++) {
            for (uint32_t c = 0; c < r.joint->scalars; c++)
                r.joint->bin[0].lambda[c] = turn ? most * unit(&seed) : 0;
            value = price_evaluate(r.joint, 0, worth, NULL);
            assert_true(value >= most * (1 - 1e-9));
            assert_float_equal(value, earned(r.joint), value * 1e-9);
        }
        plain += price_tune(r.plain, 0, worth, NULL, 0, 60);
        value = INFINITY;
        for (uint32_t c = 0; c < r.v.n_plain; c++) {
            r.joint = price_make_joint(&r.v);
            r.joint->bin[0].column[0] = c;
            tuned = price_tune(r.joint, 0, worth, NULL, 0, 60);
            assert_float_equal(tuned, earned(r.joint), tuned * 1e-9);
            scarce += r.joint->bin[0].n_scarce;
            value = fmin(value, tuned);
        }
        assert_true(value >= most * (1 - 1e-9));
        joint += value;
        all += most;
        arena_done(&r.arena);
    }
    print_message("of the best fills: %.3f, without a column exact %.3f\n",
                  joint / all, plain / all);
    assert_true(scarce > 0);
    assert_true(joint < all * 1.03);
    assert_true(joint - all < (plain - all) / 2);
}

/* 400 items of whole and shared devices, of which none outdoes another. */
static void test_too_many_items(void **state)
{
    enum { MANY = 400 };
    struct pb_column column[COLUMNS] = {
        [GPU] = {.device = true, .fractions = true}};
    int64_t has[COLUMNS] = {64 * ONE, 64 * ONE, 8 * ONE};
    static int64_t need[MANY][COLUMNS];
    static double worth[MANY];
    static struct cover_item item[MANY];
    struct cover_bin bin = {
        .has = has, .price = 1000000, .max = UNLIMITED, .accelerator = true};
    struct cover_problem p = {.columns = column,
                              .n_columns = COLUMNS,
                              .items = item,
                              .n_items = MANY,
                              .bins = &bin,
                              .n_bins = 1,
                              .max_bins = UNLIMITED,
                              .max_cost = -1};
    struct arena arena = {0};
    struct price *plain, *joint;
    struct view v;
    double value;
    uint64_t had, once;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        need[i][CPU] = (50 + i) * ONE / 50;
        need[i][MEMORY] = ONE + i;
        need[i][GPU] = 100 + 2 * i;
        item[i] = (struct cover_item){.need = need[i], .count = 64};
    }
    view_make(&p, &arena, &v);
    assert_int_equal(v.n_items, MANY);
    for (uint32_t i = 0; i < v.n_items; i++)
        worth[i] = 1 + (double)v.item_of[i] / MANY;
    plain = price_make(&v);
    joint = price_make_joint(&v);
    had = joint->work;
    value = price_evaluate(joint, 0, worth, NULL);
    assert_float_equal(value, price_evaluate(plain, 0, worth, NULL),
                       value * 1e-12);
    once = joint->work - had;
    assert_true(once > 100000);
    joint->limit = joint->work + 1; /* it ends with its first evaluation */
    had = joint->work;
    price_tune(joint, 0, worth, NULL, 0, 60);
    assert_true(joint->work - had < once + once / 4);
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_never_less),
                                       cmocka_unit_test(test_too_many_items)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
