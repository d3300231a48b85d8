/*
 * grammar.h - the configuration language as tables: key, type, range, help.
 *
 * One table drives the reading, the messages and the check that docs/config.md
 * names every key.  A value that does not fit is reported and left at its
 * default; reading goes on, so that all mistakes of a file are reported at once.
 */
#ifndef CONFIG_GRAMMAR_H
#define CONFIG_GRAMMAR_H

#include <stddef.h>

#include "config.h"
#include "diag.h"
#include "yaml.h"

struct reader {
    struct arena *arena;
    struct diag *diag;
    const char *base; /* folder that paths in the file start from */
    void *ctx;        /* the dialect's own */
};

/*   enum, C type of the target */
enum key_type {
    KEY_TEXT,   /* const char *: any text that is not empty */
    KEY_NAME,   /* const char *: letters, digits, . _ -; max of them */
    KEY_FILE,   /* const char *: a path that davit reads, from base */
    KEY_PATH,   /* const char *: a path as it is */
    KEY_BOOL,   /* bool */
    KEY_COUNT,  /* uint32_t, min..max; word gives UNLIMITED */
    KEY_INT,    /* int32_t, min..max */
    KEY_TIME,   /* int64_t milliseconds, min..max; word gives word_value */
    KEY_MONEY,  /* int64_t micro-dollars; word gives -1 */
    KEY_FACTOR, /* int64_t in 1/10,000 */
    KEY_POLICY, /* enum policy */
    KEY_KEYS,   /* a mapping with the keys of keys, same target */
    KEY_CUSTOM, /* read() */
};

struct key {
    const char *name;
    enum key_type type;
    size_t offset; /* of the member in the target */
    int64_t min, max;
    const char *word; /* a word that is allowed too: "never" */
    int64_t word_value;
    const struct key *keys; /* KEY_KEYS */
    void (*read)(struct reader *r, const struct ynode *v, const char *where,
                 void *target); /* KEY_CUSTOM */
    const char *help;           /* one line; what docs/config.md says */
};

#define KEYS_END \
    { \
        .name = NULL \
    }

/* A keys table from a mapping; where is its dotted name, "" for the file. */
void grammar_read(struct reader *r, const struct key *keys,
                  const struct ynode *map, const char *where, void *target);
/* The same in a file of another dialect: keys that are not ours are passed
 * over. */
void grammar_read_some(struct reader *r, const struct key *keys,
                       const struct ynode *map, const char *where,
                       void *target);
/* Is v a mapping?  False when it is not given (NULL, null), or after a report;
 * like goes on behind "a mapping" there: " such as {CPU: 1}", or "". */
bool grammar_map(struct reader *r, const struct ynode *v, const char *where,
                 const char *like);
/* One value by its key's type and range.  Null means: not given. */
void grammar_value(struct reader *r, const struct key *key,
                   const struct ynode *v, const char *where, void *target);

/* Is this key fit as a name of at most max bytes?  False after a report. */
bool grammar_name(struct reader *r, const struct ynode *key, const char *where,
                  int64_t max);

/* "limits" + "max_nodes" -> "limits.max_nodes". */
const char *grammar_where(struct reader *r, const char *where, const char *key);
/* "a, b or c" of words; n at least 1. */
const char *grammar_or(struct arena *arena, const char *const *words, size_t n);
/* "; did you mean "x"?" or "" */
const char *grammar_hint(struct arena *arena, const char *word,
                         const char *const *words, size_t n);
/* "a.b" -> "c" from a mapping of anything; items of lists are numbered. */
const struct conf_pair *grammar_flatten(struct reader *r,
                                        const struct ynode *map,
                                        const char *where, const char *except,
                                        uint32_t *ret_n);
/* The same of any node, under a key: "node_config.Ebs.0.Size". */
const struct conf_pair *grammar_flatten_under(struct reader *r,
                                              const struct ynode *v,
                                              const char *key, uint32_t *ret_n);
/* A name, or a list of names, none empty. */
struct names grammar_names(struct reader *r, const struct ynode *v,
                           const char *where);
/* Labels and the like: a mapping of texts. */
struct pairs grammar_pairs(struct reader *r, const struct ynode *map,
                           const char *where);

/* "12.5" dollars to micro-dollars; false when it is no such number. */
bool money_parse(const char *text, int64_t *ret_micros);
/* A path relative to folder, "~/" meaning $HOME; in the arena. */
const char *path_resolve(struct arena *arena, const char *folder,
                         const char *path);

#endif
