/*
 * test_played_head.c - the real loop, a played Ray head and a played cloud: users
 * submit, nodes come, work runs, idle nodes are drained and go; no work is lost
 * unless somebody takes a machine away.
 */
#include <stdlib.h>

#include "base/log.h"
#include "model/amount.h"
#include "played/cloud.h"
#include "played_rig.h"

static const char the_settings[] =
    "cluster: played\n"
    "state: /played/davit.db\n"
    "head: {ray: {address: \"played:6379\"}}\n"
    "limits: {max_nodes: 50, idle_timeout: 2m, start_timeout: 15m}\n"
    "providers: {one: {plugin: played, cloud: one}}\n"
    "node_types:\n"
    "  cpu: {provider: one, resources: {CPU: 16}, price: 0.8, max: 20}\n"
    "  t4: {provider: one, resources: {CPU: 8, GPU: 1},\n"
    "       accelerator_type: T4, price: 0.7, max: 20}\n";

struct world {
    struct player *player;
    struct head *head;
    struct cloud *cloud;
    struct disk *disk;
    struct control *control;
    uint32_t began, done, again, lost;
    uint32_t ended, ended_busy;
};

static struct world the_world;

static struct workers *workers(void *arg, unsigned n, unsigned stuck,
                               struct mailbox *answers)
{
    return player_workers(((struct world *)arg)->player, n, stuck, answers);
}

static enum status sources(void *arg, const struct config *c,
                           struct source_opened *ret, uint32_t *ret_n,
                           struct err *err)
{
    (void)c;
    (void)err;
    ret[0] = head_open(((struct world *)arg)->head);
    *ret_n = 1;
    return ST_OK;
}

static void told(void *arg, enum head_moment m, const struct head_task *t)
{
    struct world *w = arg;

    (void)t;
    w->began += m == HEAD_BEGAN;
    w->done += m == HEAD_DONE;
    w->again += m == HEAD_AGAIN;
    w->lost += m == HEAD_LOST;
}

static void ending(void *arg, struct cloud *c, struct cloud_machine *m)
{
    struct world *w = arg;
    struct head_node n;

    (void)c;
    w->ended++;
    if (head_node_of(w->head, m->id, &n) && n.running)
        w->ended_busy++;
}

static void world_of(struct world *w, struct head_opts o)
{
    memset(w, 0, sizeof *w);
    o.join_least_ms = 2000;
    o.join_most_ms = 20000;
    w->player = player_new(5, BEGIN_MS);
    w->head = head_new(w->player, &o);
    w->cloud = cloud_new(w->player, &(struct cloud_opts){.name = "one",
                                                         .boot_least_ms = 20000,
                                                         .boot_most_ms = 90000,
                                                         .head = w->head});
    w->disk = disk_new("played");
    head_watch(w->head, told, w);
    cloud_watch(w->cloud, &(struct cloud_watch){.arg = w, .ending = ending});
    settings = the_settings;
    w->control = daemon_new(
        (struct outside){.arg = w, .workers = workers, .sources = sources});
}

static void world_begin(struct world *w, bool waits)
{
    world_of(w, (struct head_opts){.waits = waits});
}

static void world_end(struct world *w)
{
    control_free(w->control);
    cloud_free(w->cloud);
    head_free(w->head);
    disk_free(w->disk);
    player_free(w->player);
    w->player = NULL;
}

/* What a test that failed has left: clouds and disks are the process's. */
static int left(void **state)
{
    (void)state;
    if (the_world.player)
        world_end(&the_world);
    return 0;
}

static uint64_t submit(struct world *w, int cpu, int gpu, uint32_t tasks,
                       bool together, int64_t runs_ms)
{
    struct qty need[2] = {{"CPU", cpu * AMOUNT_ONE}, {"GPU", gpu * AMOUNT_ONE}};

    return head_submit(w->head, &(struct head_work){.need = {need, gpu ? 2 : 1},
                                                    .tasks = tasks,
                                                    .together = together,
                                                    .once = true,
                                                    .runs_ms = runs_ms});
}

static void run(struct world *w, int64_t ms)
{
    player_run(w->player, w->control, ms, NULL, NULL);
}

/* Fifty tasks and a group of three: bought for, run, and the nodes go. */
static void day(bool waits)
{
    struct world *w = &the_world;
    uint32_t n;

    world_begin(w, waits);
    submit(w, 4, 0, 50, false, 10 * MINUTE);
    submit(w, 1, 1, 3, true, 5 * MINUTE);
    run(w, 5 * MINUTE);
    assert_int_equal(w->began, 53);
    assert_int_equal(head_running(w->head), 53);
    cloud_machines(w->cloud, &n);
    assert_true(n >= 13 + 3 - 2 && n <= 13 + 3 + 2); /* 17 or 18, by chance */
    run(w, 25 * MINUTE);
    assert_int_equal(w->done, 53);
    cloud_machines(w->cloud, &n);
    assert_int_equal(n, 0);
    assert_int_equal(w->ended, cloud_launched(w->cloud));
    assert_int_equal(w->ended_busy + w->again + w->lost, 0);
    world_end(w);
}

