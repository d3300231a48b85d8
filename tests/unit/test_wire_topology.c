/*
 * test_wire_topology.c - pods that mind others by zone, rack and host, with the
 * node types known: the worlds of which the scheduler said otherwise than we
 * did.  What a world comes to is written as "2 in z-a", "1 nowhere".
 */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include "pods_world.h"

#include <time.h>

#define HOST "kubernetes.io/hostname"
#define ZONE "topology.kubernetes.io/zone"
#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define TERM(key, app, more) \
    "{'topologyKey': '" key \
    "', 'labelSelector': {'matchLabels': {'app': '" app "'}}" more "}"
#define ANTI(key, app) \
    ", 'affinity': {'podAntiAffinity': {'" REQUIRED \
    "': [" TERM(key, app, "") "]}}"
#define WITH(terms) \
    ", 'affinity': {'podAffinity': {'" REQUIRED "': [" terms "]}}"
#define SPREAD(key, app, skew, more) \
    ", 'topologySpreadConstraints': [{'maxSkew': " skew \
    ", 'topologyKey': '" key "', 'whenUnsatisfiable': 'DoNotSchedule', 'label" \
    "Selector': {'matchLabels': {'app': '" app "'}}" more "}]"
#define APP(app) ", 'app': '" app "'"
#define MICROS(dollars) ((int64_t)((dollars)*1e6))

enum { TYPES = 4, OFFERS = 4, ZONES_LEN = 32 };

struct types {
    struct snap_type v[TYPES];
    struct snap_offer offers[TYPES][OFFERS];
    struct pair labels[TYPES];
    struct qty cpu[TYPES];
    char zones[TYPES][ZONES_LEN];
    uint32_t n;
};

/* zones: "z-a z-b" */
static struct snap_type *type(struct types *t, const char *name, int cpu,
                              double price, const char *zones)
{
    uint32_t i = t->n++;
    char *at = t->zones[i], *zone;

    assert_true(snprintf(at, ZONES_LEN, "%s", zones) < ZONES_LEN);
    t->cpu[i] = (struct qty){"CPU", cpu * AMOUNT_ONE};
    t->v[i] = (struct snap_type){.name = name,
                                 .resources = {&t->cpu[i], 1},
                                 .max = 10,
                                 .offers = t->offers[i]};
    while ((zone = strsep(&at, " ")))
        t->offers[i][t->v[i].n_offers++] = (struct snap_offer){
            .zone = zone,
            .room = UNLIMITED,
            .price_micros_hour = MICROS(price)};
    return &t->v[i];
}

static void labelled(struct types *t, const char *key, const char *value)
{
    t->labels[t->n - 1] = (struct pair){key, value};
    t->v[t->n - 1].labels = (struct pairs){&t->labels[t->n - 1], 1};
}

static void pods(struct world *w, const char *app, int n, const char *cpu,
                 const char *more)
{
    for (int i = 0; i < n; i++)
        put(w, pods_put, false,
            "{'metadata': {'name': '%s-%d', 'uid': '%s-%d', 'namespace': 'ns', "
            "'labels': {'app': '%s'}, 'ownerReferences': [{'kind': "
            "'ReplicaSet', 'name': '%s', 'controller': true}]}, 'spec': "
            "{'containers': [{'resources': {'requests': {'cpu': '%s'}}}]%s}, "
            "'status': {'phase': 'Pending', 'conditions': [{'type': "
            "'PodScheduled', 'status': 'False', 'reason': 'Unschedulable'}]}}",
            app, i, app, i, app, app, cpu, more);
}

static void full(struct world *w, const char *name, const char *zone,
                 const char *labels, const char *pod_labels)
{
    node(w, name, "4", zone, labels, "");
    bound(w, name, name, "4", pod_labels, "");
}

static const struct snap_demand *settle(struct world *w, struct types *t,
                                        const char *owner)
{
    struct arena *a = &view(w)->arena;
    struct snap_node *nodes = ARENA_ARRAY(a, struct snap_node,
                                          w->view->n_nodes);
    struct snap_type *types = ARENA_ARRAY(a, struct snap_type, t->n);
    const struct snap_demand *d;

    for (uint32_t i = 0; i < w->view->n_nodes; i++) {
        const struct source_node *n = &w->view->nodes[i];

        nodes[i] = (struct snap_node){.id = n->node_id,
                                      .type = "",
                                      .zone = n->zone,
                                      .state = STATE_READY,
                                      .unmanaged = true,
                                      .total = n->total,
                                      .available = n->available,
                                      .labels = n->labels,
                                      .taints = n->taints};
    }
    for (uint32_t i = 0; i < t->n; i++) {
        types[i] = t->v[i];
        pods_type_fit(w->view, NULL, 0, (struct pods_cloud){.labels = {0}}, a,
                      &types[i]);
    }
    d = pods_demands_settle(w->view, a,
                            &(struct snapshot){.types = types,
                                               .n_types = t->n,
                                               .nodes = nodes,
                                               .n_nodes = w->view->n_nodes,
                                               .now_ms = 1});
    for (uint32_t i = 0; i < w->view->n_demands; i++, d++)
        if (strstr(d->id, owner))
            return d;
    fail_msg("no demand of %s", owner);
    return NULL;
}

static const char *place_text(const struct snap_alt *a, char *to, size_t n)
{
    int at = 0;

    *to = '\0';
    for (uint32_t i = 0; i < a->selector.n; i++) {
        const struct term *t = &a->selector.v[i];

        if (strncmp(t->key, "place", 5) == 0)
            return "nowhere";
        at += snprintf(to + at, n - (size_t)at, "%s%s", at ? " " : "",
                       t->op == TERM_IN ? "in" : "not in");
        for (uint32_t k = 0; k < t->values.n; k++)
            at += snprintf(to + at, n - (size_t)at, " %s", t->values.v[k]);
    }
    return at ? to : "anywhere";
}

static void come_to(struct world *w, struct types *t, const char *owner,
                    const char *wanted)
{
    const struct snap_demand *d = settle(w, t, owner);
    char place[300];
    struct buf b;

    buf_init(&b, 4096);
    for (uint32_t i = 0; i < d->n_bundles; i++)
        buf_printf(&b, "%s%u %s", i ? ", " : "", d->bundles[i].count,
                   place_text(&d->bundles[i].alts[0], place, sizeof place));
    if (strcmp(b.n ? b.s : "", wanted) != 0)
        fail_msg("it comes to \"%s\", not \"%s\"", b.n ? b.s : "", wanted);
    buf_done(&b);
}

