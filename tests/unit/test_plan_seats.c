/*
 * test_plan_seats.c - how many bins are needed at least: a case where fills decide, and
 * random ones against all ways to divide the items.
 */
#include "../../autoscaler/plan/cover/exact/count.h"
#include "../../autoscaler/plan/cover/exact/seats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { ITEMS = 10, BINS = 3, AMOUNTS = 2, ALL = 1 << ITEMS, WORLDS = 400 };

static uint32_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

/* CPU and whole devices. */
struct world {
    struct cover_problem p;
    struct view v;
    struct cover_item item[ITEMS];
    struct cover_bin bin[BINS];
    struct pb_column column[AMOUNTS];
    int64_t need[ITEMS][AMOUNTS], has[BINS][AMOUNTS];
    uint64_t may[ITEMS];
};

static void make(struct world *w, uint32_t n, struct arena *a)
{
    w->column[0] = (struct pb_column){0};
    w->column[1] = (struct pb_column){0, 1, 1};
    for (uint32_t i = 0; i < n; i++)
        w->item[i] = (struct cover_item){w->need[i], 1, &w->may[i]};
    w->p = (struct cover_problem){.columns = w->column,
                                  .n_columns = AMOUNTS,
                                  .items = w->item,
                                  .n_items = n,
                                  .bins = w->bin,
                                  .n_bins = BINS,
                                  .max_bins = UNLIMITED,
                                  .max_cost = -1};
    view_make(&w->p, a, &w->v);
}

static bool fits(const struct world *w, uint32_t b, uint32_t set)
{
    for (uint32_t c = 0; c < AMOUNTS; c++) {
        int64_t sum = 0;

        for (uint32_t i = 0; i < w->p.n_items; i++)
            sum += set >> i & 1 ? w->need[i][c] : 0;
        if (sum > w->has[b][c])
            return false;
    }
    for (uint32_t i = 0; i < w->p.n_items; i++)
        if (set >> i & 1 && !(w->may[i] >> b & 1))
            return false;
    return true;
}

/* ---- eight machines' worth of GPUs, and 0.3 of a CPU too much */

/* Sixteen GPUs are asked for: eight in one piece, eight one by one, whose CPU is a
 * little more than a machine has.  By resources they are 1 and 1.003 machines.  A
 * machine for what they are not asked for is cheap. */
static void draw_sixteen(struct world *w, struct arena *a)
{
    static const int64_t CPU[] = {880000, 31520,  114000, 114000, 114000,
                                  119080, 120000, 160000, 187080, 15000};

    for (uint32_t b = 0; b < BINS; b++) {
        w->has[b][0] = b ? 150000 : 956900;
        w->has[b][1] = b ? 0 : 8 * AMOUNT_ONE;
        w->bin[b] = (struct cover_bin){.has = w->has[b],
                                       .price = b ? 500000 + b : 21957642,
                                       .max = UNLIMITED,
                                       .accelerator = b == 0};
    }
    for (uint32_t i = 0; i < ITEMS; i++) {
        w->need[i][0] = CPU[i];
        w->need[i][1] = (i == 0 ? 8 : i < 9) * AMOUNT_ONE;
        w->may[i] = i < 9 ? 1 : 7;
    }
    make(w, ITEMS, a);
}

static void test_what_fills_decide(void **state)
{
    double used[BINS] = {0};
    struct seats_set set[SEATS_SETS];
    struct arena a = {0};
    uint64_t work = 0;
    struct world w;
    double sum = 0;

    (void)state;
    draw_sixteen(&w, &a);
    used[view_bin_numbers(&w.v)[0]] = 2.143;
    assert_int_equal(seats_find(&w.v, used, &work, set), 1);
    assert_int_equal(set[0].bins[0], 1);
    assert_int_equal(set[0].least.bins, 3);
    for (uint32_t i = 0; i < 9; i++)
        sum += set[0].least.share[i];
    assert_true(sum > 2 + 1e-4);
    assert_true(set[0].least.share[0] <= 1 + 1e-9);
    assert_true(set[0].least.share[9] == 0);
    assert_true(set[0].gain > 0.85 * 21957642);
    arena_done(&a);
}

/* Devices fill machines too: nine times all eight GPUs are nine machines, though of
 * CPU they need next to nothing. */
