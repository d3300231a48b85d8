/*
 * test_control_sources.c - views and drains: who joins and who dies, what a
 * refusal, an acceptance and a step of a drain lead to, with one source and with
 * Ray's nodes in pods of the other.
 */
#include "control/sources/inside.h"
#include "control_rig.h"

static const struct source_ops ray = {.kind = "ray", .two_looks = true};

static enum status undrain(void *handle, const char *node_id,
                           int64_t deadline_ms, struct err *err)
{
    (void)handle;
    (void)node_id;
    (void)deadline_ms;
    (void)err;
    return ST_OK;
}

static enum status forget(void *handle, const char *node_id,
                          const char *instance_id, int64_t deadline_ms,
                          struct err *err)
{
    (void)instance_id;
    return undrain(handle, node_id, deadline_ms, err);
}

static const struct source_ops kube = {.kind = "kubernetes",
                                       .waits = true,
                                       .by_address = true,
                                       .drains_in_steps = true,
                                       .undrain = undrain,
                                       .forget = forget};
static const struct source_ops both[] = {{.kind = "ray", .two_looks = true},
                                         {.kind = "kubernetes",
                                          .waits = true,
                                          .by_address = true,
                                          .drains_in_steps = true,
                                          .undrain = undrain}};

static int start_ray(void **state)
{
    (void)state;
    rig_start(RIG_CONFIG, &ray, 1);
    return 0;
}

static int start_kube(void **state)
{
    (void)state;
    rig_start(RIG_CONFIG, &kube, 1);
    return 0;
}

static int start_both(void **state)
{
    (void)state;
    rig_start(RIG_CONFIG, both, 2);
    return 0;
}

static int start_slice(void **state)
{
    (void)state;
    rig_start(
        "cluster: c\nproviders: {rig: {}}\nnode_types:\n"
        "  t: {provider: rig, resources: {CPU: 4, TPU: 4, TPU-v4-16-head: "
        "1}, hosts: 2, price: 1, max: 8}\n"
        "  u: {provider: rig, resources: {CPU: 4, nvidia.com/mig-1g.5gb: "
        "1, nvidia.com/gpu.shared: 1, special: 1}, price: 1, max: 8}\n",
        &ray, 1);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    rig_stop();
    return 0;
}

/* With what its type promises. */
static struct source_node node(const char *instance, const char *id,
                               enum source_status status)
{
    static const struct qty all[] = {{"CPU", 40000}, {"GPU", 10000}};

    return (struct source_node){.total = {all, 2},
                                .available = {all, 2},
                                .node_id = id,
                                .instance_id = instance,
                                .type = "",
                                .machine = "",
                                .zone = "",
                                .address = "",
                                .activity = "",
                                .note = "",
                                .status = status,
                                .idle_ms = -1};
}

static int64_t version; /* of the next view; 0: it has none */

/* A good read of this source, with these nodes. */
static void viewed(uint32_t source, const char *session,
                   const struct source_node *nodes, uint32_t n)
{
    struct source *h = &rig.sources.all[source];
    struct source_job *j = source_job_new(h, SOURCE_READ, 1000);

    j->status = ST_OK;
    j->view = source_view_new();
    j->view->session = arena_strdup(&j->view->arena, session);
    j->view->v2 = true;
    j->view->version = version;
    j->view->nodes = arena_copy(&j->view->arena, nodes, n * sizeof *nodes);
    j->view->n_nodes = n;
    h->asked_ms = rig.env.now_ms;
    h->asked_slept_ms = rig.env.slept_ms;
    source_job_submit(j);
    sources_fold(&rig.sources, &rig_job()->mail);
}

static struct source_job *job(enum source_op op)
{
    struct source_job *j = (struct source_job *)rig_job();

    assert_int_equal(j->op, op);
    return j;
}

static void drained(struct source_job *j, enum source_drained got)
{
    j->status = ST_OK;
    j->drain.got = got;
    sources_fold(&rig.sources, &j->job.mail);
}

static struct machine *ready(const char *id, const char *node_id)
{
    struct machine *m = rig_machine(id, STATE_READY, "i-1");

    MACHINE_SET(m, ray_id, node_id);
    return m;
}

static void test_joins(void **state)
{
    struct machine *m = rig_machine("m", STATE_STARTING, "i-1");
    struct source_node n = node("i-1", "aa", SOURCE_IDLE);

    (void)state;
    viewed(0, "s", &n, 1);
    assert_int_equal(m->state, STATE_READY);
    assert_string_equal(m->ray_id, "aa");
    assert_true(rig.env.news);
}

/* Ready is what was promised: without its GPU it stays on its way. */
static void test_joins_without_its_gpu(void **state)
{
    struct machine *m = rig_machine("m", STATE_STARTING, "i-1");
    struct source_node n = node("i-1", "aa", SOURCE_IDLE);

    (void)state;
    n.total.n = n.available.n = 1;
    viewed(0, "s", &n, 1);
    assert_int_equal(m->state, STATE_STARTING);
    assert_string_equal(m->ray_id, "aa");
    assert_string_equal(m->detail, "it joined with 0 of 1 GPU");
    n.total.n = n.available.n = 2;
    viewed(0, "s", &n, 1);
    assert_int_equal(m->state, STATE_READY);
}

