/*
 * test_control_source.c - from a RayCluster to the text of its settings: what
 * changes it, what does not, and what the annotation may say.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "../../autoscaler/control/config_source.h"

static const char cluster[] =
    "{\"metadata\": {\"name\": \"c\", \"namespace\": \"n\", \"generation\": 1,"
    "  \"resourceVersion\": \"5\", \"annotations\": {}},"
    " \"spec\": {\"workerGroupSpecs\": [{\"groupName\": \"g\", \"replicas\": 1,"
    "  \"maxReplicas\": 4, \"scaleStrategy\": {\"workersToDelete\": [\"a\"]},"
    "  \"rayStartParams\": {\"num-cpus\": \"2\", \"num-gpus\": \"1\"}}]},"
    " \"status\": {\"state\": \"ready\"}}";

static json_t *read_json(const char *text)
{
    json_t *j = json_loads(text, 0, NULL);

    assert_non_null(j);
    return j;
}

static json_t *group_of(json_t *c)
{
    return json_array_get(
        json_object_get(json_object_get(c, "spec"), "workerGroupSpecs"), 0);
}

static char *text_of(const json_t *c, const json_t *block)
{
    struct err err = {0};
    char *text = NULL;

    assert_int_equal(config_source_text(c, block, &text, &err), ST_OK);
    return text;
}

/* Does this change of the cluster change its settings? */
static bool changes(void (*change)(json_t *c))
{
    json_t *c = read_json(cluster);
    char *before = text_of(c, NULL), *after;
    bool other;

    change(c);
    after = text_of(c, NULL);
    other = strcmp(before, after) != 0;
    free(before);
    free(after);
    json_decref(c);
    return other;
}

static void set_replicas(json_t *c)
{
    json_object_set_new(group_of(c), "replicas", json_integer(9));
}

static void set_names(json_t *c)
{
    json_object_del(group_of(c), "scaleStrategy");
}

static void set_status(json_t *c)
{
    json_t *meta = json_object_get(c, "metadata");

    json_object_del(c, "status");
    json_object_set_new(meta, "resourceVersion", json_string("6"));
    json_object_set_new(meta, "managedFields", json_array());
    json_object_set_new(json_object_get(meta, "annotations"),
                        "davit.io/launches", json_string("{}"));
}

static void set_max(json_t *c)
{
    json_object_set_new(group_of(c), "maxReplicas", json_integer(5));
}

static void set_gate(json_t *c)
{
    json_object_set_new(json_object_get(group_of(c), "scaleStrategy"),
                        "scaleGate", json_string("closed"));
}

static void set_note(json_t *c)
{
    json_object_set_new(
        json_object_get(json_object_get(c, "metadata"), "annotations"),
        SOURCE_ANNOTATION,
        json_string("limits: {max_nodes: 3, max_launching: 4}"));
}

static void only_settings_count(void **state)
{
    (void)state;
    assert_false(changes(set_replicas));
    assert_false(changes(set_names));
    assert_false(changes(set_status));
    assert_true(changes(set_max));
    assert_true(changes(set_gate));
    assert_true(changes(set_note));
}

static void block_goes_over_the_annotation(void **state)
{
    json_t *c = read_json(cluster);
    json_t *block = read_json("{\"state\": \"/tmp/a.db\", \"limits\": "
                              "{\"max_launching\": 9}, \"head\": {\"ray\": "
                              "{\"address\": \"127.0.0.1:6379\"}}}");
    struct config *conf = NULL;
    struct buf errors;
    char *text;

    (void)state;
    set_note(c);
    text = text_of(c, block);
    buf_init(&errors, 4096);
    if (config_parse("RayCluster c (n)", text, strlen(text), &conf, &errors) !=
        ST_OK)
        fail_msg("%s", errors.s);
    assert_int_equal(conf->limits.max_nodes, 3);
    assert_int_equal(conf->limits.max_launching, 9);
    assert_string_equal(conf->state, "/tmp/a.db");
    assert_string_equal(conf->ray_address, "127.0.0.1:6379");
    assert_string_equal(conf->cluster, "c");
    assert_int_equal(conf->n_types, 1);
    assert_string_equal(conf->types[0].fact.name, "g");
    assert_int_equal(conf->types[0].fact.max, 4);
    config_free(conf);
    buf_done(&errors);
    free(text);
    json_decref(block);
    json_decref(c);
}

static void bad_annotation(const char *note, const char *words)
{
    json_t *c = read_json(cluster);
    struct err err = {0};
    char *text = NULL;

    set_note(c);
    json_object_set_new(
        json_object_get(json_object_get(c, "metadata"), "annotations"),
        SOURCE_ANNOTATION, json_string(note));
    assert_int_equal(config_source_text(c, NULL, &text, &err), ST_INVALID);
    assert_null(text);
    assert_non_null(strstr(err.text, words));
    json_decref(c);
}

static void mistakes_are_told(void **state)
{
    (void)state;
    bad_annotation("limits: [", "davit.io/config");
    bad_annotation("just words", "limits: {idle_timeout: 5m}");
    bad_annotation("a: 1\n---\nb: 2", "davit.io/config");
    bad_annotation("plugin_dir: /x", "got \"plugin_dir\"");
    bad_annotation("limits: {}\nproviders: {}", "got \"providers\"");
    bad_annotation("\"api\\u202e\": {}", "limits and queues only");
}

/* Whatever the API server sends: no crash, and a text of some kind. */
static void odd_objects(void **state)
{
    static const char *const odd[] = {
        "{}", "{\"spec\": 3}", "{\"spec\": {\"workerGroupSpecs\": {}}}",
        "{\"spec\": {\"workerGroupSpecs\": [1, null, \"x\"]}}",
        "{\"metadata\": [], \"spec\": null}"};

    (void)state;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        json_t *c = read_json(odd[i]);
        char *text = text_of(c, NULL);

        assert_non_null(text);
        free(text);
        json_decref(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_settings_count),
        cmocka_unit_test(block_goes_over_the_annotation),
        cmocka_unit_test(mistakes_are_told),
        cmocka_unit_test(odd_objects),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
