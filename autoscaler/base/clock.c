/*
 * clock.c - see clock.h.
 */
#include "clock.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

static int64_t read_us(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t clock_wall_ms(void)
{
    return read_us(CLOCK_REALTIME) / 1000;
}

int64_t clock_mono_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

int64_t clock_mono_ms(void)
{
    return clock_mono_us() / 1000;
}

static int64_t steady_from_ms;  /* what to add to mono */

static void steady_begin(void)
{
    steady_from_ms = clock_wall_ms() - clock_mono_ms();
}

int64_t clock_steady_ms(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, steady_begin);
    return clock_mono_ms() + steady_from_ms;
}

char *clock_iso(int64_t wall_ms, char *buf, size_t n)
{
    time_t s = (time_t)(wall_ms / 1000);
    int ms = (int)(wall_ms % 1000);
    struct tm tm;
    size_t len;

    if (ms < 0) {
        ms += 1000;
        s--;
    }
    if (!gmtime_r(&s, &tm)) {  /* a year that no int holds */
        snprintf(buf, n, "-");
        return buf;
    }
    len = strftime(buf, n, "%Y-%m-%dT%H:%M:%S", &tm);
    if (len < n)
        snprintf(buf + len, n - len, ".%03dZ", ms);
    return buf;
}
