/*
 * test_step_growth.c - what a step costs: in played time, a fleet four times as
 * large costs about four times as much of the real loop in whatever befalls it, and
 * not sixteen times; so does demand that is cut eight times as small; and a step that
 * held the loop for long is counted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "api/request.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "codec/codec.h"
#include "played/cloud.h"
#include "played_rig.h"

enum { FEW = 3000, TIMES = 4, LONG_MS = 60 };
/* A walk of the fleet for each machine of it makes it near to TIMES * TIMES, and 2.5
 * times TIMES is allowed; what takes little time is measured badly. */
static const double least_ms = 200;

static const char usual[] =
    "cluster: played\n"
    "state: /played/davit.db\n"
    "limits: {max_nodes: 1000000, idle_timeout: 10m, start_timeout: 15m}\n"
    "providers: {played: {}}\n"
    "node_types:\n"
    "  t4: {provider: played, resources: {CPU: 8, GPU: 1, memory: 64Gi}, price: 0.7,\n"
    "       max: unlimited}\n";
static const char dearer[] =
    "cluster: played\n"
    "state: /played/davit.db\n"
    "limits: {max_nodes: 1000000, idle_timeout: 10m, start_timeout: 15m}\n"
    "providers: {played: {}}\n"
    "node_types:\n"
    "  t4: {provider: played, resources: {CPU: 8, GPU: 1, memory: 64Gi}, price: 0.8,\n"
    "       max: unlimited}\n";
static const char outdated[] =
    "cluster: played\n"
    "state: /played/davit.db\n"
    "limits: {max_nodes: 1000000, idle_timeout: 10m, start_timeout: 15m,\n"
    "         end_outdated: true}\n"
    "providers: {played: {}}\n"
    "node_types:\n"
    "  t4: {provider: played, resources: {CPU: 16, GPU: 1, memory: 64Gi}, price: 0.8,\n"
    "       max: unlimited}\n";

struct world {
    struct player *player;
    struct cloud *cloud;
    struct disk *disk;
    struct control *control;
};

static struct world the_world;
static int64_t reading_ms; /* the file is slow to read: real time */

static enum status settings_slow(void *arg, const char *path,
                                 struct config **ret, struct buf *errors)
{
    struct timespec t = {0, reading_ms * 1000000};

    nanosleep(&t, NULL); /* wait: so long a step is what is counted */
    return settings_read(arg, path, ret, errors);
}

/* ---- a world */

static void world_begin(struct world *w)
{
    settings = usual;
    w->player = player_new(20261130, BEGIN_MS);
    w->cloud = cloud_new(w->player,
                         &(struct cloud_opts){.boot_least_ms = 10 * SECOND,
                                              .boot_most_ms = MINUTE});
    w->disk = disk_new("played");
    w->control = daemon_new((struct outside){
        .arg = w->player, .workers = player_workers, .config = settings_slow});
    player_run(w->player, w->control, MINUTE, NULL, NULL);
}

static void world_end(struct world *w)
{
    control_free(w->control);
    disk_free(w->disk);
    cloud_free(w->cloud);
    player_free(w->player);
    *w = (struct world){0};
}

static int left(void **state)
{
    (void)state;
    reading_ms = 0;
    if (the_world.player)
        world_end(&the_world);
    return 0;
}

static void answered(struct command *cmd)
{
    assert_int_equal(cmd->status, ST_OK);
    status_unref(cmd->seen);
    arena_done(&cmd->arena);
    free(cmd);
}

static void ask_for(struct world *w, const char *owner, const char *text)
{
    struct command *cmd = MEM_NEW(struct command);
    struct request_in r;
    json_t *body;

    assert_int_equal(codec_parse(text, strlen(text), &body, NULL), ST_OK);
    assert_int_equal(
        request_read(body, owner, clock_steady_ms(), &cmd->arena, &r, NULL),
        ST_OK);
    json_decref(body);
    cmd->mail.kind = COMMAND_MAIL;
    cmd->kind = r.clear ? COMMAND_REQUEST_DROP : COMMAND_REQUEST_PUT;
    cmd->owner = r.owner;
    cmd->body = r.body;
    cmd->demand = r.demand;
    cmd->done = answered;
    mailbox_post(control_mailbox(w->control), &cmd->mail);
}

/* n == 0: nothing is asked for any more. */
static void ask(struct world *w, const char *owner, int n)
{
    char text[128];

    snprintf(text, sizeof text,
             n ? "{\"bundles\": [{\"resources\": {\"GPU\": 1}, \"count\": %d}]}"
               : "{\"bundles\": []}",
             n);
    ask_for(w, owner, text);
}

static void file_is(struct world *w, const char *text)
{
    settings = text;
    control_reload(w->control, 0);
}

/* ---- growth */

static double cpu_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double run(struct world *w, int64_t ms)
{
    double begun = cpu_ms();

    player_run(w->player, w->control, ms, NULL, NULL);
    return cpu_ms() - begun;
}

static uint32_t machines(struct world *w)
{
    uint32_t n;

    cloud_machines(w->cloud, &n);
    return n;
}

static const char *const events[] = {
    "all are bought and come", "one request more", "a price changes",
    "the others are outdated", "nothing is asked for"};
enum { EVENTS = sizeof events / sizeof *events };

