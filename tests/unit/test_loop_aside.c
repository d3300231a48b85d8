/*
 * test_loop_aside.c - what cannot be looked at in time is set aside by its name, and
 * all others have their plan: the real loop, a played cloud, and a clock by which to
 * look at many values takes too long.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "api/request.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "codec/codec.h"
#include "played/cloud.h"
#include "played/inside.h"
#include "played_rig.h"

/* ---- time: the player's, and what this thread computes, so much enlarged */

struct slow {
    struct clock clock;
    struct player *player;
    int64_t factor, since_us, rest_us;
};

static struct slow slow;

static int64_t cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void time_passes(void)
{
    int64_t now = cpu_us(), us = (now - slow.since_us) * slow.factor;

    us += slow.rest_us;
    slow.player->now_ms += us / 1000;
    slow.rest_us = us % 1000;
    slow.since_us = now;
}

static int64_t wall_us(void *arg)
{
    (void)arg;
    time_passes();
    return (slow.player->wall_ms + slow.player->now_ms) * 1000 + slow.rest_us;
}

static int64_t mono_us(void *arg)
{
    (void)arg;
    time_passes();
    return slow.player->now_ms * 1000 + slow.rest_us;
}

static void no_sleep(void *arg, int64_t ms)
{
    (void)arg;
    slow.player->now_ms += ms;
}

static void slow_down(int64_t factor)
{
    time_passes();
    slow.factor = factor;
}

/* ---- the world */

static struct control *control;
static struct cloud *cloud;
static struct disk *disk;

static const char file[] =
    "cluster: played\n"
    "state: /played/davit.db\n"
    "limits: {max_nodes: 50, idle_timeout: 3h}\n"
    "queues: {q: {node_types: [t4], quota: {gpus: 40}}}\n"
    "providers: {played: {}}\n"
    "node_types:\n"
    "  t4: {provider: played, resources: {CPU: 4, GPU: 1}, max: 9}\n";

static void daemon_start(void)
{
    control = daemon_new(
        (struct outside){.arg = slow.player, .workers = player_workers});
}

static int start(void **state)
{
    (void)state;
    settings = file;
    slow = (struct slow){.player = player_new(1, BEGIN_MS)};
    slow.clock = (struct clock){wall_us, mono_us, mono_us, no_sleep, NULL};
    clock_install(&slow.clock);
    cloud = cloud_new(
        slow.player,
        &(struct cloud_opts){.boot_least_ms = SECOND, .boot_most_ms = SECOND});
    disk = disk_new("played");
    daemon_start();
    return 0;
}

static int stop(void **state)
{
    (void)state;
    control_free(control);
    disk_free(disk);
    cloud_free(cloud);
    player_free(slow.player);
    return 0;
}

static void run(int64_t ms)
{
    player_run(slow.player, control, ms, NULL, NULL);
}

static uint32_t machines(void)
{
    uint32_t n;

    cloud_machines(cloud, &n);
    return n;
}

static enum status answered;

static void done(struct command *cmd)
{
    answered = cmd->status;
    status_unref(cmd->seen);
    arena_done(&cmd->arena);
    free(cmd);
}

static bool not_his(const struct command *cmd, const char *queue)
{
    (void)cmd;
    return strcmp(queue, "q") != 0;
}

/* By one who may use every queue but q. */
static enum status cleared_by_another(const char *owner)
{
    struct command *cmd = MEM_NEW(struct command);

    *cmd = (struct command){.mail = {.kind = COMMAND_MAIL},
                            .kind = COMMAND_REQUEST_DROP,
                            .body = "",
                            .machine = "",
                            .may_queue = not_his,
                            .done = done};
    cmd->owner = arena_strdup(&cmd->arena, owner);
    answered = ST_COUNT;
    mailbox_post(control_mailbox(control), &cmd->mail);
    for (int i = 0; i < 600 && answered == ST_COUNT; i++)
        run(SECOND);
    return answered;
}

static void post(const char *owner, const char *text)
{
    struct command *cmd = MEM_NEW(struct command);
    struct request_in r;
    json_t *body;

    assert_int_equal(codec_parse(text, strlen(text), &body, NULL), ST_OK);
    assert_int_equal(request_read(body, owner, player_now_ms(slow.player),
                                  &cmd->arena, &r, NULL),
                     ST_OK);
    json_decref(body);
    *cmd = (struct command){
        .mail = {.kind = COMMAND_MAIL},
        .kind = r.clear ? COMMAND_REQUEST_DROP : COMMAND_REQUEST_PUT,
        .owner = r.owner,
        .body = r.body,
        .demand = r.demand,
        .machine = "",
        .arena = cmd->arena,
        .done = done};
    answered = ST_COUNT;
    mailbox_post(control_mailbox(control), &cmd->mail);
    for (int i = 0; i < 600 && answered == ST_COUNT; i++)
        run(SECOND);
    /* While none has a plan who asks is told to wait for one. */
    if (!slow.factor || answered != ST_RETRY)
        assert_int_equal(answered, ST_OK);
}