static int64_t left(struct world *w, const char *name, const char *part)
{
    const struct source_node *n = node_of(w->view, name);

    for (uint32_t i = 0; i < n->available.n; i++)
        if (strstr(n->available.v[i].name, part))
            return n->available.v[i].amount / AMOUNT_ONE;
    return -1;
}

static int64_t fresh(struct world *w, struct types *t, uint32_t type,
                     const char *part)
{
    struct snap_type x = t->v[type];

    pods_type_fit(w->view, NULL, 0, (struct pods_cloud){.labels = {0}},
                  &w->view->arena, &x);
    for (uint32_t i = 0; i < x.resources.n; i++)
        if (strstr(x.resources.v[i].name, part))
            return x.resources.v[i].amount;
    return 0;
}

#define WORLD \
    struct world w; \
    struct types t = {.n = 0}; \
    (void)state; \
    world_begin(&w); \
    (void)t

/* ---- 4: any label is a topology key */

static void test_racks(void **state)
{
    WORLD;
    type(&t, "t", 4, 0.2, "z-a");
    labelled(&t, "rack", "r1");
    type(&t, "u", 4, 0.3, "z-a");
    labelled(&t, "rack", "r2");
    pods(&w, "w", 2, "1", ANTI("rack", "w"));
    come_to(&w, &t, "w", "1 in r1, 1 in r2");
    pods(&w, "w", 3, "1", ANTI("rack", "w"));
    come_to(&w, &t, "w", "1 in r1, 1 in r2, 1 nowhere");
    world_end(&w);
}

static void test_a_rack_that_stays_empty_bounds_the_spread(void **state)
{
    WORLD;
    type(&t, "t", 4, 0.2, "z-a");
    labelled(&t, "rack", "r1");
    type(&t, "u", 4, 0.3, "z-a");
    labelled(&t, "rack", "r2");
    full(&w, "old", "z-a", ", 'rack': 'r2'", "");
    /* two machines, one of each, would do too, and cost more */
    pods(&w, "w", 4, "1", SPREAD("rack", "w", "1", ""));
    come_to(&w, &t, "w", "4 in r2");
    pods(&w, "w", 8, "1", SPREAD("rack", "w", "1", ""));
    come_to(&w, &t, "w", "4 in r1, 4 in r2");
    world_end(&w);
}

static void test_nodes_without_the_key(void **state)
{
    WORLD;
    type(&t, "t", 4, 0.2, "z-a");
    type(&t, "u", 4, 0.3, "z-a");
    labelled(&t, "rack", "r2");
    pods(&w, "w", 2, "1", SPREAD("rack", "w", "1", ""));
    come_to(&w, &t, "w", "2 in r2");
    pods(&w, "w", 2, "1", WITH(TERM("rack", "w", "")));
    come_to(&w, &t, "w", "2 in r2");
    world_end(&w);
}

static void test_beside_and_apart_by_rack(void **state)
{
    WORLD;
    type(&t, "t", 4, 0.2, "z-a");
    full(&w, "old", "z-a", ", 'rack': 'r2'", APP("db"));
    pods(&w, "w", 1, "1", WITH(TERM("rack", "db", "")));
    come_to(&w, &t, "w", "1 in r2");
    pods(&w, "w", 1, "1", ANTI("rack", "db"));
    come_to(&w, &t, "w", "1 not in r2");
    bound(&w, "loner", "old", "0", APP("x"), ANTI("rack", "w"));
    pods(&w, "w", 1, "1", "");
    come_to(&w, &t, "w", "1 not in r2");
    world_end(&w);
}

/* ---- 5: namespaces by their labels */

static void test_namespace_selector(void **state)
{
    WORLD;
    type(&t, "t", 4, 0.2, "z-a z-b z-c");
    put(&w, spaces_put, false,
        "{'metadata': {'name': 'ns', 'labels': {'team': 'green'}}}");
    put(&w, spaces_put, false,
        "{'metadata': {'name': 'blue', 'labels': {'team': 'blue'}}}");
    node(&w, "old-0", "4", "z-b", "", "");
    node(&w, "old-1", "4", "z-c", "", "");
    bound(&w, "db", "old-0", "4", APP("db"), "");
    put(&w, pods_put, false,
        "{'metadata': {'name': 'db2', 'uid': 'db2', 'namespace': 'blue', "
        "'labels': {'app': 'db'}}, 'spec': {'nodeName': 'old-1', 'containers': "
        "[{'resources': {'requests': {'cpu': '4'}}}]}, 'status': {'phase': "
        "'Running'}}");
    pods(
        &w, "w", 1, "1",
        WITH(TERM(ZONE, "db",
                  ", 'namespaceSelector': {'matchLabels': {'team': 'blue'}}")));
    come_to(&w, &t, "w", "1 in z-c");
    w.store.hides_spaces = true; /* as if all were meant */
    come_to(&w, &t, "w", "1 in z-b z-c");
    world_end(&w);
}

/* ---- 6: which zone, of several */

static void test_the_zone_where_there_is_room(void **state)
{
    WORLD;
    type(&t, "tiny", 1, 0.05, "z-a");
    type(&t, "t", 4, 0.2, "z-b");
    pods(&w, "w", 1, "2", ANTI(ZONE, "w"));
    come_to(&w, &t, "w", "1 in z-b");
    world_end(&w);
}

static void test_all_in_one_zone(void **state)
{
    WORLD;
    type(&t, "a", 4, 0.2, "z-a")->max = 1;
    type(&t, "b", 4, 0.2, "z-b")->max = 1;
    pods(&w, "w", 4, "2", WITH(TERM(ZONE, "w", "")));
    come_to(&w, &t, "w", "2 in z-a, 2 nowhere");
    t.v[1].max = UNLIMITED;
    come_to(&w, &t, "w", "4 in z-b");
    world_end(&w);
}

/* ---- 7: spread over hosts */

static void test_full_nodes_bound_new_ones(void **state)
{
    WORLD;
    type(&t, "t", 4, 0.2, "z-a");
    node(&w, "old-0", "2", "z-a", "", "");
    node(&w, "old-1", "1", "z-a", "", "");
    pods(&w, "w", 8, "1", SPREAD(HOST, "w", "1", ""));
    view(&w);
    assert_int_equal(left(&w, "old-0", "spread"), 2);
    assert_int_equal(fresh(&w, &t, 0, "spread"), 2 * AMOUNT_ONE);
    world_end(&w);
}

