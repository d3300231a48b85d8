/*
 * ray_launch.h - how a Ray cluster YAML's machines are launched and join: what
 * `ray up` would do over SSH becomes settings of our provider and a script.
 */
#ifndef CONFIG_RAY_LAUNCH_H
#define CONFIG_RAY_LAUNCH_H

#include "raw.h"

/* Providers that launch what the file describes get its region or project; a
 * head on this machine is assumed when none is named, for that is where `ray
 * start --head` was. */
void ray_launch_file(struct raw *d, const struct ynode *root);
/* False, and told: the provider cannot launch this type. */
bool ray_launch_can(struct raw *d, const struct ynode *root,
                    const struct ynode *type, const char *provider);
/* node_config: and the join script of a node type, as options. */
void ray_launch_type(struct raw *d, const struct ynode *root,
                     const struct ynode *type, struct raw_type *t);

#endif