static void test_devices_fill_machines(void **state)
{
    double used[BINS] = {0};
    struct seats_set set[SEATS_SETS];
    struct arena a = {0};
    uint64_t work = 0;
    struct world w;

    (void)state;
    draw_sixteen(&w, &a);
    for (uint32_t i = 0; i < 9; i++) {
        w.need[i][0] = 1000 + i;
        w.need[i][1] = 8 * AMOUNT_ONE;
    }
    make(&w, ITEMS, &a);
    used[view_bin_numbers(&w.v)[0]] = 8.5;
    assert_int_equal(seats_find(&w.v, used, &work, set), 1);
    assert_int_equal(set[0].least.bins, 9);
    arena_done(&a);
}

/* ---- random ones */

/* Two kinds of machines with a price; of the third, which has none, there is one. */
static void draw(struct world *w, uint64_t *seed, struct arena *a)
{
    for (uint32_t b = 0; b < BINS; b++) {
        w->has[b][0] = (8 + next(seed) % 9) * AMOUNT_ONE;
        w->has[b][1] = next(seed) % 5 * AMOUNT_ONE;
        w->bin[b] = (struct cover_bin){.has = w->has[b],
                                       .price = b < 2 ? COUNT_PRICE : 0,
                                       .max = b < 2 ? UNLIMITED : 1,
                                       .accelerator = w->has[b][1] > 0};
    }
    w->has[0][0] = 16 * AMOUNT_ONE; /* holds any item */
    w->has[0][1] = 4 * AMOUNT_ONE;
    for (uint32_t i = 0; i < ITEMS; i++) {
        w->need[i][0] = (i % 5 ? 10000 : 70000) + next(seed) % 70000;
        w->need[i][1] = (next(seed) % 3) * AMOUNT_ONE;
        w->may[i] = 1 | next(seed) % 8;
    }
    make(w, ITEMS, a);
}

/* The fewest machines with a price, over all ways to divide the items. */
static uint32_t fewest(const struct world *w)
{
    static bool one[ALL], there[ALL];
    static uint32_t least[ALL];
    uint32_t ret = UINT32_MAX;

    for (uint32_t s = 0; s < ALL; s++) {
        one[s] = fits(w, 0, s) || fits(w, 1, s);
        there[s] = fits(w, 2, s);
        least[s] = s ? UINT32_MAX - 1 : 0;
        for (uint32_t in = s; in; in = (in - 1) & s)
            if (one[in] && least[s & ~in] + 1 < least[s])
                least[s] = least[s & ~in] + 1;
    }
    for (uint32_t s = 0; s < ALL; s++)
        if (there[s] && least[(ALL - 1) & ~s] < ret)
            ret = least[(ALL - 1) & ~s];
    return ret;
}

static double most_share(const struct world *w, uint32_t b,
                         const struct cover_proof *proof)
{
    double most = 0;

    for (uint32_t s = 0; s < ALL; s++) {
        double sum = 0;

        for (uint32_t i = 0; i < ITEMS; i++)
            sum += s >> i & 1 ? proof->worth[i] / (double)COUNT_PRICE : 0;
        if (sum > most && fits(w, b, s))
            most = sum;
    }
    return most;
}

static void test_never_more_than_are_needed(void **state)
{
    uint64_t seed = 20261129, work = 0;
    uint32_t better = 0, all = 0;
    struct arena a = {0};

    (void)state;
    for (int k = 0; k < WORLDS; k++) {
        struct cover_proof proof;
        uint32_t prices, fills, truly;
        struct world w;
        double sum = 0;

        draw(&w, &seed, &a);
        truly = fewest(&w);
        prices = count_by_prices(&w.v, &work, &proof);
        fills = count_by_fills(&w.v, prices, &work, &proof);
        assert_true(fills >= prices);
        assert_true(fills <= truly);
        better += fills > prices;
        all += fills == truly;
        /* As a proof has it (cover.h). */
        for (uint32_t i = 0; fills && i < ITEMS; i++)
            sum += proof.worth[i] / (double)COUNT_PRICE;
        assert_true(!fills || sum - most_share(&w, 2, &proof) > fills - 1);
        for (uint32_t b = 0; fills && b < 2; b++)
            assert_true(most_share(&w, b, &proof) <= 1 + 1e-9);
        arena_reset(&a);
    }
    printf("%d worlds: %u better by fills, %u as many as are needed\n", WORLDS,
           better, all);
    assert_true(better > WORLDS / 20);
    assert_true(all > WORLDS * 4 / 5);
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_fills_decide),
        cmocka_unit_test(test_devices_fill_machines),
        cmocka_unit_test(test_never_more_than_are_needed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
