/*
 * text.c - see text.h.
 */
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../codec/codec.h"
#include "../../model/amount.h"

/* "1,234,567" */
static char *thousands(struct arena *a, double v)
{
    char digits[40];
    size_t n = (size_t)snprintf(digits, sizeof digits, "%.0f", fabs(v));
    char *out = arena_alloc(a, n + n / 3 + 2), *to = out;

    if (v < 0 && strcmp(digits, "0") != 0)
        *to++ = '-';
    for (size_t i = 0; i < n && n < sizeof digits; i++) {
        *to++ = digits[i];
        if (i + 1 < n && (n - i - 1) % 3 == 0)
            *to++ = ',';
    }
    *to = '\0';
    return out;
}

char *dollars(struct arena *a, double v)
{
    const char *sign = v < 0 ? "-" : "";
    double size = fabs(v);

    if (size < 0.00005)
        return arena_strdup(a, "$0");
    if (size < 0.1)
        return arena_printf(a, "%s$%.4f", sign, size);
    if (size < 999.995)
        return arena_printf(a, "%s$%.2f", sign, size);
    return arena_printf(a, "%s$%s", sign, thousands(a, size));
}

char *quantity(struct arena *a, const char *resource, double v)
{
    char text[40];
    int64_t amount;

    if (!amount_from_double(v, &amount))
        return arena_strdup(a, "?");
    return arena_strdup(a, amount_pretty(resource, amount, text, sizeof text));
}

int64_t time_ms_of(const char *iso)
{
    struct tm tm = {0};
    const char *rest = strptime(iso, "%Y-%m-%dT%H:%M:%S", &tm);

    return rest ? (int64_t)timegm(&tm) * 1000 +
                      (*rest == '.' ? strtol(rest + 1, NULL, 10) : 0)
                : 0;
}

/* The beginning of that day, UTC. */
static int64_t day_of(int64_t ms)
{
    return ms - ms % 86400000;
}

/* "monday", "Mon": the last one began then, perhaps today. */
static bool weekday_parse(const char *text, int64_t now_ms, int64_t *ret_ms)
{
    enum { DAYS = 7, FIRST = 4 }; /* 1970 began on a Thursday */
    struct tm tm = {0};
    const char *rest = strptime(text, "%a", &tm);
    int64_t day = now_ms / 86400000, since;

    if (!rest || *rest)
        return false;
    since = (day + FIRST - tm.tm_wday + DAYS) % DAYS;
    *ret_ms = (day - since) * 86400000;
    return true;
}

/* "7d": days are no unit of the configuration. */
static bool days_parse(const char *text, int64_t *ret_ms)
{
    char *end;
    long n = strtol(text, &end, 10);

    *ret_ms = (int64_t)n * 86400000;
    return end != text && strcmp(end, "d") == 0 && n >= 0 && n <= 36500;
}

bool since_parse(const char *text, int64_t now_ms, int64_t *ret_ms)
{
    struct tm tm = {0};
    const char *rest;
    int64_t ago;

    if (strcmp(text, "today") == 0)
        *ret_ms = day_of(now_ms);
    else if (strcmp(text, "yesterday") == 0)
        *ret_ms = day_of(now_ms) - 86400000;
    else if (weekday_parse(text, now_ms, ret_ms))
        return true;
    else if ((days_parse(text, &ago) || duration_parse(text, &ago)) &&
             ago <= now_ms)
        *ret_ms = now_ms - ago;
    else if ((rest = strptime(text, "%H:%M", &tm)) && !*rest) {
        *ret_ms = day_of(now_ms) +
                  (tm.tm_hour * 60 + tm.tm_min) * INT64_C(60000);
        *ret_ms -= *ret_ms > now_ms ? 86400000 : 0;
    } else {
        tm = (struct tm){0};
        rest = strptime(text, "%Y-%m-%d", &tm);
        if (rest && *rest)
            return (*ret_ms = time_ms_of(text)) > 0;
        *ret_ms = (int64_t)timegm(&tm) * 1000;
        return rest;
    }
    return true;
}
