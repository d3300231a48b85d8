/*
 * test_loop_offers.c - what a provider offers changes, and the loop plans with
 * it at once: the real loop, a played cloud that makes offers, played time.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "cloud/cloud.h"
#include "played/cloud_inside.h"
#include "played_rig.h"

enum { AT_ONCE = 2 * SECOND }; /* a step and a call in played time */

/* ---- a played cloud that makes offers */

enum { OFFERS = 4 };
static struct davit_offer made[OFFERS];
static uint32_t n_made, asked;
static uint32_t quota;  /* machines; 0: no limit */
static uint32_t shared; /* GPUs of both offers together; 0: no limit */
static struct player *player;
static struct davit_provider offering;

/* As the contract has it: none left is not available. */
static void limited(struct davit_offer *o, const struct cloud *c)
{
    uint32_t used = c->there.n;

    o->most = quota > used ? quota - used : 0;
    o->available = o->most > 0;
}

/* GPUs: a machine of type "four" has 4, one of "one" 1. */
static uint32_t taken(const struct cloud *c)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < c->there.n; i++)
        n += strcmp(c->there.v[i]->type, "four") == 0 ? 4 : 1;
    return n;
}

static void shared_tell(const struct cloud *c)
{
    static struct davit_quota q[OFFERS];
    uint32_t used = taken(c), left = shared > used ? shared - used : 0;

    for (uint32_t i = 0; i < n_made; i++) {
        q[i] = (struct davit_quota){"GPUs", left,
                                    strcmp(made[i].name, "four") == 0 ? 4 : 1};
        made[i].quotas = &q[i];
        made[i].n_quotas = 1;
        made[i].available = left >= q[i].each;
    }
}

static int offers(void *self, struct davit_call *call, struct davit_sink *sink,
                  davit_put_offer *put, struct davit_error *e)
{
    const struct handle *h = self;

    (void)call;
    (void)e;
    asked++;
    if (shared)
        shared_tell(h->cloud);
    for (uint32_t i = 0; i < n_made; i++) {
        if (quota)
            limited(&made[i], h->cloud);
        put(sink, &made[i]);
    }
    return DAVIT_OK;
}

static struct davit_offer open_offer(const char *type)
{
    return (struct davit_offer){.size = sizeof(struct davit_offer),
                                .name = type,
                                .zone = "a",
                                .price_micros_hour = 700000,
                                .available = true,
                                .note = ""};
}

/* ---- the world */

struct world {
    struct cloud *cloud;
    struct disk *disk;
    struct control *control;
};

static struct world the_world;

static void world_begin(struct world *w)
{
    memset(w, 0, sizeof *w);
    player = player_new(1, BEGIN_MS);
    w->cloud = cloud_new(player, &(struct cloud_opts){.boot_least_ms = SECOND,
                                                      .boot_most_ms = SECOND});
    offering = *cloud_provider();
    offering.name = "offering";
    offering.caps |= DAVIT_CAP_OFFERS;
    offering.offers = offers;
    plugin_builtin(&offering);
    asked = 0;
    w->disk = disk_new("played");
    w->control = daemon_new(
        (struct outside){.arg = player, .workers = player_workers});
}

static void world_end(struct world *w)
{
    control_free(w->control);
    disk_free(w->disk);
    cloud_free(w->cloud);
    player_free(player);
    player = NULL;
    quota = shared = 0;
}

/* What a test that failed has left: clouds and disks are the process's. */
static int left(void **state)
{
    (void)state;
    if (player)
        world_end(&the_world);
    return 0;
}

static void run(struct world *w, int64_t ms)
{
    player_run(player, w->control, ms, NULL, NULL);
}

/* -1: it is estimated. */
static int64_t price_planned_with(struct world *w, const char *type)
{
    struct status_page *page = status_get(control_board(w->control));
    const struct problem *s = page->now;
    int64_t price = -2;

    for (uint32_t i = 0; i < s->n_offers; i++) {
        const struct pb_offer *o = &s->offers[i];

        if (strcmp(s->str[s->types[o->type].name], type) == 0)
            price = o->price_estimated ? -1 : o->price_micros_hour;
    }
    status_unref(page);
    return price;
}

static int64_t cost_told(struct world *w)
{
    struct status_page *page = status_get(control_board(w->control));
    int64_t cost = status_cost(page);

    status_unref(page);
    return cost;
}

/* Until that many machines were launched. */
static void run_until(struct world *w, uint32_t launched, int64_t most_ms)
{
    int64_t begun = player_now_ms(player);

    while (cloud_launched(w->cloud) < launched &&
           player_now_ms(player) - begun < most_ms)
        run(w, SECOND / 2);
    assert_int_equal(cloud_launched(w->cloud), launched);
}

