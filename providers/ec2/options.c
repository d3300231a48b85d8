/*
 * options.c - the configuration, checked and remembered; no I/O.
 *
 * What a machine is made of may stand at the provider, for all types, and at a
 * type.  node_config: takes every member of RunInstances, so that a Ray cluster
 * YAML's is read as it is; the short settings are the members most people need.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ec2.h"

const struct ec2_type *type_find(const struct ec2 *e, const char *name)
{
    for (size_t i = 0; i < e->n_types; i++)
        if (strcmp(e->types[i].name, name) == 0)
            return &e->types[i];
    return NULL;
}

/* ---- readers: into is the ec2_type, or the ec2 with its `all` */

static struct ec2_type *target(struct kit_reading *r)
{
    return r->type ? r->into : &((struct ec2 *)r->into)->all;
}

static void subnet_add(struct kit_reading *r, const char *id)
{
    struct ec2_type *t = target(r);
    t->subnets = kit_keep_more(r->keep, t->subnets, t->n_subnets,
                               sizeof *t->subnets);
    t->subnets[t->n_subnets++] = (struct subnet){
        .id = kit_keep_text(r->keep, id)};
}

/* Those are Davit's to say.  Ray's own files have some of them, with the one value
 * that is right: to write another is a mistake. */
static bool taken(const char *member, const char *value, bool *ret_wrong)
{
    static const struct {
        const char *member, *right;
    } ours[] = {{"MinCount", "1"},
                {"MaxCount", "1"},
                {"DryRun", "false"},
                {"ClientToken", ""}};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (strcmp(ours[i].member, member) == 0) {
            *ret_wrong = strcmp(ours[i].right, value) != 0;
            return true;
        }
    return false;
}

static int read_node_config(struct kit_reading *r, const char *member,
                            const char *value)
{
    struct ec2_type *t = target(r);
    bool wrong;
    if (taken(member, value, &wrong))
        return !wrong ? DAVIT_OK
                      : kit_error(r->error, DAVIT_INVALID, "",
                                  "%.20s is not yours to say: Davit launches "
                                  "as many as are needed, each launch once",
                                  member);
    if (strcmp(member, "InstanceType") == 0)
        t->given = kit_keep_text(r->keep, value);
    else if (strncmp(member, "SubnetIds.", 10) == 0 ||
             strcmp(member, "SubnetId") == 0)
        subnet_add(r, value);
    else if (strcmp(member, "InstanceMarketOptions.MarketType") == 0 &&
             strcmp(value, "spot") == 0)
        t->says_spot = true; /* the type's market does, launch by launch */
    else if (strcmp(member, "UserData") == 0)
        /* As SDKs do it: people write the text itself. */
        params_set_base64(r->keep, &t->params, member, value);
    else
        params_set(r->keep, &t->params, member, value);
    return DAVIT_OK;
}

static int read_image(struct kit_reading *r, const char *rest,
                      const char *value)
{
    (void)rest;
    if (strncmp(value, "ami-", 4) != 0 && strncmp(value, "resolve:ssm:", 12))
        return kit_error(r->error, DAVIT_INVALID, "",
                         "an image is ami-... or resolve:ssm:PARAMETER, got "
                         "\"%.60s\"",
                         value);
    params_set(r->keep, &target(r)->params, "ImageId", value);
    return DAVIT_OK;
}

static int read_key(struct kit_reading *r, const char *rest, const char *value)
{
    (void)rest;
    params_set(r->keep, &target(r)->params, "KeyName", value);
    return DAVIT_OK;
}

static int read_profile(struct kit_reading *r, const char *rest,
                        const char *value)
{
    (void)rest;
    params_set(r->keep, &target(r)->params,
               strncmp(value, "arn:", 4) == 0 ? "IamInstanceProfile.Arn"
                                              : "IamInstanceProfile.Name",
               value);
    return DAVIT_OK;
}

static int read_group(struct kit_reading *r, const char *rest,
                      const char *value)
{
    char member[40];
    if (strncmp(value, "sg-", 3) != 0)
        return kit_error(r->error, DAVIT_INVALID, "",
                         "a security group is given by its id, sg-..., got "
                         "\"%.60s\"",
                         value);
    snprintf(member, sizeof member, "SecurityGroupIds.%.8s", rest);
    params_set(r->keep, &target(r)->params, member, value);
    return DAVIT_OK;
}

