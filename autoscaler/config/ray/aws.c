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
    {"", NULL, NULL},
};

static bool can(const struct ray_reading *r)
{
    (void)r;
    return true;
}

static void settle(const struct ray_reading *r, struct raw_type *t)
{
    const struct ynode *given = ynode_get(r->node, "ImageId");

    if (ynode_get(r->node, "LaunchTemplate"))
        return;
    if (!given || strcmp(dialect_text(given), "latest_dlami") == 0)
        ray_option_set(r, t, "node_config.ImageId", latest_dlami);
}

const struct ray_cloud ray_aws = {
    "ec2", {{"region", "region"}, {NULL, NULL}}, undone, can, settle};