/* Until the next ask for offers. */
static void run_until_asked(struct world *w, int64_t most_ms)
{
    int64_t begun = player_now_ms(player);
    uint32_t before = asked;

    while (asked == before && player_now_ms(player) - begun < most_ms)
        run(w, SECOND / 2);
    assert_true(asked > before);
}

#define SETTINGS(types) \
    "cluster: played\n" \
    "state: /played/davit.db\n" \
    "limits: {max_nodes: 50}\n" \
    "providers: {played: {plugin: offering}}\n" \
    "node_types:\n" types

/* ---- tests */

static void test_what_opens_is_bought_at_once(void **state)
{
    struct world *w = &the_world;

    (void)state;
    settings = SETTINGS(
        "  t4: {provider: played, resources: {GPU: 1}, min: 1, max: 9}\n");
    made[0] = open_offer("t4");
    made[0].available = false;
    made[0].note = "no capacity";
    n_made = 1;
    world_begin(w);
    run(w, 10 * MINUTE + 7 * SECOND);
    assert_int_equal(cloud_launched(w->cloud), 0);
    made[0].available = true;
    made[0].note = "";
    run_until_asked(w, MINUTE + AT_ONCE);
    run_until(w, 1, AT_ONCE);
    world_end(w);
}

static void test_a_price_is_planned_with_at_once(void **state)
{
    struct world *w = &the_world;

    (void)state;
    settings = SETTINGS(
        "  t4: {provider: played, resources: {GPU: 1}, max: 9}\n");
    made[0] = open_offer("t4");
    n_made = 1;
    world_begin(w);
    run(w, 12 * MINUTE);
    made[0].price_micros_hour = 350000;
    run_until_asked(w, 10 * MINUTE);
    run(w, AT_ONCE);
    assert_int_equal(price_planned_with(w, "t4"), 350000);
    world_end(w);
}

/* Two run at 0.50 $/h when they come to cost 0.80: a third of another type, at 0.50, is
 * over a budget of 2 $/h, and is bought when they cost less again. */
static void test_a_price_holds_for_what_runs(void **state)
{
    struct world *w = &the_world;

    (void)state;
    settings =
        "cluster: played\n"
        "state: /played/davit.db\n"
        "limits: {max_nodes: 50, max_cost_per_hour: 2}\n"
        "providers: {played: {plugin: offering}}\n"
        "node_types:\n"
        "  t4: {provider: played, resources: {GPU: 1}, min: 2, max: 2}\n"
        "  cpu: {provider: played, resources: {CPU: 4}, min: 1, max: 1}\n";
    made[0] = open_offer("t4");
    made[1] = open_offer("cpu");
    made[0].price_micros_hour = made[1].price_micros_hour = 500000;
    made[1].available = false;
    made[1].note = "no capacity";
    n_made = 2;
    world_begin(w);
    run_until(w, 2, MINUTE);
    made[0].price_micros_hour = 800000;
    run_until_asked(w, 2 * MINUTE);
    run(w, AT_ONCE);
    assert_int_equal(cost_told(w), 1600000);
    made[1].available = true;
    made[1].note = "";
    run(w, 30 * MINUTE);
    assert_int_equal(cloud_launched(w->cloud), 2);
    /* It is not known for a while: it is what it was. */
    made[0].price_micros_hour = made[1].price_micros_hour = -1;
    made[1].available = false;
    made[1].note = "no capacity";
    run(w, 30 * MINUTE);
    assert_int_equal(cost_told(w), 1600000);
    assert_int_equal(price_planned_with(w, "t4"), 800000);
    assert_int_equal(price_planned_with(w, "cpu"), -1);
    made[0].price_micros_hour = 700000;
    made[1] = open_offer("cpu");
    made[1].price_micros_hour = 500000;
    run(w, 11 * MINUTE);
    assert_int_equal(cloud_launched(w->cloud), 3);
    assert_int_equal(cost_told(w), 1900000);
    world_end(w);
}

static uint32_t alive(const struct world *w)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < w->cloud->there.n; i++)
        n += !w->cloud->there.v[i]->asked_ms;
    return n;
}

/* Two are bought at an estimate of 1 $/h.  Nobody can have agreed to what nobody
 * knew: the first price that is told counts, for what is there for a min too; what
 * it rises to later ends nothing. */
static void test_the_first_price_counts(void **state)
{
    struct world *w = &the_world;

    (void)state;
    settings =
        "cluster: played\n"
        "state: /played/davit.db\n"
        "limits: {max_nodes: 50, max_cost_per_hour: 2}\n"
        "providers: {played: {plugin: offering}}\n"
        "node_types:\n"
        "  t4: {provider: played, resources: {GPU: 1}, min: 2, max: 2}\n";
    made[0] = open_offer("t4");
    made[0].price_micros_hour = -1;
    n_made = 1;
    world_begin(w);
    run_until(w, 2, MINUTE);
    assert_int_equal(price_planned_with(w, "t4"), -1);
    made[0].price_micros_hour = 1500000;
    run(w, 11 * MINUTE);
    assert_int_equal(alive(w), 1);
    made[0].price_micros_hour = 2500000;
    run(w, 11 * MINUTE);
    assert_int_equal(cost_told(w), 2500000);
    assert_int_equal(alive(w), 1);
    world_end(w);
}

