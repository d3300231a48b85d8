/*
 * test_control_asked.c - what all requests come to: counted as they come and
 * go, refused when it is too much, in each measure by itself.
 */
#include "control_rig.h"
#include "seed.h"

#include "control/asked.h"

enum { MOST_LINES = 20000, MOST_SHAPES = 5000, MOST_NAMES = 256 };

static struct qty quantities[3 * MOST_LINES];
static struct snap_alt alts[3 * MOST_LINES];
static struct snap_bundle bundles[3 * MOST_LINES];
static char names[MOST_NAMES + 8][16];

/* n bundles of so many shapes with so many names, k alternatives each. */
static struct snap_demand demand(uint32_t n, uint32_t k, uint32_t shapes,
                                 uint32_t n_names)
{
    assert_true(n * k <= 3 * MOST_LINES);
    for (uint32_t i = 0; i < MOST_NAMES + 8; i++)
        snprintf(names[i], sizeof names[i], "name-%u", i);
    for (uint32_t i = 0; i < n * k; i++) {
        quantities[i] = (struct qty){names[i % shapes % n_names],
                                     1 + i % shapes};
        alts[i] = (struct snap_alt){.resources = {&quantities[i], 1}};
    }
    for (uint32_t i = 0; i < n; i++)
        bundles[i] = (struct snap_bundle){
            .alts = &alts[i * k], .n_alts = k, .count = 2};
    return (struct snap_demand){.bundles = bundles, .n_bundles = n};
}

/* "" when this may come after that, else why not. */
static const char *tried(struct asked *a, const struct snap_demand *d,
                         size_t bytes)
{
    static char text[432];
    struct asked_sums before = asked_sums(a);
    struct err e = {0};
    enum status s;

    asked_add(a, "one", d, bytes);
    s = asked_check(a, "one", &before, &e);
    asked_remove(a, "one", d, bytes);
    assert_true(s == ST_OK || s == ST_QUOTA || s == ST_INVALID);
    snprintf(text, sizeof text, "%s", s == ST_OK ? "" : e.text);
    return text;
}

static void test_counted(void **state)
{
    struct asked a = {0};
    struct snap_demand d = demand(100, 3, 40, 7);
    struct asked_sums s;

    (void)state;
    asked_add(&a, "one", &d, 1000);
    asked_add(&a, "one", &d, 500);
    s = asked_sums(&a);
    assert_int_equal(s.owners, 2);
    assert_int_equal(s.bundles, 400);
    assert_int_equal(s.lines, 600);
    assert_int_equal(s.shapes, 40);
    assert_int_equal(s.names, 7);
    assert_int_equal(s.bytes, 1500);
    asked_remove(&a, "one", &d, 1000);
    s = asked_sums(&a);
    assert_int_equal(s.shapes, 40);
    asked_remove(&a, "one", &d, 500);
    s = asked_sums(&a);
    assert_int_equal(s.owners + s.bundles + s.lines + s.bytes, 0);
    assert_int_equal(s.shapes + s.names, 0);
    asked_done(&a);
}

static void test_each_limit(void **state)
{
    struct asked a = {0};
    struct snap_demand d = demand(MOST_LINES, 1, 10, 3);

    (void)state;
    assert_string_equal(tried(&a, &d, 1), "");
    d = demand(MOST_LINES + 1, 1, 10, 3);
    assert_non_null(strstr(tried(&a, &d, 1), "20001 entries"));
    d = demand(MOST_LINES / 3 + 1, 3, 10, 3); /* alternatives count */
    assert_non_null(strstr(tried(&a, &d, 1), "20001 entries"));
    d = demand(MOST_SHAPES, 1, MOST_SHAPES, 3);
    assert_string_equal(tried(&a, &d, 1), "");
    d = demand(MOST_SHAPES + 1, 1, MOST_SHAPES + 1, 3);
    assert_non_null(strstr(tried(&a, &d, 1), "5001 different shapes"));
    d = demand(1000, 1, 1000, MOST_NAMES);
    assert_string_equal(tried(&a, &d, 1), "");
    d = demand(1000, 1, 1000, MOST_NAMES + 1);
    assert_non_null(strstr(tried(&a, &d, 1), "257 different names"));
    d = demand(1, 1, 1, 1);
    assert_string_equal(tried(&a, &d, 8 << 20), "");
    assert_non_null(strstr(tried(&a, &d, (8 << 20) + 1), "bytes"));
    bundles[0].count = 5000000;
    assert_string_equal(tried(&a, &d, 1), "");
    bundles[0].count++;
    assert_non_null(strstr(tried(&a, &d, 1), "5000001 bundles"));
    asked_done(&a);
}

/* All owners together; what is over a limit already (an older version took it)
 * may become less. */