static struct source_node shows(const char *instance, const char *id,
                                const struct qty *v, uint32_t n)
{
    struct source_node x = node(instance, id, SOURCE_IDLE);

    x.total = x.available = (struct qtys){v, n};
    return x;
}

/* Ray shows the marker of a slice on its first host only. */
static void test_the_other_hosts_of_a_slice_join(void **state)
{
    static const struct qty all[] = {
        {"CPU", 40000}, {"TPU", 40000}, {"TPU-v4-16-head", 10000}};
    struct machine *m = rig_machine("m", STATE_STARTING, "i-1");
    struct machine *other = rig_machine("o", STATE_STARTING, "i-2");
    struct source_node n[] = {shows("i-1", "aa", all, 3),
                              shows("i-2", "bb", all, 1)};

    (void)state;
    viewed(0, "s", n, 2);
    assert_int_equal(m->state, STATE_READY);
    assert_string_equal(other->detail, "it joined with 0 of 4 TPU");
    n[1] = shows("i-2", "bb", all, 2);
    viewed(0, "s", n, 2);
    assert_int_equal(other->state, STATE_READY);
}

/* A raylet never shows a Kubernetes device by its name there. */
static void test_devices_of_kubernetes_are_none_of_rays(void **state)
{
    static const struct qty all[] = {{"CPU", 40000}, {"special", 10000}};
    struct machine *m = rig_machine("m", STATE_STARTING, "i-1");
    struct source_node n = shows("i-1", "aa", all, 1);

    (void)state;
    MACHINE_SET(m, type, "u");
    viewed(0, "s", &n, 1);
    assert_string_equal(m->detail, "it joined with 0 of 1 special");
    n = shows("i-1", "aa", all, 2);
    viewed(0, "s", &n, 1);
    assert_int_equal(m->state, STATE_READY);
}

/* It had not joined when it was to end; a view that was begun since says
 * whether it has.  Then it is asked like any other. */
static void test_end_looks_first(void **state)
{
    struct machine *m = rig_machine("m", STATE_STARTING, "i-1");
    struct machine *other = rig_machine("o", STATE_STARTING, "i-2");
    struct source_node n = node("i-1", "aa", SOURCE_RUNNING);

    (void)state;
    machine_to(&rig.ledger, m, STATE_DRAINING);
    machine_to(&rig.ledger, other, STATE_DRAINING);
    source_drain(&rig.sources, m, true);
    source_drain(&rig.sources, other, true);
    assert_int_equal(other->state, STATE_DRAINING);
    rig_pass(1000);
    viewed(0, "s", &n, 1);
    assert_int_equal(m->state, STATE_READY);
    source_drain(&rig.sources, other, true);
    assert_int_equal(other->state, STATE_STOPPING);
}

static void test_dies(void **state)
{
    struct machine *m = ready("m", "aa");
    struct source_node n = node("i-1", "aa", SOURCE_DEAD);

    (void)state;
    viewed(0, "s", &n, 1);
    assert_int_equal(m->state, STATE_READY); /* ends.c ends it */
    assert_int_equal(m->why, REASON_END_FAILED);
    assert_true(source_has_dead(&rig.sources, m));
    assert_true(rig_emitted("node.failed"));
}

/* A head that began anew knows nothing: that is no death. */
static void test_unknown_is_not_dead(void **state)
{
    struct machine *m = ready("m", "aa");

    (void)state;
    viewed(0, "s", NULL, 0);
    assert_int_equal(m->state, STATE_STARTING);
    assert_string_equal(m->ray_id, "");
}

/* What was ready has joined, whatever views say now: it is missing. */
static void test_missing(void **state)
{
    struct machine *m = ready("m", "aa");
    const struct source_node n = node("i-1", "bb", SOURCE_IDLE);

    (void)state;
    viewed(0, "s", NULL, 0);
    assert_int_equal(machine_unjoined(&rig.sources, m), UNJOINED_MISSING);
    m->asked_to_end = true; /* a person decides */
    assert_int_equal(machine_unjoined(&rig.sources, m), UNJOINED_NOT);
    rig_pass(1000);
    viewed(0, "s", &n, 1);
    assert_int_equal(m->state, STATE_READY);
}

/* So has what joined when its end had been asked for already. */
static void test_joined_after_its_end(void **state)
{
    struct machine *m = rig_machine("m", STATE_STARTING, "i-1");
    const struct source_node n = node("i-1", "aa", SOURCE_RUNNING);

    (void)state;
    machine_to(&rig.ledger, m, STATE_STOPPING);
    m->maybe.end_sent = m->maybe.alive = true;
    viewed(0, "s", &n, 1);
    assert_int_equal(m->state, STATE_DRAINING);
    assert_string_equal(m->ray_id, "aa");
    assert_true(m->ready_ms > 0);
}

