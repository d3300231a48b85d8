/*
 * keep.c - see keep.h.
 */
#include "keep.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kit_kept {
    struct kit_kept *before;
    size_t size;
    max_align_t data[];
};

void *kit_keep(struct kit_keep *k, size_t size)
{
    struct kit_kept *b = calloc(1, sizeof *b + size);
    if (!b)
        abort();
    b->size = size;
    b->before = k->last;
    k->last = b;
    return b->data;
}

void *kit_keep_more(struct kit_keep *k, void *array, size_t n, size_t size)
{
    if (n > 0 && (n < 4 || (n & (n - 1)) != 0))
        return array;
    void *more = kit_keep(k, (n < 4 ? 4 : n * 2) * size);
    if (n > 0)
        memcpy(more, array, n * size);
    return more;
}

char *kit_keep_text(struct kit_keep *k, const char *text)
{
    size_t n = strlen(text) + 1;
    return memcpy(kit_keep(k, n), text, n);
}

char *kit_keep_print(struct kit_keep *k, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0)
        abort();
    char *text = kit_keep(k, (size_t)n + 1);
    va_start(ap, fmt);
    vsnprintf(text, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return text;
}

void kit_list_add(struct kit_keep *k, struct kit_list *l, const char *text)
{
    l->v = kit_keep_more(k, l->v, l->n > 0 ? l->n + 1 : 0, sizeof *l->v);
    l->v[l->n++] = kit_keep_text(k, text);
    l->v[l->n] = NULL;
}

void kit_keep_done(struct kit_keep *k)
{
    while (k->last) {
        struct kit_kept *b = k->last;
        k->last = b->before;
        explicit_bzero(b->data, b->size);
        free(b);
    }
}