static void test_together(void **state)
{
    struct asked a = {0};
    struct snap_demand big = demand(MOST_SHAPES + 100, 1, MOST_SHAPES + 100, 3);
    struct snap_demand less = big, one = {.bundles = bundles, .n_bundles = 1};
    struct asked_sums before, now;
    struct err e = {0};

    (void)state;
    less.n_bundles = MOST_SHAPES + 50;
    asked_add(&a, "one", &big, 1);
    before = asked_sums(&a);
    asked_remove(&a, "one", &big, 1);
    asked_add(&a, "one", &less, 1);
    now = asked_sums(&a);
    assert_int_equal(asked_check(&a, "one", &before, &e), ST_OK);
    now = asked_sums(&a);
    asked_remove(&a, "one", &less, 1);
    asked_add(&a, "one", &big, 1);
    assert_int_equal(asked_check(&a, "one", &now, &e), ST_QUOTA);
    asked_remove(&a, "one", &big, 1);
    asked_add(&a, "one", &less, 1);
    assert_string_equal(tried(&a, &one, 1), ""); /* a shape that is there */
    for (int i = 1; i < 20000; i++)
        asked_add(&a, "one", &(struct snap_demand){0}, 1);
    assert_non_null(strstr(tried(&a, &one, 1), "20001 owners"));
    asked_done(&a);
}

/* ---- shares */

/* As the loop does it: taken, or refused and not counted. */
static bool asks(struct asked *a, const char *who, const struct snap_demand *d,
                 size_t bytes, struct err *e)
{
    struct asked_sums before = asked_sums(a);

    asked_add(a, who, d, bytes);
    if (asked_check(a, who, &before, e) == ST_OK)
        return true;
    asked_remove(a, who, d, bytes);
    return false;
}

/* n bundles, each of a resource of its own. */
static struct snap_demand named(uint32_t from, uint32_t n)
{
    static char name[MOST_NAMES][16];
    static struct qty q[MOST_NAMES];
    static struct snap_alt alt[MOST_NAMES];
    static struct snap_bundle b[MOST_NAMES];

    for (uint32_t i = 0; i < n; i++) {
        snprintf(name[i], sizeof name[i], "r%u", from + i);
        q[i] = (struct qty){name[i], 10000};
        alt[i] = (struct snap_alt){.resources = {&q[i], 1}};
        b[i] = (struct snap_bundle){.alts = &alt[i], .n_alts = 1, .count = 1};
    }
    return (struct snap_demand){.bundles = b, .n_bundles = n};
}

/* A body of 2.7 kB with all the names that there may be: who comes next is served
 * all the same, and who has them gets no more. */
static void test_one_takes_all_and_others_are_served(void **state)
{
    struct asked a = {0};
    struct snap_demand d = demand(MOST_NAMES, 1, MOST_NAMES, MOST_NAMES);
    struct snap_demand more = demand(MOST_NAMES + 1, 1, MOST_NAMES + 1,
                                     MOST_NAMES + 1);
    struct qty cpu = {"CPU", 10000};
    struct snap_alt alt = {.resources = {&cpu, 1}};
    struct snap_bundle one = {.alts = &alt, .n_alts = 1, .count = 1};
    struct snap_demand good = {.bundles = &one, .n_bundles = 1};
    struct err e = {0};

    (void)state;
    d.bundles = bundles;
    assert_true(asks(&a, "mal", &d, 2700, &e));
    assert_true(asks(&a, "good", &good, 40, &e));
    assert_int_equal(asked_sums(&a).names, MOST_NAMES + 1);
    assert_false(asks(&a, "mal", &more, 2700, &e));
    assert_non_null(strstr(e.text, "more than your share"));
    asked_done(&a);
}

/* Several of one person, who have all that each may have: he who comes next is within
 * his share, and served. */
static void test_many_take_all_and_others_are_served(void **state)
{
    static const uint32_t callers[] = {2, 3, 8, 9, 100};
    struct err e = {0};

    (void)state;
    for (size_t i = 0; i < sizeof callers / sizeof *callers; i++) {
        struct asked a = {0};
        struct snap_demand d = demand(1, 1, 1, 1);

        for (uint32_t k = 0; k < callers[i]; k++) {
            uint32_t n = MOST_NAMES, from = k * MOST_NAMES;
            char who[24];

            snprintf(who, sizeof who, "mal-%u", k);
            for (; n > 0; n--) {
                d = named(from, n);
                if (asks(&a, who, &d, 1, &e))
                    break;
            }
            assert_true(n > 0);
        }
        d = named(200 * MOST_NAMES, 1);
        assert_true(asks(&a, "good", &d, 1, &e));
        asked_done(&a);
    }
}

