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
#include <stdlib.h>
#include <string.h>

/* Kubernetes' suffixes (apimachinery, resource.Quantity), and those people
 * write besides: powers of ten and of two. */
static const struct {
    const char *text;
    int ten, two;
} suffixes[] = {
    {"", 0, 0},     {"n", -9, 0},   {"u", -6, 0},   {"m", -3, 0},
    {"k", 3, 0},    {"K", 3, 0},    {"M", 6, 0},    {"G", 9, 0},
    {"T", 12, 0},   {"P", 15, 0},   {"E", 18, 0},   {"Ki", 0, 10},
    {"Mi", 0, 20},  {"Gi", 0, 30},  {"Ti", 0, 40},  {"Pi", 0, 50},
    {"Ei", 0, 60},  {"KB", 3, 0},   {"MB", 6, 0},   {"GB", 9, 0},
    {"TB", 12, 0},  {"KiB", 0, 10}, {"MiB", 0, 20}, {"GiB", 0, 30},
    {"TiB", 0, 40},
};

/* "e3", "E-3" or one of the suffixes. */
static bool suffix_read(const char *s, int *ten, int *two)
{
    if ((*s == 'e' || *s == 'E') && s[1] && strcmp(s, "Ei") != 0) {
        char *end;
        long e = strtol(s + 1, &end, 10);

        *two = 0;
        *ten = (int)e;
        return !*end && end > s + 1 && strchr("+-0123456789", s[1]) &&
               e >= -18 && e <= 18;
    }
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (strcmp(s, suffixes[i].text) == 0) {
            *ten = suffixes[i].ten;
            *two = suffixes[i].two;
            return true;
        }
    return false;
}

struct digits {
    __int128 value; /* at most 2^100 */
    int places;     /* behind the point */
    bool more;      /* finer ones that were left out, not all 0 */
};

static bool digits_read(const char **at, struct digits *d)
{
    bool any = false, point = false;
    const char *p = *at;

    *d = (struct digits){0};
    for (; (*p >= '0' && *p <= '9') || (*p == '.' && !point); p++) {
        if (*p == '.') {
            point = true;
            continue;
        }
        any = true;
        if (point && d->places == 12) {
            d->more = d->more || *p != '0';
            continue; /* finer than anything we keep */
        }
        d->value = d->value * 10 + (*p - '0');
        d->places += point;
        if (d->value > ((__int128)1 << 100))
            return false;
    }
    *at = p;
    return any;
}

bool amount_quantity(const char *text, enum amount_round round, int64_t *ret)
{
    const char *p = *text == '+' ? text + 1 : text;
    __int128 num = 1, den = 1, left;
    struct digits d;
    int ten, two;

    if (!digits_read(&p, &d) || !suffix_read(p, &ten, &two))
        return false;
    ten -= d.places;
    for (; ten < -18; ten++) { /* below what is kept in any case */
        d.more = d.more || d.value % 10;
        d.value /= 10;
    }
    for (; ten < 0; ten++)
        den *= 10;
    for (; ten > 0; ten--)
        num *= 10;
    num <<= two;
    /* rough, so that nothing below overflows: exact at the end */
    if (d.value > (__int128)(AMOUNT_MAX / AMOUNT_ONE + 1) * den / num)
        return false;
    /* within (AMOUNT_MAX + AMOUNT_ONE) * 10^18 < 2^121 */
    d.value *= num * AMOUNT_ONE;
    left = d.value % den;
    d.value /= den;
    if (round == AMOUNT_UP && (left || d.more))
        d.value++;
    if (round == AMOUNT_NEAR && left * 2 >= den)
        d.value++;
    if (d.value > AMOUNT_MAX)
        return false;
    *ret = (int64_t)d.value;
    return true;
}

bool amount_parse(const char *text, int64_t *ret)
{
    return amount_quantity(text, AMOUNT_NEAR, ret);
}

bool amount_is_bytes(const char *resource)
{
    return strcmp(resource, "memory") == 0 ||
           strcmp(resource, "object_store_memory") == 0 ||
           strcmp(resource, "ephemeral-storage") == 0 ||
           strncmp(resource, "hugepages-", 10) == 0;
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

    if (!amount_is_bytes(resource))
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
