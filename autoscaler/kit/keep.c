/*
 * keep.c - see keep.h.
 */
#include "keep.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"

struct kit_kept {
    struct kit_kept *before;
    size_t size;
    max_align_t data[];
};

void *kit_keep(struct kit_keep *k, size_t size)
{
    struct kit_kept *b = kit_zeroed(1, sizeof *b + size);
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
    char *text = kit_vprint(fmt, ap), *kept = kit_keep_text(k, text);
    va_end(ap);
    kit_wipe(text);
    return kept;
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
