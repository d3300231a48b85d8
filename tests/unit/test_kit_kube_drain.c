/*
 * The drain of a Kubernetes node, step by step, with every way an API server
 * can say no.
 */
#include "kube_fake.h"

static struct kube_drain drain_of(int64_t now, bool wait)
{
    return (struct kube_drain){.node = "n1",
                               .now_wall_ms = now,
                               .limit_ms = 60000,
                               .settle_ms = 2000,
                               .wait = wait};
}

static struct kube_drain step(struct fake *f, int64_t now, bool wait)
{
    struct davit_error e = {.size = sizeof e};
    struct kube_drain d = drain_of(now, wait);
    f->log[0] = '\0';
    f->server_ms = now;
    enum davit_status s = kube_drain_step(&f->io, &d, &e);
    if (s != DAVIT_OK)
        fail_msg("step: %s", e.text);
    return d;
}

static bool tainted(const struct fake *f)
{
    const json_t *t;
    size_t i;
    json_array_foreach(kit_json_at(f->node, "spec.taints"), i, t)
        if (strcmp(kit_json_text(t, "key"), KUBE_DRAIN_TAINT) == 0)
            return true;
    return false;
}

static bool cordoned(const struct fake *f)
{
    return kit_json_true(f->node, "spec.unschedulable");
}

/* The node is as a drain found it: only the taint of its type. */
static void untouched(const struct fake *f)
{
    assert_false(tainted(f));
    assert_false(cordoned(f));
    assert_int_equal(json_array_size(kit_json_at(f->node, "spec.taints")), 1);
    assert_int_equal(json_object_size(kit_json_at(f->node, "metadata.labels")),
                     1);
    assert_int_equal(
        json_object_size(kit_json_at(f->node, "metadata.annotations")), 0);
}

static void refused(struct fake *f, const struct kube_drain *d, const char *why)
{
    assert_int_equal(d->got, KUBE_DRAIN_REFUSED);
    assert_false(d->begun);
    if (!strstr(d->why, why))
        fail_msg("\"%s\" is not in \"%s\"", why, d->why);
    untouched(f);
}

static void test_whole(void **state)
{
    struct fake *f = *state;
    add_pod(f, "a", NULL);
    add_pod(f, "b", NULL);
    struct kube_drain d = step(f, NOW, false);
    assert_int_equal(d.got, KUBE_DRAIN_WAITS);
    assert_true(d.begun && !d.moved && d.left == 2);
    assert_true(tainted(f) && cordoned(f));
    assert_int_equal(count_of(f, "/eviction"), 0);
    assert_string_equal(annotation_of(f->node, "davit.io/cordoned"), "true");
    d = step(f, NOW + 300, false);
    assert_int_equal(d.got, KUBE_DRAIN_WAITS);
    assert_true(d.moved);
    assert_int_equal(count_of(f, "/eviction"), 2);
    assert_string_equal(d.why, "2 pods left, 2 of them leaving");
    d = step(f, NOW + 600, false);
    assert_int_equal(count_of(f, "/eviction"), 0);
    remove_leaving(f);
    d = step(f, NOW + 1200, false);
    assert_int_equal(d.got, KUBE_DRAIN_WAITS); /* it settles */
    d = step(f, NOW + 2100, false);
    assert_int_equal(d.got, KUBE_DRAIN_DONE);
    assert_true(tainted(f)); /* until the machine ends */
}

static void test_empty_is_cordoned_first(void **state)
{
    struct fake *f = *state;
    struct kube_drain d = step(f, NOW, false);
    assert_int_equal(d.got, KUBE_DRAIN_WAITS);
    add_pod(f, "late", NULL); /* bound before the scheduler saw the taint */
    d = step(f, NOW + 2500, false);
    assert_int_equal(d.got, KUBE_DRAIN_WAITS);
    assert_int_equal(count_of(f, "/pods/late/eviction"), 1);
}