/* A head is its session and its nodes: another one's word is no word of ours. */
static void test_another_head(void **state)
{
    struct machine *m = ready("m", "aa");
    const struct source_node n = node("i-1", "aa", SOURCE_RUNNING);

    (void)state;
    viewed(0, "s", &n, 1);
    viewed(0, "t", NULL, 0);
    assert_string_equal(sources_another(&rig.sources), "t");
    assert_false(sources_fresh(&rig.sources));
    assert_int_equal(m->state, STATE_READY);
    viewed(0, "s", &n, 1);
    assert_null(sources_another(&rig.sources));
    viewed(0, "t", NULL, 0);
    sources_approve(&rig.sources, "me");
    viewed(0, "t", NULL, 0);
    assert_null(sources_another(&rig.sources));
    assert_int_equal(m->state, STATE_STARTING);
    assert_int_equal(machine_unjoined(&rig.sources, m), UNJOINED_NOT);
}

/* Another cluster's API server is another head.  One that hides which it is may be any. */
static void test_another_cluster(void **state)
{
    struct machine *m = rig_machine("m", STATE_STARTING, "i-1");

    (void)state;
    viewed(0, "kubernetes a", NULL, 0);
    viewed(0, "kubernetes b", NULL, 0);
    assert_string_equal(sources_another(&rig.sources), "kubernetes b");
    assert_false(sources_fresh(&rig.sources));
    viewed(0, SOURCE_NAMELESS, NULL, 0);
    assert_null(sources_another(&rig.sources));
    viewed(0, "kubernetes b", NULL, 0);
    assert_string_equal(sources_another(&rig.sources), "kubernetes b");
    viewed(0, "kubernetes a", NULL, 0);
    assert_null(sources_another(&rig.sources));
    assert_int_equal(m->state, STATE_STARTING);
}

/* A node that joined and is not ready when its machine ends was of no use: its offer
 * backs off.  One that its cloud takes, or that is ready, says nothing of the offer. */
static void test_a_node_that_is_not_ready_proves_nothing(void **state)
{
    struct machine *m = ready("m", "n");

    (void)state;
    machine_vain(&rig.ledger, m);
    assert_null(
        backoffs_find(rig.ledger.backoffs, machine_offer(m), rig.env.now_ms));
    m->maybe.dead = m->maybe.taken = true;
    machine_vain(&rig.ledger, m);
    assert_false(m->maybe.vain);
    m->maybe.taken = false;
    machine_vain(&rig.ledger, m);
    assert_non_null(
        backoffs_find(rig.ledger.backoffs, machine_offer(m), rig.env.now_ms));
}

/* One that began anew is ours as soon as one of our machines has joined it. */
static void test_a_head_that_is_joined_is_ours(void **state)
{
    struct machine *m = ready("m", "aa");
    const struct source_node was = node("i-1", "aa", SOURCE_RUNNING);
    const struct source_node n = node("i-1", "bb", SOURCE_IDLE);

    (void)state;
    viewed(0, "s", &was, 1);
    viewed(0, "t", NULL, 0);
    viewed(0, "t", &n, 1);
    assert_null(sources_another(&rig.sources));
    assert_string_equal(m->ray_id, "bb");
}

/* What was agreed holds no more when views of a while have the node in use. */
static void test_drain_forgotten(void **state)
{
    struct machine *m = ready("m", "aa");
    const struct source_node n = node("i-1", "aa", SOURCE_RUNNING);
    const struct source_node drains = node("i-1", "aa", SOURCE_DRAINING);

    (void)state;
    viewed(0, "s", &drains, 1);
    assert_int_equal(m->state, STATE_DRAINING);
    assert_true(m->drain_accepted);
    rig_pass(1000);
    viewed(0, "s", &n, 1); /* a raylet's word of before may come in late */
    assert_int_equal(m->state, STATE_DRAINING);
    assert_false(source_drains_still(&rig.sources, m));
    rig_pass(1000);
    viewed(0, "s", &drains, 1);
    assert_true(source_drains_still(&rig.sources, m));
    for (int i = 0; i < 4; i++) {
        rig_pass(1000);
        viewed(0, "s", &n, 1);
    }
    assert_int_equal(m->state, STATE_READY);
    assert_false(m->drain_accepted);
}

/* A raylet that was there before the machine's launch is that of an earlier machine
 * of its name, and so is its death. */
static void test_node_of_an_earlier_life(void **state)
{
    const struct source_node old = node("i-1", "aa", SOURCE_RUNNING);
    const struct source_node dead = node("i-1", "aa", SOURCE_DEAD);
    const struct source_node nodes[] = {dead, node("i-1", "bb", SOURCE_IDLE)};
    struct machine *m;

    (void)state;
    viewed(0, "s", &old, 1);
    rig_pass(1000);
    m = rig_machine("m", STATE_STARTING, "i-1");
    viewed(0, "s", &old, 1);
    assert_int_equal(m->state, STATE_STARTING);
    viewed(0, "s", &dead, 1);
    assert_int_equal(m->state, STATE_STARTING);
    viewed(0, "s", nodes, 2);
    assert_int_equal(m->state, STATE_READY);
    assert_string_equal(m->ray_id, "bb");
}

