/*
 * test_plan_lp.c - the simplex against vertices found by brute force, and its
 * warm starts against solves from scratch.
 */
#include "../../autoscaler/plan/lp/lp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { ROWS = 3, COLS = 7 };

struct small {
    uint32_t n_limit;
    double rhs[ROWS + 1], cost[COLS], a[COLS][ROWS + 1];
};

static uint32_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

static void make(struct small *s, uint64_t *seed)
{
    s->n_limit = next(seed) % 2;
    for (uint32_t r = 0; r < ROWS; r++)
        s->rhs[r] = next(seed) % 20;
    s->rhs[ROWS] = 2 + next(seed) % 10;
    for (uint32_t j = 0; j < COLS; j++) {
        s->cost[j] = 1 + next(seed) % 50;
        for (uint32_t r = 0; r < ROWS; r++)
            s->a[j][r] = j < ROWS ? (r == j) : next(seed) % 5;
        s->a[j][ROWS] = j >= ROWS && next(seed) % 2 ? 1 : 0;
    }
    for (uint32_t j = 0; j < ROWS; j++)
        s->cost[j] = 500;
}

static struct lp *build(struct arena *arena, const struct small *s)
{
    struct lp *lp = lp_make(arena, ROWS, s->n_limit, s->rhs);

    for (uint32_t j = 0; j < COLS; j++) {
        struct lp_entry e[ROWS + 1];
        uint32_t n = 0;

        for (uint32_t r = 0; r < ROWS + s->n_limit; r++)
            if (s->a[j][r] > 0)
                e[n++] = (struct lp_entry){r, (float)s->a[j][r]};
        lp_add(lp, s->cost[j], s->cost[j], e, n);
    }
    return lp;
}

/* Solves m x m by elimination; false when singular. */
static bool eliminate(double m[ROWS + 1][ROWS + 2], uint32_t n)
{
    for (uint32_t c = 0; c < n; c++) {
        uint32_t p = c;

        for (uint32_t r = c; r < n; r++)
            if (m[r][c] * m[r][c] > m[p][c] * m[p][c])
                p = r;
        if (m[p][c] * m[p][c] < 1e-14)
            return false;
        for (uint32_t k = 0; k <= n; k++) {
            double t = m[p][k];

            m[p][k] = m[c][k];
            m[c][k] = t;
        }
        for (uint32_t r = 0; r < n; r++) {
            double f = m[r][c] / m[c][c];

            for (uint32_t k = c; r != c && k <= n; k++)
                m[r][k] -= f * m[c][k];
        }
    }
    for (uint32_t r = 0; r < n; r++)
        m[r][n] /= m[r][r];
    return true;
}

/* The least cost over all vertices: every choice of basic variables. */
static double brute(const struct small *s)
{
    uint32_t n = ROWS + s->n_limit, all = COLS + n;
    double best = 1e300;

    for (uint32_t set = 0; set < 1u << all; set++) {
        double m[ROWS + 1][ROWS + 2] = {{0}}, cost = 0;
        uint32_t c = 0, col[ROWS + 1];
        bool good = true;

        if ((uint32_t)__builtin_popcount(set) != n)
            continue;
        for (uint32_t j = 0; j < all; j++) {
            if (!(set >> j & 1))
                continue;
            for (uint32_t r = 0; r < n; r++)
                m[r][c] = j < COLS        ? s->a[j][r]
                          : j - COLS == r ? (r < ROWS ? -1 : 1)
                                          : 0;
            col[c++] = j;
        }
        for (uint32_t r = 0; r < n; r++)
            m[r][n] = s->rhs[r];
        if (!eliminate(m, n))
            continue;
        for (uint32_t k = 0; k < n; k++) {
            good &= m[k][n] > -1e-9;
            if (col[k] < COLS)
                cost += s->cost[col[k]] * m[k][n];
        }
        if (good && cost < best)
            best = cost;
    }
    return best;
}

