/*
 * aws.c - a Ray cluster YAML of aws: what ray/autoscaler/_private/aws/config.py
 * fills in.
 */
#include <string.h>

#include "clouds.h"

/* Amazon's own name for its newest deep learning image, which is what Ray's
 * latest_dlami stands for (docs.aws.amazon.com/dlami/latest/devguide/
 * find-dlami-id.html). */
static const char latest_dlami[] =
    "resolve:ssm:/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-"
    "gpu-ubuntu-22.04/latest/ami-id";

static const struct ray_undone undone[] = {
    {"provider", "security_group",
     "make the group, and name it by SecurityGroupIds in node_config"},
    {"provider", "cloudwatch", "nothing is set up in CloudWatch"},
    {"provider", "key_pair", "name it by KeyName in node_config"},
    {"provider", "aws_credentials",
     "keep them out of the file: in the environment, in ~/.aws, or as a role of "
     "this machine"},
    {"provider", "use_internal_ips",
     "name private subnets by SubnetIds in node_config"},
    {"", NULL, NULL},
};

static bool can(const struct ray_reading *r)
{
    (void)r;
    return true;
}

static bool grouped(const struct ray_reading *r)
{
    for (uint32_t i = 0; i < r->provider->n_options; i++) {
        const char *key = r->provider->options[i].key;
        if (strncmp(key, "security_groups.", 16) == 0 ||
            strncmp(key, "node_config.", 12) == 0)
            return true;
    }
    return ynode_get(r->node, "SecurityGroupIds") ||
           ynode_get(r->node, "SecurityGroups") ||
           ynode_get(r->node, "NetworkInterfaces") ||
           ynode_get(r->node, "LaunchTemplate");
}

/* Ray makes a group in which all may speak to each other. */
static void group_tell(const struct ray_reading *r, const struct raw_type *t)
{
    if (!grouped(r))
        diag_warn(r->d->r.diag, r->at,
                  "%s has no SecurityGroupIds, and none is made: the default "
                  "group holds, and the head must let its members in",
                  t->where);
}

static void settle(const struct ray_reading *r, struct raw_type *t)
{
    const struct ynode *given = ynode_get(r->node, "ImageId");

    group_tell(r, t);
    if (ynode_get(r->node, "LaunchTemplate"))
        return;
    if (!given || strcmp(dialect_text(given), "latest_dlami") == 0)
        ray_option_set(r, t, "node_config.ImageId", latest_dlami);
}

const struct ray_cloud ray_aws = {
    "ec2", {{"provider", "region", "region"}}, undone, 13000, can, settle};
