/*
 * test_control_act.c - a plan into intents, intents into calls: what waits for a
 * longer look, what ends, and that nothing leaves before its time.
 */
#include "control_rig.h"

#include <time.h>

#include "control/act.h"
#include "control/send.h"
#include "control/settle.h"
#include "plan/planner.h"

static struct act acting;
static struct ends ends;
static struct decisions decisions;
static struct displacing displacing;
static struct send sending;

static int start(void **state)
{
    (void)state;
    rig_start(RIG_CONFIG, NULL, 0);
    ends = (struct ends){&rig.env, &rig.ledger, &rig.conf, &rig.sources,
                         .held = 0};
    decisions_init(&decisions);
    displacing = (struct displacing){.env = &rig.env};
    acting = (struct act){&rig.env,       &rig.ledger,  &rig.conf,
                          &rig.providers, &rig.sources, &ends,
                          &displacing,    &decisions};
    sending = (struct send){&rig.env,      &rig.ledger,    &rig.conf,
                            &rig.requests, &rig.providers, &rig.sources};
    rig_site()->listed_ms = rig.env.now_ms;
    return 0;
}

static int stop(void **state)
{
    (void)state;
    ends_close(&ends);
    decisions_done(&decisions);
    rig_stop();
    return 0;
}

/* A plan with one launch and every node kept; the test may change it. */
struct world {
    struct status_page *page;
    struct taken taken;
    struct problem *now;
    struct plan plan;
    struct plan_launch launch;
    struct plan_node nodes[8];
};

static struct world *world_make(uint32_t count, enum reason why)
{
    static struct world w;
    struct err err;

    memset(&w, 0, sizeof w);
    w.page = status_new();
    w.taken = snapshot_take(&rig.known, w.page);
    assert_int_equal(
        problem_make(w.taken.snapshot, &w.page->arena, &w.now, &err), ST_OK);
    w.launch = (struct plan_launch){
        .count = count, .why = why, .demand = NONE, .final = true};
    w.plan = (struct plan){
        .launches = &w.launch, .n_launches = count > 0, .nodes = w.nodes};
    return &w;
}

static uint32_t carry_out(struct world *w, bool waits)
{
    uint32_t n = act(&acting, &w->taken, w->now, &w->plan, waits);

    status_unref(w->page);
    return n;
}

static void test_launch_becomes_intents(void **state)
{
    const struct fleet *f = &rig.ledger.fleet;

    (void)state;
    assert_int_equal(carry_out(world_make(3, REASON_FOR_REQUEST), false), 3);
    assert_int_equal(f->n, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(f->v[i]->state, STATE_INTENDED);
        assert_int_equal(f->v[i]->launch_count, 3);
        assert_string_equal(f->v[i]->request_id, f->v[0]->request_id);
    }
    assert_int_equal(rig.n_jobs, 0); /* act() sends nothing */
}

/* Of more machines than its plug-in takes at once there are two launches. */
static void test_a_large_launch_is_cut(void **state)
{
    const struct fleet *f = &rig.ledger.fleet;

    (void)state;
    assert_int_equal(carry_out(world_make(9, REASON_FOR_REQUEST), false), 9);
    assert_int_equal(f->n, 9);
    for (uint32_t i = 0; i < 9; i++) {
        assert_int_equal(f->v[i]->launch_count, i < 6 ? 6 : 3);
        assert_int_equal(strcmp(f->v[i]->request_id, f->v[0]->request_id) == 0,
                         i < 6);
    }
}

static void test_not_final_waits(void **state)
{
    struct world *w = world_make(3, REASON_FOR_REQUEST);

    (void)state;
    w->launch.final = false;
    assert_int_equal(carry_out(w, true), 0);
    w = world_make(3, REASON_FOR_REQUEST);
    w->launch.final = false;
    assert_int_equal(carry_out(w, false), 3);
}

static struct world *ending(uint32_t n)
{
    struct world *w = world_make(0, REASON_NONE);

    for (uint32_t i = 0; i < n; i++) {
        w->nodes[i].action = NODE_END;
        w->nodes[i].why = REASON_END_IDLE;
    }
    return w;
}

