/*
 * test_control_providers.c - what lists, answers and calls that hang do to the
 * ledger: adoption, two misses, a list that is older than what it misses.
 */
#include "control_rig.h"

static int start(void **state)
{
    (void)state;
    rig_start(RIG_CONFIG, NULL, 0);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    rig_stop();
    return 0;
}

static struct call_machine running(const char *id)
{
    return (struct call_machine){.id = id,
                                 .request_id = "",
                                 .type = "t",
                                 .zone = "",
                                 .address = "",
                                 .detail = "",
                                 .unit = "",
                                 .held = "",
                                 .phase = DAVIT_RUNNING};
}

/* The list that is due, as it leaves. */
static struct call *list_sent(void)
{
    struct call *c;

    providers_poll(&rig.providers);
    c = (struct call *)rig_job();
    assert_int_equal(c->op, CALL_LIST);
    return c;
}

/* It is back with these machines. */
static void listed(struct call *c, const char *const *ids, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        VEC_PUSH(&c->arena, &c->machines, running(ids[i]));
    c->status = ST_OK;
    providers_fold(&rig.providers, &c->job.mail);
}

static void list(const char *const *ids, uint32_t n)
{
    rig_pass(20000);
    listed(list_sent(), ids, n);
}

static void test_adopted(void **state)
{
    const struct machine *m;

    (void)state;
    list((const char *[]){"i-1"}, 1);
    m = fleet_by_cloud(&rig.ledger.fleet, "rig", "i-1");
    assert_non_null(m);
    assert_true(m->adopted);
    assert_int_equal(m->state, STATE_READY); /* no source says when it joins */
    assert_true(rig_emitted("node.adopted"));
}

static void test_lost_after_two_lists(void **state)
{
    struct machine *m = rig_machine("m", STATE_READY, "i-1");

    (void)state;
    list(NULL, 0);
    assert_int_equal(m->state, STATE_READY);
    list((const char *[]){"i-1"}, 1); /* it was there after all */
    list(NULL, 0);
    assert_int_equal(m->state, STATE_READY);
    list(NULL, 0);
    assert_int_equal(m->state, STATE_GONE);
    assert_true(rig_emitted("node.lost"));
}

static void test_failed_list_says_nothing(void **state)
{
    struct machine *m = rig_machine("m", STATE_READY, "i-1");

    (void)state;
    for (int i = 0; i < 5; i++) {
        struct call *c;

        rig_pass(60000);
        c = list_sent();
        c->status = err_set(&c->err, ST_RETRY, "no");
        providers_fold(&rig.providers, &c->job.mail);
    }
    assert_int_equal(m->state, STATE_READY);
    assert_false(provider_is_read(rig_site()));
    assert_true(rig_emitted("provider.down"));
}

static void test_list_is_older_than_the_machine(void **state)
{
    struct machine *m;
    struct call *c;

    (void)state;
    rig_pass(20000);
    c = list_sent();
    c->started_mono_ms = rig.env.mono_ms;
    rig_pass(500);
    m = rig_machine("m", STATE_STARTING, "i-1");
    m->missed = 1;
    rig_pass(500);
    listed(c, NULL, 0);
    assert_int_equal(m->state, STATE_STARTING);
    assert_int_equal(m->missed, 1);
}

static struct call *launch_sent(struct machine *m)
{
    struct call *c = call_new(rig_site()->provider, CALL_LAUNCH, MAIL_CALL);

    snprintf(m->request_id, sizeof m->request_id, "r-1");
    m->busy = true;
    c->type = "t";
    c->zone = "";
    c->request_id = "r-1";
    c->count = 1;
    call_send(&rig.providers, c, 120000);
    assert_ptr_equal(rig_job(), &c->job);
    return c;
}

static void test_refusal_ends_the_intent(void **state)
{
    struct machine *m = rig_machine("m", STATE_INTENDED, "");
    struct call *c = launch_sent(m);

    (void)state;
    c->status = err_set(&c->err, ST_STOCKOUT, "none left");
    providers_fold(&rig.providers, &c->job.mail);
    assert_int_equal(m->state, STATE_GONE);
    assert_non_null(
        backoffs_find(rig.ledger.backoffs, machine_offer(m), rig.env.now_ms));
    assert_int_equal(rig.ledger.n_failures, 1);
}

static void test_lost_answer_keeps_the_intent(void **state)
{
    struct machine *m = rig_machine("m", STATE_INTENDED, "");
    struct call *c = launch_sent(m);

    (void)state;
    c->status = err_set(&c->err, ST_RETRY, "reset");
    providers_fold(&rig.providers, &c->job.mail);
    assert_int_equal(m->state, STATE_INTENDED);
    assert_false(m->busy);
    assert_true(m->retry_ms > rig.env.now_ms);
}

static void test_call_that_hangs(void **state)
{
    struct machine *m = rig_machine("m", STATE_INTENDED, "");
    struct call *c = launch_sent(m);

    (void)state;
    rig_pass(c->job.deadline_mono_ms - rig.env.mono_ms + LAST_CHANCE_MS - 1);
    calls_overdue(&rig.providers);
    assert_int_equal(m->state, STATE_INTENDED);
    rig_pass(1);
    calls_overdue(&rig.providers);
    assert_int_equal(m->state, STATE_GONE);
    assert_true(atomic_load(&c->cancel));
    assert_int_equal(rig.providers.calls.n, 1);
    c->job.abandoned = true;
    providers_fold(&rig.providers, &c->job.mail);
    assert_int_equal(rig.providers.calls.n, 0);
}

static void test_offers_replace_those_before(void **state)
{
    static const char *const zones[] = {"a", "b"};

    (void)state;
    for (int round = 0; round < 2; round++) {
        struct call *c = call_new(rig_site()->provider, CALL_OFFERS, MAIL_CALL);

        for (int i = round; i < 2; i++)
            VEC_PUSH(&c->arena, &c->offers,
                     ((struct call_offer){.type = "t",
                                          .zone = zones[i],
                                          .available = true,
                                          .note = "",
                                          .price_micros_hour = i}));
        c->status = ST_OK;
        providers_fold(&rig.providers, &c->job.mail);
    }
    assert_int_equal(rig.providers.offers.n, 1);
    assert_string_equal(rig.providers.offers.v[0].zone, "b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)
        TEST(test_adopted),
        TEST(test_lost_after_two_lists),
        TEST(test_failed_list_says_nothing),
        TEST(test_list_is_older_than_the_machine),
        TEST(test_refusal_ends_the_intent),
        TEST(test_lost_answer_keeps_the_intent),
        TEST(test_call_that_hangs),
        TEST(test_offers_replace_those_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
