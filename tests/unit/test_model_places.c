/*
 * test_model_places.c - where a shape may lie beside its room: taints and
 * tolerations as Kubernetes has them, queues, and what else nodes carry for
 * it (units, timeouts by offer, progress).
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

static enum status snapshot_read(const char *json, struct snapshot **ret)
{
    json_t *v = NULL;
    enum status s = codec_parse(json, strlen(json), &v, &error);

    if (s == ST_OK)
        s = codec_snapshot_read(v, &arena, ret, &error);
    json_decref(v);
    return s;
}

static struct problem *make(const char *json)
{
    struct problem *s = NULL;
    struct snapshot *f;

    if (snapshot_read(json, &f) != ST_OK ||
        problem_make(f, &arena, &s, &error) != ST_OK)
        fail_msg("%s\nin %s", error.text, json);
    return s;
}

static enum reason refuses(const struct problem *s, uint32_t bundle,
                           uint32_t offer, const char **ret_key)
{
    uint32_t sel =
                 s->shapes[s->alts[s->bundles[bundle].first_alt].shape].selector,
             key;
    const struct pb_offer *o = &s->offers[offer];
    enum reason why = problem_refuses(s, sel, o->first_label, o->n_labels,
                                      &key);

    assert_int_equal(problem_match(s, sel, o->first_label, o->n_labels),
                     why == REASON_NONE);
    assert_int_equal(problem_mismatch(s, sel, o->first_label, o->n_labels),
                     key);
    *ret_key = key == NONE ? "" : s->str[key];
    return why;
}

/* Kubernetes' table of who tolerates what. */
static void taints_are_tolerated_as_in_kubernetes(void **state)
{
    static const struct {
        const char *taint, *toleration;
        bool may;
    } cases[] = {
        {"\"gpu=yes:NoSchedule\"", "", false},
        {"\"gpu=yes:NoExecute\"", "", false},
        {"\"gpu=yes:PreferNoSchedule\"", "", true},
        {"\"gpu=yes:NoSchedule\"", "{\"key\":\"gpu\",\"value\":\"yes\"}", true},
        {"\"gpu=yes:NoSchedule\"",
         "{\"key\":\"gpu\",\"operator\":\"Equal\",\"value\":\"no\"}", false},
        {"\"gpu=yes:NoSchedule\"", "{\"key\":\"gpu\"}", false},
        {"\"gpu:NoSchedule\"", "{\"key\":\"gpu\"}", true},
        {"\"gpu=yes:NoSchedule\"", "{\"key\":\"gpu\",\"operator\":\"Exists\"}",
         true},
        {"\"gpu=yes:NoSchedule\"", "{\"key\":\"gpus\",\"operator\":\"Exists\"}",
         false},
        {"\"gpu=yes:NoSchedule\"", "{\"operator\":\"Exists\"}", true},
        {"\"gpu=yes:NoSchedule\"",
         "{\"operator\":\"Exists\",\"effect\":\"NoExecute\"}", false},
        {"\"gpu=yes:NoExecute\"",
         "{\"operator\":\"Exists\",\"effect\":\"NoExecute\"}", true},
        {"\"gpu=yes:NoSchedule\"", "\"gpu\"", true},
        {"\"gpu=yes:NoSchedule\"", "\"gpu=yes\"", true},
        {"\"gpu=yes:NoSchedule\"", "\"gpu=no\"", false},
        {"\"gpu=yes:NoSchedule\"", "\"gpu=yes:NoExecute\"", false},
        {"\"gpu=yes:NoSchedule\",\"team=a:NoSchedule\"", "\"gpu\"", false},
        {"\"gpu=yes:NoSchedule\",\"team=a:NoSchedule\"", "\"gpu\",\"team=a\"",
         true},
        {"{\"key\":\"gpu\",\"value\":\"yes\",\"effect\":\"NoSchedule\"}",
         "\"gpu\"", true},
        {"\"gpu=a:NoSchedule\",\"gpu=b:NoExecute\"", "\"gpu=a\"", false},
        {"", "\"gpu\"", true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = arena_printf(
            &arena,
            "{\"node_types\":[{\"name\":\"t\",\"resources\":{\"CPU\":4},"
            "\"taints\":[%s]}],\"nodes\":[{\"id\":\"n\",\"taints\":[%s]}],"
            "\"demands\":[{\"resources\":{\"CPU\":1},\"tolerations\":[%s]}]}",
            cases[i].taint, cases[i].taint, cases[i].toleration);
        const struct problem *s = make(text);
        uint32_t sel = s->shapes[0].selector;
        const char *key;
        enum reason why = refuses(s, 0, 0, &key);

        if ((why == REASON_NONE) != cases[i].may)
            fail_msg("taint %s, toleration %s: %s", cases[i].taint,
                     cases[i].toleration, reason_code(why));
        if (!cases[i].may)
            assert_int_equal(why, REASON_TAINT);
        if (!cases[i].may)
            assert_true(strcmp(key, "gpu") == 0 || strcmp(key, "team") == 0);
        assert_int_equal(problem_tolerates(s, sel, s->nodes[0].first_label,
                                           s->nodes[0].n_labels),
                         cases[i].may);
    }
}

/* The planner takes selector 0 as "anywhere" without looking. */
static void nothing_lies_anywhere_where_there_are_taints(void **state)
{
    const char *plain = "{\"node_types\":[{\"name\":\"t\"%s}],\"demands\":["
                        "{\"resources\":{\"CPU\":1}},{\"resources\":"
                        "{\"CPU\":1},\"tolerations\":[\"a\"]}]}";
    const struct problem *s;
    (void)state;
    s = make(arena_printf(&arena, plain, ""));
    assert_int_equal(s->n_shapes, 1); /* tolerations decide nothing here */
    assert_int_equal(s->shapes[0].selector, 0);
    s = make(arena_printf(&arena, plain, ",\"taints\":[\"a:NoSchedule\"]"));
    assert_int_equal(s->n_shapes, 2);
    assert_int_not_equal(s->shapes[0].selector, 0);
    assert_int_not_equal(s->shapes[1].selector, 0);
    s = make(
        arena_printf(&arena, plain, ",\"taints\":[\"a:PreferNoSchedule\"]"));
    assert_int_equal(s->n_shapes, 1);
}

/* A node has its type's taints and its own. */
static void nodes_have_taints_of_both(void **state)
{
    const struct problem *s = make(
        "{\"node_types\":[{\"name\":\"t\",\"taints\":[\"a:NoSchedule\"]}],"
        "\"nodes\":[{\"id\":\"n\",\"type\":\"t\",\"taints\":[\"b:NoExecute\"]}],"
        "\"demands\":[{\"resources\":{\"CPU\":1},\"tolerations\":[\"a\"]},"
        "{\"resources\":{\"CPU\":1},\"tolerations\":[\"a\",\"b\"]}]}");
    uint32_t may = 0, key;

    (void)state;
    assert_int_equal(s->n_shapes, 2);
    for (uint32_t i = 0; i < 2; i++) {
        enum reason why = problem_refuses(s, s->shapes[i].selector,
                                          s->nodes[0].first_label,
                                          s->nodes[0].n_labels, &key);
        may += why == REASON_NONE;
        if (why != REASON_NONE)
            assert_string_equal(s->str[key], "b");
    }
    assert_int_equal(may, 1);
}

#define QUEUES \
    "\"queues\":[{\"name\":\"a100\",\"node_types\":[\"big\"],\"priority\":5," \
    "\"quota\":{\"gpus\":8,\"cpus\":0.5,\"nodes\":4},\"owners\":[\"train-*\"]}," \
    "{\"name\":\"any\",\"node_types\":[\"big\",\"small\"]}],"
#define TYPES \
    "\"node_types\":[{\"name\":\"big\",\"resources\":{\"CPU\":8,\"GPU\":8}}," \
    "{\"name\":\"small\",\"resources\":{\"CPU\":8}}],"

static void queues_bind_demand_to_types(void **state)
{
    static const struct {
        const char *demand;
        enum reason big, small;
    } cases[] = {
        {"\"owner\":\"train-1\"", REASON_NONE, REASON_NONE},
        {"\"owner\":\"train-1\",\"queue\":\"a100\"", REASON_NONE,
         REASON_QUEUE_TYPE},
        {"\"owner\":\"x\",\"queue\":\"any\"", REASON_NONE, REASON_NONE},
        {"\"owner\":\"x\",\"queue\":\"a100\"", REASON_QUEUE_DENIED,
         REASON_QUEUE_DENIED},
        {"\"owner\":\"train-1\",\"queue\":\"nope\"", REASON_QUEUE_DENIED,
         REASON_QUEUE_DENIED},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct problem *s = make(
            arena_printf(&arena,
                         "{" QUEUES TYPES "\"requests\":[{%s,\"bundles\":"
                         "[{\"CPU\":1}]}]}",
                         cases[i].demand));
        const char *key;

        assert_int_equal(refuses(s, 0, 0, &key), cases[i].big);
        assert_int_equal(refuses(s, 0, 1, &key), cases[i].small);
        if (cases[i].small == REASON_QUEUE_TYPE)
            assert_string_equal(key, "a100");
    }
}

static void queues_are_arrays(void **state)
{
    const struct problem *s = make(
        "{" QUEUES TYPES "\"nodes\":["
        "{\"id\":\"b1\",\"type\":\"big\",\"total\":{\"CPU\":8,\"GPU\":8},"
        "\"available\":{\"CPU\":6,\"GPU\":5},"
        "\"labels\":{\"davit.io/queue\":\"a100\"}},"
        "{\"id\":\"b2\",\"type\":\"big\",\"state\":\"starting\"},"
        "{\"id\":\"s1\",\"type\":\"small\",\"total\":{\"CPU\":8},"
        "\"available\":{\"CPU\":7}},"
        "{\"id\":\"x\",\"unmanaged\":true,\"total\":{\"CPU\":8},"
        "\"labels\":{\"davit.io/queue\":\"a100\"}}],"
        "\"demands\":[{\"resources\":{\"CPU\":1}}],"
        "\"requests\":[{\"owner\":\"train-1\",\"queue\":\"a100\",\"priority\":1,"
        "\"bundles\":[{\"GPU\":1}]}]}");
    const struct pb_queue *q = s->queues;
    uint32_t sel;

    (void)state;
    assert_int_equal(s->n_queues, 2);
    assert_string_equal(s->str[q[0].name], "a100");
    assert_int_equal(q[0].gpus, 8 * AMOUNT_ONE);
    assert_int_equal(q[0].cpus, AMOUNT_ONE / 2);
    assert_int_equal(q[0].nodes, 4);
    assert_int_equal(q[0].used_gpus, 3 * AMOUNT_ONE);
    assert_int_equal(q[0].used_cpus, 2 * AMOUNT_ONE);
    assert_int_equal(q[0].used_nodes, 2); /* b1 and x, by their labels */
    assert_int_equal(q[1].gpus, -1);
    assert_int_equal(q[1].nodes, UNLIMITED);
    assert_int_equal(q[1].used_cpus, AMOUNT_ONE); /* s1: its only queue */
    assert_int_equal(s->nodes[1].queue, NONE);    /* b2: of two */
    assert_int_equal(s->demands[0].queue, 0);     /* 1 + 5 comes first */
    assert_int_equal(s->demands[0].priority, 6);
    assert_int_equal(s->demands[1].queue, NONE);
    assert_true(problem_queue_has(s, 0, 0));
    assert_false(problem_queue_has(s, 0, 1));
    assert_true(problem_queue_has(s, NONE, 1));
    sel = s->shapes[s->alts[s->bundles[0].first_alt].shape].selector;
    assert_true(
        problem_match(s, sel, s->nodes[3].first_label, s->nodes[3].n_labels));
}

static void nodes_carry_unit_timeout_and_progress(void **state)
{
    const struct problem *s = make(
        "{\"limits\":{\"idle_timeout_s\":60,\"end_order\":[\"spot\","
        "\"oldest\"],\"consolidate\":{\"mode\":\"on\",\"min_saving\":0.5,"
        "\"older_than_s\":\"5m\"}},"
        "\"node_types\":[{\"name\":\"t\",\"hosts\":2,\"offers\":["
        "{\"zone\":\"a\",\"idle_timeout_s\":600},{\"zone\":\"b\"}]},"
        "{\"name\":\"u\",\"idle_timeout_s\":5}],"
        "\"nodes\":[{\"id\":\"1\",\"type\":\"t\",\"zone\":\"a\",\"host_group\":\"x/0\","
        "\"since_ms\":5,\"progress_ms\":9},"
        "{\"id\":\"2\",\"type\":\"t\",\"zone\":\"b\",\"host_group\":\"x/0\","
        "\"since_ms\":5},{\"id\":\"3\",\"type\":\"u\"},{\"id\":\"4\"}]}");
    const struct pb_node *n = s->nodes;

    (void)state;
    assert_int_equal(n[0].idle_timeout_ms, 600000);
    assert_int_equal(n[1].idle_timeout_ms, 60000);
    assert_int_equal(n[2].idle_timeout_ms, 5000);
    assert_int_equal(n[3].idle_timeout_ms, 60000);
    assert_string_equal(s->str[n[0].host_group], "x/0");
    assert_int_equal(n[0].host_group, n[1].host_group);
    assert_int_equal(n[2].host_group, 0);
    assert_int_equal(n[0].progress_ms, 9);
    assert_int_equal(n[1].progress_ms, 5);
    assert_int_equal(s->limits.n_end_order, 2);
    assert_int_equal(s->limits.end_order[1], END_KEY_OLDEST);
    assert_int_equal(s->limits.consolidate, CONSOLIDATE_ON);
    assert_int_equal(s->limits.consolidate_saving, 5000);
    assert_int_equal(s->limits.consolidate_age_ms, 300000);
}

static void owners_are_patterns(void **state)
{
    static const struct {
        const char *pattern, *owner;
        bool may;
    } cases[] = {
        {"train-*", "train-1", true},
        {"train-*", "train-", true},
        {"train-*", "untrain-1", false},
        {"*", "", true},
        {"a", "a", true},
        {"a", "ab", false},
        {"*-prod", "a-prod", true},
        {"*-prod", "a-prod-1", false},
        {"a*b*c", "aXbYbZc", true},
        {"a*b*c", "aXbYbZ", false},
        {"**", "x", true},
        {"", "x", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct snap_queue q = {.owners = {&cases[i].pattern, 1}};
        if (queue_allows(&q, cases[i].owner) != cases[i].may)
            fail_msg("%s and %s", cases[i].pattern, cases[i].owner);
    }
}

static void mistakes_say_where(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"{\"node_types\":[{\"name\":\"t\",\"taints\":[\"gpu\"]}]}",
         "node_types[0].taints[0]: needs its effect"},
        {"{\"node_types\":[{\"name\":\"t\",\"taints\":[\"gpu:Never\"]}]}",
         "node_types[0].taints[0]: must be NoSchedule, PreferNoSchedule or "
         "NoExecute"},
        {"{\"node_types\":[{\"name\":\"t\",\"taints\":[\"=x:NoSchedule\"]}]}",
         "node_types[0].taints[0]: needs a key"},
        {"{\"node_types\":[{\"name\":\"t\",\"taints\":[{\"key\":\"a\"}]}]}",
         "node_types[0].taints[0].effect: must be NoSchedule"},
        {"{\"node_types\":[{\"name\":\"t\",\"taints\":[{\"effect\":"
         "\"NoSchedule\"}]}]}",
         "node_types[0].taints[0]: needs a \"key\""},
        {"{\"nodes\":[{\"id\":\"n\",\"taints\":[\"a:NoSchedule\","
         "\"a=b:NoSchedule\"]}]}",
         "nodes[0].taints[1]: is the second"},
        {"{\"nodes\":[{\"id\":\"n\",\"taints\":{}}]}",
         "nodes[0].taints: must be an array"},
        {"{\"demands\":[{\"resources\":{},\"tolerations\":[{}]}]}",
         "demands[0].tolerations[0]: without a \"key\" the operator must be "
         "Exists"},
        {"{\"demands\":[{\"resources\":{},\"tolerations\":[{\"operator\":"
         "\"In\",\"key\":\"a\"}]}]}",
         "demands[0].tolerations[0].operator: must be Exists or Equal"},
        {"{\"demands\":[{\"resources\":{},\"tolerations\":[{\"operator\":"
         "\"Exists\",\"key\":\"a\",\"value\":\"b\"}]}]}",
         "demands[0].tolerations[0].value: must be left out"},
        {"{\"queues\":[{}]}", "queues[0]: needs a \"name\""},
        {"{\"queues\":[{\"name\":\"q\",\"quota\":{\"gpu\":1}}]}",
         "queues[0].quota.gpu: unknown key, did you mean \"gpus\"?"},
        {"{\"queues\":[{\"name\":\"q\",\"quota\":{\"gpus\":-1}}]}",
         "queues[0].quota.gpus: must be between 0"},
        {"{\"queues\":[{\"name\":\"q\",\"node_types\":[1]}]}",
         "queues[0].node_types[0]: must be text, got 1"},
        {"{\"limits\":{\"end_order\":[\"cheapest\"]}}",
         "limits.end_order[0]: must be spot, on-demand, least_used"},
        {"{\"limits\":{\"end_order\":[\"spot\",\"spot\"]}}",
         "limits.end_order[1]: is given twice"},
        {"{\"limits\":{\"consolidate\":\"never\"}}",
         "limits.consolidate: unknown word; known ones: off, empty, on"},
        {"{\"limits\":{\"consolidate\":{\"min_saving\":20}}}",
         "limits.consolidate.min_saving: must be between 0 and 1"},
    };
    static const struct {
        const char *text, *want;
    } made[] = {
        {"{\"queues\":[{\"name\":\"q\"},{\"name\":\"q\"}]}",
         "queue 'q' is given twice"},
        {"{\"queues\":[{\"name\":\"q\",\"node_types\":[\"t\"]}]}",
         "queue 'q' has the node type 't', which does not exist"},
    };
    struct snapshot *f;
    struct problem *s;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(snapshot_read(cases[i].text, &f), ST_INVALID);
        if (!strstr(error.text, cases[i].want))
            fail_msg("%s\ngives %s\nnot   %s", cases[i].text, error.text,
                     cases[i].want);
    }
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        assert_int_equal(snapshot_read(made[i].text, &f), ST_OK);
        assert_int_equal(problem_make(f, &arena, &s, &error), ST_INVALID);
        if (!strstr(error.text, made[i].want))
            fail_msg("%s gives %s", made[i].text, error.text);
    }
}

