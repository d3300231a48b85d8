/*
 * ray_launch.c - see ray_launch.h.
 *
 * The order is that of Ray's updater: initialization_commands on the host, then
 * setup_commands, worker_setup_commands and worker_start_ray_commands, in the
 * container where the file has a docker: block (ray/autoscaler/_private/
 * {updater,docker,util}.py).  A type's own list replaces the file's.  Each
 * command is run by a login shell of its own, and the first that fails ends it:
 * the machine then does not join, and its console says why.
 */
#include "ray_launch.h"

#include <stdlib.h>
#include <string.h>

#define LONGEST_SCRIPT 65536
/* Amazon's own name for its newest deep learning image, which is what Ray's
 * latest_dlami stands for (docs.aws.amazon.com/dlami/latest/devguide/
 * find-dlami-id.html). */
static const char latest_dlami[] =
    "resolve:ssm:/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-"
    "gpu-ubuntu-22.04/latest/ami-id";

static void quoted(struct buf *b, const char *text)
{
    buf_str(b, "'");
    for (; *text; text++)
        if (*text == '\'')
            buf_str(b, "'\\''");
        else
            buf_add(b, text, 1);
    buf_str(b, "'");
}

/* `how` is "bash --login -c" or "in_container". */
static void commands_add(struct buf *b, const struct ynode *list,
                         const char *how)
{
    if (!list || list->kind != YNODE_LIST)
        return;
    for (uint32_t i = 0; i < list->n; i++) {
        if (list->items[i]->kind != YNODE_TEXT)
            continue;
        buf_printf(b, "%s ", how);
        quoted(b, list->items[i]->text);
        buf_str(b, "\n");
    }
}

/* The type's own list, else the file's. */
static const struct ynode *of_type(const struct ynode *root,
                                   const struct ynode *type, const char *key)
{
    const struct ynode *own = ynode_get(type, key);

    return own ? own : ynode_get(root, key);
}

static const char *docker_text(const struct ynode *root,
                               const struct ynode *type, const char *key,
                               const char *other)
{
    const char *own = dialect_text(ynode_path(type, "docker", key, NULL));
    const char *all = dialect_text(ynode_path(root, "docker", key, NULL));

    return *own ? own : *all ? all : other;
}

static void options_add(struct buf *b, const struct ynode *list)
{
    if (list && list->kind == YNODE_LIST)
        for (uint32_t i = 0; i < list->n; i++)
            buf_printf(b, " %s", dialect_text(list->items[i]));
}

/* True when the file wants a container; then it is started. */
static bool container_add(struct buf *b, const struct ynode *root,
                          const struct ynode *type)
{
    const char *image = docker_text(root, type, "worker_image",
                                    docker_text(root, type, "image", ""));
    const char *name = docker_text(root, type, "container_name",
                                   "ray_container");
    const struct ynode *run = ynode_path(type, "docker", "run_options", NULL);

    if (!*image)
        return false;
    if (strcmp(docker_text(root, type, "pull_before_run", "true"), "false")) {
        buf_str(b, "docker pull ");
        quoted(b, image);
        buf_str(b, "\n");
    }
    buf_str(b, "docker run --rm -d -i --net=host --name ");
    quoted(b, name);
    buf_str(b, " $(command -v nvidia-smi >/dev/null && echo --gpus all)"
               " --shm-size=$(awk '/MemAvailable/ {printf \"%d\", $2 * 1024 * "
               "0.33}' /proc/meminfo)");
    options_add(b, run ? run : ynode_path(root, "docker", "run_options", NULL));
    options_add(b, ynode_path(root, "docker", "worker_run_options", NULL));
    buf_str(b, " ");
    quoted(b, image);
    buf_str(b, " bash\nin_container() { docker exec "
               "-e RAY_CLOUD_INSTANCE_ID -e RAY_NODE_TYPE_NAME "
               "-e RAY_CLOUD_INSTANCE_TYPE_NAME -e RAY_HEAD_IP "
               "-e RAY_OVERRIDE_RESOURCES ");
    quoted(b, name);
    buf_str(b, " bash --login -c \"$1\"; }\n");
    return true;
}