static void test_no_node_bounds_nothing(void **state)
{
    WORLD;
    type(&t, "t", 4, 0.2, "z-a");
    pods(&w, "w", 9, "1", SPREAD(HOST, "w", "1", ""));
    view(&w);
    assert_int_equal(fresh(&w, &t, 0, "spread"), 0);
    assert_int_equal(w.view->demands[0].bundles[0].count, 9);
    /* with minDomains at least so many nodes come to be */
    pods(&w, "w", 9, "1", SPREAD(HOST, "w", "1", ", 'minDomains': 4"));
    view(&w);
    assert_int_equal(fresh(&w, &t, 0, "spread"), 3 * AMOUNT_ONE);
    world_end(&w);
}

static void test_tainted_nodes_are_domains(void **state)
{
    static const char tainted[] =
        "{'metadata': {'name': 'old-0', 'labels': {'disk': 'hdd'}}, 'spec': "
        "{'taints': [{'key': 'x', 'effect': 'NoSchedule'}]}, 'status': "
        "{'allocatable': {'cpu': '4', 'pods': '110'}, 'conditions': [{'type': "
        "'Ready', 'status': 'True'}]}}";
    WORLD;
    put(&w, nodes_put, false, tainted);
    node(&w, "old-1", "4", "z-a", ", 'disk': 'ssd'", "");
    pods(&w, "w", 3, "1", SPREAD(HOST, "w", "1", ""));
    view(&w);
    assert_int_equal(left(&w, "old-1", "spread"), 1);
    pods(&w, "w", 3, "1",
         SPREAD(HOST, "w", "1", ", 'nodeTaintsPolicy': 'Honor'"));
    view(&w);
    assert_int_equal(left(&w, "old-1", "spread"), 5);
    /* nodes that its selector leaves out, likewise */
    pods(&w, "w", 3, "1",
         SPREAD(HOST, "w", "1",
                ", 'nodeTaintsPolicy': 'Honor'") ", 'nodeSelector': {'disk': "
                                                 "'ssd'}, 'tolerations': "
                                                 "[{'operator': 'Exists'}]");
    view(&w);
    assert_int_equal(left(&w, "old-1", "spread"), 5);
    pods(&w, "w", 3, "1",
         SPREAD(HOST, "w", "1",
                ", 'nodeAffinityPolicy': 'Ignore'") ", 'nodeSelector': {'disk'"
                                                    ": 'ssd'}, 'tolerations': "
                                                    "[{'operator': 'Exists'}]");
    view(&w);
    assert_int_equal(left(&w, "old-1", "spread"), 1);
    world_end(&w);
}

static void test_spread_relative_to_others(void **state)
{
    WORLD;
    type(&t, "t", 4, 0.2, "z-a");
    node(&w, "old-0", "8", "z-a", "", "");
    bound(&w, "db0", "old-0", "1", APP("db"), "");
    bound(&w, "db1", "old-0", "1", APP("db"), "");
    full(&w, "old-1", "z-a", "", "");
    pods(&w, "w", 1, "1", SPREAD(HOST, "db", "1", ""));
    view(&w);
    assert_int_equal(left(&w, "old-0", "spread"), 0);
    assert_true(fresh(&w, &t, 0, "spread") > 0);
    world_end(&w);
}

/* ---- 8: spread over zones */

static void test_zones_that_cannot_have_it_are_none(void **state)
{
    WORLD;
    type(&t, "cpu", 4, 0.2, "z-a z-b");
    type(&t, "big", 16, 0.9, "z-a");
    pods(&w, "w", 3, "8", SPREAD(ZONE, "w", "1", ""));
    come_to(&w, &t, "w", "3 in z-a");
    t.offers[1][0].closed = true;
    come_to(&w, &t, "w", "3 nowhere");
    world_end(&w);
}

/* Nodes that are bought join together: what the cheap zone takes before another one
 * is opened must be even with it. */
static void test_zones_that_join_together_are_even(void **state)
{
    for (int few = 0; few < 2; few++) {
        WORLD;
        type(&t, "small", 2, 0.08, "z-c")->max = 4;
        type(&t, "large", 4, 0.2, few ? "z-a" : "z-a z-c");
        full(&w, "old-0", "z-c", "", "");
        pods(&w, "w", 5, "2", SPREAD(ZONE, "w", "1", ""));
        come_to(&w, &t, "w", few ? "3 in z-c, 2 in z-a" : "5 in z-c");
        world_end(&w);
    }
}

static void test_min_domains_of_zones(void **state)
{
    WORLD;
    type(&t, "t", 4, 0.2, "z-a z-b z-c");
    pods(&w, "w", 6, "3", SPREAD(ZONE, "w", "1", ", 'minDomains': 4"));
    come_to(&w, &t, "w", "1 in z-a, 1 in z-b, 1 in z-c, 3 nowhere");
    world_end(&w);
}

static void test_a_zone_that_is_stuck(void **state)
{
    WORLD;
    type(&t, "t", 4, 0.2, "z-a");
    full(&w, "old", "z-b", "", "");
    pods(&w, "w", 6, "1", SPREAD(ZONE, "w", "1", ""));
    come_to(&w, &t, "w", "1 in z-a, 5 nowhere");
    world_end(&w);
}

static void test_whole_machines_are_spread(void **state)
{
    WORLD;
    type(&t, "t", 4, 0.2, "z-a z-b z-c");
    pods(&w, "w", 6, "3", SPREAD(ZONE, "w", "1", ""));
    come_to(&w, &t, "w", "2 in z-a, 2 in z-b, 2 in z-c");
    world_end(&w);
}

/* What is opened in a zone that is too small would leave the others waiting. */
static void test_no_zone_is_opened_in_vain(void **state)
{
    WORLD;
    type(&t, "a", 4, 0.2, "z-a")->max = 1;
    type(&t, "b", 4, 0.2, "z-b");
    pods(&w, "w", 8, "2", SPREAD(ZONE, "w", "1", ""));
    come_to(&w, &t, "w", "8 in z-b");
    world_end(&w);
}