static void near_to(double a, double b)
{
    double d = a - b;

    if (d > 1e-5 * (1 + b) || d < -1e-5 * (1 + b))
        fail_msg("%.9f is not %.9f", a, b);
}

static void test_optimum(void **state)
{
    uint64_t seed = 4711;

    (void)state;
    for (int k = 0; k < 300; k++) {
        struct arena arena = {0};
        struct small s;
        struct lp *lp;
        double dual = 0;

        make(&s, &seed);
        lp = build(&arena, &s);
        assert_int_equal(lp_primal(lp, 1000), LP_OPTIMAL);
        near_to(lp_value(lp), brute(&s));
        for (uint32_t r = 0; r < ROWS + s.n_limit; r++)
            dual += lp_duals(lp)[r] * s.rhs[r];
        near_to(dual, lp_value(lp));
        for (uint32_t j = 0; j < COLS; j++)
            assert_true(lp_reduced_cost(lp, j) > -1e-4);
        arena_done(&arena);
    }
}

static void test_other_rhs(void **state)
{
    uint64_t seed = 99;

    (void)state;
    for (int k = 0; k < 300; k++) {
        struct arena arena = {0};
        struct small s;
        struct lp *lp;

        make(&s, &seed);
        lp = build(&arena, &s);
        assert_int_equal(lp_primal(lp, 1000), LP_OPTIMAL);
        for (uint32_t r = 0; r < ROWS; r++)
            s.rhs[r] = next(&seed) % 20;
        lp_set_rhs(lp, s.rhs);
        assert_int_equal(lp_dual(lp, 1000), LP_OPTIMAL);
        assert_int_equal(lp_primal(lp, 1000), LP_OPTIMAL);
        near_to(lp_value(lp), brute(&s));
        arena_done(&arena);
    }
}

static void test_other_costs(void **state)
{
    uint64_t seed = 7;

    (void)state;
    for (int k = 0; k < 300; k++) {
        struct arena arena = {0};
        struct small s;
        struct lp *lp;

        make(&s, &seed);
        lp = build(&arena, &s);
        for (int turn = 0; turn < 3; turn++) {
            for (uint32_t j = 0; j < ROWS; j++)
                s.cost[j] = next(&seed) % 40;
            lp_set_costs(lp, s.cost, ROWS);
            assert_int_equal(lp_primal(lp, 1000), LP_OPTIMAL);
            near_to(lp_value(lp), brute(&s));
        }
        arena_done(&arena);
    }
}

/* Bases that were kept are those of their own right-hand sides again. */
static void test_kept_basis(void **state)
{
    uint64_t seed = 7;

    (void)state;
    for (int k = 0; k < 300; k++) {
        struct arena arena = {0};
        struct small s;
        struct lp *lp;
        double rhs[LP_KEPT][ROWS + 1], value[LP_KEPT];

        make(&s, &seed);
        lp = build(&arena, &s);
        for (enum lp_kept as = 0; as < LP_KEPT; as++) {
            for (uint32_t r = 0; r < ROWS + 1; r++)
                rhs[as][r] = as ? next(&seed) % 20 : s.rhs[r];
            lp_set_rhs(lp, rhs[as]);
            if (as && lp_dual(lp, 1000) != LP_OPTIMAL)
                lp_restart(lp);
            assert_int_equal(lp_primal(lp, 1000), LP_OPTIMAL);
            value[as] = lp_value(lp);
            lp_keep(lp, as);
        }
        for (enum lp_kept as = 0; as < LP_KEPT; as++) {
            lp_set_rhs(lp, rhs[as]);
            lp_recall(lp, as);
            near_to(lp_value(lp), value[as]);
            assert_int_equal(lp_primal(lp, 1000), LP_OPTIMAL);
            near_to(lp_value(lp), value[as]);
        }
        arena_done(&arena);
    }
}

