/*
 * test_wire_profiles.c - kube-scheduler's own settings: default constraints by
 * profile and by what selects a pod, and a word for what is not followed.
 */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include "pods_world.h"

#define CONFIG \
    "apiVersion: kubescheduler.config.k8s.io/v1\n" \
    "kind: KubeSchedulerConfiguration\n" \
    "leaderElection: {leaderElect: true}\n" \
    "profiles:\n" \
    "- schedulerName: default-scheduler\n" \
    "  pluginConfig:\n" \
    "  - name: PodTopologySpread\n" \
    "    args:\n" \
    "      defaultConstraints:\n" \
    "      - {maxSkew: 1, topologyKey: kubernetes.io/hostname, " \
    "whenUnsatisfiable: DoNotSchedule}\n" \
    "      - {maxSkew: 5, topologyKey: topology.kubernetes.io/zone, " \
    "whenUnsatisfiable: ScheduleAnyway}\n" \
    "      defaultingType: List\n" \
    "- schedulerName: other\n"

static struct profiles *profiles(const char *text)
{
    struct err err;
    struct profiles *p = profiles_read(text, strlen(text), &err);

    if (!p)
        fail_msg("%s", err.text);
    return p;
}

static void waits(struct world *w, const char *name, const char *app,
                  const char *more)
{
    put(w, pods_put, false,
        "{'metadata': {'name': '%s', 'uid': '%s', 'namespace': 'ns', "
        "'labels': {'app': '%s'}, 'ownerReferences': [{'kind': 'ReplicaSet', "
        "'name': '%s', 'controller': true}]}, 'spec': {'containers': "
        "[{'resources': {'requests': {'cpu': '1'}}}]%s}, 'status': {'phase': "
        "'Pending', 'conditions': [{'type': 'PodScheduled', 'status': 'False', "
        "'reason': 'Unschedulable'}]}}",
        name, name, app, app, more);
}

/* Does the demand of this owner need a column of a spread? */
static bool is_spread(struct world *w, const char *owner)
{
    const struct source_view *v = view(w);

    for (uint32_t i = 0; i < v->n_demands; i++)
        if (strstr(v->demands[i].id, owner)) {
            const struct qtys *q = &v->demands[i].bundles[0].alts[0].resources;

            for (uint32_t k = 0; k < q->n; k++)
                if (strncmp(q->v[k].name, "davit.io/spread-", 16) == 0)
                    return true;
            return false;
        }
    fail_msg("no demand of %s", owner);
    return false;
}

static void replicas(struct world *w, const char *app, bool gone)
{
    put(w, replicas_put, gone,
        "{'metadata': {'name': '%s', 'namespace': 'ns'}, 'spec': {'selector': "
        "{'matchLabels': {'app': '%s'}}}}",
        app, app);
}

static void test_defaults_count_what_the_controller_selects(void **state)
{
    struct world w;

    (void)state;
    world_begin(&w);
    w.store.profiles = profiles(CONFIG);
    node(&w, "n1", "4", "z-a", "", "");
    bound(&w, "old", "n1", "1", ", 'app': 'w'", "");
    waits(&w, "w-0", "w", "");
    waits(&w, "w-1", "w", "");
    /* nothing selects them: they have no constraints */
    assert_false(is_spread(&w, "/w"));
    replicas(&w, "w", false);
    assert_true(is_spread(&w, "/w"));
    /* it can take three more, and then all others one more than it */
    for (uint32_t i = 0; i < w.view->nodes[0].available.n; i++)
        if (strncmp(w.view->nodes[0].available.v[i].name, "davit.io/spread-",
                    16) == 0)
            assert_int_equal(w.view->nodes[0].available.v[i].amount,
                             4 * AMOUNT_ONE);
    replicas(&w, "w", true);
    assert_false(is_spread(&w, "/w"));
    world_end(&w);
}

static void test_services_select_too(void **state)
{
    struct world w;

    (void)state;
    world_begin(&w);
    w.store.profiles = profiles(CONFIG);
    node(&w, "n1", "4", "z-a", "", "");
    waits(&w, "w-0", "w", "");
    put(&w, services_put, false,
        "{'metadata': {'name': 's', 'namespace': 'others'}, 'spec': "
        "{'selector': {'app': 'w'}}}");
    put(&w, services_put, false,
        "{'metadata': {'name': 'none', 'namespace': 'ns'}, 'spec': {}}");
    assert_false(is_spread(&w, "/w"));
    put(&w, services_put, false,
        "{'metadata': {'name': 's', 'namespace': 'ns'}, 'spec': {'selector': "
        "{'app': 'w'}}}");
    assert_true(is_spread(&w, "/w"));
    world_end(&w);
}

