/*
 * test_plan_exact.c - the program of prices against the simplex on its primal, and
 * the bound that comes of it where it is known.
 */
#include "../../autoscaler/plan/cover/exact/exact.h"
#include "../../autoscaler/plan/cover/exact/interior.h"
#include "../../autoscaler/plan/lp/lp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum {
    BINS = 3,
    COLUMNS = 2,
    ITEMS = 6,
    VARS = BINS * COLUMNS + 1,
    CASES = 300
};

static uint32_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

struct small {
    double price[BINS], share[ITEMS][BINS][COLUMNS], demand[ITEMS];
    double most; /* of bin 0 there may be so many */
    bool may[ITEMS][BINS];
};

static void draw(struct small *s, uint64_t *seed)
{
    s->most = 1 + next(seed) % 3;
    for (uint32_t b = 0; b < BINS; b++)
        s->price[b] = 1 + next(seed) % 20;
    for (uint32_t i = 0; i < ITEMS; i++) {
        s->demand[i] = 1 + next(seed) % 5;
        for (uint32_t b = 0; b < BINS; b++) {
            s->may[i][b] = b == 1 || next(seed) % 3 > 0; /* bin 1: no limit */
            for (uint32_t c = 0; c < COLUMNS; c++)
                s->share[i][b][c] = (1 + next(seed) % 9) / 10.0;
        }
    }
}

static void program(const struct small *s, struct arena *a, struct interior *x)
{
    uint32_t pairs = 0;

    *x = (struct interior){
        .arena = a, .n_vars = VARS, .n_items = ITEMS, .n_bins = BINS};
    x->gain = ARENA_ARRAY(a, double, VARS);
    x->gain[VARS - 1] = -s->most;
    x->demand = arena_copy(a, s->demand, sizeof s->demand);
    x->price = arena_copy(a, s->price, sizeof s->price);
    x->base = ARENA_ARRAY(a, double, ITEMS *BINS);
    x->first = ARENA_ARRAY(a, uint32_t, ITEMS + 1);
    VEC_PUSH(a, &x->row, 0);
    for (uint32_t b = 0; b < BINS; b++) {
        for (uint32_t c = 0; c < COLUMNS; c++)
            VEC_PUSH(a, &x->term, ((struct interior_term){b * COLUMNS + c, 1}));
        if (b == 0)
            VEC_PUSH(a, &x->term, ((struct interior_term){VARS - 1, -1}));
        VEC_PUSH(a, &x->row, x->term.n);
    }
    for (uint32_t i = 0; i < ITEMS; i++) {
        for (uint32_t b = 0; b < BINS; b++) {
            if (!s->may[i][b])
                continue;
            for (uint32_t c = 0; c < COLUMNS; c++)
                VEC_PUSH(a, &x->term,
                         ((struct interior_term){b * COLUMNS + c,
                                                 s->share[i][b][c]}));
            VEC_PUSH(a, &x->row, x->term.n);
            pairs++;
        }
        x->first[i + 1] = pairs;
    }
    x->n_pairs = pairs;
}

/* Its primal: how many of each bin, how many of each item in each bin. */
static double simplex(const struct small *s, struct arena *a)
{
    enum { COVER = ITEMS + BINS * COLUMNS };
    double rhs[COVER + 1] = {0};
    struct lp_entry e[COVER + 1];
    struct lp *lp;

    for (uint32_t i = 0; i < ITEMS; i++)
        rhs[i] = s->demand[i];
    rhs[COVER] = s->most;
    lp = lp_make(a, COVER, 1, rhs);
    for (uint32_t r = 0; r < COVER; r++)
        lp_add(lp, 1e5, 1e5, &(struct lp_entry){r, 1}, 1);
    for (uint32_t b = 0; b < BINS; b++) {
        for (uint32_t c = 0; c < COLUMNS; c++)
            e[c] = (struct lp_entry){ITEMS + b * COLUMNS + c, 1};
        e[COLUMNS] = (struct lp_entry){COVER, 1};
        lp_add(lp, s->price[b], s->price[b], e, COLUMNS + (b == 0));
    }
    for (uint32_t i = 0; i < ITEMS; i++)
        for (uint32_t b = 0; b < BINS; b++) {
            e[0] = (struct lp_entry){i, 1};
            for (uint32_t c = 0; c < COLUMNS; c++)
                e[1 + c] = (struct lp_entry){ITEMS + b * COLUMNS + c,
                                             -(float)s->share[i][b][c]};
            if (s->may[i][b])
                lp_add(lp, 0, 1, e, 1 + COLUMNS);
        }
    assert_int_equal(lp_primal(lp, 10000), LP_OPTIMAL);
    return lp_value(lp);
}

