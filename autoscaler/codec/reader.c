/*
 * reader.c - see reader.h.
 */
#include "reader.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../base/suggest.h"
#include "codec.h"

#define MS_MAX (INT64_C(1) << 53)

/* ---- errors */

/* A key as it may be shown: short, and nothing that disturbs a terminal. */
static const char *shown(const char *key, char *buf, size_t n)
{
    size_t i;

    for (i = 0; key[i] && i + 1 < n; i++)
        buf[i] = (unsigned char)key[i] < 0x20 || key[i] == 0x7f ? '?' : key[i];
    while (i > 0 && key[i] && ((unsigned char)key[i] & 0xc0) == 0x80)
        i--; /* not in the middle of a character */
    buf[i] = '\0';
    return buf;
}

static size_t path_text(const struct path *at, char *buf, size_t n)
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

bool reader_bad(struct reader *in, const struct path *at, const char *fmt, ...)
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

const char *reader_found(const json_t *v, char *buf, size_t n)
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
    case JSON_REAL: snprintf(buf, n, "%.10g", json_real_value(v)); return buf;
    }
    return "something else";
}

bool reader_object(struct reader *in, const struct path *at, const json_t *v,
                   const char *const *known, size_t n)
{
    char buf[64];
    const char *key, *near;
    json_t *value;

    if (!json_is_object(v))
        return reader_bad(in, at, "must be an object, got %s",
                          reader_found(v, buf, sizeof buf));
    json_object_foreach((json_t *)v, key, value) {
        size_t i = 0;

        (void)value;
        while (i < n && strcmp(known[i], key) != 0)
            i++;
        if (i < n)
            continue;
        near = suggest(key, known, n);
        if (near)
            return reader_bad(in, PATH_KEY(at, key),
                              "unknown key, did you mean \"%s\"?", near);
        return reader_bad(in, PATH_KEY(at, key), "unknown key");
    }
    return true;
}

bool reader_map(struct reader *in, const struct path *at, const json_t *v,
                const char *example)
{
    char buf[64];

    return json_is_object(v) ||
           reader_bad(in, at, "must be an object such as %s, got %s", example,
                      reader_found(v, buf, sizeof buf));
}

const json_t *reader_value(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);

    return json_is_null(v) ? NULL : v;
}

bool reader_list(struct reader *in, const struct path *at, const json_t *v,
                 size_t max)
{
    char buf[64];

    if (!json_is_array(v))
        return reader_bad(in, at, "must be an array, got %s",
                          reader_found(v, buf, sizeof buf));
    if (json_array_size(v) > max)
        return reader_bad(in, at, "has %zu entries, at most %zu are allowed",
                          json_array_size(v), max);
    return true;
}

bool reader_array(struct reader *in, const struct path *at, const json_t *v,
                  reader_fn *fn, const void *usual, size_t size,
                  struct reader_items *ret)
{
    char *items;
    size_t i;
    json_t *e;

    if (!reader_list(in, at, v, READER_ITEMS_MAX))
        return false;
    items = arena_alloc(in->arena, json_array_size(v) * size);
    json_array_foreach(v, i, e) {
        if (usual)
            memcpy(items + i * size, usual, size);
        if (!fn(in, PATH_AT(at, i), e, items + i * size))
            return false;
    }
    *ret = (struct reader_items){items, (uint32_t)json_array_size(v)};
    return true;
}

bool reader_items(struct reader *in, const struct path *at, const json_t *o,
                  const char *key, reader_fn *fn, const void *usual,
                  size_t size, struct reader_items *ret)
{
    const json_t *v = reader_value(o, key);

    return !v || reader_array(in, PATH_KEY(at, key), v, fn, usual, size, ret);
}

/* ---- reading */

bool reader_text(struct reader *in, const struct path *at, const json_t *v,
                 bool may_be_empty, const char **ret)
{
    char buf[64];
    size_t n = json_string_length(v);

    if (!json_is_string(v))
        return reader_bad(in, at, "must be text, got %s",
                          reader_found(v, buf, sizeof buf));
    if (n == 0 && !may_be_empty)
        return reader_bad(in, at, "must not be empty");
    if (n > READER_NAME_MAX)
        return reader_bad(in, at, "has %zu bytes, at most %d are allowed", n,
                          READER_NAME_MAX);
    *ret = arena_strndup(in->arena, json_string_value(v), n);
    return true;
}

bool reader_get_text(struct reader *in, const struct path *at, const json_t *o,
                     const char *key, const char **ret)
{
    const json_t *v = reader_value(o, key);

    return !v || reader_text(in, PATH_KEY(at, key), v, true, ret);
}

