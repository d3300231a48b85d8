/*
 * test_wire_pods.c - pods, nodes and DaemonSets to a view.
 *
 * kube/pods.json holds pods as a real API server gave them back and what is
 * expected of each (kube/record.py makes it).  The rest builds small clusters
 * and looks at demands, nodes and types.
 */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <cmocka.h>

#include "../../autoscaler/base/buf.h"
#include "../../autoscaler/base/clock.h"
#include "../../autoscaler/model/accel.h"
#include "../../autoscaler/model/amount.h"
#include "../../autoscaler/wire/pods/inside.h"

#include "pods_world.h"

/* ---- the table */

static const char *const states[] = {"over", "bound", "waits", "demand"};

static char *alts_text(const struct pod_shape *s, uint32_t i, struct arena *a)
{
    char *text = arena_strdup(a, "");
    for (uint32_t k = 0; k < s->alts[i].n; k++)
        text = arena_printf(a, "%s%s%s", text, k ? " & " : "",
                            pods_req_text(&s->alts[i].v[k], a));
    return text;
}

static bool tolerates(const struct pod_shape *s, const char *key)
{
    for (uint32_t i = 0; i < s->tolerations.n; i++)
        if (strcmp(s->tolerations.v[i].key, key) == 0)
            return true;
    return false;
}

static void needs_check(const char *what, const struct pod_shape *s,
                        const json_t *wanted)
{
    const char *name;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)wanted, name, v) {
        double has = amount_to_double(pods_amount(&s->needs, name));
        if (has != json_number_value(v))
            fail_msg("%s: needs %g of %s, not %g", what, has, name,
                     json_number_value(v));
    }
    if (s->needs.n != json_object_size(wanted))
        fail_msg("%s: %u resources, not %zu", what, s->needs.n,
                 json_object_size(wanted));
}

static void shape_check(const char *what, const struct pod_shape *s,
                        const json_t *e)
{
    static const char *const kinds[] = {"anti", "with", "spread", "port"};
    struct arena a = {0};
    const json_t *alts = json_object_get(e, "alts");
    const json_t *affinities = json_object_get(e, "aparts");
    const char *key = json_string_value(json_object_get(e, "tolerates"));
    const char *not = json_string_value(json_object_get(e, "intolerant"));
    if (json_object_get(e, "needs"))
        needs_check(what, s, json_object_get(e, "needs"));
    if (alts && json_array_size(alts) != s->n_alts)
        fail_msg("%s: %u alternatives", what, s->n_alts);
    for (size_t i = 0; i < json_array_size(alts); i++) {
        const char *want = json_string_value(json_array_get(alts, i));
        if (strcmp(alts_text(s, (uint32_t)i, &a), want) != 0)
            fail_msg("%s: \"%s\" and not \"%s\"", what,
                     alts_text(s, (uint32_t)i, &a), want);
    }
    if (json_array_size(affinities) != s->n_affinities)
        fail_msg("%s: %u conditions on other pods", what, s->n_affinities);
    for (uint32_t i = 0; i < s->n_affinities; i++) {
        const struct affinity *x = &s->affinities[i];
        char *text = arena_printf(&a, "%s %s%s", kinds[x->kind],
                                  strstr(x->key, "zone")   ? "zone"
                                  : strstr(x->key, "rack") ? "rack"
                                                           : "host",
                                  x->self ? " self" : "");
        const char *want = json_string_value(json_array_get(affinities, i));
        /* whether it means itself is known in a view only */
        if (strncmp(text, want, strlen(text)) != 0)
            fail_msg("%s: %s", what, text);
    }
    if (key && !tolerates(s, key))
        fail_msg("%s: does not tolerate %s", what, key);
    if (not &&tolerates(s, not ))
        fail_msg("%s: tolerates %s", what, not );
    arena_done(&a);
}

static void row_check(const char *what, const struct pod *p, const json_t *e)
{
    const char *code = json_string_value(json_object_get(e, "code"));
    const char *owner = json_string_value(json_object_get(e, "owner"));
    const char *gang = json_string_value(json_object_get(e, "gang"));
    const char *state = json_string_value(json_object_get(e, "state"));
    if (strcmp(states[p->state], state) != 0)
        fail_msg("%s: %s (%s), not %s", what, states[p->state], p->code, state);
    if (code && strcmp(code, p->code) != 0)
        fail_msg("%s: code %s", what, p->code);
    if (*p->code && !*p->text)
        fail_msg("%s: no text", what);
    if (owner && strcmp(owner, p->owner) != 0)
        fail_msg("%s: owner %s", what, p->owner);
    if (gang && strcmp(gang, p->gang) != 0)
        fail_msg("%s: gang %s", what, p->gang);
    if (gang)
        assert_int_equal(p->gang_size,
                         json_integer_value(json_object_get(e, "gang_size")));
    if (json_object_get(e, "priority"))
        assert_int_equal(p->priority,
                         json_integer_value(json_object_get(e, "priority")));
    if (p->shape && !*p->code)
        shape_check(what, p->shape, e);
}

static void test_table(void **state)
{
    json_error_t e;
    json_t *table = json_load_file("tests/unit/kube/pods.json", 0, &e);
    struct world w;
    (void)state;
    if (!table)
        fail_msg("%s", e.text);
    assert_true(json_array_size(table) >= 40);
    for (size_t i = 0; i < json_array_size(table); i++) {
        const json_t *row = json_array_get(table, i);
        const char *what = json_string_value(json_object_get(row, "what"));
        const json_t *expect = json_object_get(row, "expect");
        world_begin(&w);
        struct pod *p = pods_pod_read(json_object_get(row, "pod"), &rules,
                                      &w.store);
        bool none = strcmp(json_string_value(json_object_get(expect, "state")),
                           "none") == 0;
        if (none != !p)
            fail_msg("%s: %s", what, p ? "taken" : "not taken");
        if (p)
            row_check(what, p, expect);
        pods_put(&w.store.pods, json_object_get(row, "pod"), false);
        view(&w);
        if (p &&
            strcmp(json_string_value(json_object_get(expect, "state")),
                   "demand") == 0 &&
            !json_object_get(expect, "aparts") &&
            !json_object_get(expect, "gang"))
            assert_int_equal(w.view->n_demands, 1);
        pods_pod_free(&w.store, p);
        world_end(&w);
    }
    json_decref(table);
}