/* That is not "drained": another cluster may have answered. */
static void test_node_is_gone(void **state)
{
    struct fake *f = *state;
    json_decref(f->node);
    f->node = NULL;
    assert_int_equal(step(f, NOW, false).got, KUBE_DRAIN_ABSENT);
}

/* Another cluster's node of this name, or one that was made anew: it is not touched,
 * and its pods are none of those that are to go. */
static void test_another_node_of_its_name(void **state)
{
    struct fake *f = *state;
    struct davit_error e = {.size = sizeof e};
    struct kube_drain d = drain_of(NOW, false);
    add_pod(f, "a", NULL);
    json_object_set_new(json_object_get(f->node, "metadata"), "uid",
                        json_string("n-2"));
    d.uid = "n-1";
    assert_int_equal(kube_drain_step(&f->io, &d, &e), DAVIT_OK);
    assert_int_equal(d.got, KUBE_DRAIN_WAITS);
    assert_non_null(strstr(d.why, "another node has its name"));
    untouched(f);
    d.uid = "n-2";
    assert_int_equal(kube_drain_step(&f->io, &d, &e), DAVIT_OK);
    assert_true(d.begun && tainted(f));
}

static void test_left_alone(void **state)
{
    struct fake *f = *state;
    add_pod(f, "static",
            "{\"metadata\":{\"annotations\":{"
            "\"kubernetes.io/config.mirror\":\"h\"}}}");
    add_pod(f, "node-owned",
            "{\"metadata\":{\"ownerReferences\":"
            "[{\"kind\":\"Node\",\"controller\":true}]}}");
    add_pod(f, "ds",
            "{\"metadata\":{\"ownerReferences\":"
            "[{\"kind\":\"DaemonSet\",\"controller\":true}]}}");
    add_pod(f, "ds2",
            "{\"metadata\":{\"annotations\":{"
            "\"cluster-autoscaler.kubernetes.io/daemonset-pod\":\"true\"}}}");
    add_pod(f, "at-home",
            "{\"spec\":{\"tolerations\":"
            "[{\"operator\":\"Exists\"}]}}");
    add_pod(f, "done", "{\"status\":{\"phase\":\"Succeeded\"}}");
    add_pod(f, "failed", "{\"status\":{\"phase\":\"Failed\"}}");
    step(f, NOW, false);
    struct kube_drain d = step(f, NOW + 3000, false);
    assert_int_equal(d.got, KUBE_DRAIN_DONE);
    assert_int_equal(count_of(f, "/eviction"), 0);
}

static void test_holds(void **state)
{
    static const struct {
        const char *pod, *why;
    } cases[] = {
        {"{\"metadata\":{\"annotations\":{\"cluster-autoscaler.kubernetes.io/"
         "safe-to-evict\":\"false\"}}}",
         "pod ns/held is annotated cluster-autoscaler.kubernetes.io/"
         "safe-to-evict: \"false\""},
        {"{\"metadata\":{\"annotations\":{\"karpenter.sh/do-not-disrupt\":"
         "\"true\"}}}",
         "karpenter.sh/do-not-disrupt"},
        {"{\"metadata\":{\"annotations\":{\"karpenter.sh/do-not-evict\":"
         "\"true\"}}}",
         "karpenter.sh/do-not-evict"},
        {"{\"metadata\":{\"annotations\":{\"davit.io/do-not-disrupt\":"
         "\"true\"}}}",
         "davit.io/do-not-disrupt"},
        {"{\"metadata\":{\"ownerReferences\":null}}",
         "has no controller that would make it again"},
        {"{\"spec\":{\"volumes\":[{\"name\":\"tmp\",\"emptyDir\":{}}]}}",
         "keeps data on the node in its volume \"tmp\""},
        {"{\"spec\":{\"volumes\":[{\"name\":\"log\",\"hostPath\":{\"path\":"
         "\"/x\"}}]}}",
         "volume \"log\""},
    };
    struct fake *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_array_clear(f->pods);
        add_pod(f, "a", NULL);
        add_pod(f, "held", cases[i].pod);
        struct kube_drain d = step(f, NOW, false);
        refused(f, &d, cases[i].why);
        assert_int_equal(count_of(f, "PATCH"), 0);
        assert_int_equal(count_of(f, "/eviction"), 0);
    }
}