bool reader_get_bool(struct reader *in, const struct path *at, const json_t *o,
                     const char *key, bool *ret)
{
    const json_t *v = reader_value(o, key);
    char buf[64];

    if (!v)
        return true;
    if (!json_is_boolean(v))
        return reader_bad(in, PATH_KEY(at, key),
                          "must be true or false, got %s",
                          reader_found(v, buf, sizeof buf));
    *ret = json_is_true(v);
    return true;
}

bool reader_get_int(struct reader *in, const struct path *at, const json_t *o,
                    const char *key, int64_t min, int64_t max, int64_t *ret)
{
    const json_t *v = reader_value(o, key);
    char buf[64];
    double d = json_real_value(v);
    int64_t i;

    if (!v)
        return true;
    if (json_is_integer(v)) {
        i = json_integer_value(v);
    } else if (json_is_real(v) && fabs(d) <= 9007199254740992.0 &&
               d == floor(d)) {
        /* Other languages write 3.0 and 1e3 for whole numbers. */
        i = (int64_t)d;
    } else {
        return reader_bad(in, PATH_KEY(at, key),
                          "must be a whole number, got %s",
                          reader_found(v, buf, sizeof buf));
    }
    if (i < min || i > max)
        return reader_bad(in, PATH_KEY(at, key),
                          "must be between %" PRId64 " and %" PRId64
                          ", got %" PRId64,
                          min, max, i);
    *ret = i;
    return true;
}

bool reader_get_count(struct reader *in, const struct path *at, const json_t *o,
                      const char *key, uint32_t min, uint32_t max,
                      uint32_t what_null, uint32_t *ret)
{
    int64_t i = *ret;

    if (json_is_null(json_object_get(o, key))) {
        *ret = what_null;
        return true;
    }
    if (!reader_get_int(in, at, o, key, min, max, &i))
        return false;
    *ret = (uint32_t)i;
    return true;
}

bool reader_get_scaled(struct reader *in, const struct path *at,
                       const json_t *o, const char *key, double max,
                       double scale, int64_t what_null, const char *must,
                       int64_t *ret)
{
    const json_t *v = json_object_get(o, key);
    double d = json_number_value(v);
    char buf[64];

    if (!v)
        return true;
    if (json_is_null(v)) {
        *ret = what_null;
        return true;
    }
    if (!json_is_number(v) || !(d >= 0) || d > max)
        return reader_bad(in, PATH_KEY(at, key), "must be %s, got %s", must,
                          reader_found(v, buf, sizeof buf));
    *ret = llround(d * scale);
    return true;
}

bool reader_get_seconds(struct reader *in, const struct path *at,
                        const json_t *o, const char *key, int64_t what_null,
                        int64_t *ret_ms)
{
    const json_t *v = json_object_get(o, key);

    if (json_is_string(v) && duration_parse(json_string_value(v), ret_ms))
        return true;
    return reader_get_scaled(
        in, at, o, key, (double)MS_MAX / 1000, 1000, what_null,
        "seconds (60) or a duration (\"500ms\", \"60s\", \"30m\", \"2h\")",
        ret_ms);
}

bool reader_get_dollars(struct reader *in, const struct path *at,
                        const json_t *o, const char *key, int64_t *ret_micros)
{
    return reader_get_scaled(in, at, o, key, 1e6, 1e6, -1,
                             "dollars per hour between 0 and 1000000, or null",
                             ret_micros);
}

/* ---- names of enums */

/* A word of a fixed list; *ret is its place there. */
static bool word_read(struct reader *in, const struct path *at,
                      const char *word, const char *const *words, size_t n,
                      size_t *ret)
{
    const char *near;
    char all[200] = "";

    for (*ret = 0; *ret < n; ++*ret)
        if (strcmp(words[*ret], word) == 0)
            return true;
    near = suggest(word, words, n);
    if (near)
        return reader_bad(in, at, "unknown word, did you mean \"%s\"?", near);
    for (size_t i = 0; i < n; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s",
                 i ? ", " : "", words[i]);
    return reader_bad(in, at, "unknown word; known ones: %s", all);
}

bool reader_get_word(struct reader *in, const struct path *at, const json_t *o,
                     const char *key, const char *(*name_of)(size_t),
                     size_t count, size_t *ret)
{
    const char *names[READER_WORDS_MAX], *word = NULL;

    if (!reader_get_text(in, at, o, key, &word))
        return false;
    for (size_t i = 0; i < count; i++)
        names[i] = name_of(i);
    return !word || word_read(in, PATH_KEY(at, key), word, names, count, ret);
}
