/*
 * defaults.h - what Ray fills in where a cluster YAML names no node types.
 */
#ifndef CONFIG_RAY_DEFAULTS_H
#define CONFIG_RAY_DEFAULTS_H

#include "../raw.h"

/* The file with them; itself when it names its types, or is of another cloud. */
const struct ynode *ray_defaults(struct raw *d, const struct ynode *root);

#endif
