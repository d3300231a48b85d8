/*
 * fields.c - see fields.h.
 */
#include "fields.h"

#include <assert.h>
#include <string.h>

#include "../model/snapshot.h"
#include "codec.h"
#include "inside.h"

enum { KEYS_MAX = 64 };

static void usual_set(const struct field *f, void *to, int64_t v)
{
    switch (f->kind) {
    case FIELD_TEXT: *(const char **)to = ""; break;
    case FIELD_BOOL: *(bool *)to = v != 0; break;
    case FIELD_I32: *(int32_t *)to = (int32_t)v; break;
    case FIELD_COUNT:
    case FIELD_WORD: /* an enum of ours has no negative value */
        *(unsigned *)to = (unsigned)v;
        break;
    case FIELD_I64:
    case FIELD_SECONDS:
    case FIELD_DOLLARS: *(int64_t *)to = v; break;
    }
}

static int64_t number_of(const struct field *f, const void *from)
{
    switch (f->kind) {
    case FIELD_BOOL: return *(const bool *)from;
    case FIELD_I32: return *(const int32_t *)from;
    case FIELD_COUNT:
    case FIELD_WORD: return *(const unsigned *)from;
    default: return *(const int64_t *)from;
    }
}

static bool field_get(struct reader *in, const struct path *at, const json_t *v,
                      const struct field *f, void *to)
{
    int64_t i;
    size_t word;

    switch (f->kind) {
    case FIELD_TEXT: return reader_get_text(in, at, v, f->key, to);
    case FIELD_BOOL: return reader_get_bool(in, at, v, f->key, to);
    case FIELD_I64:
        return reader_get_int(in, at, v, f->key, f->min, f->max, to);
    case FIELD_I32:
        i = *(int32_t *)to;
        if (!reader_get_int(in, at, v, f->key, INT32_MIN, INT32_MAX, &i))
            return false;
        *(int32_t *)to = (int32_t)i;
        return true;
    case FIELD_COUNT:
        return reader_get_count(in, at, v, f->key, (uint32_t)f->min,
                                f->max ? (uint32_t)f->max : COUNT32_MAX,
                                (uint32_t)f->usual, to);
    case FIELD_SECONDS:
        return reader_get_seconds(in, at, v, f->key, f->usual, to);
    case FIELD_DOLLARS: return reader_get_dollars(in, at, v, f->key, to);
    case FIELD_WORD:
        word = *(unsigned *)to;
        if (!reader_get_word(in, at, v, f->key, f->name_of, (size_t)f->max,
                             &word))
            return false;
        *(unsigned *)to = (unsigned)word;
        return true;
    }
    return false;
}

bool fields_get(struct reader *in, const struct path *at, const json_t *v,
                const struct field *fields, size_t n, void *ret)
{
    for (size_t i = 0; i < n; i++)
        if (!field_get(in, at, v, &fields[i], (char *)ret + fields[i].at))
            return false;
    return true;
}

bool fields_known(struct reader *in, const struct path *at, const json_t *v,
                  const struct field *fields, size_t n,
                  const char *const *others, size_t n_others)
{
    const char *keys[KEYS_MAX];

    assert(n + n_others <= KEYS_MAX);
    for (size_t i = 0; i < n; i++)
        keys[i] = fields[i].key;
    for (size_t i = 0; i < n_others; i++)
        keys[n + i] = others[i];
    return reader_object(in, at, v, keys, n + n_others);
}

bool fields_read(struct reader *in, const struct path *at, const json_t *v,
                 const struct field *fields, size_t n,
                 const char *const *others, size_t n_others, void *ret)
{
    for (size_t i = 0; i < n; i++)
        usual_set(&fields[i], (char *)ret + fields[i].at, fields[i].usual);
    return fields_known(in, at, v, fields, n, others, n_others) &&
           fields_get(in, at, v, fields, n, ret);
}

static json_t *value_of(const struct field *f, int64_t v)
{
    switch (f->kind) {
    case FIELD_BOOL: return json_boolean(v);
    case FIELD_SECONDS: return v < 0 ? json_null() : codec_seconds(v);
    case FIELD_DOLLARS: return codec_dollars(v);
    case FIELD_WORD: return json_string(f->name_of((size_t)v));
    case FIELD_COUNT: return v == UNLIMITED ? json_null() : json_integer(v);
    default: return json_integer(v);
    }
}

void fields_write(json_t *o, const struct field *fields, size_t n,
                  const void *from)
{
    for (size_t i = 0; i < n; i++) {
        const struct field *f = &fields[i];
        const void *at = (const char *)from + f->at;

        if (f->kind == FIELD_TEXT)
            put_text(o, f->key, *(const char *const *)at);
        else if (f->always || number_of(f, at) != f->usual)
            json_object_set_new(o, f->key, value_of(f, number_of(f, at)));
    }
}

void put_text(json_t *o, const char *key, const char *s)
{
    if (s && s[0])
        json_object_set_new(o, key, codec_text(s));
}
