/*
 * ending.c - see ending.h.
 */
#include "ending.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "clock.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool ends;
static char waits[256];
static int64_t since_ms;

void ending_begin(void)
{
    pthread_mutex_lock(&lock);
    ends = true;
    pthread_mutex_unlock(&lock);
}

void ending_waits(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    pthread_mutex_lock(&lock);
    if (ends) {
        vsnprintf(waits, sizeof waits, fmt, ap);
        since_ms = clock_mono_ms();
    }
    pthread_mutex_unlock(&lock);
    va_end(ap);
}

bool ending_waited(char *ret, size_t n, int64_t *ret_ms)
{
    bool told;

    pthread_mutex_lock(&lock);
    told = waits[0] != '\0';
    snprintf(ret, n, "%s", waits);
    *ret_ms = told ? clock_mono_ms() - since_ms : 0;
    pthread_mutex_unlock(&lock);
    return told;
}
