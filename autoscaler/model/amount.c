/*
 * amount.c - see amount.h.
 *
 * Text is read digit by digit, never through a double: what a user writes in
 * bytes must come out to the byte.
 */
#include "amount.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Kubernetes' suffixes (apimachinery, resource.Quantity); num / den. */
static const struct {
    const char *text;
    int64_t num, den;
} suffixes[] = {
    {"", 1, 1},
    {"m", 1, 1000},
    {"k", 1000, 1},
    {"K", 1000, 1},
    {"M", 1000000, 1},
    {"G", 1000000000, 1},
    {"T", INT64_C(1000000000000), 1},
    {"P", INT64_C(1000000000000000), 1},
    {"Ki", INT64_C(1) << 10, 1},
    {"Mi", INT64_C(1) << 20, 1},
    {"Gi", INT64_C(1) << 30, 1},
    {"Ti", INT64_C(1) << 40, 1},
    {"Pi", INT64_C(1) << 50, 1},
    {"KB", 1000, 1},
    {"MB", 1000000, 1},
    {"GB", 1000000000, 1},
    {"TB", INT64_C(1000000000000), 1},
    {"KiB", INT64_C(1) << 10, 1},
    {"MiB", INT64_C(1) << 20, 1},
    {"GiB", INT64_C(1) << 30, 1},
    {"TiB", INT64_C(1) << 40, 1},
};

bool amount_parse(const char *text, int64_t *ret)
{
    __int128 value = 0, scale = 1;
    bool digits = false, point = false;
    const char *p = text;

    for (; (*p >= '0' && *p <= '9') || (*p == '.' && !point); p++) {
        if (*p == '.') {
            point = true;
            continue;
        }
        digits = true;
        if (point && scale >= 1000000000)
            continue; /* finer than anything we keep */
        value = value * 10 + (*p - '0');
        if (point)
            scale *= 10;
        if (value > ((__int128)1 << 100))
            return false;
    }
    if (!digits)
        return false;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        __int128 den = scale * suffixes[i].den;
        if (strcmp(p, suffixes[i].text) != 0)
            continue;
        if (value > (__int128)AMOUNT_MAX * den / suffixes[i].num)
            return false;
        value = (value * suffixes[i].num * AMOUNT_ONE + den / 2) / den;
        if (value > AMOUNT_MAX)
            return false;
        *ret = (int64_t)value;
        return true;
    }
    return false;
}

bool amount_from_double(double d, int64_t *ret)
{
    if (!(d >= 0) || d > (double)AMOUNT_MAX / (double)AMOUNT_ONE)
        return false;
    *ret = (int64_t)llround(d * (double)AMOUNT_ONE);
    return true;
}

double amount_to_double(int64_t a)
{
    return (double)a / (double)AMOUNT_ONE;
}

char *amount_text(int64_t a, char *buf, size_t n)
{
    int64_t part = a % AMOUNT_ONE;
    char *end;

    if (!part) {
        snprintf(buf, n, "%" PRId64, a / AMOUNT_ONE);
        return buf;
    }
    snprintf(buf, n, "%" PRId64 ".%04" PRId64, a / AMOUNT_ONE, part);
    for (end = buf + strlen(buf) - 1; *end == '0'; end--)
        *end = '\0';
    return buf;
}

char *amount_pretty(const char *resource, int64_t a, char *buf, size_t n)
{
    static const char *const units[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
    double v = amount_to_double(a);
    size_t u = 0;

    if (strcmp(resource, "memory") != 0 &&
        strcmp(resource, "object_store_memory") != 0)
        return amount_text(a, buf, n);
    while (v >= 1024 && u + 1 < sizeof units / sizeof *units) {
        v /= 1024;
        u++;
    }
    snprintf(buf, n, v < 10 && v != (double)(int64_t)v ? "%.1f%s" : "%.0f%s", v,
             units[u]);
    return buf;
}

int64_t amount_add(int64_t a, int64_t b)
{
    int64_t r;

    return __builtin_add_overflow(a, b, &r) || r > AMOUNT_MAX ? AMOUNT_MAX : r;
}

int64_t amount_times(int64_t a, uint64_t n)
{
    __int128 r = (__int128)a * n;

    return r > AMOUNT_MAX ? AMOUNT_MAX : (int64_t)r;
}