static void read_fails(void)
{
    struct source_job *j;

    rig_pass(2000);
    sources_poll(&rig.sources);
    j = job(SOURCE_READ);
    j->status = err_set(&j->err, ST_RETRY, "no");
    sources_fold(&rig.sources, &j->job.mail);
}

static void test_failed_read_changes_no_machine(void **state)
{
    struct machine *m = ready("m", "aa");
    struct source_node n = node("i-1", "aa", SOURCE_IDLE);

    (void)state;
    viewed(0, "s", &n, 1);
    assert_true(sources_fresh(&rig.sources));
    read_fails();
    assert_int_equal(m->state, STATE_READY);
    assert_false(sources_fresh(&rig.sources));
    assert_non_null(rig.sources.all[0].view);
}

/* Whatever holds it up, a thread or a wire: nobody else would tell. */
static void test_a_read_that_does_not_come_back_is_told(void **state)
{
    struct source_node n = node("i-1", "aa", SOURCE_IDLE);
    struct source *h = &rig.sources.all[0];
    struct source_job *j;

    (void)state;
    viewed(0, "s", &n, 1);
    rig_pass(2000);
    sources_poll(&rig.sources);
    j = job(SOURCE_READ);
    rig_pass(39000);
    sources_poll(&rig.sources);
    assert_false(rig_emitted("source.down"));
    assert_false(sources_fresh(&rig.sources));
    rig_pass(1000);
    sources_poll(&rig.sources);
    assert_true(rig_emitted("source.down"));
    assert_string_equal(h->problem, "a reading of it has not come back for "
                                    "40 s: nothing is known of it since");
    j->status = ST_OK;
    sources_fold(&rig.sources, &j->job.mail);
    assert_string_equal(h->problem, "");
    assert_true(sources_fresh(&rig.sources));
}

/* Names come back: a node that was dead when a machine was launched says nothing of
 * that machine's raylet. */
static void test_old_death(void **state)
{
    struct source_node n[2] = {node("i-1", "old", SOURCE_DEAD),
                               node("i-1", "new", SOURCE_DEAD)};
    struct machine *m;

    (void)state;
    viewed(0, "s", n, 0);
    viewed(0, "s", n, 1);
    rig_pass(1000);
    m = rig_machine("m", STATE_STARTING, "i-1");
    viewed(0, "s", n, 1);
    assert_int_equal(m->state, STATE_STARTING);
    assert_int_equal(m->why, REASON_NONE);
    rig_pass(1000);
    viewed(0, "s", n + 1, 1); /* its own */
    assert_int_equal(m->state, STATE_STOPPING);
    assert_int_equal(m->why, REASON_END_FAILED);
}

/* A machine that is to end, and has never joined, waits for the next view: that brings
 * a step, though all in it is as it was. */
static void test_view_that_is_waited_for(void **state)
{
    struct machine *m = rig_machine("m", STATE_STARTING, "i-1");

    (void)state;
    viewed(0, "s", NULL, 0);
    rig_pass(1000);
    rig.env.news = false;
    viewed(0, "s", NULL, 0);
    assert_false(rig.env.news);
    rig_pass(1000);
    machine_to(&rig.ledger, m, STATE_DRAINING);
    source_drain(&rig.sources, m, false);
    assert_int_equal(m->state, STATE_DRAINING);
    viewed(0, "s", NULL, 0);
    assert_true(rig.env.news);
}

/* There is a view, which says nothing; what drains in steps asks nobody without. */
static void view_there(void)
{
    struct source *h = &rig.sources.all[0];

    if (!h->view) {
        h->view = source_view_new();
        source_index(h);
    }
    h->read_ms = h->told_ms = rig.env.now_ms;
}

static struct source_job *drain_asked(struct machine *m)
{
    if (m->state != STATE_DRAINING)
        machine_to(&rig.ledger, m, STATE_DRAINING);
    source_drain(&rig.sources, m, false);
    assert_true(m->busy);
    return job(SOURCE_DRAIN);
}

static void test_drain_accepted(void **state)
{
    struct machine *m = ready("m", "aa");
    struct source_node n = node("i-1", "aa", SOURCE_DRAINING);

    (void)state;
    drained(drain_asked(m), SOURCE_DRAIN_ACCEPTED);
    assert_false(m->drain_accepted); /* the view says so */
    viewed(0, "s", &n, 1);
    assert_true(m->drain_accepted);
    n.status = SOURCE_DEAD;
    viewed(0, "s", &n, 1);
    assert_int_equal(m->state, STATE_STOPPING);
}

static void test_drain_refused(void **state)
{
    struct machine *m = ready("m", "aa");

    (void)state;
    drained(drain_asked(m), SOURCE_DRAIN_REFUSED);
    assert_int_equal(m->state, STATE_READY);
    assert_int_equal(m->why, REASON_KEEP_REFUSED);
    assert_int_equal(m->hold_until_ms, rig.env.now_ms + 10000);
    drained(drain_asked(m), SOURCE_DRAIN_REFUSED);
    assert_int_equal(m->hold_until_ms, rig.env.now_ms + 10000);
}

