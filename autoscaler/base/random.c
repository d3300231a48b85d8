/*
 * random.c - see random.h.
 */
#include "random.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

static void kernel_fill(void *arg, void *buf, size_t n)
{
    (void)arg;
    if (getrandom(buf, n, 0) == (ssize_t)n)
        return;
    fputs("davit: the kernel gives no random bytes\n", stderr);
    abort();
}

static void (*fill)(void *arg, void *buf, size_t n) = kernel_fill;
static void *fill_arg;

void random_install(void (*f)(void *arg, void *buf, size_t n), void *arg)
{
    fill = f ? f : kernel_fill;
    fill_arg = arg;
}

void random_bytes(void *buf, size_t n)
{
    fill(fill_arg, buf, n);
}