static void test_who_ends_is_not_counted(void **state)
{
    WORLD;
    type(&t, "t", 4, 0.2, "z-a");
    full(&w, "old-0", "z-b", "", APP("w"));
    node(&w, "old-1", "4", "z-a", "", "");
    put(&w, pods_put, false,
        "{'metadata': {'name': 'e', 'uid': 'e', 'namespace': 'ns', 'labels': "
        "{'app': 'w'}, 'deletionTimestamp': '2026-01-01T00:00:00Z'}, 'spec': "
        "{'nodeName': 'old-1', 'containers': [{'resources': {'requests': "
        "{'cpu': '1'}}}]}, 'status': {'phase': 'Running'}}");
    pods(&w, "w", 2, "1", SPREAD(ZONE, "w", "1", ""));
    come_to(&w, &t, "w", "2 in z-a");
    world_end(&w);
}

static void test_spread_over_the_market(void **state)
{
    WORLD;
    struct snap_type *x = type(&t, "t", 4, 0.2, "z-a z-a");
    t.offers[0][1].spot = true;
    t.offers[0][1].price_micros_hour = MICROS(0.05);
    (void)x;
    full(&w, "old", "z-a", ", 'eks.amazonaws.com/capacityType': 'ON_DEMAND'",
         "");
    pods(&w, "w", 4, "3",
         SPREAD("eks.amazonaws.com/capacityType", "w", "1", ""));
    come_to(&w, &t, "w", "2 in on-demand, 2 in spot");
    world_end(&w);
}

/* ---- 12: pods of one host that are too many for one */

static void test_as_many_as_one_host_takes(void **state)
{
    WORLD;
    type(&t, "t", 4, 0.2, "z-a");
    pods(&w, "w", 5, "1", WITH(TERM(HOST, "w", "")));
    const struct snap_demand *d = settle(&w, &t, "w");
    assert_int_equal(d->n_bundles, 2);
    assert_int_equal(d->bundles[0].count, 1); /* four of them */
    assert_true(amount(d->bundles[0].alts[0].resources, "CPU") == 4);
    assert_int_equal(d->bundles[1].count, 1);
    world_end(&w);
}

/* ---- 15: a pod counts for affinity when all terms mean it */

static void test_terms_of_affinity_together(void **state)
{
    WORLD;
    type(&t, "t", 4, 0.2, "z-a z-b");
    full(&w, "old", "z-b", "", APP("a"));
    bound(&w, "b", "old", "0", APP("b"), "");
    pods(&w, "w", 1, "1", WITH(TERM(ZONE, "a", "") ", " TERM(ZONE, "b", "")));
    view(&w);
    assert_int_equal(w.view->n_demands, 0);
    assert_string_equal(w.view->notes[0].code, "PodAffinity");
    world_end(&w);
}

/* ---- 2, 3: DaemonSets of a new node */

#define DAEMON(more, template_more) \
    "{'metadata': {'name': 'agent', 'namespace': 'ns'}, 'spec': {'template': " \
    "{'metadata': {'labels': {'app': 'agent'}}, 'spec': {'tolerations': " \
    "[{'operator': 'Exists'}], 'containers': [{'resources': {'requests': " \
    "{'cpu': '100m'}}" more "}]" template_more "}}}}"

static void test_apart_from_an_agent(void **state)
{
    WORLD;
    type(&t, "t", 4, 0.2, "z-a");
    labelled(&t, "kind", "t");
    type(&t, "u", 4, 0.3, "z-a");
    put(&w, daemons_put, false, DAEMON("", ", 'nodeSelector': {'kind': 't'}"));
    pods(&w, "w", 1, "1", ANTI(HOST, "agent"));
    view(&w);
    assert_int_equal(fresh(&w, &t, 0, "apart"), 0);
    assert_true(fresh(&w, &t, 1, "apart") > 0);
    pods(&w, "w", 1, "1", WITH(TERM(HOST, "agent", "")));
    view(&w);
    assert_int_equal(w.view->n_demands, 1);
    assert_true(fresh(&w, &t, 0, "together") > 0);
    assert_int_equal(fresh(&w, &t, 1, "together"), 0);
    world_end(&w);
}

static void test_an_agent_that_keeps_away(void **state)
{
    WORLD;
    type(&t, "t", 4, 0.2, "z-a");
    put(&w, daemons_put, false, DAEMON("", ANTI(HOST, "w")));
    pods(&w, "w", 1, "1", "");
    view(&w);
    assert_int_equal(fresh(&w, &t, 0, "apart"), 0);
    assert_true(w.view->demands[0].bundles[0].alts[0].resources.n > 2);
    world_end(&w);
}

static void test_an_agents_host_port(void **state)
{
    static const char port[] =
        ", 'initContainers': [{'restartPolicy': 'Always', 'ports': "
        "[{'hostPort': 8080}]}]";
    static const char one[] =
        ", 'initContainers': [{'restartPolicy': 'Always', 'ports': "
        "[{'hostPort': 8080, 'hostIP': '10.0.0.1'}]}]";
    WORLD;
    type(&t, "t", 4, 0.2, "z-a");
    pods(&w, "w", 1, "1", port);
    view(&w);
    assert_int_equal(fresh(&w, &t, 0, "port 8080"), AMOUNT_ONE);
    put(&w, daemons_put, false,
        DAEMON(", 'ports': [{'containerPort': 8080}]",
               ", 'hostNetwork': true"));
    view(&w);
    assert_int_equal(fresh(&w, &t, 0, "port 8080"), 0);
    put(&w, daemons_put, true, DAEMON("", ""));
    /* at another address: beside each other, and not beside all addresses */
    node(&w, "n", "4", "z-a", "", "");
    bound(&w, "b", "n", "0", "",
          ", 'initContainers': [{'restartPolicy': 'Always', 'ports': "
          "[{'hostPort': 8080, 'hostIP': '10.0.0.2'}]}]");
    view(&w);
    assert_int_equal(left(&w, "n", "port 8080"), 0);
    pods(&w, "w", 1, "1", one);
    view(&w);
    const struct source_node *n = node_of(w.view, "n");
    assert_true(pods_amount(&n->available, "host port 8080/TCP") > 0);
    assert_true(pods_amount(&n->available, "host port 10.0.0.1:8080/TCP") > 0);
    world_end(&w);
}

/* Of the first type's first offer, by the pods v. */
static bool less_is_tolerated(struct world *w, struct types *t)
{
    const struct snap_demand *d = settle(w, t, "ReplicaSet/ns/v");
    struct snap_type x = t->v[0]; /* the taints are the view's of now */

    pods_type_fit(w->view, NULL, 0, (struct pods_cloud){.labels = {0}},
                  &w->view->arena, &x);
    return pods_tolerated(&d->bundles[0].alts[0].tolerations,
                          &x.offers[0].taints);
}

