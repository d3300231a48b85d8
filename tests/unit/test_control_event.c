/*
 * test_control_event.c - the ring of events under wrap-around and threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/event.h"
#include "seed.h"

/* One that nobody's command caused. */
static int64_t event_add(struct event_ring *r, int64_t at_ms, const char *kind,
                         const char *subject, const char *reason,
                         const char *text)
{
    return event_add_of(r, 0,
                        &(struct event){.at_ms = at_ms,
                                        .kind = kind,
                                        .subject = subject,
                                        .reason = reason,
                                        .text = text});
}

static struct event_ring ring;

static void starts_empty(void **state)
{
    struct arena a = {0};
    struct event *v;

    (void)state;
    event_ring_init(&ring, 5000);
    assert_int_equal(event_read(&ring, 0, 10, &a, &v), 0);
    assert_int_equal(event_add(&ring, 7, "node.ready", "n1", NULL, "up"), 5000);
    assert_int_equal(event_read(&ring, 0, 10, &a, &v), 1);
    assert_int_equal(v[0].id, 5000);
    assert_int_equal(v[0].at_ms, 7);
    assert_string_equal(v[0].kind, "node.ready");
    assert_string_equal(v[0].subject, "n1");
    assert_string_equal(v[0].reason, "");
    assert_string_equal(v[0].text, "up");
    assert_int_equal(event_read(&ring, 4999, 10, &a, &v), 1);
    assert_int_equal(event_read(&ring, 5000, 10, &a, &v), 0);
    assert_int_equal(event_read(&ring, INT64_MAX, 10, &a, &v), 0);
    assert_int_equal(event_read(&ring, INT64_MIN, 10, &a, &v), 1);
    assert_int_equal(event_read(&ring, 0, 0, &a, &v), 0);
    arena_done(&a);
    event_ring_done(&ring);
}

static void keeps_the_newest(void **state)
{
    struct arena a = {0};
    struct event *v;
    char text[32];
    uint32_t n;

    (void)state;
    event_ring_init(&ring, 0); /* 0 means before the first: begins at 1 */
    for (int i = 1; i <= 3 * EVENT_RING + 17; i++) {
        snprintf(text, sizeof text, "%d", i);
        assert_int_equal(event_add(&ring, i, "k", "s", "r", text), i);
    }
    n = event_read(&ring, 0, UINT32_MAX, &a, &v);
    assert_int_equal(n, EVENT_RING);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(v[i].id, 2 * EVENT_RING + 18 + i);
        assert_int_equal(atoi(v[i].text), v[i].id);
    }
    assert_int_equal(event_read(&ring, v[n - 1].id - 3, 2, &a, &v), 2);
    assert_int_equal(v[1].id, 3 * EVENT_RING + 16);
    arena_done(&a);
    event_ring_done(&ring);
}

/* Callers of chance add events, one of them most: nobody loses one before who has more
 * than he does. */
static void nobody_pushes_out_others(void **state)
{
    enum { NOBODY, GOOD, BETTER, MAL, ALL };
    const struct event what = {.kind = "request.set", .text = "x"};
    uint32_t added[ALL] = {0};
    uint64_t seed = seed_of(0);
    struct arena a = {0};
    struct event *v;

    (void)state;
    event_ring_init(&ring, 1);
    for (int i = 0; i < 20 * EVENT_RING; i++) {
        uint32_t dice = (uint32_t)((seed = seed * 6364136223846793005u + 1) >>
                                   40);
        uint8_t cause = (uint8_t)(dice % 100 < 97 ? MAL : dice % MAL);

        if (cause != MAL && added[cause] >= EVENT_RING / ALL)
            continue;
        added[cause]++;
        event_add_of(&ring, cause, &what);
    }
    for (int i = NOBODY; i < MAL; i++)
        assert_int_equal(ring.of[i], added[i]);
    assert_int_equal(event_cause(NULL), NOBODY);
    assert_int_equal(event_cause(""), NOBODY);
    assert_in_range(event_cause("mal"), 1, EVENT_CAUSES - 1);
    assert_int_equal(event_read(&ring, 0, UINT32_MAX, &a, &v), EVENT_RING);
    for (uint32_t i = 1; i < EVENT_RING; i++)
        assert_true(v[i].id > v[i - 1].id);
    assert_true(event_missed(&ring, 0));
    assert_false(event_missed(&ring, v[EVENT_RING - 1].id));
    arena_done(&a);
    event_ring_done(&ring);
}

static atomic_int told;
static void count(void *arg)
{
    struct arena a = {0};
    struct event *v;

    /* A listener may read from inside the call: the lock is not held. */
    event_read(arg, 0, 1, &a, &v);
    arena_done(&a);
    atomic_fetch_add(&told, 1);
}

enum { ADDERS = 3, EACH = 4000 };

static void *adder(void *arg)
{
    for (int i = 0; i < EACH; i++)
        event_add(arg, i, "kind", "subject", "reason", "some text");
    return NULL;
}

static void many_threads(void **state)
{
    pthread_t t[ADDERS];
    struct arena a = {0};
    int64_t after = 0;
    struct event *v;

    (void)state;
    event_ring_init(&ring, 1);
    ring.on_add = count;
    ring.arg = &ring;
    for (int i = 0; i < ADDERS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, adder, &ring), 0);
    while (after < ADDERS * EACH) {
        uint32_t n = event_read(&ring, after, 100, &a, &v);

        for (uint32_t i = 0; i < n; i++) {
            assert_true(v[i].id > after);
            assert_string_equal(v[i].text, "some text");
            after = v[i].id;
        }
        arena_reset(&a);
    }
    for (int i = 0; i < ADDERS; i++)
        pthread_join(t[i], NULL);
    assert_int_equal(atomic_load(&told), ADDERS * EACH);
    arena_done(&a);
    event_ring_done(&ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_empty),
        cmocka_unit_test(keeps_the_newest),
        cmocka_unit_test(nobody_pushes_out_others),
        cmocka_unit_test(many_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
