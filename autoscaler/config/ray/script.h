/*
 * script.h - what `ray up` runs on a new machine over SSH, as one script that
 * the machine runs by itself.
 */
#ifndef CONFIG_RAY_SCRIPT_H
#define CONFIG_RAY_SCRIPT_H

#include "../../base/buf.h"
#include "../yaml.h"

/* Appends the script of a node type of a Ray cluster YAML, for bash. */
void ray_script(struct buf *b, const struct ynode *root,
                const struct ynode *type);

#endif