static void test_quantities(void **state)
{
    static const struct {
        const char *text;
        int64_t up, down;
    } v[] = {
        {"1", 10000, 10000},
        {"250m", 2500, 2500},
        {"1.5", 15000, 15000},
        {"1n", 1, 0},
        {"100u", 1, 1},
        {"150u", 2, 1},
        {"1Ki", 10240000, 10240000},
        {"1e3", 10000000, 10000000},
        {"12E2", 12000000, 12000000},
        {"5E-1", 5000, 5000},
        {"1Gi", (INT64_C(1) << 30) * 10000, (INT64_C(1) << 30) * 10000},
        {"0", 0, 0},
        {"+3", 30000, 30000},
        {".5", 5000, 5000},
        {"2T", INT64_C(20000000000000000), INT64_C(20000000000000000)},
        {"", -1, -1},
        {"-1", -1, -1},
        {"1.2.3", -1, -1},
        {"1 Gi", -1, -1},
        {"0x10", -1, -1},
        {"nan", -1, -1},
        {"1Ei", -1, -1},
        {"9E", -1, -1},
        {"1e99", -1, -1},
        {"123456789012345678901", -1, -1},
        {"1gi", -1, -1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
        json_t *j = json_string(v[i].text);
        int64_t up = -1, down = -1;
        if (!pods_quantity(j, true, &up))
            up = -1;
        if (!pods_quantity(j, false, &down))
            down = -1;
        if (up != v[i].up || down != v[i].down)
            fail_msg("%s: %lld %lld", v[i].text, (long long)up,
                     (long long)down);
        json_decref(j);
    }
}

/* ---- demands */

#define OWNER(kind, name) \
    "{'metadata': {'ownerReferences': [{'kind': '" kind "', 'name': '" name \
    "', 'controller': true}],"

static void test_equal_pods_cost_one(void **state)
{
    struct world w;
    (void)state;
    world_begin(&w);
    for (int i = 0; i < 4000; i++)
        put(&w, pods_put, false,
            OWNER(
                "Job",
                "j") "'name': 'p%d', 'uid': 'u%d', "
                     "'namespace': 'ns', 'labels': {'index': '%d'}}, 'spec': {"
                     "'containers': [{'resources': {'limits': {'nvidia.com/gpu': 1}}}]},"
                     " 'status': {'conditions': [{'type': 'PodScheduled', 'status': "
                     "'False', 'reason': 'Unschedulable'}]}}",
            i, i, i);
    view(&w);
    assert_int_equal(w.view->n_demands, 1);
    assert_demand(w.view, 0, "Job/ns/j",
                  "4000x{GPU 1, pods 1; davit.io/gpu "
                  "not in amd.com.gpu gpu.intel.com.i915 gpu.intel.com.xe}");
    assert_int_equal(w.view->demands[0].source, SOURCE_POD);
    uint32_t n;
    assert_non_null(pods_of(w.view, 0, &n));
    assert_int_equal(n, 4000);
    assert_int_equal(w.store.shapes.n, 1);
    for (int i = 0; i < 4000; i++)
        put(&w, pods_put, true,
            "{'metadata': {'name': 'p%d', 'uid': 'u%d', "
            "'namespace': 'ns'}, 'spec': {}}",
            i, i);
    view(&w);
    assert_int_equal(w.view->n_demands, 0);
    assert_int_equal(w.store.shapes.n, 0);
    assert_int_equal(w.store.labels.n, 0);
    world_end(&w);
}

/* A node that is Ready and unchanged has no place for what still waits; what
 * changed lately, comes up or waits for its devices may have. */
static void test_the_schedulers_word(void **state)
{
    struct world w;
    (void)state;
    world_begin(&w);
    node(&w, "n1", "8", "z1", "", "");
    pending(&w, "a", "1", "", "");
    w.now_ms = clock_mono_ms();
    view(&w);
    const struct source_node *n = node_of(w.view, "n1");
    assert_true(amount(n->available, UNTRIED_RESOURCE) == 1);
    assert_true(pods_amount(&w.view->demands[0].bundles[0].alts[0].resources,
                            UNTRIED_RESOURCE) > 0);
    assert_string_equal(w.view->demands[0].said, "no room");
    assert_true(w.due > w.now_ms && w.due <= w.now_ms + 20000);
    w.now_ms = w.due;
    view(&w);
    n = node_of(w.view, "n1");
    assert_true(amount(n->total, UNTRIED_RESOURCE) == 0);
    assert_true(amount(n->available, "CPU") == 8);
    /* a scheduler that takes half a second a pod has not come to it yet */
    for (int i = 0; i < 100; i++)
        scheduler_bound(&w.store, 0, w.now_ms - 50000 + i * 500);
    for (int i = 0; i < 20; i++) {
        char name[8];

        snprintf(name, sizeof name, "w%d", i);
        pending(&w, name, "1", "", "");
    }
    view(&w);
    assert_true(amount(node_of(w.view, "n1")->total, UNTRIED_RESOURCE) == 1);
    assert_in_range(w.due - w.now_ms, 9000, 11000);
    w.now_ms = w.due;
    view(&w);
    assert_true(amount(node_of(w.view, "n1")->total, UNTRIED_RESOURCE) == 0);
    for (int i = 0; i < 20; i++)
        put(&w, pods_put, true,
            "{'metadata': {'name': 'w%d', 'uid': 'u-w%d', 'namespace': 'ns'}, "
            "'spec': {'containers': []}}",
            i, i);
    /* something ended there: it may have room now */
    bound(&w, "b", "n1", "1", "", "");
    view(&w);
    assert_true(w.now_ms - clock_mono_ms() > 10000);
    ((struct knode *)records_find(&w.store.nodes, "n1"))->touched_ms = w.now_ms;
    view(&w);
    assert_true(amount(node_of(w.view, "n1")->total, UNTRIED_RESOURCE) == 1);
    /* the scheduler has not come to it yet: it speaks of fewer nodes */
    node(&w, "n0", "8", "z1", "", "");
    put(&w, pods_put, false,
        "{'metadata': {'name': 'a', 'uid': 'u-a', 'namespace': 'ns'}, 'spec': "
        "{'containers': [{'resources': {'requests': {'cpu': '1'}}}]}, "
        "'status': {'conditions': [{'type': 'PodScheduled', 'status': "
        "'False', 'reason': 'Unschedulable', 'message': '0/1 nodes are "
        "available: x'}]}}");
    w.now_ms = clock_mono_ms() + 60000;
    ((struct knode *)records_find(&w.store.nodes, "n1"))->touched_ms = 0;
    view(&w);
    assert_int_equal(
        pods_amount(&w.view->demands[0].bundles[0].alts[0].resources,
                    UNTRIED_RESOURCE),
        0);
    w.now_ms += 120000;
    view(&w);
    assert_true(pods_amount(&w.view->demands[0].bundles[0].alts[0].resources,
                            UNTRIED_RESOURCE) > 0);
    /* its device plug-in is awaited */
    node(&w, "n2", "8", "z1", ", 'nvidia.com/gpu.present': 'true'", "");
    w.now_ms += 3600000;
    view(&w);
    assert_true(amount(node_of(w.view, "n1")->total, UNTRIED_RESOURCE) == 0);
    assert_true(amount(node_of(w.view, "n2")->total, UNTRIED_RESOURCE) == 1);
    world_end(&w);
}

static void test_probes(void **state)
{
    struct world w;
    struct snap_offer offer = {.zone = "z1"};
    struct qty own[] = {{"CPU", 8 * AMOUNT_ONE}, {"GPU", AMOUNT_ONE}};
    struct pair label = {ACCEL_LABEL, "T4"};
    struct snap_type t = {.name = "t",
                          .machine = "n1-standard-8+t4",
                          .resources = {own, 2},
                          .labels = {&label, 1},
                          .offers = &offer,
                          .n_offers = 1};
    (void)state;
    world_begin(&w);
    pending(&w, "a", "1", "",
            ", 'nodeSelector': {'nvidia.com/gpu.product': "
            "'Tesla-T4'}, 'affinity': {'nodeAffinity': {'requiredDuringSched"
            "ulingIgnoredDuringExecution': {'nodeSelectorTerms': [{'match"
            "Expressions': [{'key': 'gen', 'operator': 'Gt', 'values': ['2']},"
            "{'key': 'zz', 'operator': 'DoesNotExist'}]}]}}}");
    node(&w, "n1", "8", "z1",
         ", 'nvidia.com/gpu.product': 'Tesla-T4', "
         "'gen': '3'",
         "");
    node(&w, "n2", "8", "z1",
         ", 'nvidia.com/gpu.product': 'Tesla-V100', "
         "'gen': '2', 'zz': ''",
         "");
    view(&w);
    assert_demand(w.view, 0, "Pod/ns/a",
                  "1x{CPU 1, pods 1; nvidia.com/gpu."
                  "product in (Tesla-T4) in true; gen > 2 in true; zz does not "
                  "exist in true}");
    const struct source_node *n1 = node_of(w.view, "n1");
    const struct source_node *n2 = node_of(w.view, "n2");
    assert_string_equal(pairs_value(&n1->labels, "gen > 2"), "true");
    assert_string_equal(pairs_value(&n1->labels, "nvidia.com/gpu.product in "
                                                 "(Tesla-T4)"),
                        "true");
    assert_string_equal(pairs_value(&n1->labels, "zz does not exist"), "true");
    assert_string_equal(pairs_value(&n1->labels, ACCEL_LABEL), "T4");
    assert_null(pairs_value(&n2->labels, "gen > 2"));
    assert_null(pairs_value(&n2->labels, "zz does not exist"));
    /* a type nobody has seen answers by its accelerator; gen is not known */
    pods_type_fit(w.view, NULL, 0, (struct pods_cloud){.labels = {0}},
                  &w.view->arena, &t);
    assert_string_equal(pairs_value(&t.labels, "nvidia.com/gpu.product in "
                                               "(Tesla-T4)"),
                        "true");
    assert_null(pairs_value(&t.labels, "gen > 2"));
    assert_string_equal(pairs_value(&t.labels, "node.kubernetes.io/instance-"
                                               "type"),
                        "n1-standard-8");
    assert_int_equal(pods_amount(&t.resources, "CPU"), 8 * AMOUNT_ONE);
    /* one that was seen answers by that */
    t.resources = (struct qtys){own, 2};
    t.labels = (struct pairs){&label, 1};
    pods_type_fit(w.view, &n1, 1, (struct pods_cloud){.labels = {0}},
                  &w.view->arena, &t);
    assert_string_equal(pairs_value(&t.labels, "gen > 2"), "true");
    assert_int_equal(pods_amount(&t.resources, "GPU"), AMOUNT_ONE);
    t.resources = (struct qtys){own, 2};
    t.labels = (struct pairs){&label, 1};
    pods_type_fit(w.view, &n2, 1, (struct pods_cloud){.labels = {0}},
                  &w.view->arena, &t);
    assert_null(pairs_value(&t.labels, "nvidia.com/gpu.product in (Tesla-T4)"));
    world_end(&w);
}

static void test_gangs(void **state)
{
    struct world w;
    (void)state;
    world_begin(&w);
    for (int i = 0; i < 3; i++) {
        char name[8];
        snprintf(name, sizeof name, "g%d", i);
        pending(&w, name, "2", ", 'scheduling.x-k8s.io/pod-group': 'g'", "");
        view(&w);
        assert_int_equal(w.view->n_demands, 1); /* all that exist */
    }
    assert_int_equal(w.view->demands[0].source, SOURCE_GANG);
    assert_int_equal(w.view->demands[0].strategy, STRATEGY_PACK);
    assert_demand(w.view, 0, "PodGroup/ns/g", "3x{CPU 2, pods 1}");
    /* the group says four: nothing until the fourth is there */
    put(&w, groups_put, false,
        "{'metadata': {'name': 'g', 'namespace': 'ns'},"
        " 'spec': {'minMember': 4}}");
    view(&w);
    assert_int_equal(w.view->n_demands, 0);
    assert_int_equal(w.view->n_notes, 1);
    assert_string_equal(w.view->notes[0].code, "PodGroup");
    bound(&w, "g3", "n1", "2", ", 'scheduling.x-k8s.io/pod-group': 'g'", "");
    view(&w);
    assert_demand(w.view, 0, "PodGroup/ns/g", "3x{CPU 2, pods 1}");
    /* beyond the least they are pods like others */
    put(&w, groups_put, false,
        "{'metadata': {'name': 'g', 'namespace': 'ns'},"
        " 'spec': {'minMember': 2}}");
    view(&w);
    assert_int_equal(w.view->n_demands, 2);
    assert_demand(w.view, 0, "PodGroup/ns/g", "1x{CPU 2, pods 1}");
    assert_int_equal(w.view->demands[1].source, SOURCE_POD);
    assert_int_equal(w.view->demands[1].bundles[0].count, 2);
    world_end(&w);
}

/* ---- pods that mind one another */

#define ANTI(key, app) \
    ", 'affinity': {'podAntiAffinity': {'requiredDuring" \
    "SchedulingIgnoredDuringExecution': [{'topologyKey': '" key "', 'label" \
    "Selector': {'matchLabels': {'app': '" app "'}}}]}}"
#define WITH(key, app) \
    ", 'affinity': {'podAffinity': {'requiredDuring" \
    "SchedulingIgnoredDuringExecution': [{'topologyKey': '" key "', 'label" \
    "Selector': {'matchLabels': {'app': '" app "'}}}]}}"
#define SPREAD(key, app) \
    ", 'topologySpreadConstraints': [{'maxSkew': 1, " \
    "'topologyKey': '" key "', 'whenUnsatisfiable': 'DoNotSchedule', 'label" \
    "Selector': {'matchLabels': {'app': '" app "'}}}]"
#define HOST "kubernetes.io/hostname"
#define ZONE "topology.kubernetes.io/zone"
#define APP(app) ", 'app': '" app "'"

static const char *column(const struct world *w, uint32_t i)
{
    assert_true(i < w->view->pods->n_columns);
    return w->view->pods->columns[i].name;
}

static void test_one_on_a_host(void **state)
{
    struct world w;
    struct snap_type t = {.name = "t", .n_offers = 0};
    (void)state;
    world_begin(&w);
    node(&w, "free", "8", "z1", "", "");
    node(&w, "taken", "8", "z1", "", "");
    node(&w, "other", "8", "z1", "", "");
    bound(&w, "b", "taken", "1", APP("web"), ANTI(HOST, "web"));
    bound(&w, "c", "other", "1", APP("db"), "");
    pending(&w, "p1", "1", APP("web"), ANTI(HOST, "web"));
    pending(&w, "p2", "1", APP("web"), ANTI(HOST, "web"));
    pending(&w, "q", "1", APP("web"), "");
    view(&w);
    assert_int_equal(w.view->n_demands, 2);
    const char *c = column(&w, 0);
    for (uint32_t i = 0; i < 2; i++) {
        const struct snap_bundle *b = w.view->demands[i].bundles;
        bool pair = b->count == 2; /* two apart; the one that is meant too */
        assert_int_equal(pods_amount(&b->alts[0].resources, c),
                         pair ? AMOUNT_ONE : 1);
    }
    assert_true(amount(node_of(w.view, "free")->available, c) == 1);
    assert_true(amount(node_of(w.view, "taken")->available, c) == 0);
    assert_true(amount(node_of(w.view, "taken")->total, c) == 1);
    assert_true(amount(node_of(w.view, "other")->available, c) == 1);
    pods_type_fit(w.view, NULL, 0, (struct pods_cloud){.labels = {0}},
                  &w.view->arena, &t);
    assert_int_equal(pods_amount(&t.resources, c), AMOUNT_ONE);
    assert_int_equal(pods_amount(&t.resources, "pods"), 110 * AMOUNT_ONE);
    world_end(&w);
}

static void test_host_ports(void **state)
{
    static const char port[] =
        ", 'containers': [{'ports': [{'hostPort': 80}]}]";
    struct world w;
    (void)state;
    world_begin(&w);
    node(&w, "n", "8", "z1", "", "");
    bound(&w, "b", "n", "1", "", port);
    pending(&w, "p", "1", "", port);
    view(&w);
    assert_demand(w.view, 0, "Pod/ns/p", "1x{pods 1, host port 80/TCP 1}");
    assert_true(amount(node_of(w.view, "n")->available, "host port 80/TCP") ==
                0);
    world_end(&w);
}

static void test_kept_away_from_others(void **state)
{
    struct world w;
    (void)state;
    world_begin(&w);
    node(&w, "n1", "8", "z1", "", "");
    node(&w, "n2", "8", "z1", "", "");
    bound(&w, "loner", "n1", "1", APP("loner"), ANTI(HOST, "web"));
    bound(&w, "web", "n2", "1", APP("web"), "");
    pending(&w, "p", "1", APP("web"), ""); /* not beside the loner */
    pending(&w, "q", "1", APP("loner"), ANTI(HOST, "web")); /* nor beside web */
    view(&w);
    assert_int_equal(w.view->pods->n_columns, 3); /* the last: untried */
    for (uint32_t i = 0; i < 2; i++) {
        const char *c = column(&w, i);
        bool from = strstr(c, "-from");
        assert_int_equal(pods_amount(&node_of(w.view, "n1")->available, c),
                         from ? 0 : AMOUNT_ONE);
        assert_int_equal(pods_amount(&node_of(w.view, "n2")->available, c),
                         from ? AMOUNT_ONE : 0);
    }
    world_end(&w);
}

static void test_together(void **state)
{
    struct world w;
    (void)state;
    world_begin(&w);
    node(&w, "n1", "8", "z1", "", "");
    node(&w, "n2", "8", "z1", "", "");
    for (int i = 0; i < 3; i++) {
        char name[8];
        snprintf(name, sizeof name, "p%d", i);
        pending(&w, name, "2", APP("web"), WITH(HOST, "web"));
    }
    pending(&w, "q", "1", APP("x"), WITH(HOST, "nobody"));
    view(&w);
    assert_int_equal(w.view->n_demands, 1);
    assert_string_equal(w.view->notes[0].code, "PodAffinity");
    assert_int_equal(w.view->demands[0].bundles[0].count, 3);
    bound(&w, "p0", "n2", "2", APP("web"), WITH(HOST, "web"));
    view(&w);
    assert_int_equal(w.view->demands[0].bundles[0].count, 2);
    assert_int_equal(
        pods_amount(&node_of(w.view, "n1")->available, column(&w, 0)), 0);
    assert_int_equal(
        pods_amount(&node_of(w.view, "n2")->available, column(&w, 0)),
        AMOUNT_ONE);
    assert_int_equal(w.view->pods->columns[0].fresh, 0);
    world_end(&w);
}

static void test_spread_over_hosts(void **state)
{
    struct world w;
    (void)state;
    world_begin(&w);
    node(&w, "full", "2", "z1", "", "");
    node(&w, "free", "8", "z1", "", "");
    bound(&w, "a", "full", "2", APP("web"), "");
    bound(&w, "b", "free", "1", APP("web"), "");
    bound(&w, "c", "free", "1", APP("web"), "");
    pending(&w, "p", "1", APP("web"), SPREAD(HOST, "web"));
    view(&w);
    /* the full one stays at 1: nobody may have more than 2 */
    assert_int_equal(w.view->pods->columns[0].fresh, 2 * AMOUNT_ONE);
    assert_int_equal(
        pods_amount(&node_of(w.view, "free")->available, column(&w, 0)), 0);
    assert_int_equal(
        pods_amount(&node_of(w.view, "full")->available, column(&w, 0)),
        AMOUNT_ONE);
    world_end(&w);
}

/* Which cluster it is: the uid of kube-system, where that may be read. */
static void test_which_cluster(void **state)
{
    struct world w;
    (void)state;
    world_begin(&w);
    view(&w);
    assert_string_equal(w.view->session, SOURCE_NAMELESS);
    put(&w, spaces_put, false,
        "{'metadata': {'name': 'kube-system', 'uid': '8f0c-1'}}");
    view(&w);
    assert_string_equal(w.view->session, "kubernetes 8f0c-1");
    world_end(&w);
}

/* ---- nodes and types */

static void test_idle(void **state)
{
    struct world w;
    (void)state;
    world_begin(&w);
    node(&w, "n", "4", "z1", "", "");
    put(&w, pods_put, false,
        OWNER(
            "DaemonSet",
            "d") "'name': 'd', 'uid': 'd', "
                 "'namespace': 's'}, 'spec': {'nodeName': 'n', 'containers': [{"
                 "'resources': {'requests': {'cpu': '500m'}}}]}}");
    view(&w);
    assert_int_equal(node_of(w.view, "n")->status, SOURCE_IDLE);
    assert_int_equal(node_of(w.view, "n")->idle_ms, 0);
    assert_true(amount(node_of(w.view, "n")->available, "CPU") == 3.5);
    w.now_ms += 5000;
    view(&w);
    assert_int_equal(node_of(w.view, "n")->idle_ms, 5000);
    bound(&w, "p", "n", "1", "", "");
    view(&w);
    assert_int_equal(node_of(w.view, "n")->status, SOURCE_RUNNING);
    assert_int_equal(node_of(w.view, "n")->idle_ms, -1);
    assert_string_equal(node_of(w.view, "n")->activity, "1 pod: ns/p");
    w.now_ms += 5000;
    node(&w, "n", "4", "z1", ", 'new': 'label'", "");
    put(&w, pods_put, true,
        "{'metadata': {'name': 'p', 'uid': 'u-p'}, "
        "'spec': {}}");
    view(&w);
    w.now_ms += 700;
    view(&w);
    assert_int_equal(node_of(w.view, "n")->idle_ms, 700);
    world_end(&w);
}

/* The taint of a cordon goes a moment after the cordon. */
static void test_uncordoned(void **state)
{
    struct world w;
    (void)state;
    world_begin(&w);
    put(&w, nodes_put, false,
        "{'metadata': {'name': 'u'}, 'spec': {'taints': "
        "[{'key': 'node.kubernetes.io/unschedulable', 'effect': 'NoSchedule'}]}"
        ", 'status': {'conditions': [{'type': 'Ready', 'status': 'True'}]}}");
    put(&w, nodes_put, false,
        "{'metadata': {'name': 'c'}, 'spec': {'taints': "
        "[{'key': 'node.kubernetes.io/unschedulable', 'effect': 'NoSchedule'}]"
        ", 'unschedulable': true}, 'status': {'conditions': [{'type': 'Ready', "
        "'status': 'True'}]}}");
    view(&w);
    assert_int_equal(node_of(w.view, "u")->taints.n, 0);
    assert_int_equal(node_of(w.view, "c")->taints.n, 1);
    world_end(&w);
}

static void test_nodes(void **state)
{
    struct world w;
    (void)state;
    world_begin(&w);
    node(&w, "n", "4", "z1",
         ", 'davit.io/machine': 'm-1', 'davit.io/join': 'ab12', "
         "'cloud.google.com/"
         "gke-spot': 'true'",
         ", 'amd.com/gpu': 2");
    put(&w, nodes_put, false,
        "{'metadata': {'name': 'u'}, 'spec': {'taints': "
        "[{'key': 'node.kubernetes.io/not-ready', 'effect': 'NoSchedule'}, "
        "{'key': 'own', 'value': 'v', 'effect': 'NoExecute'}, {'key': "
        "'davit.io/draining', 'effect': 'NoSchedule'}], 'unschedulable': true},"
        " 'status': {'conditions': [{'type': 'Ready', 'status': 'False', "
        "'message': 'no network'}]}}");
    view(&w);
    const struct source_node *n = node_of(w.view, "n");
    const struct source_node *u = node_of(w.view, "u");
    assert_string_equal(n->instance_id, "n");
    assert_string_equal(n->address, "10.0.0.1");
    assert_string_equal(n->aliases.v[0], "n");
    assert_string_equal(n->aliases.v[1], "gce://p/z1/n");
    assert_int_equal(n->n_vouched, 3);
    assert_int_equal(n->n_given, 1);
    assert_string_equal(n->mark, "ab12");
    assert_null(pairs_value(&n->labels, SOURCE_JOIN_LABEL));
    assert_string_equal(n->aliases.v[3], "m-1");
    assert_string_equal(n->aliases.v[4], "10.0.0.1");
    assert_string_equal(pairs_value(&n->labels, "ray.io/market-type"), "spot");
    assert_string_equal(pairs_value(&n->labels, GPU_LABEL), "amd.com.gpu");
    assert_true(amount(n->total, "GPU") == 2);
    assert_int_equal(u->status, SOURCE_DRAINING);
    assert_true(u->unschedulable);
    assert_string_equal(u->note, "not ready: no network");
    assert_int_equal(u->taints.n, 2);
    assert_string_equal(u->taints.v[0].key, "own");
    world_end(&w);
}

/* A node whose Ready condition is as it is since so many seconds. */
static const struct source_node *condition(struct world *w, const char *ready,
                                           int since_s, const char *taint)
{
    char at[32];
    time_t t = (time_t)(clock_wall_ms() / 1000) - since_s;
    struct tm tm;

    strftime(at, sizeof at, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &tm));
    put(w, nodes_put, false,
        "{'metadata': {'name': 'n'}, 'spec': {'taints': "
        "[{'key': 'own', 'effect': 'NoSchedule'}, {'key': '%s', 'effect': "
        "'NoSchedule'}]}, 'status': {'allocatable': {'cpu': 8, 'pods': 9}, "
        "'conditions': [{'type': 'Ready', 'status': '%s', "
        "'lastTransitionTime': '%s'}]}}",
        taint, ready, at);
    w->now_ms += 1000;
    return node_of(view(w), "n");
}