static void test_the_value_is_that_of_the_primal(void **state)
{
    uint64_t seed = 20261123;
    struct arena a = {0};

    (void)state;
    for (int k = 0; k < CASES; k++) {
        struct small s;
        struct interior x;
        double z[VARS], use[BINS], value, known;
        uint64_t work = 0;

        draw(&s, &seed);
        program(&s, &a, &x);
        for (uint32_t v = 0; v < VARS; v++)
            z[v] = v < VARS - 1 ? 0.4 * s.price[v / COLUMNS] : 0.01;
        value = interior_solve(&x, 1e-7, z, use, &work);
        known = simplex(&s, &a);
        if (value < known * (1 - 1e-4) || value > known * (1 + 1e-4)) {
            print_message("case %d: %.9g, by the simplex %.9g\n", k, value,
                          known);
            fail();
        }
        assert_in_range(work, 1, 40 * interior_cost(&x));
        arena_reset(&a);
    }
    arena_done(&a);
}

/* ---- whole bins: four of 0.45 need two dear ones, three of 0.6 need three */

enum { DEAR, SMALL, LARGE, KINDS };

static const int64_t has[KINDS][1] = {{10000}, {20000}, {40000}};
static const int64_t need_dear[1] = {4500}, need_large[1] = {6000},
                     need_other[1] = {2500};
static const uint64_t only_dear[1] = {1 << DEAR}, others[1] = {6};

static void world(struct cover_problem *p, struct cover_item *item,
                  struct cover_bin *bin, struct pb_column *column)
{
    static const uint32_t family_max = UNLIMITED;

    *column = (struct pb_column){0};
    item[0] = (struct cover_item){need_dear, 4, only_dear};
    item[1] = (struct cover_item){need_other, 16, others};
    for (uint32_t b = 0; b < KINDS; b++)
        bin[b] = (struct cover_bin){.has = has[b],
                                    .price = b == DEAR ? 5000000 : b * 500001,
                                    .max = UNLIMITED};
    *p = (struct cover_problem){.columns = column,
                                .n_columns = 1,
                                .items = item,
                                .n_items = 2,
                                .bins = bin,
                                .n_bins = KINDS,
                                .family_max = &family_max,
                                .n_families = 1,
                                .max_bins = UNLIMITED,
                                .max_cost = -1};
}

/* The bound with whole bins; *ret_parts: with parts of them.  So many items that need so
 * much of a dear bin, beside the others. */
static double bound_of(const int64_t *need, uint32_t count, struct arena *a,
                       double *ret_parts, struct cover_proof *ret_proof)
{
    struct cover_item item[2];
    struct cover_bin bin[KINDS];
    struct pb_column column;
    struct cover_problem p;
    struct assign *assign;
    struct exact *x;
    struct view v;

    world(&p, item, bin, &column);
    item[0] = (struct cover_item){need, count, only_dear};
    view_make(&p, a, &v);
    assign = assign_make(&v, 0);
    assign_run(assign, 100 * assign_round(&v));
    *ret_parts = assign_bound(assign);
    x = exact_make(&v, assign);
    assert_false(exact_run(x, UINT64_C(1) << 40));
    return exact_best(x, ret_proof);
}

static void test_parts_of_dear_bins_count_as_whole(void **state)
{
    struct cover_proof proof;
    struct arena a = {0};
    double parts, bound = bound_of(need_dear, 4, &a, &parts, &proof);

    (void)state;
    assert_true(parts < 1.81 * 5e6 + 1000002);
    /* Two dear ones; the others' sum is one large, or two small ones. */
    assert_true(bound > 2 * 5e6 + 1000002 - 2000);
    assert_true(bound <= 2 * 5e6 + 1000002);
    assert_int_equal(proof.n_least, 1);
    assert_int_equal(proof.least[0].bins, 2);
    assert_true(proof.least[0].share[0] * 4 > 1);
    assert_true(proof.least[0].share[0] <= 0.5 + 1e-6);
    assert_true(proof.least[0].worth <= 5e6);
    arena_done(&a);
}

/* By CPU alone they need 1.8, but no two of them fit one. */
static void test_fills_say_how_many_are_needed(void **state)
{
    struct cover_proof proof;
    struct arena a = {0};
    double parts, bound = bound_of(need_large, 3, &a, &parts, &proof);

    (void)state;
    assert_true(parts < 1.81 * 5e6 + 1000002);
    assert_true(bound > 3 * 5e6 + 1000002 - 2000);
    assert_true(bound <= 3 * 5e6 + 1000002);
    assert_int_equal(proof.least[0].bins, 3);
    assert_true(proof.least[0].share[0] <= 1 + 1e-6);
    arena_done(&a);
}

/* ---- is a bound proved?  By all fills of each bin, one after the other. */

enum { MANY = 140, BIN_KINDS = 8, AMOUNTS = 3, WORLDS = 5 };

