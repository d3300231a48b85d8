/*
 * options.c - the configuration, checked and remembered; no I/O.
 *
 * node_config: takes every field of a machine as Azure's REST API has it, and
 * azure_arm_parameters: as a Ray cluster YAML has them; the short settings are
 * those most people need.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "azurevm.h"

const struct vm_type *type_find(const struct azurevm *v, const char *name)
{
    for (size_t i = 0; i < v->n_types; i++)
        if (strcmp(v->types[i].name, name) == 0)
            return &v->types[i];
    return NULL;
}

static struct vm_type *target(struct kit_reading *r)
{
    return r->type ? r->into : &((struct azurevm *)r->into)->all;
}

/* ---- leaves: a YAML's are all texts here, Azure wants numbers and truths */

static json_t *leaf(const char *key, const char *value)
{
    /* Of a machine's fields those that are numbers; tests compare the list
     * with the SDK's models. */
    static const char *const numbers[] = {"diskSizeGB",
                                          "lun",
                                          "diskIOPSReadWrite",
                                          "diskMBpsReadWrite",
                                          "diskIOPSReadOnly",
                                          "diskMBpsReadOnly",
                                          "logicalSectorSize",
                                          "maxShares",
                                          "vCPUsAvailable",
                                          "vCPUsPerCore",
                                          "order",
                                          "platformFaultDomain",
                                          "keyIncarnationId",
                                          "idleTimeoutInMinutes",
                                          "privateIPAddressPrefixLength"};
    if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0)
        return json_boolean(value[0] == 't');
    if (strcmp(key, "maxPrice") == 0)
        return json_real(strtod(value, NULL));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(numbers[i], key) == 0)
            return json_integer(strtol(value, NULL, 10));
    return json_string(value);
}

static json_t *child(json_t *at, const char *key)
{
    return json_is_array(at) ? json_array_get(at, strtoul(key, NULL, 10))
                             : json_object_get(at, key);
}

static void adopt(json_t *at, const char *key, json_t *value)
{
    if (json_is_array(at))
        json_array_append_new(at, value);
    else
        json_object_set_new(at, key, value);
}

void node_set(struct vm_type *t, const char *path, const char *value)
{
    if (!t->node)
        t->node = kit_must(json_object());
    for (json_t *at = t->node;;) {
        char key[128];
        size_t n = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)n, path);
        if (path[n] == '\0') {
            adopt(at, key, leaf(key, value));
            return;
        }
        bool list = path[n + 1] >= '0' && path[n + 1] <= '9';
        if (!child(at, key))
            adopt(at, key, list ? json_array() : json_object());
        at = child(at, key);
        path += n + 1;
    }
}

#define IMAGE "properties.storageProfile.imageReference."

/* "PUBLISHER:OFFER:SKU:VERSION", or the id of an image; false: neither. */
static bool image_set(struct vm_type *t, const char *image)
{
    static const char *const parts[] = {IMAGE "publisher", IMAGE "offer",
                                        IMAGE "sku", IMAGE "version"};
    const char *id = strncmp(image, "/SharedGalleries/", 17) == 0 ? IMAGE
                         "sharedGalleryImageId"
                     : strncmp(image, "/CommunityGalleries/", 20) == 0
                         ? IMAGE "communityGalleryImageId"
                         : IMAGE "id";
    int i = 0;
    if (image[0] == '/') {
        node_set(t, id, image);
        return true;
    }
    for (; i < 4 && *image != '\0'; i++) {
        char part[100];
        size_t n = strcspn(image, ":");
        snprintf(part, sizeof part, "%.*s", (int)n, image);
        node_set(t, parts[i], part);
        image += n + (image[n] == ':');
    }
    return i == 4 && *image == '\0';
}

/* ---- readers: into is the vm_type, or the azurevm with its `all` */

