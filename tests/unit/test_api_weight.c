/*
 * test_api_weight.c - what a body is charged is at least what its tree takes, and
 * who is charged leaves room for the others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "api/inside.h"
#include "seed.h"

static size_t held, most;

static void *count(size_t n)
{
    void *p = malloc(n);

    held += malloc_usable_size(p) + 8;
    if (held > most)
        most = held;
    return p;
}

static void uncount(void *p)
{
    if (p)
        held -= malloc_usable_size(p) + 8;
    free(p);
}

static const char *const pieces[] = {
    "0",
    "1.5",
    "null",
    "\"\"",
    "\"text of some length, longer than what is allocated at least\"",
    "{}",
    "[]",
    "[0]",
    "{\"a\":1}",
    "{\"CPU\":1,\"GPU\":2}",
    "{\"resources\":{\"CPU\":1},\"count\":3,\"labels\":{\"zone\":\"a\"}}",
    "[[[[[]]]]]",
    "{\"a\":{\"a\":{\"a\":{}}}}",
    "\"\\u0041\\u0042\"",
};

static void weigh(const char *text)
{
    json_t *v;

    held = most = 0;
    v = json_loads(text, 0, NULL);
    assert_non_null(v);
    if (json_weight(text, strlen(text)) < most)
        fail_msg("%zu charged, %zu taken: %.60s",
                 json_weight(text, strlen(text)), most, text);
    json_decref(v);
}

static void a_tree_weighs_less(void **state)
{
    enum { N = 5000 };

    (void)state;
    json_set_alloc_funcs(count, uncount);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct buf b;

        buf_init(&b, (size_t)8 << 20);
        buf_str(&b, "[");
        for (int k = 0; k < N; k++)
            buf_printf(&b, "%s%s", k ? "," : "", pieces[i]);
        buf_str(&b, "]");
        weigh(b.s);
        buf_clear(&b);
        buf_str(&b, "{");
        for (int k = 0; k < N; k++)
            buf_printf(&b, "%s\"k%d\":%s", k ? "," : "", k, pieces[i]);
        buf_str(&b, "}");
        weigh(b.s);
        buf_done(&b);
    }
}

/* A quote behind a backslash does not end a text. */
static void quotes(void **state)
{
    (void)state;
    assert_int_equal(json_weight("\"{{{{\"", 6), json_weight("\"xxxx\"", 6));
    assert_int_equal(json_weight("\"\\\"{{\"", 6), json_weight("\"\\x{{\"", 6));
    assert_true(json_weight("\"\\\\\"{{", 6) > json_weight("\"\\\"{{\"", 6));
}

/* ---- what is left for the others */

enum { HOSTILE = 24, CHARGES = 400 };

static bool may(struct door *d, const char *name, size_t n)
{
    const char *const who[CHARGE_PURSES] = {name, name};
    struct charge c = {0};
    bool yes = charge_add(&c, d, who, n);

    charge_drop(&c);
    return yes;
}

static size_t chance(uint64_t *x, size_t n)
{
    *x = *x * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(*x >> 33) % n;
}

/* Whatever k hostile callers hold, in whatever order it came and went. */
static void good_beside(struct door *d, uint64_t *x, size_t k, size_t least)
{
    static struct charge v[CHARGES];

    for (int step = 0; step < 4000; step++) {
        struct charge *c = &v[chance(x, CHARGES)];
        char group[32], account[64];
        const char *const who[CHARGE_PURSES] = {group, account};
        size_t n = ((size_t)1 << (14 + chance(x, 11))) - chance(x, 9000);

        snprintf(group, sizeof group, "mal%zu", chance(x, k));
        snprintf(account, sizeof account, "%s/%zu", group, chance(x, 3));
        charge_drop(c);
        charge_add(c, d, chance(x, 20) ? who : NULL, n);
        if (!may(d, "good", DOOR_BYTES_FEW))
            fail_msg("%zu bytes held by %zu", door_bytes(d), k);
        if (!may(d, "good", least))
            fail_msg("%zu: not %zu beside %zu", door_bytes(d), least, k);
        assert_true(door_bytes(d) <= DOOR_BYTES_MAX + DOOR_BYTES_REST);
    }
    for (int i = 0; i < CHARGES; i++)
        charge_drop(&v[i]);
    assert_int_equal(door_bytes(d), 0);
}

static void callers_leave_room(void **state)
{
    uint64_t x = seed_of(0);
    struct door *d = door_new(64);

    (void)state;
    for (int i = 0; i < 20; i++) {
        good_beside(d, &x, 1, (size_t)18 << 20);
        good_beside(d, &x, 2, (size_t)3 << 20);
        good_beside(d, &x, 3, (size_t)1 << 20);
        good_beside(d, &x, 1 + chance(&x, HOSTILE - 1), DOOR_BYTES_FEW);
    }
    door_free(d);
}

/* One after the other takes all that he gets, in large pieces and then in small. */
static void greedy_ones_leave_room(void **state)
{
    static const size_t least[] = {28 << 20, 11 << 20, 3 << 20, 1 << 20};
    struct door *d = door_new(64);
    struct charge v[HOSTILE - 1] = {0};

    (void)state;
    for (int k = 0; k < HOSTILE - 1; k++) {
        char name[16];
        const char *const who[CHARGE_PURSES] = {name, name};

        snprintf(name, sizeof name, "mal%d", k);
        for (size_t n = (size_t)40 << 20; n >= 1024; n /= 2)
            while (charge_add(&v[k], d, who, n))
                ;
        assert_true(may(d, "good", k < 4 ? least[k] : DOOR_BYTES_FEW));
    }
    for (int k = 0; k < HOSTILE - 1; k++)
        charge_drop(&v[k]);
    door_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tree_weighs_less),
        cmocka_unit_test(quotes),
        cmocka_unit_test(callers_leave_room),
        cmocka_unit_test(greedy_ones_leave_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
