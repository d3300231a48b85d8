/*
 * texts.c - see texts.h.
 *
 * Time is cut into ages: with each reader a new one begins.  What is dropped
 * belongs to the age in which that happens, and goes with it.  A reader holds
 * the age that began with it, and each age holds the next one: so all goes that
 * was dropped before the oldest reader began, and nothing else.
 */
#include "texts.h"

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "hash.h"

struct text {
    uint32_t users; /* 0: it is of one record alone */
    char s[];
};

struct texts {
    struct hash shared;
    struct texts_age *now; /* never NULL */
};

struct texts_age {
    atomic_uint refs; /* readers, the age before it, and texts.now */
    struct texts_age *next;
    VEC(void *) gone;
};

static const char nothing[] = "";

static struct text *text_of(const char *s)
{
    return (struct text *)(void *)(s - offsetof(struct text, s));
}

static struct texts_age *age_new(void)
{
    struct texts_age *a = MEM_NEW(struct texts_age);

    atomic_store(&a->refs, 1);
    return a;
}

void texts_read_end(struct texts_age *a)
{
    while (a && atomic_fetch_sub(&a->refs, 1) == 1) {
        struct texts_age *next = a->next;

        for (uint32_t i = 0; i < a->gone.n; i++)
            free(a->gone.v[i]);
        free(a->gone.v);
        free(a);
        a = next;
    }
}

struct texts_age *texts_read(struct texts *t)
{
    struct texts_age *was = t->now;

    t->now = age_new();
    atomic_fetch_add(&t->now->refs,
                     2); /* the reader's, and of the one before */
    was->next = t->now;
    texts_read_end(was);
    return t->now;
}

struct texts *texts_new(void)
{
    struct texts *t = MEM_NEW(struct texts);

    t->now = age_new();
    return t;
}

void texts_free(struct texts *t)
{
    if (!t)
        return;
    assert(t->shared.n == 0);
    hash_done(&t->shared);
    texts_read_end(t->now);
    free(t);
}

static struct text *text_new(const char *s, size_t n, uint32_t users)
{
    struct text *x = mem_alloc(sizeof *x + n + 1);

    x->users = users;
    memcpy(x->s, s, n);
    x->s[n] = '\0';
    return x;
}

const char *texts_own(struct texts *t, const char *s, size_t n)
{
    (void)t;
    return n ? text_new(s, n, 0)->s : nothing;
}

const char *texts_share(struct texts *t, const char *s, size_t n)
{
    uint64_t h = hash_bytes(HASH_SEED, s, n);
    struct text *x;

    if (n == 0)
        return nothing;
    for (uint32_t at = 0; (x = hash_next(&t->shared, h, &at));)
        if (strncmp(x->s, s, n) == 0 && x->s[n] == '\0') {
            assert(x->users > 0 && x->users < UINT32_MAX);
            x->users++;
            return x->s;
        }
    x = text_new(s, n, 1);
    hash_add(&t->shared, h, x);
    return x->s;
}

void texts_retire(struct texts *t, void *heap)
{
    VEC_PUSH(NULL, &t->now->gone, heap);
}

void texts_drop(struct texts *t, const char *text)
{
    struct text *x;

    if (!*text)
        return; /* the one that there is */
    x = text_of(text);
    if (x->users > 1) {
        x->users--;
        return;
    }
    if (x->users == 1 &&
        !hash_remove(&t->shared, hash_bytes(HASH_SEED, x->s, strlen(x->s)), x))
        assert(!"a shared text is in the table");
    texts_retire(t, x);
}
