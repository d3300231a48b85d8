/*
 * test_loop_budget.c - prices that rise over limits.max_cost_per_hour while
 * machines run, where requests come over REST alone and nothing tells of work:
 * the real loop, a played cloud that tells its prices, played time.
 */
#include <stdio.h>
#include <stdlib.h>

#include "api/request.h"
#include "base/alloc.h"
#include "base/log.h"
#include "codec/codec.h"
#include "played/cloud.h"
#include "played_rig.h"

enum { AT_ONCE = 30 * SECOND, OFFERS_ASKED = 11 * MINUTE };

/* ---- the world */

struct world {
    struct player *player;
    struct cloud *cloud;
    struct disk *disk;
    struct control *control;
};

static struct world the_world;

/* A GPU is 1 $/h, a machine without one 0.50 (played/cloud_offers.c). */
#define FILE_OF(limit, types) \
    "cluster: played\n" \
    "state: /played/davit.db\n" \
    "limits: {max_nodes: 50, idle_timeout: 3h, max_cost_per_hour: " limit \
    "}\n" \
    "providers: {played: {plugin: priced}}\n" \
    "node_types:\n" types
#define T4(more) \
    "  t4: {provider: played, resources: {CPU: 4, GPU: 1}, max: 9" more "}\n"

static void daemon_start(struct world *w)
{
    w->control = daemon_new(
        (struct outside){.arg = w->player, .workers = player_workers});
}

static struct world *world_begin(const char *file)
{
    struct world *w = &the_world;

    settings = file;
    memset(w, 0, sizeof *w);
    w->player = player_new(1, BEGIN_MS);
    w->cloud = cloud_new(
        w->player,
        &(struct cloud_opts){.boot_least_ms = SECOND, .boot_most_ms = SECOND});
    w->disk = disk_new("played");
    daemon_start(w);
    return w;
}

static int world_end(void **state)
{
    struct world *w = &the_world;

    (void)state;
    if (!w->player)
        return 0;
    control_free(w->control);
    disk_free(w->disk);
    cloud_free(w->cloud);
    player_free(w->player);
    w->player = NULL;
    return 0;
}

static void run(struct world *w, int64_t ms)
{
    player_run(w->player, w->control, ms, NULL, NULL);
}

static void restart(struct world *w)
{
    control_free(w->control);
    daemon_start(w);
}

/* In percent of the usual; until the daemon knows. */
static void prices(struct world *w, uint32_t percent)
{
    cloud_weather(w->cloud, &(struct cloud_weather){.dear = percent});
    run(w, OFFERS_ASKED);
}

static uint32_t alive(struct world *w)
{
    struct cloud_machine *const *v;
    uint32_t all, n = 0;

    v = cloud_machines(w->cloud, &all);
    for (uint32_t i = 0; i < all; i++)
        n += !v[i]->asked_ms && v[i]->gone_ms == INT64_MAX;
    return n;
}

/* ---- users, and the person who looks after it */

static enum status answered;
static uint32_t counted;

static void done(struct command *cmd)
{
    answered = cmd->status;
    counted = cmd->count;
    status_unref(cmd->seen);
    arena_done(&cmd->arena);
    free(cmd);
}

static void post(struct world *w, struct command *cmd)
{
    cmd->mail.kind = COMMAND_MAIL;
    cmd->machine = "";
    cmd->done = done;
    answered = ST_COUNT;
    mailbox_post(control_mailbox(w->control), &cmd->mail);
    run(w, SECOND);
    assert_int_not_equal(answered, ST_COUNT);
}

/* So many GPUs; 0: cleared. */
static void ask(struct world *w, const char *owner, uint32_t gpus)
{
    struct command *cmd = MEM_NEW(struct command);
    int64_t now = player_now_ms(w->player);
    struct request_in r;
    json_t *body;
    char text[96];

    snprintf(text, sizeof text,
             gpus ? "{\"bundles\": [{\"resources\": {\"GPU\": 1}, \"count\": "
                    "%u}]}"
                  : "{\"bundles\": []}",
             gpus);
    assert_int_equal(codec_parse(text, strlen(text), &body, NULL), ST_OK);
    assert_int_equal(request_read(body, owner, now, &cmd->arena, &r, NULL),
                     ST_OK);
    json_decref(body);
    cmd->kind = r.clear ? COMMAND_REQUEST_DROP : COMMAND_REQUEST_PUT;
    cmd->owner = r.owner;
    cmd->body = r.body;
    cmd->demand = r.demand;
    post(w, cmd);
    assert_int_equal(answered, ST_OK);
}