/* In alternatives, and in requests. */
static void bundles_carry_tolerations_everywhere(void **state)
{
    const char *text = "{\"bundles\":[{\"resources\":{\"GPU\":1},"
                       "\"tolerations\":[\"a\"],\"any_of\":[{},"
                       "{\"tolerations\":[\"b=c:NoExecute\"]}]}],"
                       "\"queue\":\"a100\"}";
    json_t *v = NULL, *back;
    struct snap_demand d;
    struct snap_bundle again;

    (void)state;
    assert_int_equal(codec_parse(text, strlen(text), &v, &error), ST_OK);
    assert_int_equal(codec_request_read(v, "me", 0, &arena, &d, &error), ST_OK);
    json_decref(v);
    assert_string_equal(d.queue, "a100");
    assert_int_equal(d.bundles[0].alts[0].tolerations.n, 1);
    assert_int_equal(d.bundles[0].alts[1].tolerations.n, 2);
    back = codec_bundle_write(&d.bundles[0]);
    assert_int_equal(codec_bundle_read(back, "b", &arena, &again, &error),
                     ST_OK);
    json_decref(back);
    assert_int_equal(again.alts[1].tolerations.n, 2);
    assert_string_equal(again.alts[1].tolerations.v[1].value, "c");
    assert_int_equal(again.alts[1].tolerations.v[1].effect, EFFECT_NO_EXECUTE);
    assert_int_equal(again.alts[1].tolerations.v[0].op, TOLERATE_EXISTS);
    assert_int_equal(
        codec_parse("{\"bundles\":[],\"queue\":7}", 24, &v, &error), ST_OK);
    assert_int_equal(codec_request_read(v, "me", 0, &arena, &d, &error),
                     ST_INVALID);
    assert_non_null(strstr(error.text, "queue: must be the name of a queue"));
    json_decref(v);
}

