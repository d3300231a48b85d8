/*
 * script.c - see script.h.
 *
 * The order is that of Ray's updater: files, initialization_commands on the host, then
 * setup_commands, worker_setup_commands and worker_start_ray_commands, in the
 * container where the file has a docker: block (ray/autoscaler/_private/
 * {updater,docker,util}.py).  A type's own list replaces the file's.  Each
 * command is run by an interactive login shell of its own, as Ray runs it, for
 * many a ~/.bashrc does nothing otherwise, and that is where Ray's examples put
 * their PATH; setsid, so that it has no terminal to wait for.  The first
 * command that fails ends it: the machine then does not join, and its console
 * says why.
 */
#include "script.h"

#include <string.h>

#include "../raw.h"
#include "mounts.h"

#define LONGEST_NAME 4096

/* A function that runs its one argument in such a shell: NAME, and what is put
 * before the shell (ray/autoscaler/_private/command_runner.py,
 * _with_interactive). */
static void runner_add(struct buf *b, const char *name, const char *before)
{
    buf_printf(b,
               "%s() { %s bash --login -i -c \"source ~/.bashrc 2>/dev/null; "
               "export OMP_NUM_THREADS=1 PYTHONWARNINGS=ignore; (\n$1\n)\"; "
               "}\n",
               name, before);
}

void ray_script_quoted(struct buf *b, const char *text)
{
    buf_str(b, "'");
    for (; *text; text++)
        if (*text == '\'')
            buf_str(b, "'\\''");
        else
            buf_add(b, text, 1);
    buf_str(b, "'");
}

/* `how` is "on_host" or "in_container". */
static void commands_add(struct buf *b, const struct ynode *list,
                         const char *how)
{
    if (!list || list->kind != YNODE_LIST)
        return;
    for (uint32_t i = 0; i < list->n; i++) {
        if (list->items[i]->kind != YNODE_TEXT)
            continue;
        buf_printf(b, "%s ", how);
        ray_script_quoted(b, list->items[i]->text);
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

static const char *container_image(const struct ynode *root,
                                   const struct ynode *type)
{
    return docker_text(root, type, "worker_image",
                       docker_text(root, type, "image", ""));
}

static const char *container_name(const struct ynode *root,
                                  const struct ynode *type)
{
    return docker_text(root, type, "container_name", "ray_container");
}

/* True when the file wants a container; then it is started. */
static bool container_add(struct buf *b, const struct ynode *root,
                          const struct ynode *type)
{
    const char *image = container_image(root, type);
    const char *name = container_name(root, type);
    const struct ynode *run = ynode_path(type, "docker", "run_options", NULL);
    struct buf exec;

    if (!*image)
        return false;
    if (strcmp(docker_text(root, type, "pull_before_run", "true"), "false")) {
        buf_str(b, "docker pull ");
        ray_script_quoted(b, image);
        buf_str(b, "\n");
    }
    /* Some clouds run the script at each start of a machine. */
    buf_str(b, "docker rm -f ");
    ray_script_quoted(b, name);
    buf_str(b, " >/dev/null 2>&1 || true\n"
               "docker run --rm -d -i --net=host --name ");
    ray_script_quoted(b, name);
    buf_str(b, " $(command -v nvidia-smi >/dev/null && echo --gpus all)"
               " --shm-size=$(awk '/MemAvailable/ {printf \"%d\", $2 * 1024 * "
               "0.33}' /proc/meminfo)");
    options_add(b, run ? run : ynode_path(root, "docker", "run_options", NULL));
    options_add(b, ynode_path(root, "docker", "worker_run_options", NULL));
    buf_str(b, " ");
    ray_script_quoted(b, image);
    buf_str(b, " bash\n");
    buf_init(&exec, LONGEST_NAME);
    buf_str(&exec, "docker exec -e RAY_CLOUD_INSTANCE_ID -e RAY_NODE_TYPE_NAME "
                   "-e RAY_CLOUD_INSTANCE_TYPE_NAME -e RAY_HEAD_IP "
                   "-e RAY_OVERRIDE_RESOURCES -e RAY_OVERRIDE_LABELS ");
    ray_script_quoted(&exec, name);
    runner_add(b, "in_container", exec.s);
    buf_done(&exec);
    return true;
}

/* Before the first command; Ray's container has the files from its start. */
static void files_add(struct buf *b, const struct ray_mounts *m)
{
    if (*m->archive)
        buf_printf(b,
                   "files() {\nbase64 -d <<'DAVIT_FILES'\n%sDAVIT_FILES\n}\n",
                   m->archive);
}

static void files_put(struct buf *b, const struct ray_mounts *m,
                      const char *container)
{
    if (!*m->archive)
        return;
    buf_str(b, "files | ");
    if (container) {
        buf_str(b, "docker exec -i ");
        ray_script_quoted(b, container);
    }
    buf_str(b, " bash -c ");
    ray_script_quoted(b, m->unpack);
    buf_str(b, "\n");
}

void ray_script(struct buf *b, const struct ynode *root,
                const struct ynode *type, const struct ray_mounts *mounts)
{
    const struct ynode *setup = ynode_get(type, "worker_setup_commands");
    const struct ynode *start = ynode_get(root, "worker_start_ray_commands");
    const char *how = "on_host";

    buf_str(b, "set -e\n");
    runner_add(b, how, "setsid -w");
    files_add(b, mounts);
    if (!*container_image(root, type))
        files_put(b, mounts, NULL);
    commands_add(b, of_type(root, type, "initialization_commands"), how);
    if (container_add(b, root, type)) {
        how = "in_container";
        files_put(b, mounts, container_name(root, type));
    }
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
