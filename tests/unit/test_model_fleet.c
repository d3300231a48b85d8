/*
 * test_model_fleet.c - the ledger: lookups stay right while machines come, get
 * cloud ids, move and go.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../autoscaler/model/fleet.h"
#include "seed.h"

struct seen {
    int n;
    enum machine_state from, to;
    char id[48], cloud[128];
};

static void note(void *arg, const struct machine *m, enum machine_state from)
{
    struct seen *s = arg;

    s->n++;
    s->from = from;
    s->to = m->state;
    strcpy(s->id, m->id);
    strcpy(s->cloud, m->cloud_id);
}

static void a_life(void **state)
{
    struct fleet f;
    struct seen s = {0};
    struct machine *m;
    uint64_t v;

    (void)state;
    fleet_init(&f);
    assert_null(fleet_by_id(&f, "t4-1"));
    assert_null(fleet_by_launch(&f, "gke", "i-1", ""));
    f.on_change = note;
    f.arg = &s;
    m = fleet_add(&f, "t4-1", STATE_INTENDED, 100);
    assert_int_equal(s.n, 0); /* not filled yet: the caller touches it */
    assert_int_equal(m->created_ms, 100);
    assert_int_equal(m->since_ms, 100);
    assert_ptr_equal(fleet_by_id(&f, "t4-1"), m);
    v = f.version;
    fleet_touch(&f, m);
    assert_int_equal(s.n, 1);
    assert_true(f.version > v);
    assert_int_equal(s.from, STATE_INTENDED);
    assert_int_equal(s.to, STATE_INTENDED);
    fleet_move(&f, m, STATE_REQUESTED, 200);
    assert_int_equal(s.from, STATE_INTENDED);
    assert_int_equal(s.to, STATE_REQUESTED);
    MACHINE_SET(m, provider, "gke");
    fleet_bind(&f, m, "i-1");
    assert_string_equal(s.cloud, "i-1");
    assert_ptr_equal(fleet_by_launch(&f, "gke", "i-1", ""), m);
    assert_null(fleet_by_launch(&f, "eks", "i-1", ""));
    assert_null(fleet_by_launch(&f, "gke", "", ""));
    fleet_move(&f, m, STATE_READY, 300);
    assert_int_equal(m->ready_ms, 300);
    assert_int_equal(m->drain_since_ms, 0);
    fleet_move(&f, m, STATE_DRAINING, 400);
    assert_int_equal(m->drain_since_ms, 400);
    fleet_move(&f, m, STATE_READY, 500);
    assert_int_equal(m->drain_since_ms, 0);
    assert_int_equal(m->ready_ms, 300);
    assert_int_equal(m->since_ms, 500);
    fleet_move(&f, m, STATE_GONE, 600);
    assert_int_equal(s.n, 7);
    assert_ptr_equal(fleet_by_id(&f, "t4-1"), m); /* until the sweep */
    assert_int_equal(fleet_sweep(&f), 1);
    assert_int_equal(f.n, 0);
    assert_null(fleet_by_id(&f, "t4-1"));
    assert_null(fleet_by_launch(&f, "gke", "i-1", ""));
    assert_int_equal(fleet_sweep(&f), 0);
    fleet_done(&f);
}

/* The journal fills whole records in without binding. */
static void records_that_were_not_bound_are_found(void **state)
{
    struct fleet f;
    struct machine *m;
    char id[16];

    (void)state;
    fleet_init(&f);
    for (int i = 0; i < 200; i++) {
        snprintf(id, sizeof id, "m%d", i);
        m = fleet_add(&f, id, STATE_READY, 1);
        snprintf(id, sizeof id, "c%d", i);
        MACHINE_SET(m, provider, "sim");
        MACHINE_SET(m, cloud_id, id);
    }
    fleet_index(&f);
    for (int i = 0; i < 200; i++) {
        snprintf(id, sizeof id, "c%d", i);
        m = fleet_by_launch(&f, "sim", id, "");
        assert_non_null(m);
        assert_string_equal(m->cloud_id, id);
    }
    assert_null(fleet_by_launch(&f, "sim", "c200", ""));
    fleet_done(&f);
}

