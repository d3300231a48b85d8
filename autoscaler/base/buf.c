/*
 * buf.c - see buf.h.
 */
#include "buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "text.h"

static char nothing[1] = "";

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){.s = nothing, .max = max};
}

void buf_done(struct buf *b)
{
    if (b && b->cap)
        free(b->s);
    if (b)
        buf_init(b, b->max);
}

void buf_clear(struct buf *b)
{
    b->n = 0;
    b->full = false;
    if (b->cap)
        b->s[0] = '\0';
}

static bool buf_room(struct buf *b, size_t n)
{
    size_t cap = b->cap ? b->cap : 256;

    if (n > b->max || b->n > b->max - n) {
        b->full = true;
        return false;
    }
    if (b->n + n < b->cap)
        return true;
    while (cap <= b->n + n)
        cap *= 2;
    b->s = mem_resize(b->cap ? b->s : NULL, cap, 1);
    b->cap = cap;
    return true;
}

bool buf_add(struct buf *b, const void *p, size_t n)
{
    if (!buf_room(b, n))
        return false;
    if (n)
        memcpy(b->s + b->n, p, n);
    b->n += n;
    b->s[b->n] = '\0';
    return true;
}

bool buf_str(struct buf *b, const char *s)
{
    return buf_add(b, s, strlen(s));
}

bool buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap, again;
    int n;

    va_start(ap, fmt);
    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0 || !buf_room(b, (size_t)n)) {
        va_end(again);
        return false;
    }
    vsnprintf(b->s + b->n, (size_t)n + 1, fmt, again);
    va_end(again);
    b->n += (size_t)n;
    return true;
}

char *buf_take(struct buf *b)
{
    char *s;

    buf_room(b, 0); /* a heap string even when nothing was added */
    s = b->s;
    s[b->n] = '\0';
    buf_init(b, b->max);
    return s;
}

bool buf_plain(struct buf *b, const char *s)
{
    size_t left = strlen(s);
    const char *run = s;
    char shown[8];

    while (left) {
        size_t n = *s == '\n' || *s == '\t' ? 1 : text_plain(s, left);

        if (!n) {
            buf_add(b, run, (size_t)(s - run));
            n = text_escape(s, left, shown);
            buf_str(b, shown);
            run = s + n;
        }
        s += n;
        left -= n;
    }
    return buf_add(b, run, (size_t)(s - run)) && !b->full;
}
