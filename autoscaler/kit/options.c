/*
 * options.c - see options.h.  Not written with the daemon's own parsers, which
 * a plug-in may not link against.
 */
#include "options.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int kit_error(struct davit_error *e, enum davit_status s, const char *code,
              const char *fmt, ...)
{
    va_list ap;
    if (e == NULL)
        return (int)s;
    snprintf(e->code, sizeof e->code, "%s", code);
    va_start(ap, fmt);
    vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    return (int)s;
}

const char *kit_taint_effect(const char *text)
{
    static const char *const known[][2] = {
        {"NO_SCHEDULE", "NoSchedule"}, {"NO_EXECUTE", "NoExecute"},
        {"PREFER_NO_SCHEDULE", "PreferNoSchedule"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(text, known[i][0]) == 0 || strcmp(text, known[i][1]) == 0)
            return known[i][1];
    return NULL;
}

const char *kit_find(const struct davit_kv *kv, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(kv[i].key, key) == 0)
            return kv[i].value;
    return NULL;
}

bool kit_duration(const char *text, int64_t *ret_ms)
{
    static const struct { const char *unit; double ms; } units[] = {
        {"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60e3}, {"h", 3600e3},
        {"d", 86400e3}};
    if (!isdigit((unsigned char)text[0]))
        return false;
    size_t digits = strspn(text, "0123456789.");
    char number[32];
    if (digits >= sizeof number)
        return false;
    memcpy(number, text, digits);
    number[digits] = '\0';
    char *end;
    double v = strtod(number, &end);
    if (*end != '\0')
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(text + digits, units[i].unit) != 0)
            continue;
        v *= units[i].ms;
        if (v > 3650.0 * 86400e3)
            return false;
        *ret_ms = (int64_t)(v + 0.5);
        return true;
    }
    return false;
}

bool kit_number(const char *text, uint32_t max, uint32_t *ret)
{
    uint64_t v = 0;
    if (text[0] == '\0')
        return false;
    for (; *text != '\0'; text++) {
        if (!isdigit((unsigned char)*text))
            return false;
        v = v * 10 + (uint64_t)(*text - '0');
        if (v > max)
            return false;
    }
    *ret = (uint32_t)v;
    return true;
}

int kit_duration_option(const struct davit_kv *kv, size_t n, const char *key,
                        int64_t *ret_ms, struct davit_error *e)
{
    const char *v = kit_find(kv, n, key);
    if (v == NULL || kit_duration(v, ret_ms))
        return DAVIT_OK;
    return kit_error(e, DAVIT_INVALID, key,
                     "%s must be a duration such as 90s, 5m or 500ms, "
                     "got \"%.60s\"", key, v);
}

int kit_number_option(const struct davit_kv *kv, size_t n, const char *key,
                      uint32_t max, uint32_t *ret, struct davit_error *e)
{
    const char *v = kit_find(kv, n, key);
    if (v == NULL || kit_number(v, max, ret))
        return DAVIT_OK;
    return kit_error(e, DAVIT_INVALID, key,
                     "%s must be a whole number from 0 to %u, got \"%.60s\"",
                     key, max, v);
}