/* What a node carries until it is up is no reason to buy another one, as long
 * as it may be coming up; what its conditions tell is never read as a taint. */
static void test_taints_that_pass(void **state)
{
    static const char *const start[] = {
        "node.kubernetes.io/network-unavailable",
        "node.cloudprovider.kubernetes.io/uninitialized",
        "node.cilium.io/agent-not-ready",
        "ebs.csi.aws.com/agent-not-ready",
        "startup-taint.cluster-autoscaler.kubernetes.io/x",
    };
    struct world w;
    (void)state;
    world_begin(&w);
    assert_int_equal(
        condition(&w, "True", 86400, "node.kubernetes.io/not-ready")->taints.n,
        1);
    assert_int_equal(
        condition(&w, "True", 86400, "node.kubernetes.io/unreachable")->taints.n,
        1);
    for (size_t i = 0; i < sizeof start / sizeof *start; i++) {
        assert_int_equal(condition(&w, "True", 2, start[i])->taints.n, 1);
        assert_in_range(w.due, w.now_ms + 290000, w.now_ms + 300000);
        assert_string_equal(w.view->nodes[0].taints.v[0].key, "own");
        assert_int_equal(condition(&w, "False", 2, start[i])->taints.n, 1);
        assert_int_equal(condition(&w, "True", 301, start[i])->taints.n, 2);
        assert_int_equal(w.due, 0);
    }
    /* of the machine, not of its start */
    assert_int_equal(
        condition(&w, "True", 2, "node.cloudprovider.kubernetes.io/shutdown")
            ->taints.n,
        2);
    assert_int_equal(condition(&w, "True", 2, "x.io/not-ready")->taints.n, 2);
    world_end(&w);
}

