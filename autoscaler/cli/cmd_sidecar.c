/*
 * cmd_sidecar.c - `ray kuberay-autoscaler`: what KubeRay's operator starts in
 * the container "autoscaler" of a head pod, done by Davit.
 *
 * The operator (1.1 to 1.6) runs it through /bin/bash under the name of Ray's
 * own program, so main.c comes here by that name.  The container has a
 * read-only root: the journal goes into the directory shared with the head.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../control/shadow/shadow.h"
#include "cli.h"
#include "daemon.h"
#include "kuberay.h"

static const char *env(const char *name, const char *fallback)
{
    const char *v = getenv(name);

    return v && *v ? v : fallback;
}

/* A folder of our own that can be written; false: why is in text. */
static bool folder_make(const char *in, char *ret, size_t size, char *text,
                        size_t n)
{
    if (mkdir(in, 01777) != 0 && errno != EEXIST) {
        snprintf(text, n, "%s: %s", in, strerror(errno));
        return false;
    }
    snprintf(ret, size, "%s/davit", in);
    if ((mkdir(ret, 0700) != 0 && errno != EEXIST) ||
        access(ret, R_OK | W_OK | X_OK) != 0) {
        snprintf(text, n, "%s: %s", ret, strerror(errno));
        return false;
    }
    return true;
}

/* DAVIT_STATE, else where the head pod has an empty directory. */
static bool state_find(char *ret, size_t size)
{
    const char *in[] = {"/tmp/ray", env("TMPDIR", "/tmp"), "/dev/shm"};
    const char *given = getenv("DAVIT_STATE");
    char folder[500], why[3][600];

    if (given && *given) {
        snprintf(ret, size, "%s", given);
        return true;
    }
    for (int i = 0; i < 3; i++)
        if (folder_make(in[i], folder, sizeof folder, why[i], sizeof why[i])) {
            snprintf(ret, size, "%s/davit.db", folder);
            return true;
        }
    log_error("there is no place for the journal: mount an empty directory at "
              "/tmp/ray (KubeRay does), or set DAVIT_STATE (%s; %s; %s)",
              why[0], why[1], why[2]);
    return false;
}

static struct {
    const char *name, *space, *listen, *metrics, *settings;
    bool shadow, log_json, verbose;
} args = {.name = "",
          .space = "",
          .listen = "127.0.0.1:8790",
          .metrics = "",
          .settings = ""};

static int run(void)
{
    char state[600], metrics[64];
    struct control_opts o = {
        .config_path = "", .shadow_boot_ms = args.shadow ? SHADOW_BOOT_MS : 0};
    struct kuberay_opts k = {
        .space = args.space,
        .name = args.name,
        .kubeconfig = "",
        .context = "",
        .ray_address = env("RAY_ADDRESS", "127.0.0.1:6379"),
        .listen = args.listen,
        .metrics = *args.metrics ? args.metrics : metrics,
        .state = state,
        .settings = args.settings,
        .sidecar = true};

    if (!*k.name)
        return cli_usage(
            &cli_sidecar,
            "--cluster-name is missing (or RAY_CLUSTER_NAME in the environment)");
    snprintf(metrics, sizeof metrics, "0.0.0.0:%.10s",
             env("AUTOSCALER_METRIC_PORT", "44217"));
    daemon_prepare(args.verbose ? LOG_DEBUG : LOG_INFO, args.log_json);
    log_info(
        "davit %s in the place of Ray's autoscaler, for RayCluster %s in %s%s%s",
        DAVIT_VERSION, k.name, *k.space ? k.space : "this pod's namespace",
        *env("RAY_HEAD_POD_NAME", "") ? ", head pod " : "",
        env("RAY_HEAD_POD_NAME", ""));
    while (!state_find(state, sizeof state))
        sleep(5);
    return kuberay_run(&o, &k);
}

static const struct cli_option options[] = {
    {"cluster-name", 0, "NAME", .text = &args.name, .env = "RAY_CLUSTER_NAME",
     .help = "the RayCluster (default $RAY_CLUSTER_NAME)"},
    {"cluster-namespace", 0, "NAME", .text = &args.space,
     .env = "RAY_CLUSTER_NAMESPACE",
     .help = "its namespace (default $RAY_CLUSTER_NAMESPACE, then the pod's)"},
    {"listen", 0, "HOST:PORT", .text = &args.listen, .env = "DAVIT_LISTEN",
     .help = "the REST API (default $DAVIT_LISTEN, then 127.0.0.1:8790)"},
    {"metrics", 0, "HOST:PORT", .text = &args.metrics,
     .help = "Prometheus (default 0.0.0.0:44217 as Ray's autoscaler; "
             "$AUTOSCALER_METRIC_PORT is the port)"},
    {"settings", .text = &args.settings, .takes = TAKES_FILE,
     .env = "DAVIT_SETTINGS",
     .help = "further settings of who runs it (default $DAVIT_SETTINGS)"},
    {"shadow", .flag = &args.shadow,
     .help = "beside KubeRay's own autoscaler: acts on nothing, and adds up "
             "what its nodes cost and what Davit's would"},
    {"dry-run", .flag = &args.shadow, .help = "the same as --shadow"},
    {"log-json", .flag = &args.log_json, .help = "log lines as JSON"},
    {"verbose", .flag = &args.verbose, .help = "more of them"},
    {0}};

const struct cli_command cli_sidecar = {
    .name = "kuberay-autoscaler",
    .help = "as KubeRay's autoscaler container",
    .options = options,
    .run = run,
    .details = "The head is RAY_ADDRESS, else 127.0.0.1:6379: the same pod. "
               "The journal is /tmp/ray/davit/davit.db, or DAVIT_STATE. The "
               "RayCluster's annotation davit.io/config may set limits and "
               "queues. See docs/kubernetes.md.\n"};
