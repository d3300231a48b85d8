/*
 * cmd_sidecar.c - `ray kuberay-autoscaler`: what KubeRay's operator starts in
 * the container "autoscaler" of a head pod, done by Davit.
 *
 * The operator (1.1 to 1.6) runs it through /bin/bash under the name of Ray's
 * own program, so main.c comes here by that name.  The container has a
 * read-only root: the journal goes into the directory shared with the head.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static int run(int argc, char **argv)
{
    static const struct option options[] = {
        {"cluster-name", required_argument, NULL, 'c'},
        {"cluster-namespace", required_argument, NULL, 'N'},
        {"listen", required_argument, NULL, 'l'},
        {"metrics", required_argument, NULL, 'm'},
        {"settings", required_argument, NULL, 's'},
        {"dry-run", no_argument, NULL, 'n'},
        {"log-json", no_argument, NULL, 'j'},
        {"verbose", no_argument, NULL, 'v'},
        {0}};
    struct control_opts o = {.config_path = ""};
    char state[600], metrics[64], listen[64];
    struct kuberay_opts k = {
        .space = env("RAY_CLUSTER_NAMESPACE", ""),
        .name = env("RAY_CLUSTER_NAME", ""),
        .kubeconfig = "",
        .context = "",
        .ray_address = env("RAY_ADDRESS", "127.0.0.1:6379"),
        .listen = listen,
        .metrics = metrics,
        .state = state,
        .settings = env("DAVIT_SETTINGS", ""),
        .sidecar = true};
    enum log_level level = LOG_INFO;
    bool json = false;
    int opt;

    snprintf(metrics, sizeof metrics, "0.0.0.0:%.10s",
             env("AUTOSCALER_METRIC_PORT", "44217"));
    snprintf(listen, sizeof listen, "%.60s",
             env("DAVIT_LISTEN", "127.0.0.1:8790"));
    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (opt) {
        case 'c': k.name = optarg; break;
        case 'N': k.space = optarg; break;
        case 'l': snprintf(listen, sizeof listen, "%.60s", optarg); break;
        case 'm': snprintf(metrics, sizeof metrics, "%.60s", optarg); break;
        case 's': k.settings = optarg; break;
        case 'n': o.dry_run = true; break;
        case 'j': json = true; break;
        case 'v': level = LOG_DEBUG; break;
        default: return cli_usage(&cli_sidecar, "see above");
        }
    }
    if (optind < argc)
        return cli_usage(&cli_sidecar, "there is no use for \"%s\"",
                         argv[optind]);
    if (!*k.name)
        return cli_usage(
            &cli_sidecar,
            "--cluster-name is missing (or RAY_CLUSTER_NAME in the environment)");
    daemon_prepare(level, json);
    log_info(
        "davit %s in the place of Ray's autoscaler, for RayCluster %s in %s%s%s",
        DAVIT_VERSION, k.name, *k.space ? k.space : "this pod's namespace",
        *env("RAY_HEAD_POD_NAME", "") ? ", head pod " : "",
        env("RAY_HEAD_POD_NAME", ""));
    while (!state_find(state, sizeof state))
        sleep(5);
    return kuberay_run(&o, &k);
}

const struct cli_command cli_sidecar = {
    "kuberay-autoscaler", "--cluster-name X --cluster-namespace Y",
    "as KubeRay's autoscaler container", run,
    "  --cluster-name NAME, --cluster-namespace NAME   the RayCluster (else\n"
    "                  RAY_CLUSTER_NAME, RAY_CLUSTER_NAMESPACE)\n"
    "  --listen HOST:PORT    the REST API (127.0.0.1:8790; DAVIT_LISTEN)\n"
    "  --metrics HOST:PORT   Prometheus (0.0.0.0:44217 as Ray's autoscaler;\n"
    "                  AUTOSCALER_METRIC_PORT)\n"
    "  --settings FILE       further settings of who runs it (DAVIT_SETTINGS)\n"
    "  --dry-run, --log-json, --verbose   as for `davit run`\n\n"
    "The head is RAY_ADDRESS, else 127.0.0.1:6379: the same pod.  The journal is\n"
    "/tmp/ray/davit/davit.db, or DAVIT_STATE.  The RayCluster's annotation\n"
    "davit.io/config may set limits and queues.  See docs/kubernetes.md.\n"};
