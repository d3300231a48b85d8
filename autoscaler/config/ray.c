/*
 * ray.c - Ray's cluster YAML (ray up), as its own schema has it.
 *
 * Machines are AWS', GCP's or Azure's own, by node_config; what resources:
 * does not say is looked up in the catalogue as Ray looks it up in the cloud,
 * with Ray's share of memory (70 %: the rest is the object store's).
 */
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "../model/amount.h"
#include "raw.h"
#include "ray/defaults.h"
#include "ray_launch.h"

enum {
    RAY_MAX_WORKERS = 2,
    RAY_IDLE_MINUTES = 5,
    RAY_MEMORY_PERCENT = 70,
    LONGEST_ZONE = 47
};

#define AT(member) .offset = offsetof(struct config, member)

static const struct key ray_file_keys[] = {
    {"cluster_name", KEY_NAME, AT(cluster)},
    {"max_workers", KEY_COUNT, AT(limits.max_nodes), .max = 1000000},
    {"upscaling_speed", KEY_FACTOR, AT(limits.upscaling_speed), .max = 100000},
    {"idle_timeout_minutes", KEY_CUSTOM, .read = dialect_minutes},
    {"head_node_type", KEY_TEXT, AT(head_type)},
    KEYS_END,
};

#undef AT
#define AT(member) .offset = offsetof(struct raw_type, member)

static const struct key type_keys[] = {
    {"min_workers", KEY_COUNT, AT(min), .max = 1000000},
    {"max_workers", KEY_COUNT, AT(max), .max = 1000000},
    {"idle_timeout_s", KEY_TIME, AT(idle_timeout_ms),
     .max = INT64_C(30) * 86400000},
    {"priority", KEY_INT, AT(priority), .min = -1000000, .max = 1000000},
    {"resources", KEY_CUSTOM, .read = dialect_resources},
    {"labels", KEY_CUSTOM, .read = dialect_labels},
    KEYS_END,
};

/* ---- node_config ---- */

/* GCP takes names and URLs: ".../machineTypes/n1-standard-8". */
static const char *last_part(const char *s)
{
    const char *slash = strrchr(s, '/');

    return slash ? slash + 1 : s;
}

/* These have GPUs of their own, which such a file may name beside them
 * (cloud.google.com/compute/docs/gpus: accelerator-optimized families). */
static bool has_own_gpus(const char *gcp)
{
    static const char *const families[] = {"a2-",  "a3-", "a4-",
                                           "a4x-", "g2-", "g4-"};

    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strncmp(gcp, families[i], strlen(families[i])) == 0)
            return true;
    return false;
}

static void machine_read(struct raw *d, struct raw_type *t,
                         const struct ynode *node)
{
    const char *gcp = last_part(dialect_text(ynode_get(node, "machineType")));
    const struct ynode *accels = ynode_get(node, "guestAccelerators");
    const struct ynode *first = accels && accels->kind == YNODE_LIST &&
                                        accels->n
                                    ? accels->items[0]
                                    : NULL;
    const char *count = dialect_text(ynode_get(first, "acceleratorCount"));
    const char *type = last_part(
        dialect_text(ynode_get(first, "acceleratorType")));

    t->machine_at = ynode_get(node, "InstanceType");
    if (!t->machine_at)
        t->machine_at = ynode_path(node, "azure_arm_parameters", "vmSize",
                                   NULL);
    if (!t->machine_at)
        t->machine_at = ynode_get(node, "machineType");
    t->machine = last_part(dialect_text(t->machine_at));
    if (*gcp && *type && !has_own_gpus(gcp))
        t->machine = arena_printf(d->r.arena, "%s+%s%s%s", gcp, type,
                                  *count && strcmp(count, "1") != 0 ? "x" : "",
                                  strcmp(count, "1") != 0 ? count : "");
}

static bool says(const struct ynode *v, const char *word)
{
    return strcmp(dialect_text(v), word) == 0;
}

