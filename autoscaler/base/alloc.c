/*
 * alloc.c - see alloc.h.
 */
#include "alloc.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void mem_out(void)
{
    fputs("davit: out of memory\n", stderr);
    abort();
}

void *mem_must(void *p)
{
    if (!p)
        mem_out();
    return p;
}

void *mem_alloc(size_t bytes)
{
    return mem_must(malloc(bytes ? bytes : 1));
}

void *mem_zeroed(size_t n, size_t bytes)
{
    return mem_must(calloc(n ? n : 1, bytes ? bytes : 1));
}

void *mem_resize(void *p, size_t n, size_t bytes)
{
    if (bytes && n > SIZE_MAX / bytes)
        mem_out();
    n *= bytes;
    return mem_must(realloc(p, n ? n : 1));
}

char *mem_strdup(const char *s)
{
    return mem_must(strdup(s ? s : ""));
}

char *mem_strndup(const char *s, size_t n)
{
    return mem_must(strndup(s, n));
}
