/*
 * test_model_confirm.c - what a second view confirms, and what it does not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "codec/codec.h"
#include "model/confirm.h"

static struct arena arena;
static struct snapshot *before, *now;
static const struct snap_demand *got;
static bool any;

static int fresh(void **state)
{
    (void)state;
    arena_reset(&arena);
    return 0;
}

static struct snapshot *snapshot_of(const char *text)
{
    struct snapshot *s;
    struct err err = {0};
    json_t *root = json_loads(text, 0, NULL);

    assert_non_null(root);
    if (codec_snapshot_read(root, &arena, &s, &err) != ST_OK)
        fail_msg("%s", err.text);
    json_decref(root);
    return s;
}

static void confirm(const char *was, const char *is)
{
    before = snapshot_of(was);
    now = snapshot_of(is);
    got = confirm_demands(before->demands, before->n_demands, now->demands,
                          now->n_demands, &arena, &any);
}

/* The bundles of demand d as "count" and "count?" for unconfirmed ones. */
static const char *bundles(uint32_t d)
{
    const char *text = "";

    for (uint32_t i = 0; i < got[d].n_bundles; i++)
        text = arena_printf(&arena, "%s%s%u%s", text, i ? " " : "",
                            got[d].bundles[i].count,
                            got[d].bundles[i].unconfirmed ? "?" : "");
    return text;
}

#define TASKS(text) "{\"demands\":[{\"bundles\":[" text "]}]}"
#define GPU(n) "{\"resources\":{\"GPU\":1},\"count\":" #n "}"
#define CPU(n) "{\"resources\":{\"CPU\":1},\"count\":" #n "}"

static void a_first_view_confirms_nothing(void **state)
{
    (void)state;
    confirm("{}", TASKS(GPU(3)));
    assert_true(any);
    assert_string_equal(bundles(0), "3?");
}

static void what_is_more_than_before_is_split_off(void **state)
{
    (void)state;
    confirm(TASKS(GPU(3) "," CPU(2)), TASKS(CPU(7) "," GPU(2)));
    assert_true(any);
    assert_string_equal(bundles(0), "2 5? 2");
    confirm(TASKS(GPU(3) "," CPU(2)), TASKS(CPU(2) "," GPU(1)));
    assert_false(any);
    assert_ptr_equal(got[0].bundles, now->demands[0].bundles);
}

/* Equal bundles in several rows share what was there before. */
static void nothing_is_counted_twice(void **state)
{
    (void)state;
    confirm(TASKS(GPU(3)), TASKS(GPU(2) "," GPU(2)));
    assert_string_equal(bundles(0), "2 1 1?");
    confirm(TASKS(GPU(1) "," GPU(2)), TASKS(GPU(3)));
    assert_false(any);
}

static void what_is_asked_for_must_be_the_same(void **state)
{
    (void)state;
    confirm(TASKS("{\"GPU\":1,\"accelerator_type\":\"T4\"}"),
            TASKS("{\"GPU\":1,\"accelerator_type\":\"L4\"}"));
    assert_string_equal(bundles(0), "1?");
    confirm(TASKS("{\"GPU\":1}"), TASKS("{\"GPU\":2}"));
    assert_string_equal(bundles(0), "1?");
    confirm("{\"demands\":[{\"id\":\"a\",\"resources\":{\"GPU\":1}}]}",
            "{\"demands\":[{\"id\":\"b\",\"resources\":{\"GPU\":1}}]}");
    assert_string_equal(bundles(0), "1?");
}

#define GANG(id, text) \
    "{\"gangs\":[{\"id\":\"" id "\",\"bundles\":[" text "]}]}"

static void a_gang_is_confirmed_whole(void **state)
{
    (void)state;
    confirm(GANG("a", GPU(2) "," CPU(1)), GANG("a", GPU(2) "," CPU(1)));
    assert_false(any);
    confirm(GANG("a", GPU(2) "," CPU(1)), GANG("a", GPU(3) "," CPU(1)));
    assert_string_equal(bundles(0), "3? 1?");
    confirm(GANG("a", GPU(2)), GANG("b", GPU(2)));
    assert_string_equal(bundles(0), "2?");
}

static void requests_and_pods_are_exact(void **state)
{
    (void)state;
    confirm("{}",
            "{\"requests\":[{\"bundles\":[{\"GPU\":1}]}],"
            "\"demands\":[{\"source\":\"pod\",\"resources\":{\"CPU\":1}}]}");
    assert_false(any);
    assert_string_equal(bundles(0), "1");
    assert_string_equal(bundles(1), "1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_first_view_confirms_nothing, fresh),
        cmocka_unit_test_setup(what_is_more_than_before_is_split_off, fresh),
        cmocka_unit_test_setup(nothing_is_counted_twice, fresh),
        cmocka_unit_test_setup(what_is_asked_for_must_be_the_same, fresh),
        cmocka_unit_test_setup(a_gang_is_confirmed_whole, fresh),
        cmocka_unit_test_setup(requests_and_pods_are_exact, fresh),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    arena_done(&arena);
    return failed;
}
