/*
 * options.c - the configuration, checked and remembered; no I/O.
 *
 * node_config: takes every field of an instance, as instances.insert and a Ray
 * cluster YAML have them; the short settings are those most people need.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "gce.h"

const struct gce_type *type_find(const struct gce *g, const char *name)
{
    for (size_t i = 0; i < g->n_types; i++)
        if (strcmp(g->types[i].name, name) == 0)
            return &g->types[i];
    return NULL;
}

static struct gce_type *type_of(struct kit_reading *r)
{
    return r->type ? r->into : &((struct gce *)r->into)->all;
}

static json_t **node_of(struct kit_reading *r)
{
    struct gce_type *t = type_of(r);
    if (!t->node)
        t->node = json_object();
    return &t->node;
}

/* The 32-bit numbers of an instance, by the discovery document's Instance. */
static const char *const numbers[] = {"acceleratorCount",
                                      "availabilityDomain",
                                      "externalIpv6PrefixLength",
                                      "hostErrorTimeoutSeconds",
                                      "internalIpv6PrefixLength",
                                      "minNodeCpus",
                                      "nanos",

                                      "queueCount",
                                      "threadsPerCore",
                                      "visibleCoreCount",
                                      "vlan"};

static const char *last_part(const char *s)
{
    const char *slash = strrchr(s, '/');
    return slash ? slash + 1 : s;
}

static bool begins(const char *path, const char *top)
{
    return strncmp(path, top, strlen(top)) == 0;
}

/* And its truths. */
static const char *const truths[] = {"autoDelete",
                                     "automaticRestart",
                                     "boot",
                                     "canIpForward",
                                     "deletionProtection",
                                     "discardLocalSsd",
                                     "enableConfidentialCompute",
                                     "enableDisplay",
                                     "enableIntegrityMonitoring",
                                     "enableNestedVirtualization",
                                     "enableSecureBoot",
                                     "enableUefiNetworking",
                                     "enableVpcScopedDns",
                                     "enableVtpm",
                                     "enabled",
                                     "exposeHostTopology",
                                     "forceAttach",
                                     "identityCertificateEnabled",
                                     "preemptible",
                                     "setPublicPtr",
                                     "skipGuestOsShutdown",
                                     "updateAutoLearnPolicy"};

static bool among(const char *const *names, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], key) == 0)
            return true;
    return false;
}
#define AMONG(names, key) among(names, sizeof names / sizeof *names, key)

/* What a user names himself: a label "boot" is no truth. */
static bool is_named(const char *path)
{
    return begins(path, "labels.") || begins(path, "metadata.") ||
           strstr(path, ".labels.") || strstr(path, "resourceManagerTags.");
}

/* Google's JSON has 64-bit numbers as texts, but truths and small numbers as
 * themselves; a YAML's leaves are all texts here.  What is neither true nor a
 * number goes as it is, for Google to refuse. */
static json_t *leaf(const char *path, const char *key, const char *value)
{
    char *end;
    long n = strtol(value, &end, 10);
    if (!is_named(path) && AMONG(truths, key) &&
        (strcasecmp(value, "true") == 0 || strcasecmp(value, "false") == 0))
        return json_boolean(value[0] == 't' || value[0] == 'T');
    if (!is_named(path) && AMONG(numbers, key) && *value != '\0' &&
        *end == '\0')
        return json_integer(n);
    return json_string(value);
}

/* Puts a leaf at "disks.0.initializeParams.diskSizeGb". */
static void put_at(json_t *top, const char *path, const char *value)
{
    const char *whole = path;
    json_t *at = top;
    for (;;) {
        char key[128];
        size_t n = strcspn(path, ".");
        bool last = path[n] == '\0';
        bool list = !last && path[n + 1] >= '0' && path[n + 1] <= '9';
        snprintf(key, sizeof key, "%.*s", (int)n, path);
        json_t *next = json_is_array(at)
                           ? json_array_get(at, strtoul(key, NULL, 10))
                           : json_object_get(at, key);
        if (last || !next) {
            next = last   ? leaf(whole, key, value)
                   : list ? json_array()
                          : json_object();
            if (json_is_array(at))
                json_array_append_new(at, next);
            else
                json_object_set_new(at, key, next);
        }
        if (last)
            return;
        at = next;
        path += n + 1;
    }
}

