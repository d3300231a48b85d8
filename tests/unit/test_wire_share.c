/*
 * test_wire_share.c - pods of many namespaces: what one asks for takes no room that
 * another one needs, and what is left out is counted and told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/clock.h"
#include "seed.h"
#include "wire/pods/inside.h"

static const struct pods_rules rules = {
    .schedulers = {(const char *const[]){"default-scheduler"}, 1},
    .label = "davit.io/machine",
};

static struct pods_store store;
static struct source_view *view;

static int start(void **state)
{
    (void)state;
    pods_store_init(&store, &rules);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    source_view_unref(view);
    view = NULL;
    pods_store_done(&store);
    return 0;
}

/* more: of spec, ", ..." */
static void pending(const char *space, const char *name, const char *cpu,
                    const char *more)
{
    struct buf b;
    json_t *o;

    buf_init(&b, 4 << 20);
    buf_printf(&b,
               "{'metadata': {'name': '%s', 'uid': 'u-%s-%s', 'namespace': "
               "'%s', 'labels': {'app': 'a'}, 'creationTimestamp': "
               "'2026-01-01T00:00:00Z'}, 'spec': {'containers': "
               "[{'resources': {'requests': {'cpu': '%s'}}}]",
               name, space, name, space, cpu);
    buf_str(&b, more);
    buf_str(&b, "}, 'status': {'phase': 'Pending', 'conditions': [{'type': "
                "'PodScheduled', 'status': 'False', 'reason': "
                "'Unschedulable', 'message': 'no room'}]}}");
    for (char *c = (char *)(uintptr_t)b.s; *c; c++)
        if (*c == '\'')
            *c = '"';
    o = json_loads(b.s, 0, NULL);
    assert_non_null(o);
    pods_put(&store.pods, o, false);
    json_decref(o);
    buf_done(&b);
}

static void look(void)
{
    static const struct qty most[] = {{"CPU", 64 * 10000}};
    int64_t due;
    struct pods_view_in in = {
        .store = &store,
        .most = {most, 1},
        .now_mono_ms = 1000000,
        .now_wall_ms = clock_wall_ms(),
    };

    source_view_unref(view);
    pthread_mutex_lock(&store.lock);
    view = pods_view_make(&in, &due);
    pthread_mutex_unlock(&store.lock);
}

/* Pods of this namespace that are demand. */
static uint32_t asked(const char *space)
{
    uint32_t found = 0;

    for (uint32_t d = 0; d < view->n_demands; d++) {
        uint32_t n;
        const struct pods_ref *r = pods_of(view, d, &n);

        for (uint32_t i = 0; i < n; i++)
            found += strcmp(r[i].space, space) == 0;
    }
    return found;
}

static const char *told(const char *name)
{
    for (uint32_t i = 0; i < view->n_notes; i++)
        if (strcmp(view->notes[i].name, name) == 0)
            return view->notes[i].code;
    return "";
}

/* n conditions between pods, each another one. */
static const char *apart(struct buf *b, uint32_t first, uint32_t n)
{
    buf_clear(b);
    buf_str(b, ", 'affinity': {'podAntiAffinity': "
               "{'requiredDuringSchedulingIgnoredDuringExecution': [");
    for (uint32_t i = 0; i < n; i++)
        buf_printf(b,
                   "%s{'topologyKey': 'kubernetes.io/hostname', "
                   "'labelSelector': {'matchLabels': {'k-%u': 'v'}}}",
                   i ? ", " : "", first + i);
    buf_str(b, "]}}");
    return b->s;
}

/* n conditions on nodes that no term expresses. */
static const char *exists(struct buf *b, uint32_t first, uint32_t n)
{
    buf_clear(b);
    buf_str(b, ", 'affinity': {'nodeAffinity': "
               "{'requiredDuringSchedulingIgnoredDuringExecution': "
               "{'nodeSelectorTerms': [{'matchExpressions': [");
    for (uint32_t i = 0; i < n; i++)
        buf_printf(b, "%s{'key': 'e-%u', 'operator': 'Exists'}", i ? ", " : "",
                   first + i);
    buf_str(b, "]}]}}}");
    return b->s;
}

/* Eight pods that no node could hold have all conditions between pods that there
 * may be: another namespace's pods apart are planned for all the same. */
