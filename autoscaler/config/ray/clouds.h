/*
 * clouds.h - what `ray up` does before it launches, cloud by cloud: what the
 * file leaves out, as settings of our provider, and what we cannot do, told by
 * line.
 */
#ifndef CONFIG_RAY_CLOUDS_H
#define CONFIG_RAY_CLOUDS_H

#include "../raw.h"

struct ray_reading { /* of one node type */
    struct raw *d;
    const struct conf_provider *provider;
    const struct ynode *root, *type, *node; /* node: its node_config, or NULL */
    const struct ynode *at;                 /* where to point for the rest */
};

struct ray_undone {        /* a key of the file that we have no use for */
    const char *map, *key; /* map: "" for the file itself */
    const char *told;      /* "X is not done: " and this */
};

struct ray_cloud {
    const char *provider; /* ours */
    /* keys of the file (map "" is the file itself), and our setting that each
     * becomes; NULL ends */
    const struct {
        const char *map, *ray, *ours;
    } settings[8];
    const struct ray_undone *undone; /* key NULL ends */
    /* bytes of a script with files in it: the cloud's own limit on user data,
     * less what our plug-in puts around it */
    size_t script_max;
    /* False, and told: machines of this type are not launched. */
    bool (*can)(const struct ray_reading *r);
    /* Fills in what Ray would have. */
    void (*settle)(const struct ray_reading *r, struct raw_type *t);
};

extern const struct ray_cloud ray_aws, ray_gcp, ray_azure;

/* Sets an option of a type, in place of one of that name. */
void ray_option_set(const struct ray_reading *r, struct raw_type *t,
                    const char *key, const char *value);

#endif
