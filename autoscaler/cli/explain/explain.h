/*
 * explain.h - the keys of the configuration, for people.
 *
 * The one table of what a key means, takes and defaults to is docs/config.md,
 * which is part of the program; unit tests hold it against the tables that read
 * a configuration (config/grammar.h).  Examples are in examples.c, each held
 * against `davit validate`.  Thread: main.
 */
#ifndef CLI_EXPLAIN_EXPLAIN_H
#define CLI_EXPLAIN_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "../../base/arena.h"

struct explained {
    const char *key; /* in full: "head.ray.address", "node_types.NAME.max" */
    const char *takes, *dflt, *meaning; /* plain text */
    const char *example;                /* YAML, one line or several */
};

struct explained_list {
    struct explained *v;
    uint32_t n;
};

/* All keys, in the order of docs/config.md; in the arena. */
struct explained_list explain_all(struct arena *a);
/* Does a key as a person writes it name this one?  "idle_timeout" names it at
 * every place, "node_types.t4.max" stands for node_types.NAME.max. */
bool explain_names(const struct explained *e, const char *asked);
/* NULL: there is none. */
const char *explain_example(const char *key);

#endif