/* Its raylet dies while the question is under way, and another one joins: the
 * answer, whenever it comes, says nothing of that one's work. */
static void test_drain_of_an_earlier_raylet(void **state)
{
    struct machine *m = ready("m", "aa");
    struct source_node n = node("i-1", "bb", SOURCE_RUNNING);
    struct source_job *old = drain_asked(m), *new;

    (void)state;
    viewed(0, "s", &n, 1);
    assert_int_equal(m->state, STATE_READY);
    assert_string_equal(m->ray_id, "bb");
    new = drain_asked(m);
    drained(old, SOURCE_DRAIN_ACCEPTED);
    assert_true(m->busy); /* the new question's answer is still to come */
    drained(new, SOURCE_DRAIN_REFUSED);
    assert_int_equal(m->state, STATE_READY);
    assert_false(m->drain_accepted);
}

/* The same when its end was asked for meanwhile, and its cloud has it still. */
static void test_drain_of_an_earlier_raylet_late(void **state)
{
    struct machine *m = ready("m", "aa");
    struct source_node n = node("i-1", "aa", SOURCE_DEAD);
    struct source_job *old = drain_asked(m);

    (void)state;
    viewed(0, "s", &n, 1);
    assert_int_equal(m->state, STATE_STOPPING);
    m->maybe.end_sent = true;
    n = node("i-1", "bb", SOURCE_RUNNING);
    viewed(0, "s", &n, 1);
    assert_int_equal(m->state, STATE_DRAINING);
    drained(old, SOURCE_DRAIN_REFUSED);
    assert_int_equal(m->state, STATE_DRAINING);
    assert_false(m->drain_accepted);
    assert_false(m->busy);
}

/* A good read that says that nothing has changed. */
static void viewed_again(void)
{
    struct source_job *j = source_job_new(&rig.sources.all[0], SOURCE_READ,
                                          1000);

    j->status = ST_OK;
    source_job_submit(j);
    sources_fold(&rig.sources, &rig_job()->mail);
}

/* The head has a node that is no machine: it may be the raylet of one that never
 * joined, by another name.  It is not when a list tells whose it is, though the head
 * says nothing new; nor is it that of one whose own node is there, without all it
 * should have. */
static void test_foreign_nodes(void **state)
{
    struct machine *m = rig_machine("m", STATE_STARTING, "i-1");
    struct machine *other = rig_machine("o", STATE_STARTING, "i-2");
    struct source_node n[2] = {node("i-9", "aa", SOURCE_RUNNING),
                               node("i-2", "bb", SOURCE_RUNNING)};

    (void)state;
    n[1].total.n = 1; /* no GPU */
    rig_pass(1000);
    viewed(0, "s", n, 2);
    assert_int_equal(machine_unjoined(&rig.sources, m), UNJOINED_UNMATCHED);
    assert_int_equal(other->state, STATE_STARTING);
    assert_int_equal(machine_unjoined(&rig.sources, other), UNJOINED_NOT);
    rig_machine("third", STATE_STARTING, "i-9");
    viewed_again();
    assert_int_equal(machine_unjoined(&rig.sources, m), UNJOINED_NOT);
}

/* An end waits for news of its machine's work: when that takes long, because the
 * head is slow or gone, it is said. */
static void test_end_that_waits_shows(void **state)
{
    struct machine *m = rig_machine("m", STATE_STOPPING, "i-1");

    (void)state;
    rig_site()->listed_ms = rig_site()->list_begun_ms = rig.env.now_ms;
    m->seen_ms = rig.env.now_ms;
    viewed(0, "s", NULL, 0);
    assert_false(rig_stops_at("ends_wait", false));
    rig_pass(25000);
    assert_false(rig_stops_at("ends_wait", false));
    rig_pass(6000);
    assert_true(rig_stops_at("ends_wait", false));
    m->busy = true; /* it left */
    assert_false(rig_stops_at("ends_wait", false));
    m->busy = false;
    viewed(0, "s", NULL, 0);
    assert_false(rig_stops_at("ends_wait", false));
    /* it is as good as none, what was asked for so long ago */
    rig_pass(1000);
    viewed(0, "s", NULL, 0);
    rig.sources.all[0].began_ms -= 21000;
    assert_true(rig_stops_at("ends_wait", false));
}

/* What drains in steps is asked again, and a refusal lasts longer each time. */
static void test_drain_in_steps(void **state)
{
    struct machine *m = ready("m", "aa");
    int64_t first;

    (void)state;
    view_there();
    drained(drain_asked(m), SOURCE_DRAIN_WAITS);
    assert_int_equal(m->state, STATE_DRAINING);
    assert_true(m->retry_ms > rig.env.now_ms);
    drained(drain_asked(m), SOURCE_DRAIN_DONE);
    assert_int_equal(m->state, STATE_STOPPING);
    m = ready("m2", "bb");
    drained(drain_asked(m), SOURCE_DRAIN_REFUSED);
    first = m->hold_until_ms - rig.env.now_ms;
    drained(drain_asked(m), SOURCE_DRAIN_REFUSED);
    assert_int_equal(m->hold_until_ms - rig.env.now_ms, 2 * first);
}

