/*
 * arena.c - see arena.h.
 *
 * Chunks double up to a megabyte, so that a small tick stays small and a large
 * one is a handful of mallocs.
 */
#include "arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"

enum { ALIGN = 16, FIRST = 4096 - 64, LARGEST = 1 << 20 };

struct arena_chunk {
    struct arena_chunk *next;
    size_t size, used;
    _Alignas(ALIGN) unsigned char bytes[];
};

static struct arena_chunk *chunk_new(struct arena *a, size_t need)
{
    size_t size = a->head ? a->head->size * 2 : FIRST;
    struct arena_chunk *c;

    if (size > LARGEST)
        size = LARGEST;
    if (size < need)
        size = need;
    c = mem_alloc(sizeof *c + size);
    c->size = size;
    c->used = 0;
    c->next = a->head;
    a->head = c;
    return c;
}

void *arena_alloc(struct arena *a, size_t n)
{
    struct arena_chunk *c = a->head;
    void *p;

    if (n > SIZE_MAX / 2)
        mem_out();
    n = n ? (n + ALIGN - 1) & ~(size_t)(ALIGN - 1) : ALIGN;
    if (!c || c->size - c->used < n)
        c = chunk_new(a, n);
    p = c->bytes + c->used;
    c->used += n;
    a->used += n;
    return memset(p, 0, n);
}

void *arena_copy(struct arena *a, const void *p, size_t n)
{
    void *q = arena_alloc(a, n);

    if (n)
        memcpy(q, p, n);
    return q;
}

void *arena_join(struct arena *a, const void *x, size_t n_x, const void *y,
                 size_t n_y, size_t size)
{
    char *q = arena_alloc(a, (n_x + n_y) * size);

    if (n_x)
        memcpy(q, x, n_x * size);
    if (n_y)
        memcpy(q + n_x * size, y, n_y * size);
    return q;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    char *q = arena_alloc(a, n + 1);

    memcpy(q, s, n);
    return q;
}

char *arena_strdup(struct arena *a, const char *s)
{
    return arena_strndup(a, s ? s : "", s ? strlen(s) : 0);
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap, again;
    char *s;
    int n;

    va_start(ap, fmt);
    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    s = arena_alloc(a, (n < 0 ? 0 : (size_t)n) + 1);
    vsnprintf(s, (n < 0 ? 0 : (size_t)n) + 1, fmt, again);
    va_end(again);
    return s;
}

struct arena_mark arena_mark(const struct arena *a)
{
    return (struct arena_mark){a->head, a->head ? a->head->used : 0, a->used};
}

void arena_rewind(struct arena *a, struct arena_mark m)
{
    while (a->head != m.head) {
        struct arena_chunk *gone = a->head;

        a->head = gone->next;
        free(gone);
    }
    if (a->head)
        a->head->used = m.at;
    a->used = m.used;
}

void arena_reset(struct arena *a)
{
    struct arena_chunk *c = a->head, *next;

    if (!c)
        return;
    for (next = c->next; next;) {
        struct arena_chunk *gone = next;
        next = next->next;
        free(gone);
    }
    c->next = NULL;
    c->used = 0;
    a->used = 0;
}

void arena_done(struct arena *a)
{
    arena_reset(a);
    free(a->head);
    *a = (struct arena){0};
}

void arena_grow_(struct arena *a, void **v, uint32_t *cap, uint32_t n,
                 size_t item)
{
    uint32_t more = *cap ? *cap * 2 : 8;
    void *p = a ? arena_alloc(a, (size_t)more * item)
                : mem_resize(*v, more, item);

    if (a && n)
        memcpy(p, *v, (size_t)n * item);
    *v = p;
    *cap = more;
}
