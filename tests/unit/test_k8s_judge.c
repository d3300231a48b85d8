/*
 * test_k8s_judge.c - how the plug-in k8s judges pods, and its note of launches:
 * the pure parts, compiled in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "../../providers/k8s/annotation.c"
#include "../../providers/k8s/judge.c"

static const struct patience patience = {
    .now_ms = 1795269600000, /* 2026-11-21T14:00:00Z */
    .unschedulable_ms = 600000,
    .gate_ms = 5000,
    .trouble_ms = 120000};

static struct pod judge(const char *json)
{
    struct pod p = {0};
    json_t *j = json_loads(json, 0, NULL);

    assert_non_null(j);
    pod_judge(j, &patience, &p);
    json_decref(j);
    return p;
}

static void time_without_a_node(void **state)
{
#define UNSCHEDULABLE(at) \
    "{\"status\": {\"phase\": \"Pending\", \"conditions\": [{\"type\": " \
    "\"PodScheduled\", \"status\": \"False\", \"reason\": \"Unschedulable\", " \
    "\"message\": \"0/5 nodes are available\", \"lastTransitionTime\": \"" at \
    "\"}]}}"
    struct pod p = judge(UNSCHEDULABLE("2026-11-21T13:55:00Z"));

    (void)state;
    assert_int_equal(p.phase, DAVIT_STARTING);
    assert_non_null(strstr(p.detail, "0/5 nodes are available"));
    p = judge(UNSCHEDULABLE("2026-11-21T13:49:00Z"));
    assert_int_equal(p.phase, DAVIT_FAILED);
    assert_int_equal(p.failure, DAVIT_STOCKOUT);
    /* A clock that is behind ours by a bit is no reason to fail. */
    p = judge(UNSCHEDULABLE("2026-11-21T14:10:00Z"));
    assert_int_equal(p.phase, DAVIT_STARTING);
}

static void image_texts_do_not_flip(void **state)
{
#define WAITING(why) \
    "{\"spec\": {\"nodeName\": \"n\"}, \"status\": {\"phase\": \"Pending\", " \
    "\"containerStatuses\": [{\"name\": \"ray\", \"image\": \"x:1\", " \
    "\"state\": {\"waiting\": {\"reason\": \"" why "\"}}}]}}"
    struct pod a = judge(WAITING("ErrImagePull"));
    struct pod b = judge(WAITING("ImagePullBackOff"));

    (void)state;
    assert_string_equal(a.detail, b.detail);
    assert_non_null(strstr(a.detail, "x:1"));
    assert_int_equal(a.phase, DAVIT_STARTING);
}

static struct pod judge_since(const char *json, int64_t for_ms)
{
    struct patience w = patience;
    struct pod p = {0};
    json_t *j = json_loads(json, 0, NULL);

    assert_non_null(j);
    w.troubled_ms = w.now_ms - for_ms;
    pod_judge(j, &w, &p);
    json_decref(j);
    return p;
}

/* What kubelet calls a mistake fails by its name: at once, or when it lasts. */
static void mistakes_fail(void **state)
{
    static const char *const lasting[] = {
        WAITING("ErrImagePull"),         WAITING("ImagePullBackOff"),
        WAITING("RegistryUnavailable"),  WAITING("CreateContainerConfigError"),
        WAITING("CreateContainerError"), WAITING("RunContainerError"),
        WAITING("CrashLoopBackOff")};
    static const char *const at_once[] = {WAITING("InvalidImageName"),
                                          WAITING("ErrImageNeverPull")};
    struct pod p;

    (void)state;
    for (size_t i = 0; i < sizeof lasting / sizeof *lasting; i++) {
        p = judge(lasting[i]);
        assert_int_equal(p.phase, DAVIT_STARTING);
        assert_true(p.troubled);
        assert_int_equal(judge_since(lasting[i], 119000).phase, DAVIT_STARTING);
        p = judge_since(lasting[i], 121000);
        assert_int_equal(p.phase, DAVIT_FAILED);
        assert_int_equal(p.failure, DAVIT_RETRY);
    }
    for (size_t i = 0; i < sizeof at_once / sizeof *at_once; i++)
        assert_int_equal(judge(at_once[i]).phase, DAVIT_FAILED);
    p = judge_since(WAITING("ContainerCreating"), 3600000);
    assert_int_equal(p.phase, DAVIT_STARTING);
    assert_false(p.troubled);
}

