/*
 * test_control_lists.c - lists of many machines: what they cost grows as they do,
 * whatever the machines have in common.
 *
 * Counted, not timed: comparisons of texts in all of the program (this one is linked
 * with --wrap=strcmp), and looks at slots of tables (hash.c is compiled in here).
 */
#include <stdbool.h>
#include <stdint.h>

static uint64_t looks;

#define HASH_LOOK() (looks++)
#include "../../autoscaler/base/hash.c"

#include "base/log.h"
#include "control_rig.h"

int __real_strcmp(const char *a, const char *b);
int __wrap_strcmp(const char *a, const char *b);

int __wrap_strcmp(const char *a, const char *b)
{
    looks++;
    return __real_strcmp(a, b);
}

static int start(void **state)
{
    (void)state;
    rig_start(RIG_CONFIG, NULL, 0);
    log_setup(LOG_ERROR, false);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    rig_stop();
    return 0;
}

/* The list that is due comes back with n of them, "FORMAT" of a number each; what
 * that took. */
static uint64_t list(uint32_t n, const char *id, const char *request)
{
    struct call *c;
    uint64_t before;

    rig_pass(700000);
    providers_poll(&rig.providers);
    c = (struct call *)rig_job();
    for (uint32_t i = 0; i < n; i++)
        VEC_PUSH(&c->arena, &c->machines,
                 ((struct call_machine){
                     .id = arena_printf(&c->arena, "%s%08u", id, i),
                     .request_id = request,
                     .type = "t",
                     .zone = "",
                     .address = "",
                     .detail = "",
                     .unit = "",
                     .held = "",
                     .phase = DAVIT_STARTING}));
    c->status = ST_OK;
    before = looks;
    providers_fold(&rig.providers, &c->job.mail);
    return looks - before;
}

#define LONG_NAME "a-name-of-which-the-ledger-has-no-more-room-than-this-"

/* What each kind of list took, for so many machines. */
enum { KINDS = 6 };
static const char *const kinds[KINDS] = {
    "machines that nobody knows",  "the same once more",
    "others of the same launch",   "of a provider that was renamed",
    "names that are cut the same", "none of them any more"};

static void measure(uint32_t n, uint64_t ret[KINDS])
{
    start(NULL);
    ret[0] = list(n, "i-", "r-1");
    assert_int_equal(rig.ledger.fleet.n, n);
    ret[1] = list(n, "i-", "r-1");
    ret[2] = list(n, "j-", "r-1");
    assert_int_equal(rig.ledger.fleet.n, n); /* in the place of those before */
    for (uint32_t i = 0; i < n; i++)
        MACHINE_SET(rig.ledger.fleet.v[i], provider, "earlier");
    ret[3] = list(n, "j-", "r-1");
    assert_int_equal(rig.ledger.fleet.n, n);
    assert_string_equal(rig.ledger.fleet.v[n - 1]->provider, "rig");
    ret[4] = list(n, LONG_NAME, "");
    assert_int_equal(rig.ledger.fleet.n, 2 * n);
    ret[5] = list(0, "", "");
    stop(NULL);
}

static void test_lists_cost_what_they_are_long(void **state)
{
    uint64_t few[KINDS], many[KINDS];

    (void)state;
    measure(2000, few);
    measure(8000, many);
    for (int i = 0; i < KINDS; i++)
        if (many[i] > 4 * few[i] + few[i] / 2)
            fail_msg("%s: %llu looks for 2,000, %llu for 8,000", kinds[i],
                     (unsigned long long)few[i], (unsigned long long)many[i]);
}

/* As many as a plug-in may list (cloud/sink.c). */
static void test_the_longest_list(void **state)
{
    const uint32_t n = 200000;
    uint64_t few, all;

    (void)state;
    start(NULL);
    few = list(2000, "i-", "");
    stop(NULL);
    start(NULL);
    all = list(n, "i-", "");
    assert_int_equal(rig.ledger.fleet.n, n);
    stop(NULL);
    if (all > few * 100 + few * 50)
        fail_msg("%llu looks for 2,000, %llu for 200,000",
                 (unsigned long long)few, (unsigned long long)all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists_cost_what_they_are_long),
        cmocka_unit_test(test_the_longest_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