static void test_own_constraints_and_other_profiles_have_no_defaults(
    void **state)
{
    static const char *const names[] = {"default-scheduler", "other"};
    struct pods_rules both = rules;
    struct world w;

    (void)state;
    both.schedulers = (struct names){names, 2};
    world_begin(&w);
    w.store.rules = &both;
    w.store.profiles = profiles(CONFIG);
    node(&w, "n1", "4", "z-a", "", "");
    replicas(&w, "a", false);
    replicas(&w, "b", false);
    replicas(&w, "c", false);
    waits(&w, "a-0", "a", ", 'schedulerName': 'other'");
    waits(&w, "b-0", "b",
          ", 'topologySpreadConstraints': [{'maxSkew': 1, 'topologyKey': "
          "'rack', 'whenUnsatisfiable': 'ScheduleAnyway', 'labelSelector': "
          "{'matchLabels': {'app': 'b'}}}]");
    waits(&w, "c-0", "c", ", 'schedulerName': 'default-scheduler'");
    assert_false(is_spread(&w, "/a"));
    assert_false(is_spread(&w, "/b"));
    assert_true(is_spread(&w, "/c"));
    world_end(&w);
}

static json_t *map(const char *text)
{
    return json_pack("{s:{s:s, s:s}, s:{s:s}}", "metadata", "namespace",
                     "kube-system", "name", "c", "data", "config.yaml", text);
}

static void test_a_configmap_that_changes_is_read_again(void **state)
{
    struct world w;
    json_t *o, *data;

    (void)state;
    world_begin(&w);
    o = map(CONFIG);
    maps_put(&w.store.maps, o, false);
    assert_non_null(w.store.profiles);
    assert_true(w.store.profiles->any_spreads);
    assert_true(w.store.relist_pods);
    w.store.relist_pods = false;
    maps_put(&w.store.maps, o, false); /* listed again */
    assert_false(w.store.relist_pods);
    data = json_object_get(o, "data");
    json_object_set_new(data, "config.yaml", json_string("kind: Pod\n"));
    maps_put(&w.store.maps, o, false);
    assert_true(w.store.relist_pods);
    assert_null(w.store.profiles);
    assert_string_equal(w.store.profiles_wrong,
                        "its key config.yaml: its kind must be "
                        "KubeSchedulerConfiguration, got \"Pod\"");
    json_decref(o);
    world_end(&w);
}

/* Whether somebody saw it go or the next list does not have it. */
static void test_a_configmap_that_is_deleted_is_not_in_force(void **state)
{
    struct world w;
    json_t *o = map(CONFIG);

    (void)state;
    world_begin(&w);
    for (int listed = 0; listed < 2; listed++) {
        records_list_begin(&w.store.maps);
        maps_put(&w.store.maps, o, false);
        records_list_end(&w.store.maps);
        assert_non_null(w.store.profiles);
        w.store.relist_pods = false;
        records_list_begin(&w.store.maps);
        maps_put(&w.store.maps, o, false); /* it is in the list: it stays */
        records_list_end(&w.store.maps);
        assert_non_null(w.store.profiles);
        assert_false(w.store.relist_pods);
        if (listed) {
            records_list_begin(&w.store.maps);
            records_list_end(&w.store.maps);
        } else {
            maps_put(&w.store.maps, o, true);
        }
        assert_null(w.store.profiles);
        assert_string_equal(w.store.profiles_wrong, "it is gone");
        assert_true(w.store.relist_pods);
    }
    json_decref(o);
    world_end(&w);
}

static bool has_word(const struct source_view *v, const char *kind,
                     const char *part)
{
    for (uint32_t i = 0; i < v->n_words; i++)
        if (strcmp(v->words[i].kind, kind) == 0 &&
            strstr(v->words[i].text, part))
            return true;
    return false;
}