/* Those are ours to say: body.c writes them. */
static bool taken(const char *field)
{
    static const char *const ours[] = {"name", "id", "type", "location",
                                       "zones"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (strcmp(ours[i], field) == 0)
            return true;
    return false;
}

static int read_node_config(struct kit_reading *r, const char *field,
                            const char *value)
{
    static const char *const tops[] = {"properties", "plan", "extendedLocation",
                                       "placement"};
    struct vm_type *t = target(r);
    char top[40];
    snprintf(top, sizeof top, "%.*s", (int)strcspn(field, "."), field);
    if (strcmp(top, "azure_arm_parameters") == 0 && field[strlen(top)] == '.')
        return template_read(r, t, field + strlen(top) + 1, value);
    if (strcmp(top, "tags") == 0 && field[strlen(top)] == '.') {
        if (!t->node)
            t->node = kit_must(json_object());
        json_object_set_new(json_into(t->node, "tags"), field + strlen(top) + 1,
                            json_string(value));
        return DAVIT_OK;
    }
    for (size_t i = 0; i < sizeof tops / sizeof *tops; i++)
        if (strcmp(tops[i], top) == 0) {
            node_set(t, field, value);
            return DAVIT_OK;
        }
    if (taken(top))
        return DAVIT_OK;
    return kit_error(r->error, DAVIT_INVALID, "",
                     "node_config has no %.40s: allowed are properties, plan, "
                     "tags, placement and extendedLocation as in Azure's REST "
                     "API, and Ray's azure_arm_parameters",
                     top);
}

static int read_image(struct kit_reading *r, const char *rest,
                      const char *value)
{
    (void)rest;
    if (image_set(target(r), value))
        return DAVIT_OK;
    return kit_error(r->error, DAVIT_INVALID, "",
                     "an image is PUBLISHER:OFFER:SKU:VERSION or the id of "
                     "one, /subscriptions/..., got \"%.80s\"",
                     value);
}

static int read_disk(struct kit_reading *r, const char *rest, const char *value)
{
    uint32_t gb;
    (void)rest;
    if (!kit_number(value, 4095, &gb) || gb < 1)
        return kit_error(r->error, DAVIT_INVALID, "",
                         "an OS disk has 1 to 4095 GB, got \"%.20s\"", value);
    node_set(target(r), "properties.storageProfile.osDisk.diskSizeGB", value);
    return DAVIT_OK;
}

static int read_subnet(struct kit_reading *r, const char *rest,
                       const char *value)
{
    (void)rest;
    if (!strchr(value, '/'))
        return kit_error(r->error, DAVIT_INVALID, "",
                         "a subnet is NETWORK/SUBNET of the resource group, or "
                         "its id, got \"%.60s\"",
                         value);
    target(r)->subnet = kit_keep_text(r->keep, value);
    return DAVIT_OK;
}

static int read_public_ip(struct kit_reading *r, const char *rest,
                          const char *value)
{
    (void)rest;
    if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
        return kit_error(r->error, DAVIT_INVALID, "",
                         "public_ip is true or false, got \"%.20s\"", value);
    target(r)->public_ip = value[0] == 't' ? YES : NO;
    return DAVIT_OK;
}

#define AT(field) KIT_AT(struct azurevm, field)
#define TYPE(field) KIT_AT(struct vm_type, field)
#define IMAGE_ROW \
    "the image: PUBLISHER:OFFER:SKU:VERSION, or the id of one", KIT_READ, \
        .read = read_image
#define DISK "the OS disk's size in GB", KIT_READ, .read = read_disk
#define SUBNET \
    "NETWORK/SUBNET of the resource group, or the subnet's id", KIT_READ, \
        .read = read_subnet
#define NSG "the network security group's name or id", KIT_TEXT
#define IDENTITY \
    "the machines' user-assigned identity, its name or id", KIT_TEXT
#define PUBLIC_IP \
    "true: each machine has a public address", KIT_READ, .read = read_public_ip
#define KEY \
    "an SSH public key or its file, for people; else nobody can log in", \
        KIT_TEXT
#define NODE_CONFIG \
    "fields of a machine, as in Azure's REST API or a Ray cluster YAML", \
        KIT_READ, .read = read_node_config
#define JOIN "the script by which a machine joins its head", KIT_TEXT
#define USER "who runs it (root without one)", KIT_NAME
#define LETTERS .allowed = "a-z A-Z 0-9 - _", .max = 32

const struct kit_option azurevm_options[] = {
    {"subscription", "the subscription's id; else that of the instance",
     KIT_NAME, AT(subscription), .env = "AZURE_SUBSCRIPTION_ID",
     .allowed = "a-z A-Z 0-9 -", .max = 60},
    {"resource_group", "where machines are made", KIT_NAME, AT(group),
     .allowed = "a-z A-Z 0-9 - _ . ( )", .max = 90, .needed = true},
    {"location", "the region, such as westeurope", KIT_NAME, AT(location),
     .allowed = "a-z A-Z 0-9", .max = 40, .needed = true},
    AZURE_OPTIONS(struct azurevm, azure),
    {"head_ip",
     "the Ray head's address as the machines see it; else that of head.ray, and "
     "for loopback the address of the instance that Davit runs on",
     KIT_TEXT, AT(head.given)},
    {"lists.burst", "pages of lists that may be read at once; half of Azure's",
     KIT_NUMBER, AT(lists.burst), .fallback = "450", .min = 1, .max = 100000},
    {"lists.every", "one more after so long; 0: no limit", KIT_DURATION,
     AT(lists.every_ms), .fallback = "400ms"},
    {"ray_cluster",
     "the cluster_name of `ray up`, whose network, security group and identity "
     "are used where none is named",
     KIT_NAME, AT(ray_cluster), .allowed = "a-z A-Z 0-9 - _ .", .max = 60},
    {"ray_id", "its unique_id; else as Ray makes it of the resource group",
     KIT_NAME, AT(ray_id), .allowed = "a-z A-Z 0-9 - _ .", .max = 40},
    {"image", IMAGE_ROW},
    {"disk", DISK},
    {"subnet", SUBNET},
    {"security_group", NSG, AT(all.nsg)},
    {"identity", IDENTITY, AT(all.identity)},
    {"public_ip", PUBLIC_IP},
    {"ssh_public_key", KEY, AT(all.key)},
    {"admin", "the machine's first user; else davit", KIT_NAME, AT(all.admin),
     LETTERS},
    {"node_config.*", NODE_CONFIG},
    {"join", JOIN, AT(all.join)},
    {"user", USER, AT(all.user), LETTERS},
    {"types.image", IMAGE_ROW},
    {"types.disk", DISK},
    {"types.subnet", SUBNET},
    {"types.security_group", NSG, TYPE(nsg)},
    {"types.identity", IDENTITY, TYPE(identity)},
    {"types.public_ip", PUBLIC_IP},
    {"types.node_config.*", NODE_CONFIG},
    {"types.join", JOIN, TYPE(join)},
    {"types.user", USER, TYPE(user), LETTERS},
    {0}};

/* ---- a type, whole */

static bool has_image(const struct vm_type *t)
{
    const json_t *s = kit_json_at(t->node, "properties.storageProfile");
    return json_object_size(kit_json_at(s, "imageReference")) > 0 ||
           json_object_size(kit_json_at(s, "osDisk.image")) > 0;
}

static int type_check(const struct azurevm *v, const struct vm_type *t,
                      const struct davit_node_type *n, struct davit_error *e)
{
    const json_t *net = kit_json_at(t->node, "properties.networkProfile");
    if (t->machine[0] == '\0')
        return kit_type_error(e, n, "machine",
                              "it needs machine: a machine size such as "
                              "Standard_NC4as_T4_v3");
    if (!has_image(t))
        return kit_type_error(e, n, "image",
                              "it needs an image: PUBLISHER:OFFER:SKU:VERSION "
                              "or the id of one");
    if (!t->subnet && !v->ray_cluster && !net)
        return kit_type_error(e, n, "subnet",
                              "it needs a subnet: NETWORK/SUBNET of the "
                              "resource group, or its id");
    for (size_t i = 0; i < t->n_zones; i++)
        if (!zone_number(t->zones[i]))
            return kit_type_error(e, n, "zones",
                                  "a zone is a number, such as 1 or "
                                  "westeurope-1, got \"%.40s\"",
                                  t->zones[i]);
    return DAVIT_OK;
}

/* What the type says of an object stands, and the rest is the provider's. */
static void merge(json_t *mine, const json_t *all)
{
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)all, key, v) {
        json_t *own = json_object_get(mine, key);
        if (!own)
            json_object_set_new(mine, key, json_deep_copy(v));
        else if (json_is_object(own) && json_is_object(v) &&
                 strcmp(key, "imageReference") != 0)
            merge(own, v);
    }
}

