/*
 * test_control_unhelped.c - what was bought in vain is not bought again: which
 * node is the witness, what is noted, for how long, and what of it the next
 * snapshot has.
 */
#include "control_rig.h"

#include "control/report/unhelped.h"
#include "control/sources/inside.h"

static const struct source_ops kube = {.kind = "kubernetes", .waits = true};
static struct machine *machine;
static struct status_page *page;

/* What a step knows of it. */
static struct taken taken;
static struct problem *now;
static struct plan plan;
static struct plan_node nodes[4];
static struct plan_bundle bundles[4];
static struct plan_placement placed = {.count = 1};
static struct plan_launch launch = {.count = 1, .n_placements = 1};

static void viewed(const struct taint *taints, uint32_t n_taints)
{
    static const struct qty all[] = {{"CPU", 40000}, {"GPU", 10000}};
    struct source_node n = {.total = {all, 2},
                            .available = {all, 2},
                            .node_id = "node-1",
                            .instance_id = "i-1",
                            .type = "",
                            .machine = "",
                            .zone = "",
                            .address = "",
                            .activity = "",
                            .note = "",
                            .status = SOURCE_IDLE,
                            .taints = {taints, n_taints}};
    struct source *h = &rig.sources.all[0];
    struct source_job *j = source_job_new(h, SOURCE_READ, 1000);

    j->status = ST_OK;
    j->view = source_view_new();
    j->view->session = "s";
    j->view->nodes = arena_copy(&j->view->arena, &n, sizeof n);
    j->view->n_nodes = 1;
    h->asked_ms = rig.env.now_ms;
    source_job_submit(j);
    sources_fold(&rig.sources, &rig_job()->mail);
}

/* The snapshot again, and a plan that holds nothing on the node and buys another. */
static void planned(void)
{
    struct err err;

    if (page)
        status_unref(page);
    page = status_new();
    taken = snapshot_take(&rig.known, page);
    assert_int_equal(problem_make(taken.snapshot, &page->arena, &now, &err),
                     ST_OK);
    assert_int_equal(now->n_nodes, 1);
    assert_int_equal(now->n_bundles, 1);
    machine->bought_for[0] = now->shapes[now->alts[0].shape].plain;
    memset(nodes, 0, sizeof nodes);
    memset(bundles, 0, sizeof bundles);
    bundles[0].waiting = 1;
    plan = (struct plan){.nodes = nodes,
                         .bundles = bundles,
                         .placements = &placed,
                         .launches = &launch,
                         .n_launches = 1};
}

static int start(void **state)
{
    struct command cmd;

    (void)state;
    rig_start(RIG_CONFIG, &kube, 1);
    rig_site()->listed_ms = rig.env.now_ms;
    machine = rig_machine("m", STATE_READY, "i-1");
    MACHINE_SET(machine, ray_id, "node-1");
    cmd = rig_put("me", "CPU", 1);
    requests_fold(&rig.requests, &cmd);
    requests_done(&cmd);
    arena_done(&cmd.arena);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    status_unref(page);
    page = NULL;
    rig_stop();
    return 0;
}

static bool judged(void)
{
    return unhelped_judge(&rig.env, &rig.ledger, &rig.sources, &taken, now,
                          &plan, &launch);
}

static uint32_t noted(void)
{
    struct arena a = {0};
    struct snapshot s = {0};

    unhelped_take(&rig.ledger, rig.env.now_ms, &a, &s);
    arena_done(&a);
    return s.n_unhelped;
}

/* The first facts may not be the last: none is bought for two seconds, and it is
 * not noted either.  Then it is told once, for ten minutes, and for twenty. */
static void test_noted_for_longer_each_time(void **state)
{
    (void)state;
    viewed(NULL, 0);
    planned();
    assert_true(judged());
    assert_int_equal(noted(), 0);
    rig_pass(2000);
    viewed(NULL, 0);
    planned();
    assert_true(judged());
    assert_int_equal(noted(), 1);
    assert_true(rig_emitted("demand.unhelped"));
    rig.env.news = false;
    rig_pass(600000 - 1);
    assert_int_equal(noted(), 1);
    assert_true(judged());
    assert_false(rig.env.news); /* it is in force: told already */
    rig_pass(1);
    assert_int_equal(noted(), 0);
    assert_true(judged());
    assert_true(rig.env.news);
    rig_pass(1200000 - 1);
    assert_int_equal(noted(), 1);
    rig_pass(1);
    assert_int_equal(noted(), 0);
}

/* A node with work, or of which the plan makes use, or that was bought for
 * something else, says nothing. */
static void test_no_witness(void **state)
{
    (void)state;
    viewed(NULL, 0);
    rig_pass(2000);
    planned();
    nodes[0].n_placements = 1;
    assert_false(judged());
    nodes[0].n_placements = 0;
    machine->bought_for[0]++;
    assert_false(judged());
    machine->bought_for[0]--;
    assert_true(judged());
    assert_int_equal(noted(), 1);
}

/* A taint that nobody told us of is what all nodes of the type are taken to have,
 * and is not told of for each shape; one that passes by itself is no reason. */
static void test_taint_is_the_types(void **state)
{
    static const struct taint team[] = {{"team", "ml", EFFECT_NO_SCHEDULE}};
    static const struct taint passes[] = {
        {"node.kubernetes.io/not-ready", "", EFFECT_NO_SCHEDULE}};
    struct arena a = {0};
    struct taints t;

    (void)state;
    viewed(passes, 1);
    rig_pass(2000);
    viewed(passes, 1);
    planned();
    assert_false(judged());
    viewed(team, 1);
    planned();
    assert_true(judged());
    assert_int_equal(noted(), 0); /* not the shape's */
    t = unhelped_taints(&rig.ledger, rig.env.now_ms, "t", (struct taints){0},
                        &a);
    assert_int_equal(t.n, 1);
    assert_string_equal(t.v[0].key, "team");
    assert_string_equal(t.v[0].value, "ml");
    t = unhelped_taints(&rig.ledger, rig.env.now_ms, "t",
                        (struct taints){team, 1}, &a);
    assert_int_equal(t.n, 1); /* the configuration has it */
    t = unhelped_taints(&rig.ledger, rig.env.now_ms, "u", (struct taints){0},
                        &a);
    assert_int_equal(t.n, 0);
    t = unhelped_taints(&rig.ledger, rig.env.now_ms + 600000, "t",
                        (struct taints){0}, &a);
    assert_int_equal(t.n, 0);
    arena_done(&a);
}

/* Ended because it is idle while what it was bought for still waits. */
static void test_idle_end_of_a_witness(void **state)
{
    (void)state;
    viewed(NULL, 0);
    planned();
    bundles[0].waiting = 0;
    unhelped_ending(&rig.env, &rig.ledger, &taken, now, &plan, 0);
    assert_int_equal(noted(), 0);
    bundles[0].waiting = 1;
    unhelped_ending(&rig.env, &rig.ledger, &taken, now, &plan, 0);
    assert_int_equal(noted(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)
        TEST(test_noted_for_longer_each_time),
        TEST(test_no_witness),
        TEST(test_taint_is_the_types),
        TEST(test_idle_end_of_a_witness),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
