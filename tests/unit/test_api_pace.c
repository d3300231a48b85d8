/* What the replies to one caller cost: api/door/pace.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/door/pace.h"
#include "seed.h"

static void cheap_replies_are_free(void **state)
{
    struct pace *p = pace_new();

    (void)state;
    for (int i = 0; i < 100000; i++) {
        assert_true(pace_lets(p, "a", i));
        pace_spent(p, "a", PACE_FREE_US, i);
    }
    pace_free(p);
}

static void who_owes_much_waits(void **state)
{
    struct pace *p = pace_new();

    (void)state;
    pace_spent(p, "a", PACE_FREE_US + PACE_MOST_US, 0);
    assert_true(pace_lets(p, "a", 0));
    pace_spent(p, "a", PACE_FREE_US + 1000, 0);
    assert_false(pace_lets(p, "a", 0));
    assert_true(pace_lets(p, "b", 0));
    assert_false(pace_lets(p, "a", 1998));
    assert_true(pace_lets(p, "a", 2000)); /* he pays half of what goes by */
    pace_free(p);
}

/* Any number of greedy ones take one thread's time together, and a half second
 * besides for each time their number grows by e; one who asks for little is always
 * let in. */
static void others_are_let_in(void **state)
{
    uint64_t x = seed_of(0) * 2 + 1;

    (void)state;
    for (uint32_t greedy = 1; greedy <= 200; greedy *= 3) {
        struct pace *p = pace_new();
        int64_t now = 0, cpu = 0;

        while (now < 20000000) {
            char who[24];

            for (uint32_t i = 0; i < greedy; i++) {
                int64_t us;

                x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
                us = (int64_t)(x >> 40) % 60000;
                snprintf(who, sizeof who, "mal-%u", i);
                if (!pace_lets(p, who, now))
                    continue;
                pace_spent(p, who, us + PACE_FREE_US, now);
                cpu += us;
            }
            assert_true(pace_lets(p, "good", now));
            now += 10000;
        }
        print_message("%u: %.1f s of 20\n", greedy, (double)cpu / 1e6);
        assert_true(cpu < now + 6 * PACE_MOST_US + (int64_t)greedy * 60000);
        pace_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cheap_replies_are_free),
        cmocka_unit_test(who_owes_much_waits),
        cmocka_unit_test(others_are_let_in),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
