/*
 * alloc.c - see alloc.h.
 */
#include "alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *kit_must(void *p)
{
    if (!p)
        abort();
    return p;
}

void *kit_alloc(size_t bytes)
{
    return kit_must(malloc(bytes));
}

void *kit_zeroed(size_t n, size_t bytes)
{
    return kit_must(calloc(n ? n : 1, bytes));
}

void *kit_resize(void *p, size_t n, size_t bytes)
{
    return kit_must(reallocarray(p, n, bytes));
}

char *kit_copy(const char *text)
{
    return kit_must(strdup(text));
}

char *kit_vprint(const char *fmt, va_list ap)
{
    char *text;
    return vasprintf(&text, fmt, ap) < 0 ? kit_must(NULL) : text;
}

char *kit_print(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *text = kit_vprint(fmt, ap);
    va_end(ap);
    return text;
}

void kit_wipe(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}