/* The loop stood still after a watch had said that nothing had changed: that is as old as
 * the answer. */
static void test_answer_is_of_when_it_was_posted(void **state)
{
    struct source *h = &rig.sources.all[0];
    int64_t posted = rig.env.now_ms;
    struct source_job *j;

    (void)state;
    viewed(0, "s", NULL, 0);
    rig_pass(49000);
    j = source_job_new(h, SOURCE_READ, 1000);
    j->status = ST_OK;
    source_job_submit(j);
    j = (struct source_job *)rig_job();
    j->job.mail.posted_ms = posted;
    sources_fold(&rig.sources, &j->job.mail);
    assert_int_equal(h->told_ms, posted);
    assert_true(source_is_fresh(&rig.sources, h)); /* its machines are seen */
    assert_false(sources_know_work(&rig.sources)); /* and none ends on it */
    assert_false(sources_seen_since(&rig.sources, posted + 1));
}

/* Who answers that there is no such node may be another cluster: what is not in the view
 * has gone, and nothing else. */
static void test_drain_of_no_node(void **state)
{
    struct machine *m = ready("m", "aa");
    struct source_node n = node("i-m", "aa", SOURCE_DRAINING);

    (void)state;
    n.instance_id = m->cloud_id;
    viewed(0, "s", &n, 1);
    m->drain_accepted = true; /* pods were sent away */
    drained(drain_asked(m), SOURCE_DRAIN_ABSENT);
    assert_int_equal(m->state, STATE_DRAINING);
    assert_true(m->retry_ms > rig.env.now_ms);
    assert_non_null(strstr(m->detail, "no such node"));
    viewed(0, "s", NULL, 0);
    drained(drain_asked(m), SOURCE_DRAIN_ABSENT);
    assert_int_equal(m->state, STATE_STOPPING);
    m = ready("m3", "cc"); /* while nobody can tell whose the API server is */
    machine_to(&rig.ledger, m, STATE_DRAINING);
    rig.sources.all[0].failures = 1;
    source_drain(&rig.sources, m, false);
    assert_false(m->busy);
}

/* What goes as nothing runs on it says so; what has to go does not. */
static void test_idle_drain(void **state)
{
    struct machine *m = ready("m", "aa");
    struct source_job *j;

    (void)state;
    view_there();
    m->why = REASON_END_IDLE;
    j = drain_asked(m);
    assert_true(j->drain.idle && !j->drain.preempt);
    drained(j, SOURCE_DRAIN_WAITS);
    m->why = REASON_END_OUTDATED;
    j = drain_asked(m);
    assert_false(j->drain.idle);
    drained(j, SOURCE_DRAIN_WAITS);
    m->why = REASON_END_CONSOLIDATE; /* in the mode `empty` */
    j = drain_asked(m);
    assert_true(j->drain.idle);
    drained(j, SOURCE_DRAIN_REFUSED);
}

/* A drain that the ledger knows nothing of is taken back. */
static void test_undrained(void **state)
{
    struct machine *m = ready("m", "aa");
    struct source_node n = node("i-1", "aa", SOURCE_DRAINING);

    (void)state;
    viewed(0, "s", &n, 1);
    assert_int_equal(m->state, STATE_READY);
    sources_clean_up(&rig.sources);
    assert_true(m->busy);
    source_job_free(job(SOURCE_UNDRAIN));
}

/* Another daemon drains it: that is its own affair. */
static void test_anothers_drain_stays(void **state)
{
    struct machine *m = ready("m", "aa");
    struct source_node n = node("i-1", "aa", SOURCE_DRAINING);

    (void)state;
    m->adopted = ADOPTED_OTHER_OWNER;
    viewed(0, "s", &n, 1);
    sources_clean_up(&rig.sources);
    assert_false(m->busy);
    assert_int_equal(rig.n_jobs, 0);
}

static void test_forgets_what_has_gone(void **state)
{
    struct machine *m = ready("m", "aa");
    struct source_job *j;

    (void)state;
    machine_to(&rig.ledger, m, STATE_GONE);
    sources_forget_gone(&rig.sources);
    fleet_sweep(&rig.ledger.fleet);
    sources_clean_up(&rig.sources);
    j = job(SOURCE_FORGET);
    assert_string_equal(j->node_id, "aa");
    assert_string_equal(j->instance_id, "i-1");
    j->status = ST_OK;
    sources_fold(&rig.sources, &j->job.mail);
    assert_int_equal(rig.sources.all[0].gone.n, 0);
}

static void hosts(struct source_node *n, const char *const *pods, uint32_t k)
{
    n->hosted = (struct names){pods, k};
}