struct many {
    struct cover_problem p;
    struct cover_item item[MANY];
    struct cover_bin bin[BIN_KINDS];
    struct pb_column column[AMOUNTS];
    int64_t need[MANY][AMOUNTS], has[BIN_KINDS][AMOUNTS];
    uint64_t may[MANY];
    uint32_t family_max;
};

/* CPU, memory, one device; a bin holds a few items.  Kinds 0 and 1 are dear, and some
 * items are for them alone; a cheap kind has a limit. */
static void draw_many(struct many *m, uint64_t *seed)
{
    m->family_max = UNLIMITED;
    m->column[0] = m->column[1] = (struct pb_column){0};
    m->column[2] = (struct pb_column){0, 1, 1};
    for (uint32_t b = 0; b < BIN_KINDS; b++) {
        m->has[b][0] = (4 + next(seed) % 5) * AMOUNT_ONE;
        m->has[b][1] = (8 + next(seed) % 20) * AMOUNT_ONE;
        m->has[b][2] = b % 4 == 3 ? 0 : AMOUNT_ONE;
        m->bin[b] = (struct cover_bin){
            .has = m->has[b],
            .price = (b < 2 ? 20000000 : 500000) + next(seed) % 400000,
            .max = b == 5 ? 1 + next(seed) % 9 : UNLIMITED,
            .accelerator = m->has[b][2] > 0};
    }
    m->has[BIN_KINDS - 2][0] = 9 * AMOUNT_ONE; /* holds any item */
    m->has[BIN_KINDS - 2][1] = 28 * AMOUNT_ONE;
    for (uint32_t i = 0; i < MANY; i++) {
        m->need[i][0] = 13000 + next(seed) % 26000;
        m->need[i][1] = 20000 + next(seed) % 50000;
        m->need[i][2] = i % 3 ? 0 : (1 + next(seed) % 10) * 1000;
        m->may[i] = i % 29 == 0 ? 3 : 0xfc;
        m->item[i] = (struct cover_item){m->need[i], 1 + next(seed) % 4,
                                         &m->may[i]};
    }
    for (uint32_t b = 0; b < 2; b++) {
        m->has[b][0] = 8 * AMOUNT_ONE;
        m->has[b][1] = 14 * AMOUNT_ONE;
        m->has[b][2] = AMOUNT_ONE;
    }
    m->p = (struct cover_problem){.columns = m->column,
                                  .n_columns = AMOUNTS,
                                  .items = m->item,
                                  .n_items = MANY,
                                  .bins = m->bin,
                                  .n_bins = BIN_KINDS,
                                  .family_max = &m->family_max,
                                  .n_families = 1,
                                  .max_bins = UNLIMITED,
                                  .max_cost = -1};
}

/* The most that bin b holds of what is left, from item i on. */
static double most(const struct many *m, const double *worth, uint32_t b,
                   uint32_t i, uint32_t had, const int64_t *left)
{
    double best = 0;

    for (; i < MANY; i++, had = 0) {
        int64_t then[AMOUNTS];
        bool fits = (m->may[i] >> b & 1) && had < m->item[i].count &&
                    worth[i] > 0;
        double sum;

        for (uint32_t c = 0; c < AMOUNTS; c++) {
            then[c] = left[c] - m->need[i][c];
            fits &= then[c] >= 0;
        }
        if (!fits)
            continue;
        sum = worth[i] + most(m, worth, b, i, had + 1, then);
        best = sum > best ? sum : best;
    }
    return best;
}

/* What the seats are worth; per bin: what its own are. */
static double seats_worth(const struct many *m, const struct cover_proof *proof,
                          double *own)
{
    double all = 0;

    for (uint32_t k = 0; k < proof->n_least; k++) {
        const struct cover_least *least = &proof->least[k];
        double sum = 0;

        for (uint32_t i = 0; i < MANY; i++)
            sum += least->share[i] * m->item[i].count;
        assert_true(sum > least->bins - 1);
        all += least->worth * least->bins;
        for (uint32_t b = 0; b < BIN_KINDS; b++) {
            double held = most(m, least->share, b, 0, 0, m->has[b]);

            assert_true(held <= 1 + 1e-9);
            own[b] += held > 0 ? least->worth : 0;
        }
    }
    return all;
}

static double proved(const struct many *m, const struct cover_proof *proof)
{
    double own[BIN_KINDS] = {0}, sum = seats_worth(m, proof, own);

    for (uint32_t i = 0; i < MANY; i++)
        sum += proof->worth[i] * m->item[i].count;
    for (uint32_t b = 0; b < BIN_KINDS; b++) {
        double more = most(m, proof->worth, b, 0, 0, m->has[b]) + own[b] -
                      (double)m->bin[b].price * (1 + proof->money);

        if (m->bin[b].max == UNLIMITED)
            assert_true(more < 1);
        else if (more > 0)
            sum -= more * m->bin[b].max;
    }
    return sum;
}