static enum status person(struct world *w, enum command_kind kind)
{
    struct command *cmd = MEM_NEW(struct command);

    cmd->kind = kind;
    post(w, cmd);
    return answered;
}

static void file_saved(struct world *w, const char *file)
{
    settings = file;
    control_reload(w->control, 0);
    run(w, 2 * SECOND);
}

/* ---- what the world may see */

/* Machines kept for that reason. */
static uint32_t kept(struct world *w, enum reason why)
{
    struct status_page *page = status_get(control_board(w->control));
    uint32_t n = 0;

    for (uint32_t i = 0; i < page->now->n_nodes; i++)
        n += page->plan->nodes[i].action == NODE_KEEP &&
             page->plan->nodes[i].why == why;
    status_unref(page);
    return n;
}

static bool stopped(struct world *w)
{
    struct status_page *page = status_get(control_board(w->control));
    bool any = false;

    for (uint32_t i = 0; i < page->n_stops; i++)
        any = any || strcmp(page->stops[i].kind, "over_budget") == 0;
    status_unref(page);
    return any;
}

/* Events of that kind for prices that rose. */
static uint32_t told(struct world *w, const char *kind)
{
    struct arena arena = {0};
    struct event *v;
    uint32_t n = 0, all = event_read(control_events(w->control), 0, EVENT_RING,
                                     &arena, &v);

    for (uint32_t i = 0; i < all; i++)
        n += strcmp(v[i].kind, kind) == 0 &&
             strcmp(v[i].reason, reason_code(REASON_KEEP_PRICE)) == 0;
    arena_done(&arena);
    return n;
}

/* So many are there, of which so many are over the budget for what a provider
 * asks. */
static void expect(struct world *w, uint32_t machines, uint32_t over)
{
    assert_int_equal(alive(w), machines);
    assert_int_equal(kept(w, REASON_KEEP_PRICE), over);
    assert_int_equal(stopped(w), over > 0);
}

/* Two requests hold two machines each, for 4 $/h of 5, when prices rise by a
 * half. */
static struct world *risen(void)
{
    struct world *w = world_begin(FILE_OF("5", T4("")));

    ask(w, "a", 2);
    ask(w, "b", 2);
    run(w, MINUTE);
    expect(w, 4, 0);
    prices(w, 150);
    return w;
}

/* ---- tests */

static void test_what_a_request_holds_stays(void **state)
{
    struct world *w = risen();

    (void)state;
    expect(w, 4, 1);
    run(w, 2 * HOUR);
    expect(w, 4, 1);
    prices(w, 125); /* 4 x 1.25 */
    expect(w, 4, 0);
    assert_int_equal(told(w, "ends.held"), 1);
    assert_int_equal(told(w, "ends.released"), 1);
    prices(w, 200);
    expect(w, 4, 2);
    assert_int_equal(told(w, "ends.held"), 2);
}

/* What was bought when it cost less was not agreed to at more. */
static void test_what_fell_may_rise(void **state)
{
    struct world *w = risen();

    (void)state;
    prices(w, 50);
    ask(w, "c", 4);
    run(w, MINUTE);
    expect(w, 8, 0); /* 4 $/h */
    prices(w, 100);
    expect(w, 8, 3);
}

/* Nothing more is bought: what it costs in truth counts. */
static void test_nothing_is_bought_meanwhile(void **state)
{
    struct world *w = risen();

    (void)state;
    ask(w, "c", 1);
    run(w, HOUR);
    expect(w, 4, 1);
    assert_int_equal(cloud_launched(w->cloud), 4);
}

static void test_a_restart_in_between(void **state)
{
    struct world *w = risen();

    (void)state;
    restart(w);
    run(w, HOUR);
    expect(w, 4, 1);
    cloud_weather(w->cloud, &(struct cloud_weather){.dear = 250});
    restart(w); /* the rise comes with the first offers */
    run(w, HOUR);
    expect(w, 4, 2);
}

/* Long before its idle timeout: it goes for the budget's sake. */
static void test_what_is_cleared_goes(void **state)
{
    struct world *w = risen();

    (void)state;
    ask(w, "b", 0);
    run(w, AT_ONCE);
    expect(w, 3, 0); /* 4.50 $/h */
    run(w, HOUR);
    expect(w, 3, 0);
}