static int read_reservation(struct kit_reading *r, const char *rest,
                            const char *value)
{
    static const char above[] =
        "CapacityReservationSpecification.CapacityReservationTarget.";
    bool group = strncmp(value, "arn:", 4) == 0;
    (void)rest;
    if (!group && strncmp(value, "cr-", 3) != 0)
        return kit_error(r->error, DAVIT_INVALID, "",
                         "a capacity reservation is cr-..., or the ARN of a "
                         "resource group of them, got \"%.60s\"",
                         value);
    char *member = kit_print("%s%s", above,
                             group ? "CapacityReservationResourceGroupArn"
                                   : "CapacityReservationId");
    params_set(r->keep, &target(r)->params, member, value);
    free(member);
    return DAVIT_OK;
}

static int read_subnet(struct kit_reading *r, const char *rest,
                       const char *value)
{
    (void)rest;
    if (strncmp(value, "subnet-", 7) != 0)
        return kit_error(r->error, DAVIT_INVALID, "",
                         "a subnet is given by its id, subnet-..., got "
                         "\"%.60s\"",
                         value);
    subnet_add(r, value);
    return DAVIT_OK;
}

#define AT(field) KIT_AT(struct ec2, field)
#define TYPE(field) KIT_AT(struct ec2_type, field)
#define ENDPOINT(name) "endpoints." name, "its URL", KIT_URL
#define IMAGE "the image: ami-..., or resolve:ssm:PARAMETER", KIT_READ
#define SUBNETS "subnet ids, one or more for each zone", KIT_READ
#define GROUPS "security group ids", KIT_READ
#define PROFILE "the IAM instance profile's name or ARN", KIT_READ
#define KEY "the key pair's name, for people", KIT_READ
#define NODE_CONFIG \
    "members of the RunInstances call, as in a Ray cluster YAML", KIT_READ
#define JOIN "the script by which a machine joins its head", KIT_TEXT
#define USER "who runs it (root without one)"

const struct kit_option ec2_options[] = {
    {"endpoint", "one URL for all services, for private clouds and tests",
     KIT_URL, AT(aws.endpoints[AWS_EC2])},
    {ENDPOINT("ec2"), AT(aws.endpoints[AWS_EC2]), .instead = "endpoint"},
    {ENDPOINT("sts"), AT(aws.endpoints[AWS_STS]), .instead = "endpoint"},
    {ENDPOINT("servicequotas"), AT(aws.endpoints[AWS_QUOTAS]),
     .instead = "endpoint"},
    AWS_OPTIONS(struct ec2, aws),
    {"head_ip",
     "the Ray head's address as the machines see it; else that of head.ray, and "
     "for loopback the address of the instance that Davit runs on",
     KIT_TEXT, AT(head.given)},
    {"image", IMAGE, .read = read_image},
    {"subnets.*", SUBNETS, .read = read_subnet},
    {"security_groups.*", GROUPS, .read = read_group},
    {"instance_profile", PROFILE, .read = read_profile},
    {"key", KEY, .read = read_key},
    {"node_config.*", NODE_CONFIG, .read = read_node_config},
    {"join", JOIN, AT(all.join)},
    {"user", USER, KIT_NAME, AT(all.user), .allowed = "a-z A-Z 0-9 - _",
     .max = 32},
    {"types.image", IMAGE, .read = read_image},
    {"types.subnets.*", SUBNETS, .read = read_subnet},
    {"types.security_groups.*", GROUPS, .read = read_group},
    {"types.instance_profile", PROFILE, .read = read_profile},
    {"types.key", KEY, .read = read_key},
    {"types.reservation",
     "the capacity reservation that is used: cr-..., or a group's ARN",
     KIT_READ, .read = read_reservation},
    {"types.node_config.*", NODE_CONFIG, .read = read_node_config},
    {"types.join", JOIN, TYPE(join)},
    {"types.user", USER, KIT_NAME, TYPE(user), .allowed = "a-z A-Z 0-9 - _",
     .max = 32},
    {0}};

/* ---- a type, whole */

