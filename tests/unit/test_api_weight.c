/*
 * test_api_weight.c - what a body is charged is at least what its tree takes.
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tree_weighs_less),
        cmocka_unit_test(quotes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