static void test_waived(void **state)
{
    struct fake *f = *state;
    add_pod(f, "bare",
            "{\"metadata\":{\"ownerReferences\":null,"
            "\"annotations\":{\"cluster-autoscaler.kubernetes.io/"
            "safe-to-evict\":\"true\"}},"
            "\"spec\":{\"volumes\":[{\"name\":\"t\",\"emptyDir\":{}}]}}");
    add_pod(f, "waived",
            "{\"metadata\":{\"annotations\":{"
            "\"cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes\":"
            "\"x, tmp ,y\"}},"
            "\"spec\":{\"volumes\":[{\"name\":\"tmp\",\"emptyDir\":{}}]}}");
    add_pod(f, "shm",
            "{\"spec\":{\"volumes\":[{\"name\":\"shm\","
            "\"emptyDir\":{\"medium\":\"Memory\"}}]}}");
    step(f, NOW, false);
    step(f, NOW + 300, false);
    assert_int_equal(count_of(f, "/eviction"), 3);
}

static void test_rules(void **state)
{
    struct fake *f = *state;
    struct davit_error e = {.size = sizeof e};
    struct kube_drain d = drain_of(NOW, false);
    add_pod(f, "bare", "{\"metadata\":{\"ownerReferences\":null}}");
    add_pod(f, "local",
            "{\"spec\":{\"volumes\":[{\"name\":\"t\","
            "\"emptyDir\":{}}]}}");
    d.rules = (struct kube_pod_rules){.move_local = true, .move_bare = true};
    assert_int_equal(kube_drain_step(&f->io, &d, &e), DAVIT_OK);
    assert_int_equal(d.got, KUBE_DRAIN_WAITS);
    assert_true(d.begun);
}

static void test_node_says_no(void **state)
{
    static const char *const keys[] = {
        "davit.io/do-not-disrupt", "karpenter.sh/do-not-disrupt",
        "cluster-autoscaler.kubernetes.io/scale-down-disabled"};
    struct fake *f = *state;
    for (size_t i = 0; i < 3; i++) {
        json_t *meta = json_object_get(f->node, "metadata");
        json_object_set_new(meta, "annotations",
                            json_pack("{s:s}", keys[i], "true"));
        struct kube_drain d = step(f, NOW, i == 0);
        assert_int_equal(d.got, KUBE_DRAIN_REFUSED);
        assert_non_null(strstr(d.why, keys[i]));
        assert_false(tainted(f));
    }
}

static void test_budget_forbids_at_once(void **state)
{
    struct fake *f = *state;
    add_pod(f, "a", NULL);
    add_pdb(f, "web", 0);
    struct kube_drain d = step(f, NOW, false);
    refused(f, &d,
            "pod ns/a: disruption budget \"web\" allows none now "
            "(2 healthy, 2 needed)");
    assert_int_equal(count_of(f, "/eviction"), 0);
    assert_int_equal(count_of(f, "PATCH"), 0);
}

static void test_two_budgets(void **state)
{
    struct fake *f = *state;
    add_pod(f, "a", NULL);
    add_pdb(f, "web", 1);
    add_pdb(f, "all", 1);
    struct kube_drain d = step(f, NOW, false);
    refused(f, &d, "two disruption budgets (web, all)");
}

static void test_budget_of_others(void **state)
{
    struct fake *f = *state;
    add_pod(f, "a", "{\"metadata\":{\"labels\":{\"app\":\"db\"}}}");
    add_pdb(f, "web", 0);
    assert_true(step(f, NOW, false).begun);
}

