/*
 * test_control_history.c - the history's sums: nothing is lost between its rings,
 * over restarts, or by rounding; what was not watched is not made up.  And what
 * a decision says of the other offers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "control/report/decisions.h"
#include "control/report/history.h"

enum { START_S = 1766361600 }; /* a whole hour */

static struct journal *journal;
static struct env env;

static int start(void **state)
{
    (void)state;
    memset(&env, 0, sizeof env);
    assert_int_equal(journal_open(JOURNAL_IN_MEMORY, NULL, &journal, NULL),
                     ST_OK);
    env.journal = journal;
    env.started_ms = (int64_t)START_S * 1000;
    return 0;
}

static int stop(void **state)
{
    (void)state;
    journal_close(journal);
    return 0;
}

/* A page with one node of that price, and so many bundles that wait. */
static void see(struct history *h, int64_t at_ms, int64_t micros_hour,
                uint32_t waiting)
{
    struct snap_node n = {
        .id = "n", .price_micros_hour = micros_hour, .state = STATE_READY};
    struct snapshot f = {.now_ms = at_ms, .nodes = &n, .n_nodes = 1};
    struct pb_node x = {
        .state = STATE_READY, .price_micros_hour = -1, .offer = NONE};
    struct problem s = {.nodes = &x, .n_nodes = 1, .n_bundles = 1};
    struct plan_bundle b = {.waiting = waiting};
    struct plan p = {.bundles = &b};
    struct status_page page = {.snapshot = &f, .now = &s, .plan = &p};

    env.now_ms = at_ms;
    history_see(h, &page);
}

static struct history_slot all_of(struct history *h, uint32_t step)
{
    struct history_slot sum = {0}, *v;
    struct arena a = {0};
    uint32_t n = history_read(h, step, 0, &a, &v);

    for (uint32_t i = 0; i < n; i++) {
        sum.spent += v[i].spent;
        sum.seen_ms += v[i].seen_ms;
        sum.launched += v[i].launched;
        if (sum.waiting < v[i].waiting)
            sum.waiting = v[i].waiting;
        if (i > 0)
            assert_true(v[i].at_s > v[i - 1].at_s);
    }
    arena_done(&a);
    return sum;
}

static void test_sums(void **state)
{
    const int64_t t0 = (int64_t)START_S * 1000 + 17123;
    struct history h;

    (void)state;
    history_init(&h, &env);
    see(&h, t0, 3600000, 2); /* 0.001 $/s */
    atomic_store(&env.metrics.launches, 5);
    see(&h, t0 + 90000, 7200000, 0); /* 90 s of it */
    see(&h, t0 + 100000, 0, 9);
    see(&h, t0 + 4000000, 0, 0);
    for (int i = 0; i < 3; i++) {
        static const uint32_t steps[] = {60, 300, 3600};
        struct history_slot sum = all_of(&h, steps[i]);

        assert_int_equal(sum.spent, 90000 + 20000);
        assert_int_equal(sum.seen_ms, 4000000);
        assert_int_equal(sum.launched, 5);
        assert_int_equal(sum.waiting, 9);
    }
    assert_int_equal(history_sum(&h, START_S).spent, 110000);
    assert_int_equal(history_sum(&h, START_S + 3600).spent, 0);
    history_done(&h);
}

/* A price that no millisecond divides: the sum is as of one stretch. */
static void test_no_rounding(void **state)
{
    const int64_t t0 = (int64_t)START_S * 1000;
    struct history h;

    (void)state;
    history_init(&h, &env);
    see(&h, t0, 777777, 0);
    see(&h, t0 + 3599999, 0, 0);
    assert_int_equal(all_of(&h, 60).spent, 777777 * INT64_C(3599999) / 3600000);
    history_done(&h);
}

static void test_ceiling(void **state)
{
    const int64_t t0 = (int64_t)START_S * 1000;
    struct history_slot *v;
    struct arena a = {0};
    struct history h;

    (void)state;
    history_init(&h, &env);
    for (int64_t m = 0; m <= 600; m++)
        see(&h, t0 + m * 60000, 60000000, 0);
    assert_int_equal(history_read(&h, 60, 0, &a, &v), HISTORY_MINUTES);
    assert_int_equal(v[0].at_s, START_S + (601 - HISTORY_MINUTES) * 60);
    assert_int_equal(all_of(&h, 3600).spent, 600000000);
    assert_int_equal(history_read(&h, 61, 0, &a, &v), 0);
    /* after a week of sleep, what is older than a ring is gone, and no more
     * than a ring is walked through */
    see(&h, t0 + INT64_C(86400000) * 70, 0, 0);
    assert_int_equal(history_read(&h, 60, 0, &a, &v), HISTORY_MINUTES);
    assert_int_equal(v[0].spent, 1000000);
    arena_done(&a);
    history_done(&h);
}

/* Written every five minutes and at the end; a restart goes on, and the time
 * between is not watched. */