static void columns_are_shared(void **state)
{
    struct buf b;
    char name[16];

    (void)state;
    buf_init(&b, 1 << 20);
    for (uint32_t i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "evil-%u", i);
        pending("a-evil", name, "1000", apart(&b, 8 * i, 8));
    }
    for (uint32_t i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "good-%u", i);
        pending("team-a", name, "1", apart(&b, 1000, 1));
    }
    look();
    assert_int_equal(asked("team-a"), 3);
    assert_true(view->n_crowded > 0);
    /* also when they could be served */
    for (uint32_t i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "evil-%u", i);
        pending("a-evil", name, "2", apart(&b, 8 * i, 8));
    }
    look();
    assert_int_equal(asked("team-a"), 3);
    buf_done(&b);
}

static void probes_are_shared(void **state)
{
    uint32_t n_told = 0;
    struct buf b;
    char name[16];

    (void)state;
    buf_init(&b, 1 << 20);
    for (uint32_t i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "evil-%u", i);
        pending("a-evil", name, "1", exists(&b, 128 * i, 128));
    }
    pending("team-a", "good", "1", exists(&b, 1000, 1));
    look();
    assert_int_equal(asked("team-a"), 1);
    assert_int_equal(asked("a-evil"), 1); /* the next one is one too many */
    assert_int_equal(view->n_crowded, 2);
    for (uint32_t i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "evil-%u", i);
        n_told += strcmp(told(name), "TooManyConditions") == 0;
    }
    assert_int_equal(n_told, 2);
    assert_string_equal(told("good"), "");
    buf_done(&b);
}

/* More different pods than are planned for: each namespace has its turn, and those
 * who are left out are told. */
static void kinds_are_shared(void **state)
{
    char name[16], cpu[16];

    (void)state;
    for (uint32_t i = 0; i < 6000; i++) {
        snprintf(name, sizeof name, "evil-%u", i);
        snprintf(cpu, sizeof cpu, "%um", 1000 + i);
        pending("a-evil", name, cpu, "");
    }
    for (uint32_t i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "good-%u", i);
        snprintf(cpu, sizeof cpu, "%um", 20000 + i);
        pending("z-team", name, cpu, "");
    }
    look();
    assert_int_equal(asked("z-team"), 40);
    assert_int_equal(asked("a-evil"), 5000 - 40);
    assert_int_equal(view->n_crowded, 6000 - 4960);
    assert_int_equal(view->n_notes, 1000);
    assert_string_equal(view->notes[0].code, "TooManyPods");
}

/* There is room for a thousand notes: each namespace has some of it. */
static void notes_are_shared(void **state)
{
    char name[16];

    (void)state;
    for (uint32_t i = 0; i < 1500; i++) {
        snprintf(name, sizeof name, "evil-%u", i);
        pending("a-evil", name, "x", "");
    }
    for (uint32_t i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "good-%u", i);
        pending(i % 2 ? "b-team" : "z-team", name, "x", "");
    }
    look();
    assert_int_equal(view->n_notes, 1000);
    for (uint32_t i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "good-%u", i);
        assert_string_not_equal(told(name), "");
    }
}

static uint64_t next_random(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

/* Whatever one namespace asks for, small demand of another one is planned for. */
static void serve_rounds(uint64_t seed)
{
    uint64_t x = seed;
    struct buf b;
    char name[16], cpu[16];

    buf_init(&b, 1 << 20);
    for (uint32_t round = 0; round < 20; round++) {
        uint32_t n = (uint32_t)(next_random(&x) % 40);

        start(NULL);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t first = (uint32_t)(next_random(&x) % 600);
            uint32_t most = 1 + (uint32_t)(next_random(&x) % 60);

            snprintf(name, sizeof name, "evil-%u", i);
            snprintf(cpu, sizeof cpu, "%u",
                     1 + (uint32_t)(next_random(&x) % 100));
            pending(next_random(&x) % 2 ? "a-evil" : "z-evil", name, cpu,
                    next_random(&x) % 2 ? apart(&b, first, most)
                                        : exists(&b, first, 4 * most));
        }
        pending("team", "good-1", "1", apart(&b, 2000, 1));
        pending("team", "good-2", "1", exists(&b, 2000, 1));
        pending("team", "good-3", "1", "");
        look();
        if (asked("team") != 3)
            fail_msg("seed %llu, round %u: %u of 3", (unsigned long long)seed,
                     round, asked("team"));
        stop(NULL);
    }
    start(NULL);
    buf_done(&b);
}

static void the_good_one_is_always_served(void **state)
{
    (void)state;
    serve_rounds(3591963605); /* two others had taken turns with it */
    serve_rounds(seed_of(0) * 2 + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)
        TEST(columns_are_shared),
        TEST(probes_are_shared),
        TEST(kinds_are_shared),
        TEST(notes_are_shared),
        cmocka_unit_test_teardown(the_good_one_is_always_served, stop),
    };

    return cmocka_run_group_tests_name("wire share", tests, NULL, NULL);
}