static void test_budgets_unreadable(void **state)
{
    struct fake *f = *state;
    add_pod(f, "a", NULL);
    f->fail_path = "poddisruptionbudgets";
    f->fail_code = 403;
    f->fail_reply = "no";
    assert_true(step(f, NOW, false).begun); /* the eviction asks them */
}

static void test_unready_pod_goes(void **state)
{
    struct fake *f = *state;
    add_pod(f, "sick", "{\"status\":{\"conditions\":[]}}");
    add_pdb(f, "web", 0);
    json_object_set_new(json_object_get(json_array_get(f->pdbs, 0), "spec"),
                        "unhealthyPodEvictionPolicy",
                        json_string("AlwaysAllow"));
    assert_true(step(f, NOW, false).begun);
}

/* A budget that lets one go at a time: the others wait, and are told. */
static void test_one_by_one(void **state)
{
    struct fake *f = *state;
    add_pod(f, "a", NULL);
    json_t *b = add_pod(f, "b",
                        "{\"metadata\":{\"annotations\":{"
                        "\"test/evict\":\"budget\"}}}");
    add_pdb(f, "web", 1);
    step(f, NOW, false);
    struct kube_drain d = step(f, NOW + 300, false);
    assert_int_equal(d.got, KUBE_DRAIN_WAITS);
    assert_true(d.moved);
    assert_non_null(strstr(d.why, "2 pods left; pod ns/b: The disruption "
                                  "budget web needs 2 healthy pods and has 2"));
    remove_leaving(f);
    json_object_del(json_object_get(b, "metadata"), "annotations");
    d = step(f, NOW + 5000, false);
    assert_int_equal(count_of(f, "/pods/b/eviction"), 1);
    remove_leaving(f);
    assert_int_equal(step(f, NOW + 6000, false).got, KUBE_DRAIN_DONE);
}

static void test_budget_until_the_limit(void **state)
{
    struct fake *f = *state;
    add_pod(f, "a",
            "{\"metadata\":{\"annotations\":{"
            "\"test/evict\":\"budget\"}}}");
    step(f, NOW, true);
    assert_int_equal(step(f, NOW + 59000, true).got, KUBE_DRAIN_WAITS);
    struct kube_drain d = step(f, NOW + 60000, true);
    refused(f, &d,
            "after 60 s, 1 pods left: pod ns/a: The disruption budget "
            "web needs 2");
}

static void test_hold_waits(void **state)
{
    struct fake *f = *state;
    add_pod(f, "a", NULL);
    add_pod(f, "held",
            "{\"metadata\":{\"annotations\":{"
            "\"davit.io/do-not-disrupt\":\"true\"}}}");
    step(f, NOW, true);
    struct kube_drain d = step(f, NOW + 300, true);
    assert_int_equal(d.got, KUBE_DRAIN_WAITS);
    assert_int_equal(count_of(f, "/pods/a/eviction"), 1);
    assert_int_equal(count_of(f, "/pods/held/eviction"), 0);
    assert_non_null(strstr(d.why, "ns/held is annotated davit.io/"));
    remove_leaving(f);
    d = step(f, NOW + 61000, true);
    refused(f, &d, "after 60 s: pod ns/held is annotated");
}

/* A pod with a hold that came after the cordon. */
static void test_hold_comes_late(void **state)
{
    struct fake *f = *state;
    step(f, NOW, false);
    assert_true(cordoned(f));
    add_pod(f, "held",
            "{\"metadata\":{\"annotations\":{"
            "\"davit.io/do-not-disrupt\":\"true\"}}}");
    struct kube_drain d = step(f, NOW + 300, false);
    refused(f, &d, "ns/held");
}

