/*
 * test_loop_played.c - the real loop and journal, a played cloud and users, in
 * played time on one thread (autoscaler/played/): a day in a moment, the same for
 * the same seed, with crashes that lose nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "api/request.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "codec/codec.h"
#include "plan/planner.h"
#include "played/cloud.h"
#include "played_rig.h"

enum { OWNERS = 8 };

#define SETTINGS(consolidate) \
    "cluster: played\n" \
    "state: /played/davit.db\n" \
    "limits: {max_nodes: 200, idle_timeout: 5m, start_timeout: 15m,\n" \
    "         consolidate: " consolidate "}\n" \
    "providers: {played: {}}\n" \
    "node_types:\n" \
    "  cpu: {provider: played, resources: {CPU: 16}, price: 0.8, max: 50}\n" \
    "  t4: {provider: played, resources: {CPU: 8, GPU: 1},\n" \
    "       accelerator_type: T4, price: 0.7, max: 60, zones: [a, b]}\n" \
    "  v100: {provider: played, resources: {CPU: 32, GPU: 4},\n" \
    "         accelerator_type: V100, price: 9.9, max: 20}\n"

static const char *const bodies[] = {
    "{\"num_cpus\": 12}",
    "{\"bundles\": [{\"GPU\": 1}]}",
    "{\"bundles\": [{\"resources\": {\"GPU\": 1}, \"count\": 3,"
    " \"accelerator_type\": \"T4\"}]}",
    "{\"bundles\": [{\"resources\": {\"GPU\": 2, \"CPU\": 4},"
    " \"accelerator_type\": \"V100\"}, {\"CPU\": 3}], \"ttl\": \"20m\"}",
    "{\"bundles\": []}",
};

/* What an owner was promised. */
struct promise {
    char body[256];
    int64_t expires_ms;
};

struct world {
    struct player *player;
    struct cloud *cloud;
    struct disk *disk;
    struct control *control; /* NULL: crashed */
    bool crashing;
    struct promise kept[OWNERS], asked[OWNERS];
    bool asking[OWNERS];
    uint32_t acknowledged;
    int64_t event;          /* the last one in the digest */
    struct buf digest;      /* every event, in words */
    uint64_t steps, judged; /* judged: the last page whose plan was looked at */
};

static struct world the_world;

/* ---- the daemon */

static void daemon_start(struct world *w)
{
    w->control = daemon_new(
        (struct outside){.arg = w->player, .workers = player_workers});
}

/* The process and the machine's power are gone: what it still does while its
 * memory is given back reaches nobody. */
static void daemon_crash(struct world *w, uint64_t survives)
{
    w->crashing = true;
    disk_power_loss(w->disk, survives);
    control_free(w->control);
    w->control = NULL;
    disk_power_on(w->disk);
    w->crashing = false;
}

/* ---- users */

struct ask {
    struct command cmd; /* first */
    struct world *world;
    uint32_t owner;
};

static void ask_done(struct command *cmd)
{
    struct ask *a = (struct ask *)cmd;
    struct world *w = a->world;

    if (!w->crashing) {
        w->asking[a->owner] = false;
        if (cmd->status == ST_OK || cmd->status == ST_NOT_FOUND) {
            w->kept[a->owner] = w->asked[a->owner];
            w->acknowledged++;
        }
    }
    status_unref(cmd->seen);
    arena_done(&cmd->arena);
    free(a);
}

static void ask(struct world *w, uint32_t owner, const char *text)
{
    struct ask *a = MEM_NEW(struct ask);
    struct promise *p = &w->asked[owner];
    int64_t now = clock_steady_ms();
    struct request_in r;
    json_t *body;
    char name[16];

    snprintf(name, sizeof name, "owner-%02u", owner);
    assert_int_equal(codec_parse(text, strlen(text), &body, NULL), ST_OK);
    assert_int_equal(request_read(body, name, now, &a->cmd.arena, &r, NULL),
                     ST_OK);
    json_decref(body);
    a->cmd.mail.kind = COMMAND_MAIL;
    a->cmd.kind = r.clear ? COMMAND_REQUEST_DROP : COMMAND_REQUEST_PUT;
    a->cmd.owner = r.owner;
    a->cmd.body = r.body;
    a->cmd.demand = r.demand;
    a->cmd.expires_ms = r.ttl_ms ? now + r.ttl_ms : 0;
    a->cmd.done = ask_done;
    a->world = w;
    a->owner = owner;
    w->asking[owner] = true;
    *p = (struct promise){.expires_ms = a->cmd.expires_ms};
    if (!r.clear)
        snprintf(p->body, sizeof p->body, "%s", r.body);
    mailbox_post(control_mailbox(w->control), &a->cmd.mail);
}