/* What each costs a fleet of so many. */
static void life(int n, double ret[EVENTS])
{
    struct world *w = &the_world;

    world_begin(w);
    ask(w, "large", n);
    ret[0] = run(w, 3 * MINUTE);
    assert_int_equal(machines(w), n);
    ask(w, "small", 1);
    ret[1] = run(w, 3 * MINUTE);
    assert_int_equal(machines(w), n + 1);
    file_is(w, dearer);
    ret[2] = run(w, MINUTE);
    file_is(w, outdated);
    ret[3] = run(w, MINUTE);
    file_is(w, dearer);
    run(w, 30 * MINUTE);
    ask(w, "large", 0);
    ask(w, "small", 0);
    ret[4] = run(w, 30 * MINUTE);
    assert_int_equal(machines(w), 0);
    world_end(w);
}

static bool grows(double few, double many, int times, double least)
{
    return many > 2.5 * times * (few > least ? few : least);
}

/* CPU time beside others who fill the caches is more than it would be: what seems too
 * much is measured again, and the least counts. */
static void a_fleet_costs_what_it_is_large(void **state)
{
    double few[2][EVENTS], many[2][EVENTS];
    int bad = 1;

    (void)state;
    for (int try = 0; try < 2 && bad; try++) {
        bad = 0;
        life(FEW, few[try]);
        life(FEW * TIMES, many[try]);
        for (int i = 0; i < EVENTS; i++) {
            if (try && few[0][i] < few[1][i])
                few[1][i] = few[0][i];
            if (try && many[0][i] < many[1][i])
                many[1][i] = many[0][i];
            print_message(
                "%-26s %8.0f ms with %d machines, %8.0f with %d: %.1f "
                "times\n",
                events[i], few[try][i], FEW, many[try][i], FEW * TIMES,
                many[try][i] / few[try][i]);
            bad += grows(few[try][i], many[try][i], TIMES, least_ms);
        }
    }
    if (bad)
        fail_msg("with %d times as many machines at most %.1f times the work",
                 TIMES, 2.5 * TIMES);
}

/* ---- demand that is cut small */

enum { ENTRIES, OWNERS, SHAPES, KINDS };
static const struct {
    const char *name;
    int few; /* and eight times as many */
} kinds[KINDS] = {{"entries", 2000}, {"owners", 2000}, {"shapes", 500}};

/* One request of so many entries, two kinds in turn, all on one machine; so many
 * owners, each with one of them; or entries that all differ. */
static double small_demand(int n, int kind)
{
    struct world *w = &the_world;
    struct buf body;
    char owner[32], one[96];
    double ms;

    world_begin(w);
    buf_init(&body, 4 << 20);
    for (int i = 0; i < n; i++) {
        snprintf(one, sizeof one,
                 "{\"resources\": {\"CPU\": 0.000%d, "
                 "\"memory\": %d}}",
                 1 + i % 2, kind == SHAPES ? 1000 + i : 1000);
        buf_printf(&body, "%s%s", i ? ", " : "", one);
        if (kind != OWNERS)
            continue;
        snprintf(owner, sizeof owner, "o-%d", i);
        buf_clear(&body);
        buf_printf(&body, "{\"bundles\": [%s]}", one);
        ask_for(w, owner, body.s);
        buf_clear(&body);
    }
    if (kind != OWNERS) {
        char *all = mem_strdup(body.s);

        buf_clear(&body);
        buf_printf(&body, "{\"bundles\": [%s]}", all);
        free(all);
        ask_for(w, "cut-small", body.s);
    }
    buf_done(&body);
    run(w, 3 * MINUTE);
    assert_int_equal(machines(w), 1);
    ask(w, "another", 1);
    ms = run(w, 3 * MINUTE);
    ask(w, "another", 2);
    ms += run(w, 3 * MINUTE);
    world_end(w);
    return ms;
}

/* What one request more costs beside it. */
static void small_demand_costs_what_there_is(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        int n = kinds[kind].few;
        double few = small_demand(n, kind), many = small_demand(8 * n, kind);

        if (grows(few, many, 8, least_ms / 8)) {
            double again = small_demand(8 * n, kind);

            many = again < many ? again : many;
        }
        print_message(
            "%s: %.0f ms beside %d, %.0f beside eight times as many\n",
            kinds[kind].name, few, kinds[kind].few, many);
        if (grows(few, many, 8, least_ms / 8))
            fail_msg("eight times as many %s cost %.0f times as much",
                     kinds[kind].name, many / few);
    }
}

/* ---- long steps */

static uint64_t steps_longer(struct world *w, int64_t ms)
{
    const struct figure_about *about = figure_about(FIGURE_STEP);
    const struct figure_series *s;
    struct arena a = {0};
    uint64_t n = 0, all = 0;

    assert_int_equal(figures_take(&control_metrics(w->control)->figures,
                                  FIGURE_STEP, &a, &s),
                     1);
    for (uint32_t i = 0; i <= about->n_bounds; i++) {
        all += s->bucket[i];
        if (i == about->n_bounds || about->bounds[i] > ms * 1000)
            n += s->bucket[i];
    }
    assert_int_equal(all, s->n);
    assert_int_equal(all, control_metrics(w->control)->steps);
    arena_done(&a);
    return n;
}

static void a_long_step_is_counted(void **state)
{
    struct world *w = &the_world;
    uint64_t longer;

    (void)state;
    world_begin(w);
    longer = steps_longer(w, 50);
    reading_ms = LONG_MS;
    control_reload(w->control, 0);
    player_run(w->player, w->control, SECOND, NULL, NULL);
    assert_true(steps_longer(w, 50) > longer);
    assert_true(control_metrics(w->control)->step_us_max >= LONG_MS * 1000);
    world_end(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_teardown(f, left)
        TEST(a_long_step_is_counted),
        TEST(a_fleet_costs_what_it_is_large),
        TEST(small_demand_costs_what_there_is),
    };

    log_setup(LOG_ERROR, false);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
