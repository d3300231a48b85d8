/*
 * jin.h - reading JSON (jansson) into an arena, with errors that say where.
 *
 * A path is a chain of stack frames that is spelled out only when something is
 * wrong: "demands[3].resources.GPU".  Getters return true when the key is
 * absent or null (the default stays) or good, and false with err filled.
 */
#ifndef MODEL_JIN_H
#define MODEL_JIN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "../base/arena.h"
#include "../base/err.h"

#define JIN_NAME_MAX 1024       /* bytes in a name, key, value or id */
#define JIN_ITEMS_MAX 1000000   /* in one array */

struct jpath {
    const struct jpath *up;
    const char *key;             /* NULL: an index */
    size_t index;
};

struct jin {                     /* what every reader needs */
    struct arena *arena;
    struct err *err;
};

#define JPATH_KEY(parent, name) (&(struct jpath){(parent), (name), 0})
#define JPATH_AT(parent, i) (&(struct jpath){(parent), NULL, (i)})

/* Fills err with "<path>: <message>"; returns false. */
bool jin_bad(struct jin *in, const struct jpath *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* "an array", "the number -3", "the text \"abc\"": for messages. */
const char *jin_found(const json_t *v, char *buf, size_t n);

/* v is an object all of whose keys are among the n known ones. */
bool jin_object(struct jin *in, const struct jpath *at, const json_t *v,
                 const char *const *known, size_t n);
bool jin_list(struct jin *in, const struct jpath *at, const json_t *v,
               size_t max);

/* A copy in the arena; at most JIN_NAME_MAX bytes, not empty unless said. */
bool jin_text(struct jin *in, const struct jpath *at, const json_t *v,
               bool may_be_empty, const char **ret);

bool jin_get_text(struct jin *in, const struct jpath *at, const json_t *o,
                   const char *key, const char **ret);
bool jin_get_bool(struct jin *in, const struct jpath *at, const json_t *o,
                   const char *key, bool *ret);
bool jin_get_int(struct jin *in, const struct jpath *at, const json_t *o,
                  const char *key, int64_t min, int64_t max, int64_t *ret);
/* A count; what_null is taken for null: UNLIMITED where null is "no limit". */
bool jin_get_count(struct jin *in, const struct jpath *at, const json_t *o,
                    const char *key, uint32_t min, uint32_t max,
                    uint32_t what_null, uint32_t *ret);
/* Seconds as a number, or "30m": milliseconds.  null gives what_null. */
bool jin_get_seconds(struct jin *in, const struct jpath *at, const json_t *o,
                      const char *key, int64_t what_null, int64_t *ret_ms);
/* Dollars: micros.  null gives -1. */
bool jin_get_dollars(struct jin *in, const struct jpath *at, const json_t *o,
                      const char *key, int64_t *ret_micros);

#define JIN_WORDS_MAX 64         /* in one enum */
/* An enum whose names come from a function, as all of ours do. */
bool jin_get_word(struct jin *in, const struct jpath *at, const json_t *o,
                  const char *key, const char *(*name_of)(size_t),
                  size_t count, size_t *ret);
/* Reads it into field; returns false from the reader it stands in. */
#define JIN_WORD(in, at, o, key, name_of, count, type, field)                 \
    do {                                                                      \
        size_t i_ = (size_t)(field);                                          \
        if (!jin_get_word((in), (at), (o), (key), (name_of), (count), &i_))   \
            return false;                                                     \
        (field) = (type)i_;                                                   \
    } while (0)

/* Writing: the number that reads back the same. */
json_t *jin_seconds(int64_t ms);
json_t *jin_dollars(int64_t micros);
json_t *jin_amount(int64_t amount);
/* A string of ours; bytes that are not UTF-8 (from outside) become '?'. */
json_t *jin_word(const char *s);

#endif
