/*
 * test_control_snapshot.c - the snapshot: taking it changes nothing, what it
 * points into outlives a reload and another view, its nodes and demands are
 * found again from the problem, and what a longer look proposes is in it.
 */
#include "control_rig.h"

#include "control/sources/inside.h"

static const struct source_ops ray = {.kind = "ray", .two_looks = true};

static int start(void **state)
{
    (void)state;
    rig_start(RIG_CONFIG, NULL, 0);
    rig_site()->listed_ms = rig.env.now_ms;
    return 0;
}

static int start_ray(void **state)
{
    (void)state;
    rig_start(RIG_CONFIG, &ray, 1);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    rig_stop();
    return 0;
}

static void asked(const char *owner, const char *resource, uint32_t count)
{
    struct command cmd = rig_put(owner, resource, count);

    requests_fold(&rig.requests, &cmd);
    requests_done(&cmd);
    assert_int_equal(cmd.status, ST_OK);
    arena_done(&cmd.arena);
}

static void test_changes_nothing(void **state)
{
    struct machine *m = rig_machine("m", STATE_READY, "i-1");
    struct status_page *page = status_new();
    struct env before = rig.env;
    struct machine was = *m;
    uint64_t version = rig.ledger.fleet.version;

    (void)state;
    asked("me", "GPU", 1);
    before = rig.env;
    snapshot_take(&rig.known, page);
    assert_memory_equal(&before, &rig.env, sizeof before);
    assert_memory_equal(&was, m, sizeof was);
    assert_int_equal(version, rig.ledger.fleet.version);
    assert_int_equal(rig.n_jobs, 0);
    status_unref(page);
}

static void test_found_again(void **state)
{
    struct status_page *page = status_new();
    struct taken taken;
    struct problem *now;
    struct err err;

    (void)state;
    rig_machine("z", STATE_READY, "i-1");
    rig_machine("gone", STATE_GONE, "i-3");
    rig_machine("a", STATE_STARTING, "i-2");
    asked("you", "CPU", 1);
    asked("me", "GPU", 1);
    taken = snapshot_take(&rig.known, page);
    assert_int_equal(problem_make(taken.snapshot, &page->arena, &now, &err),
                     ST_OK);
    assert_int_equal(now->n_nodes, 2);
    for (uint32_t i = 0; i < now->n_nodes; i++)
        assert_string_equal(taken.machines[now->nodes[i].from]->id,
                            now->str[now->nodes[i].id]);
    assert_int_equal(now->n_demands, 2);
    for (uint32_t i = 0; i < now->n_demands; i++)
        assert_string_equal(taken.requests[now->demands[i].from]->owner,
                            now->str[now->demands[i].owner]);
    status_unref(page);
}

/* ASan sees it when the page does not keep them. */
static void test_outlives_a_reload(void **state)
{
    struct status_page *page = status_new();
    struct command drop = {.kind = COMMAND_REQUEST_DROP, .owner = "me"};
    const struct snapshot *s;

    (void)state;
    asked("me", "GPU", 1);
    s = snapshot_take(&rig.known, page).snapshot;
    configuration_replace(&rig.conf, rig_config(RIG_OTHER("d", "")));
    requests_fold(&rig.requests, &drop);
    requests_done(&drop);
    assert_int_equal(rig.requests.all.n, 0);
    assert_string_equal(s->cluster, "c");
    assert_string_equal(s->types[0].name, "t");
    assert_string_equal(s->demands[0].bundles[0].alts[0].resources.v[0].name,
                        "GPU");
    status_unref(page);
    rig.providers.all.v[0]->conf = NULL; /* of the generation that went */
}