static void somebody_asks(void *arg)
{
    struct world *w = arg;
    uint32_t owner = player_chance(w->player, OWNERS);
    uint32_t n = sizeof bodies / sizeof *bodies;

    if (w->control && !w->asking[owner])
        ask(w, owner, bodies[player_chance(w->player, n)]);
    player_after(w->player, player_chance(w->player, 40 * MINUTE),
                 somebody_asks, w);
}

/* ---- its hours */

static bool digest(void *arg)
{
    struct world *w = arg;
    struct arena arena = {0};
    struct event *v;
    uint32_t n = event_read(control_events(w->control), w->event, EVENT_RING,
                            &arena, &v);

    for (uint32_t i = 0; i < n; i++)
        buf_printf(&w->digest, "%lld %s %s %s %s\n", (long long)v[i].at_ms,
                   v[i].kind, v[i].subject, v[i].reason, v[i].text);
    if (n)
        w->event = v[n - 1].id;
    arena_done(&arena);
    return disk_is_dead(w->disk);
}

static void world_run(struct world *w, int64_t ms)
{
    w->steps += player_run(w->player, w->control, ms, digest, w);
}

/* ---- what is to be true */

static const char *standing(const struct status_page *page, uint32_t owner)
{
    char name[16];

    snprintf(name, sizeof name, "owner-%02u", owner);
    for (uint32_t i = 0; i < page->n_requests; i++)
        if (strcmp(page->requests[i].owner, name) == 0)
            return page->requests[i].body;
    return "";
}

static bool fits(const struct promise *p, const char *body)
{
    bool expired = p->expires_ms && p->expires_ms <= clock_steady_ms();

    return strcmp(p->body, body) == 0 || (expired && !*body);
}

/* Every request stands as it was acknowledged; one that was under way at a
 * crash stands or does not. */
static void requests_check(struct world *w)
{
    struct status_page *page = status_get(control_board(w->control));

    assert_non_null(page);
    for (uint32_t i = 0; i < OWNERS; i++) {
        const char *body = standing(page, i);

        if (w->asking[i] && fits(&w->asked[i], body))
            w->kept[i] = w->asked[i];
        if (!fits(&w->kept[i], body))
            fail_msg("owner %u was promised %s, there is \"%s\"", i,
                     w->kept[i].body, body);
        w->asking[i] = false;
    }
    status_unref(page);
}

/* Does this node of the ledger stand for that machine?  As long as the answer
 * to its launch is on its way, by the request alone. */
static bool stands_for(const struct snap_node *n, const struct cloud_machine *m)
{
    return *n->cloud_id ? strcmp(n->cloud_id, m->id) == 0
                        : strcmp(n->request_id, m->request_id) == 0;
}

/* A page that is not about to be followed by one with its own launches. */
static struct status_page *page_at_rest(struct world *w)
{
    struct status_page *page = status_get(control_board(w->control));

    while (page->plan->n_launches) {
        status_unref(page);
        world_run(w, SECOND);
        page = status_get(control_board(w->control));
    }
    return page;
}

/* Every machine of the cloud is in the ledger. */
static void machines_check(struct world *w)
{
    struct status_page *page = page_at_rest(w);
    struct cloud_machine *const *v;
    uint32_t n;

    v = cloud_machines(w->cloud, &n);
    for (uint32_t i = 0; i < n; i++) {
        bool found = v[i]->gone_ms != INT64_MAX;

        for (uint32_t k = 0; k < page->snapshot->n_nodes && !found; k++)
            found = stands_for(&page->snapshot->nodes[k], v[i]);
        if (!found)
            fail_msg("%s is not in the ledger", v[i]->id);
    }
    status_unref(page);
}

