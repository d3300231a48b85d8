/*
 * test_control_status.c - pages are whole while somebody reads them, and freed
 * when nobody does (ASan and TSan tell when not).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "control/status.h"

static struct status_page *page_new(uint64_t tick)
{
    struct status_page *s = calloc(1, sizeof *s);

    assert_non_null(s);
    atomic_init(&s->refs, 1);
    s->tick = tick;
    s->config_path = arena_printf(&s->arena, "%llu", (unsigned long long)tick);
    return s;
}

static void a_reader_keeps_its_page(void **state)
{
    struct status_board b;
    struct status_page *one, *two;

    (void)state;
    status_board_init(&b);
    assert_null(status_get(&b));
    status_publish(&b, page_new(1));
    one = status_get(&b);
    assert_int_equal(atomic_load(&one->refs), 2);
    status_publish(&b, page_new(2));
    assert_int_equal(atomic_load(&one->refs), 1);
    two = status_get(&b);
    assert_int_equal(two->tick, 2);
    assert_string_equal(one->config_path, "1");
    status_unref(one);
    status_board_done(&b);
    assert_string_equal(two->config_path, "2"); /* outlives the board */
    status_unref(two);
    status_unref(NULL);
}

enum { PAGES = 20000 };
static struct status_board board;

static void *reader(void *arg)
{
    uint64_t seen = 0;

    (void)arg;
    while (seen < PAGES) {
        struct status_page *s = status_get(&board);

        if (!s)
            continue;
        if (s->tick < seen || strtoull(s->config_path, NULL, 10) != s->tick)
            return (void *)1;
        seen = s->tick;
        status_unref(s);
    }
    return NULL;
}

static void many_readers(void **state)
{
    pthread_t t[3];

    (void)state;
    status_board_init(&board);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&t[i], NULL, reader, NULL), 0);
    for (uint64_t i = 1; i <= PAGES; i++)
        status_publish(&board, page_new(i));
    for (int i = 0; i < 3; i++) {
        void *bad;

        pthread_join(t[i], &bad);
        assert_null(bad);
    }
    status_board_done(&board);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reader_keeps_its_page),
        cmocka_unit_test(many_readers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