/* GCP's scheduling:, which Ray's files have as a list of such. */
static bool preemptible(const struct ynode *s)
{
    return strcasecmp(dialect_text(ynode_get(s, "preemptible")), "true") == 0 ||
           says(ynode_get(s, "provisioningModel"), "SPOT");
}

static bool is_spot(const struct ynode *node)
{
    const struct ynode *s = ynode_get(node, "scheduling");
    const struct ynode *azure = ynode_get(node, "azure_arm_parameters");

    for (uint32_t i = 0; s && s->kind == YNODE_LIST && i < s->n; i++)
        if (preemptible(s->items[i]))
            return true;
    return says(ynode_path(node, "InstanceMarketOptions", "MarketType", NULL),
                "spot") ||
           preemptible(s) || says(ynode_get(azure, "priority"), "Spot");
}

/* "us-west-2a,us-west-2b".  Of Azure also at a type, and "auto" and "none",
 * which leave it to the cloud (ray/autoscaler/_private/_azure/
 * node_provider.py). */
static void zones_read(struct raw *d, struct raw_type *t,
                       const struct ynode *node, const struct ynode *provider)
{
    const struct ynode *own = ynode_path(node, "azure_arm_parameters",
                                         "availability_zone", NULL);
    const char *p = dialect_text(
        own ? own : ynode_get(provider, "availability_zone"));

    if (strcasecmp(p, "auto") == 0 || strcasecmp(p, "none") == 0)
        return;

    while (*p && t->zones.n < 32) {
        size_t skip = strspn(p, ", "), n = strcspn(p + skip, ", ");
        const char *zone = arena_strndup(d->r.arena, p + skip, n);
        if (n && n <= LONGEST_ZONE)
            VEC_PUSH(d->r.arena, &t->zones, zone);
        p += skip + n;
    }
}

/* ---- the file ---- */

static void type_read(struct raw *d, const struct ynode *root,
                      const struct ypair *p, const char *provider)
{
    const struct ynode *node = ynode_get(p->value, "node_config");
    const char *max = dialect_text(ynode_get(p->value, "max_workers"));
    bool head = strcmp(p->key->text, d->c->head_type) == 0;
    struct raw_type *t;

    /* The head's type is launched again only when it says so. */
    if (head && (!*max || strcmp(max, "0") == 0))
        return;
    if (!ray_launch_can(d, root, p->value, provider))
        return;
    t = dialect_type(d, p->key, "available_node_types", p->value);
    if (!t)
        return;
    t->provider = provider;
    t->max = d->c->limits.max_nodes;
    t->memory_percent = RAY_MEMORY_PERCENT;
    grammar_read_some(&d->r, type_keys, p->value, t->where, t);
    unknown_keys(d, KEYS_RAY_TYPE, p->value, t->where);
    unknown_keys(d, KEYS_RAY_DOCKER, ynode_get(p->value, "docker"),
                 grammar_where(&d->r, t->where, "docker"));
    machine_read(d, t, node);
    zones_read(d, t, node, ynode_get(root, "provider"));
    if (is_spot(node))
        t->markets[t->n_markets++] = MARKET_SPOT;
    ray_launch_type(d, root, p->value, t);
    dialect_priority(d, t, ynode_get(root, "davit"));
}

static void head_check(struct raw *d, const struct ynode *root,
                       const struct ynode *types)
{
    const struct ynode *at = ynode_get(root, "head_node_type");
    const char **names = ARENA_ARRAY(d->r.arena, const char *, types->n);

    for (uint32_t i = 0; i < types->n; i++) {
        names[i] = types->pairs[i].key->text;
        if (strcmp(names[i], d->c->head_type) == 0)
            return;
    }
    if (!types->n)
        return;
    diag_add(d->r.diag, at ? at : root,
             "head_node_type must be one of available_node_types: %s%s%s%s",
             grammar_or(d->r.arena, names, types->n), at ? ", got " : "",
             at ? ynode_shown(d->r.arena, at) : "",
             grammar_hint(d->r.arena, d->c->head_type, names, types->n));
}