/* Those are Davit's or Google's to say, so that to write them is a mistake. */
static bool taken(const char *field)
{
    static const char *const ours[] = {"name", "zone", "id", "status"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (strcmp(ours[i], field) == 0)
            return true;
    return false;
}

static int read_node_config(struct kit_reading *r, const char *field,
                            const char *value)
{
    struct gce_type *type = type_of(r);
    if (taken(field))
        return kit_error(r->error, DAVIT_INVALID, "",
                         "%.20s is not yours to say: Davit names machines, and "
                         "their zone is one of the type's zones",
                         field);
    if (strcmp(field, "machineType") == 0) {
        type->given = kit_keep_text(r->keep, last_part(value));
        return DAVIT_OK;
    }
    /* insert takes it beside the instance, not in it. */
    if (strcmp(field, "sourceInstanceTemplate") == 0) {
        struct gce_type *t = type_of(r);
        t->template = kit_keep_text(r->keep, value);
        return DAVIT_OK;
    }
    put_at(*node_of(r), field, value);
    return DAVIT_OK;
}

static int read_image(struct kit_reading *r, const char *rest,
                      const char *value)
{
    (void)rest;
    put_at(*node_of(r), "disks.0.initializeParams.sourceImage", value);
    return DAVIT_OK;
}

static int read_disk(struct kit_reading *r, const char *rest, const char *value)
{
    uint32_t gb;
    (void)rest;
    if (!kit_number(value, 65536, &gb) || gb < 10)
        return kit_error(r->error, DAVIT_INVALID, "",
                         "a boot disk has 10 to 65536 GB, got \"%.20s\"",
                         value);
    put_at(*node_of(r), "disks.0.initializeParams.diskSizeGb", value);
    return DAVIT_OK;
}

static int read_subnet(struct kit_reading *r, const char *rest,
                       const char *value)
{
    (void)rest;
    put_at(*node_of(r), "networkInterfaces.0.subnetwork", value);
    return DAVIT_OK;
}

static int read_reservation(struct kit_reading *r, const char *rest,
                            const char *value)
{
    (void)rest;
    put_at(*node_of(r), "reservationAffinity.consumeReservationType",
           "SPECIFIC_RESERVATION");
    put_at(*node_of(r), "reservationAffinity.key",
           "compute.googleapis.com/reservation-name");
    put_at(*node_of(r), "reservationAffinity.values.0", value);
    return DAVIT_OK;
}

static int read_account(struct kit_reading *r, const char *rest,
                        const char *value)
{
    (void)rest;
    put_at(*node_of(r), "serviceAccounts.0.email", value);
    put_at(*node_of(r), "serviceAccounts.0.scopes.0",
           "https://www.googleapis.com/auth/cloud-platform");
    return DAVIT_OK;
}

#define AT(field) KIT_AT(struct gce, field)
#define TYPE(field) KIT_AT(struct gce_type, field)
#define IMAGE \
    "the boot disk's image or family: projects/P/global/images/...", KIT_READ
#define DISK "the boot disk's size in GB", KIT_READ
#define SUBNET "the subnetwork: regions/R/subnetworks/NAME", KIT_READ
#define ACCOUNT "the machines' service account", KIT_READ
#define NODE_CONFIG "fields of an instance, as in a Ray cluster YAML", KIT_READ
#define JOIN "the script by which a machine joins its head", KIT_TEXT
#define USER "who runs it (root without one)", KIT_NAME
#define LETTERS .allowed = "a-z A-Z 0-9 - _", .max = 32

const struct kit_option gce_options[] = {
    {"project", "the Google Cloud project's id; else GOOGLE_CLOUD_PROJECT",
     KIT_NAME, AT(project), .allowed = "a-z 0-9 - . :", .max = 63,
     .needed = true, .env = "GOOGLE_CLOUD_PROJECT"},
    {"credentials",
     "a key or federation file; else GOOGLE_APPLICATION_CREDENTIALS, gcloud's "
     "own, the metadata server",
     KIT_TEXT, AT(gcp.credentials)},
    {"endpoint", "instead of Google's: http://127.0.0.1:8080", KIT_URL, AT(url),
     .env = "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE",
     .fallback = "https://compute." GCP_UNIVERSE_USUAL},
    GCP_UNIVERSE(struct gce, gcp),
    {"head_ip",
     "the Ray head's address as the machines see it; else that of head.ray, and "
     "for loopback the address of the instance that Davit runs on",
     KIT_TEXT, AT(head.given)},
    {"image", IMAGE, .read = read_image},
    {"disk", DISK, .read = read_disk},
    {"subnet", SUBNET, .read = read_subnet},
    {"service_account", ACCOUNT, .read = read_account},
    {"node_config.*", NODE_CONFIG, .read = read_node_config},
    {"join", JOIN, AT(all.join)},
    {"user", USER, AT(all.user), LETTERS},
    {"types.image", IMAGE, .read = read_image},
    {"types.disk", DISK, .read = read_disk},
    {"types.subnet", SUBNET, .read = read_subnet},
    {"types.service_account", ACCOUNT, .read = read_account},
    {"types.reservation",
     "the reservation that is used: its name, or projects/P/reservations/NAME",
     KIT_READ, .read = read_reservation},
    {"types.node_config.*", NODE_CONFIG, .read = read_node_config},
    {"types.join", JOIN, TYPE(join)},
    {"types.user", USER, TYPE(user), LETTERS},
    {0}};

/* ---- a type, whole */

/* scheduling: of Ray's files is a list of parts. */
static const char *scheduled(const struct gce_type *t, const char *key)
{
    const json_t *s = json_object_get(t->node, "scheduling"), *part;
    const char *found = kit_json_text(s, key);
    size_t i;
    json_array_foreach(s, i, part)
        if (*kit_json_text(part, key) != '\0')
            found = kit_json_text(part, key);
    return found;
}

static bool scheduled_true(const struct gce_type *t, const char *key)
{
    const json_t *s = json_object_get(t->node, "scheduling"), *part;
    bool found = json_is_true(json_object_get(s, key));
    size_t i;
    json_array_foreach(s, i, part)
        found = found || json_is_true(json_object_get(part, key));
    return found;
}

/* The market and the machine are said twice: they must agree. */
static int market_check(const struct gce_type *t,
                        const struct davit_node_type *n, struct davit_error *e)
{
    const char *model = scheduled(t, "provisioningModel");
    bool says_spot = strcmp(model, "SPOT") == 0 ||
                     scheduled_true(t, "preemptible");
    size_t bare = strcspn(t->machine, "+");
    if (t->given &&
        (strlen(t->given) != bare || strncmp(t->machine, t->given, bare) != 0))
        return kit_type_error(e, n, "node_config",
                              "its machineType is %.60s, machine: says %.60s",
                              t->given, t->machine);
    if (says_spot && !n->spot)
        return kit_type_error(e, n, "node_config",
                              "its scheduling asks for spot machines: say "
                              "spot: true of the type");
    if (*model != '\0' && !says_spot && n->spot)
        return kit_type_error(e, n, "node_config",
                              "its provisioningModel is %.30s, and the type is "
                              "spot: true",
                              model);
    return DAVIT_OK;
}

static int type_check(const struct gce_type *t, const struct davit_node_type *n,
                      struct davit_error *e)
{
    char label[NAME_SIZE];
    const json_t *disk = json_array_get(json_object_get(t->node, "disks"), 0);
    if (t->machine[0] == '\0')
        return kit_type_error(e, n, "machine",
                              "it needs machine: a machine type such as "
                              "n1-standard-8+t4");
    if (!t->template && *kit_json_text(disk, "source") == '\0' &&
        *kit_json_text(disk, "initializeParams.sourceImage") == '\0')
        return kit_type_error(e, n, "image",
                              "it needs an image: "
                              "projects/PROJECT/global/images/family/FAMILY "
                              "(image:, or disks or sourceInstanceTemplate in "
                              "node_config)");
    if (t->n_zones == 0)
        return kit_type_error(e, n, "zones",
                              "it needs zones: an instance is made in a zone, "
                              "such as us-central1-a");
    if (!label_make(t->name, label))
        return kit_type_error(e, n, "",
                              "its name does not fit a label's 63 bytes");
    return market_check(t, n, e);
}

static void inherit(struct gce_type *t, const struct gce_type *all)
{
    const char *key;
    json_t *v;
    if (!t->node)
        t->node = json_object();
    json_object_foreach(all->node, key, v)
        if (!json_object_get(t->node, key))
            json_object_set_new(t->node, key, json_deep_copy(v));
    t->join = t->join ? t->join : all->join;
    t->user = t->user ? t->user : all->user;
    t->template = t->template ? t->template : all->template;
    t->given = t->given ? t->given : all->given;
}

static int type_read(struct gce *g, const struct davit_node_type *n,
                     struct davit_error *e)
{
    struct gce_type *t = &g->types[g->n_types++];
    *t = (struct gce_type){.spot = n->spot,
                           .name = kit_keep_text(&g->keep, n->name),
                           .machine = kit_keep_text(&g->keep, n->machine),
                           .resources = kit_join_resources(&g->keep, n)};
    int st = kit_options_read(gce_options, n->options, n->n_options, n, t,
                              &g->keep, e);
    if (st != DAVIT_OK)
        return st;
    inherit(t, &g->all);
    t->zones = kit_keep(&g->keep, (n->n_zones + 1) * sizeof *t->zones);
    for (size_t i = 0; i < n->n_zones; i++)
        if (n->zones[i][0] != '\0')
            t->zones[t->n_zones++] = kit_keep_text(&g->keep, n->zones[i]);
    return type_check(t, n, e);
}

int options_read(struct gce *g, const struct davit_setup *s,
                 struct davit_error *e)
{
    char label[NAME_SIZE];
    g->cluster = kit_keep_text(&g->keep, s->cluster);
    g->head.head = kit_keep_text(&g->keep, s->head);
    if (!label_make(g->cluster, label))
        return kit_error(e, DAVIT_INVALID, "",
                         "the cluster's name is a label's value: it does not "
                         "fit 63 bytes");
    int st = kit_options_read(gce_options, s->options, s->n_options, NULL, g,
                              &g->keep, e);
    if (st == DAVIT_OK)
        gcp_universe_url(&g->gcp, &g->keep, "compute", &g->url);
    g->types = kit_keep(&g->keep, (s->n_types + 1) * sizeof *g->types);
    for (size_t i = 0; i < s->n_types && st == DAVIT_OK; i++)
        st = type_read(g, s->types[i], e);
    return st;
}

void options_done(struct gce *g)
{
    json_decref(g->all.node);
    for (size_t i = 0; i < g->n_types; i++)
        json_decref(g->types[i].node);
}
