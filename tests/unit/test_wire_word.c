/*
 * test_wire_word.c - the scheduler's word: is it about what is there now?  Played:
 * the scheduler binds in bursts, is behind, and its words and nodes come in any
 * order.
 */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include "pods_world.h"

static struct world w;

static int start(void **state)
{
    (void)state;
    world_begin(&w);
    w.now_ms = clock_mono_ms();
    return 0;
}

static int stop(void **state)
{
    (void)state;
    world_end(&w);
    return 0;
}

static void node_is(const char *name, unsigned version, bool ready)
{
    put(&w, nodes_put, false,
        "{'metadata': {'name': '%s', 'resourceVersion': '%u'}, 'status': "
        "{'allocatable': {'cpu': '8', 'memory': '32Gi', 'pods': '110'}, "
        "'conditions': [{'type': 'Ready', 'status': '%s'}]}}",
        name, version, ready ? "True" : "False");
}

static void says(const char *pod, unsigned version, const char *text)
{
    put(&w, pods_put, false,
        "{'metadata': {'name': '%s', 'uid': 'u-%s', 'namespace': 'ns', "
        "'resourceVersion': '%u'}, 'spec': {'containers': [{'resources': "
        "{'requests': {'cpu': '4'}}}]}, 'status': {'conditions': [{'type': "
        "'PodScheduled', 'status': 'False', 'reason': 'Unschedulable', "
        "'message': '%s'}]}}",
        pod, pod, version, text);
}

/* So long after what has happened so far. */
static void later(int64_t ms)
{
    w.now_ms = clock_mono_ms() + ms;
    view(&w);
}

/* A Ready node that has had its time has no room for it. */
static bool is_believed(void)
{
    return pods_amount(&w.view->demands[0].bundles[0].alts[0].resources,
                       UNTRIED_RESOURCE) > 0;
}

static bool is_room(const char *name)
{
    return amount(node_of(w.view, name)->available, UNTRIED_RESOURCE) > 0;
}

static void seen_before(const char *node, int64_t ms)
{
    struct knode *k = (struct knode *)records_find(&w.store.nodes, node);

    k->came_ms -= ms;
    k->touched_ms -= ms;
}

static void said_before(const char *pod, int64_t ms)
{
    ((struct pod *)records_find(&w.store.pods, pod))->shape->said_ms -= ms;
}

/* It knew of the node, and has not tried it since it is Ready. */
static void a_word_from_before_it_was_ready(void **state)
{
    (void)state;
    node_is("n", 100, false);
    says("a", 110, "0/1 nodes are available: 1 node(s) were not ready");
    said_before("u-a", 5);
    node_is("n", 120, true);
    later(30000);
    assert_false(is_room("n")); /* by the time that has passed */
    assert_false(is_believed());
    says("a", 130, "0/1 nodes are available: 1 Insufficient cpu");
    later(30000);
    assert_true(is_believed());
}

/* The word came first, and is the later one. */
static void a_later_word_that_came_first(void **state)
{
    (void)state;
    node_is("n", 100, false);
    says("a", 130, "0/1 nodes are available: 1 Insufficient cpu");
    said_before("u-a", 5);
    node_is("n", 120, true);
    later(30000);
    assert_true(is_believed());
}

static void it_is_not_waited_for_for_ever(void **state)
{
    (void)state;
    node_is("n", 100, false);
    says("a", 110, "0/1 nodes are available: 1 node(s) were not ready");
    said_before("u-a", 5);
    node_is("n", 120, true);
    later(130000);
    assert_true(is_believed());
}

/* No such pod would fit it, so that it says nothing else of it. */
static void a_node_without_room_is_no_news(void **state)
{
    (void)state;
    node_is("n", 100, false);
    says("a", 110, "0/1 nodes are available: 1 node(s) were not ready");
    said_before("u-a", 5);
    node_is("n", 120, true);
    bound(&w, "b", "n", "5", "", "");
    later(60000);
    assert_true(is_believed());
}

/* Nodes that a start finds are as old as they say. */
static void nodes_of_a_start(void **state)
{
    (void)state;
    says("a", 110, "0/1 nodes are available: 1 Insufficient cpu");
    said_before("u-a", 5);
    put(&w, nodes_put, false,
        "{'metadata': {'name': 'n', 'resourceVersion': '900', "
        "'creationTimestamp': '2026-01-01T00:00:00Z'}, 'status': "
        "{'allocatable': {'cpu': '8'}, 'conditions': [{'type': 'Ready', "
        "'status': 'True', 'lastTransitionTime': '2026-01-01T00:00:00Z'}]}}");
    later(30000);
    assert_true(is_believed());
}

/* Thirty pods in a moment, three seconds' pause, again: a tenth of a second each. */
static void binds_in_bursts(void **state)
{
    int64_t now = clock_mono_ms() - 60000;

    (void)state;
    for (int burst = 0; burst < 20; burst++) {
        for (int i = 0; i < 30; i++)
            scheduler_bound(&w.store, 0, now++);
        now += 2970;
    }
    scheduler_bound(&w.store, 0, now);
    node_is("n", 100, true);
    seen_before("n", 20000);
    for (int i = 0; i < 50; i++) {
        char name[8];

        snprintf(name, sizeof name, "p%d", i);
        says(name, 110, "0/1 nodes are available: 1 Insufficient cpu");
    }
    later(0);
    assert_true(is_room("n")); /* 20 s, of 15 s and 50 pods' time */
    later(120000);
    assert_false(is_room("n"));
}

/* What it could not have bound before is no pause. */
static void binds_what_has_just_come(void **state)
{
    int64_t now = clock_mono_ms() - 120000;

    (void)state;
    for (int i = 0; i < 100; i++, now += 1000)
        scheduler_bound(&w.store, now - 1, now);
    assert_true(w.store.pace_us < 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)
        TEST(a_word_from_before_it_was_ready),
        TEST(a_later_word_that_came_first),
        TEST(it_is_not_waited_for_for_ever),
        TEST(a_node_without_room_is_no_news),
        TEST(nodes_of_a_start),
        TEST(binds_in_bursts),
        TEST(binds_what_has_just_come),
    };

    return cmocka_run_group_tests_name("wire word", tests, NULL, NULL);
}
