/*
 * jin.c - see jin.h; and codec_parse(), which makes a json_t of text.
 */
#include "jin.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/suggest.h"
#include "amount.h"
#include "codec.h"

#define DEPTH_MAX 64
#define MS_MAX (INT64_C(1) << 53)
#define DOLLARS_MAX 1e6
/* Below it a fraction has at most 15 digits, which a double keeps and which
 * JSON_REAL_PRECISION(15) prints in full; above it text is written. */
#define AMOUNT_REAL INT64_C(1000000000000000)

/* ---- errors */

/* A key as it may be shown: short, and nothing that disturbs a terminal. */
static const char *shown(const char *key, char *buf, size_t n)
{
    size_t i;

    for (i = 0; key[i] && i + 1 < n; i++)
        buf[i] = (unsigned char)key[i] < 0x20 || key[i] == 0x7f ? '?' : key[i];
    while (i > 0 && key[i] && ((unsigned char)key[i] & 0xc0) == 0x80)
        i--;  /* not in the middle of a character */
    buf[i] = '\0';
    return buf;
}

static size_t path_text(const struct jpath *at, char *buf, size_t n)
{
    char key[64];
    size_t used;
    int r;

    buf[0] = '\0';
    if (!at)
        return 0;
    used = path_text(at->up, buf, n);
    if (!at->key)
        r = snprintf(buf + used, n - used, "[%zu]", at->index);
    else
        r = snprintf(buf + used, n - used, "%s%s",
                     used && at->key[0] ? "." : "",
                     shown(at->key, key, sizeof key));
    if (r < 0 || (size_t)r >= n - used)
        return n - 1;
    return used + (size_t)r;
}

bool jin_bad(struct jin *in, const struct jpath *at, const char *fmt, ...)
{
    char where[200], text[sizeof in->err->text];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (path_text(at, where, sizeof where) > 0)
        err_set(in->err, ST_INVALID, "%s: %s", where, text);
    else
        err_set(in->err, ST_INVALID, "%s", text);
    return false;
}

const char *jin_found(const json_t *v, char *buf, size_t n)
{
    char s[44];

    switch (v ? json_typeof(v) : JSON_NULL) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "an array";
    case JSON_TRUE: return "true";
    case JSON_FALSE: return "false";
    case JSON_NULL: return "null";
    case JSON_STRING:
        snprintf(buf, n, "\"%s\"", shown(json_string_value(v), s, sizeof s));
        return buf;
    case JSON_INTEGER:
        snprintf(buf, n, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
        return buf;
    case JSON_REAL:
        snprintf(buf, n, "%.10g", json_real_value(v));
        return buf;
    }
    return "something else";
}

bool jin_object(struct jin *in, const struct jpath *at, const json_t *v,
                 const char *const *known, size_t n)
{
    char buf[64];
    const char *key, *near;
    json_t *value;

    if (!json_is_object(v))
        return jin_bad(in, at, "must be an object, got %s",
                        jin_found(v, buf, sizeof buf));
    json_object_foreach((json_t *)v, key, value)
    {
        size_t i = 0;

        (void)value;
        while (i < n && strcmp(known[i], key) != 0)
            i++;
        if (i < n)
            continue;
        near = suggest(key, known, n);
        if (near)
            return jin_bad(in, JPATH_KEY(at, key),
                            "unknown key, did you mean \"%s\"?", near);
        return jin_bad(in, JPATH_KEY(at, key), "unknown key");
    }
    return true;
}

bool jin_list(struct jin *in, const struct jpath *at, const json_t *v,
               size_t max)
{
    char buf[64];

    if (!json_is_array(v))
        return jin_bad(in, at, "must be an array, got %s",
                        jin_found(v, buf, sizeof buf));
    if (json_array_size(v) > max)
        return jin_bad(in, at, "has %zu entries, at most %zu are allowed",
                        json_array_size(v), max);
    return true;
}

/* ---- reading */

