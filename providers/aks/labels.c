/*
 * labels.c - the labels that AKS and Azure's cloud provider write on a node of a
 * pool, beside the pool's own.
 *
 * AKS' DaemonSets ask for kubernetes.azure.com/cluster, so a new node without it
 * would seem to have none of them.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "aks.h"
#include "kit/offer.h"

#define AZURE "kubernetes.azure.com/"
#define LABEL_MAX 63 /* bytes of a label's value */

static void put(struct kit_offer *o, const char *key, const char *value)
{
    if (value && value[0] != '\0')
        kit_fact_set(o, &o->labels, key, value);
}

/* The name of the nodes' resource group, as a label's value may be. */
static const char *cluster_value(struct kit_offer *o, const char *group)
{
    char text[LABEL_MAX + 1];
    snprintf(text, sizeof text, "%s", group);
    for (char *s = text; *s != '\0'; s++)
        if (*s == '(' || *s == ')')
            *s = '-';
    size_t n = strlen(text);
    if (n > 0 && strchr("-_.", text[n - 1])) {
        n -= n == LABEL_MAX;
        text[n++] = 'z';
        text[n] = '\0';
    }
    return kit_keep_text(&o->keep, text);
}

/* Sizes with GPUs of NVIDIA: NC, ND without AMD's MI, NV without AMD's. */
static bool has_nvidia(const char *size)
{
    const char *family = strncasecmp(size, "Standard_N", 10) == 0 ? size + 10
                                                                  : "";
    switch (toupper((unsigned char)family[0])) {
    case 'C': return true;
    case 'D': return !strstr(family, "_MI");
    case 'V': return !strstr(family, "as_v4") && !strstr(family, "_V710");
    default: return false;
    }
}

static void storage_put(struct kit_offer *o, const char *disk)
{
    const char *profile = strcasecmp(disk, "Ephemeral") == 0 ? "ephemeral"
                          : strcasecmp(disk, "Managed") == 0 ? "managed"
                                                             : "";
    put(o, "storageprofile", profile);
    put(o, AZURE "storageprofile", profile);
}

static void machine_put(struct kit_offer *o, const struct pool *p,
                        const char *location)
{
    const char *size = kit_json_text(p->props, "vmSize");
    bool windows = strcasecmp(kit_json_text(p->props, "osType"), "Windows") ==
                   0;
    put(o, "node.kubernetes.io/instance-type", size);
    put(o, "topology.kubernetes.io/region", location);
    put(o, "kubernetes.io/os", windows ? "windows" : "linux");
    put(o, AZURE "os-sku", kit_json_text(p->props, "osSKU"));
    put(o, AZURE "node-image-version",
        kit_json_text(p->props, "nodeImageVersion"));
    storage_put(o, kit_json_text(p->props, "osDiskType"));
    if (has_nvidia(size)) {
        put(o, "accelerator", "nvidia");
        put(o, AZURE "accelerator", "nvidia");
    }
}

void labels_take(struct kit_offer *o, const struct pool *p, const char *zone,
                 const struct cluster *c)
{
    bool bare = zone[0] != '\0' && !strchr(zone, '-');
    bool system = strcasecmp(kit_json_text(p->props, "mode"), "System") == 0;
    const char *key;
    json_t *v;
    machine_put(o, p, c->location);
    put(o, "topology.kubernetes.io/zone",
        kit_keep_print(&o->keep, "%s%s%s", bare ? c->location : "",
                       bare ? "-" : "", zone));
    put(o, "agentpool", p->name);
    put(o, AZURE "agentpool", p->name);
    put(o, AZURE "mode", system ? "system" : "user");
    put(o, AZURE "role", "agent");
    put(o, AZURE "cluster", cluster_value(o, c->nodes));
    if (p->spot)
        put(o, AZURE "scalesetpriority", "spot");
    json_object_foreach((json_t *)json_object_get(p->props, "nodeLabels"), key,
                        v)
        put(o, key, json_string_value(v));
}
