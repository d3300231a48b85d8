/*
 * test_base_hash.c - the hash table against a plain array, and the hashes that
 * are stored.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/digest.h"
#include "base/hash.h"
#include "base/siphash/siphash.h"
#include "model/intern.h"
#include "seed.h"

/* Few hashes for many items, so that they share and wrap. */
struct thing {
    uint64_t hash;
    bool in;
};

enum { THINGS = 300, STEPS = 20000 };

static uint64_t next_random(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

static bool holds(const struct hash *t, const struct thing *x)
{
    const struct thing *y;
    int found = 0;

    for (uint32_t at = 0; (y = hash_next(t, x->hash, &at));) {
        assert_true(y->hash == x->hash);
        found += y == x;
    }
    assert_true(found <= 1);
    return found;
}

static void compare(const struct hash *t, const struct thing *v)
{
    uint32_t n = 0, each = 0;

    for (int i = 0; i < THINGS; i++) {
        assert_int_equal(holds(t, &v[i]), v[i].in);
        n += v[i].in;
    }
    for (uint32_t at = 0; hash_each(t, &at);)
        each++;
    assert_int_equal(t->n, n);
    assert_int_equal(each, n);
}

static void run(struct arena *arena, uint64_t seed, uint64_t hashes)
{
    struct thing v[THINGS];
    struct hash t;

    hash_init(&t, arena, 0);
    for (int i = 0; i < THINGS; i++)
        v[i] = (struct thing){.hash = next_random(&seed) % hashes};
    for (int i = 0; i < STEPS; i++) {
        struct thing *x = &v[next_random(&seed) % THINGS];

        if (x->in)
            assert_true(hash_remove(&t, x->hash, x));
        else
            hash_add(&t, x->hash, x);
        x->in = !x->in;
        assert_false(hash_remove(&t, x->hash + 1, x));
        if (i % 500 == 0)
            compare(&t, v);
    }
    compare(&t, v);
    assert_true(t.size <= 4 * THINGS); /* gaps are used again */
    hash_done(&t);
    assert_null(hash_next(&t, 1, &(uint32_t){0}));
}

static void it_is_what_a_plain_array_is(void **state)
{
    uint64_t seed = seed_of(0) * 2 + 1;
    struct arena a = {0};

    (void)state;
    run(NULL, seed, UINT64_MAX);
    run(NULL, seed, 40);
    run(NULL, seed, 1);
    run(&a, seed, 100);
    arena_done(&a);
}

static void all_may_be_removed_on_the_way(void **state)
{
    struct thing v[THINGS], *x;
    struct hash t = {0};

    (void)state;
    for (int i = 0; i < THINGS; i++)
        hash_add(&t, (uint64_t)i % 7, &v[i]);
    for (int i = 0; i < THINGS; i++)
        v[i] = (struct thing){.hash = (uint64_t)i % 7};
    for (uint32_t at = 0; (x = hash_each(&t, &at));)
        if (x->hash % 2)
            assert_true(hash_remove(&t, x->hash, x));
    for (uint32_t at = 0; (x = hash_each(&t, &at));)
        assert_int_equal(x->hash % 2, 0);
    assert_int_equal(t.n, THINGS - 3 * 43);
    hash_clear(&t);
    assert_null(hash_each(&t, &(uint32_t){0}));
    hash_add(&t, 5, v);
    assert_ptr_equal(hash_next(&t, 5, &(uint32_t){0}), v);
    hash_done(&t);
}

static void numbers_are_items_too(void **state)
{
    struct arena a = {0};
    struct hash t;
    uint32_t at = 0, size;

    (void)state;
    hash_init(&t, &a, 1000);
    size = t.size;
    for (uint32_t i = 0; i < 1000; i++)
        hash_add_index(&t, i, i);
    assert_int_equal(t.size, size); /* as many as were announced */
    assert_int_equal(hash_next_index(&t, 0, &at), 0);
    assert_int_equal(hash_next_index(&t, 0, &at), HASH_NONE);
    assert_int_equal(hash_next_index(&t, 999, &(uint32_t){0}), 999);
    assert_int_equal(hash_next_index(&t, 1000, &(uint32_t){0}), HASH_NONE);
    arena_done(&a);
}

/* Journals and names hold these: a change would make every node type new. */
static void stored_digests_stay(void **state)
{
    (void)state;
    assert_true(digest_text(DIGEST_SEED, "") == UINT64_C(0xaf63bd4c8601b7df));
    assert_true(digest_text(DIGEST_SEED, "a") == UINT64_C(0x089be207b544f1e4));
    assert_true(digest_number(0, 1) == UINT64_C(0x9e3779bd8ef1b1de));
    assert_true(digest_text(digest_text(DIGEST_SEED, "ab"), "c") !=
                digest_text(digest_text(DIGEST_SEED, "a"), "bc"));
    assert_true(digest_number(digest_number(0, 1), 2) !=
                digest_number(digest_number(0, 2), 1));
}

/* The paper's key 00 01 .. 0f; of one and three rounds, as CPython has it. */
static void it_is_siphash(void **state)
{
    uint8_t k[16], in[15], out[8];
    const uint8_t zero[16] = {0};
    uint64_t x;

    (void)state;
    for (uint8_t i = 0; i < 16; i++)
        k[i] = i;
    for (uint8_t i = 0; i < 15; i++)
        in[i] = i;
    assert_int_equal(siphash(in, 15, k, out, 8), 0);
    memcpy(&x, out, 8);
    assert_true(x == UINT64_C(0xd320d86d2a519956));
    siphash("davit", 5, zero, out, 8);
    memcpy(&x, out, 8);
    assert_true(x == UINT64_C(0x2b2475daee8e0d42));
}

static void parts_are_kept_apart(void **state)
{
    (void)state;
    assert_true(hash_bytes(1, "abcdefgh", 8) != hash_bytes(1, "abcdefgi", 8));
    assert_true(hash_bytes(1, "abc", 3) != hash_bytes(1, "abc\0", 4));
    assert_true(hash_bytes(1, NULL, 0) != hash_bytes(2, NULL, 0));
    assert_true(hash_name("abc") == hash_name("abc"));
    assert_true(hash_name("abc") != hash_name("abd"));
    assert_true(hash_text(hash_text(HASH_SEED, "ab"), "c") !=
                hash_text(hash_text(HASH_SEED, "a"), "bc"));
    assert_true(hash_number(hash_number(0, 1), 2) !=
                hash_number(hash_number(0, 2), 1));
}

/* ---- who writes the names knows how they were hashed until this version */

enum { MANY = 131072 };

/* 16 bytes of one digest: the second half takes back what the first one did. */
static void colliding(uint64_t i, uint64_t ret[2])
{
    uint64_t h = DIGEST_SEED ^ 16;

    ret[0] = i * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ ret[0]) * UINT64_C(0xff51afd7ed558ccd);
    ret[1] = UINT64_C(0x0123456789abcdef) ^ h ^ h >> 32;
}