static void test_release_lets_it_go(void **state)
{
    struct world *w = risen();

    (void)state;
    prices(w, 250);
    expect(w, 4, 2);
    assert_int_equal(person(w, COMMAND_RELEASE), ST_OK);
    assert_int_equal(counted, 2);
    run(w, AT_ONCE);
    expect(w, 2, 0);
    assert_int_equal(person(w, COMMAND_RELEASE), ST_NOT_FOUND);
    /* That was said of the prices of then, not of what comes. */
    prices(w, 300);
    expect(w, 2, 1);
}

static void test_a_lower_limit_ends_it(void **state)
{
    struct world *w = risen();

    (void)state;
    file_saved(w, FILE_OF("5.5", T4(""))); /* a higher one does not, */
    run(w, MINUTE);
    expect(w, 4, 1);
    file_saved(w, FILE_OF("5.4", T4("")));
    run(w, AT_ONCE);
    expect(w, 3, 0);
}

/* Nor does a file that says nothing of the limit. */
static void test_the_same_limit_ends_nothing(void **state)
{
    struct world *w = risen();

    (void)state;
    for (int i = 0; i < 20; i++) {
        file_saved(w, i % 2 ? FILE_OF("5", T4(""))
                            : FILE_OF("5", T4(", idle_timeout: 2h")));
        run(w, MINUTE);
    }
    expect(w, 4, 1);
}

static void test_a_lower_limit_at_a_start(void **state)
{
    struct world *w = risen();

    (void)state;
    settings = FILE_OF("4.9", T4(""));
    restart(w);
    run(w, 2 * MINUTE);
    expect(w, 3, 0);
}

/* A price in the file is a person's word. */
static void test_a_filed_price_ends_it(void **state)
{
    struct world *w = risen();

    (void)state;
    file_saved(w, FILE_OF("5", T4(", price: 1.5")));
    run(w, AT_ONCE);
    expect(w, 3, 0);
}

/* More would end than limits.max_ends lets go at once: the file is held. */
static void test_a_much_lower_limit_is_held(void **state)
{
    struct world *w = risen();
    struct status_page *page;

    (void)state;
    file_saved(w, FILE_OF("2", T4("")));
    run(w, MINUTE);
    page = status_get(control_board(w->control));
    assert_true(page->config_held);
    status_unref(page);
    expect(w, 4, 1);
    assert_int_equal(person(w, COMMAND_APPLY), ST_OK);
    run(w, AT_ONCE);
    expect(w, 1, 0);
}

/* All that there are for a min stay, what is beyond it goes. */
static void test_a_min_holds(void **state)
{
    struct world *w = world_begin(FILE_OF("5", T4(", min: 3")));

    (void)state;
    ask(w, "a", 4);
    run(w, MINUTE);
    ask(w, "a", 0);
    run(w, MINUTE);
    expect(w, 4, 0);
    prices(w, 200);
    expect(w, 3, 1);
    run(w, 5 * HOUR); /* past its idle timeout, too */
    expect(w, 3, 1);
    prices(w, 100);
    expect(w, 3, 0);
}

/* Two requests share one machine: it is cleared when both are. */
static void test_two_requests_share_a_machine(void **state)
{
    struct world *w = world_begin(FILE_OF(
        "2.5",
        "  t4: {provider: played, resources: {CPU: 4, GPU: 2}, max: 1}\n"));

    (void)state;
    ask(w, "a", 1);
    ask(w, "b", 1);
    run(w, MINUTE);
    expect(w, 1, 0);
    prices(w, 150);
    expect(w, 1, 1);
    ask(w, "a", 0);
    run(w, MINUTE);
    expect(w, 1, 1);
    ask(w, "b", 0);
    run(w, AT_ONCE);
    expect(w, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_teardown(f, world_end)
        TEST(test_what_a_request_holds_stays),
        TEST(test_what_fell_may_rise),
        TEST(test_nothing_is_bought_meanwhile),
        TEST(test_a_restart_in_between),
        TEST(test_what_is_cleared_goes),
        TEST(test_release_lets_it_go),
        TEST(test_a_lower_limit_ends_it),
        TEST(test_the_same_limit_ends_nothing),
        TEST(test_a_lower_limit_at_a_start),
        TEST(test_a_filed_price_ends_it),
        TEST(test_a_much_lower_limit_is_held),
        TEST(test_a_min_holds),
        TEST(test_two_requests_share_a_machine),
    };

    log_setup(LOG_ERROR, false);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
