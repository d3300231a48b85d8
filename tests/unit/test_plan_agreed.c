/*
 * test_plan_agreed.c - so many bins are in every plan: by hand.  (That no
 * longer thought buys fewer is tried in tests/prop/test_agreed.py.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "../../autoscaler/plan/cover_agreed.h"

enum { CPU, GPU, COLUMNS, BINS = 3 };

static struct arena arena;
static const struct pb_column columns[COLUMNS] = {
    {0, false, false}, {0, true, true}};
/* A plain one; four devices; the same in another zone, a little dearer. */
static const int64_t has[BINS][COLUMNS] = {
    {160000, 0}, {640000, 40000}, {640000, 40000}};
static const uint32_t group_max[2] = {UNLIMITED, UNLIMITED};

struct item { double cpu, gpu; uint32_t count; };

static uint32_t agreed[BINS];

static void ask(const struct item *v, uint32_t n)
{
    const struct cover_bin bins[BINS] = {
        {has[0], 500000, UNLIMITED, 0, 0, false},
        {has[1], 4000000, UNLIMITED, 1, 1, true},
        {has[2], 4040000, UNLIMITED, 1, 2, true}};
    struct cover_item *items = ARENA_ARRAY(&arena, struct cover_item, n);
    struct cover_problem p = {
        .columns = columns, .n_columns = COLUMNS, .items = items, .n_items = n,
        .bins = bins, .n_bins = BINS, .group_max = group_max, .n_groups = 2,
        .max_bins = UNLIMITED, .max_cost = -1};
    struct cover_plan first;

    for (uint32_t i = 0; i < n; i++) {
        int64_t *need = ARENA_ARRAY(&arena, int64_t, COLUMNS);

        need[CPU] = (int64_t)(v[i].cpu * 10000);
        need[GPU] = (int64_t)(v[i].gpu * 10000);
        items[i] = (struct cover_item){.need = need, .count = v[i].count};
    }
    cover_first(&p, &arena, &first);
    cover_agreed(&p, &first, &arena, agreed);
}
#define ASK(...)                                                              \
    do {                                                                      \
        const struct item v_[] = {__VA_ARGS__};                               \
        ask(v_, sizeof v_ / sizeof *v_);                                      \
    } while (0)

static void what_fits_elsewhere_is_not_agreed_upon(void **state)
{
    (void)state;
    ASK({2, 0, 1000});
    assert_int_equal(agreed[0], 0);
    ASK({2, 0, 1000}, {1, 1, 40});
    assert_int_equal(agreed[0], 0);
    assert_int_equal(agreed[1], 10);
}

static void the_beaten_bin_is_not_needed(void **state)
{
    (void)state;
    ASK({1, 1, 41});
    assert_int_equal(agreed[1], 11);
    assert_int_equal(agreed[2], 0);
}

static void more_than_a_half_is_a_whole(void **state)
{
    (void)state;
    ASK({1, 0.6, 40});            /* one on a device, not 1.67 */
    assert_int_equal(agreed[1], 10);
    ASK({33, 0.25, 40});          /* one on a node, by its CPUs */
    assert_int_equal(agreed[1], 40);
    ASK({22, 0.1, 40}, {0, 3, 8});   /* two on a node; those of 3 one each */
    assert_int_equal(agreed[1], 20);
    ASK({1, 3, 8}, {1, 1, 4});
    assert_int_equal(agreed[1], 8);
}

static void nothing_is_when_something_is_left_out(void **state)
{
    (void)state;
    ASK({1, 1, 40}, {1, 5, 1});
    assert_int_equal(agreed[1], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_elsewhere_is_not_agreed_upon),
        cmocka_unit_test(the_beaten_bin_is_not_needed),
        cmocka_unit_test(more_than_a_half_is_a_whole),
        cmocka_unit_test(nothing_is_when_something_is_left_out),
    };
    int failed = cmocka_run_group_tests_name("plan_agreed", tests, NULL, NULL);

    arena_done(&arena);
    return failed;
}