static void test_evictions_refused(void **state)
{
    static const struct {
        const char *how, *why;
    } cases[] = {
        {"two", "more than one disruption budget"},
        {"forbidden", "cannot create pods/eviction"},
    };
    struct fake *f = *state;
    for (size_t i = 0; i < 2; i++) {
        char more[120];
        json_array_clear(f->pods);
        snprintf(more, sizeof more,
                 "{\"metadata\":{\"annotations\":{"
                 "\"test/evict\":\"%s\"}}}",
                 cases[i].how);
        add_pod(f, "a", more);
        step(f, NOW, false);
        struct kube_drain d = step(f, NOW + 300, false);
        refused(f, &d, cases[i].why);
    }
}

static void test_evictions_waited_for(void **state)
{
    struct fake *f = *state;
    struct davit_error e = {.size = sizeof e};
    struct kube_drain d;
    json_t *pod = add_pod(f, "a",
                          "{\"metadata\":{\"annotations\":{"
                          "\"test/evict\":\"other\"}}}");
    json_t *notes = kit_json_at(pod, "metadata.annotations")
                        ? json_object_get(json_object_get(pod, "metadata"),
                                          "annotations")
                        : NULL;
    step(f, NOW, false);
    assert_int_equal(step(f, NOW + 300, false).got, KUBE_DRAIN_WAITS);
    json_object_set_new(notes, "test/evict", json_string("busy"));
    d = drain_of(NOW + 600, false);
    assert_int_equal(kube_drain_step(&f->io, &d, &e), DAVIT_RETRY);
    assert_int_equal(e.retry_after_ms, 3000);
    json_object_set_new(notes, "test/evict", json_string("silence"));
    assert_int_equal(kube_drain_step(&f->io, &d, &e), DAVIT_RETRY);
    assert_non_null(strstr(e.text, "no connection"));
    json_object_set_new(notes, "test/evict", json_string("ending"));
    d = step(f, NOW + 3000, false);
    assert_int_equal(d.left, 0);
    assert_int_equal(d.got, KUBE_DRAIN_DONE);
    assert_true(tainted(f));
}

static void test_requests_fail(void **state)
{
    static const struct {
        const char *path;
        int code;
        enum davit_status s;
    } cases[] = {{"/api/v1/nodes", 0, DAVIT_RETRY},
                 {"/api/v1/nodes", 403, DAVIT_AUTH},
                 {"/api/v1/nodes", 500, DAVIT_RETRY},
                 {"/api/v1/pods", 403, DAVIT_AUTH},
                 {"/api/v1/pods", 410, DAVIT_RETRY}};
    struct fake *f = *state;
    add_pod(f, "a", NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct davit_error e = {.size = sizeof e};
        struct kube_drain d = drain_of(NOW, false);
        f->fail_path = cases[i].path;
        f->fail_code = cases[i].code;
        f->fail_reply = "because";
        assert_int_equal(kube_drain_step(&f->io, &d, &e), cases[i].s);
        assert_non_null(strstr(e.text, "because"));
        untouched(f);
    }
}

static void test_conflict(void **state)
{
    struct fake *f = *state;
    struct davit_error e = {.size = sizeof e};
    struct kube_drain d = drain_of(NOW, false);
    f->conflicts = 1;
    assert_int_equal(kube_drain_step(&f->io, &d, &e), DAVIT_RETRY);
    assert_string_equal(e.code, "Conflict");
    assert_true(step(f, NOW, false).begun);
    f->conflicts = 2;
    assert_int_equal(kube_drain_undo(&f->io, "n1", &e), DAVIT_OK);
    untouched(f);
}

