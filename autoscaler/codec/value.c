/*
 * value.c - single values: text to JSON, durations, and our numbers and
 * names as JSON.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../model/amount.h"
#include "codec.h"
#include "reader.h"

#define DEPTH_MAX 64
#define MS_MAX (INT64_C(1) << 53)
/* Below it a fraction has at most 15 digits, which a double keeps and which
 * JSON_REAL_PRECISION(15) prints in full; above it text is written. */
#define AMOUNT_REAL INT64_C(1000000000000000)

/* ---- text */

/* "90" or "1.5" at *text, which goes on behind it: whole, and part of scale. */
static bool decimal_take(const char **text, int64_t *ret_whole,
                         int64_t *ret_part, int64_t *ret_scale)
{
    const char *p = *text;
    bool digits = false;

    *ret_whole = *ret_part = 0;
    *ret_scale = 1;
    for (; *p >= '0' && *p <= '9'; p++, digits = true) {
        *ret_whole = *ret_whole * 10 + (*p - '0');
        if (*ret_whole > MS_MAX)
            return false;
    }
    if (*p == '.')
        for (p++; *p >= '0' && *p <= '9'; p++, digits = true)
            if (*ret_scale < 1000000) {
                *ret_part = *ret_part * 10 + (*p - '0');
                *ret_scale *= 10;
            }
    *text = p;
    return digits;
}

/* Milliseconds of the unit at *text; 0: there is no such unit. */
static int64_t unit_take(const char **text)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {
        {"", 1000},     {"ms", 1},      {"s", 1000},     {"m", 60000},
        {"min", 60000}, {"h", 3600000}, {"d", 86400000},
    };
    size_t n = 0;

    while ((*text)[n] && ((*text)[n] < '0' || (*text)[n] > '9'))
        n++;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].unit) == n &&
            strncmp(units[i].unit, *text, n) == 0) {
            *text += n;
            return units[i].ms;
        }
    return 0;
}

/* "90s", "1.5h", and Go's "1h30m". */
bool duration_parse(const char *text, int64_t *ret_ms)
{
    int64_t whole, part, scale, unit, ms = 0;
    const char *p = text, *number, *end;

    do {
        number = p;
        if (!decimal_take(&p, &whole, &part, &scale))
            return false;
        end = p;
        unit = unit_take(&p);
        /* without a unit only by itself, in seconds */
        if (unit == 0 || (p == end && number != text) || whole > MS_MAX / unit)
            return false;
        ms += whole * unit + part * unit / scale;
        if (ms > MS_MAX)
            return false;
    } while (*p);
    *ret_ms = ms;
    return true;
}

/* jansson recurses up to 2048 levels; we refuse earlier, before it starts. */
static bool too_deep(const char *text, size_t n, int *ret_line, int *ret_column)
{
    unsigned depth = 0;
    bool in_string = false;

    *ret_line = *ret_column = 1;
    for (size_t i = 0; i < n; i++, ++*ret_column) {
        char c = text[i];

        if (c == '\n') {
            ++*ret_line;
            *ret_column = 0;
        }
        if (in_string) {
            if (c == '\\') {
                i++;
                ++*ret_column;
            } else if (c == '"') {
                in_string = false;
            }
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            if (++depth > DEPTH_MAX)
                return true;
        } else if ((c == '}' || c == ']') && depth > 0) {
            depth--;
        }
    }
    return false;
}

enum status codec_parse(const char *text, size_t n, json_t **ret,
                        struct err *err)
{
    json_error_t e;
    json_t *v;
    int line, column;

    if (too_deep(text, n, &line, &column))
        return err_set(err, ST_INVALID,
                       "line %d column %d: nested deeper than %d levels", line,
                       column, DEPTH_MAX);
    v = json_loadb(text, n, JSON_REJECT_DUPLICATES, &e);
    if (!v)
        return err_set(err, ST_INVALID, "line %d column %d: not JSON: %s",
                       e.line, e.column, e.text);
    *ret = v;
    return ST_OK;
}

/* ---- writing */

json_t *codec_seconds(int64_t ms)
{
    return ms % 1000 == 0 ? json_integer(ms / 1000)
                          : json_real((double)ms / 1000);
}

json_t *codec_dollars(int64_t micros)
{
    if (micros < 0)
        return json_null();
    return json_real((double)micros / 1e6);
}

json_t *codec_amount(int64_t amount)
{
    char buf[32];

    if (amount % AMOUNT_ONE == 0)
        return json_integer(amount / AMOUNT_ONE);
    if (amount < AMOUNT_REAL)
        return json_real(amount_to_double(amount));
    return json_string(amount_text(amount, buf, sizeof buf));
}

json_t *codec_text(const char *s)
{
    json_t *v = json_string(s ? s : "");
    char *copy;

    if (v)
        return v;
    copy = mem_strdup(s);
    for (char *p = copy; *p; p++)
        if ((unsigned char)*p >= 0x80)
            *p = '?';
    v = json_string(copy);
    free(copy);
    return v;
}
