/*
 * test_control_hangs.c - calls that do not return: what goes on beside them, how
 * long and how many of them, and what shows.
 */
#include "control_rig.h"

#include "control/send.h"

static struct send sending;

static int start(void **state)
{
    (void)state;
    rig_start(RIG_CONFIG, NULL, 0);
    rig_site()->list_begun_ms = rig_site()->launched_ms; /* as they are */
    rig_site()->listed_ms = rig.env.now_ms;
    sending = (struct send){&rig.env,      &rig.ledger,    &rig.conf,
                            &rig.requests, &rig.providers, &rig.sources};
    return 0;
}

static struct call *back(uint32_t at, enum status s)
{
    struct call *c = rig.providers.calls.v[at].call;

    c->status = err_set(&c->err, s, "it is back");
    c->job.abandoned = s != ST_OK;
    return c;
}

/* They come back after all. */
static int stop(void **state)
{
    (void)state;
    while (rig.providers.calls.n)
        providers_fold(&rig.providers, &back(0, ST_RETRY)->job.mail);
    rig_stop();
    return 0;
}

static struct call *sent(enum call_op op)
{
    static const char *const ids[] = {"i-none"};
    struct call *c = call_new(rig_site()->provider, op, MAIL_CALL);

    c->ids = c->names = ids;
    c->n_ids = op == CALL_TERMINATE;
    c->request_id = "davit-rig";
    c->count = op == CALL_LAUNCH;
    call_send(&rig.providers, rig_site(), c, 1000);
    assert_ptr_equal(rig_job(), &c->job);
    return c;
}

static void overdue(const struct call *c)
{
    rig_pass(c->job.deadline_mono_ms - rig.env.mono_ms + LAST_CHANCE_MS);
    calls_overdue(&rig.providers);
}

static bool room(enum call_op op)
{
    return calls_room(&rig.providers, rig_site(), op);
}

/* One after the other leaves and does not return: all that there is room for.
 * How many. */
static uint32_t hang_all(enum call_op op)
{
    uint32_t n = 0;

    while (room(op)) {
        overdue(sent(op));
        assert_true(++n < 100);
    }
    return n;
}

/* The ends that leave now, as one call; NULL: none. */
static struct call *ends_sent(void)
{
    uint32_t before = rig.n_jobs;

    for (uint32_t i = 0; i < rig.ledger.fleet.n; i++)
        rig.ledger.fleet.v[i]->seen_ms = rig.env.now_ms; /* lists have them */
    send_due(&sending);
    if (rig.n_jobs == before)
        return NULL;
    assert_int_equal(rig.n_jobs, before + 1);
    return (struct call *)rig_job();
}

static bool has(const struct call *c, const char *id)
{
    for (uint32_t i = 0; i < c->n_ids; i++)
        if (strcmp(c->ids[i], id) == 0)
            return true;
    return false;
}

static void ended(struct call *c)
{
    c->done = ARENA_ARRAY(&c->arena, enum status, c->n_ids);
    c->status = ST_OK;
    providers_fold(&rig.providers, &c->job.mail);
}

/* So many calls may be under way, and six of them hang: the others have all
 * places again. */
static void test_what_hangs_takes_no_place(void **state)
{
    struct call *c[6];

    (void)state;
    for (int i = 0; i < 6; i++) {
        assert_true(room(CALL_TERMINATE));
        c[i] = sent(CALL_TERMINATE);
    }
    assert_false(room(CALL_TERMINATE));
    assert_false(room(CALL_LAUNCH));
    assert_true(room(CALL_LIST));
    overdue(c[5]);
    assert_true(room(CALL_TERMINATE));
    assert_true(room(CALL_LAUNCH));
}

/* Ends, launches and offers that hang leave room to look: who sees nothing can
 * do nothing else.  Offers leave room for ends, too.  All of it is bounded, and
 * shows. */
static void test_what_hangs_is_bounded(void **state)
{
    (void)state;
    assert_int_equal(hang_all(CALL_OFFERS), 6);
    assert_int_equal(hang_all(CALL_TERMINATE), 18);
    assert_true(rig_stops_at("calls_used_up", true));
    assert_false(room(CALL_LAUNCH));
    assert_int_equal(hang_all(CALL_LIST), 8);
    assert_true(rig_stops_at("call_hangs", true));
    providers_fold(&rig.providers, &back(0, ST_OK)->job.mail);
    assert_true(room(CALL_LIST));
}

