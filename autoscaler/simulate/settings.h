/*
 * settings.h - the columns of a simulation: each configuration with each
 * combination of the values that --set gave.
 */
#ifndef SIMULATE_SETTINGS_H
#define SIMULATE_SETTINGS_H

#include "../config/config.h"

enum { SETTINGS_MOST = 8, SETS_MOST = 16 };

struct setting { /* a column */
    const char *config_path;
    const char *label; /* what it has that others do not; "" : nothing */
    const struct conf_set *sets;
    uint32_t n_sets;
};

/* sets: "limits.idle_timeout=2m,10m"; a comma within brackets, braces or quotes
 * parts nothing.  At most SETTINGS_MOST columns come of it. */
enum status settings_make(const char *const *configs, uint32_t n_configs,
                          const char *const *sets, uint32_t n_sets,
                          struct arena *a, struct setting *ret, uint32_t *ret_n,
                          struct err *err);

#endif
