/*
 * test_control_figures.c - counters with labels are bounded; a node's price is
 * shared by what is on it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "control/figures/figures.h"
#include "model/bill.h"

static const struct figure_series *find(const struct figure_series *v,
                                        uint32_t n, const char *label)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(v[i].label[0], label) == 0)
            return &v[i];
    return NULL;
}

/* The 51st owner and all after it are one series; none is lost. */
static void owners_are_bounded(void **state)
{
    struct figures t = {0};
    const struct figure_series *v;
    struct arena a = {0};
    int64_t sum = 0;
    uint32_t n;

    (void)state;
    for (int i = 0; i < 130; i++) {
        char owner[16];

        snprintf(owner, sizeof owner, "o%d", i % 120);
        figure_spend(&t, FIGURE_OWNER_SPENT, 10, FIGURE_LABELS_(owner));
    }
    n = figures_take(&t, FIGURE_OWNER_SPENT, &a, &v);
    assert_int_equal(n, 101);
    assert_int_equal(find(v, n, "o3")->sum, 20);
    assert_int_equal(find(v, n, "o99")->sum, 10);
    assert_int_equal(find(v, n, FIGURE_OTHER)->sum, 200);
    for (uint32_t i = 0; i < n; i++)
        sum += v[i].sum;
    assert_int_equal(sum, 1300);
    arena_done(&a);
    figures_done(&t);
}

/* A bound is within its bucket, what is larger than all is in the last. */
static void buckets(void **state)
{
    static const int64_t times[] = {100, 101, 1000, 99999999, -5};
    const struct figure_about *f = figure_about(FIGURE_TICK);
    struct figures t = {0};
    const struct figure_series *v;
    struct arena a = {0};

    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        figure_time(&t, FIGURE_TICK, times[i], FIGURE_LABELS_(NULL));
    assert_int_equal(figures_take(&t, FIGURE_TICK, &a, &v), 1);
    assert_int_equal(f->bounds[0], 100);
    assert_int_equal(v->bucket[0], 2);
    assert_int_equal(v->bucket[1], 2);
    assert_int_equal(v->bucket[f->n_bounds], 1);
    assert_int_equal(v->n, 5);
    assert_int_equal(v->sum, 100 + 101 + 1000 + 99999999);
    arena_done(&a);
    figures_done(&t);
}

static void bounds_grow(void **state)
{
    (void)state;
    for (int i = 0; i < FIGURE_COUNT; i++) {
        const struct figure_about *f = figure_about((enum figure)i);

        assert_non_null(f->name);
        assert_true(f->n_bounds < FIGURE_BUCKETS);
        for (uint32_t k = 1; k < f->n_bounds; k++)
            assert_true(f->bounds[k - 1] < f->bounds[k]);
    }
}

/* ---- the bill: one node of 8 CPU and 2 GPU at a dollar */

enum { CPU, MEMORY, GPU, COLUMNS };
static const int64_t rows[][COLUMNS] = {
    {80000, 0, 20000}, /* the node */
    {80000, 0, 10000}, /* what is free of it */
    {20000, 0, 10000}, /* a bundle: a quarter of the CPUs, half of the GPUs */
    {80000, 0, 0},     /* another: all CPUs */
};
static const char *const str[] = {"", "alice", "bob", "n"};

static struct bill bill_of(const struct plan_placement *q, uint32_t n,
                           uint32_t available, struct arena *a)
{
    static const struct pb_shape shapes[] = {{.row = 2}, {.row = 3}};
    static const struct pb_alt alts[] = {{.shape = 0}, {.shape = 1}};
    static const struct pb_bundle bundles[] = {
        {.demand = 0, .first_alt = 0, .n_alts = 1, .count = 2},
        {.demand = 1, .first_alt = 1, .n_alts = 1, .count = 1}};
    static const struct pb_demand demands[] = {{.owner = 1}, {.owner = 2}};
    const struct pb_node node = {.total = 0,
                                 .available = available,
                                 .offer = NONE,
                                 .state = STATE_READY};
    const struct plan_node verdict = {.n_placements = n};
    const struct snap_node nodes[] = {{.id = "n",
                                       .type = "t",
                                       .state = STATE_READY,
                                       .price_micros_hour = 1000000},
                                      {.id = "head",
                                       .type = "",
                                       .head = true,
                                       .state = STATE_READY,
                                       .price_micros_hour = 5000000},
                                      {.id = "gone",
                                       .type = "t",
                                       .state = STATE_GONE,
                                       .price_micros_hour = 5000000},
                                      {.id = "who",
                                       .type = "t",
                                       .state = STATE_STARTING,
                                       .price_micros_hour = -1}};
    const struct snapshot f = {.nodes = nodes, .n_nodes = 4};
    const struct problem s = {.str = str,
                              .n_str = 4,
                              .n_columns = COLUMNS,
                              .rows = rows[0],
                              .n_rows = 4,
                              .shapes = shapes,
                              .alts = alts,
                              .bundles = bundles,
                              .n_bundles = 2,
                              .demands = demands,
                              .n_demands = 2,
                              .nodes = &node,
                              .n_nodes = 1};
    const struct plan p = {.nodes = &verdict, .placements = q};
    struct bill b;

    bill_make(&f, &s, &p, true, a, &b);
    assert_int_equal(b.micros_hour, 1000000);
    assert_int_equal(b.unpriced, 1);
    return b;
}

static int64_t of_owner(const struct bill *b, const char *owner)
{
    for (uint32_t i = 0; i < b->n_owners; i++)
        if (strcmp(b->owners[i].owner, owner) == 0)
            return b->owners[i].micros_hour;
    return 0;
}

static void prices_are_shared(void **state)
{
    static const struct plan_placement one[] = {{0, 0, 1}};
    static const struct plan_placement both[] = {{0, 0, 2}, {1, 0, 1}};
    struct arena a = {0};
    struct bill b;

    (void)state;
    b = bill_of(NULL, 0, 0, &a); /* all free */
    assert_int_equal(b.idle_micros_hour, 1000000);
    assert_int_equal(b.n_owners, 0);
    b = bill_of(NULL, 0, 1, &a); /* a GPU is in use, nobody says by whom */
    assert_int_equal(of_owner(&b, BILL_RUNNING), 500000);
    assert_int_equal(b.idle_micros_hour, 500000);
    b = bill_of(one, 1, 1, &a); /* and alice is planned for there */
    assert_int_equal(of_owner(&b, "alice"), 500000);
    assert_int_equal(of_owner(&b, BILL_RUNNING), 0);
    b = bill_of(both, 2, 1, &a); /* all GPUs and all CPUs: they share */
    assert_int_equal(of_owner(&b, "alice"), 500000);
    assert_int_equal(of_owner(&b, "bob"), 500000);
    assert_int_equal(b.idle_micros_hour, 0);
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owners_are_bounded), cmocka_unit_test(buckets),
        cmocka_unit_test(bounds_grow), cmocka_unit_test(prices_are_shared)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