/* A node that is not ready may come (back) for a while; then it is no room, and
 * idle once nothing but what Kubernetes has given up is on it. */
static void test_lost_nodes(void **state)
{
    struct world w;
    const struct source_node *n;
    (void)state;
    world_begin(&w);
    bound(&w, "p", "n", "2", "", "");
    n = condition(&w, "Unknown", 60, "node.kubernetes.io/unreachable");
    assert_int_equal(n->status, SOURCE_UNREADY);
    assert_true(amount(n->available, "CPU") == 6 && n->idle_ms == -1);
    assert_in_range(w.due, w.now_ms + 230000, w.now_ms + 241000);
    n = condition(&w, "Unknown", 301, "node.kubernetes.io/unreachable");
    assert_int_equal(n->status, SOURCE_UNREADY);
    assert_true(amount(n->available, "CPU") == 0 && n->idle_ms == -1);
    assert_true(amount(n->total, "CPU") == 8);
    put(&w, pods_put, false,
        "{'metadata': {'name': 'p', 'uid': 'u-p', "
        "'namespace': 'ns', 'deletionTimestamp': '2026-01-01T00:00:00Z'}, "
        "'spec': {'nodeName': 'n', 'containers': [{}]}, 'status': {'phase': "
        "'Running'}}");
    n = condition(&w, "Unknown", 302, "x");
    assert_int_equal(n->idle_ms, 0);
    n = condition(&w, "Unknown", 303, "x");
    assert_int_equal(n->idle_ms, 1000);
    n = condition(&w, "True", 1, "x"); /* it is back, and ends it in time */
    assert_int_equal(n->status, SOURCE_RUNNING);
    assert_true(amount(n->available, "CPU") == 8);
    world_end(&w);
}