static void test_later_column(void **state)
{
    struct arena arena = {0};
    double rhs[2] = {10, 10};
    struct lp *lp = lp_make(&arena, 2, 0, rhs);
    struct lp_entry one = {0, 1}, two = {1, 1}, both[2] = {{0, 1}, {1, 1}};

    (void)state;
    lp_add(lp, 5, 5, &one, 1);
    lp_add(lp, 5, 5, &two, 1);
    assert_int_equal(lp_primal(lp, 100), LP_OPTIMAL);
    near_to(lp_value(lp), 100);
    lp_add(lp, 6, 6, both, 2);
    assert_int_equal(lp_primal(lp, 100), LP_OPTIMAL);
    near_to(lp_value(lp), 60);
    lp_restart(lp);
    assert_int_equal(lp_primal(lp, 100), LP_OPTIMAL);
    near_to(lp_value(lp), 60);
    arena_done(&arena);
}

/* Many rows: the inverse is made anew on the way; the value must not care. */
static void test_long(void **state)
{
    enum { M = 120, N = 1500 };
    uint64_t seed = 5;
    struct arena arena = {0};
    double rhs[M], value;
    struct lp *lp;

    (void)state;
    for (uint32_t r = 0; r < M; r++)
        rhs[r] = 1 + next(&seed) % 50;
    lp = lp_make(&arena, M, 0, rhs);
    for (uint32_t r = 0; r < M; r++) {
        struct lp_entry e = {r, 1};

        lp_add(lp, 1000, 1000, &e, 1);
    }
    for (uint32_t j = 0; j < N; j++) {
        struct lp_entry e[5];
        uint32_t first = next(&seed) % (M - 25);

        for (uint32_t k = 0; k < 5; k++)
            e[k] = (struct lp_entry){first + 5 * k + next(&seed) % 5,
                                     (float)(1 + next(&seed) % 6)};
        lp_add(lp, 50 + next(&seed) % 100, 100, e, 5);
    }
    assert_int_equal(lp_primal(lp, 100000), LP_OPTIMAL);
    value = lp_value(lp);
    for (uint32_t j = 0; j < lp_columns(lp); j++)
        assert_true(lp_reduced_cost(lp, j) > -1e-3);
    lp_restart(lp);
    assert_int_equal(lp_primal(lp, 100000), LP_OPTIMAL);
    near_to(lp_value(lp), value);
    arena_done(&arena);
}

/* Stopped again and again, each time within a pivot, it comes to the same optimum. */
static void test_stop(void **state)
{
    enum { STEPS = 50, PIVOT = 2000 };
    uint64_t seed = 11;

    (void)state;
    for (int k = 0; k < 100; k++) {
        struct arena arena = {0};
        struct small s;
        struct lp *lp;
        uint64_t stop = STEPS;

        make(&s, &seed);
        lp = build(&arena, &s);
        lp_stop_at(lp, 0);
        assert_int_equal(lp_primal(lp, 1000), LP_STOPPED);
        for (lp_stop_at(lp, stop); lp_primal(lp, 1000) == LP_STOPPED;
             lp_stop_at(lp, stop)) {
            assert_true(lp_work(lp) >= stop && lp_work(lp) < stop + PIVOT);
            stop = lp_work(lp) + STEPS;
        }
        near_to(lp_value(lp), brute(&s));
        for (uint32_t r = 0; r < ROWS; r++)
            s.rhs[r] = next(&seed) % 20;
        lp_set_rhs(lp, s.rhs);
        lp_stop_at(lp, lp_work(lp));
        assert_int_equal(lp_dual(lp, 1000), LP_STOPPED);
        lp_stop_at(lp, UINT64_MAX);
        assert_int_equal(lp_dual(lp, 1000), LP_OPTIMAL);
        assert_int_equal(lp_primal(lp, 1000), LP_OPTIMAL);
        near_to(lp_value(lp), brute(&s));
        arena_done(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_optimum),      cmocka_unit_test(test_other_rhs),
        cmocka_unit_test(test_other_costs),  cmocka_unit_test(test_kept_basis),
        cmocka_unit_test(test_later_column), cmocka_unit_test(test_long),
        cmocka_unit_test(test_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