static void tasks_viewed(const char *const *queues, uint32_t n)
{
    struct source *h = &rig.sources.all[0];
    struct source_job *j = source_job_new(h, SOURCE_READ, 1000);
    struct arena *a;
    struct snap_bundle *v;
    struct snap_demand *d;

    j->view = source_view_new();
    a = &j->view->arena;
    v = ARENA_ARRAY(a, struct snap_bundle, n);
    d = ARENA_NEW(a, struct snap_demand);
    for (uint32_t i = 0; i < n; i++) {
        struct snap_alt *alt = ARENA_NEW(a, struct snap_alt);
        struct term *t = ARENA_NEW(a, struct term);

        *t = (struct term){QUEUE_LABEL, TERM_IN, {&queues[i], 1}};
        alt->selector = (struct terms){t, 1};
        v[i] = (struct snap_bundle){.alts = alt, .n_alts = 1, .count = i + 1};
    }
    *d = (struct snap_demand){.source = SOURCE_TASK,
                              .owner = "ray",
                              .id = "",
                              .bundles = v,
                              .n_bundles = n};
    j->view->session = "s";
    j->view->v2 = true;
    j->view->demands = d;
    j->view->n_demands = 1;
    source_job_submit(j);
    sources_fold(&rig.sources, &rig_job()->mail);
}

/* One demand for each queue, and the view is as it was. */
static void test_tasks_by_queue(void **state)
{
    static const char *const queues[] = {"a", "b", "a"};
    struct status_page *page = status_new();
    const struct snapshot *s;

    (void)state;
    tasks_viewed(queues, 3);
    s = snapshot_take(&rig.known, page).snapshot;
    assert_int_equal(s->n_demands, 2);
    assert_string_equal(s->demands[0].queue, "a");
    assert_int_equal(s->demands[0].n_bundles, 2);
    assert_int_equal(s->demands[0].bundles[1].count, 3);
    assert_string_equal(s->demands[1].queue, "b");
    assert_int_equal(rig.sources.all[0].view->demands[0].bundles[1].count, 2);
    tasks_viewed(queues, 1); /* the page keeps the first */
    assert_int_equal(s->demands[0].bundles[1].count, 3);
    status_unref(page);
}

/* A task must be in two views in a row. */
static void test_tasks_need_two_views(void **state)
{
    static const char *const queues[] = {"a", "a"};
    struct status_page *page = status_new();
    struct taken t;

    (void)state;
    tasks_viewed(queues, 1);
    t = snapshot_take(&rig.known, page);
    assert_true(t.unconfirmed);
    assert_true(t.snapshot->demands[0].bundles[0].unconfirmed);
    tasks_viewed(queues, 1);
    t = snapshot_take(&rig.known, page);
    assert_false(t.unconfirmed);
    assert_false(t.snapshot->demands[0].bundles[0].unconfirmed);
    tasks_viewed(queues, 2);
    assert_true(snapshot_take(&rig.known, page).unconfirmed);
    status_unref(page);
}

/* Old news of pending work buys nothing. */
static void test_stale_tasks_are_left_out(void **state)
{
    static const char *const queues[] = {"a"};
    struct status_page *page = status_new();

    (void)state;
    tasks_viewed(queues, 1);
    rig_pass(60000);
    assert_int_equal(snapshot_take(&rig.known, page).snapshot->n_demands, 0);
    status_unref(page);
}

static enum reason hold_of(const struct machine *m)
{
    struct status_page *page = status_new();
    const struct snapshot *s = snapshot_take(&rig.known, page).snapshot;
    enum reason r = REASON_COUNT;

    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (strcmp(s->nodes[i].id, m->id) == 0)
            r = s->nodes[i].hold;
    status_unref(page);
    return r;
}

/* What is not known for sure is not ended, and says why. */
static void test_holds(void **state)
{
    struct machine *m = rig_machine("m", STATE_INTENDED, "");
    struct machine *found = rig_machine("f", STATE_READY, "i-1");

    (void)state;
    rig_site()->listed_ms = rig.env.now_ms;
    m->maybe.doubt = m->maybe.given_up = true;
    /* it gives room while the next list may have it, and no list fails */
    assert_int_equal(hold_of(m), REASON_NONE);
    rig_site()->list_failures = 1;
    assert_int_equal(hold_of(m), REASON_KEEP_UNANSWERED);
    rig_site()->list_failures = 0;
    m->maybe.unlisted = true;
    assert_int_equal(hold_of(m), REASON_KEEP_UNANSWERED);
    found->adopted = ADOPTED_OTHER_OWNER;
    assert_int_equal(hold_of(found), REASON_KEEP_HELD);
    found->adopted = ADOPTED_NEW_JOURNAL;
    assert_int_equal(hold_of(found), REASON_KEEP_HELD);
    found->adopted = ADOPTED;
    assert_int_equal(hold_of(found), REASON_KEEP_UNKNOWN);
    rig_pass(60000);
    assert_int_equal(hold_of(found), REASON_NONE);
    MACHINE_SET(found, provider, "earlier");
    assert_int_equal(hold_of(found), REASON_KEEP_ORPHAN);
}