static int64_t amount_of(const struct problem *s, uint32_t node,
                         const char *name)
{
    for (uint32_t c = 0; c < s->n_columns; c++)
        if (strcmp(s->str[s->columns[c].name], name) == 0)
            return pb_row(s, s->nodes[node].total)[c];
    fail_msg("no column %s", name);
    return 0;
}

/* Of a TPU slice one host is the head: two jobs that ask for one each need two
 * slices. */
static void a_slice_has_one_head(void **state)
{
    static const char world[] =
        "{\"schema\":\"davit-snapshot/1\",\"now_ms\":1000000,"
        "\"node_types\":[{\"name\":\"v4\",\"provider\":\"p\",\"hosts\":2,"
        "\"resources\":{\"CPU\":8,\"TPU\":4,\"TPU-v4-16-head\":1},"
        "\"price\":1}],\"nodes\":["
        "{\"id\":\"a0\",\"type\":\"v4\",\"host_group\":\"a\",\"state\":"
        "\"starting\"},"
        "{\"id\":\"a1\",\"type\":\"v4\",\"host_group\":\"a\",\"state\":"
        "\"starting\"},"
        "{\"id\":\"b0\",\"type\":\"v4\",\"host_group\":\"b\",\"state\":"
        "\"starting\"},"
        "{\"id\":\"b1\",\"type\":\"v4\",\"host_group\":\"b\",\"state\":"
        "\"ready\",\"total\":{\"CPU\":8,\"TPU\":4,\"TPU-v4-16-head\":1}},"
        "{\"id\":\"c0\",\"type\":\"v4\",\"host_group\":\"c\",\"state\":"
        "\"starting\"},"
        "{\"id\":\"c1\",\"type\":\"v4\",\"host_group\":\"c\",\"state\":"
        "\"ready\",\"total\":{\"CPU\":8,\"TPU\":4}}],"
        "\"demands\":[{\"source\":\"task\",\"owner\":\"ray\",\"bundles\":[{"
        "\"resources\":{\"TPU-v4-16-head\":1},\"count\":3}]}]}";
    static const int64_t heads[] = {1, 0, 0, 1, 1, 0};
    const struct problem *s;

    (void)state;
    s = make(world);
    assert_int_equal(s->n_nodes, 6);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(amount_of(s, i, "TPU-v4-16-head"),
                         heads[i] * AMOUNT_ONE);
        assert_int_equal(amount_of(s, i, "TPU"), 4 * AMOUNT_ONE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(taints_are_tolerated_as_in_kubernetes, fresh),
        cmocka_unit_test_setup(nothing_lies_anywhere_where_there_are_taints,
                               fresh),
        cmocka_unit_test_setup(nodes_have_taints_of_both, fresh),
        cmocka_unit_test_setup(queues_bind_demand_to_types, fresh),
        cmocka_unit_test_setup(queues_are_arrays, fresh),
        cmocka_unit_test_setup(nodes_carry_unit_timeout_and_progress, fresh),
        cmocka_unit_test_setup(owners_are_patterns, fresh),
        cmocka_unit_test_setup(mistakes_say_where, fresh),
        cmocka_unit_test_setup(bundles_carry_tolerations_everywhere, fresh),
        cmocka_unit_test_setup(a_slice_has_one_head, fresh),
    };
    int failed = cmocka_run_group_tests_name("model_places", tests, NULL, NULL);

    arena_done(&arena);
    return failed;
}