/* One that has not left is asked for no more: the rest asks for one less. */
static void test_intent_is_dropped(void **state)
{
    const struct fleet *f = &rig.ledger.fleet;

    (void)state;
    carry_out(world_make(2, REASON_FOR_REQUEST), false);
    carry_out(ending(1), false);
    assert_int_equal(
        (f->v[0]->state == STATE_GONE) + (f->v[1]->state == STATE_GONE), 1);
    assert_int_equal(f->v[f->v[0]->state == STATE_GONE]->launch_count, 1);
}

static void test_launch_is_sent_once(void **state)
{
    struct call *c;

    (void)state;
    carry_out(world_make(2, REASON_FOR_REQUEST), false);
    send_due(&sending);
    c = (struct call *)rig_job();
    assert_int_equal(c->op, CALL_LAUNCH);
    assert_int_equal(c->count, 2);
    send_due(&sending);
    assert_int_equal(rig.n_jobs, 0);
    c->status = ST_OK;
    providers_fold(&rig.providers, &c->job.mail);
    assert_int_equal(rig.ledger.fleet.v[0]->state, STATE_REQUESTED);
}

/* Truth first: nothing is bought where we have not seen what there is. */
static void test_nothing_before_the_first_list(void **state)
{
    (void)state;
    carry_out(world_make(1, REASON_FOR_REQUEST), false);
    rig_site()->listed_ms = 0;
    send_due(&sending);
    assert_int_equal(rig.n_jobs, 0);
}

static void test_nothing_while_the_offer_backs_off(void **state)
{
    struct err e;

    (void)state;
    carry_out(world_make(1, REASON_FOR_REQUEST), false);
    err_set(&e, ST_STOCKOUT, "none left");
    backoffs_note_launch(rig.ledger.backoffs,
                         machine_offer(rig.ledger.fleet.v[0]), 0, 0, &e,
                         rig.env.now_ms);
    send_due(&sending);
    assert_int_equal(rig.n_jobs, 0);
    rig_pass(3600000);
    send_due(&sending);
    call_free((struct call *)rig_job());
    rig.providers.calls.n = 0;
}

static void test_ends_are_sent_together(void **state)
{
    struct call *c;

    (void)state;
    rig_machine("a", STATE_READY, "i-1");
    rig_machine("b", STATE_READY, "i-2");
    rig_site()->list_begun_ms = rig_site()->launched_ms - 1;
    carry_out(ending(2), false);
    send_due(&sending); /* its id may be a machine's of that launch */
    assert_int_equal(rig.n_jobs, 0);
    rig_site()->list_begun_ms = rig_site()->launched_ms;
    for (int i = 0; i < 2; i++)
        rig.ledger.fleet.v[i]->seen_ms = rig_site()->listed_ms;
    send_due(&sending);
    c = (struct call *)rig_job();
    assert_int_equal(c->op, CALL_TERMINATE);
    assert_int_equal(c->n_ids, 2);
    c->done = ARENA_ARRAY(&c->arena, enum status, 2);
    c->done[1] = ST_NOT_FOUND;
    c->status = ST_OK;
    providers_fold(&rig.providers, &c->job.mail);
    /* both are confirmed, and both are billed until a list lacks them */
    for (int i = 0; i < 2; i++)
        assert_int_equal(standing_of(rig.ledger.fleet.v[i]), STANDING_ENDED);
}

/* Not confirmed: a max that was lowered.  A tenth of the machines may go, at
 * least one; the rest waits for a person. */
static void test_brake(void **state)
{
    struct world *w;
    uint32_t n = 0;

    (void)state;
    for (int i = 0; i < 8; i++) {
        char id[8];

        snprintf(id, sizeof id, "m%d", i);
        rig_machine(id, STATE_READY, id);
    }
    for (int round = 0; round < 3; round++) {
        w = ending(7);
        for (int i = 0; i < 7; i++)
            w->nodes[i].why = REASON_END_MAX_TYPE;
        carry_out(w, false);
        if (round == 1)
            ends_release(&ends, "somebody", false);
    }
    for (uint32_t i = 0; i < 8; i++)
        n += rig.ledger.fleet.v[i]->state == STATE_STOPPING;
    assert_int_equal(n, 7);
    assert_true(rig_emitted("ends.held")); /* REASON_KEEP_BRAKE */
    assert_true(rig_emitted("ends.released"));
}

