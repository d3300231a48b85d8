/*
 * network.c - a machine's interface and identity.
 *
 * The interface is made in the machine's own PUT and ends with it, and so does
 * a public address: nothing is left that would be billed.
 *
 * `ray up` makes a network, a security group and an identity of its own, under
 * names made of the cluster's (ray/autoscaler/_private/_azure/config.py,
 * azure-config-template.json): a Ray cluster YAML's machines are put there.
 */
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "azurevm.h"

#define NETWORK_API "2022-11-01" /* the newest that a machine's PUT takes */

/* "ray-NAME-ID-vnet": ID is unique_id, or of the resource group's hash. */
static char *ray_name(const struct azurevm *v, const char *kind)
{
    unsigned char d[SHA256_DIGEST_LENGTH];
    char id[5];
    SHA256((const unsigned char *)v->group, strlen(v->group), d);
    snprintf(id, sizeof id, "%02x%02x", d[0], d[1]);
    return kit_print("ray-%s-%s-%s", v->ray_cluster, v->ray_id ? v->ray_id : id,
                     kind);
}

static char *id_make(const struct op *op, const char *group, const char *kind,
                     const char *name)
{
    return kit_print("/subscriptions/%s/resourceGroups/%s/providers/%s/%s",
                     op->subscription, group, kind, name);
}

/* "NAME" is one of our resource group, "GROUP/NAME" of another. */
static char *id_of(const struct op *op, const char *given, const char *kind,
                   const char *ray)
{
    const char *slash = given ? strchr(given, '/') : NULL;
    if (!given && !op->v->ray_cluster)
        return NULL;
    if (slash == given && given)
        return kit_copy(given);
    char *group = slash ? kit_print("%.*s", (int)(slash - given), given)
                        : kit_copy(op->v->group);
    char *name = !given ? ray_name(op->v, ray)
                        : kit_copy(slash ? slash + 1 : given);
    char *id = id_make(op, group, kind, name);
    free(group);
    free(name);
    return id;
}

static char *subnet_id(const struct op *op, const struct vm_type *t)
{
    const char *slash = t->subnet ? strchr(t->subnet, '/') : NULL;
    if (t->subnet && t->subnet[0] == '/')
        return kit_copy(t->subnet);
    char *net = t->subnet
                    ? kit_print("%.*s", (int)(slash - t->subnet), t->subnet)
                    : ray_name(op->v, "vnet");
    char *sub = t->subnet ? kit_copy(slash + 1) : ray_name(op->v, "subnet");
    char *vnet = id_make(op, op->v->group, "Microsoft.Network/virtualNetworks",
                         net);
    char *id = kit_print("%s/subnets/%s", vnet, sub);
    free(net);
    free(sub);
    free(vnet);
    return id;
}

static json_t *reference(char *id)
{
    json_t *o = kit_must(json_pack("{s:s}", "id", id));
    free(id);
    return o;
}

static json_t *address_make(const struct op *op, const struct vm_type *t,
                            const char *name)
{
    json_t *p = kit_must(json_pack("{s:o, s:b}", "subnet",
                                   reference(subnet_id(op, t)), "primary", 1));
    if (t->public_ip == YES) {
        char *ip = kit_print("%s-ip", name);
        json_object_set_new(
            p, "publicIPAddressConfiguration",
            kit_must(json_pack("{s:s, s:{s:s}, s:{s:s, s:s}}", "name", ip,
                               "sku", "name", "Standard", "properties",
                               "deleteOption", "Delete",
                               "publicIPAllocationMethod", "Static")));
        free(ip);
    }
    return kit_must(
        json_pack("{s:s, s:o}", "name", "primary", "properties", p));
}

static json_t *interface_make(const struct op *op, const struct vm_type *t,
                              const char *name)
{
    char *nic = kit_print("%s-nic", name);
    char *nsg = id_of(op, t->nsg, "Microsoft.Network/networkSecurityGroups",
                      "nsg");
    json_t *p = kit_must(json_pack("{s:b, s:s, s:[o]}", "primary", 1,
                                   "deleteOption", "Delete", "ipConfigurations",
                                   address_make(op, t, name)));
    if (nsg)
        json_object_set_new(p, "networkSecurityGroup", reference(nsg));
    if (t->accelerated != MAYBE)
        json_object_set_new(p, "enableAcceleratedNetworking",
                            json_boolean(t->accelerated == YES));
    json_t *o = kit_must(json_pack("{s:s, s:o}", "name", nic, "properties", p));
    free(nic);
    return o;
}

/* What node_config says of interfaces stands, and they end with the machine. */
void network_add(json_t *properties, const struct op *op,
                 const struct vm_type *t, const char *name)
{
    json_t *net = json_into(properties, "networkProfile"), *i;
    size_t k;
    if (!json_object_get(net, "networkInterfaces") &&
        !json_object_get(net, "networkInterfaceConfigurations"))
        json_object_set_new(
            net, "networkInterfaceConfigurations",
            kit_must(json_pack("[o]", interface_make(op, t, name))));
    json_array_foreach(json_object_get(net, "networkInterfaces"), k, i)
        json_usual(json_into(i, "properties"), "deleteOption",
                   json_string("Delete"));
    json_array_foreach(json_object_get(net, "networkInterfaceConfigurations"),
                       k, i)
        json_usual(json_into(i, "properties"), "deleteOption",
                   json_string("Delete"));
    if (json_object_get(net, "networkInterfaceConfigurations"))
        json_usual(net, "networkApiVersion", json_string(NETWORK_API));
}

void identity_add(json_t *body, const struct op *op, const struct vm_type *t)
{
    char *id = id_of(op, t->identity,
                     "Microsoft.ManagedIdentity/userAssignedIdentities", "msi");
    if (id)
        json_object_set_new(
            body, "identity",
            kit_must(json_pack("{s:s, s:{s:{}}}", "type", "UserAssigned",
                               "userAssignedIdentities", id)));
    free(id);
}