/* Ray's nodes in a node's pods are drained before the node. */
static void test_hosted_first(void **state)
{
    static const char *const pods[] = {"pod-1"};
    struct machine *m = ready("m", "node-1");
    struct source_node on = node("i-1", "node-1", SOURCE_RUNNING);
    struct source_node worker = node("pod-1", "aa", SOURCE_RUNNING);
    struct source_job *j;

    (void)state;
    hosts(&on, pods, 1);
    machine_to(&rig.ledger, m, STATE_DRAINING);
    rig_pass(100);
    viewed(0, "s", &worker, 1);
    viewed(1, "k", &on, 1);
    j = drain_asked(m);
    assert_ptr_equal(j->source, &rig.sources.all[0]);
    assert_string_equal(j->node_id, "aa");
    drained(j, SOURCE_DRAIN_ACCEPTED);
    rig_pass(1000);
    viewed(0, "s", NULL, 0); /* it has ended */
    m->retry_ms = 0;
    j = drain_asked(m);
    assert_ptr_equal(j->source, &rig.sources.all[1]);
    source_job_free(j);
}

/* Not one of Ray's workers there is drained for nothing. */
static void test_node_of_the_ray_head_stays(void **state)
{
    static const char *const pods[] = {"pod-1", "pod-head"};
    struct machine *m = ready("m", "node-1");
    struct source_node on = node("i-1", "node-1", SOURCE_RUNNING);
    struct source_node rays[] = {node("pod-1", "aa", SOURCE_RUNNING),
                                 node("pod-head", "bb", SOURCE_RUNNING)};

    (void)state;
    rays[1].head = true;
    hosts(&on, pods, 2);
    machine_to(&rig.ledger, m, STATE_DRAINING);
    rig_pass(100);
    viewed(0, "s", rays, 2);
    viewed(1, "k", &on, 1);
    source_drain(&rig.sources, m, true);
    assert_int_equal(rig.n_jobs, 0);
    assert_int_equal(m->state, STATE_READY);
    assert_int_equal(m->why, REASON_KEEP_REFUSED);
}

/* ---- answers that come again */

static const struct source_ops numbered = {.kind = "ray", .numbered = true};

static int start_numbered(void **state)
{
    (void)state;
    rig_start(RIG_CONFIG, &numbered, 1);
    return 0;
}

/* A second later.  Is what is known fresh? */
static bool answered(const char *session, int64_t number)
{
    version = number;
    rig_pass(1000);
    viewed(0, session, NULL, 0);
    version = 0;
    return sources_fresh(&rig.sources);
}

/* What a proxy repeats tells nothing of now, whatever it says. */
static void test_a_repeated_answer_is_none(void **state)
{
    const struct source *h = &rig.sources.all[0];
    int64_t read_ms;

    (void)state;
    answered("s", 5);
    assert_true(answered("s", 6));
    read_ms = h->read_ms;
    assert_false(answered("s", 6));
    assert_int_equal(h->failures, 1);
    assert_non_null(strstr(h->problem, "number 6"));
    assert_int_equal(h->read_ms, read_ms);
    assert_false(answered("s", 6));
    assert_true(answered("s", 7)); /* given after the 6, four seconds ago */
    assert_int_equal(h->failures, 0);
    assert_string_equal(h->problem, "");
}

/* A head that was started again counts from one; another session has its own
 * numbers. */
static void test_a_head_that_began_anew_is_none(void **state)
{
    (void)state;
    answered("s", 900);
    assert_true(answered("s", 901));
    assert_true(answered("s", 1));
    assert_true(answered("s", 2));
    assert_true(answered("another", 2));
}

/* Of the first answer nobody can say how old it is. */
static void test_a_first_answer_is_not_fresh(void **state)
{
    (void)state;
    assert_false(answered("s", 5));
    assert_true(rig.sources.all[0].view != NULL);
    assert_false(answered("s", 5));
    assert_true(answered("s", 6));
}

/* Nor of one after an outage, or after we stood still: what hangs behind a cache may
 * have given it to another client long ago. */
static void test_an_answer_after_an_outage_is_not_fresh(void **state)
{
    (void)state;
    answered("s", 5);
    assert_true(answered("s", 6));
    read_fails();
    rig_pass(18000);
    assert_false(answered("s", 8));
    assert_false(answered("s", 8));
    rig_pass(18000);
    assert_false(answered("s", 9));
    assert_true(answered("s", 10));
    rig_pass(60000);
    assert_false(answered("s", 12));
    assert_true(answered("s", 13));
    rig_slept_ms = 60000;
    assert_false(answered("s", 14));
    assert_true(answered("s", 15));
}

/* A head of which every other read fails is believed: its numbers grow.  One that is
 * lower, or another session's, may be of long ago. */
static void test_answers_between_failures(void **state)
{
    (void)state;
    answered("s", 5);
    assert_true(answered("s", 6));
    for (int64_t i = 0; i < 50; i++) {
        rig_pass(5000);
        read_fails();
        assert_false(sources_fresh(&rig.sources));
        assert_true(answered("s", 7 + i));
    }
    read_fails();
    assert_false(answered("s", 50));
    assert_true(answered("s", 51));
    read_fails();
    assert_false(answered("t", 99));
    assert_true(answered("t", 100));
}

