/*
 * pools.c - what a Kubernetes node says of its pool and its cloud.
 *
 * The labels are those that the clouds put on nodes:
 *   cloud.google.com/kubernetes-engine/docs/how-to/node-auto-provisioning
 *   docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html
 *   learn.microsoft.com/azure/aks/use-labels
 */
#include <string.h>

#include "init.h"

static const char *label(const struct pairs *l, const char *key)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (strcmp(l->v[i].key, key) == 0)
            return l->v[i].value;
    return "";
}

static const char *first_of(const struct pairs *l, const char *const *keys)
{
    for (; *keys; keys++)
        if (*label(l, *keys))
            return label(l, *keys);
    return "";
}

bool init_label_is_systems(const char *key)
{
    static const char *const domains[] = {
        "kubernetes.io", "k8s.io",    "google.com",   "amazonaws.com",
        "azure.com",     "eksctl.io", "gke.io",       "davit.io",
        "nvidia.com",    "aws",       "karpenter.sh", "openshift.io"};
    static const char *const words[] = {"agentpool", "storageprofile",
                                        "storagetier", "os-sku"};
    const char *slash = strchr(key, '/');
    size_t n = slash ? (size_t)(slash - key) : 0;

    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++) {
        size_t m = strlen(domains[i]);
        if (n >= m && strncmp(key + n - m, domains[i], m) == 0 &&
            (n == m || key[n - m - 1] == '.'))
            return true;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(key, words[i]) == 0)
            return true;
    return false;
}

static bool begins(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

static const char *provider_of(const char *id, const struct pairs *l)
{
    if (begins(id, "gce://") || *label(l, "cloud.google.com/gke-nodepool"))
        return "gke";
    if (begins(id, "aws://") || *label(l, "eks.amazonaws.com/nodegroup"))
        return "eks";
    if (begins(id, "azure://") || *label(l, "kubernetes.azure.com/agentpool"))
        return "aks";
    return "";
}

void init_node_facts(struct arena *a, const char *provider_id,
                     const struct pairs *l, struct node_facts *ret)
{
    static const char *const pools[] = {
        "cloud.google.com/gke-nodepool", "eks.amazonaws.com/nodegroup",
        "kubernetes.azure.com/agentpool", "agentpool", NULL};
    static const char *const cards[] = {
        "cloud.google.com/gke-accelerator", "k8s.amazonaws.com/accelerator",
        "ray.io/accelerator-type", "nvidia.com/gpu.product", NULL};

    *ret = (struct node_facts){
        .provider = provider_of(provider_id, l),
        .pool = first_of(l, pools),
        .machine = label(l, "node.kubernetes.io/instance-type"),
        .accelerator = first_of(l, cards),
        .zone = label(l, "topology.kubernetes.io/zone"),
        .region = label(l, "topology.kubernetes.io/region"),
        .spot = strcmp(label(l, "cloud.google.com/gke-spot"), "true") == 0 ||
                strcmp(label(l, "eks.amazonaws.com/capacityType"), "SPOT") ==
                    0 ||
                strcmp(label(l, "kubernetes.azure.com/scalesetpriority"),
                       "spot") == 0};
    for (uint32_t i = 0; i < l->n; i++)
        if (!init_label_is_systems(l->v[i].key))
            VEC_PUSH(a, &ret->labels, l->v[i]);
}

/* ---- where the cloud is */

/* A setting, or "unknown" with a word about it. */
static void set(struct found *f, struct init_provider *p, const char *key,
                const char *value)
{
    init_option(f, p, key, *value ? value : "unknown");
    if (!*value)
        INIT_UNKNOWN(f, "providers.%s.%s: nothing here says it; put it in",
                     p->name, key);
}

/* The n-th part between '/' or '_' of a text, "" when there is none. */
static const char *part(struct arena *a, const char *s, char sep, int n)
{
    while (n-- > 0) {
        s = strchr(s, sep);
        if (!s)
            return "";
        s++;
    }
    return arena_strndup(a, s, strcspn(s, (char[]){sep, '\0'}));
}

/* gcloud calls a context gke_PROJECT_LOCATION_CLUSTER. */
static void gke(struct found *f, struct init_provider *p, const char *id,
                const struct node_facts *n)
{
    bool named = begins(f->context, "gke_");
    const char *c = f->context;

    set(f, p, "project",
        part(&f->arena, named ? c : id, named ? '_' : '/', named ? 1 : 2));
    set(f, p, "location", named ? part(&f->arena, c, '_', 2) : n->region);
    set(f, p, "cluster", named ? part(&f->arena, c, '_', 3) : "");
}

/* `aws eks update-kubeconfig` calls it arn:aws:eks:REGION:ACCOUNT:cluster/NAME;
 * eksctl labels nodes with the cluster's name. */
static void eks(struct found *f, struct init_provider *p,
                const struct pairs *labels, const struct node_facts *n)
{
    const char *cluster = label(labels, "alpha.eksctl.io/cluster-name");

    if (!*cluster && begins(f->context, "arn:"))
        cluster = part(&f->arena, f->context, '/', 1);
    set(f, p, "region", n->region);
    set(f, p, "cluster", cluster);
}

/* azure:///subscriptions/S/resourceGroups/MC_GROUP_CLUSTER_REGION/...: the group
 * of the nodes, whose name tells the cluster's where no part has a '_'. */
static void aks(struct found *f, struct init_provider *p, const char *id)
{
    const char *group = part(&f->arena, id, '/', 6);
    bool clear = strncasecmp(group, "mc_", 3) == 0;
    int bars = 0;

    for (const char *s = group; *s; s++)
        bars += *s == '_';
    clear = clear && bars == 3;
    set(f, p, "subscription", part(&f->arena, id, '/', 4));
    set(f, p, "resource_group", clear ? part(&f->arena, group, '_', 1) : "");
    set(f, p, "cluster", clear ? part(&f->arena, group, '_', 2) : "");
}

void init_node_provider(struct found *f, const char *provider_id,
                        const struct pairs *labels,
                        const struct node_facts *facts)
{
    struct init_provider *p;

    for (uint32_t i = 0; i < f->providers.n; i++)
        if (strcmp(f->providers.v[i].name, facts->provider) == 0)
            return;
    p = init_provider_of(f, facts->provider);
    if (strcmp(p->name, "gke") == 0)
        gke(f, p, provider_id, facts);
    else if (strcmp(p->name, "eks") == 0)
        eks(f, p, labels, facts);
    else if (strcmp(p->name, "aks") == 0)
        aks(f, p, provider_id);
    for (uint32_t i = 0; i < p->options.n && !*f->cluster; i++)
        if (strcmp(p->options.v[i].key, "cluster") == 0 &&
            strcmp(p->options.v[i].value, "unknown") != 0)
            f->cluster = p->options.v[i].value;
}