bool jin_text(struct jin *in, const struct jpath *at, const json_t *v,
               bool may_be_empty, const char **ret)
{
    char buf[64];
    size_t n = json_string_length(v);

    if (!json_is_string(v))
        return jin_bad(in, at, "must be text, got %s",
                        jin_found(v, buf, sizeof buf));
    if (n == 0 && !may_be_empty)
        return jin_bad(in, at, "must not be empty");
    if (n > JIN_NAME_MAX)
        return jin_bad(in, at, "has %zu bytes, at most %d are allowed", n,
                        JIN_NAME_MAX);
    *ret = arena_strndup(in->arena, json_string_value(v), n);
    return true;
}

static const json_t *value_of(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);

    return json_is_null(v) ? NULL : v;
}

bool jin_get_text(struct jin *in, const struct jpath *at, const json_t *o,
                   const char *key, const char **ret)
{
    const json_t *v = value_of(o, key);

    return !v || jin_text(in, JPATH_KEY(at, key), v, true, ret);
}

bool jin_get_bool(struct jin *in, const struct jpath *at, const json_t *o,
                   const char *key, bool *ret)
{
    const json_t *v = value_of(o, key);
    char buf[64];

    if (!v)
        return true;
    if (!json_is_boolean(v))
        return jin_bad(in, JPATH_KEY(at, key),
                        "must be true or false, got %s",
                        jin_found(v, buf, sizeof buf));
    *ret = json_is_true(v);
    return true;
}

bool jin_get_int(struct jin *in, const struct jpath *at, const json_t *o,
                  const char *key, int64_t min, int64_t max, int64_t *ret)
{
    const json_t *v = value_of(o, key);
    char buf[64];
    double d;
    int64_t i;

    if (!v)
        return true;
    if (json_is_integer(v)) {
        i = json_integer_value(v);
    } else if (json_is_real(v)) {
        /* Other languages write 3.0 and 1e3 for whole numbers. */
        d = json_real_value(v);
        if (!(fabs(d) <= 9007199254740992.0) || d != floor(d))
            return jin_bad(in, JPATH_KEY(at, key),
                            "must be a whole number, got %s",
                            jin_found(v, buf, sizeof buf));
        i = (int64_t)d;
    } else {
        return jin_bad(in, JPATH_KEY(at, key),
                        "must be a whole number, got %s",
                        jin_found(v, buf, sizeof buf));
    }
    if (i < min || i > max)
        return jin_bad(in, JPATH_KEY(at, key),
                        "must be between %" PRId64 " and %" PRId64
                        ", got %" PRId64, min, max, i);
    *ret = i;
    return true;
}

bool jin_get_count(struct jin *in, const struct jpath *at, const json_t *o,
                    const char *key, uint32_t min, uint32_t max,
                    uint32_t what_null, uint32_t *ret)
{
    int64_t i = *ret;

    if (json_is_null(json_object_get(o, key))) {
        *ret = what_null;
        return true;
    }
    if (!jin_get_int(in, at, o, key, min, max, &i))
        return false;
    *ret = (uint32_t)i;
    return true;
}

bool jin_get_seconds(struct jin *in, const struct jpath *at, const json_t *o,
                      const char *key, int64_t what_null, int64_t *ret_ms)
{
    const json_t *v = json_object_get(o, key);
    char buf[64];
    double d;

    if (!v)
        return true;
    if (json_is_null(v)) {
        *ret_ms = what_null;
        return true;
    }
    if (json_is_string(v) && duration_parse(json_string_value(v), ret_ms))
        return true;
    d = json_number_value(v);
    if (!json_is_number(v) || !(d >= 0) || d > (double)MS_MAX / 1000)
        return jin_bad(in, JPATH_KEY(at, key),
                        "must be seconds (60) or a duration (\"500ms\", "
                        "\"60s\", \"30m\", \"2h\"), got %s",
                        jin_found(v, buf, sizeof buf));
    *ret_ms = llround(d * 1000);
    return true;
}