/* The machine, the market and the zone are said twice: they must agree. */
static int agree_check(const struct ec2_type *t,
                       const struct davit_node_type *n, struct davit_error *err)
{
    const char *market = params_get(&t->params,
                                    "InstanceMarketOptions.MarketType");
    const char *zone = params_get(&t->params, "Placement.AvailabilityZone");
    if (t->given && strcmp(t->given, t->machine) != 0)
        return kit_type_error(err, n, "node_config",
                              "its InstanceType is %.40s, machine: says %.40s",
                              t->given, t->machine);
    if (market && n->spot)
        return kit_type_error(err, n, "node_config",
                              "its MarketType is %.40s, and the type is "
                              "spot: true",
                              market);
    if (!n->spot &&
        (t->says_spot ||
         params_has(&t->params, "InstanceMarketOptions.SpotOptions")))
        return kit_type_error(err, n, "node_config",
                              "its InstanceMarketOptions ask for spot "
                              "instances: say spot: true of the type");
    if (zone && (t->n_zones > 0 || t->n_subnets > 0))
        return kit_type_error(err, n, "node_config",
                              "its Placement names zone %.40s, and zones: or a "
                              "subnet another: say one of them",
                              zone);
    if (t->join && params_has(&t->params, "UserData"))
        return kit_type_error(err, n, "node_config",
                              "its UserData and join: cannot both be given: "
                              "the machine would run one of them alone. Put "
                              "what UserData does into join:");
    return DAVIT_OK;
}

static int type_check(const struct ec2_type *t, const struct davit_node_type *n,
                      struct davit_error *err)
{
    if (t->machine[0] == '\0')
        return kit_type_error(err, n, "machine",
                              "it needs machine: an EC2 instance type such as "
                              "p2.xlarge");
    if (!params_has(&t->params, "ImageId") &&
        !params_has(&t->params, "LaunchTemplate"))
        return kit_type_error(err, n, "image",
                              "it needs an image: ami-... (image:, or ImageId "
                              "or LaunchTemplate in node_config; Ray's own "
                              "choice of a deep learning image is not made "
                              "here)");
    if (params_has(&t->params, "NetworkInterface") &&
        (t->n_subnets > 0 || params_has(&t->params, "SecurityGroupId")))
        return kit_type_error(err, n, "node_config",
                              "NetworkInterfaces and SubnetId or "
                              "SecurityGroupIds cannot both be given: EC2 "
                              "wants them in the interface");
    if (join_size(t) > 16384)
        return kit_type_error(err, n, "join",
                              "what is run at the start has %zu bytes, and EC2 "
                              "takes 16384 as user data: put the rest into the "
                              "image or a script that is fetched",
                              join_size(t));
    return agree_check(t, n, err);
}

static int type_read(struct ec2 *e, const struct davit_node_type *n,
                     struct davit_error *err)
{
    struct ec2_type *t = &e->types[e->n_types++];
    *t = (struct ec2_type){.ec2 = e,
                           .spot = n->spot,
                           .name = kit_keep_text(&e->keep, n->name),
                           .machine = kit_keep_text(&e->keep, n->machine),
                           .resources = kit_join_resources(&e->keep, n)};
    int st = kit_options_read(ec2_options, n->options, n->n_options, n, t,
                              &e->keep, err);
    if (st != DAVIT_OK)
        return st;
    params_inherit(&e->keep, &t->params, &e->all.params);
    if (t->n_subnets == 0 && e->all.n_subnets > 0) {
        t->subnets = kit_keep(&e->keep, e->all.n_subnets * sizeof *t->subnets);
        memcpy(t->subnets, e->all.subnets,
               e->all.n_subnets * sizeof *t->subnets);
        t->n_subnets = e->all.n_subnets;
    }
    t->given = t->given ? t->given : e->all.given;
    t->says_spot = t->says_spot || e->all.says_spot;
    t->join = t->join ? t->join : e->all.join;
    t->user = t->user ? t->user : e->all.user;
    t->zones = kit_keep(&e->keep, (n->n_zones + 1) * sizeof *t->zones);
    for (size_t i = 0; i < n->n_zones; i++)
        if (n->zones[i][0] != '\0')
            t->zones[t->n_zones++] = kit_keep_text(&e->keep, n->zones[i]);
    return type_check(t, n, err);
}

int options_read(struct ec2 *e, const struct davit_setup *s,
                 struct davit_error *err)
{
    e->cluster = kit_keep_text(&e->keep, s->cluster);
    e->head.head = kit_keep_text(&e->keep, s->head);
    e->aws.session = e->cluster;
    if (strlen(e->cluster) > 200)
        return kit_error(err, DAVIT_INVALID, "",
                         "the cluster's name is a tag's value: up to 200 "
                         "bytes");
    int st = kit_options_read(ec2_options, s->options, s->n_options, NULL, e,
                              &e->keep, err);
    e->types = kit_keep(&e->keep, (s->n_types + 1) * sizeof *e->types);
    for (size_t i = 0; i < s->n_types && st == DAVIT_OK; i++)
        st = type_read(e, s->types[i], err);
    return st;
}
