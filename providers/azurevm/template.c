/*
 * template.c - azure_arm_parameters: of a Ray cluster YAML, as what Ray's own
 * template makes of them (ray/autoscaler/_private/_azure/azure-vm-template.json).
 */
#include <string.h>

#include "azurevm.h"

static int set_text(struct kit_reading *r, char **at, const char *value)
{
    *at = kit_keep_text(r->keep, value);
    return DAVIT_OK;
}

static int set_flag(uint32_t *at, const char *value)
{
    *at = strcmp(value, "true") == 0 ? YES : NO;
    return DAVIT_OK;
}

/* The market, the zones and the machine are said elsewhere. */
static bool elsewhere(const char *name)
{
    static const char *const names[] = {
        "vmSize", "priority",          "vmName", "vmCount",
        "vmTags", "availability_zone", "zones"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0 ||
            (strncmp(names[i], name, strlen(names[i])) == 0 &&
             name[strlen(names[i])] == '.'))
            return true;
    return false;
}

int template_read(struct kit_reading *r, struct vm_type *t, const char *name,
                  const char *value)
{
    static const struct {
        const char *parameter, *path;
    } same[] = {
        {"imagePublisher",
         "properties.storageProfile.imageReference.publisher"},
        {"imageOffer", "properties.storageProfile.imageReference.offer"},
        {"imageSku", "properties.storageProfile.imageReference.sku"},
        {"imageVersion", "properties.storageProfile.imageReference.version"},
        {"imageId", "properties.storageProfile.imageReference.id"},
        {"osDiskSize", "properties.storageProfile.osDisk.diskSizeGB"},
        {"evictionPolicy", "properties.evictionPolicy"},
        {"billingProfile.maxPrice", "properties.billingProfile.maxPrice"},
    };
    node_set(t,
             "properties.storageProfile.osDisk.managedDisk."
             "storageAccountType",
             "Standard_LRS");
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (strcmp(same[i].parameter, name) == 0) {
            if (*value != '\0' && strcmp(value, "0") != 0)
                node_set(t, same[i].path, value);
            return DAVIT_OK;
        }
    if (strcmp(name, "adminUsername") == 0)
        return set_text(r, &t->admin, value);
    if (strcmp(name, "publicKey") == 0)
        return set_text(r, &t->key, value);
    if (strcmp(name, "msi") == 0)
        return set_text(r, &t->identity, value);
    if (strcmp(name, "nsg") == 0)
        return set_text(r, &t->nsg, value);
    if (strcmp(name, "subnet") == 0)
        return set_text(r, &t->subnet, value);
    if (strcmp(name, "enableAcceleratedNetworking") == 0)
        return set_flag(&t->accelerated, value);
    if (strcmp(name, "provisionPublicIp") == 0)
        return set_flag(&t->public_ip, value);
    if (elsewhere(name) || strcmp(name, "billingProfile") == 0)
        return DAVIT_OK;
    return kit_error(r->error, DAVIT_INVALID, "",
                     "azure_arm_parameters has no %.60s: Ray's template takes "
                     "vmSize, image..., osDiskSize, priority, billingProfile, "
                     "adminUsername, enableAcceleratedNetworking and the like",
                     name);
}
