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

static int64_t real_wall_us(void *arg)
{
    (void)arg;
    return read_us(CLOCK_REALTIME);
}

static int64_t real_mono_us(void *arg)
{
    (void)arg;
    return read_us(CLOCK_MONOTONIC);
}

static int64_t real_boot_us(void *arg)
{
    (void)arg;
    return read_us(CLOCK_BOOTTIME);
}

static void real_sleep(void *arg, int64_t ms)
{
    (void)arg;
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static const struct clock real = {real_wall_us, real_mono_us, real_boot_us,
                                  real_sleep, NULL};
static const struct clock *now = &real;
static int64_t steady_from_ms; /* what to add to mono */
static pthread_once_t begun = PTHREAD_ONCE_INIT;

static void steady_begin(void)
{
    steady_from_ms = clock_wall_ms() - clock_mono_ms();
}

void clock_install(const struct clock *c)
{
    pthread_once(&begun, steady_begin);
    now = c ? c : &real;
    steady_begin();
}

int64_t clock_wall_ms(void)
{
    return now->wall_us(now->arg) / 1000;
}

int64_t clock_mono_us(void)
{
    return now->mono_us(now->arg);
}

int64_t clock_mono_ms(void)
{
    return clock_mono_us() / 1000;
}

int64_t clock_boot_ms(void)
{
    return now->boot_us(now->arg) / 1000;
}

int64_t clock_steady_ms(void)
{
    pthread_once(&begun, steady_begin);
    return clock_mono_ms() + steady_from_ms;
}

void clock_sleep_ms(int64_t ms)
{
    if (ms > 0)
        now->sleep_ms(now->arg, ms);
}

struct timespec clock_wait_until(int64_t ms)
{
    int64_t at = read_us(CLOCK_MONOTONIC) + ms * 1000;

    return (struct timespec){at / 1000000, at % 1000000 * 1000};
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
    if (!gmtime_r(&s, &tm)) { /* a year that no int holds */
        snprintf(buf, n, "-");
        return buf;
    }
    len = strftime(buf, n, "%Y-%m-%dT%H:%M:%S", &tm);
    if (len < n)
        snprintf(buf + len, n - len, ".%03dZ", ms);
    return buf;
}

int64_t clock_from_iso(const char *text)
{
    struct tm tm = {0};
    const char *at = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    int64_t ms = 0, place = 100;
    int h = 0, m = 0;

    if (!at)
        return 0;
    if (*at == '.')
        for (at++; *at >= '0' && *at <= '9'; at++, place /= 10)
            ms += (*at - '0') * place;
    if (*at != 'Z' &&
        ((*at != '+' && *at != '-') || sscanf(at + 1, "%2d:%2d", &h, &m) != 2))
        return 0;
    ms += ((int64_t)timegm(&tm) - (*at == '-' ? -60 : 60) * (h * 60 + m)) *
          1000;
    return ms > 0 ? ms : 0;
}