static void a_cloud_id_given_again_means_the_living(void **state)
{
    struct fleet f;
    struct machine *a, *b;

    (void)state;
    fleet_init(&f);
    a = fleet_add(&f, "a", STATE_READY, 1);
    MACHINE_SET(a, provider, "p");
    fleet_bind(&f, a, "x");
    fleet_move(&f, a, STATE_GONE, 2);
    assert_ptr_equal(fleet_by_launch(&f, "p", "x", ""), a);
    b = fleet_add(&f, "b", STATE_READY, 3);
    MACHINE_SET(b, provider, "p");
    fleet_bind(&f, b, "x");
    assert_ptr_equal(fleet_by_launch(&f, "p", "x", ""), b);
    /* A changed cloud id leaves nothing behind under the old one. */
    fleet_bind(&f, b, "y");
    assert_ptr_equal(fleet_by_launch(&f, "p", "x", ""), a);
    assert_ptr_equal(fleet_by_launch(&f, "p", "y", ""), b);
    fleet_sweep(&f);
    assert_null(fleet_by_launch(&f, "p", "x", ""));
    assert_ptr_equal(fleet_by_launch(&f, "p", "y", ""), b);
    fleet_done(&f);
}

/* A machine is its id and its launch: an id may be given again. */
static void an_id_given_again_is_another_machine(void **state)
{
    struct fleet f;
    struct machine *a, *b;

    (void)state;
    fleet_init(&f);
    a = fleet_add(&f, "a", STATE_STOPPING, 1);
    MACHINE_SET(a, provider, "p");
    MACHINE_SET(a, request_id, "first");
    fleet_bind(&f, a, "host");
    assert_ptr_equal(fleet_by_launch(&f, "p", "host", "first"), a);
    assert_ptr_equal(fleet_by_launch(&f, "p", "host", ""), a);
    assert_null(fleet_by_launch(&f, "p", "host", "second"));
    b = fleet_add(&f, "b", STATE_STARTING, 2);
    MACHINE_SET(b, provider, "p");
    MACHINE_SET(b, request_id, "second");
    fleet_bind(&f, b, "host");
    assert_ptr_equal(fleet_by_launch(&f, "p", "host", "first"), a);
    assert_ptr_equal(fleet_by_launch(&f, "p", "host", "second"), b);
    assert_ptr_equal(fleet_by_launch(&f, "p", "host", ""), b); /* the newest */
    fleet_done(&f);
}

static uint64_t rnd(uint64_t *x)
{
    *x = *x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *x >> 33;
}

/* Against the plain reading of what a lookup means. */
static void lookups_are_those_of_a_search(void **state)
{
    uint64_t x = seed_of(0);
    struct fleet f;
    uint32_t next = 0;

    (void)state;
    fleet_init(&f);
    for (int step = 0; step < 20000; step++) {
        struct machine *m = f.n ? f.v[rnd(&x) % f.n] : NULL, *want = NULL;
        char id[48], cloud[128];

        switch (rnd(&x) % 8) {
        case 0:
        case 1:
            snprintf(id, sizeof id, "m%u", next++);
            m = fleet_add(&f, id, STATE_STARTING, step);
            MACHINE_SET(m, provider, rnd(&x) % 2 ? "p" : "q");
            break;
        case 2:
        case 3:
            snprintf(cloud, sizeof cloud, "c%u", (unsigned)(rnd(&x) % 4000));
            if (m && !fleet_by_launch(&f, m->provider, cloud, ""))
                fleet_bind(&f, m, cloud);
            break;
        case 4:
            if (m && m->state != STATE_GONE && rnd(&x) % 3 == 0)
                fleet_move(&f, m, STATE_GONE, step);
            break;
        case 5:
            if (rnd(&x) % 50 == 0)
                fleet_sweep(&f);
            break;
        default: break;
        }
        snprintf(id, sizeof id, "m%u", (unsigned)(rnd(&x) % (next + 1)));
        for (uint32_t i = 0; i < f.n; i++)
            if (strcmp(f.v[i]->id, id) == 0)
                want = f.v[i];
        assert_ptr_equal(fleet_by_id(&f, id), want);
        snprintf(cloud, sizeof cloud, "c%u", (unsigned)(rnd(&x) % 4000));
        want = NULL;
        for (uint32_t i = 0; i < f.n; i++)
            if (strcmp(f.v[i]->cloud_id, cloud) == 0 &&
                strcmp(f.v[i]->provider, "p") == 0 &&
                (!want || f.v[i]->state != STATE_GONE))
                want = f.v[i];
        m = fleet_by_launch(&f, "p", cloud, "");
        if (want && want->state == STATE_GONE)
            assert_true(m && m->state == STATE_GONE);
        else
            assert_ptr_equal(m, want);
    }
    print_message("%u machines at the end of %u\n", f.n, next);
    fleet_done(&f);
}

