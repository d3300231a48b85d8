/*
 * test_control_cordon.c - a person's cordon: told to the source once, asked again
 * after a failure, and whatever others say of the node stays.
 */
#include "control_rig.h"

#include "control/sources/inside.h"

static enum status cordon(void *handle, const char *node_id, bool on,
                          int64_t deadline_mono_ms, struct err *err)
{
    (void)handle;
    (void)node_id;
    (void)on;
    (void)deadline_mono_ms;
    (void)err;
    return ST_OK;
}

static const struct source_ops kube = {
    .kind = "kubernetes", .waits = true, .cordon = cordon};
static struct machine *m;

static int start(void **state)
{
    (void)state;
    rig_start(RIG_CONFIG, &kube, 1);
    m = rig_machine("m", STATE_READY, "i-1");
    MACHINE_SET(m, ray_id, "node-1");
    return 0;
}

static int stop(void **state)
{
    (void)state;
    rig_stop();
    return 0;
}

/* A view of its node; how many calls follow from it. */
static uint32_t asked(bool unschedulable, bool by_us)
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
                            .status = SOURCE_RUNNING,
                            .idle_ms = -1,
                            .unschedulable = unschedulable,
                            .cordoned_by_us = by_us};
    struct source *h = &rig.sources.all[0];
    struct source_job *j = source_job_new(h, SOURCE_READ, 1000);

    j->status = ST_OK;
    j->view = source_view_new();
    j->view->session = "s";
    j->view->nodes = arena_copy(&j->view->arena, &n, sizeof n);
    j->view->n_nodes = 1;
    h->asked_ms = rig.env.now_ms;
    source_job_submit(j);
    rig.n_jobs--; /* it is answered before the others */
    sources_fold(&rig.sources, &j->job.mail);
    sources_cordon(&rig.sources);
    return rig.n_jobs;
}

static void answered(bool on, enum status s)
{
    struct source_job *j = (struct source_job *)rig_job();

    assert_int_equal(j->op, SOURCE_CORDON);
    assert_string_equal(j->node_id, "node-1");
    assert_int_equal(j->on, on);
    j->status = err_set(&j->err, s, "as the test has it");
    sources_fold(&rig.sources, &j->job.mail);
}

static void test_told_once(void **state)
{
    (void)state;
    assert_int_equal(asked(false, false), 0);
    m->cordoned = true;
    assert_int_equal(asked(false, false), 1);
    assert_int_equal(asked(false, false), 1); /* it is under way */
    answered(true, ST_OK);
    rig_pass(60000);
    assert_int_equal(asked(true, true), 0);
    m->cordoned = false;
    assert_int_equal(asked(true, true), 1);
    answered(false, ST_OK);
    rig_pass(60000);
    assert_int_equal(asked(false, false), 0);
}

static void test_what_others_say_stays(void **state)
{
    (void)state;
    m->cordoned = true;
    assert_int_equal(asked(true, false), 0); /* somebody else had cordoned it */
    m->cordoned = false;
    assert_int_equal(asked(true, false), 0); /* that is not taken back */
    m->cordoned = true;
    assert_int_equal(asked(false, true), 0); /* he took ours back */
}

/* After one second, two, four: told at the third. */
static void test_a_failure_is_asked_again(void **state)
{
    (void)state;
    m->cordoned = true;
    for (int i = 0; i < 3; i++) {
        assert_false(rig_emitted("cordon.failed"));
        assert_int_equal(asked(false, false), 1);
        answered(true, ST_RETRY);
        rig_pass((1000 << i) - 1);
        assert_int_equal(asked(false, false), 0);
        rig_pass(1);
    }
    assert_true(rig_emitted("cordon.failed"));
    assert_int_equal(asked(false, false), 1);
    answered(true, ST_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)
        TEST(test_told_once),
        TEST(test_what_others_say_stays),
        TEST(test_a_failure_is_asked_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
