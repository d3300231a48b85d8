/*
 * test_wire_coming.c - a node that has just come: the pods of its DaemonSets
 * follow, and are minded before they are there.
 */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include "pods_world.h"

#define HOST "kubernetes.io/hostname"
#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define BY_HOST(kind, app) \
    ", 'affinity': {'" kind "': {'" REQUIRED "': [{'topologyKey': '" HOST \
    "', 'labelSelector': {'matchLabels': {'app': '" app "'}}}]}}"

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

static void agent(const char *more)
{
    put(&w, daemons_put, false,
        "{'metadata': {'name': 'agent', 'namespace': 'ns'}, 'spec': "
        "{'template': {'metadata': {'labels': {'app': 'agent'}}, 'spec': "
        "{'containers': [{'resources': {'requests': {'cpu': '1'}}}]%s}}}}",
        more);
}

static void agent_comes(const char *node)
{
    put(&w, pods_put, false,
        "{'metadata': {'name': 'agent-1', 'uid': 'agent-1', 'namespace': 'ns', "
        "'labels': {'app': 'agent'}, 'ownerReferences': [{'kind': 'DaemonSet', "
        "'name': 'agent', 'controller': true}]}, 'spec': {'nodeName': '%s', "
        "'containers': [{'resources': {'requests': {'cpu': '1'}}}]}, "
        "'status': {'phase': 'Running'}}",
        node);
}

static double cpus(void)
{
    return amount(node_of(view(&w), "n")->available, "CPU");
}

static int64_t has(const char *part)
{
    const struct source_node *n = node_of(view(&w), "n");

    for (uint32_t i = 0; i < n->available.n; i++)
        if (strstr(n->available.v[i].name, part))
            return n->available.v[i].amount;
    return -1;
}

static void takes_its_room(void **state)
{
    (void)state;
    agent("");
    node(&w, "n", "4", "z-a", "", "");
    assert_true(cpus() == 4); /* nobody waits */
    pending(&w, "p", "4", "", "");
    assert_true(cpus() == 3);
    agent_comes("n");
    assert_true(cpus() == 3);
    put(&w, daemons_put, true,
        "{'metadata': {'name': 'agent', 'namespace': 'ns'}, 'spec': "
        "{'template': {'spec': {}}}}");
    assert_true(cpus() == 3); /* it still runs */
}

static void not_where_it_does_not_run(void **state)
{
    (void)state;
    agent(", 'nodeSelector': {'disk': 'ssd'}");
    node(&w, "n", "4", "z-a", "", "");
    pending(&w, "p", "4", "", "");
    assert_true(cpus() == 4);
    node(&w, "n", "4", "z-a", ", 'disk': 'ssd'", "");
    assert_true(cpus() == 3);
}

/* The scheduler has had its time: it does not come. */
static void is_not_waited_for(void **state)
{
    (void)state;
    agent("");
    node(&w, "n", "4", "z-a", "", "");
    pending(&w, "p", "4", "", "");
    assert_true(cpus() == 3);
    w.now_ms += 16000;
    assert_true(cpus() == 4);
}

static void others_lie_beside_it(void **state)
{
    (void)state;
    agent("");
    node(&w, "n", "4", "z-a", "", "");
    pending(&w, "p", "3", "", BY_HOST("podAffinity", "agent"));
    assert_true(has("together-host") > 0);
    agent_comes("n");
    assert_true(has("together-host") > 0);
}

static void others_keep_away(void **state)
{
    (void)state;
    agent("");
    node(&w, "n", "4", "z-a", "", "");
    pending(&w, "p", "3", "", BY_HOST("podAntiAffinity", "agent"));
    assert_int_equal(has("apart-host"), 0);
}

/* Who was there first keeps it away, so that it is not to be lain beside. */
static void is_kept_away(void **state)
{
    (void)state;
    agent(BY_HOST("podAntiAffinity", "w"));
    node(&w, "n", "4", "z-a", "", "");
    bound(&w, "first", "n", "1", ", 'app': 'w'", "");
    pending(&w, "p", "3", "", BY_HOST("podAffinity", "agent"));
    assert_true(cpus() == 3);
    assert_int_equal(w.view->n_demands, 1);
    assert_int_equal(has("together-host"), 0);
}

static void has_no_room_left(void **state)
{
    (void)state;
    agent("");
    node(&w, "n", "4", "z-a", "", "");
    bound(&w, "first", "n", "3500m", "", "");
    pending(&w, "p", "400m", "", "");
    assert_true(cpus() == 0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)
        TEST(takes_its_room),    TEST(not_where_it_does_not_run),
        TEST(is_not_waited_for), TEST(others_lie_beside_it),
        TEST(others_keep_away),  TEST(is_kept_away),
        TEST(has_no_room_left),
    };

    return cmocka_run_group_tests_name("wire coming", tests, NULL, NULL);
}
