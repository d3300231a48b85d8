/*
 * test_wire_volumes.c - where volumes let a pod run: the worlds of which the
 * scheduler said otherwise than we did.
 */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include "pods_world.h"

#define ZONE "topology.kubernetes.io/zone"
#define CLAIM(name) \
    ", 'volumes': [{'name': 'd', 'persistentVolumeClaim': {'claimName': '" name \
    "'}}]"
#define POD(names) "1x{CPU 1, pods 1" names "}"

static void claim(struct world *w, const char *name, const char *spec)
{
    put(w, claims_put, false,
        "{'metadata': {'name': '%s', 'namespace': 'ns'}, 'spec': {%s}}", name,
        spec);
}

static void in_zone(struct world *w, const char *name, const char *zone,
                    const char *more)
{
    put(w, volumes_put, false,
        "{'metadata': {'name': '%s'}, 'spec': {'nodeAffinity': {'required': "
        "{'nodeSelectorTerms': [{'matchExpressions': [{'key': '" ZONE
        "', 'operator': 'In', 'values': ['%s']}]}]}}%s}, 'status': {'phase': "
        "'Available'}}",
        name, zone, more);
}

static void storage(struct world *w, const char *name, const char *mode,
                    const char *more)
{
    put(w, classes_put, false,
        "{'metadata': {'name': '%s'}, 'volumeBindingMode': '%s'%s}", name, mode,
        more);
}

static void refused(struct world *w, const char *code)
{
    view(w);
    assert_int_equal(w->view->n_demands, 0);
    assert_int_equal(w->view->n_notes, 1);
    assert_string_equal(w->view->notes[0].code, code);
    assert_int_equal(w->view->n_elsewhere, 1);
}

static void test_bound_volume(void **state)
{
    struct world w;
    (void)state;
    world_begin(&w);
    claim(&w, "c", "'volumeName': 'v'");
    in_zone(&w, "v", "z-b", "");
    pending(&w, "p", "1", "", CLAIM("c"));
    view(&w);
    assert_demand(w.view, 0, "Pod/ns/p", POD("; " ZONE " in z-b"));
    /* two volumes in two zones: nowhere, and so nothing is bought */
    claim(&w, "c2", "'volumeName': 'v2'");
    in_zone(&w, "v2", "z-a", "");
    pending(
        &w, "p", "1", "",
        ", 'volumes': [{'name': 'd', 'persistentVolumeClaim': {'claimName': "
        "'c'}}, {'name': 'e', 'persistentVolumeClaim': {'claimName': "
        "'c2'}}]");
    view(&w);
    assert_demand(w.view, 0, "Pod/ns/p",
                  POD("; " ZONE " in z-b; " ZONE " in z-a"));
    world_end(&w);
}

static void test_labelled_volume(void **state)
{
    struct world w;
    (void)state;
    world_begin(&w);
    claim(&w, "c", "'volumeName': 'v'");
    put(&w, volumes_put, false,
        "{'metadata': {'name': 'v', 'labels': {'" ZONE
        "': 'z-b__z-c'}}, 'spec': {}}");
    pending(&w, "p", "1", "", CLAIM("c"));
    view(&w);
    assert_demand(w.view, 0, "Pod/ns/p", POD("; " ZONE " in z-b z-c"));
    world_end(&w);
}

static void test_volume_of_a_host(void **state)
{
    struct world w;
    (void)state;
    world_begin(&w);
    claim(&w, "c", "'volumeName': 'v'");
    put(&w, volumes_put, false,
        "{'metadata': {'name': 'v'}, 'spec': {'nodeAffinity': {'required': "
        "{'nodeSelectorTerms': [{'matchExpressions': [{'key': "
        "'kubernetes.io/hostname', 'operator': 'In', 'values': ['n1']}]}]}}}}");
    pending(&w, "p", "1", "", CLAIM("c"));
    refused(&w, "VolumeOfHost");
    world_end(&w);
}

static void test_claims_that_wait_for_their_pod(void **state)
{
    struct world w;
    (void)state;
    world_begin(&w);
    claim(&w, "c",
          "'storageClassName': 'manual', 'accessModes': ['ReadWriteOnce'], "
          "'resources': {'requests': {'storage': '10Gi'}}");
    pending(&w, "p", "1", "", CLAIM("c"));
    storage(&w, "manual", "WaitForFirstConsumer",
            ", 'provisioner': 'kubernetes.io/no-provisioner'");
    refused(&w, "VolumeUnbound");
    in_zone(&w, "small", "z-a",
            ", 'storageClassName': 'manual', 'accessModes': ['ReadWriteOnce'], "
            "'capacity': {'storage': '5Gi'}");
    in_zone(&w, "v", "z-b",
            ", 'storageClassName': 'manual', 'accessModes': ['ReadWriteOnce'], "
            "'capacity': {'storage': '10Gi'}");
    view(&w);
    assert_demand(w.view, 0, "Pod/ns/p", POD("; " ZONE " in z-b"));
    storage(&w, "manual", "WaitForFirstConsumer",
            ", 'provisioner': 'disk.example', 'allowedTopologies': [{'match"
            "LabelExpressions': [{'key': 'topology.ebs.csi.aws.com/zone', "
            "'values': ['z-c']}]}]");
    view(&w);
    assert_demand(w.view, 0, "Pod/ns/p",
                  "1x{CPU 1, pods 1; " ZONE " in z-b / CPU 1, pods 1; " ZONE
                  " in z-c}");
    storage(&w, "manual", "WaitForFirstConsumer",
            ", 'provisioner': 'disk.example'");
    view(&w);
    assert_demand(w.view, 0, "Pod/ns/p", POD(""));
    storage(&w, "manual", "Immediate", ", 'provisioner': 'disk.example'");
    refused(&w, "VolumeUnbound");
    world_end(&w);
}