static void plain(uint64_t i, uint64_t ret[2])
{
    ret[0] = i * UINT64_C(0x9e3779b97f4a7c15);
    ret[1] = i;
}

static double interned(void (*make)(uint64_t i, uint64_t ret[2]))
{
    struct arena a = {0};
    struct intern t;
    clock_t t0 = clock();
    uint64_t x[2];

    intern_init(&t, &a, 0);
    for (uint64_t i = 0; i < MANY; i++) {
        make(i, x);
        assert_int_equal(intern_add(&t, x, sizeof x, 1), i);
    }
    for (uint64_t i = 0; i < MANY; i += 7) {
        make(i, x);
        assert_int_equal(intern_add(&t, x, sizeof x, 1), i);
    }
    arena_done(&a);
    return (double)(clock() - t0) / CLOCKS_PER_SEC;
}

static void collisions_cost_no_more_than_others(void **state)
{
    uint64_t x[2], first;
    double other, worst;

    (void)state;
    colliding(0, x);
    first = digest_bytes(DIGEST_SEED, x, sizeof x);
    for (uint64_t i = 1; i < 1000; i++) {
        colliding(i, x);
        assert_true(digest_bytes(DIGEST_SEED, x, sizeof x) == first);
    }
    hash_key_random();
    interned(plain);
    other = interned(plain);
    worst = interned(colliding);
    print_message("%d texts: plain %.3f s, of one digest %.3f s\n", MANY, other,
                  worst);
    assert_true(worst < 2 * other + 0.05);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_what_a_plain_array_is),
        cmocka_unit_test(all_may_be_removed_on_the_way),
        cmocka_unit_test(numbers_are_items_too),
        cmocka_unit_test(stored_digests_stay),
        cmocka_unit_test(it_is_siphash),
        cmocka_unit_test(parts_are_kept_apart),
        cmocka_unit_test(collisions_cost_no_more_than_others),
    };
    return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