static void test_what_is_not_followed_is_told(void **state)
{
    struct world w;
    const struct source_view *v;

    (void)state;
    world_begin(&w);
    w.store.profiles_from = "/etc/kubernetes/scheduler.yaml";
    w.store.profiles = profiles(
        "kind: KubeSchedulerConfiguration\n"
        "extenders: [{urlPrefix: 'http://x'}]\n"
        "profiles:\n"
        "- plugins:\n"
        "    filter:\n"
        "      disabled: [{name: PodTopologySpread}, {name: NodePorts}]\n"
        "      enabled: [{name: NodePorts}, {name: Coscheduling}]\n"
        "    score:\n"
        "      disabled: [{name: '*'}]\n"
        "  pluginConfig:\n"
        "  - name: NodeResourcesFit\n"
        "    args: {ignoredResources: [example.com/x], scoringStrategy: {type: "
        "MostAllocated}}\n"
        "  - name: NodeAffinity\n"
        "    args: {addedAffinity: {"
        "requiredDuringSchedulingIgnoredDuringExecution: "
        "{nodeSelectorTerms: []}}}\n"
        "- schedulerName: gpu\n");
    w.store.hidden[w.store.n_hidden++] = "csinodes";
    v = view(&w);
    assert_true(has_word(v, "scheduler_differs", "disables PodTopologySpread"));
    assert_false(has_word(v, "scheduler_differs", "disables NodePorts"));
    assert_true(has_word(v, "scheduler_differs", "enables Coscheduling"));
    assert_true(has_word(v, "scheduler_differs", "extenders"));
    assert_true(has_word(v, "scheduler_differs", "ignoredResources"));
    assert_true(has_word(v, "scheduler_differs", "addedAffinity"));
    assert_true(has_word(v, "scheduler_differs", "profile gpu is none of"));
    assert_true(has_word(v, "not_readable", "list and watch csinodes"));
    assert_int_equal(v->n_words, 7);
    world_end(&w);
}

/* Which node of several its work goes to when it moves. */
static void test_whether_it_packs(void **state)
{
#define PROFILE(more) \
    "kind: KubeSchedulerConfiguration\nprofiles: [{" more "}]\n"
#define FIT(strategy) \
    PROFILE("pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: " \
            "{" strategy "}}}]")
#define RATIO(a, b) \
    FIT("type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: " \
        "[{utilization: 0, score: " a "}, {utilization: 100, score: " b "}]}")
    static const struct {
        const char *text;
        bool spreads;
        uint32_t words;
    } all[] = {
        {PROFILE(""), true, 0},
        {FIT("type: LeastAllocated"), true, 0},
        {FIT("type: MostAllocated"), false, 0},
        {RATIO("0", "10"), false, 0},
        {RATIO("10", "0"), true, 0},
        {FIT("type: Whatever"), true, 1},
        {PROFILE("plugins: {score: {disabled: [{name: NodeResourcesFit}]}}, "
                 "pluginConfig: [{name: NodeResourcesFit, args: "
                 "{scoringStrategy: {type: MostAllocated}}}]"),
         true, 0},
        /* another weight */
        {PROFILE("plugins: {score: {disabled: [{name: NodeResourcesFit}], "
                 "enabled: [{name: NodeResourcesFit, weight: 5}]}}, "
                 "pluginConfig: [{name: NodeResourcesFit, args: "
                 "{scoringStrategy: {type: MostAllocated}}}]"),
         false, 0},
    };
    (void)state;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const struct source_view *v;
        struct world w;

        world_begin(&w);
        w.store.profiles_from = "/etc/kubernetes/scheduler.yaml";
        w.store.profiles = profiles(all[i].text);
        v = view(&w);
        if (v->spreads != all[i].spreads)
            fail_msg("%s: %s", all[i].text, v->spreads ? "spreads" : "packs");
        assert_int_equal(v->n_words, all[i].words);
        world_end(&w);
    }
}

static void test_what_is_no_such_file_is_refused(void **state)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"kind: [", "line 2, column 1"},
        {"", "it is empty"},
        {"kind: Deployment\n",
         "its kind must be KubeSchedulerConfiguration, got \"Deployment\""},
        {"&a [*a]\n", "nested too deeply"},
    };
    struct err err;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_null(profiles_read(bad[i].text, strlen(bad[i].text), &err));
        if (!strstr(err.text, bad[i].says))
            fail_msg("\"%s\" lacks \"%s\"", err.text, bad[i].says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_count_what_the_controller_selects),
        cmocka_unit_test(test_services_select_too),
        cmocka_unit_test(
            test_own_constraints_and_other_profiles_have_no_defaults),
        cmocka_unit_test(test_a_configmap_that_changes_is_read_again),
        cmocka_unit_test(test_a_configmap_that_is_deleted_is_not_in_force),
        cmocka_unit_test(test_what_is_not_followed_is_told),
        cmocka_unit_test(test_whether_it_packs),
        cmocka_unit_test(test_what_is_no_such_file_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
