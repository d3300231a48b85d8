/*
 * azure.c - a Ray cluster YAML of azure: what ray/autoscaler/_private/_azure/
 * {config,node_provider}.py fill in.  The network, the security group and the
 * identity are those that `ray up` made for the head: the plug-in names them by
 * cluster_name and unique_id.
 */
#include <string.h>

#include "clouds.h"

static const struct ray_undone undone[] = {
    {"provider", "tags",
     "they are of the resource group, which `ray up` makes; machines have those "
     "of node_config"},
    {"", NULL, NULL},
};

static bool can(const struct ray_reading *r)
{
    (void)r;
    return true;
}

/* Does the davit block say it? */
static bool given(const struct ray_reading *r, const char *key)
{
    for (uint32_t i = 0; i < r->provider->n_options; i++)
        if (strcmp(r->provider->options[i].key, key) == 0)
            return true;
    return false;
}

static void settle(const struct ray_reading *r, struct raw_type *t)
{
    const struct ynode *p = ynode_get(r->root, "provider");
    const char *msi = dialect_text(ynode_get(p, "msi_name"));
    const char *group = dialect_text(ynode_get(p, "msi_resource_group"));

    if (!given(r, "public_ip") &&
        strcmp(dialect_text(ynode_get(p, "use_internal_ips")), "true") != 0)
        ray_option_set(r, t, "public_ip", "true");
    if (*msi && !given(r, "identity"))
        ray_option_set(r, t, "identity",
                       arena_printf(r->d->r.arena, "%s%s%s", group,
                                    *group ? "/" : "", msi));
}

const struct ray_cloud ray_azure = {
    "azurevm",
    {{"provider", "subscription_id", "subscription"},
     {"provider", "resource_group", "resource_group"},
     {"provider", "location", "location"},
     {"provider", "unique_id", "ray_id"},
     {"", "cluster_name", "ray_cluster"},
     {"auth", "ssh_user", "admin"},
     {"auth", "ssh_public_key", "ssh_public_key"}},
    undone,
    46000,
    can,
    settle};