static void inherit(struct vm_type *t, const struct vm_type *all)
{
    if (!t->node)
        t->node = kit_must(json_object());
    merge(t->node, all->node);
    t->subnet = t->subnet ? t->subnet : all->subnet;
    t->nsg = t->nsg ? t->nsg : all->nsg;
    t->identity = t->identity ? t->identity : all->identity;
    t->key = t->key ? t->key : all->key;
    t->admin = t->admin ? t->admin : all->admin;
    t->public_ip = t->public_ip != MAYBE ? t->public_ip : all->public_ip;
    t->accelerated = t->accelerated != MAYBE ? t->accelerated
                                             : all->accelerated;
    t->join = t->join ? t->join : all->join;
    t->user = t->user ? t->user : all->user;
}

static int type_read(struct azurevm *v, const struct davit_node_type *n,
                     struct davit_error *e)
{
    struct vm_type *t = &v->types[v->n_types++];
    *t = (struct vm_type){.spot = n->spot,
                          .name = kit_keep_text(&v->keep, n->name),
                          .machine = kit_keep_text(&v->keep, n->machine),
                          .resources = kit_join_resources(&v->keep, n)};
    int st = kit_options_read(azurevm_options, n->options, n->n_options, n, t,
                              &v->keep, e);
    if (st != DAVIT_OK)
        return st;
    inherit(t, &v->all);
    t->zones = kit_keep(&v->keep, (n->n_zones + 1) * sizeof *t->zones);
    for (size_t i = 0; i < n->n_zones; i++)
        if (n->zones[i][0] != '\0')
            t->zones[t->n_zones++] = kit_keep_text(&v->keep, n->zones[i]);
    return type_check(v, t, n, e);
}

int options_read(struct azurevm *v, const struct davit_setup *s,
                 struct davit_error *e)
{
    v->cluster = kit_keep_text(&v->keep, s->cluster);
    v->head.head = kit_keep_text(&v->keep, s->head);
    int st = kit_options_read(azurevm_options, s->options, s->n_options, NULL,
                              v, &v->keep, e);
    if (st == DAVIT_OK)
        st = azure_settle(&v->azure, &v->keep, e);
    v->types = kit_keep(&v->keep, (s->n_types + 1) * sizeof *v->types);
    for (size_t i = 0; i < s->n_types && st == DAVIT_OK; i++)
        st = type_read(v, s->types[i], e);
    return st;
}

void options_done(struct azurevm *v)
{
    json_decref(v->all.node);
    for (size_t i = 0; i < v->n_types; i++)
        json_decref(v->types[i].node);
}
