/*
 * test_plan_sides.c - items that share no column: which side each is on, what each side of
 * a bin can earn by the relaxation, and the most that a bin can hold, by a search side by
 * side, against the best of all fills.
 */
#include "../../autoscaler/model/amount.h"
#include "../../autoscaler/plan/cover/partial.h"
#include "../../autoscaler/plan/cover/prove.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fills.h"

enum { CPU, MEMORY, GPU, COLUMNS, SIDES = 2, ITEMS = 6, CASES = 300 };
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
    struct cover_item item[ITEMS];
    struct cover_problem p;
    struct view v;
    double worth[ITEMS]; /* of the view's items */
    int64_t need[ITEMS][SIDES * COLUMNS], has[SIDES * COLUMNS];
    uint32_t side[ITEMS];
};

static const struct pb_column column[SIDES * COLUMNS] = {
    [GPU] = {.device = true, .fractions = true},
    [COLUMNS + GPU] = {.device = true, .fractions = true}};

/* Three items on each side, which need CPU and mostly other things. */
static void rig_make(struct rig *r, uint64_t *seed)
{
    static const int64_t parts[] = {0, 0, 2500, 3300, 5000, 7000, ONE, 2 * ONE};
    static const struct cover_bin any = {
        .price = 1000000, .max = UNLIMITED, .accelerator = true};
    struct cover_bin *bin = ARENA_NEW(&r->arena, struct cover_bin);

    *bin = any;
    bin->has = r->has;
    r->p = (struct cover_problem){.columns = column,
                                  .n_columns = SIDES * COLUMNS,
                                  .items = r->item,
                                  .n_items = ITEMS,
                                  .bins = bin,
                                  .n_bins = 1,
                                  .max_bins = UNLIMITED,
                                  .max_cost = -1};
    for (int side = 0; side < SIDES; side++) {
        r->has[side * COLUMNS + CPU] = (4 << next(seed) % 2) * ONE;
        r->has[side * COLUMNS + MEMORY] = (8 << next(seed) % 2) * ONE;
        r->has[side * COLUMNS + GPU] = next(seed) % 4 * ONE;
    }
    for (uint32_t i = 0; i < ITEMS; i++) {
        int64_t *need = r->need[i] + (i % SIDES) * COLUMNS;

        r->side[i] = i % SIDES;
        need[CPU] = (5 + next(seed) % 30) * ONE / 10;
        need[MEMORY] = (1 + next(seed) % 60) * ONE / 10;
        need[GPU] = parts[next(seed) % 8];
        r->item[i] = (struct cover_item){.need = r->need[i],
                                         .count = 1 + next(seed) % 2};
    }
    view_make(&r->p, &r->arena, &r->v);
    for (uint32_t i = 0; i < r->v.n_items; i++)
        r->worth[i] = .1 + 3 * unit(seed);
}

static uint32_t side_of(const struct rig *r, uint32_t i)
{
    return r->side[r->v.item_of[i]];
}

/* With one item and one column, as the view has them, it is none. */
static bool is_side(const struct rig *r, uint32_t side)
{
    uint32_t items = 0, needs = 0;

    for (uint32_t i = 0; i < r->v.n_items; i++) {
        if (side_of(r, i) != side)
            continue;
        items++;
        for (uint32_t c = 0; c < r->v.n_plain; c++)
            needs += view_need(&r->v, i)[c] > 0;
        for (uint32_t d = 0; d < r->v.n_dev; d++)
            needs += 2 * (view_device_amount(&r->v, i, d) > 0);
    }
    return items > 1 || needs > 1;
}

static void check_sides(const struct rig *r, const struct sides *x)
{
    if (!is_side(r, 0) || !is_side(r, 1)) {
        assert_int_equal(x->n, 1);
        return;
    }
    for (uint32_t i = 0; i < r->v.n_items; i++) {
        for (uint32_t k = 0; k < r->v.n_items; k++)
            assert_int_equal(x->of_item[i] == x->of_item[k],
                             side_of(r, i) == side_of(r, k));
        for (uint32_t c = 0; c < r->v.n_plain; c++)
            if (view_need(&r->v, i)[c])
                assert_int_equal(x->of_plain[c], x->of_item[i]);
    }
    assert_int_equal(x->n, 2);
}

static void check_search(struct rig *r, struct price *price, double most,
                         double above)
{
    struct prove *x = prove_make(&r->v, price);
    const struct cover_part *part;
    struct space space;
    double best, worth = 0;
    uint32_t n;

    space_make(&r->v, &space);
    assert_true(prove_search(x, 0, r->worth, above, 1000000, &best, &part, &n));
    assert_float_equal(best, most > above ? most : above, 1e-9 * most);
    if (most <= above * (1 + 1e-9))
        return;
    assert_true(n > 0);
    assert_true(partial_holds(&r->v, 0, part, n, &space));
    for (uint32_t k = 0; k < n; k++)
        worth += part[k].count * r->worth[part[k].item];
    assert_float_equal(worth, most, 1e-9 * most);
}

static void test_sides(void **state)
{
    uint64_t seed = 20261127;
    uint32_t two = 0;

    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int k = 0; k < CASES; k++) {
        struct rig r = {0};
        struct price *price;
        double most, value, of_sides[SIDES];

        rig_make(&r, &seed);
        if (!r.v.n_bins) {
            arena_done(&r.arena);
            continue;
        }
        price = price_make(&r.v);
        check_sides(&r, &price->sides);
        most = fills_best(&r.v, 0, r.worth);
        value = price_tune(price, 0, r.worth, NULL, 0, 60);
        assert_true(value >= most * (1 - 1e-9));
        price_of_sides(price, 0, of_sides);
        if (price->sides.n == SIDES) {
            two++;
            assert_float_equal(of_sides[0] + of_sides[1], value, value * 1e-9);
        }
        for (int turn = 0; turn < 6; turn++)
            check_search(&r, price, most, most * (.5 + .1 * turn));
        check_search(&r, price, most, 0);
        arena_done(&r.arena);
    }
    assert_true(two > CASES / 2);
}

static uint32_t sides_of(struct rig *r)
{
    struct sides sides;

    view_make(&r->p, &r->arena, &r->v);
    assert_int_equal(r->v.n_items, ITEMS);
    sides_make(&r->v, &sides);
    return sides.n;
}

/* An item that needs columns of both sides makes one of them; one that needs nothing but
 * a plain column that no other needs is no side of its own. */
static void test_what_makes_a_side(void **state)
{
    uint64_t seed = 1;
    struct rig r = {0};

    (void)state;
    rig_make(&r, &seed);
    for (uint32_t c = 0; c < SIDES * COLUMNS; c++)
        r.has[c] = 64 * ONE;
    assert_int_equal(sides_of(&r), 2);
    r.need[0][COLUMNS + CPU] = ONE / 10;
    assert_int_equal(sides_of(&r), 1);
    r.need[0][COLUMNS + CPU] = 0;
    memset(r.need[1], 0, sizeof r.need[1]);
    memset(r.need[3], 0, sizeof r.need[3]);
    memset(r.need[5], 0, sizeof r.need[5]);
    r.need[5][COLUMNS + CPU] = ONE;
    assert_int_equal(sides_of(&r), 1);
    r.need[3][COLUMNS + CPU] = ONE;
    assert_int_equal(sides_of(&r), 2);
    r.need[3][COLUMNS + CPU] = 0;
    r.need[5][COLUMNS + MEMORY] = ONE;
    assert_int_equal(sides_of(&r), 2);
    arena_done(&r.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sides), cmocka_unit_test(test_what_makes_a_side)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
