/*
 * test_base_texts.c - shared texts: equal ones are one, and what a reader may have
 * seen stays until it ends (the sanitizer tells of what does not).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/texts.h"
#include "seed.h"

enum { RECORDS = 20, READERS = 6, STEPS = 20000, LONGEST = 12 };

static const char *share(struct texts *t, const char *s)
{
    return texts_share(t, s, strlen(s));
}

static void equal_texts_are_one(void **state)
{
    struct texts *t = texts_new();
    const char *a = share(t, "us-east-1a"), *b = share(t, "us-east-1a");
    const char *own = texts_own(t, "us-east-1a", 10);
    const char *part = texts_share(t, "us-east-1abc", 10);

    (void)state;
    assert_ptr_equal(a, b);
    assert_ptr_equal(a, part);
    assert_ptr_not_equal(a, own);
    assert_string_equal(own, a);
    assert_ptr_equal(share(t, ""), texts_own(t, "", 0));
    texts_drop(t, own);
    texts_drop(t, a);
    texts_drop(t, b);
    assert_ptr_equal(share(t, "us-east-1a"), part); /* it has a user still */
    texts_drop(t, part);
    texts_drop(t, part);
    texts_drop(t, share(t, ""));
    texts_free(t);
}

static void a_reader_outlives_the_owner(void **state)
{
    struct texts *t = texts_new();
    const char *s = share(t, "seen"), *own = texts_own(t, "own", 3);
    char *heap = strdup("heap");
    struct texts_age *reader = texts_read(t);

    (void)state;
    texts_drop(t, s);
    texts_drop(t, own);
    texts_retire(t, heap);
    texts_free(t);
    assert_string_equal(s, "seen");
    assert_string_equal(own, "own");
    assert_string_equal(heap, "heap");
    texts_read_end(reader);
}

/* ---- by chance */

static uint64_t next_random(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

struct reader {
    struct texts_age *age; /* NULL: there is none */
    const char *seen[RECORDS];
    char copy[RECORDS][LONGEST];
};

static void reader_end(struct reader *r)
{
    for (int i = 0; i < RECORDS; i++)
        assert_string_equal(r->seen[i], r->copy[i]);
    texts_read_end(r->age);
    r->age = NULL;
}

static void reader_begin(struct reader *r, struct texts *t,
                         const char *const *now)
{
    r->age = texts_read(t);
    for (int i = 0; i < RECORDS; i++) {
        r->seen[i] = now[i];
        snprintf(r->copy[i], LONGEST, "%s", now[i]);
    }
}

static void text_change(struct texts *t, const char **at, uint64_t *x)
{
    const char *was = *at;
    char text[LONGEST];

    snprintf(text, sizeof text, "%.*s%u", (int)(next_random(x) % 3), "ab",
             (unsigned)(next_random(x) % 8));
    if (next_random(x) % 8 == 0)
        text[0] = '\0';
    *at = next_random(x) % 2 ? share(t, text)
                             : texts_own(t, text, strlen(text));
    texts_drop(t, was);
}

static void what_a_reader_saw_stays(void **state)
{
    uint64_t x = seed_of(20261130) | 1;
    struct texts *t = texts_new();
    const char *now[RECORDS];
    struct reader readers[READERS] = {0};

    (void)state;
    for (int i = 0; i < RECORDS; i++)
        now[i] = "";
    for (int i = 0; i < STEPS; i++) {
        struct reader *r = &readers[next_random(&x) % READERS];

        if (next_random(&x) % 4)
            text_change(t, &now[next_random(&x) % RECORDS], &x);
        else if (r->age)
            reader_end(r);
        else
            reader_begin(r, t, now);
    }
    for (int i = 0; i < RECORDS; i++)
        texts_drop(t, now[i]);
    texts_free(t);
    for (int i = 0; i < READERS; i++)
        if (readers[i].age)
            reader_end(&readers[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_texts_are_one),
        cmocka_unit_test(a_reader_outlives_the_owner),
        cmocka_unit_test(what_a_reader_saw_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