/* A head that numbers nothing is believed. */
static void test_without_numbers(void **state)
{
    (void)state;
    assert_true(answered("s", 0));
    assert_true(answered("s", 0));
}

/* ---- which node is the machine */

static const char *node_of(struct machine *m)
{
    const struct source_node *n = source_node_of(&rig.sources, m);

    return n ? n->node_id : "none";
}

/* A raylet that was started again has its machine's name, as the dead one has;
 * which of them the head names first tells nothing. */
static void test_the_living_has_the_name(void **state)
{
    struct machine *m = ready("m", "aa");
    const struct source_node nodes[] = {
        node("i-1", "aa", SOURCE_DEAD), node("i-1", "cc", SOURCE_IDLE),
        node("i-1", "bb", SOURCE_DEAD), node("i-2", "dd", SOURCE_IDLE)};
    struct source_node turned[4];

    (void)state;
    for (uint32_t i = 0; i < 4; i++)
        turned[i] = nodes[3 - i];
    viewed(0, "s", nodes, 4);
    assert_string_equal(node_of(m), "cc");
    viewed(0, "s", turned, 4);
    assert_string_equal(node_of(m), "cc");
}

/* A node's names are its own, its aliases and its address; a name that two nodes
 * have finds the one that the machine is known as, else neither; and one that a node
 * has twice finds it. */
static void test_a_shared_name(void **state)
{
    static const char *const one[] = {"10.0.0.1", "i-1"};
    static const char *const other[] = {"10.0.0.1"};
    struct machine *m = rig_machine("m", STATE_READY, "i-1");
    struct source_node nodes[] = {node("i-1", "node-1", SOURCE_IDLE),
                                  node("", "node-2", SOURCE_IDLE)};

    (void)state;
    nodes[0].aliases = (struct names){one, 2};
    nodes[1].aliases = (struct names){other, 1};
    viewed(0, "k", nodes, 2);
    assert_string_equal(node_of(m), "node-1");
    MACHINE_SET(m, cloud_id, "zones/a/i-1");
    assert_string_equal(node_of(m), "node-1");
    MACHINE_SET(m, cloud_id, "i-7");
    assert_string_equal(node_of(m), "none");
    MACHINE_SET(m, address, "10.0.0.1");
    assert_string_equal(node_of(m), "node-1");
    assert_true(source_claims(&rig.sources, m).contested);
    MACHINE_SET(m, ray_id, "");
    assert_string_equal(node_of(m), "none");
    viewed(0, "k", nodes, 1);
    assert_string_equal(node_of(m), "node-1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f, start) cmocka_unit_test_setup_teardown(f, start, stop)
        TEST(test_joins, start_ray),
        TEST(test_the_living_has_the_name, start_ray),
        TEST(test_a_shared_name, start_kube),
        TEST(test_joins_without_its_gpu, start_ray),
        TEST(test_the_other_hosts_of_a_slice_join, start_slice),
        TEST(test_devices_of_kubernetes_are_none_of_rays, start_slice),
        TEST(test_end_looks_first, start_ray),
        TEST(test_dies, start_ray),
        TEST(test_unknown_is_not_dead, start_ray),
        TEST(test_missing, start_ray),
        TEST(test_joined_after_its_end, start_ray),
        TEST(test_another_head, start_ray),
        TEST(test_another_cluster, start_kube),
        TEST(test_a_node_that_is_not_ready_proves_nothing, start_kube),
        TEST(test_a_head_that_is_joined_is_ours, start_ray),
        TEST(test_drain_forgotten, start_ray),
        TEST(test_node_of_an_earlier_life, start_ray),
        TEST(test_a_read_that_does_not_come_back_is_told, start_ray),
        TEST(test_failed_read_changes_no_machine, start_ray),
        TEST(test_old_death, start_ray),
        TEST(test_view_that_is_waited_for, start_ray),
        TEST(test_drain_accepted, start_ray),
        TEST(test_drain_refused, start_ray),
        TEST(test_drain_of_an_earlier_raylet, start_ray),
        TEST(test_drain_of_an_earlier_raylet_late, start_ray),
        TEST(test_foreign_nodes, start_ray),
        TEST(test_end_that_waits_shows, start_ray),
        TEST(test_drain_in_steps, start_kube),
        TEST(test_answer_is_of_when_it_was_posted, start_kube),
        TEST(test_drain_of_no_node, start_kube),
        TEST(test_idle_drain, start_kube),
        TEST(test_undrained, start_kube),
        TEST(test_anothers_drain_stays, start_kube),
        TEST(test_forgets_what_has_gone, start_kube),
        TEST(test_hosted_first, start_both),
        TEST(test_node_of_the_ray_head_stays, start_both),
        TEST(test_a_repeated_answer_is_none, start_numbered),
        TEST(test_a_head_that_began_anew_is_none, start_numbered),
        TEST(test_a_first_answer_is_not_fresh, start_numbered),
        TEST(test_an_answer_after_an_outage_is_not_fresh, start_numbered),
        TEST(test_answers_between_failures, start_numbered),
        TEST(test_without_numbers, start_numbered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