#define SMALL "{\"bundles\": [{\"resources\": {\"GPU\": 1}}]}"

enum { CONDITIONS = 10, VALUES = 1000, LOOK_S = 15 };

static void post_large(const char *owner)
{
    struct buf b;

    buf_init(&b, 1 << 20);
    buf_str(&b, "{\"bundles\": [{\"resources\": {\"GPU\": 1}, "
                "\"label_selector\": {");
    for (int k = 0; k < CONDITIONS; k++) {
        buf_printf(&b, "%s\"k%d\": [", k ? ", " : "", k);
        for (int i = 0; i < VALUES; i++)
            buf_printf(&b, "%s\"%s-%d-%d\"", i ? "," : "", owner, k, i);
        buf_str(&b, "]");
    }
    buf_str(&b, "}}], \"queue\": \"q\"}");
    post(owner, b.s);
    buf_done(&b);
}

/* What it takes to look at all that is asked for now, the least of a few times. */
static int64_t look_us(void)
{
    struct status_page *page = status_get(control_board(control));
    int64_t least = INT64_MAX;

    for (int i = 0; i < 5; i++) {
        struct arena arena = {0};
        struct problem *p;
        struct err e;
        int64_t t0 = cpu_us();

        assert_int_equal(problem_make(page->snapshot, &arena, &p, &e), ST_OK);
        t0 = cpu_us() - t0;
        least = t0 < least ? t0 : least;
        arena_done(&arena);
    }
    status_unref(page);
    return least;
}

static bool is_aside(const char *owner)
{
    struct status_page *page = status_get(control_board(control));
    bool found = false;

    for (uint32_t i = 0; i < page->n_stops; i++)
        found = found || (strcmp(page->stops[i].kind, "set_aside") == 0 &&
                          strcmp(page->stops[i].subject, owner) == 0);
    status_unref(page);
    return found;
}

static const char *const larges[] = {"a-large", "b-large", "c-large", "d-large",
                                     "e-large"};
enum { LARGES = sizeof larges / sizeof *larges };

static void all_are_aside(void)
{
    for (uint32_t i = 0; i < LARGES; i++)
        if (!is_aside(larges[i]))
            fail_msg("%s is not set aside", larges[i]);
    assert_false(is_aside("small"));
    assert_false(is_aside("z-small"));
}

static void test_who_takes_too_long_is_set_aside(void **state)
{
    uint32_t before;

    (void)state;
    run(MINUTE);
    for (uint32_t i = 0; i < LARGES; i++)
        post_large(larges[i]);
    run(MINUTE);
    before = machines();
    for (uint32_t i = 0; i < LARGES; i++)
        assert_false(is_aside(larges[i])); /* an ordinary day */
    /* Each takes three times as long as there is for all. */
    slow_down(LARGES * LOOK_S * INT64_C(1000000) / look_us());
    post("small", SMALL);
    run(MINUTE);
    all_are_aside();
    assert_int_equal(machines(), before + 1);
    /* Who may not use its queue may not clear it. */
    assert_int_equal(cleared_by_another("c-large"), ST_AUTH);
    /* They are in the journal: a start has the same to look at. */
    control_free(control);
    daemon_start();
    run(MINUTE);
    post("z-small", SMALL);
    run(MINUTE);
    all_are_aside();
    assert_int_equal(machines(), before + 2);
    /* Who asks for less has a plan again; who clears it is not told of any more. */
    slow_down(0);
    post("a-large", SMALL);
    post("b-large", "{\"bundles\": []}");
    run(MINUTE);
    assert_false(is_aside("a-large") || is_aside("b-large"));
    assert_true(is_aside("c-large"));
    assert_int_equal(machines(), before + 3);
}

static const char another_file[] =
    "cluster: played\n"
    "state: /played/davit.db\n"
    "limits: {max_nodes: 40, idle_timeout: 3h}\n"
    "queues: {q: {node_types: [t4], quota: {gpus: 40}}}\n"
    "providers: {played: {}}\n"
    "node_types:\n"
    "  t4: {provider: played, resources: {CPU: 4, GPU: 1}, max: 9}\n";

static bool is_held(const char *why)
{
    struct status_page *page = status_get(control_board(control));
    bool held = page->config_held && strstr(page->config_problem, why);

    status_unref(page);
    return held;
}

/* What nobody could look at in time may end anything. */
static void test_a_file_is_held_when_its_ends_are_not_known(void **state)
{
    (void)state;
    run(MINUTE);
    for (uint32_t i = 0; i < LARGES; i++)
        post_large(larges[i]);
    run(MINUTE);
    slow_down(LARGES * LOOK_S * INT64_C(1000000) / look_us());
    settings = another_file;
    control_reload(control, 0);
    run(5 * MINUTE);
    assert_true(is_held("what it would end is not known"));
    slow_down(0);
    control_reload(control, 0);
    run(5 * MINUTE);
    assert_false(is_held(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_who_takes_too_long_is_set_aside,
                                        start, stop),
        cmocka_unit_test_setup_teardown(
            test_a_file_is_held_when_its_ends_are_not_known, start, stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