/* Nothing waits, nothing is begun or ended any more. */
static void settled_check(struct world *w)
{
    struct status_page *page = status_get(control_board(w->control));
    const struct problem *now = page->now;
    uint32_t n;

    assert_int_equal(page->plan->n_launches, 0);
    for (uint32_t b = 0; b < now->n_bundles; b++)
        assert_int_equal(
            page->plan->bundles[b].waiting + page->plan->bundles[b].infeasible,
            0);
    cloud_machines(w->cloud, &n);
    assert_int_equal(page->snapshot->n_nodes, n);
    status_unref(page);
}

/* ---- a world */

static void world_begin(struct world *w, uint64_t seed)
{
    memset(w, 0, sizeof *w);
    w->player = player_new(seed, BEGIN_MS);
    w->cloud = cloud_new(w->player,
                         &(struct cloud_opts){.boot_least_ms = 10 * SECOND,
                                              .boot_most_ms = 2 * MINUTE});
    w->disk = disk_new("played");
    buf_init(&w->digest, 64 << 20);
    daemon_start(w);
}

static void world_end(struct world *w)
{
    control_free(w->control);
    disk_free(w->disk);
    cloud_free(w->cloud);
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

/* What a crash may take from the end of the event list is not told twice. */
static void world_crash(struct world *w, uint64_t survives)
{
    daemon_crash(w, survives);
    daemon_start(w);
    w->event = 0;
    world_run(w, MINUTE); /* the first good list at the latest */
    requests_check(w);
    machines_check(w);
}

/* ---- consolidation that is not tried again */

static void plans_same(const struct problem *now, const struct plan *a,
                       const struct plan *b)
{
    assert_int_equal(a->n_launches, b->n_launches);
    assert_int_equal(a->n_placements, b->n_placements);
    assert_int_equal(a->n_ended, b->n_ended);
    assert_int_equal(a->settled_until_ms, b->settled_until_ms);
    for (uint32_t i = 0; i < a->n_launches; i++) {
        const struct plan_launch *x = &a->launches[i], *y = &b->launches[i];

        assert_int_equal(x->offer, y->offer);
        assert_int_equal(x->count, y->count);
        assert_int_equal(x->why, y->why);
    }
    for (uint32_t i = 0; i < now->n_nodes; i++) {
        const struct plan_node *x = &a->nodes[i], *y = &b->nodes[i];

        assert_int_equal(x->action, y->action);
        assert_int_equal(x->why, y->why);
        assert_int_equal(x->until_ms, y->until_ms);
        assert_int_equal(x->demand, y->demand);
        assert_int_equal(x->n_placements, y->n_placements);
    }
    for (uint32_t i = 0; i < a->n_placements; i++)
        assert_memory_equal(&a->placements[i], &b->placements[i],
                            sizeof *a->placements);
    for (uint32_t i = 0; i < now->n_bundles; i++)
        assert_memory_equal(&a->bundles[i], &b->bundles[i], sizeof *a->bundles);
}

/* The plan of this page is the one that the planner makes of its problem. */
static bool judge_plan(void *arg)
{
    struct world *w = arg;
    struct status_page *page = status_get(control_board(w->control));
    struct arena arena = {0};
    struct plan plan;

    if (page && page->tick != w->judged) {
        w->judged = page->tick;
        planner_run(page->now, PLANNER_AT_ONCE, &arena, &plan);
        plans_same(page->now, page->plan, &plan);
    }
    arena_done(&arena);
    status_unref(page);
    return digest(arg);
}

static void test_spared(void **state)
{
    struct world *w = &the_world;

    (void)state;
    settings = SETTINGS("on");
    world_begin(w, 5);
    player_after(w->player, MINUTE, somebody_asks, w);
    player_run(w->player, w->control, 8 * HOUR, judge_plan, w);
    print_message("%llu plans, %llu without trying to consolidate again\n",
                  (unsigned long long)w->judged,
                  (unsigned long long)control_metrics(w->control)->spared);
    assert_true(cloud_launched(w->cloud) > 5);
    assert_true(control_metrics(w->control)->spared > w->judged / 4);
    buf_done(&w->digest);
    world_end(w);
    settings = SETTINGS("off");
}

/* ---- tests */

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void speed_print(struct world *w, uint64_t seed, int hours, double s)
{
    const struct metrics *m = control_metrics(w->control);
    double ticks = (double)m->ticks;

    print_message("seed %llu, digest %016llx: %u machines, %u calls, %u "
                  "requests; %.0f hours and %.0f steps per second, a tick %.0f "
                  "us, its plan %.0f\n",
                  (unsigned long long)seed,
                  (unsigned long long)hash_bytes(0, w->digest.s, w->digest.n),
                  cloud_launched(w->cloud), cloud_calls(w->cloud),
                  w->acknowledged, hours / s, (double)w->steps / s,
                  (double)m->tick_us_sum / ticks,
                  (double)m->plan_us_sum / ticks);
}

/* Hours with users, and a crash in the middle; returns every event in words. */
static char *life(uint64_t seed, int hours)
{
    double begun = cpu_seconds();
    struct world *w = &the_world;

    world_begin(w, seed);
    player_after(w->player, MINUTE, somebody_asks, w);
    for (int h = 0; h < hours; h++) {
        world_run(w, HOUR);
        machines_check(w);
        if (h == hours / 2)
            world_crash(w, seed);
    }
    requests_check(w);
    assert_true(w->acknowledged > (uint32_t)hours);
    assert_true(cloud_launched(w->cloud) > (uint32_t)hours / 3);
    speed_print(w, seed, hours, cpu_seconds() - begun);
    world_end(w);
    return w->digest.s;
}

/* A day twice, and another one. */
static void test_day(void **state)
{
    char *first = life(1, 24), *again = life(1, 24), *other = life(2, 6);

    (void)state;
    assert_string_equal(first, again);
    assert_string_not_equal(first, other);
    free(first);
    free(again);
    free(other);
}

/* One request for three machines, and the power is lost at that change of the
 * disk (0: it is not).  Returns how many changes there were, and had been
 * before the request. */
static uint64_t purchase(uint64_t change, uint64_t survives,
                         uint64_t *ret_begun)
{
    struct world *w = &the_world;
    uint64_t changes;

    world_begin(w, 7);
    world_run(w, MINUTE); /* its cloud is known: launches go at once */
    *ret_begun = disk_changes(w->disk);
    disk_fault_at(w->disk, change, DISK_DIES);
    ask(w, 2, bodies[2]);
    world_run(w, 20 * MINUTE);
    changes = disk_changes(w->disk);
    assert_int_equal(disk_is_dead(w->disk), change != 0);
    if (disk_is_dead(w->disk))
        world_crash(w, survives);
    if (!*w->kept[2].body) /* as who got no answer would */
        ask(w, 2, bodies[2]);
    world_run(w, 20 * MINUTE);
    requests_check(w);
    machines_check(w);
    settled_check(w);
    if (cloud_launched(w->cloud) != 3)
        fail_msg("power lost at change %llu: %u machines were bought, not 3",
                 (unsigned long long)change, cloud_launched(w->cloud));
    buf_done(&w->digest);
    world_end(w);
    return changes;
}

static void test_bought_once(void **state)
{
    uint64_t begun, n = purchase(0, 0, &begun);

    (void)state;
    assert_true(n > begun + 20);
    for (uint64_t i = begun + 1; i <= n; i++)
        purchase(i, i % 2 ? i * 0x9e3779b97f4a7c15u : 0, &begun);
}

/* A request that lies in the mailbox when the daemon ends is answered by what
 * became of it: acknowledged only if the next start knows of it. */
static void stop_with_mail(bool readonly)
{
    struct world *w = &the_world;

    world_begin(w, 3);
    world_run(w, MINUTE);
    ask(w, 0, bodies[0]);
    disk_readonly(w->disk, readonly);
    control_stop(w->control);
    control_free(w->control);
    w->control = NULL;
    assert_false(w->asking[0]);
    assert_int_equal(w->acknowledged, readonly ? 0 : 1);
    disk_readonly(w->disk, false);
    daemon_start(w);
    world_run(w, MINUTE);
    requests_check(w);
    buf_done(&w->digest);
    world_end(w);
}

static void test_acknowledged_at_the_end(void **state)
{
    (void)state;
    stop_with_mail(false);
    stop_with_mail(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_teardown(f, left)
        TEST(test_acknowledged_at_the_end),
        TEST(test_day),
        TEST(test_bought_once),
        TEST(test_spared),
    };

    log_setup(LOG_ERROR, false);
    settings = SETTINGS("off");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
