/*
 * out.c - see out.h.
 */
#include "out.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "../base/text.h"
#include "../model/amount.h"
#include "../model/snapshot.h"

void out_init(struct out *o, struct buf *b)
{
    *o = (struct out){.b = b};
}

/* Nothing that a terminal obeys leaves raw, also behind curl. */
static void put_string(struct buf *b, const char *text)
{
    size_t left = strlen(text);
    const char *s = text, *run = text;

    buf_add(b, "\"", 1);
    while (left) {
        size_t n = text_plain(s, left);
        char shown[8];

        if (n > 0 && *s != '"' && *s != '\\') {
            s += n;
            left -= n;
            continue;
        }
        buf_add(b, run, (size_t)(s - run));
        if (n > 0)
            snprintf(shown, sizeof shown, "\\%c", *s);
        else if (*s == '\n' || *s == '\t')
            snprintf(shown, sizeof shown, "\\%c", *s == '\n' ? 'n' : 't');
        else
            n = text_escape(s, left, shown);
        n = n ? n : 1;
        buf_str(b, shown);
        s += n;
        left -= n;
        run = s;
    }
    buf_add(b, run, (size_t)(s - run));
    buf_add(b, "\"", 1);
}

static void begin(struct out *o, const char *key)
{
    assert((bool)key == (o->depth > 0 && o->close[o->depth - 1] == '}'));
    if (o->more)
        buf_add(o->b, ",", 1);
    o->more = true;
    if (key) {
        put_string(o->b, key);
        buf_add(o->b, ":", 1);
    }
}

static void open_one(struct out *o, const char *key, const char *mark,
                     char close)
{
    begin(o, key);
    assert(o->depth < OUT_DEPTH);
    o->close[o->depth++] = close;
    o->more = false;
    buf_add(o->b, mark, 1);
}

void out_object(struct out *o, const char *key)
{
    open_one(o, key, "{", '}');
}

void out_array(struct out *o, const char *key)
{
    open_one(o, key, "[", ']');
}

void out_close(struct out *o)
{
    assert(o->depth > 0);
    buf_add(o->b, &o->close[--o->depth], 1);
    o->more = true;
}

void out_str(struct out *o, const char *key, const char *s)
{
    begin(o, key);
    put_string(o->b, s ? s : "");
}

void out_strf(struct out *o, const char *key, const char *fmt, ...)
{
    va_list ap;
    char *s = NULL;

    va_start(ap, fmt);
    if (vasprintf(&s, fmt, ap) < 0)
        s = NULL;
    va_end(ap);
    out_str(o, key, s);
    free(s);
}

void out_int(struct out *o, const char *key, int64_t v)
{
    char text[24];

    begin(o, key);
    buf_add(o->b, text, (size_t)snprintf(text, sizeof text, "%" PRId64, v));
}

void out_uint(struct out *o, const char *key, uint64_t v)
{
    char text[24];

    begin(o, key);
    buf_add(o->b, text, (size_t)snprintf(text, sizeof text, "%" PRIu64, v));
}

void out_bool(struct out *o, const char *key, bool v)
{
    begin(o, key);
    buf_str(o->b, v ? "true" : "false");
}

void out_null(struct out *o, const char *key)
{
    begin(o, key);
    buf_str(o->b, "null");
}

void out_raw(struct out *o, const char *key, const char *json)
{
    begin(o, key);
    buf_plain(o->b, json);
}

char *out_decimal(int64_t v, int64_t parts, char *buf)
{
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    uint64_t frac = u % (uint64_t)parts, step = (uint64_t)parts / 10;
    int n = snprintf(buf, 24, "%s%" PRIu64, v < 0 ? "-" : "",
                     u / (uint64_t)parts);

    if (frac > 0)
        buf[n++] = '.';
    for (; frac > 0; step /= 10) {
        buf[n++] = (char)('0' + frac / step);
        frac %= step;
    }
    buf[n] = '\0';
    return buf;
}

static void put_decimal(struct out *o, const char *key, int64_t v,
                        int64_t parts)
{
    char text[32];

    begin(o, key);
    buf_str(o->b, out_decimal(v, parts, text));
}

void out_micros(struct out *o, const char *key, int64_t v)
{
    put_decimal(o, key, v, 1000000);
}

void out_amount(struct out *o, const char *key, int64_t v)
{
    put_decimal(o, key, v, AMOUNT_ONE);
}

void out_seconds(struct out *o, const char *key, int64_t ms)
{
    put_decimal(o, key, ms, 1000);
}

void out_time(struct out *o, const char *key, int64_t wall_ms)
{
    char text[40];

    if (wall_ms == 0)
        out_null(o, key);
    else
        out_str(o, key, clock_iso(wall_ms, text, sizeof text));
}

void out_str_or_null(struct out *o, const char *key, const char *s)
{
    if (s)
        out_str(o, key, s);
    else
        out_null(o, key);
}

void out_limit(struct out *o, const char *key, uint32_t v)
{
    if (v == UNLIMITED)
        out_null(o, key);
    else
        out_uint(o, key, v);
}

void out_seconds_or_null(struct out *o, const char *key, int64_t ms)
{
    if (ms < 0)
        out_null(o, key);
    else
        out_seconds(o, key, ms);
}

void out_micros_or_null(struct out *o, const char *key, int64_t v)
{
    if (v < 0)
        out_null(o, key);
    else
        out_micros(o, key, v);
}