/* Its cloud's agents write on a node that it is taken back: what says so, how
 * long there is, and that the work there needs another place. */
static void test_leaving(void **state)
{
    static const struct {
        const char *spec, *conditions, *says;
        int64_t ms;
    } cases[] = {
        {"{'key': 'aws-node-termination-handler/spot-itn', 'effect': "
         "'NoSchedule'}",
         "", "taint aws-node-termination-handler/spot-itn", 120000},
        {"{'key': 'cloud.google.com/impending-node-termination', 'effect': "
         "'NoSchedule'}",
         "", "taint cloud.google.com/impending-node-termination", 30000},
        {"{'key': 'karpenter.sh/disrupted', 'effect': 'NoSchedule'}, {'key': "
         "'remediator.kubernetes.azure.com/unschedulable'}",
         "", "taint remediator.kubernetes.azure.com/unschedulable", 30000},
        {"",
         ", {'type': 'VMEventScheduled', 'status': 'True', 'message': "
         "'Preempt Scheduled: now'}",
         "condition VMEventScheduled", 30000},
        /* a pause of seconds, what is over, and advice are no such word */
        {"",
         ", {'type': 'VMEventScheduled', 'status': 'True', 'message': "
         "'Freeze Scheduled: now'}",
         "", 0},
        {"",
         ", {'type': 'VMEventScheduled', 'status': 'False', 'message': "
         "'Preempt Scheduled: then'}",
         "", 0},
        {"{'key': 'aws-node-termination-handler/rebalance-recommendation', "
         "'effect': 'NoSchedule'}",
         "", "", 0},
    };
    struct world w;
    (void)state;
    world_begin(&w);
    bound(&w, "lone", "n", "1", "", "");
    put(&w, pods_put, false,
        "{'metadata': {'name': 'p', 'uid': 'u-p', 'namespace': 'ns', "
        "'ownerReferences': [{'kind': 'ReplicaSet', 'name': 'r', 'uid': 'r', "
        "'controller': true}]}, 'spec': {'nodeName': 'n', 'containers': "
        "[{'resources': {'requests': {'cpu': '2'}}}]}, 'status': {'phase': "
        "'Running'}}");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct source_node *n;

        put(&w, nodes_put, false,
            "{'metadata': {'name': 'n'}, 'spec': {'taints': [%s]}, 'status': "
            "{'allocatable': {'cpu': 8, 'pods': 9}, 'conditions': [{'type': "
            "'Ready', 'status': 'True'}%s]}}",
            cases[i].spec, cases[i].conditions);
        n = node_of(view(&w), "n");
        assert_string_equal(n->leaving, cases[i].says);
        assert_int_equal(n->leaving_ms, cases[i].ms);
        assert_int_equal(w.view->n_demands, *cases[i].says != '\0');
        if (w.view->n_demands)
            assert_true(amount(w.view->demands[0].bundles->alts->resources,
                               "CPU") == 2);
    }
    world_end(&w);
}