static void illegal_moves_assert(void **state)
{
    pid_t child = fork();
    int status;

    (void)state;
    if (child == 0) {
        struct fleet f;

        if (!freopen("/dev/null", "w", stderr))
            _exit(1);
        signal(SIGABRT, SIG_DFL);
        fleet_init(&f);
        fleet_move(&f, fleet_add(&f, "a", STATE_STOPPING, 1), STATE_STARTING,
                   2);
        _exit(0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

/* A list of 2,000 machines is folded by one lookup and touch each. */
static void folding_a_large_list_is_quick(void **state)
{
    enum { N = 2000 };
    struct fleet f;
    struct timespec t0, t1;
    double ms;

    (void)state;
    fleet_init(&f);
    for (int i = 0; i < N; i++) {
        char id[32];
        struct machine *m;

        snprintf(id, sizeof id, "t4-0a1b2c3d-%d", i);
        m = fleet_add(&f, id, STATE_READY, 1);
        MACHINE_SET(m, provider, "gke");
        fleet_bind(&f, m, id);
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
    for (int i = 0; i < N; i++) {
        char id[32];
        struct machine *m;

        snprintf(id, sizeof id, "t4-0a1b2c3d-%d", i);
        m = fleet_by_launch(&f, "gke", id, "");
        assert_non_null(m);
        fleet_touch(&f, m);
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t1);
    ms = (double)(t1.tv_sec - t0.tv_sec) * 1e3 +
         (double)(t1.tv_nsec - t0.tv_nsec) / 1e6;
    print_message("%d machines folded in %.2f ms\n", N, ms);
    assert_true(ms < 100);
    fleet_done(&f);
}

static void a_detail_is_cut_between_letters(void **state)
{
    struct machine *m;
    struct fleet f;
    char text[400];
    size_t n;

    (void)state;
    fleet_init(&f);
    m = fleet_add(&f, "t4-1", STATE_READY, 1);
    assert_true(MACHINE_SET(m, detail, "short"));
    assert_false(MACHINE_SET(m, detail, "short"));
    assert_true(MACHINE_SET(m, detail, "shorter"));
    assert_true(MACHINE_SET(m, detail, "short"));
    for (size_t i = 0; i < 3; i++) { /* at each byte of a letter of three */
        memset(text, 'x', sizeof text);
        for (n = i; n + 3 < sizeof text; n += 3)
            memcpy(text + n, "\xe2\x82\xac", 3);
        text[n] = '\0';
        assert_true(MACHINE_SET(m, detail, text));
        assert_false(MACHINE_SET(m, detail, text));
        n = strlen(m->detail);
        assert_true(n >= MACHINE_ROOM(detail) - 3);
        assert_int_equal((n - i) % 3, 0);
    }
    fleet_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_life),
        cmocka_unit_test(records_that_were_not_bound_are_found),
        cmocka_unit_test(a_cloud_id_given_again_means_the_living),
        cmocka_unit_test(an_id_given_again_is_another_machine),
        cmocka_unit_test(lookups_are_those_of_a_search),
        cmocka_unit_test(illegal_moves_assert),
        cmocka_unit_test(folding_a_large_list_is_quick),
        cmocka_unit_test(a_detail_is_cut_between_letters),
    };

    return cmocka_run_group_tests_name("model_fleet", tests, NULL, NULL);
}