/* Somebody else's cordon and label outlive our drain; so does their taint. */
static void test_undo_keeps_what_was(void **state)
{
    struct fake *f = *state;
    struct davit_error e = {.size = sizeof e};
    json_object_set_new(json_object_get(f->node, "spec"), "unschedulable",
                        json_true());
    json_object_set_new(
        json_object_get(json_object_get(f->node, "metadata"), "labels"),
        "node.kubernetes.io/exclude-from-external-load-balancers",
        json_string("karpenter"));
    step(f, NOW, false);
    assert_true(tainted(f));
    assert_int_equal(kube_drain_undo(&f->io, "n1", &e), DAVIT_OK);
    assert_false(tainted(f));
    assert_true(cordoned(f));
    assert_int_equal(json_object_size(kit_json_at(f->node, "metadata.labels")),
                     2);
    f->log[0] = '\0';
    assert_int_equal(kube_drain_undo(&f->io, "n1", &e), DAVIT_OK);
    assert_int_equal(count_of(f, "PATCH"), 0); /* nothing of ours is left */
}

static void test_undo_without_node(void **state)
{
    struct fake *f = *state;
    struct davit_error e = {.size = sizeof e};
    json_decref(f->node);
    f->node = NULL;
    assert_int_equal(kube_drain_undo(&f->io, "n1", &e), DAVIT_OK);
}

/* Another process goes on from the taint, limit included. */
static void test_resumes(void **state)
{
    struct fake *f = *state;
    add_pod(f, "a",
            "{\"metadata\":{\"annotations\":{"
            "\"test/evict\":\"budget\"}}}");
    step(f, NOW, false);
    struct kube_drain d = step(f, NOW + 61000, false);
    refused(f, &d, "after 60 s");
}

static void test_system_pods_last(void **state)
{
    struct fake *f = *state;
    add_pod(f, "dns",
            "{\"spec\":{\"priorityClassName\":"
            "\"system-cluster-critical\"}}");
    add_pod(f, "a", NULL);
    step(f, NOW, false);
    step(f, NOW + 300, false);
    assert_int_equal(count_of(f, "/pods/a/eviction"), 1);
    assert_int_equal(count_of(f, "/pods/dns/eviction"), 0);
    remove_leaving(f);
    step(f, NOW + 600, false);
    assert_int_equal(count_of(f, "/pods/dns/eviction"), 1);
}

static void test_grace(void **state)
{
    struct fake *f = *state;
    struct davit_error e = {.size = sizeof e};
    struct kube_drain d = drain_of(NOW + 300, false);
    json_t *p = add_pod(f, "slow",
                        "{\"spec\":{\"terminationGracePeriodSeconds\":3600}}");
    step(f, NOW, false);
    d.most_grace_s = 600;
    assert_int_equal(kube_drain_step(&f->io, &d, &e), DAVIT_OK);
    assert_int_equal(
        kit_time_ms(kit_json_text(p, "metadata.deletionTimestamp")),
        NOW + 600000);
    /* it has its time, though the drain's is over; then it counts as lost */
    assert_int_equal(step(f, NOW + 90000, false).got, KUBE_DRAIN_WAITS);
    assert_int_equal(step(f, NOW + 629000, false).got, KUBE_DRAIN_WAITS);
    assert_int_equal(step(f, NOW + 632000, false).got, KUBE_DRAIN_DONE);
}

/* A step by our own clock, beside a server whose clock is its own. */
static struct kube_drain step_by(struct fake *f, int64_t ours, int64_t server,
                                 bool idle)
{
    struct davit_error e = {.size = sizeof e};
    struct kube_drain d = drain_of(ours, false);
    d.idle = idle;
    f->log[0] = '\0';
    f->server_ms = server;
    if (kube_drain_step(&f->io, &d, &e) != DAVIT_OK)
        fail_msg("step: %s", e.text);
    return d;
}

