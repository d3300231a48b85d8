/*
 * ray_launch.h - how a Ray cluster YAML's machines are launched and join: what
 * `ray up` would do over SSH becomes settings of our provider and a script.
 */
#ifndef CONFIG_RAY_LAUNCH_H
#define CONFIG_RAY_LAUNCH_H

#include "raw.h"

/* The provider ec2 gets the file's region; a head on this machine is assumed
 * when none is named, for that is where `ray start --head` was. */
void ray_launch_file(struct raw *d, const struct ynode *root);
/* node_config: and the join script of a node type, as options. */
void ray_launch_type(struct raw *d, const struct ynode *root,
                     const struct ynode *type, struct raw_type *t);

#endif
