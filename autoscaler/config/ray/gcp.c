/*
 * gcp.c - a Ray cluster YAML of gcp: what ray/autoscaler/_private/gcp/
 * {config,node}.py fill in.
 */
#include <string.h>

#include "clouds.h"

static const struct ray_undone undone[] = {
    {"provider", "gcp_credentials",
     "keep the key in a file of its own, named by "
     "GOOGLE_APPLICATION_CREDENTIALS or by credentials: of the provider gce"},
    {"", NULL, NULL},
};

/* Ray takes a node_config without machineType for a TPU's
 * (ray/autoscaler/_private/gcp/node.py). */
static bool can(const struct ray_reading *r)
{
    const struct ynode *tpu = ynode_get(r->node, "acceleratorType");

    if (!tpu)
        tpu = ynode_get(r->node, "acceleratorConfig");
    if (!tpu || ynode_get(r->node, "machineType"))
        return true;
    diag_warn(r->d->r.diag, tpu,
              "%s is a TPU's: the provider gce launches Compute Engine "
              "instances only; this node type is left out",
              tpu->kind == YNODE_TEXT ? ynode_shown(r->d->r.arena, tpu)
                                      : "acceleratorConfig");
    return false;
}

static bool networked(const struct conf_provider *p)
{
    for (uint32_t i = 0; i < p->n_options; i++)
        if (strcmp(p->options[i].key, "subnet") == 0 ||
            strncmp(p->options[i].key, "node_config.networkInterfaces", 29) ==
                0)
            return true;
    return false;
}

/* Where the file does not speak of networks, Ray gives machines an address on
 * the Internet; setup_commands fetch from there. */
static void settle(const struct ray_reading *r, struct raw_type *t)
{
#define NAT "node_config.networkInterfaces.0.accessConfigs.0."
    if (ynode_get(r->node, "networkInterfaces") ||
        ynode_get(r->node, "sourceInstanceTemplate") || networked(r->provider))
        return;
    ray_option_set(r, t, NAT "name", "External NAT");
    ray_option_set(r, t, NAT "type", "ONE_TO_ONE_NAT");
#undef NAT
}

const struct ray_cloud ray_gcp = {
    "gce", {{"provider", "project_id", "project"}}, undone, 60000, can, settle};