/* A grace is over by the clock of who gave it, however wrong ours is. */
static void test_our_clock_is_wrong(void **state)
{
    static const int64_t off[] = {150000, 600000, -600000, 86400000};
    struct fake *f = *state;
    for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
        const int64_t x = off[i];
        json_array_clear(f->pods);
        add_pod(f, "slow",
                "{\"spec\":{\"terminationGracePeriodSeconds\":120}}");
        step_by(f, NOW + x, NOW, false);
        step_by(f, NOW + x + 300, NOW + 300, false);
        assert_int_equal(count_of(f, "/eviction"), 1);
        for (int64_t t = 1000; t < 150000; t += 1000)
            assert_int_equal(step_by(f, NOW + x + t, NOW + t, false).got,
                             KUBE_DRAIN_WAITS);
        assert_int_equal(step_by(f, NOW + x + 152000, NOW + 152000, false).got,
                         KUBE_DRAIN_DONE);
        struct davit_error e = {.size = sizeof e};
        assert_int_equal(kube_drain_undo(&f->io, "n1", &e), DAVIT_OK);
    }
}

/* Where the server tells no time, a pod is gone when no list has it; what stays for
 * longer than a drain may last is a refusal. */
static void test_server_without_a_clock(void **state)
{
    struct fake *f = *state;
    struct kube_drain d;
    add_pod(f, "slow", "{\"spec\":{\"terminationGracePeriodSeconds\":10}}");
    step_by(f, NOW, 0, false);
    step_by(f, NOW + 300, 0, false);
    assert_int_equal(count_of(f, "/eviction"), 1);
    assert_int_equal(step_by(f, NOW + 59000, 0, false).got, KUBE_DRAIN_WAITS);
    d = step_by(f, NOW + 61000, 0, false);
    refused(f, &d, "after 60 s, 1 pods left");
    step_by(f, NOW + 62000, 0, false);
    remove_leaving(f);
    assert_int_equal(step_by(f, NOW + 65000, 0, false).got, KUBE_DRAIN_DONE);
}

/* What the watch did not tell of, the drain's own list has: it stays. */
static void test_idle_end_moves_nothing(void **state)
{
    static const char *const more[] = {
        NULL, "{\"spec\":{\"tolerations\":[{\"operator\":\"Exists\"}]}}",
        "{\"metadata\":{\"ownerReferences\":null}}"};
    struct fake *f = *state;
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        json_array_clear(f->pods);
        step_by(f, NOW, NOW, true);
        assert_true(tainted(f));
        add_pod(f, "second", more[i]); /* bound before the taint came */
        struct kube_drain d = step_by(f, NOW + 300, NOW + 300, true);
        refused(f, &d, "it is not idle: pod ns/second has come to it");
        assert_int_equal(count_of(f, "/eviction"), 0);
        d = step_by(f, NOW + 1000, NOW + 1000, true);
        refused(f, &d, "it is not idle: pod ns/second");
        assert_int_equal(count_of(f, "PATCH"), 0);
    }
}

/* Pods of the system do not make it busy, and one that leaves is waited for. */
static void test_idle_end_of_an_idle_node(void **state)
{
    struct fake *f = *state;
    json_t *p;
    add_pod(f, "ds",
            "{\"metadata\":{\"ownerReferences\":"
            "[{\"kind\":\"DaemonSet\",\"controller\":true}]}}");
    p = add_pod(f, "leaves", NULL);
    leave(p, NOW + 30000);
    assert_true(step_by(f, NOW, NOW, true).begun);
    struct kube_drain d = step_by(f, NOW + 3000, NOW + 3000, true);
    assert_int_equal(d.got, KUBE_DRAIN_WAITS);
    assert_false(d.moved); /* not by us: it may be taken back */
    remove_leaving(f);
    assert_int_equal(step_by(f, NOW + 4000, NOW + 4000, true).got,
                     KUBE_DRAIN_DONE);
    assert_int_equal(count_of(f, "/eviction"), 0);
}

static void test_pages(void **state)
{
    struct fake *f = *state;
    char name[16];
    f->page = 3;
    for (int i = 0; i < 60; i++) {
        snprintf(name, sizeof name, "p%d", i);
        add_pod(f, name, NULL);
    }
    assert_int_equal(step(f, NOW, false).left, 60);
    step(f, NOW + 300, false);
    assert_int_equal(count_of(f, "/eviction"), 50); /* a step has its end */
    step(f, NOW + 600, false);
    assert_int_equal(count_of(f, "/eviction"), 10);
}

