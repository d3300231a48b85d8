/*
 * radix.c - see radix.h.  Numbers: least significant byte first.  Texts: eight bytes
 * after the other, as machines' names begin alike, and those that are the same so
 * far by the next eight.
 */
#include "radix.h"

#include <stdlib.h>
#include <string.h>

void radix_sort(struct arena *arena, struct radix_entry *v, uint32_t n)
{
    struct radix_entry *from = v, *to, *t;
    uint64_t differ = 0;

    for (uint32_t i = 1; i < n; i++)
        differ |= v[i].key ^ v[0].key;
    if (differ == 0)
        return;
    to = ARENA_ARRAY(arena, struct radix_entry, n);
    for (unsigned shift = 0; shift < 64; shift += 8) {
        uint32_t start[257] = {0};

        if ((differ >> shift & 0xff) == 0)
            continue;
        for (uint32_t i = 0; i < n; i++)
            start[(from[i].key >> shift & 0xff) + 1]++;
        for (unsigned b = 1; b < 256; b++)
            start[b] += start[b - 1];
        for (uint32_t i = 0; i < n; i++)
            to[start[from[i].key >> shift & 0xff]++] = from[i];
        t = from;
        from = to;
        to = t;
    }
    if (from != v)
        memcpy(v, from, n * sizeof *v);
}

/* ---- texts */

enum { FEW = 24, STEP = 8, DEEP = 512 };

struct by_text {
    struct arena *arena;
    const char *(*text)(const void *arg, uint32_t at);
    const void *arg;
};

static uint64_t eight_bytes(const char *s)
{
    uint64_t x = 0;

    for (int i = 0; i < STEP; i++) {
        x = x << 8 | (unsigned char)*s;
        s += *s != '\0';
    }
    return x;
}

/* They are the same before `from`. */
static void few_sort(const struct by_text *t, struct radix_entry *v, uint32_t n,
                     size_t from)
{
    for (uint32_t i = 1; i < n; i++) {
        const struct radix_entry x = v[i];
        const char *s = t->text(t->arg, x.at) + from;
        uint32_t k = i;

        for (; k > 0 && strcmp(t->text(t->arg, v[k - 1].at) + from, s) > 0; k--)
            v[k] = v[k - 1];
        v[k] = x;
    }
}

static int compare(const void *a, const void *b, void *arg)
{
    const struct radix_entry *x = a, *y = b;
    const struct by_text *t = arg;
    int d = strcmp(t->text(t->arg, x->at), t->text(t->arg, y->at));

    return d ? d : (x->at > y->at) - (x->at < y->at);
}

static void part_sort(const struct by_text *t, struct radix_entry *v,
                      uint32_t n, size_t from)
{
    if (n <= FEW) {
        few_sort(t, v, n, from);
        return;
    }
    if (from >= DEEP) { /* whoever writes such texts: the stack is finite */
        qsort_r(v, n, sizeof *v, compare, (void *)t);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        v[i].key = eight_bytes(t->text(t->arg, v[i].at) + from);
    radix_sort(t->arena, v, n);
    for (uint32_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && v[end].key == v[i].key; end++)
            ;
        if (end - i > 1 && (v[i].key & 0xff) != 0)
            part_sort(t, v + i, end - i, from + STEP);
    }
}

void radix_sort_texts(struct arena *arena, struct radix_entry *v, uint32_t n,
                      const char *(*text)(const void *arg, uint32_t at),
                      const void *arg)
{
    const struct by_text t = {arena, text, arg};

    part_sort(&t, v, n, 0);
}