/* A generic ephemeral volume has a claim of the pod's name. */
static void test_ephemeral_and_missing(void **state)
{
    struct world w;
    (void)state;
    world_begin(&w);
    pending(&w, "p", "1", "", ", 'volumes': [{'name': 'd', 'ephemeral': {}}]");
    refused(&w, "VolumeUnbound");
    claim(&w, "p-d", "'volumeName': 'v'");
    in_zone(&w, "v", "z-b", "");
    view(&w);
    assert_demand(w.view, 0, "Pod/ns/p", POD("; " ZONE " in z-b"));
    world_end(&w);
}

static void test_one_pod_only(void **state)
{
    struct world w;
    (void)state;
    world_begin(&w);
    node(&w, "n1", "8", "z-a", "", "");
    claim(&w, "c", "'volumeName': 'v', 'accessModes': ['ReadWriteOncePod']");
    in_zone(&w, "v", "z-a", "");
    pending(&w, "p", "1", "", CLAIM("c"));
    view(&w);
    assert_int_equal(w.view->n_demands, 1);
    /* of two that wait for it one can run */
    pending(&w, "q", "1", "", CLAIM("c"));
    view(&w);
    assert_int_equal(w.view->n_demands, 1);
    assert_int_equal(w.view->demands[0].bundles[0].count, 1);
    assert_string_equal(w.view->notes[0].code, "VolumeInUse");
    put(&w, pods_put, true,
        "{'metadata': {'name': 'q', 'uid': 'u-q', 'namespace': 'ns'}, 'spec': "
        "{'containers': []}}");
    bound(&w, "b", "n1", "1", "", CLAIM("c"));
    refused(&w, "VolumeInUse");
    world_end(&w);
}

/* A node takes no more volumes than its CSINode says; a new one of a type learns
 * it from its like. */
static void test_attach_limits(void **state)
{
    struct world w;
    struct snap_type t = {.name = "t", .n_offers = 0};
    (void)state;
    world_begin(&w);
    node(&w, "n1", "8", "z-a", "", "");
    node(&w, "n2", "8", "z-a", "", "");
    for (int i = 0; i < 2; i++) {
        claim(&w, i ? "c1" : "c0",
              i ? "'volumeName': 'v1'" : "'volumeName': 'v0'");
        in_zone(&w, i ? "v1" : "v0", "z-a",
                ", 'csi': {'driver': 'disk.example'}");
    }
    put(&w, csi_put, false,
        "{'metadata': {'name': 'n1'}, 'spec': {'drivers': [{'name': "
        "'disk.example', 'allocatable': {'count': 1}}]}}");
    bound(&w, "b", "n1", "1", "", CLAIM("c0"));
    pending(&w, "p", "1", "", CLAIM("c1"));
    view(&w);
    assert_demand(w.view, 0, "Pod/ns/p",
                  POD(", volumes of disk.example 1; " ZONE " in z-a"));
    const struct source_node *n1 = node_of(w.view, "n1");
    assert_true(amount(n1->available, "volumes of disk.example") == 0);
    assert_true(amount(n1->total, "volumes of disk.example") == 1);
    assert_true(amount(node_of(w.view, "n2")->available,
                       "volumes of disk.example") > 1000);
    pods_type_fit(w.view, NULL, 0, (struct pods_cloud){.labels = {0}},
                  &w.view->arena, &t);
    assert_true(amount(t.resources, "volumes of disk.example") > 1000);
    t.resources.n = 0;
    pods_type_fit(w.view, &n1, 1, (struct pods_cloud){.labels = {0}},
                  &w.view->arena, &t);
    assert_true(amount(t.resources, "volumes of disk.example") == 1);
    world_end(&w);
}

/* What we may not read is left to the scheduler's word. */
static void test_hidden(void **state)
{
    struct world w;
    (void)state;
    world_begin(&w);
    w.store.hides_volumes = true;
    pending(&w, "p", "1", "", CLAIM("c"));
    view(&w);
    assert_demand(w.view, 0, "Pod/ns/p", POD(""));
    put(&w, pods_put, false,
        "{'metadata': {'name': 'p', 'uid': 'u-p', 'namespace': 'ns'}, 'spec': "
        "{'containers': []}, 'status': {'conditions': [{'type': "
        "'PodScheduled', 'status': 'False', 'reason': 'Unschedulable', "
        "'message': 'pod has unbound immediate PersistentVolumeClaims'}]}}");
    refused(&w, "VolumeUnbound");
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bound_volume),
        cmocka_unit_test(test_labelled_volume),
        cmocka_unit_test(test_volume_of_a_host),
        cmocka_unit_test(test_claims_that_wait_for_their_pod),
        cmocka_unit_test(test_ephemeral_and_missing),
        cmocka_unit_test(test_one_pod_only),
        cmocka_unit_test(test_attach_limits),
        cmocka_unit_test(test_hidden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
