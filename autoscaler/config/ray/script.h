/*
 * script.h - what `ray up` runs on a new machine over SSH, as one script that
 * the machine runs by itself.
 */
#ifndef CONFIG_RAY_SCRIPT_H
#define CONFIG_RAY_SCRIPT_H

#include "../../base/buf.h"
#include "../yaml.h"

struct ray_mounts;

/* Appends the script of a node type of a Ray cluster YAML, for bash; with the
 * files of mounts, whose archive may be "". */
void ray_script(struct buf *b, const struct ynode *root,
                const struct ynode *type, const struct ray_mounts *mounts);
/* Appends text as one word of a shell. */
void ray_script_quoted(struct buf *b, const char *text);

#endif