static uint32_t ended_of(uint32_t machines)
{
    struct world *w = ending(7);
    uint32_t n = 0;

    for (int i = 0; i < 7; i++)
        w->nodes[i].why = REASON_END_MAX_TYPE;
    carry_out(w, false);
    for (uint32_t i = 0; i < machines; i++)
        n += rig.ledger.fleet.v[i]->state == STATE_STOPPING;
    return n;
}

/* A daemon that begins again and again lets no more of them go. */
static void test_brake_outlives_the_daemon(void **state)
{
    static const struct problem nothing;
    static const struct plan no_plan;

    (void)state;
    for (int i = 0; i < 8; i++) {
        char id[8];

        snprintf(id, sizeof id, "m%d", i);
        rig_machine(id, STATE_READY, id);
    }
    assert_int_equal(ended_of(8), 1);
    for (int again = 0; again < 3; again++) {
        ends_close(&ends);
        ends = (struct ends){&rig.env, &rig.ledger, &rig.conf, &rig.sources,
                             .held = 0};
        ends_open(&ends);
        assert_int_equal(ended_of(8), 1);
    }
    rig_pass(600000);
    ends_begin(&ends, &nothing, &no_plan);
    ends.shut = false;
    assert_int_equal(ended_of(8), 2);
}

static void test_brake_holds(void **state)
{
    uint32_t n = 0;

    (void)state;
    for (int i = 0; i < 8; i++) {
        char id[8];

        snprintf(id, sizeof id, "m%d", i);
        rig_machine(id, STATE_READY, id);
    }
    for (int round = 0; round < 50; round++) {
        struct world *w = ending(7);

        for (int i = 0; i < 7; i++)
            w->nodes[i].why = REASON_END_MAX_TYPE;
        carry_out(w, false);
        rig_pass(60000);
    }
    for (uint32_t i = 0; i < 8; i++)
        n += rig.ledger.fleet.v[i]->state == STATE_STOPPING;
    assert_int_equal(n, 1);
}

/* An answer that never came is no refusal: it counts until a list tells. */
static void test_in_doubt_is_not_dropped(void **state)
{
    struct machine *m;

    (void)state;
    carry_out(world_make(1, REASON_FOR_REQUEST), false);
    m = rig.ledger.fleet.v[0];
    m->maybe.doubt = true;
    m->maybe.sent_ms = rig.env.now_ms;
    carry_out(ending(1), false);
    assert_int_equal(m->state, STATE_INTENDED);
    assert_true(standing_lost_sight(m));
    send_due(&sending);
    assert_int_equal(rig.n_jobs, 0);
}

/* ---- ends and launches beside each other */

/* Is to be ended, and may be asked for by now. */
static struct machine *stopping(const char *id, const char *cloud_id)
{
    struct machine *m = rig_machine(id, STATE_READY, cloud_id);

    fleet_move(&rig.ledger.fleet, m, STATE_STOPPING, rig.env.now_ms);
    m->seen_ms = rig_site()->listed_ms;
    return m;
}

/* One whose end is confirmed, and that a list still has, is asked for again; a list
 * without a launch beside it is not awaited for its sake. */
static void test_a_confirmed_end_holds_no_launch(void **state)
{
    struct machine *m;

    (void)state;
    m = stopping("a", "i-1");
    rig_site()->list_begun_ms = rig_site()->launched_ms - 1;
    rig_pass(60000);
    carry_out(world_make(1, REASON_FOR_REQUEST), false);
    send_due(&sending);
    assert_true(rig_site()->ends_first);
    assert_int_equal(rig.n_jobs, 0);
    m->maybe.ended_ms = rig.env.now_ms;
    send_due(&sending);
    assert_false(rig_site()->ends_first);
    assert_int_equal(((struct call *)rig.jobs[0])->op, CALL_LAUNCH);
    call_free((struct call *)rig_job());
    rig.providers.calls.n = 0;
}

