/*
 * test_model_holds.c - what nodes hold by the last plan is found again in the
 * next snapshot, whatever else has changed in it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model_help.h"

static struct arena arena;
static struct err error;

static int fresh(void **state)
{
    (void)state;
    arena_reset(&arena);
    error = (struct err){0};
    return 0;
}

static struct problem *make(const char *text)
{
    struct problem *s = NULL;
    struct snapshot *f = NULL;
    json_t *v = NULL;

    if (codec_parse(text, strlen(text), &v, &error) != ST_OK ||
        codec_snapshot_read(v, &arena, &f, &error) != ST_OK ||
        problem_make(f, &arena, &s, &error) != ST_OK)
        fail_msg("%s: %s", text, error.text);
    json_decref(v);
    return s;
}

/* The digest of the only bundle of a snapshot. */
static const char *digest(const char *bundle)
{
    const struct problem *s = make(
        arena_printf(&arena, "{\"demands\":[{\"bundles\":[%s]}]}", bundle));

    assert_int_equal(s->n_bundles, 1);
    return arena_printf(&arena, "%016" PRIx64, problem_digest(s, 0));
}

#define GPU "{\"resources\":{\"GPU\":1,\"CPU\":2},\"accelerator_type\":\"T4\"}"

static void a_shape_is_the_same_in_every_problem(void **state)
{
    const char *plain = digest(GPU);
    const struct problem *s = make(
        "{\"node_types\":[{\"name\":\"t\",\"resources\":{\"GPU\":4,\"aa\":1,"
        "\"zz\":2},\"taints\":[\"x=y:NoSchedule\"],\"labels\":{\"a\":\"b\"}}],"
        "\"queues\":[{\"name\":\"q\",\"node_types\":[\"t\"]}],"
        "\"nodes\":[{\"id\":\"n\",\"total\":{\"bb\":7}}],"
        "\"demands\":[" GPU ",{\"resources\":{\"aa\":1,\"Aa\":3}}]}");
    uint64_t found = 0;

    (void)state;
    for (uint32_t b = 0; b < s->n_bundles; b++)
        found += strcmp(plain, arena_printf(&arena, "%016" PRIx64,
                                            problem_digest(s, b))) == 0;
    assert_int_equal(found, 1);
    assert_string_not_equal(plain, digest("{\"GPU\":1,\"CPU\":2}"));
    assert_string_not_equal(plain,
                            digest("{\"resources\":{\"GPU\":2,\"CPU\":1},"
                                   "\"accelerator_type\":\"T4\"}"));
    assert_string_not_equal(digest("{\"any_of\":[{\"GPU\":1},{\"CPU\":4}]}"),
                            digest("{\"any_of\":[{\"CPU\":4},{\"GPU\":1}]}"));
}

static void what_is_gone_is_dropped_and_counts_are_capped(void **state)
{
    const char *gpu = digest(GPU), *cpu = digest("{\"CPU\":1}");
    const struct problem *s = make(arena_printf(
        &arena,
        "{\"nodes\":[{\"id\":\"a\",\"previous\":[{\"shape\":\"%s\",\"count\":9},"
        "{\"shape\":\"%s\"},{\"shape\":\"%s\",\"owner\":\"else\"},"
        "{\"shape\":\"%s\",\"source\":\"request\"},"
        "{\"shape\":\"%s\",\"alternative\":1}]},{\"id\":\"b\"}],"
        "\"demands\":[{\"resources\":{\"GPU\":1,\"CPU\":2},"
        "\"accelerator_type\":\"T4\",\"count\":4}]}",
        gpu, cpu, gpu, gpu, gpu));

    (void)state;
    assert_int_equal(s->nodes[0].n_previous, 1);
    assert_int_equal(s->nodes[1].n_previous, 0);
    assert_int_equal(s->previous[s->nodes[0].first_previous].bundle, 0);
    assert_int_equal(s->previous[s->nodes[0].first_previous].count, 4);
}