static void test_daemonsets_of_a_zone(void **state)
{
    WORLD;
    type(&t, "t", 4, 0.2, "z-a z-b");
    put(&w, daemons_put, false,
        "{'metadata': {'name': 'agent', 'namespace': 'ns'}, 'spec': "
        "{'template': {'spec': {'nodeSelector': {'" ZONE
        "': 'z-a'}, 'containers': [{'resources': {'requests': {'cpu': "
        "'2'}}}]}}}}");
    pods(&w, "w", 1, "3", "");
    pods(&w, "v", 1, "1", "");
    const struct snap_demand *d = settle(&w, &t, "w");
    struct snap_type x = t.v[0];
    pods_type_fit(w.view, NULL, 0, (struct pods_cloud){.labels = {0}},
                  &w.view->arena, &x);
    assert_true(amount(x.resources, "CPU") == 4);
    assert_int_equal(x.offers[0].taints.n, 1);
    assert_int_equal(x.offers[1].taints.n, 0);
    assert_false(pods_tolerated(&d->bundles[0].alts[0].tolerations,
                                &x.offers[0].taints));
    /* it fits there too, and need not go where there is less */
    assert_false(less_is_tolerated(&w, &t));
    /* ... unless that is cheaper, or it is bound to that zone */
    t.offers[0][0].price_micros_hour = MICROS(0.1);
    assert_true(less_is_tolerated(&w, &t));
    t.offers[0][0].price_micros_hour = MICROS(0.2);
    t.offers[0][1].closed = true;
    assert_true(less_is_tolerated(&w, &t));
    t.offers[0][1].closed = false;
    pods(&w, "v", 1, "1", ", 'nodeSelector': {'" ZONE "': 'z-a'}");
    assert_true(less_is_tolerated(&w, &t));
    world_end(&w);
}

/* ---- 6: what a new node will be, and who says so */

static const char *value(const struct snap_type *t, const char *key)
{
    const char *v = pairs_value(&t->labels, key);

    return v ? v : "";
}

static void test_labels_in_their_order(void **state)
{
    struct pair cloud[] = {{"team", "ml"},
                           {"kubernetes.io/arch", "arm64"},
                           {"topology.kubernetes.io/zone", "z"}};
    struct pair own[] = {{"team", "mine"}, {"disk", "ssd"}};
    WORLD;
    struct snap_type *x = type(&t, "t", 4, 0.2, "us-east-1a us-east-1b");
    pods(&w, "w", 1, "1",
         ", 'affinity': {'nodeAffinity': {'" REQUIRED
         "': {'nodeSelectorTerms': [{'matchExpressions': [{'key': "
         "'kubernetes.io/hostname', 'operator': 'Exists'}]}]}}}");
    x->labels = (struct pairs){own, 2};
    view(&w);
    pods_type_fit(w.view, NULL, 0, (struct pods_cloud){.labels = {cloud, 3}},
                  &w.view->arena, x);
    assert_string_equal(value(x, "team"), "ml");
    assert_string_equal(value(x, "disk"), "ssd");
    assert_string_equal(value(x, "kubernetes.io/arch"), "arm64");
    assert_string_equal(value(x, ZONE), "");
    assert_string_equal(value(x, "topology.kubernetes.io/region"), "us-east-1");
    assert_string_equal(value(x, "kubernetes.io/hostname exists"), "true");
    assert_string_equal(pairs_value(&x->origins, "label team"), "its provider");
    assert_string_equal(pairs_value(&x->origins, "label disk"),
                        "the configuration");
    assert_string_equal(pairs_value(&x->origins, "label kubernetes.io/os"),
                        "a guess: what is usual");
    x = type(&t, "u", 4, 0.2, "z");
    x->machine = "my.big"; /* a name that tells nothing */
    x->arch = "arm64";
    pods_type_fit(w.view, NULL, 0, (struct pods_cloud){.labels = {0}},
                  &w.view->arena, x);
    assert_string_equal(value(x, "kubernetes.io/arch"), "arm64");
    assert_string_equal(pairs_value(&x->origins, "label kubernetes.io/arch"),
                        "the catalogue");
    world_end(&w);
}

/* What the cloud does not tell of an image is said to be unknown until a node
 * lives; what it tells goes before the node, which may have an older one. */
static void test_labels_of_an_image(void **state)
{
#define POOL "kubernetes.azure.com/agentpool"
#define IMAGE "kubernetes.azure.com/node-image-version"
    struct pair cloud[] = {{POOL, "gpu"}, {IMAGE, "3"}};
    const struct source_node *living;
    struct snap_type *x;
    WORLD;

    x = type(&t, "t", 4, 0.2, "");
    node(&w, "n", "4", "z", ", '" IMAGE "': '1', '" POOL "': 'gpu'", "");
    view(&w);
    living = node_of(w.view, "n");
    for (uint32_t told = 1; told <= 2; told++)
        for (uint32_t lives = 0; lives <= 1; lives++) {
            const char *has = told == 2 ? "3" : lives ? "1" : "";

            x->labels = (struct pairs){0};
            pods_type_fit(w.view, &living, lives,
                          (struct pods_cloud){.labels = {cloud, told}},
                          &w.view->arena, x);
            assert_string_equal(value(x, IMAGE), has);
            assert_string_equal(pairs_value(&x->origins, "label " IMAGE),
                                told == 2 ? "its provider"
                                : lives
                                    ? "living nodes of the type"
                                    : "unknown until a node of the type lives");
        }
    x->labels = (struct pairs){0};
    pods_type_fit(w.view, NULL, 0, (struct pods_cloud){.labels = {0}},
                  &w.view->arena, x);
    assert_null(pairs_value(&x->origins, "label " IMAGE));
    world_end(&w);
#undef POOL
#undef IMAGE
}