/* It is news that an end may leave: only then, and each time. */
static void test_when_an_end_may_leave(void **state)
{
    struct call *c;
    struct machine *m, *other;

    (void)state;
    assert_false(send_may_end(&sending));
    rig_machine("r", STATE_READY, "i-0");
    assert_false(send_may_end(&sending)); /* it stays */
    m = stopping("a", "i-1");
    rig_site()->list_begun_ms = rig_site()->launched_ms - 1;
    assert_false(send_may_end(&sending)); /* its id may be a new one's */
    rig_site()->list_begun_ms = rig_site()->launched_ms;
    assert_true(send_may_end(&sending));
    other = rig_machine("b", STATE_STARTING, "i-1");
    assert_false(send_may_end(&sending)); /* whose is it? */
    fleet_move(&rig.ledger.fleet, other, STATE_GONE, rig.env.now_ms);
    assert_true(send_may_end(&sending));
    m->retry_ms = rig.env.now_ms + 1;
    assert_false(send_may_end(&sending));
    m->retry_ms = 0;
    send_due(&sending);
    assert_false(send_may_end(&sending)); /* it has left */
    c = (struct call *)rig_job();
    assert_int_equal(c->op, CALL_TERMINATE);
    m = stopping("d", "i-3");
    assert_true(send_may_end(&sending));
    rig.providers.calls.v[0].overdue = true; /* ends hang: send_due() looks */
    assert_false(send_may_end(&sending));
    call_free(c);
    rig.providers.calls.n = 0;
}

/* ---- what many cost */

static double seconds_of(void (*what)(void))
{
    double best = 1e9;

    for (int i = 0; i < 3; i++) {
        clock_t t0 = clock();
        double took;

        what();
        took = (double)(clock() - t0) / CLOCKS_PER_SEC;
        best = took < best ? took : best;
    }
    return best;
}

static void ask_ends(void)
{
    assert_false(send_may_end(&sending));
    send_due(&sending);
    assert_int_equal(rig.n_jobs, 0);
}

/* As many as there are by then, all of one kind; the machines before stay. */
static double asked_with(uint32_t n, struct machine *(*one)(const char *id,
                                                            const char *cloud))
{
    for (uint32_t i = rig.ledger.fleet.n; i < n; i++) {
        char id[16], cloud[16];

        snprintf(id, sizeof id, "m%u", i);
        snprintf(cloud, sizeof cloud, "i-%u", i);
        one(id, cloud);
    }
    return seconds_of(ask_ends);
}

/* In doubt, and not needed: it is not sent again. */
static struct machine *doubted(const char *id, const char *cloud)
{
    struct machine *m = rig_machine(id, STATE_INTENDED, "");
    char launch[32];

    snprintf(launch, sizeof launch, "r-%s", cloud);
    MACHINE_SET(m, request_id, launch);
    m->launch_count = 1;
    m->maybe.doubt = true;
    return m;
}

enum { FEW = 1000, TIMES = 8 };

/* Each looks at itself, not at all the others: eight times as many cost eight times as
 * much, where it was sixty-four. */
static void test_what_many_ends_cost(void **state)
{
    double few, many;

    (void)state;
    rig_site()->list_begun_ms = rig_site()->launched_ms - 1;
    few = asked_with(FEW, stopping);
    many = asked_with(FEW * TIMES, stopping);
    print_message("ends: %d in %.4f s, %d in %.4f s\n", FEW, few, FEW * TIMES,
                  many);
    assert_true(many < few * TIMES * 3);
}

static void test_what_many_doubts_cost(void **state)
{
    double few, many;

    (void)state;
    few = asked_with(FEW, doubted);
    many = asked_with(FEW * TIMES, doubted);
    print_message("launches: %d in %.4f s, %d in %.4f s\n", FEW, few,
                  FEW * TIMES, many);
    assert_true(many < few * TIMES * 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)
        TEST(test_launch_becomes_intents),
        TEST(test_a_large_launch_is_cut),
        TEST(test_not_final_waits),
        TEST(test_intent_is_dropped),
        TEST(test_launch_is_sent_once),
        TEST(test_nothing_before_the_first_list),
        TEST(test_nothing_while_the_offer_backs_off),
        TEST(test_ends_are_sent_together),
        TEST(test_brake),
        TEST(test_brake_holds),
        TEST(test_brake_outlives_the_daemon),
        TEST(test_in_doubt_is_not_dropped),
        TEST(test_a_confirmed_end_holds_no_launch),
        TEST(test_when_an_end_may_leave),
        TEST(test_what_many_ends_cost),
        TEST(test_what_many_doubts_cost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
