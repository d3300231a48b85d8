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

static bool among(const char *const *names, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], key) == 0)
            return true;
    return false;
}
#define AMONG(names, key) among(names, sizeof names / sizeof *names, key)

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
    /* likewise truths */
    static const char *const truths[] = {
        "addProxyAgentExtension",
        "alignRegionalDisksToVMZone",
        "allowExtensionOperations",
        "automaticallyApprove",
        "burstingEnabled",
        "bypassPlatformSafetyChecksOnUserSchedule",
        "disableCapacityReservationAssignment",
        "disablePasswordAuthentication",
        "disableTcpStateTracking",
        "enable",
        "enableAcceleratedNetworking",
        "enableAutomaticUpdates",
        "enableAutomaticUpgrade",
        "enableFips1403Encryption",
        "enableFpga",
        "enableFullCaching",
        "enableHotpatching",
        "enableIPForwarding",
        "enableVMAgentPlatformUpdates",
        "enabled",
        "encryptionAtHost",
        "hibernationEnabled",
        "isEnabled",
        "optimizedForFrequentAttach",
        "performancePlus",
        "primary",
        "provisionVMAgent",
        "requireGuestProvisionSignal",
        "secureBootEnabled",
        "toBeDetached",
        "treatFailureAsDeploymentFailure",
        "ultraSSDEnabled",
        "useLocalFileRules",
        "vTpmEnabled",
        "writeAcceleratorEnabled"};
    char *end;
    long n = strtol(value, &end, 10);
    bool number = *value != '\0' && *end == '\0';
    double price = strtod(value, &end);
    if (AMONG(truths, key) &&
        (strcmp(value, "true") == 0 || strcmp(value, "false") == 0))
        return json_boolean(value[0] == 't');
    if (strcmp(key, "maxPrice") == 0 && *value != '\0' && *end == '\0')
        return json_real(price);
    /* What is neither goes as it is, for Azure to refuse. */
    return number && AMONG(numbers, key) ? json_integer(n) : json_string(value);
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

/* Davit's or Azure's to say, so that to write it is a mistake: where it is said
 * instead; NULL: it is not of these. */
static const char *taken(const char *top, const char *field)
{
    static const struct {
        const char *field, *instead;
    } ours[] = {{"name", "Davit names machines"},
                {"id", "Azure makes it"},
                {"type", "Azure makes it"},
                {"location", "location: of the provider says it"},
                {"zones", "zones: of the node type says them"},
                {"properties.osProfile.computerName", "Davit names machines"}};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (strcmp(ours[i].field, top) == 0 ||
            strcmp(ours[i].field, field) == 0)
            return ours[i].instead;
    return NULL;
}

/* What is said elsewhere, too: type_check() compares.  True: it goes no
 * further. */
static bool said_twice(struct kit_reading *r, struct vm_type *t,
                       const char *field, const char *value)
{
    if (strcmp(field, "properties.hardwareProfile.vmSize") == 0) {
        t->given = kit_keep_text(r->keep, value);
        return true;
    }
    if (strcmp(field, "properties.priority") == 0) {
        t->priority = kit_keep_text(r->keep, value);
        return true;
    }
    t->says_spot = t->says_spot ||
                   strcmp(field, "properties.evictionPolicy") == 0 ||
                   strncmp(field, "properties.billingProfile.", 26) == 0;
    t->own_data = t->own_data ||
                  strcmp(field, "properties.osProfile.customData") == 0;
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
    if (taken(top, field))
        return kit_error(r->error, DAVIT_INVALID, "",
                         "%.40s is not yours to say: %s", field,
                         taken(top, field));
    if (said_twice(r, t, field, value))
        return DAVIT_OK;
    for (size_t i = 0; i < sizeof tops / sizeof *tops; i++)
        if (strcmp(tops[i], top) == 0) {
            node_set(t, field, value);
            return DAVIT_OK;
        }
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

static int read_reservation(struct kit_reading *r, const char *rest,
                            const char *value)
{
    (void)rest;
    if (value[0] != '/')
        return kit_error(r->error, DAVIT_INVALID, "",
                         "a capacity reservation group is given by its id, "
                         "/subscriptions/..., got \"%.80s\"",
                         value);
    node_set(target(r),
             "properties.capacityReservation.capacityReservationGroup.id",
             value);
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
    {"types.reservation", "the id of the capacity reservation group", KIT_READ,
     .read = read_reservation},
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

/* The machine, the market and the start script are said twice: they must
 * agree. */
static int agree_check(const struct vm_type *t, const struct davit_node_type *n,
                       struct davit_error *e)
{
    const char *admin = kit_json_text(t->node,
                                      "properties.osProfile.adminUsername");
    bool spot = t->priority && strcasecmp(t->priority, "Spot") == 0;
    if (t->given && strcasecmp(t->given, t->machine) != 0)
        return kit_type_error(e, n, "node_config",
                              "its vmSize is %.60s, machine: says %.60s",
                              t->given, t->machine);
    if (t->priority && spot != n->spot)
        return kit_type_error(e, n, "node_config",
                              "its priority is %.20s, and the type is %s",
                              t->priority, n->spot ? "spot: true" : "not spot");
    if (t->says_spot && !n->spot)
        return kit_type_error(e, n, "node_config",
                              "evictionPolicy and billingProfile are of spot "
                              "machines: say spot: true of the type");
    if (t->own_data && t->join)
        return kit_type_error(e, n, "node_config",
                              "its customData and join: cannot both be given: "
                              "the machine would run one of them alone");
    if (t->admin && *admin != '\0' && strcmp(t->admin, admin) != 0)
        return kit_type_error(e, n, "node_config",
                              "its adminUsername is %.40s, admin: says %.40s",
                              admin, t->admin);
    return DAVIT_OK;
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
    return agree_check(t, n, e);
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
    t->given = t->given ? t->given : all->given;
    t->priority = t->priority ? t->priority : all->priority;
    t->says_spot = t->says_spot || all->says_spot;
    t->own_data = t->own_data || all->own_data;
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
