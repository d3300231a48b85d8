/*
 * reader.h - reading JSON (jansson) into an arena, with errors that say where.
 *
 * A path is a chain of stack frames that is spelled out only when something is
 * wrong: "demands[3].resources.GPU".  Getters return true when the key is
 * absent or null (the default stays) or good, and false with err filled.
 */
#ifndef CODEC_READER_H
#define CODEC_READER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "../base/arena.h"
#include "../base/err.h"

#define READER_NAME_MAX 1024 /* bytes in a name, key, value or id */
#define COUNT(v) (sizeof(v) / sizeof *(v))
#define READER_ITEMS_MAX 1000000 /* in one array */

struct path {
    const struct path *up;
    const char *key; /* NULL: an index */
    size_t index;
};

struct reader { /* what every reader needs */
    struct arena *arena;
    struct err *err;
};

#define PATH_KEY(parent, name) (&(struct path){(parent), (name), 0})
#define PATH_AT(parent, i) (&(struct path){(parent), NULL, (i)})

/* Fills err with "<path>: <message>"; returns false. */
bool reader_bad(struct reader *in, const struct path *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* "an array", "the number -3", "the text \"abc\"": for messages. */
const char *reader_found(const json_t *v, char *buf, size_t n);

/* v is an object all of whose keys are among the n known ones. */
bool reader_object(struct reader *in, const struct path *at, const json_t *v,
                   const char *const *known, size_t n);
/* v is an object with any keys; example is shown when it is none. */
bool reader_map(struct reader *in, const struct path *at, const json_t *v,
                const char *example);
/* The value under a key; NULL: there is none, or null. */
const json_t *reader_value(const json_t *o, const char *key);
bool reader_list(struct reader *in, const struct path *at, const json_t *v,
                 size_t max);

/* The entries of an array, each read into an item of this size by fn, which
 * finds there what usual points to, or zeros. */
struct reader_items {
    void *v;
    uint32_t n;
};
typedef bool reader_fn(struct reader *in, const struct path *at,
                       const json_t *v, void *item);
bool reader_array(struct reader *in, const struct path *at, const json_t *v,
                  reader_fn *fn, const void *usual, size_t size,
                  struct reader_items *ret);
/* The same under a key; absent or null: *ret stays. */
bool reader_items(struct reader *in, const struct path *at, const json_t *o,
                  const char *key, reader_fn *fn, const void *usual,
                  size_t size, struct reader_items *ret);

/* A copy in the arena, of at most READER_NAME_MAX bytes. */
bool reader_text(struct reader *in, const struct path *at, const json_t *v,
                 bool may_be_empty, const char **ret);

bool reader_get_text(struct reader *in, const struct path *at, const json_t *o,
                     const char *key, const char **ret);
bool reader_get_bool(struct reader *in, const struct path *at, const json_t *o,
                     const char *key, bool *ret);
bool reader_get_int(struct reader *in, const struct path *at, const json_t *o,
                    const char *key, int64_t min, int64_t max, int64_t *ret);
/* A count; what_null is taken for null: UNLIMITED where null is "no limit". */
bool reader_get_count(struct reader *in, const struct path *at, const json_t *o,
                      const char *key, uint32_t min, uint32_t max,
                      uint32_t what_null, uint32_t *ret);
/* A number from 0 to max, times scale and rounded.  null gives what_null; must
 * says what it must be. */
bool reader_get_scaled(struct reader *in, const struct path *at,
                       const json_t *o, const char *key, double max,
                       double scale, int64_t what_null, const char *must,
                       int64_t *ret);
/* Seconds as a number, or "30m": milliseconds.  null gives what_null. */
bool reader_get_seconds(struct reader *in, const struct path *at,
                        const json_t *o, const char *key, int64_t what_null,
                        int64_t *ret_ms);
/* Dollars: micros.  null gives -1. */
bool reader_get_dollars(struct reader *in, const struct path *at,
                        const json_t *o, const char *key, int64_t *ret_micros);

#define READER_WORDS_MAX 80 /* in one enum */
/* An enum whose names come from a function, as all of ours do. */
bool reader_get_word(struct reader *in, const struct path *at, const json_t *o,
                     const char *key, const char *(*name_of)(size_t),
                     size_t count, size_t *ret);
/* Reads it into field; on a mistake the calling function returns false. */
#define READER_WORD(in, at, o, key, name_of, count, type, field) \
    do { \
        size_t i_ = (size_t)(field); \
        if (!reader_get_word((in), (at), (o), (key), (name_of), (count), &i_)) \
            return false; \
        (field) = (type)i_; \
    } while (0)

#endif