bool jin_get_dollars(struct jin *in, const struct jpath *at, const json_t *o,
                      const char *key, int64_t *ret_micros)
{
    const json_t *v = json_object_get(o, key);
    char buf[64];
    double d;

    if (!v)
        return true;
    if (json_is_null(v)) {
        *ret_micros = -1;
        return true;
    }
    d = json_number_value(v);
    if (!json_is_number(v) || !(d >= 0) || d > DOLLARS_MAX)
        return jin_bad(in, JPATH_KEY(at, key),
                        "must be dollars per hour between 0 and %.0f, or null, "
                        "got %s", DOLLARS_MAX, jin_found(v, buf, sizeof buf));
    *ret_micros = llround(d * 1e6);
    return true;
}

/* ---- words */

/* A word of a fixed list; *ret is its place there. */
static bool word_read(struct jin *in, const struct jpath *at, const char *word,
                      const char *const *words, size_t n, size_t *ret)
{
    const char *near;
    char all[200] = "";

    for (*ret = 0; *ret < n; ++*ret)
        if (strcmp(words[*ret], word) == 0)
            return true;
    near = suggest(word, words, n);
    if (near)
        return jin_bad(in, at, "unknown word, did you mean \"%s\"?", near);
    for (size_t i = 0; i < n; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s",
                 i ? ", " : "", words[i]);
    return jin_bad(in, at, "unknown word; known ones: %s", all);
}

bool jin_get_word(struct jin *in, const struct jpath *at, const json_t *o,
                  const char *key, const char *(*name_of)(size_t),
                  size_t count, size_t *ret)
{
    const char *names[JIN_WORDS_MAX], *word = NULL;

    if (!jin_get_text(in, at, o, key, &word))
        return false;
    for (size_t i = 0; i < count; i++)
        names[i] = name_of(i);
    return !word || word_read(in, JPATH_KEY(at, key), word, names, count, ret);
}

/* ---- writing */

json_t *jin_seconds(int64_t ms)
{
    return ms % 1000 == 0 ? json_integer(ms / 1000)
                          : json_real((double)ms / 1000);
}

json_t *jin_dollars(int64_t micros)
{
    if (micros < 0)
        return json_null();
    return json_real((double)micros / 1e6);
}

json_t *jin_amount(int64_t amount)
{
    char buf[32];

    if (amount % AMOUNT_ONE == 0)
        return json_integer(amount / AMOUNT_ONE);
    if (amount < AMOUNT_REAL)
        return json_real(amount_to_double(amount));
    return json_string(amount_text(amount, buf, sizeof buf));
}

json_t *jin_word(const char *s)
{
    json_t *v = json_string(s ? s : "");
    char *copy;

    if (v)
        return v;
    copy = strdup(s);
    if (!copy)
        abort();
    for (char *p = copy; *p; p++)
        if ((unsigned char)*p >= 0x80)
            *p = '?';
    v = json_string(copy);
    free(copy);
    return v;
}

/* ---- text */

bool duration_parse(const char *text, int64_t *ret_ms)
{
    static const struct { const char *unit; int64_t ms; } units[] = {
        {"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"min", 60000},
        {"h", 3600000}, {"d", 86400000},
    };
    int64_t whole = 0, part = 0, scale = 1, ms = 0;
    const char *p = text;
    bool digits = false, some = false;

    /* "90s", "1.5h", and Go's "1h30m". */
    do {
        size_t n = 0, i;

        whole = part = 0;
        scale = 1;
        digits = false;
        for (; *p >= '0' && *p <= '9'; p++, digits = true) {
            whole = whole * 10 + (*p - '0');
            if (whole > MS_MAX)
                return false;
        }
        if (*p == '.')
            for (p++; *p >= '0' && *p <= '9'; p++, digits = true)
                if (scale < 1000000) {
                    part = part * 10 + (*p - '0');
                    scale *= 10;
                }
        if (!digits)
            return false;
        while (p[n] && (p[n] < '0' || p[n] > '9'))
            n++;
        for (i = 0; i < sizeof units / sizeof *units; i++)
            if (strlen(units[i].unit) == n &&
                strncmp(units[i].unit, p, n) == 0)
                break;
        if (i == sizeof units / sizeof *units || (n == 0 && some))
            return false;
        if (whole > MS_MAX / units[i].ms)
            return false;
        ms += whole * units[i].ms + part * units[i].ms / scale;
        if (ms > MS_MAX)
            return false;
        p += n;
        some = true;
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
