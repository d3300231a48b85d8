/*
 * defaults.h - what Ray fills in where a cluster YAML says nothing.
 */
#ifndef CONFIG_RAY_DEFAULTS_H
#define CONFIG_RAY_DEFAULTS_H

#include "../raw.h"

/* The file with them; itself when it says all of them, is of another cloud, or
 * of an older Ray (head_node). */
const struct ynode *ray_defaults(struct raw *d, const struct ynode *root);

#endif
