/*
 * test_control_settle.c - the ledger's table (control/settle.h), row by row:
 * what a good list that lacks a machine proves, and when.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "control/settle.h"

enum { T = 1000000, SETTLE = 5000 };

static struct machine machine(enum machine_state state)
{
    return (struct machine){MACHINE_TEXTS, .state = state, .created_ms = T};
}

static bool absent(struct machine *m, int64_t after_ms)
{
    return settle_absent(m, T + after_ms, SETTLE);
}

static void test_standing(void **state)
{
    struct machine m = machine(STATE_INTENDED);

    (void)state;
    assert_int_equal(standing_of(&m), STANDING_PLANNED);
    m.busy = true;
    assert_int_equal(standing_of(&m), STANDING_ASKED);
    m.busy = false;
    m.maybe.doubt = true;
    assert_int_equal(standing_of(&m), STANDING_ASKED);
    m.state = STATE_REQUESTED;
    assert_int_equal(standing_of(&m), STANDING_ACCEPTED);
    m.state = STATE_DRAINING;
    assert_int_equal(standing_of(&m), STANDING_THERE);
    m.state = STATE_STOPPING;
    assert_int_equal(standing_of(&m), STANDING_ENDING);
    m.maybe.ended_ms = T;
    assert_int_equal(standing_of(&m), STANDING_ENDED);
    m.state = STATE_GONE;
    assert_int_equal(standing_of(&m), STANDING_GONE);
}

/* Nothing but the plan forgets what was never sent. */
static void test_planned(void **state)
{
    struct machine m = machine(STATE_INTENDED);

    (void)state;
    assert_false(absent(&m, 1000000));
}

static void test_asked(void **state)
{
    struct machine m = machine(STATE_INTENDED);

    (void)state;
    m.maybe.doubt = true;
    m.maybe.sent_ms = T + 10000;
    /* until a list could have it, nothing is bought in its place */
    assert_false(absent(&m, 10000 + SETTLE - 1));
    assert_false(m.maybe.unlisted);
    assert_false(absent(&m, 10000 + SETTLE));
    assert_true(m.maybe.unlisted);
    assert_false(absent(&m, 100000)); /* it is still sent again */
    m.maybe.given_up = true;
    assert_true(standing_lost_sight(&m));
    /* it may come in for a minute, and then the list may lag */
    assert_false(absent(&m, 70000 + SETTLE - 1));
    m.busy = true;
    assert_false(absent(&m, 1000000)); /* a call may yet do it */
    m.busy = false;
    assert_false(absent(&m, 70000 + SETTLE)); /* it may be a list cut short */
    assert_false(absent(&m, 70000 + 2 * SETTLE - 1));
    assert_true(absent(&m, 70000 + 2 * SETTLE));
}

static void test_accepted(void **state)
{
    struct machine m = machine(STATE_REQUESTED);

    (void)state;
    m.maybe.sent_ms = T;
    assert_false(absent(&m, 600000)); /* it may come late */
    m.maybe.given_up = true;          /* later than start_timeout */
    assert_false(absent(&m, 600000));
    assert_true(absent(&m, 600000 + SETTLE));
}

static void test_there(void **state)
{
    struct machine m = machine(STATE_READY);

    (void)state;
    m.seen_ms = T + 1000;
    assert_false(absent(&m, 1000)); /* the list that has it, or an older one */
    assert_false(absent(&m, 2000));
    assert_false(absent(&m, 2000)); /* no second list */
    assert_false(absent(&m, 2000 + SETTLE - 1));
    assert_true(absent(&m, 2000 + SETTLE));
}

/* Shown by the launch's answer only: the list may not know it yet. */
static void test_never_listed(void **state)
{
    struct machine m = machine(STATE_STARTING);

    (void)state;
    m.maybe.sent_ms = T;
    for (int i = 1; i < SETTLE / 1000; i++)
        assert_false(absent(&m, 1000 * i));
    assert_int_equal(m.maybe.missing_ms, 0);
    assert_false(absent(&m, SETTLE));
    assert_false(absent(&m, 2 * SETTLE - 1));
    assert_true(absent(&m, 2 * SETTLE));
}

static void test_ending(void **state)
{
    struct machine m = machine(STATE_STOPPING);

    (void)state;
    m.seen_ms = T;
    assert_false(absent(&m, 1000));
    assert_true(absent(&m, 1000 + SETTLE));
}

static void test_ended(void **state)
{
    struct machine m = machine(STATE_STOPPING);

    (void)state;
    m.seen_ms = T;
    m.maybe.ended_ms = T + 3000;
    assert_false(absent(&m, 2000)); /* begun before the confirmation */
    assert_true(absent(&m, 3000));
    m.maybe.missing_ms = 0;
    assert_false(absent(&m, 3000)); /* one list may lack it by mistake */
    assert_false(absent(&m, 3000));
    assert_true(absent(&m, 3001));
    m.maybe.missing_ms = 0;
    m.seen_ms = 0; /* too new to be listed: its absence says nothing */
    assert_false(absent(&m, 3000));
    assert_false(absent(&m, SETTLE));
    assert_true(absent(&m, SETTLE + 1));
}

/* An end that was never sent, or is refused for sure, is no end yet. */
static void test_end_void(void **state)
{
    struct machine m = machine(STATE_STOPPING);

    (void)state;
    assert_false(settle_end_void(&m, T)); /* it never was of use */
    m.ready_ms = T;
    assert_true(settle_end_void(&m, T));
    m.busy = true;
    assert_false(settle_end_void(&m, T)); /* a call may do it this moment */
    m.busy = false;
    m.maybe.end_doubt_ms = T; /* one that was not answered, by and by */
    assert_false(settle_end_void(&m, T + 599999));
    assert_true(settle_end_void(&m, T + 600000));
    m.maybe.ended_ms = T;
    assert_false(settle_end_void(&m, T + 600000));
    m.maybe.ended_ms = 0;
    m.maybe.taken = true;
    assert_false(settle_end_void(&m, T + 600000));
    m.maybe.taken = false;
    m.why = REASON_END_FAILED;
    assert_false(settle_end_void(&m, T + 600000));
    m.why = REASON_END_IDLE;
    m.state = STATE_READY;
    assert_false(settle_end_void(&m, T + 600000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_standing), cmocka_unit_test(test_planned),
        cmocka_unit_test(test_asked),    cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_there),    cmocka_unit_test(test_never_listed),
        cmocka_unit_test(test_ending),   cmocka_unit_test(test_ended),
        cmocka_unit_test(test_ending),   cmocka_unit_test(test_end_void),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