static void test_day(void **state)
{
    (void)state;
    day(false);
    day(true);
}

/* The machine under a task dies: the task is told lost. */
static void test_machine_dies(void **state)
{
    struct world *w = &the_world;
    struct cloud_machine *const *v;
    uint32_t n;

    (void)state;
    world_begin(w, true);
    submit(w, 4, 0, 1, false, HOUR);
    run(w, 5 * MINUTE);
    v = cloud_machines(w->cloud, &n);
    assert_int_equal(n, 1);
    cloud_kill(w->cloud, v[0]);
    assert_int_equal(w->lost, 1);
    run(w, 10 * MINUTE);
    assert_int_equal(w->ended, 0);
    world_end(w);
}

/* Another session: nodes join anew, and nothing was ended meanwhile. */
static void test_new_session(void **state)
{
    struct world *w = &the_world;
    uint32_t n;

    (void)state;
    world_begin(w, true);
    submit(w, 4, 0, 20, false, HOUR);
    run(w, 5 * MINUTE);
    head_restart(w->head);
    submit(w, 4, 0, 20, false, HOUR);
    run(w, 5 * MINUTE);
    cloud_machines(w->cloud, &n);
    assert_int_equal(head_running(w->head), 20);
    assert_int_equal(w->ended, 0);
    assert_int_equal(n, 5);
    world_end(w);
}

/* A head that is silent for an hour: idle nodes stay, and go afterwards. */
static void test_silent(void **state)
{
    struct world *w = &the_world;
    uint32_t n;

    (void)state;
    world_begin(w, false);
    submit(w, 4, 0, 4, false, 10 * MINUTE);
    run(w, 5 * MINUTE);
    head_trouble(w->head, HEAD_SILENT);
    run(w, HOUR);
    cloud_machines(w->cloud, &n);
    assert_int_equal(n, 1);
    head_trouble(w->head, HEAD_WELL);
    run(w, 10 * MINUTE);
    cloud_machines(w->cloud, &n);
    assert_int_equal(n, 0);
    world_end(w);
}

/* For up to a second a Ray head shows a task as waiting that a node has taken:
 * no machine is bought for that one.  Pairs, since what waits for the second
 * machine is then shown beside the first one full. */
static void test_what_has_a_place_is_not_bought_for(void **state)
{
    struct world *w = &the_world;

    (void)state;
    world_of(w, (struct head_opts){.round_ms = 1000});
    for (uint32_t pairs = 1; pairs <= 8; pairs++) {
        submit(w, 1, 1, 2, false, 5 * HOUR);
        run(w, 5 * MINUTE);
        assert_int_equal(head_running(w->head), 2 * pairs);
        assert_int_equal(cloud_launched(w->cloud), 2 * pairs);
    }
    world_end(w);
}

static bool head_is_well(const struct world *w)
{
    struct status_page *page = status_get(control_board(w->control));
    bool well = page->ray_ok;

    status_unref(page);
    return well;
}

/* A head that repeats an old answer: the machine that joined since is not taken
 * for one that never did, nor another bought in its place. */
static void repeats(bool waits)
{
    struct world *w = &the_world;

    world_begin(w, waits);
    submit(w, 4, 0, 1, false, 90 * MINUTE);
    run(w, 10 * SECOND);
    assert_true(head_is_well(w));
    head_trouble(w->head, HEAD_STALE);
    run(w, MINUTE);
    assert_false(head_is_well(w));
    run(w, HOUR);
    assert_int_equal(w->began, 1);
    assert_int_equal(w->ended, 0);
    assert_int_equal(cloud_launched(w->cloud), 1);
    head_trouble(w->head, HEAD_WELL);
    run(w, MINUTE);
    assert_true(head_is_well(w));
    run(w, HOUR);
    assert_int_equal(w->done, 1);
    assert_int_equal(w->ended, 1);
    world_end(w);
}

static void test_repeated_answers(void **state)
{
    (void)state;
    repeats(false);
    repeats(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_teardown(f, left)
        TEST(test_day),
        TEST(test_machine_dies),
        TEST(test_new_session),
        TEST(test_silent),
        TEST(test_what_has_a_place_is_not_bought_for),
        TEST(test_repeated_answers),
    };

    log_setup(LOG_ERROR, false);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