/* Nothing is bought at the estimate of what costs nothing by its provider's first
 * word: it is asked again at once.  Said twice it is so. */
static void test_a_first_price_of_nothing_is_asked_again(void **state)
{
    struct world *w = &the_world;

    (void)state;
    settings = SETTINGS(
        "  t4: {provider: played, resources: {GPU: 1}, min: 1, max: 9}\n");
    made[0] = open_offer("t4");
    made[0].price_micros_hour = 0;
    n_made = 1;
    world_begin(w);
    for (int i = 0; i < 600 && cloud_launched(w->cloud) == 0; i++)
        run(w, SECOND / 10);
    assert_int_equal(cloud_launched(w->cloud), 1);
    assert_in_range(asked, 2, 3);
    assert_int_equal(price_planned_with(w, "t4"), 0);
    world_end(w);
}

/* It is used up by our own count, before the provider says so: it is asked each
 * minute, not every ten, and what it says is planned with at once. */
static void test_a_quota_that_is_raised(void **state)
{
    struct world *w = &the_world;

    (void)state;
    settings = SETTINGS(
        "  t4: {provider: played, resources: {GPU: 1}, min: 5, max: 9}\n");
    made[0] = open_offer("t4");
    n_made = 1;
    quota = 2;
    world_begin(w);
    run_until(w, 2, MINUTE);
    quota = 3;
    run_until_asked(w, MINUTE + AT_ONCE);
    run_until(w, 3, AT_ONCE);
    run(w, 5 * MINUTE);
    assert_int_equal(cloud_launched(w->cloud), 3);
    quota = 9;
    run_until_asked(w, MINUTE + AT_ONCE);
    run_until(w, 5, AT_ONCE);
    world_end(w);
}

/* Two types share a quota of 8 GPUs: of 6 and 3 times 4 that are wanted 8 are
 * bought in all, also while the provider has not been asked again; and more
 * when the quota is raised. */
static void test_two_types_under_one_quota(void **state)
{
    struct world *w = &the_world;

    (void)state;
    settings = SETTINGS(
        "  one: {provider: played, resources: {GPU: 1}, min: 4, max: 9}\n"
        "  four: {provider: played, resources: {GPU: 4}, min: 3, max: 9}\n");
    made[0] = open_offer("one");
    made[1] = open_offer("four");
    n_made = 2;
    shared = 8;
    world_begin(w);
    for (int i = 0; i < 20; i++) {
        run(w, MINUTE);
        assert_true(taken(w->cloud) <= 8);
    }
    assert_int_equal(taken(w->cloud), 8);
    shared = 12;
    run(w, 2 * MINUTE);
    assert_int_equal(taken(w->cloud), 12);
    world_end(w);
}

/* What comes in the same makes no plan: an hour of offers that are asked for
 * each minute has no more plans than one of offers that are not. */
static void test_the_same_again_is_no_news(void **state)
{
    uint64_t ticks[2];

    (void)state;
    settings = SETTINGS(
        "  t4: {provider: played, resources: {GPU: 1}, max: 9}\n");
    for (int closed = 0; closed < 2; closed++) {
        struct world *w = &the_world;
        uint64_t before;

        made[0] = open_offer("t4");
        made[0].available = !closed;
        n_made = 1;
        world_begin(w);
        run(w, 5 * MINUTE + 30 * SECOND);
        before = control_metrics(w->control)->ticks;
        asked = 0;
        run(w, HOUR);
        ticks[closed] = control_metrics(w->control)->ticks - before;
        assert_true(closed ? asked >= 55 : asked <= 6);
        world_end(w);
    }
    print_message("plans an hour: %llu, with an offer that is asked for each "
                  "minute %llu\n",
                  (unsigned long long)ticks[0], (unsigned long long)ticks[1]);
    assert_true(ticks[1] <= ticks[0] + 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_teardown(f, left)
        TEST(test_what_opens_is_bought_at_once),
        TEST(test_a_price_is_planned_with_at_once),
        TEST(test_a_price_holds_for_what_runs),
        TEST(test_the_first_price_counts),
        TEST(test_a_first_price_of_nothing_is_asked_again),
        TEST(test_a_quota_that_is_raised),
        TEST(test_two_types_under_one_quota),
        TEST(test_the_same_again_is_no_news),
    };

    log_setup(LOG_ERROR, false);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