static void test_architectures(void **state)
{
    static const char *const arm[] = {
        "c7g.xlarge",     "m7gd.large",       "im4gn.large",
        "g5g.xlarge",     "a1.medium",        "t2a-standard-4",
        "c4a-standard-8", "Standard_D4ps_v5", "Standard_ND128isr_NDR_GB200_v6"};
    static const char *const x86[] = {
        "g5.xlarge",        "p5.48xlarge",   "c7i.large",
        "n1-standard-8+t4", "a2-highgpu-1g", "Standard_D4s_v5",
        "mine.big",         "g4dn.xlarge",   "Standard_NC24ads_A100_v4"};
    struct arena a = {0};
    (void)state;

    for (size_t i = 0; i < sizeof arm / sizeof *arm; i++)
        if (strcmp(machine_arch(arm[i]), "arm64") != 0)
            fail_msg("%s is Arm", arm[i]);
    for (size_t i = 0; i < sizeof x86 / sizeof *x86; i++)
        if (*machine_arch(x86[i]))
            fail_msg("%s is not Arm", x86[i]);
    assert_string_equal(machine_region(&a, "us-west1-b"), "us-west1");
    assert_string_equal(machine_region(&a, "westeurope-2"), "westeurope");
    assert_string_equal(machine_region(&a, "eu-central-1c"), "eu-central-1");
    assert_string_equal(machine_region(&a, "z-a"), "");
    assert_string_equal(machine_region(&a, "rack1"), "");
    arena_done(&a);
}

/* ---- 4: taints of a node's start */

static void with_taint(struct world *w, const char *key)
{
    put(w, nodes_put, false,
        "{'metadata': {'name': 'n', 'creationTimestamp': "
        "'2100-01-01T00:00:00Z'}, 'spec': {'taints': [%s%s%s]}, 'status': "
        "{'allocatable': {'cpu': '4', 'pods': '110'}, 'conditions': [{'type': "
        "'Ready', 'status': 'True'}]}}",
        *key ? "{'effect': 'NoSchedule', 'key': '" : "", key, *key ? "'}" : "");
    view(w);
}

static void test_taints_of_a_start(void **state)
{
    WORLD;
    with_taint(&w, "example.com/driver-not-ready");
    assert_int_equal(node_of(w.view, "n")->taints.n, 0);
    with_taint(&w, "readiness.k8s.io/network");
    assert_int_equal(node_of(w.view, "n")->taints.n, 0);
    with_taint(&w, "example.com/other");
    assert_int_equal(node_of(w.view, "n")->taints.n, 1);
    /* it has been up: what comes back is no start */
    with_taint(&w, "");
    with_taint(&w, "example.com/driver-not-ready");
    assert_int_equal(node_of(w.view, "n")->taints.n, 1);
    world_end(&w);
}

static void test_taints_of_a_types_start(void **state)
{
    static const struct pair of[] = {{"t4", "example.com/driver*"},
                                     {"cpu", "example.com/other"}};
    struct pods_rules more = rules;
    WORLD;
    more.type_startup = (struct pairs){of, 2};
    w.store.rules = &more;
    /* a node that does not say its type may be of any */
    with_taint(&w, "example.com/driver-missing");
    assert_int_equal(node_of(w.view, "n")->taints.n, 0);
    with_taint(&w, "example.com/other");
    assert_int_equal(node_of(w.view, "n")->taints.n, 0);
    with_taint(&w, "example.com/third");
    assert_int_equal(node_of(w.view, "n")->taints.n, 1);
    for (int i = 0; i < 2; i++) {
        put(&w, nodes_put, false,
            "{'metadata': {'name': 'm', 'labels': {'davit.io/node-type': "
            "'t4'}, 'creationTimestamp': '2100-01-01T00:00:00Z'}, 'spec': "
            "{'taints': [{'effect': 'NoSchedule', 'key': '%s'}]}, 'status': "
            "{'allocatable': {'cpu': '4'}, 'conditions': [{'type': 'Ready', "
            "'status': 'True'}]}}",
            i ? "example.com/other" : "example.com/driver-x");
        view(&w);
        assert_int_equal(node_of(w.view, "m")->taints.n, i);
    }
    world_end(&w);
}

/* ---- 6: what a kubelet leaves to pods, as the cloud tells it */

static void test_the_cloud_tells_what_a_kubelet_leaves(void **state)
{
    static const struct qty told[] = {
        {"pods", 29 * AMOUNT_ONE},
        {"ephemeral-storage", INT64_C(17) * (AMOUNT_ONE << 30)},
        {"hugepages-2Mi", INT64_C(2) * (AMOUNT_ONE << 30)}};
    struct snap_type *x;
    WORLD;
    x = type(&t, "t", 4, 0.2, "z-a");
    view(&w);
    pods_type_fit(w.view, NULL, 0, (struct pods_cloud){.resources = {told, 3}},
                  &w.view->arena, x);
    assert_true(amount(x->resources, "pods") == 29);
    assert_true(amount(x->resources, "ephemeral-storage") == 17.0 * (1 << 30));
    assert_true(amount(x->resources, "hugepages-2Mi") == 2147483648.0);
    assert_string_equal(pairs_value(&x->origins, "pods"), "its provider");
    x = type(&t, "u", 4, 0.2, "z-a");
    pods_type_fit(w.view, NULL, 0, (struct pods_cloud){.labels = {0}},
                  &w.view->arena, x);
    assert_true(amount(x->resources, "pods") == 110);
    assert_string_equal(pairs_value(&x->origins, "pods"),
                        "a guess: what is usual");
    world_end(&w);
}

/* A machine of one's own: who has set up its kubelet knows what it keeps. */
static void test_the_file_tells_what_a_kubelet_keeps(void **state)
{
    static const struct qty kept[] = {{"CPU", AMOUNT_ONE / 10},
                                      {"memory", AMOUNT_ONE << 30}};
    const struct pods_cloud said = {.kept = {kept, 2}};
    struct snap_type *x;
    WORLD;
    w.reserve = true;
    node(&w, "n", "3", "z-a", "", "");
    view(&w);
    x = type(&t, "t", 4, 0.2, "z-a");
    pods_type_fit(w.view, NULL, 0, (struct pods_cloud){.labels = {0}},
                  &w.view->arena, x);
    assert_true(amount(x->resources, "CPU") < 3.93); /* GKE's rule */
    x = type(&t, "u", 4, 0.2, "z-a");
    pods_type_fit(w.view, NULL, 0, said, &w.view->arena, x);
    assert_true(amount(x->resources, "CPU") == 3.9);
    /* what a living node shows goes over it */
    const struct source_node *like = node_of(w.view, "n");
    x = type(&t, "v", 4, 0.2, "z-a");
    pods_type_fit(w.view, &like, 1, said, &w.view->arena, x);
    assert_true(amount(x->resources, "CPU") == 3);
    world_end(&w);
}