/* KubeRay's pods as the Ray nodes they will be: command, limits, requests. */
static void test_rays(void **state)
{
    struct world w;
    const struct source_hosted *g;
    (void)state;
    world_begin(&w);
    put(&w, pods_put, false,
        "{'metadata': {'name': 'w', 'uid': 'w', "
        "'namespace': 'ns', 'labels': {'ray.io/cluster': 'c', "
        "'ray.io/node-type': 'worker'}}, 'spec': {'nodeSelector': "
        "{'cloud.google.com/gke-accelerator': 'nvidia-l4'}, 'containers': ["
        "{'resources': {'limits': {'cpu': '1500m', 'nvidia.com/gpu': 2, "
        "'memory': '8Gi'}, 'requests': {'cpu': '1', 'nvidia.com/gpu': 2, "
        "'ephemeral-storage': '1Gi'}}, 'env': [{'name': "
        "'KUBERAY_GEN_RAY_START_CMD', 'value': 'ray start --block "
        "--memory=4096 --num-gpus=1 "
        "--resources=\\'{\\\\\\'Fast\\\\\\': 1.5}\\' --x=1'}]}, "
        "{'resources': {'requests': {'cpu': '7'}}}]}, 'status': {}}");
    put(&w, pods_put, false,
        "{'metadata': {'name': 'h', 'uid': 'h', "
        "'namespace': 'ns', 'labels': {'ray.io/cluster': 'c', "
        "'ray.io/node-type': 'head'}}, 'spec': {'containers': [{}]}}");
    put(&w, pods_put, false,
        "{'metadata': {'name': 'gone', 'uid': 'gone', "
        "'namespace': 'ns', 'deletionTimestamp': '2026-01-01T00:00:00Z', "
        "'labels': {'ray.io/cluster': 'c', 'ray.io/node-type': 'worker'}}, "
        "'spec': {'containers': [{}]}}");
    bound(&w, "plain", "n", "1", "", "");
    view(&w);
    assert_int_equal(w.view->n_rays, 2);
    assert_string_equal(w.view->rays[0].name, "h");
    assert_false(w.view->rays[0].worker);
    g = &w.view->rays[1];
    assert_true(g->worker);
    assert_string_equal(g->cluster, "ns/c");
    assert_true(amount(g->offers, "CPU") == 2);
    assert_true(amount(g->offers, "GPU") == 1);
    assert_true(amount(g->offers, "memory") == 4096);
    assert_true(amount(g->offers, "Fast") == 1.5);
    assert_true(amount(g->offers, "pods") == 0);
    assert_string_equal(pairs_value(&g->labels, ACCEL_LABEL), "L4");
    world_end(&w);
}