static void test_its_bounds_are_proved(void **state)
{
    uint64_t seed = 20261123;
    struct arena a = {0};
    uint32_t seats = 0;

    (void)state;
    for (int k = 0; k < WORLDS; k++) {
        struct many m;
        struct cover_proof proof;
        struct assign *assign;
        struct exact *x;
        struct view v;
        double bound;

        draw_many(&m, &seed);
        view_make(&m.p, &a, &v);
        assign = assign_make(&v, 0);
        assign_run(assign, 25 * assign_round(&v));
        x = exact_make(&v, assign);
        assert_false(exact_run(x, UINT64_C(1) << 40));
        bound = exact_best(x, &proof);
        assert_true(bound >= assign_bound(assign));
        assert_true(bound <= proved(&m, &proof) + 1);
        seats += proof.n_least;
        arena_reset(&a);
    }
    assert_true(seats > 0);
    arena_done(&a);
}

/* When it says that no more steps prove more, none do. */
static void test_it_knows_when_it_has_proved_all(void **state)
{
    const uint64_t most = UINT64_C(1) << 40;
    uint64_t seed = 20261124, work = 0;
    struct arena a = {0};
    bool cut = false;

    (void)state;
    for (int k = 0; k < WORLDS; k++) {
        struct cover_proof proof;
        struct many m;
        struct view v;
        bool all = false;
        int64_t bound = 0;

        draw_many(&m, &seed);
        view_make(&m.p, &a, &v);
        for (uint64_t steps = 10000; !all && steps < most; steps *= 2) {
            bound = exact_bound(&v, 0, steps, &work, &proof, &all);
            cut = cut || !all;
        }
        assert_true(all && cut);
        assert_true(exact_bound(&v, 0, most, &work, &proof, NULL) == bound);
        arena_reset(&a);
    }
    arena_done(&a);
}

/* Of many items prices are found for groups first: they prove, to a thousandth, as much as
 * 200 rounds of prices for all of them, in the work of 25. */
static void test_many_items_begin_with_groups(void **state)
{
    enum { ITEMS_MANY = 900 };
    static struct cover_item item[ITEMS_MANY];
    static int64_t need[ITEMS_MANY][AMOUNTS];
    static uint64_t may[ITEMS_MANY];
    uint64_t seed = 20261125;
    struct arena a = {0};

    (void)state;
    for (int k = 0; k < 8; k++) {
        struct cover_plan first;
        struct cover_proof proof;
        struct assign *assign;
        uint64_t work = 0;
        double sum = 0;
        struct many m;
        struct view v;
        int64_t bound;
        bool all;

        draw_many(&m, &seed);
        for (uint32_t i = 0; i < ITEMS_MANY; i++) {
            uint32_t like = next(&seed) % MANY;

            for (uint32_t c = 0; c < AMOUNTS; c++)
                need[i][c] = m.need[like][c];
            need[i][0] -= next(&seed) % 3000;
            need[i][1] -= next(&seed) % 9000;
            may[i] = m.may[like];
            item[i] = (struct cover_item){need[i], 1, &may[i]};
        }
        m.p.items = item;
        m.p.n_items = ITEMS_MANY;
        view_make(&m.p, &a, &v);
        assert_true(v.n_items > 700);
        assign = assign_make(&v, 0);
        assign_run(assign, 200 * assign_round(&v));
        bound = exact_bound(&v, 0, 25 * assign_round(&v), &work, &proof, &all);
        for (uint32_t i = 0; i < ITEMS_MANY; i++)
            sum += proof.worth[i];
        for (uint32_t n = 0; n < proof.n_least; n++)
            sum += proof.least[n].worth * proof.least[n].bins;
        assert_true(sum >= (double)bound * (1 - 1e-6));
        assert_true((double)bound >= 0.999 * assign_bound(assign));
        cover_first(&m.p, &a, &first);
        assert_true(bound <= first.cost);
        for (uint64_t rounds = 1, had = 0; rounds < 200;
             rounds += 1 + rounds / 4) {
            bound = exact_bound(&v, 0, rounds * assign_round(&v), &work, &proof,
                                NULL);
            assert_true(bound >= (int64_t)had);
            had = (uint64_t)bound;
        }
        arena_reset(&a);
    }
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_value_is_that_of_the_primal),
        cmocka_unit_test(test_parts_of_dear_bins_count_as_whole),
        cmocka_unit_test(test_fills_say_how_many_are_needed),
        cmocka_unit_test(test_its_bounds_are_proved),
        cmocka_unit_test(test_it_knows_when_it_has_proved_all),
        cmocka_unit_test(test_many_items_begin_with_groups),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
