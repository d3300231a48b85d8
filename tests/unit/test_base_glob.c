/* Patterns of rights and queues: base/glob.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/glob.h"
#include "seed.h"

/* As it is said: a star stands for any bytes. */
static bool plain(const char *p, const char *s)
{
    if (*p == '*')
        return plain(p + 1, s) || (*s && plain(p, s + 1));
    return *p ? *p == *s && plain(p + 1, s + 1) : !*s;
}

static void as_it_is_said(void **state)
{
    uint64_t x = seed_of(0) * 2 + 1;
    uint32_t fit = 0;

    (void)state;
    for (int i = 0; i < 200000; i++) {
        char p[8] = "", s[9] = "";

        for (int k = 0; k < 7; k++) {
            x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
            p[k] = "ab*\0"[x >> 62];
            s[k] = "ab\0a"[x >> 60 & 3];
        }
        assert_int_equal(glob_fits(p, s), plain(p, s));
        fit += plain(p, s);
    }
    assert_true(fit > 1000);
}

/* Whoever has such a right may choose the text. */
static void many_stars_cost_little(void **state)
{
    char p[200] = "", s[300];
    clock_t began = clock();

    (void)state;
    for (int i = 0; i < 90; i++)
        strcat(p, "*-");
    strcat(p, "x");
    memset(s, '-', sizeof s);
    s[sizeof s - 1] = '\0';
    for (int i = 0; i < 100; i++)
        assert_false(glob_fits(p, s));
    assert_true(clock() - began < 10 * CLOCKS_PER_SEC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_it_is_said),
        cmocka_unit_test(many_stars_cost_little),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
