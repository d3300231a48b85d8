/*
 * fields.h - the plain values of a struct as the keys of a JSON object.
 *
 * One table of fields says which keys there are, reads them, gives the usual
 * value to those that are absent, and writes those that are not usual: what is
 * saved cannot be forgotten when it is read.  For the codec's files only.
 */
#ifndef CODEC_FIELDS_H
#define CODEC_FIELDS_H

#include <stddef.h>

#include "reader.h"

#define TIME_MAX (INT64_C(1) << 53)

enum field_kind {
    FIELD_TEXT,    /* const char *; never NULL after reading; usual: "" */
    FIELD_BOOL,    /* bool; usual: false */
    FIELD_I64,     /* int64_t, min to max */
    FIELD_I32,     /* int32_t, any */
    FIELD_COUNT,   /* uint32_t, min to COUNT32_MAX or max; UNLIMITED: null */
    FIELD_SECONDS, /* int64_t, milliseconds */
    FIELD_DOLLARS, /* int64_t, micros */
    FIELD_WORD,    /* enum: one of the first max that name_of knows */
};

struct field {
    const char *key;
    enum field_kind kind;
    size_t at; /* offset in the struct */
    int64_t min, max, usual;
    const char *(*name_of)(size_t);
    bool always; /* written when it is usual, too */
};

/* v is an object with the keys of these fields and the others only. */
bool fields_known(struct reader *in, const struct path *at, const json_t *v,
                  const struct field *fields, size_t n,
                  const char *const *others, size_t n_others);
/* Reads what v has of them; the rest of *ret stays. */
bool fields_get(struct reader *in, const struct path *at, const json_t *v,
                const struct field *fields, size_t n, void *ret);
/* Both; what v lacks becomes usual. */
bool fields_read(struct reader *in, const struct path *at, const json_t *v,
                 const struct field *fields, size_t n,
                 const char *const *others, size_t n_others, void *ret);
void fields_write(json_t *o, const struct field *fields, size_t n,
                  const void *from);

/* Writes it unless it is "" or NULL. */
void put_text(json_t *o, const char *key, const char *s);

#endif