/* The third crash is no accident; a log shipper's is not the raylet's. */
static void crashes_fail(void **state)
{
#define CRASHES_OF(name, n) \
    "{\"spec\": {\"nodeName\": \"n\", \"containers\": [{\"name\": " \
    "\"ray\"}, {\"name\": \"logs\"}]}, \"status\": {\"phase\": " \
    "\"Running\", \"containerStatuses\": [{\"name\": \"" name \
    "\", \"restartCount\": " #n ", \"state\": {\"waiting\": " \
    "{\"reason\": \"CrashLoopBackOff\"}}}]}}"
    struct pod p = judge(CRASHES_OF("ray", 2));

    (void)state;
    assert_int_equal(p.phase, DAVIT_STARTING);
    p = judge(CRASHES_OF("ray", 3));
    assert_int_equal(p.phase, DAVIT_FAILED);
    assert_non_null(strstr(p.detail, "container ray: CrashLoopBackOff"));
    p = judge_since(CRASHES_OF("logs", 30), 3600000);
    assert_int_equal(p.phase, DAVIT_STARTING);
    assert_false(p.troubled);
}

static void being_deleted_is_stopping(void **state)
{
    struct pod p = judge("{\"metadata\": {\"deletionTimestamp\": \"x\"}, "
                         "\"status\": {\"phase\": \"Running\"}}");

    (void)state;
    assert_true(p.going);
    assert_int_equal(p.phase, DAVIT_STOPPING);
}

static void odd_pods(void **state)
{
    static const char *const odd[] = {
        "{}",
        "{\"status\": []}",
        "{\"status\": {\"phase\": 3}}",
        "{\"status\": {\"phase\": \"Pending\", \"conditions\": {}}}",
        "{\"spec\": {\"schedulingGates\": [1]}, \"status\": {\"phase\": "
        "\"Pending\"}}",
        "{\"status\": {\"phase\": \"Running\", \"containerStatuses\": [null]}}"};

    (void)state;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        judge(odd[i]);
}

static void operators_trouble(void **state)
{
    char text[200];
    int status;
    json_t *c = json_loads(
        "{\"status\": {\"conditions\": [{\"type\": \"ReplicaFailure\", "
        "\"status\": \"True\", \"reason\": \"FailedCreateWorkerPod\", "
        "\"message\": \"pods is forbidden: exceeded quota: gpus\"}]}}",
        0, NULL);

    (void)state;
    cluster_judge(c, text, sizeof text, &status);
    assert_int_equal(status, DAVIT_QUOTA);
    assert_non_null(strstr(text, "exceeded quota: gpus"));
    json_decref(c);
    c = json_object();
    cluster_judge(c, text, sizeof text, &status);
    assert_int_equal(status, DAVIT_OK);
    assert_string_equal(text, "");
    json_decref(c);
}

static json_t *annotation_from(const char *note)
{
    json_t *c = json_pack("{s:{s:{s:s}}}", "metadata", "annotations",
                          ANNOTATION, note);
    json_t *book = annotation_read(c);

    json_decref(c);
    return book;
}

static void annotation_survives_nonsense(void **state)
{
    static const char *const odd[] = {
        "",
        "[]",
        "{\"requests\": 3}",
        "{x",
        "{\"requests\": {\"r\": 1}}",
        "{\"requests\": {\"r\": {\"left\": -5}}}"};

    (void)state;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        json_t *book = annotation_from(odd[i]);

        assert_int_equal(annotation_left(book, "r"), 0);
        annotation_less(book, "r");
        annotation_cancel(book, "x");
        assert_true(annotation_cancelled(book, "x"));
        annotation_prune(book, 0);
        json_decref(book);
    }
}

static void annotation_is_bounded(void **state)
{
    json_t *book = annotation_from("{}");
    char id[40];
    char *text;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        snprintf(id, sizeof id, "davit-%020d", i);
        annotation_add(book, id, "a-group-with-quite-a-long-name", 1000, 1);
        snprintf(id, sizeof id, "promised.davit-%020d.0", i);
        annotation_cancel(book, id);
    }
    annotation_prune(book, 2);
    assert_true(annotation_known(book, "davit-00000000000000000999"));
    assert_false(annotation_known(book, "davit-00000000000000000000"));
    text = json_dumps(book, JSON_COMPACT);
    assert_true(strlen(text) < 100000); /* of 262144 an object may have */
    free(text);
    /* An hour later only some are remembered. */
    annotation_prune(book, 2 * 3600 * INT64_C(1000));
    assert_true(json_object_size(json_object_get(book, "requests")) <= 32);
    json_decref(book);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_without_a_node),
        cmocka_unit_test(mistakes_fail),
        cmocka_unit_test(crashes_fail),
        cmocka_unit_test(image_texts_do_not_flip),
        cmocka_unit_test(being_deleted_is_stopping),
        cmocka_unit_test(odd_pods),
        cmocka_unit_test(operators_trouble),
        cmocka_unit_test(annotation_survives_nonsense),
        cmocka_unit_test(annotation_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