static void test_restart(void **state)
{
    const int64_t t0 = (int64_t)START_S * 1000 + 1000;
    struct history h, again;
    struct history_slot before;

    (void)state;
    history_init(&h, &env);
    for (int64_t s = 0; s <= 1000; s += 10)
        see(&h, t0 + s * 1000, 3600000, 1);
    assert_int_equal(journal_commit(journal, NULL), ST_OK);

    history_init(&again,
                 &env); /* after a crash: five minutes are lost at most */
    history_load(&again);
    env.now_ms = t0 + 1000000;
    env.started_ms = env.now_ms;
    assert_in_range(all_of(&again, 60).seen_ms, 700000, 1000000);
    history_done(&again);

    env.now_ms = t0 + 1005000;
    history_end(&h);
    before = all_of(&h, 60);
    assert_int_equal(before.seen_ms, 1005000);
    history_done(&h);

    history_init(&again, &env);
    history_load(&again);
    assert_int_equal(all_of(&again, 60).seen_ms, before.seen_ms);
    assert_int_equal(all_of(&again, 60).spent, before.spent);
    see(&again, t0 + 1805000, 3600000, 0);
    see(&again, t0 + 1815000, 3600000, 0);
    assert_int_equal(all_of(&again, 60).seen_ms, before.seen_ms + 10000);
    assert_int_equal(all_of(&again, 3600).spent, before.spent + 10000);
    history_done(&again);
}

/* ---- decisions */

/* Three types; one bundle of one CPU is bought for on the first offer.  Its
 * surcharge counts in plans and is not billed: a decision tells what is billed.
 */
static void test_others(void **state)
{
    static const char *const str[] = {"", "small", "large", "tiny", "z", "me"};
    static const int64_t rows[] = {10000, 0, 0, 40000, 0, 0, 5000, 0, 0};
    static const struct pb_type types[] = {{.name = 1, .row = 0, .max = 9},
                                           {.name = 2, .row = 1, .max = 0},
                                           {.name = 3, .row = 2, .max = 9}};
    static const struct pb_offer offers[] = {
        {.type = 0,
         .price_micros_hour = 1800000,
         .surcharge_micros_hour = 800000},
        {.type = 1, .price_micros_hour = 900000},
        {.type = 2, .price_micros_hour = 100000},
        {.type = 0, .zone = 4, .price_micros_hour = 1500000, .closed = true}};
    static const struct pb_selector selectors[] = {{0, 0, 0, 0, NONE}};
    static const struct pb_shape shapes[] = {{.row = 0}};
    static const struct pb_alt alts[] = {{.shape = 0}};
    static const struct pb_bundle bundles[] = {{.n_alts = 1, .count = 2}};
    static const struct pb_demand demands[] = {
        {.source = SOURCE_REQUEST, .owner = 5, .n_bundles = 1}};
    static const struct pb_column columns[3];
    struct problem s = {.now_ms = 5000,
                        .str = str,
                        .n_str = 6,
                        .columns = columns,
                        .n_columns = 3,
                        .rows = rows,
                        .n_rows = 3,
                        .types = types,
                        .n_types = 3,
                        .offers = offers,
                        .n_offers = 4,
                        .selectors = selectors,
                        .n_selectors = 1,
                        .shapes = shapes,
                        .n_shapes = 1,
                        .alts = alts,
                        .bundles = bundles,
                        .n_bundles = 1,
                        .demands = demands,
                        .n_demands = 1};
    struct plan_placement q = {0, 0, 1};
    struct plan_launch l = {
        .count = 2, .why = REASON_FOR_REQUEST, .n_placements = 1};
    struct plan p = {
        .launches = &l, .n_launches = 1, .placements = &q, .n_placements = 1};
    struct decisions d;
    struct decision *v;
    struct arena a = {0};

    (void)state;
    decisions_init(&d);
    decision_launch(&d, &s, &p, 0, 2, "small-1");
    assert_int_equal(decisions_read(&d, 0, &a, &v), 1);
    assert_string_equal(v->owner, "me");
    assert_int_equal(v->micros_hour, 2000000);
    assert_int_equal(v->n_others, 2); /* tiny is too small */
    assert_string_equal(v->others[0].type, "large");
    assert_int_equal(v->others[0].more_micros_hour, -200000);
    assert_int_equal(v->others[0].why, REASON_MAX_TYPE);
    assert_int_equal(v->others[1].more_micros_hour, 1000000);
    assert_int_equal(v->others[1].why, REASON_CLOSED);
    for (int i = 0; i < 2 * DECISIONS_KEPT; i++)
        decision_launch(&d, &s, &p, 0, 1, "small-2");
    assert_int_equal(decisions_read(&d, 0, &a, &v), DECISIONS_KEPT);
    assert_int_equal(v[DECISIONS_KEPT - 1].id, 2 * DECISIONS_KEPT + 1);
    assert_int_equal(decisions_read(&d, v[0].id, &a, &v), DECISIONS_KEPT - 1);
    arena_done(&a);
    decisions_done(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sums, start, stop),
        cmocka_unit_test_setup_teardown(test_no_rounding, start, stop),
        cmocka_unit_test_setup_teardown(test_ceiling, start, stop),
        cmocka_unit_test_setup_teardown(test_restart, start, stop),
        cmocka_unit_test(test_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