static void test_hung_calls_show(void **state)
{
    (void)state;
    assert_false(rig_stops_at("call_hangs", true));
    overdue(sent(CALL_LAUNCH));
    assert_true(rig_stops_at("call_hangs", true));
    assert_false(rig_stops_at("calls_used_up", true));
}

/* Nothing is bought where two calls began to hang; it is tried again after a
 * while, as they may never return. */
static void test_stuck_for_a_while(void **state)
{
    const struct provider_state *site = rig_site();

    (void)state;
    overdue(sent(CALL_TERMINATE));
    assert_false(calls_stuck(&rig.providers, site));
    overdue(sent(CALL_TERMINATE));
    assert_true(calls_stuck(&rig.providers, site));
    rig_pass(600000);
    assert_false(calls_stuck(&rig.providers, site));
    assert_int_equal(rig.providers.calls.n, 2);
}

/* It is asked for again, later each time, one call after the other. */
static void test_end_that_hangs(void **state)
{
    struct machine *m = rig_machine("m", STATE_STOPPING, "i-1");

    (void)state;
    for (int i = 0; i < 7; i++) {
        int64_t pause = INT64_C(60000) << (i < 4 ? i : 4);
        struct call *c = ends_sent();

        assert_non_null(c);
        overdue(c);
        assert_false(m->busy);
        rig_pass(pause - 1);
        assert_null(ends_sent());
        assert_true(rig.env.due_ms <= rig.env.mono_ms + 2);
        rig_pass(1);
    }
}

/* A call that returns late with an error says nothing of the newer one. */
static void test_late_error_beside_a_newer_call(void **state)
{
    struct machine *m = rig_machine("m", STATE_STOPPING, "i-1");

    (void)state;
    overdue(ends_sent());
    rig_pass(60000);
    assert_non_null(ends_sent());
    assert_true(m->busy);
    assert_int_equal(m->tries, 1);
    providers_fold(&rig.providers, &back(0, ST_RETRY)->job.mail);
    assert_true(m->busy);
    assert_int_equal(m->tries, 1);
}

/* The plug-in answers again: what waits need not wait longer. */
static void test_one_returns(void **state)
{
    (void)state;
    rig_machine("m", STATE_STOPPING, "i-1");
    for (int i = 0; i < 4; i++) {
        rig_pass(3600000);
        overdue(ends_sent());
    }
    providers_fold(&rig.providers, &back(0, ST_RETRY)->job.mail);
    rig_pass(60000);
    assert_non_null(ends_sent());
}

/* The plug-in hangs on one machine of nine: the other eight go, one that is to
 * end later goes before those that hung, and the one is alone in the end. */
static void test_hangs_on_one_machine(void **state)
{
    char id[16];
    uint32_t good = 0, alone = 0;

    (void)state;
    for (int i = 0; i < 9; i++) {
        snprintf(id, sizeof id, "i-%d", i);
        rig_machine(id, STATE_STOPPING, id);
    }
    for (int hour = 0; hour < 4 * 60; hour++) {
        struct call *c;

        if (hour == 5)
            rig_machine("late", STATE_STOPPING, "i-late");
        while ((c = ends_sent())) {
            if (hour == 5)
                assert_true(has(c, "i-late"));
            if (has(c, "i-4")) {
                alone += c->n_ids == 1;
                overdue(c);
                continue;
            }
            good += c->n_ids;
            for (uint32_t i = 0; i < c->n_ids; i++)
                fleet_by_launch(&rig.ledger.fleet, "rig", c->ids[i], "")->state =
                    STATE_GONE;
            ended(c);
        }
        rig_pass(60000);
    }
    assert_int_equal(good, 9);
    assert_true(alone > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)
        TEST(test_what_hangs_takes_no_place),
        TEST(test_what_hangs_is_bounded),
        TEST(test_hung_calls_show),
        TEST(test_stuck_for_a_while),
        TEST(test_end_that_hangs),
        TEST(test_late_error_beside_a_newer_call),
        TEST(test_one_returns),
        TEST(test_hangs_on_one_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