static void test_settling(void **state)
{
    struct world w;
    (void)state;
    world_begin(&w);
    node(&w, "old", "8", "z1", ", 'node.kubernetes.io/instance-type': 'g4'",
         ", 'nvidia.com/gpu': 4");
    node(&w, "new", "8", "z1", ", 'node.kubernetes.io/instance-type': 'g4'",
         ", 'nvidia.com/gpu': 0");
    node(&w, "labelled", "8", "z1",
         ", 'cloud.google.com/gke-accelerator': "
         "'nvidia-l4'",
         "");
    view(&w);
    assert_false(node_of(w.view, "old")->settling);
    assert_true(node_of(w.view, "new")->settling);
    assert_true(amount(node_of(w.view, "new")->total, "GPU") == 4);
    assert_true(amount(node_of(w.view, "new")->available, "GPU") == 4);
    assert_true(node_of(w.view, "labelled")->settling);
    world_end(&w);
}

static void test_types(void **state)
{
    struct world w;
    struct qty own[] = {{"CPU", 4 * AMOUNT_ONE},
                        {"memory", (INT64_C(16) << 30) * AMOUNT_ONE}};
    struct taint taint = {"dedicated", "x", EFFECT_NO_SCHEDULE};
    struct snap_type t = {.name = "t", .resources = {own, 2}};
    (void)state;
    world_begin(&w);
    w.reserve = true;
    put(&w, daemons_put, false,
        "{'metadata': {'name': 'all', 'namespace': "
        "'s'}, 'spec': {'template': {'spec': {'tolerations': [{'operator': "
        "'Exists'}], 'containers': [{'resources': {'requests': {'cpu': "
        "'100m'}}}]}}}}");
    put(&w, daemons_put, false,
        "{'metadata': {'name': 'some', 'namespace': "
        "'s'}, 'spec': {'template': {'spec': {'containers': [{'resources': "
        "{'requests': {'cpu': '200m'}}}]}}}}");
    put(&w, daemons_put, false,
        "{'metadata': {'name': 'gpu', 'namespace': "
        "'s'}, 'spec': {'template': {'spec': {'nodeSelector': {'gpu': 'yes'}, "
        "'containers': [{'resources': {'requests': {'cpu': '1'}}}]}}}}");
    view(&w);
    pods_type_fit(w.view, NULL, 0, (struct pods_cloud){.labels = {0}},
                  &w.view->arena, &t);
    /* 4 cores less 60+10+5+5 m and 300 m of daemons; 16 GiB less 1+0.8+0.8+0.1 */
    assert_true(amount(t.resources, "CPU") == 3.62);
    assert_true(amount(t.resources, "pods") == 108);
    double gib = amount(t.resources, "memory") / (1 << 30);
    assert_true(gib > 13.29 && gib < 13.31);
    t.resources = (struct qtys){own, 2};
    t.labels = (struct pairs){0};
    t.taints = (struct taints){&taint, 1};
    pods_type_fit(w.view, NULL, 0, (struct pods_cloud){.labels = {0}},
                  &w.view->arena, &t);
    assert_true(amount(t.resources, "CPU") == 3.82);
    /* a living one says it better */
    node(&w, "n", "3900m", "z1",
         ", 'gpu': 'yes', 'kubernetes.io/hostname': "
         "'n'",
         "");
    view(&w);
    const struct source_node *n = node_of(w.view, "n");
    t.resources = (struct qtys){own, 2};
    t.labels = (struct pairs){0};
    t.taints = (struct taints){0};
    pods_type_fit(w.view, &n, 1, (struct pods_cloud){.labels = {0}},
                  &w.view->arena, &t);
    assert_true(amount(t.resources, "CPU") == 2.6);
    assert_string_equal(pairs_value(&t.labels, "gpu"), "yes");
    assert_null(pairs_value(&t.labels, "kubernetes.io/hostname"));
    assert_null(pairs_value(&t.labels, ZONE));
    world_end(&w);
}

static void test_list_forgets(void **state)
{
    struct world w;
    (void)state;
    world_begin(&w);
    node(&w, "a", "4", "z1", "", "");
    node(&w, "b", "4", "z1", "", "");
    records_list_begin(&w.store.nodes);
    node(&w, "b", "4", "z1", "", "");
    view(&w);
    assert_int_equal(w.view->n_nodes, 2); /* until it is complete */
    records_list_end(&w.store.nodes);
    view(&w);
    assert_int_equal(w.view->n_nodes, 1);
    world_end(&w);
}