/* A gang's bundles stay apart though they are equal: each is meant once. */
static void equal_bundles_are_handed_out(void **state)
{
    const char *one = digest("{\"CPU\":1}");
    const char *hold = arena_printf(
        &arena,
        "{\"previous\":[{\"source\":\"gang\",\"id\":\"g\",\"shape\":\"%s\","
        "\"count\":",
        one);
    const struct problem *s = make(arena_printf(
        &arena,
        "{\"nodes\":[{\"id\":\"a\",%s2}]},{\"id\":\"b\",%s1}]},"
        "{\"id\":\"c\",%s1}]}],\"gangs\":[{\"id\":\"g\",\"bundles\":["
        "{\"CPU\":1},{\"resources\":{\"CPU\":1},\"count\":2},{\"CPU\":1}]}]}",
        hold + 1, hold + 1, hold + 1));
    uint32_t sum[3] = {0};

    (void)state;
    assert_int_equal(s->n_bundles, 3);
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t k = 0; k < s->nodes[i].n_previous; k++) {
            const struct pb_placement *h =
                &s->previous[s->nodes[i].first_previous + k];

            sum[h->bundle] += h->count;
        }
    for (uint32_t b = 0; b < 3; b++)
        assert_int_equal(sum[b], s->bundles[b].count);
}

static void proposed_nodes_are_of_offers_that_are_there(void **state)
{
    const char *cpu = digest("{\"CPU\":1}");
    const char *hold = arena_printf(&arena, "\"previous\":[{\"shape\":\"%s\"}]",
                                    cpu);
    const struct problem *s = make(arena_printf(
        &arena,
        "{\"node_types\":[{\"name\":\"t\",\"offers\":[{\"zone\":\"a\"},"
        "{\"zone\":\"a\",\"spot\":true}]}],\"demands\":[{\"resources\":{\"CPU\":1}}],"
        "\"proposed\":[{\"type\":\"t\",\"zone\":\"a\",\"spot\":true,\"count\":3,"
        "%s},{\"type\":\"t\",\"zone\":\"b\",%s},{\"type\":\"u\",%s},"
        "{\"type\":\"t\",\"zone\":\"a\",\"previous\":[]}]}",
        hold, hold, hold));

    (void)state;
    assert_int_equal(s->n_proposed, 1);
    assert_true(s->offers[s->proposed[0].offer].spot);
    assert_int_equal(s->proposed[0].count, 3);
    assert_int_equal(s->proposed[0].n_previous, 1);
}

/* The names of old: advice is proposed; the rest means nothing any more. */
static void old_records_are_read(void **state)
{
    const struct problem *s = make(arena_printf(
        &arena,
        "{\"node_types\":[{\"name\":\"t\"}],"
        "\"demands\":[{\"resources\":{\"CPU\":1}}],"
        "\"nodes\":[{\"id\":\"n\",\"undecided\":true}],"
        "\"deciding\":[{\"shape\":\"0000000000000000\",\"count\":3}],"
        "\"advice\":[{\"type\":\"t\",\"holds\":[{\"shape\":\"%s\"}]}]}",
        digest("{\"CPU\":1}")));

    (void)state;
    assert_int_equal(s->n_nodes, 1);
    assert_int_equal(s->n_proposed, 1);
}

static void they_are_written_as_they_were_read(void **state)
{
    static const char text[] =
        "[{\"source\":\"request\",\"owner\":\"x\",\"id\":\"y\",\"shape\":"
        "\"00ff00ff00ff00ff\",\"alternative\":2,\"count\":3},"
        "{\"shape\":\"fedcba9876543210\"}]";
    struct snap_placements h;
    json_t *v = json_loads(text, 0, NULL), *w;

    (void)state;
    assert_int_equal(codec_previous_read(v, &arena, &h, &error), ST_OK);
    w = codec_previous_write(&h);
    assert_true(json_equal(v, w));
    json_decref(w);
    json_object_set_new(json_array_get(v, 1), "shape", json_string("xyz"));
    assert_int_equal(codec_previous_read(v, &arena, &h, &error), ST_INVALID);
    assert_non_null(strstr(error.text, "must be the 16 hex digits"));
    json_decref(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_shape_is_the_same_in_every_problem, fresh),
        cmocka_unit_test_setup(what_is_gone_is_dropped_and_counts_are_capped,
                               fresh),
        cmocka_unit_test_setup(equal_bundles_are_handed_out, fresh),
        cmocka_unit_test_setup(proposed_nodes_are_of_offers_that_are_there,
                               fresh),
        cmocka_unit_test_setup(old_records_are_read, fresh),
        cmocka_unit_test_setup(they_are_written_as_they_were_read, fresh),
    };
    int failed = cmocka_run_group_tests_name("model_holds", tests, NULL, NULL);

    arena_done(&arena);
    return failed;
}
