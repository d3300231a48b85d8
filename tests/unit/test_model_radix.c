/*
 * test_model_radix.c - texts in the order of strcmp(), whatever they have in common.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/radix.h"
#include "seed.h"

enum { ROUNDS = 60, MOST = 400, LONGEST = 700 };

static uint64_t next_random(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

static const char *text_of(const void *arg, uint32_t at)
{
    return ((const char *const *)arg)[at];
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Few letters, and a beginning that most share: short, or beyond any depth. */
static char *text_new(struct arena *a, size_t common, uint64_t *x)
{
    char text[LONGEST];
    size_t n = next_random(x) % 10 ? common : next_random(x) % (common + 1);

    memset(text, 'x', n);
    for (size_t more = next_random(x) % 24; more > 0; more--)
        text[n++] = "ab\xff"[next_random(x) % 3];
    text[n] = '\0';
    return arena_strdup(a, text);
}

static void round_of(uint64_t *x)
{
    uint32_t n = (uint32_t)(next_random(x) % MOST);
    size_t common = next_random(x) % 2 ? next_random(x) % 40
                                       : next_random(x) % (LONGEST - 40);
    const char *texts[MOST], *sorted[MOST];
    struct radix_entry e[MOST];
    struct arena a = {0};

    for (uint32_t i = 0; i < n; i++) {
        sorted[i] = texts[i] = text_new(&a, common, x);
        e[i] = (struct radix_entry){.at = i};
    }
    radix_sort_texts(&a, e, n, text_of, texts);
    qsort(sorted, n, sizeof *sorted, by_text);
    for (uint32_t i = 0; i < n; i++) {
        assert_string_equal(texts[e[i].at], sorted[i]);
        if (i > 0 && strcmp(sorted[i - 1], sorted[i]) == 0)
            assert_true(e[i - 1].at < e[i].at);
    }
    arena_done(&a);
}

static void texts_are_sorted(void **state)
{
    uint64_t x = seed_of(20261130) | 1;

    (void)state;
    for (int i = 0; i < ROUNDS; i++)
        round_of(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts_are_sorted)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