static void test_values_count(void **state)
{
    static const char *v[1024];
    struct term t = {.key = "k", .op = TERM_IN, .values = {v, 1024}};
    struct snap_alt alt = {.selector = {&t, 1}};
    struct snap_bundle b = {.alts = &alt, .n_alts = 1, .count = 1};
    struct snap_demand d = {.bundles = &b, .n_bundles = 1};
    struct asked a = {0};
    struct err e = {0};
    uint32_t n = 0;

    (void)state;
    for (uint32_t i = 0; i < 1024; i++)
        v[i] = "x";
    while (asks(&a, "one", &d, 1, &e))
        n++;
    assert_int_equal(n, 200000 / 1024);
    assert_non_null(strstr(e.text, "values of conditions"));
    assert_true(asks(&a, "two", &d, 1, &e));
    asked_done(&a);
}

static uint64_t next_random(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

/* A hostile caller that asks for anything, with as many as he likes beside him:
 * one who keeps to a small part is served whenever he asks. */
static void test_the_good_one_is_always_served(void **state)
{
    uint64_t seed = seed_of(0) * 2 + 1, x = seed;
    struct err e = {0};

    (void)state;
    for (int world = 0; world < 20; world++) {
        struct asked a = {0};
        uint32_t hostile = 1 + next_random(&x) % 8, refused = 0;
        char who[16];

        for (int i = 0; i < 60; i++) {
            uint32_t n = 1 + next_random(&x) % 4000;
            struct snap_demand d = demand(n, 1 + next_random(&x) % 3,
                                          1 + next_random(&x) % n,
                                          1 + next_random(&x) % MOST_NAMES);

            bundles[0].count = next_random(&x) % 2000000;
            snprintf(who, sizeof who, "mal-%u",
                     (unsigned)(next_random(&x) % hostile));
            refused += !asks(&a, who, &d, next_random(&x) % (2 << 20), &e);
            d = demand(1 + next_random(&x) % 20, 1, 10, 4);
            if (!asks(&a, "good", &d, 1000, &e))
                fail_msg("seed %llu, world %d, %d: %s",
                         (unsigned long long)seed, world, i, e.text);
            asked_remove(&a, "good", &d, 1000);
        }
        assert_true(refused > 0);
        asked_done(&a);
    }
}

/* What would leave nobody a plan is refused to who asks for it. */
static void test_a_plan_is_left(void **state)
{
    struct problem now = {.n_nodes = 1000000, .n_columns = 40, .n_types = 5};
    struct snap_demand d = demand(100, 1, 100, 20);
    struct asked a = {0};

    (void)state;
    asked_planned(&a, &now);
    assert_string_equal(tried(&a, &d, 1), "");
    d = demand(100, 1, 100, 40);
    assert_non_null(strstr(tried(&a, &d, 1), "quantities in a plan"));
    asked_done(&a);
}

/* In the loop: the refused one changes nothing, another owner's stands. */
static int start(void **state)
{
    (void)state;
    rig_start(RIG_CONFIG, NULL, 0);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    rig_stop();
    return 0;
}

static void test_refused_changes_nothing(void **state)
{
    struct command small = rig_put("me", "GPU", 1), large, again;
    struct asked_sums s;

    (void)state;
    requests_fold(&rig.requests, &small);
    requests_done(&small);
    assert_int_equal(small.status, ST_OK);
    large = rig_put("me", "GPU", 5000001);
    requests_fold(&rig.requests, &large);
    requests_done(&large);
    assert_int_equal(large.status, ST_INVALID);
    s = asked_sums(&rig.requests.asked);
    assert_int_equal(s.bundles, 1);
    assert_int_equal(rig.requests.all.v[0]->demand.bundles[0].count, 1);
    again = rig_put("me", "GPU", 4999999);
    requests_fold(&rig.requests, &again);
    requests_done(&again);
    assert_int_equal(again.status, ST_OK);
    s = asked_sums(&rig.requests.asked);
    assert_int_equal(s.bundles, 4999999);
    assert_int_equal(s.owners, 1);
    again.kind = COMMAND_REQUEST_DROP;
    requests_fold(&rig.requests, &again);
    requests_done(&again);
    s = asked_sums(&rig.requests.asked);
    assert_int_equal(s.bundles + s.owners + s.bytes + s.names, 0);
    arena_done(&small.arena);
    arena_done(&large.arena);
    arena_done(&again.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counted),
        cmocka_unit_test(test_each_limit),
        cmocka_unit_test(test_together),
        cmocka_unit_test(test_one_takes_all_and_others_are_served),
        cmocka_unit_test(test_many_take_all_and_others_are_served),
        cmocka_unit_test(test_values_count),
        cmocka_unit_test(test_the_good_one_is_always_served),
        cmocka_unit_test(test_a_plan_is_left),
        cmocka_unit_test_setup_teardown(test_refused_changes_nothing, start,
                                        stop),
    };

    return cmocka_run_group_tests_name("control asked", tests, NULL, NULL);
}