static void test_says_when_it_changes(void **state)
{
    struct offer_key key = {"rig", "t", "", false};
    struct status_page *page = status_new();
    const struct snapshot *s;
    struct err e;
    int64_t due;

    (void)state;
    s = snapshot_take(&rig.known, page).snapshot;
    assert_int_equal(snapshot_changes_ms(&rig.known), INT64_MAX);
    due = rig.env.due_ms;
    env_wake_wall(&rig.env, INT64_MAX);
    assert_int_equal(rig.env.due_ms, due);
    err_set(&e, ST_STOCKOUT, "none left");
    backoffs_note_launch(rig.ledger.backoffs, key, 0, 0, &e, rig.env.now_ms);
    s = snapshot_take(&rig.known, page).snapshot;
    assert_int_equal(snapshot_changes_ms(&rig.known),
                     s->types[0].offers[0].backoff_until_ms + 1);
    assert_true(s->types[0].offers[0].backoff_until_ms > rig.env.now_ms);
    status_unref(page);
}

/* ---- a longer look */

static struct status_page *planned(const struct plan_launch *l)
{
    struct status_page *page = status_new();
    struct plan *plan = ARENA_NEW(&page->arena, struct plan);
    struct problem *now;
    struct err err;

    page->snapshot = snapshot_take(&rig.known, page).snapshot;
    assert_int_equal(problem_make(page->snapshot, &page->arena, &now, &err),
                     ST_OK);
    page->now = now;
    plan->launches = l;
    plan->n_launches = 1;
    page->plan = plan;
    return page;
}

static void test_longer_look(void **state)
{
    static const struct plan_launch open = {.count = 1, .demand = NONE};
    struct improvement *k = &rig.improvement;
    struct status_page *page;
    struct job *look;

    (void)state;
    asked("me", "GPU", 3);
    page = planned(&open);
    assert_true(improvement_waits(k, page->plan));
    assert_int_equal(improvement_until_ms(k), 0); /* asking changes nothing */
    improvement_step(k, page, true, false);
    assert_int_equal(improvement_until_ms(k), rig.env.now_ms + 500);
    improvement_step(k, page, true, false);
    assert_int_equal(rig.n_jobs, 1); /* one at a time */
    status_unref(page);
    look = rig_job();
    look->run(look);
    improvement_fold(k, &look->mail);
    page = planned(&open);
    assert_true(page->snapshot->n_proposed > 0);
    assert_string_equal(page->snapshot->proposed[0].type, "t");
    rig_pass(500);
    assert_false(improvement_waits(k, page->plan)); /* its time is over */
    improvement_step(k, page, false, true);
    assert_int_equal(k->since_ms, 0);
    assert_true(improvement_waits(k, page->plan)); /* that is another one */
    status_unref(page);
}

static void test_final_does_not_wait(void **state)
{
    static const struct plan_launch final = {
        .count = 1, .demand = NONE, .final = true};
    struct status_page *page = planned(&final);

    (void)state;
    assert_false(improvement_waits(&rig.improvement, page->plan));
    improvement_step(&rig.improvement, page, false, true);
    assert_int_equal(rig.n_jobs, 0);
    status_unref(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f, start) cmocka_unit_test_setup_teardown(f, start, stop)
        TEST(test_holds, start),
        TEST(test_changes_nothing, start),
        TEST(test_found_again, start),
        TEST(test_outlives_a_reload, start),
        TEST(test_tasks_by_queue, start_ray),
        TEST(test_tasks_need_two_views, start_ray),
        TEST(test_stale_tasks_are_left_out, start_ray),
        TEST(test_says_when_it_changes, start),
        TEST(test_longer_look, start),
        TEST(test_final_does_not_wait, start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
