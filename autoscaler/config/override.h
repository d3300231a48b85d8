/*
 * override.h - single settings put in place of those of a file.
 */
#ifndef CONFIG_OVERRIDE_H
#define CONFIG_OVERRIDE_H

#include "config.h"
#include "yaml.h"

/* Each path is keys of mappings with points between them; what lacks on the way
 * is made.  The values are YAML.  A list, or what is no mapping, in the way is a
 * mistake of the path.  *docs: the same with them, the original is not changed. */
void override_apply(struct arena *a, struct yaml_docs *docs,
                    const struct conf_set *sets, uint32_t n, struct diag *d);

#endif
