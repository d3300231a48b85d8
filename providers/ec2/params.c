/*
 * params.c - RunInstances' members, as people write them and as they are sent.
 *
 * Members have the names of AWS's API, SDKs and of node_config: in Ray's cluster
 * YAML; a list's items are numbered from 0.  The Query protocol numbers from 1
 * and calls some lists by another name; the names are those of EC2's service
 * model (queryName and locationName of RunInstancesRequest).
 */
#include <ctype.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ec2.h"

static const struct {
    const char *member, *sent;
} renamed[] = {
    {"BlockDeviceMappings", "BlockDeviceMapping"},
    {"ElasticInferenceAccelerators", "ElasticInferenceAccelerator"},
    {"Groups", "SecurityGroupId"}, /* of a network interface */
    {"Ipv4Prefixes", "Ipv4Prefix"},
    {"Ipv6Prefixes", "Ipv6Prefix"},
    {"LicenseSpecifications", "LicenseSpecification"},
    {"MetricCategoryIds", "MetricCategoryId"},
    {"NetworkInterfaces", "NetworkInterface"},
    {"SecondaryInterfaces", "SecondaryInterface"},
    {"SecurityGroupIds", "SecurityGroupId"},
    {"SecurityGroups", "SecurityGroup"},
    {"TagSpecifications", "TagSpecification"},
    {"Tags", "Tag"},
};

static bool is(const char *part, size_t n, const char *member)
{
    return strlen(member) == n && strncmp(member, part, n) == 0;
}

/* name: what is above it, as it is sent. */
static const char *sent_as(const char *part, size_t n,
                           const struct kit_str *name)
{
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
        if (is(part, n, renamed[i].member))
            return renamed[i].sent;
    /* Those that are another here and there. */
    if (name->n == 0 && is(part, n, "Ipv6Addresses"))
        return "Ipv6Address";
    if (name->n > 0 && strncmp(name->p, "SecondaryInterface.", 19) == 0 &&
        is(part, n, "PrivateIpAddresses"))
        return "PrivateIpAddress";
    return NULL;
}

static void name_add(struct kit_str *name, const char *part, size_t n)
{
    const char *other = sent_as(part, n, name);
    if (name->n > 0)
        kit_str_puts(name, ".");
    if (other)
        kit_str_puts(name, other);
    else if (n < 9 && strspn(part, "0123456789") >= n)
        kit_str_printf(name, "%ld", strtol(part, NULL, 10) + 1);
    else
        kit_str_add(name, part, n);
}

static void name_make(const char *member, struct kit_str *name)
{
    for (const char *at = member; *at != '\0';) {
        size_t n = strcspn(at, ".");
        if (n > 0)
            name_add(name, at, n);
        at += n + (at[n] == '.');
    }
}

const char *params_get(const struct params *p, const char *name)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->v[i].name, name) == 0)
            return p->v[i].value;
    return NULL;
}

static bool below(const char *name, const char *top, size_t n)
{
    return strncmp(name, top, n) == 0 && (name[n] == '\0' || name[n] == '.');
}

bool params_has(const struct params *p, const char *member)
{
    for (size_t i = 0; i < p->n; i++)
        if (below(p->v[i].name, member, strlen(member)))
            return true;
    return false;
}

static void add(struct kit_keep *k, struct params *p, const char *name,
                const char *value)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->v[i].name, name) == 0) {
            p->v[i].value = kit_keep_text(k, value);
            return;
        }
    p->v = kit_keep_more(k, p->v, p->n, sizeof *p->v);
    p->v[p->n++] = (struct param){kit_keep_text(k, name),
                                  kit_keep_text(k, value)};
}

void params_set(struct kit_keep *k, struct params *p, const char *member,
                const char *value)
{
    struct kit_str name = {0};
    name_make(member, &name);
    if (name.n > 0)
        add(k, p, name.p, value);
    kit_str_done(&name);
}

void params_set_base64(struct kit_keep *k, struct params *p, const char *member,
                       const char *value)
{
    size_t n = strlen(value);
    char *text = kit_zeroed(1, 4 * ((n + 2) / 3) + 1);
    EVP_EncodeBlock((unsigned char *)text, (const unsigned char *)value,
                    (int)n);
    params_set(k, p, member, text);
    free(text);
}

void params_inherit(struct kit_keep *k, struct params *p,
                    const struct params *from)
{
    size_t own = p->n;
    for (size_t i = 0; i < from->n; i++) {
        struct params mine = {p->v, own};
        char top[64];
        snprintf(top, sizeof top, "%.*s", (int)strcspn(from->v[i].name, "."),
                 from->v[i].name);
        if (!params_has(&mine, top))
            add(k, p, from->v[i].name, from->v[i].value);
    }
}
