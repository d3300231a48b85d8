/*
 * yaml.h - YAML text to a tree of nodes that know their line and column.
 *
 * Written on libyaml's events.  Anchors, aliases and merge keys are resolved;
 * a key given twice is a mistake.  Text, depth, nodes and what aliases expand
 * to have ceilings, so that a walk over the tree is always short.  All of it
 * lives in the arena; aliased nodes are shared, hence read only.
 */
#ifndef CONFIG_YAML_H
#define CONFIG_YAML_H

#include <stdbool.h>
#include <stdint.h>

#include "../base/arena.h"
#include "../base/err.h"
#include "diag.h"

#define YAML_MAX_TEXT (4u << 20)
#define YAML_MAX_DEPTH 64u
#define YAML_MAX_NODES 200000u /* aliases count as what they stand for */
#define YAML_MAX_DOCS 64u
#define YAML_MAX_MERGED 256u /* keys of a mapping that uses << */

enum ynode_kind { YNODE_NULL, YNODE_TEXT, YNODE_LIST, YNODE_MAP };

struct ynode {
    enum ynode_kind kind;
    bool quoted;                /* TEXT that was not plain: never a number */
    bool literal;               /* TEXT of a block "|": its lines are the
                                 * file's, from the next one on */
    uint32_t line, column;      /* from 1 */
    uint32_t weight;            /* nodes in it, aliases expanded */
    uint32_t n;                 /* items or pairs */
    const char *text;           /* TEXT and NULL as written; else "" */
    struct ynode *const *items; /* LIST */
    const struct ypair *pairs;  /* MAP, in the order of the file */
};

struct ypair {
    const struct ynode *key; /* always TEXT */
    const struct ynode *value;
};

struct yaml_docs {
    struct ynode *const *v; /* empty documents are left out */
    uint32_t n;
};

/* Mistakes go to d; the result is what could be read before the first. */
enum status yaml_read(struct arena *arena, const char *text, size_t n,
                      struct diag *d, struct yaml_docs *ret);

/* The value of a key, or NULL: no such key, or map is not a mapping. */
const struct ynode *ynode_get(const struct ynode *map, const char *key);
/* v when it is a mapping, else NULL. */
const struct ynode *ynode_map(const struct ynode *v);
/* ynode_get() over a path of keys; NULL ends it. */
const struct ynode *ynode_path(const struct ynode *map, ...)
    __attribute__((sentinel));
/* "a mapping", "a list", "nothing", or the text in quotes. */
const char *ynode_shown(struct arena *arena, const struct ynode *v);

#endif