static void script_make(struct buf *b, const struct ynode *root,
                        const struct ynode *type)
{
    const struct ynode *setup = ynode_get(type, "worker_setup_commands");
    const struct ynode *start = ynode_get(root, "worker_start_ray_commands");
    const char *how = "bash --login -c";

    buf_str(b, "set -e\n");
    commands_add(b, of_type(root, type, "initialization_commands"), how);
    if (container_add(b, root, type))
        how = "in_container";
    if (setup) {
        commands_add(b, setup, how);
    } else {
        commands_add(b, ynode_get(root, "setup_commands"), how);
        commands_add(b, ynode_get(root, "worker_setup_commands"), how);
    }
    if (start && start->kind == YNODE_LIST && start->n)
        commands_add(b, start, how);
    else /* ray/autoscaler/aws/defaults.yaml */
        buf_printf(b,
                   "%s 'ray stop'\n%s 'ulimit -n 65536; ray start "
                   "--address=$RAY_HEAD_IP:6379 --object-manager-port=8076'\n",
                   how, how);
}

static void option_add(struct raw *d, struct raw_type *t, const char *key,
                       const char *value, const struct ynode *at)
{
    struct conf_pair *v = ARENA_ARRAY(d->r.arena, struct conf_pair,
                                      t->n_options + 1);

    for (uint32_t i = 0; i < t->n_options; i++)
        v[i] = t->options[i];
    v[t->n_options++] = (struct conf_pair){key, value, at->line, at->column};
    t->options = v;
}

/* Ray's own words for an image become one that EC2 knows. */
static void image_settle(struct raw *d, struct raw_type *t,
                         const struct ynode *node, const struct ynode *at)
{
    const struct ynode *given = ynode_get(node, "ImageId");

    if (ynode_get(node, "LaunchTemplate"))
        return;
    if (given && strcmp(dialect_text(given), "latest_dlami") != 0)
        return;
    for (uint32_t i = 0; i < t->n_options; i++)
        if (strcmp(t->options[i].key, "node_config.ImageId") == 0)
            ((struct conf_pair *)t->options)[i].value = latest_dlami;
    if (!given)
        option_add(d, t, "node_config.ImageId", latest_dlami, at);
}

void ray_launch_type(struct raw *d, const struct ynode *root,
                     const struct ynode *type, struct raw_type *t)
{
    const struct ynode *node = ynode_get(type, "node_config");
    const char *user = dialect_text(ynode_path(root, "auth", "ssh_user", NULL));
    struct buf b;

    if (strcmp(t->provider, "ec2") != 0)
        return;
    if (node && node->kind == YNODE_MAP)
        t->options = grammar_flatten_under(&d->r, node, "node_config",
                                           &t->n_options);
    image_settle(d, t, node, node ? node : t->key);
    buf_init(&b, LONGEST_SCRIPT);
    script_make(&b, root, type);
    if (b.full)
        diag_add(d->r.diag, t->key, "%s: its commands have more than %d bytes",
                 t->where, LONGEST_SCRIPT);
    option_add(d, t, "join", arena_strdup(d->r.arena, b.s), t->key);
    if (*user)
        option_add(d, t, "user", user, t->key);
    buf_done(&b);
}

/* What needs a connection to the machine is not done. */
static void undone_tell(struct raw *d, const struct ynode *root)
{
    static const struct {
        const char *key, *instead;
    } undone[] = {
        {"file_mounts", "bring them with the image or with setup_commands"},
        {"cluster_synced_files", "bring them with the image"},
    };

    for (size_t i = 0; i < sizeof undone / sizeof *undone; i++) {
        const struct ynode *v = ynode_get(root, undone[i].key);
        if (v && (v->kind == YNODE_MAP || v->kind == YNODE_LIST) && v->n)
            diag_warn(d->r.diag, v,
                      "%s is not done: machines join by themselves, without "
                      "SSH; %s",
                      undone[i].key, undone[i].instead);
    }
}

void ray_launch_file(struct raw *d, const struct ynode *root)
{
    const struct ynode *region = ynode_path(root, "provider", "region", NULL);

    for (uint32_t i = 0; i < d->providers.n; i++) {
        struct conf_provider *p = &d->providers.v[i];
        struct conf_pair *option;
        if (strcmp(p->name, "ec2") != 0)
            continue;
        undone_tell(d, root);
        if (!*d->c->ray_address)
            d->c->ray_address = "127.0.0.1:6379";
        for (uint32_t k = 0; k < p->n_options; k++)
            if (strcmp(p->options[k].key, "region") == 0)
                region = NULL;
        if (!region)
            continue;
        option = ARENA_ARRAY(d->r.arena, struct conf_pair, p->n_options + 1);
        for (uint32_t k = 0; k < p->n_options; k++)
            option[k] = p->options[k];
        option[p->n_options++] = (struct conf_pair){
            "region", dialect_text(region), region->line, region->column};
        p->options = option;
    }
}