/* ---- 14 of the field: static pods */

static void test_static_pods_of_its_like(void **state)
{
    const struct source_node *like[2];
    struct snap_type *x;
    WORLD;
    x = type(&t, "t", 4, 0.2, "z-a");
    for (int i = 0; i < 2; i++) {
        char name[8];

        snprintf(name, sizeof name, "n%d", i);
        node(&w, name, "4", "z-a", "", "");
        put(&w, pods_put, false,
            "{'metadata': {'name': 'kube-proxy-%s', 'uid': 'p%d', 'namespace': "
            "'kube-system', 'annotations': {'kubernetes.io/config.mirror': "
            "'x'}}, 'spec': {'nodeName': '%s', 'containers': [{'resources': "
            "{'requests': {'cpu': '%s'}}}]}, 'status': {'phase': 'Running'}}",
            name, i, name, i ? "1500m" : "1");
    }
    view(&w);
    like[0] = node_of(w.view, "n0");
    like[1] = node_of(w.view, "n1");
    pods_type_fit(w.view, like, 2, (struct pods_cloud){.labels = {0}},
                  &w.view->arena, x);
    assert_true(amount(x->resources, "CPU") == 3);
    assert_true(amount(x->resources, "pods") == 109);
    world_end(&w);
}

/* ---- 7 of the field: pods that are resized in place */

static void test_resized(void **state)
{
    WORLD;
    node(&w, "n1", "4", "z-a", "", "");
    put(&w, pods_put, false,
        "{'metadata': {'name': 'r', 'uid': 'r', 'namespace': 'ns'}, 'spec': "
        "{'nodeName': 'n1', 'containers': [{'name': 'c', 'resources': "
        "{'requests': {'cpu': '1'}}}]}, 'status': {'phase': 'Running', "
        "'containerStatuses': [{'name': 'c', 'allocatedResources': {'cpu': "
        "'3'}, 'resources': {'requests': {'cpu': '3'}}}]}}");
    view(&w);
    assert_true(amount(node_of(w.view, "n1")->available, "CPU") == 1);
    world_end(&w);
}

/* ---- 8: Volcano */

static void test_volcano(void **state)
{
    WORLD;
    json_t *o = parse("{'metadata': {'name': 'pg1', 'namespace': 'ns'}, "
                      "'spec': {'minMember': 2}}");
    groups_put(&w.store.volcano, o, false);
    json_decref(o);
    for (int i = 0; i < 4; i++)
        put(&w, pods_put, false,
            "{'metadata': {'name': 'w%d', 'uid': 'w%d', 'namespace': 'ns', "
            "'annotations': {'scheduling.k8s.io/group-name': 'pg1'}}, 'spec': "
            "{'containers': [{'resources': {'requests': {'cpu': '3'}}}]}, "
            "'status': {'phase': 'Pending', 'conditions': [{'type': "
            "'PodScheduled', 'status': 'False', 'reason': '%s'}]}}",
            i, i,
            i == 0   ? "Schedulable"
            : i == 1 ? "Undetermined"
                     : "Unschedulable");
    view(&w);
    assert_int_equal(w.view->n_demands, 2);
    assert_int_equal(w.view->demands[0].source, SOURCE_GANG);
    assert_int_equal(w.view->demands[0].bundles[0].count, 2);
    assert_int_equal(w.view->demands[1].bundles[0].count, 2);
    world_end(&w);
}

static void into(struct records *r, void (*to)(void *, const json_t *, bool),
                 const char *text)
{
    json_t *o = parse(text);

    to(r, o, false);
    json_decref(o);
}

/* A queue has room for some of them, for fewer than must run together, is not
 * open. */
static void test_volcanos_queues(void **state)
{
    static const struct {
        const char *capability, *state;
        uint32_t gang, others, waits;
    } cases[] = {{"{'cpu': '16'}", "Open", 2, 2, 0},
                 {"{'cpu': '13'}", "Open", 2, 1, 1},
                 {"{'cpu': '9'}", "Open", 0, 0, 4},
                 {"{'memory': '0'}", "Open", 2, 2, 0},
                 {"{'nvidia.com/gpu': '0'}", "Open", 2, 2, 0},
                 {"{}", "Closed", 0, 0, 4}};

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const struct source_view *v;
        char text[300];
        uint32_t gang = 0, others = 0, waits = 0;
        struct world w;

        world_begin(&w);
        snprintf(text, sizeof text,
                 "{'metadata': {'name': 'q'}, 'spec': {'capability': %s}, "
                 "'status': {'state': '%s', 'allocated': {'cpu': '4'}}}",
                 cases[c].capability, cases[c].state);
        into(&w.store.queues, queues_put, text);
        into(&w.store.volcano, groups_put,
             "{'metadata': {'name': 'pg1', 'namespace': 'ns'}, 'spec': "
             "{'minMember': 2, 'queue': 'q'}}");
        for (int i = 0; i < 4; i++)
            put(&w, pods_put, false,
                "{'metadata': {'name': 'w%d', 'uid': 'w%d', 'namespace': 'ns', "
                "'annotations': {'scheduling.k8s.io/group-name': 'pg1'}}, "
                "'spec': {'containers': [{'resources': {'requests': {'cpu': "
                "'3'}}}]}, 'status': {'phase': 'Pending', 'conditions': "
                "[{'type': 'PodScheduled', 'status': 'False', 'reason': "
                "'Unschedulable'}]}}",
                i, i);
        v = view(&w);
        for (uint32_t i = 0; i < v->n_demands; i++)
            *(v->demands[i].source == SOURCE_GANG ? &gang : &others) +=
                v->demands[i].bundles[0].count;
        for (uint32_t i = 0; i < v->n_counts; i++)
            if (strcmp(v->counts[i].code, "PodGroup") == 0)
                waits += v->counts[i].n;
        assert_int_equal(gang, cases[c].gang);
        assert_int_equal(others, cases[c].others);
        assert_int_equal(waits, cases[c].waits);
        world_end(&w);
    }
}

#define CONDITION(type, status, at, message) \
    "{'type': '" type "', 'status': '" status "', 'lastTransitionTime': " \
    "'2026-11-20T10:00:" at \
    "Z', 'reason': 'NotEnoughResources', 'message': '" message "'}"

/* What Volcano says of a group is shown, unless it has said later that the group
 * is scheduled. */
