/*
 * out.h - JSON written straight into a buffer.
 *
 * The views are large and rendered often; a tree of jansson values would cost
 * more than the views themselves.  Commas and nesting are kept here, so that a
 * caller cannot write something that is not JSON: strings from outside are
 * escaped, bytes that are no UTF-8 become U+FFFD.  key is NULL in an array.
 */
#ifndef API_OUT_H
#define API_OUT_H

#include <stdbool.h>
#include <stdint.h>

#include "../base/buf.h"

#define OUT_DEPTH 24

struct out {
    struct buf *b;
    uint32_t depth;
    bool more;             /* a value was written at this depth */
    char close[OUT_DEPTH]; /* '}' or ']' of each open one */
};

void out_init(struct out *o, struct buf *b);
void out_object(struct out *o, const char *key);
void out_array(struct out *o, const char *key);
void out_close(struct out *o); /* the innermost */

void out_str(struct out *o, const char *key, const char *s); /* NULL: "" */
void out_strf(struct out *o, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void out_int(struct out *o, const char *key, int64_t v);
void out_uint(struct out *o, const char *key, uint64_t v);
void out_bool(struct out *o, const char *key, bool v);
void out_null(struct out *o, const char *key);
void out_raw(struct out *o, const char *key, const char *json);

/* Exact decimals of a whole number of parts: 350000 micros are 0.35. */
void out_micros(struct out *o, const char *key, int64_t v);
void out_amount(struct out *o, const char *key, int64_t v);   /* 1/10,000 */
void out_seconds(struct out *o, const char *key, int64_t ms); /* 1500: 1.5 */
/* What is not known or without limit is null: -1, NULL, UNLIMITED. */
void out_micros_or_null(struct out *o, const char *key, int64_t v);
void out_seconds_or_null(struct out *o, const char *key, int64_t ms);
void out_str_or_null(struct out *o, const char *key, const char *s);
void out_limit(struct out *o, const char *key, uint32_t v);
/* Wall time as RFC 3339; 0 is null. */
void out_time(struct out *o, const char *key, int64_t wall_ms);

/* "0.35" from 350000: shortest exact decimal; buf of at least 24 bytes. */
char *out_decimal(int64_t v, int64_t parts, char *buf);

#endif