static void test_forget(void **state)
{
    struct fake *f = *state;
    struct davit_error e = {.size = sizeof e};
    bool gone;
    json_object_set_new(f->node, "status",
                        json_pack("{s:[{s:s, s:s}]}", "conditions", "type",
                                  "Ready", "status", "True"));
    assert_int_equal(kube_node_forget(&f->io, "n1", "n1", &gone, &e),
                     DAVIT_RETRY);
    assert_non_null(strstr(e.text, "Ready"));
    json_object_del(f->node, "status");
    assert_int_equal(kube_node_forget(&f->io, "n1", "other", &gone, &e),
                     DAVIT_OK);
    assert_false(gone);
    assert_int_equal(kube_node_forget(&f->io, "n1", "1", &gone, &e), DAVIT_OK);
    assert_false(gone); /* a part of a name is another name */
    assert_int_equal(kube_node_forget(&f->io, "n1", "n1", &gone, &e), DAVIT_OK);
    assert_true(gone);
    assert_int_equal(kube_node_forget(&f->io, "n1", "n1", &gone, &e), DAVIT_OK);
    assert_false(gone);
}

static void test_selectors(void **state)
{
    static const struct {
        const char *selector;
        bool takes;
    } cases[] = {
        {"{}", true},
        {"null", false},
        {"{\"matchLabels\":{\"a\":\"1\"}}", true},
        {"{\"matchLabels\":{\"a\":\"2\"}}", false},
        {"{\"matchLabels\":{\"b\":\"1\"}}", false},
        {"{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\","
         "\"values\":[\"0\",\"1\"]}]}",
         true},
        {"{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"NotIn\","
         "\"values\":[\"1\"]}]}",
         false},
        {"{\"matchExpressions\":[{\"key\":\"b\",\"operator\":\"NotIn\","
         "\"values\":[\"1\"]}]}",
         true},
        {"{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Exists\"}]}",
         true},
        {"{\"matchExpressions\":[{\"key\":\"b\",\"operator\":\"Exists\"}]}",
         false},
        {"{\"matchExpressions\":[{\"key\":\"b\",\"operator\":"
         "\"DoesNotExist\"}]}",
         true},
        {"{\"matchExpressions\":[{\"key\":\"a\",\"operator\":"
         "\"DoesNotExist\"}]}",
         false},
        {"{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Gt\"}]}", false},
    };
    json_t *labels = json_pack("{s:s}", "a", "1");
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *s = json_loads(cases[i].selector, JSON_DECODE_ANY, NULL);
        if (kube_selector_takes(s, labels) != cases[i].takes)
            fail_msg("%s", cases[i].selector);
        json_decref(s);
    }
    json_decref(labels);
}

#define T(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_whole),
        T(test_empty_is_cordoned_first),
        T(test_node_is_gone),
        T(test_another_node_of_its_name),
        T(test_left_alone),
        T(test_holds),
        T(test_waived),
        T(test_rules),
        T(test_node_says_no),
        T(test_budget_forbids_at_once),
        T(test_two_budgets),
        T(test_budget_of_others),
        T(test_budgets_unreadable),
        T(test_unready_pod_goes),
        T(test_one_by_one),
        T(test_budget_until_the_limit),
        T(test_hold_waits),
        T(test_hold_comes_late),
        T(test_evictions_refused),
        T(test_evictions_waited_for),
        T(test_requests_fail),
        T(test_conflict),
        T(test_undo_keeps_what_was),
        T(test_undo_without_node),
        T(test_resumes),
        T(test_system_pods_last),
        T(test_grace),
        T(test_our_clock_is_wrong),
        T(test_server_without_a_clock),
        T(test_idle_end_moves_nothing),
        T(test_idle_end_of_an_idle_node),
        T(test_pages),
        T(test_forget),
        T(test_selectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