static void test_volcanos_word(void **state)
{
    static const struct {
        const char *min, *conditions, *demand, *note;
    } cases[] = {
        {"2", CONDITION("Unschedulable", "True", "05", "2/2 tasks in gang"),
         "2/2 tasks in gang", NULL},
        {"9", CONDITION("Unschedulable", "True", "05", "9/2 tasks in gang"),
         NULL,
         "its pod group ns/pg1 needs 9 pods together: 0 run and 2 wait; the "
         "scheduler says: 9/2 tasks in gang"},
        {"9", CONDITION("Unschedulable", "True", "05", ""), NULL,
         "its pod group ns/pg1 needs 9 pods together: 0 run and 2 wait; the "
         "scheduler says: NotEnoughResources"},
        {"2",
         CONDITION("Unschedulable", "True", "05", "of before") ", " CONDITION(
             "Scheduled", "True", "06", "ready"),
         "of one", NULL},
        {"2",
         CONDITION("Scheduled", "True", "05", "ready") ", " CONDITION(
             "Unschedulable", "True", "06", "of now"),
         "of now", NULL},
        {"9", CONDITION("Unschedulable", "False", "05", "of before"), NULL,
         "its pod group ns/pg1 needs 9 pods together: 0 run and 2 wait"},
        {"2", "{'type': 'OfTomorrow', 'status': 'True'}, 5", "of one", NULL},
    };

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const struct source_view *v;
        char text[800];
        struct world w;

        world_begin(&w);
        snprintf(text, sizeof text,
                 "{'metadata': {'name': 'pg1', 'namespace': 'ns'}, 'spec': "
                 "{'minMember': %s}, 'status': {'phase': 'Pending', "
                 "'conditions': [%s]}}",
                 cases[c].min, cases[c].conditions);
        into(&w.store.volcano, groups_put, text);
        for (int i = 0; i < 2; i++)
            put(&w, pods_put, false,
                "{'metadata': {'name': 'w%d', 'uid': 'w%d', 'namespace': 'ns', "
                "'annotations': {'scheduling.k8s.io/group-name': 'pg1'}}, "
                "'spec': {'containers': [{'resources': {'requests': {'cpu': "
                "'3'}}}]}, 'status': {'phase': 'Pending', 'conditions': "
                "[{'type': 'PodScheduled', 'status': 'False', 'reason': "
                "'Unschedulable', 'message': 'of one'}]}}",
                i, i);
        v = view(&w);
        assert_int_equal(v->n_demands, cases[c].demand ? 1 : 0);
        if (cases[c].demand)
            assert_string_equal(v->demands[0].said, cases[c].demand);
        assert_int_equal(v->n_notes, cases[c].note ? 1 : 0);
        if (cases[c].note)
            assert_string_equal(v->notes[0].text, cases[c].note);
        world_end(&w);
    }
}

static int64_t cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

/* 200 shapes, one in eight of them spread over zones, on 1,000 nodes. */
static void test_pass_time(void **state)
{
    static const char *const zones[] = {"z-a", "z-b", "z-c"};
    int64_t begun, viewed, settled;
    char name[32], cpu[32];
    WORLD;

    type(&t, "t", 64, 0.2, "z-a z-b z-c");
    type(&t, "u", 16, 0.1, "z-a z-b");
    t.v[0].max = t.v[1].max = UNLIMITED;
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "n%d", i);
        node(&w, name, "8", zones[i % 3], "", "");
    }
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "w%d", i);
        snprintf(cpu, sizeof cpu, "%dm", 1000 + i);
        pods(&w, name, 50, cpu, i % 8 ? "" : SPREAD(ZONE, "w0", "1", ""));
    }
    begun = cpu_us();
    view(&w);
    viewed = cpu_us();
    settle(&w, &t, "w0");
    settled = cpu_us();
    printf("10,000 pods of 200 shapes on 1,000 nodes: view %lld us, another "
           "and what was settled %lld us\n",
           (long long)(viewed - begun), (long long)(settled - viewed));
    assert_int_equal(w.view->n_demands, 200);
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_racks),
        cmocka_unit_test(test_a_rack_that_stays_empty_bounds_the_spread),
        cmocka_unit_test(test_nodes_without_the_key),
        cmocka_unit_test(test_beside_and_apart_by_rack),
        cmocka_unit_test(test_namespace_selector),
        cmocka_unit_test(test_the_zone_where_there_is_room),
        cmocka_unit_test(test_all_in_one_zone),
        cmocka_unit_test(test_full_nodes_bound_new_ones),
        cmocka_unit_test(test_no_node_bounds_nothing),
        cmocka_unit_test(test_tainted_nodes_are_domains),
        cmocka_unit_test(test_spread_relative_to_others),
        cmocka_unit_test(test_zones_that_cannot_have_it_are_none),
        cmocka_unit_test(test_zones_that_join_together_are_even),
        cmocka_unit_test(test_min_domains_of_zones),
        cmocka_unit_test(test_a_zone_that_is_stuck),
        cmocka_unit_test(test_whole_machines_are_spread),
        cmocka_unit_test(test_no_zone_is_opened_in_vain),
        cmocka_unit_test(test_who_ends_is_not_counted),
        cmocka_unit_test(test_spread_over_the_market),
        cmocka_unit_test(test_as_many_as_one_host_takes),
        cmocka_unit_test(test_terms_of_affinity_together),
        cmocka_unit_test(test_apart_from_an_agent),
        cmocka_unit_test(test_an_agent_that_keeps_away),
        cmocka_unit_test(test_an_agents_host_port),
        cmocka_unit_test(test_daemonsets_of_a_zone),
        cmocka_unit_test(test_labels_in_their_order),
        cmocka_unit_test(test_labels_of_an_image),
        cmocka_unit_test(test_architectures),
        cmocka_unit_test(test_taints_of_a_start),
        cmocka_unit_test(test_taints_of_a_types_start),
        cmocka_unit_test(test_static_pods_of_its_like),
        cmocka_unit_test(test_the_cloud_tells_what_a_kubelet_leaves),
        cmocka_unit_test(test_the_file_tells_what_a_kubelet_keeps),
        cmocka_unit_test(test_resized),
        cmocka_unit_test(test_volcano),
        cmocka_unit_test(test_volcanos_queues),
        cmocka_unit_test(test_volcanos_word),
        cmocka_unit_test(test_pass_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
