/*
 * test_model_mark.c - marks: what is written is read again, names that are made of
 * their first digits differ, and of two incarnations one is the younger.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../autoscaler/base/hash.h"
#include "../../autoscaler/model/mark.h"
#include "seed.h"

enum { MARKS = 5000, NAME = 8 };
#define NOW_S INT64_C(1790000000)

static uint64_t seed, drawn;

static uint32_t below(uint32_t n)
{
    return (uint32_t)((hash_number(seed, drawn++) >> 11) % n);
}

static struct request_mark mark_draw(void)
{
    return (struct request_mark){
        .owner = "0a1b2c",
        .by = {below(INCARNATION_STARTS), below(INCARNATION_CHANCE)},
        .at_s = NOW_S - 30000000 + below(700000000),
        .nth = below(MARK_NTH)};
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    for (int i = 0; i < MARKS; i++) {
        struct request_mark m = mark_draw(), back;
        char id[MARK_MAX];

        mark_write(&m, id);
        assert_int_equal(strlen(id), MARK_MAX - 1);
        assert_memory_equal(id, "davit-0a1b2c", 12);
        assert_true(mark_read(id, &back));
        assert_string_equal(back.owner, m.owner);
        assert_int_equal(back.by.starts, m.by.starts);
        assert_int_equal(back.by.chance, m.by.chance);
        assert_int_equal(back.at_s, m.at_s);
        assert_int_equal(back.nth, m.nth);
    }
}

/* Launches of one second, and of a second later. */
static void names_differ(void **state)
{
    struct request_mark m = {.owner = "0a1b2c", .by = {7, 8}, .at_s = NOW_S};
    char was[MARK_MAX] = "", id[MARK_MAX];

    (void)state;
    for (uint32_t i = 0; i < MARKS; i++) {
        m.at_s = NOW_S + i / MARK_NTH;
        m.nth = i % MARK_NTH;
        mark_write(&m, id);
        assert_memory_not_equal(was + 12, id + 12, NAME);
        memcpy(was, id, sizeof was);
    }
}

static void others_are_no_marks(void **state)
{
    static const char *const ids[] = {"",
                                      "davit-",
                                      "davit-0a1b2c",
                                      "davit-0a1b2c0000000000000g",
                                      "davit-0a1b2c000000000000000",
                                      "other-0a1b2c00000000000000"};
    struct request_mark m;

    (void)state;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        assert_false(mark_read(ids[i], &m));
}

static void one_of_two_is_younger(void **state)
{
    (void)state;
    for (int i = 0; i < MARKS; i++) {
        struct incarnation a = mark_draw().by, b = mark_draw().by;
        struct incarnation later = {(a.starts + 1) % INCARNATION_STARTS,
                                    b.chance};

        bool same = a.starts == b.starts && a.chance == b.chance;

        assert_true(same || incarnation_younger(a, b) ||
                    incarnation_younger(b, a));
        assert_false(incarnation_younger(a, a));
        assert_true(incarnation_younger(later, a));
        assert_false(incarnation_younger(a, later));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(names_differ),
        cmocka_unit_test(others_are_no_marks),
        cmocka_unit_test(one_of_two_is_younger),
    };

    seed = seed_of(49);
    return cmocka_run_group_tests_name("model_mark", tests, NULL, NULL);
}