bool ray_is(const struct ynode *root)
{
    const struct ynode *p = ynode_get(root, "provider");

    return ynode_get(root, "available_node_types") ||
           (ynode_get(root, "cluster_name") && p && p->kind == YNODE_MAP);
}

/* Ray's name for a provider is ours, but for these. */
static const char *provider_name(const char *type)
{
    if (strcmp(type, "kuberay") == 0 || strcmp(type, "kubernetes") == 0)
        return "k8s";
    if (strcmp(type, "aws") == 0)
        return "ec2";
    if (strcmp(type, "gcp") == 0)
        return "gce";
    if (strcmp(type, "azure") == 0)
        return "azurevm";
    if (strcmp(type, "local") == 0) /* its machines are a fixed list */
        return "Ray's local";
    return *type ? type : "of an unknown type";
}

static void unknown_read(struct raw *d, const struct ynode *root)
{
    const struct ynode *provider = ynode_get(root, "provider");
    const char *type = dialect_text(ynode_get(provider, "type"));

    unknown_keys(d, KEYS_RAY_FILE, root, "");
    unknown_keys(d, KEYS_RAY_AUTH, ynode_get(root, "auth"), "auth");
    unknown_keys(d, KEYS_RAY_DOCKER, ynode_get(root, "docker"), "docker");
    /* Others' are theirs alone: we do not know them. */
    if (strcmp(type, "aws") == 0 || strcmp(type, "gcp") == 0 ||
        strcmp(type, "azure") == 0)
        unknown_keys(d, KEYS_RAY_PROVIDER, provider, "provider");
}

/* Ray's local provider: what it has is a list of machines that are there. */
static bool is_list_of_machines(struct raw *d, const struct ynode *root)
{
    const struct ynode *types = ynode_get(root, "available_node_types");
    const struct ynode *type = ynode_path(root, "provider", "type", NULL);

    if (strcmp(dialect_text(type), "local") != 0 ||
        (types && types->kind == YNODE_MAP && types->n))
        return false;
    diag_add(d->r.diag, type,
             "Ray's provider local has a list of machines and no node types, "
             "so there is nothing to launch; machines that a program of yours "
             "switches on are node types of the provider exec, see "
             "docs/guides/on-premise.md");
    return true;
}

void ray_read(struct raw *d, const struct ynode *file)
{
    const struct ynode *root = ray_defaults(d, file);
    const struct ynode *types = ynode_get(root, "available_node_types");
    const struct ynode *type = ynode_path(root, "provider", "type", NULL);
    const char *provider;

    if (is_list_of_machines(d, root))
        return;
    d->c->limits.max_nodes = RAY_MAX_WORKERS;
    d->c->limits.idle_timeout_ms = RAY_IDLE_MINUTES * 60000;
    d->c->limits.upscaling_speed = AMOUNT_ONE;
    grammar_read_some(&d->r, ray_file_keys, root, "", d->c);
    unknown_read(d, root);
    if (!*d->c->cluster)
        d->c->cluster = "default";
    if (!ynode_get(root, "max_workers"))
        diag_warn(
            d->r.diag, root,
            "max_workers is not given: Ray's default of %d machines holds",
            RAY_MAX_WORKERS);
    provider = dialect_provider(d, ynode_get(root, "davit"), type ? type : root,
                                provider_name(dialect_text(type)));
    if (!types || types->kind != YNODE_MAP) {
        diag_add(d->r.diag, types ? types : root,
                 "available_node_types must be a mapping of node types, got %s",
                 types ? ynode_shown(d->r.arena, types) : "nothing");
        return;
    }
    head_check(d, root, types);
    ray_launch_file(d, root);
    for (uint32_t i = 0; i < types->n; i++)
        type_read(d, root, &types->pairs[i], provider);
    dialect_check(d);
}