/* ---- what it costs */

static int64_t cpu_us(void)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (int64_t)r.ru_utime.tv_sec * 1000000 + r.ru_utime.tv_usec;
}

static long rss_kb(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (fscanf(f, "%*d %ld", &pages) != 1)
        pages = 0;
    fclose(f);
    return pages * 4;
}

static void test_cost(void **state)
{
    json_error_t e;
    json_t *table = json_load_file("tests/unit/kube/pods.json", 0, &e);
    json_t *pod = json_deep_copy(
        json_object_get(json_array_get(table, 2), "pod"));
    json_t *meta = json_object_get(pod, "metadata");
    struct world w;
    (void)state;
    json_decref(table);
    world_begin(&w);
    long before = rss_kb();
    int64_t begun = cpu_us();
    for (int i = 0; i < 1000; i++) {
        char name[32];
        snprintf(name, sizeof name, "node-%d", i);
        node(&w, name, "32", i % 2 ? "z1" : "z2", ", 'a': 'b', 'pool': 'p'",
             ", 'nvidia.com/gpu': 8");
    }
    int64_t nodes = cpu_us() - begun;
    char *text = NULL;
    begun = cpu_us();
    for (int i = 0; i < 4000; i++) {
        char name[32];
        snprintf(name, sizeof name, "pod-%d", i);
        json_object_set_new(meta, "uid", json_string(name));
        json_object_set_new(meta, "name", json_string(name));
        text = json_dumps(pod, JSON_COMPACT);
        json_t *o = json_loads(text, 0, NULL); /* as the watch does */
        pods_put(&w.store.pods, o, false);
        json_decref(o);
        free(text);
    }
    int64_t pods = cpu_us() - begun;
    begun = cpu_us();
    view(&w);
    int64_t first = cpu_us() - begun;
    assert_int_equal(w.view->n_demands, 1);
    assert_int_equal(w.view->n_nodes, 1000);
    printf(
        "4,000 pods and 1,000 nodes: %lld us a pod, %lld us a node (JSON "
        "read and, for the pods, written), view %lld us, %ld KiB of memory\n",
        (long long)pods / 4000, (long long)nodes / 1000, (long long)first,
        rss_kb() - before);
    json_decref(pod);
    world_end(&w);
}

/* Each feature a bit: all of them together, whatever they come to. */
static void put_featured(struct world *w, unsigned bits)
{
    static const char *const gangs[] = {
        "", ", 'annotations': {'scheduling.x-k8s.io/pod-group': 'g1'}",
        ", 'annotations': {'scheduling.x-k8s.io/pod-group': 'g2', "
        "'scheduling.x-k8s.io/min-available': '900'}",
        ", 'annotations': {'scheduling.x-k8s.io/pod-group': 'g3', "
        "'scheduling.x-k8s.io/min-available': '3'}"};

    put(w, pods_put, false,
        "{'metadata': {'name': 'p%u', 'uid': 'u%u', 'namespace': '%s', "
        "'creationTimestamp': '2026-01-01T00:00:00Z', 'ownerReferences': "
        "[{'kind': '%s', 'name': 'o', 'controller': true}]%s%s}, 'spec': "
        "{'containers': [{'resources': {'requests': {'cpu': '1'}, 'limits': "
        "{'nvidia.com/gpu': '%s'}}}]%s%s%s}, 'status': {'phase': 'Pending'%s, "
        "'conditions': [{'type': 'PodScheduled', 'status': 'False', 'reason': "
        "'%s'}]}}",
        bits, bits, bits & 1 ? "other" : "ns",
        bits & 2 ? "DaemonSet" : "ReplicaSet", gangs[bits >> 2 & 3],
        bits & 16 ? ", 'deletionTimestamp': '2026-01-01T00:00:00Z'" : "",
        bits & 32 ? "1500m" : "1",
        bits & 64 ? ", 'schedulingGates': [{'name': 'g'}]" : "",
        bits & 128 ? ", 'schedulerName': 'other'" : "",
        bits & 256 ? ", 'volumes': [{'persistentVolumeClaim': {'claimName': "
                     "'none'}}]"
                   : "",
        bits & 512 ? ", 'nominatedNodeName': 'n1'" : "",
        bits & 1024 ? "SchedulerError" : "Unschedulable");
}

static uint32_t counted(const struct source_view *v, const char *code)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < v->n_counts; i++)
        if (!*code || strcmp(v->counts[i].code, code) == 0)
            n += v->counts[i].n;
    return n;
}

static void test_every_pod_is_in_one_count(void **state)
{
    static const char *const spaces[] = {"ns"};
    struct pods_rules some = rules;
    const struct source_view *v;
    struct world w;

    (void)state;
    some.namespaces = (struct names){spaces, 1};
    world_begin(&w);
    w.store.rules = &some;
    node(&w, "n1", "4", "z-a", "", "");
    for (unsigned bits = 0; bits < 2048; bits++)
        put_featured(&w, bits);
    v = view(&w);
    assert_int_equal(counted(v, ""), 2048);
    assert_int_equal(counted(v, "DaemonSet"), 1024);
    assert_int_equal(counted(v, "Gated"), 256);
    assert_int_equal(counted(v, "OtherScheduler"), 128);
    assert_int_equal(counted(v, "OtherNamespace"), 64);
    assert_int_equal(counted(v, "Nominated"), 32);
    assert_int_equal(counted(v, "NotTried"), 16);
    assert_true(counted(v, "Planned") > 0);
    assert_true(counted(v, "PodGroup") > 0);
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_quantities),
        cmocka_unit_test(test_equal_pods_cost_one),
        cmocka_unit_test(test_the_schedulers_word),
        cmocka_unit_test(test_probes),
        cmocka_unit_test(test_gangs),
        cmocka_unit_test(test_one_on_a_host),
        cmocka_unit_test(test_host_ports),
        cmocka_unit_test(test_kept_away_from_others),
        cmocka_unit_test(test_together),
        cmocka_unit_test(test_spread_over_hosts),
        cmocka_unit_test(test_which_cluster),
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_uncordoned),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_taints_that_pass),
        cmocka_unit_test(test_lost_nodes),
        cmocka_unit_test(test_leaving),
        cmocka_unit_test(test_rays),
        cmocka_unit_test(test_settling),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_list_forgets),
        cmocka_unit_test(test_cost),
        cmocka_unit_test(test_every_pod_is_in_one_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
