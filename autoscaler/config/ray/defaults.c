/*
 * defaults.c - what Ray fills in where a cluster YAML says nothing: its
 * ray/autoscaler/{aws,gcp,azure}/defaults.yaml (of 2.55), key by key of the whole
 * file (ray/autoscaler/_private/util.py, fillout_defaults).
 */
#include "defaults.h"

#include <string.h>

static const char aws[] =
    "max_workers: 2\n"
    "available_node_types:\n"
    "  ray.head.default:\n"
    "    resources: {}\n"
    "    node_config: {InstanceType: m5.large, BlockDeviceMappings: "
    "[{DeviceName: /dev/sda1, Ebs: {VolumeSize: 256}}]}\n"
    "  ray.worker.default:\n"
    "    min_workers: 0\n"
    "    resources: {}\n"
    "    node_config: {InstanceType: m5.large, InstanceMarketOptions: "
    "{MarketType: spot}}\n"
    "head_node_type: ray.head.default\n"
    "setup_commands:\n"
    "- >-\n"
    "  (stat $HOME/anaconda3/envs/tensorflow2_p310/ &> /dev/null &&\n"
    "  echo 'export PATH=\"$HOME/anaconda3/envs/tensorflow2_p310/bin:$PATH\"' "
    ">> ~/.bashrc) || true\n"
    "- which ray || pip install -U \"ray[default] @ "
    "https://s3-us-west-2.amazonaws.com/ray-wheels/latest/"
    "ray-3.0.0.dev0-cp310-cp310-manylinux2014_x86_64.whl\"\n";

#define GCP_NODE \
    "machineType: n1-standard-2, disks: [{boot: true, autoDelete: true, type: " \
    "PERSISTENT, initializeParams: {diskSizeGb: 50, sourceImage: " \
    "projects/deeplearning-platform-release/global/images/family/" \
    "common-cpu}}]"
static const char gcp[] =
    "max_workers: 2\n"
    "available_node_types:\n"
    "  ray_head_default:\n"
    "    resources: {CPU: 2}\n"
    "    node_config: {" GCP_NODE "}\n"
    "  ray_worker_small:\n"
    "    min_workers: 0\n"
    "    resources: {CPU: 2}\n"
    "    node_config: {" GCP_NODE ", scheduling: [{preemptible: true}]}\n"
    "head_node_type: ray_head_default\n"
    "setup_commands:\n"
    "- >-\n"
    "  (stat /opt/conda/bin/ &> /dev/null &&\n"
    "  echo 'export PATH=\"/opt/conda/bin:$PATH\"' >> ~/.bashrc) || true\n"
    "- which ray || pip install -U \"ray[default] @ "
    "https://s3-us-west-2.amazonaws.com/ray-wheels/latest/"
    "ray-3.0.0.dev0-cp37-cp37m-manylinux2014_x86_64.whl\"\n";

#define AZURE_NODE \
    "vmSize: Standard_D2s_v3, imagePublisher: microsoft-dsvm, imageOffer: " \
    "ubuntu-2204, imageSku: 2204-gen2, imageVersion: latest"
static const char azure[] =
    "max_workers: 2\n"
    "available_node_types:\n"
    "  ray.head.default:\n"
    "    resources: {CPU: 2}\n"
    "    node_config: {azure_arm_parameters: {" AZURE_NODE
    ", availability_zone: none}}\n"
    "  ray.worker.default:\n"
    "    min_workers: 0\n"
    "    resources: {CPU: 2}\n"
    "    node_config: {azure_arm_parameters: {" AZURE_NODE
    ", priority: Spot}}\n"
    "head_node_type: ray.head.default\n"
    "initialization_commands: [touch ~/.sudo_as_admin_successful]\n"
    "setup_commands:\n"
    "- (which conda && echo 'eval \"$(conda shell.bash hook)\"' >> ~/.bashrc) "
    "|| true\n"
    "- conda tos accept\n"
    "- conda create -n ray-env python=3.10 -y\n"
    "- conda activate ray-env && echo 'conda activate ray-env' >> ~/.bashrc\n"
    "- which ray || pip install -U \"ray[default] @ "
    "https://s3-us-west-2.amazonaws.com/ray-wheels/latest/"
    "ray-3.0.0.dev0-cp310-cp310-manylinux2014_x86_64.whl\"\n";

static const char *text_of(const char *provider)
{
    return strcmp(provider, "aws") == 0     ? aws
           : strcmp(provider, "gcp") == 0   ? gcp
           : strcmp(provider, "azure") == 0 ? azure
                                            : NULL;
}

/* What is filled in is said to stand where the provider does. */
static void place(const struct ynode *n, const struct ynode *at)
{
    struct ynode *to = (struct ynode *)(uintptr_t)n;

    to->line = at->line;
    to->column = at->column;
    for (uint32_t i = 0; i < n->n && n->kind == YNODE_LIST; i++)
        place(n->items[i], at);
    for (uint32_t i = 0; i < n->n && n->kind == YNODE_MAP; i++) {
        place(n->pairs[i].key, at);
        place(n->pairs[i].value, at);
    }
}

/* max_workers has a word of its own where the file has node types (ray.c). */
static bool left_to(const struct ynode *root, const char *key)
{
    return ynode_get(root, key) || (strcmp(key, "max_workers") == 0 &&
                                    ynode_get(root, "available_node_types"));
}

const struct ynode *ray_defaults(struct raw *d, const struct ynode *root)
{
    const struct ynode *type = ynode_path(root, "provider", "type", NULL);
    const char *text = text_of(dialect_text(type)), *names = "";
    bool typed = ynode_get(root, "available_node_types");
    const struct ynode *from;
    struct yaml_docs docs;
    struct ypair *pairs;
    struct ynode *ret;

    if (!text || ynode_get(root, "head_node") ||
        ynode_get(root, "worker_nodes") ||
        yaml_read(d->r.arena, text, strlen(text), d->r.diag, &docs) != ST_OK)
        return root;
    from = docs.v[0];
    place(from, type);
    pairs = ARENA_ARRAY(d->r.arena, struct ypair, root->n + from->n);
    ret = arena_copy(d->r.arena, root, sizeof *ret);
    memcpy(pairs, root->pairs, root->n * sizeof *pairs);
    for (uint32_t i = 0; i < from->n; i++) {
        const char *key = from->pairs[i].key->text;

        if (left_to(root, key))
            continue;
        pairs[ret->n++] = from->pairs[i];
        names = arena_printf(d->r.arena, "%s%s%s", names, *names ? ", " : "",
                             key);
    }
    ret->pairs = pairs;
    if (*names)
        diag_warn(d->r.diag, type,
                  "the file has no %s: as Ray does, its defaults for %s are "
                  "taken%s%s",
                  typed ? names : "available_node_types", dialect_text(type),
                  typed ? "" : " for ", typed ? "" : names);
    return ret;
}
