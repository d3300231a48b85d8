/*
 * cmd_run.c - the daemon.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "daemon.h"
#include "kuberay.h"

/* NAMESPACE/NAME, or NAME in the namespace of the pod or the context. */
static int run_kuberay(struct control_opts *o, struct kuberay_opts *k,
                       const char *which)
{
    const char *slash = strchr(which, '/');
    const char *address = getenv("RAY_ADDRESS");
    char space[256] = "";

    if (slash && (size_t)(slash - which) < sizeof space)
        snprintf(space, sizeof space, "%.*s", (int)(slash - which), which);
    k->space = space;
    k->name = slash ? slash + 1 : which;
    if (!*k->ray_address && address)
        k->ray_address = address;
    return kuberay_run(o, k);
}

static int run(int argc, char **argv)
{
    enum { KUBERAY = 256, KUBECONFIG, CONTEXT, RAY_ADDRESS, SETTINGS };
    static const struct option options[] = {
        {"config", required_argument, NULL, 'c'},
        {"dry-run", no_argument, NULL, 'n'},
        {"record", required_argument, NULL, 'r'},
        {"record-http", required_argument, NULL, 'H'},
        {"replay-http", required_argument, NULL, 'R'},
        {"log-json", no_argument, NULL, 'j'},
        {"verbose", no_argument, NULL, 'v'},
        {"kuberay", required_argument, NULL, KUBERAY},
        {"kubeconfig", required_argument, NULL, KUBECONFIG},
        {"context", required_argument, NULL, CONTEXT},
        {"ray-address", required_argument, NULL, RAY_ADDRESS},
        {"settings", required_argument, NULL, SETTINGS},
        {0}};
    struct control_opts o = {.config_path = "davit.yaml"};
    struct kuberay_opts k = {"", "", "", "", "", "", "", "", "", false};
    enum log_level level = LOG_INFO;
    struct config *conf;
    const char *kuberay = NULL, *config = NULL;
    bool json = false;
    int opt;

    while ((opt = getopt_long(argc, argv, "c:nv", options, NULL)) != -1) {
        switch (opt) {
        case 'c': config = optarg; break;
        case 'n': o.dry_run = true; break;
        case 'r': o.record_dir = optarg; break;
        case 'H': o.record_http_dir = optarg; break;
        case 'R': o.replay_http_dir = optarg; break;
        case 'j': json = true; break;
        case 'v': level = LOG_DEBUG; break;
        case KUBERAY: kuberay = optarg; break;
        case KUBECONFIG: k.kubeconfig = optarg; break;
        case CONTEXT: k.context = optarg; break;
        case RAY_ADDRESS: k.ray_address = optarg; break;
        case SETTINGS: k.settings = optarg; break;
        default: return cli_usage(&cli_run, "see above");
        }
    }
    if (o.record_http_dir && o.replay_http_dir)
        return cli_usage(&cli_run, "HTTP is recorded or replayed, not both");
    if (optind < argc)
        config = argv[optind];
    if (kuberay && config)
        return cli_usage(
            &cli_run,
            "--kuberay reads the RayCluster in place of a file, so %s is one "
            "too many; what a RayCluster does not say is read with "
            "--settings FILE",
            config);
    if (!kuberay &&
        (*k.kubeconfig || *k.context || *k.ray_address || *k.settings))
        return cli_usage(
            &cli_run,
            "--kubeconfig, --context, --ray-address and --settings go with "
            "--kuberay; a file says the same under head: and providers:");
    daemon_prepare(level, json);
    if (kuberay)
        return run_kuberay(&o, &k, kuberay);
    if (config)
        o.config_path = config;
    conf = cli_config(o.config_path);
    return conf ? daemon_run(&o, conf) : EXIT_INPUT;
}

const struct cli_command cli_run = {
    "run", "[--config FILE] [--dry-run] [--record DIR] [FILE]",
    "runs the daemon", run,
    "  --config FILE   settings (default davit.yaml); a Ray cluster YAML, a\n"
    "                  podTypes list and a RayCluster manifest are read too\n"
    "  --kuberay NAMESPACE/NAME   a RayCluster of a Kubernetes cluster in place\n"
    "                  of a file: its groups are the node types, and a change of\n"
    "                  it is a reload\n"
    "  --kubeconfig FILE, --context NAME   which cluster, where it is not this\n"
    "                  pod's own\n"
    "  --ray-address HOST:PORT   its head (default RAY_ADDRESS, else the service\n"
    "                  NAME-head-svc)\n"
    "  --settings FILE what a RayCluster does not say: the keys of a davit: block\n"
    "                  (api, state, providers ...); its annotation davit.io/config\n"
    "                  may say limits and queues\n"
    "  --dry-run       plans and reports, but never launches or ends anything\n"
    "  --record DIR    keeps every plan that asks for something as a file there,\n"
    "                  with all it was made from, for `davit plan`: the newest\n"
    "                  1,000 and 256 MiB\n"
    "  --record-http DIR\n"
    "                  keeps what providers ask their clouds, and the answers,\n"
    "                  without secrets, in DIR/PROVIDER.jsonl\n"
    "  --replay-http DIR\n"
    "                  asks no cloud: answers come from such a recording\n"
    "  --log-json      log lines as JSON\n"
    "  --verbose       more of them\n\n"
    "SIGHUP or a change of the file reloads it; SIGTERM stops the daemon and\n"
    "leaves every machine as it is.\n"};
