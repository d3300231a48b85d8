/*
 * cmd_run.c - the daemon.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../control/shadow/shadow.h"
#include "cli.h"
#include "daemon.h"
#include "kuberay.h"

enum { BOOT_MOST_MS = 24 * 3600000 };

static struct {
    const char *config, *file, *record, *record_http, *replay_http;
    const char *kuberay, *kubeconfig, *context, *ray_address, *settings;
    bool shadow, dry_run, log_json, verbose;
    int64_t boot_ms;
} args = {.boot_ms = SHADOW_BOOT_MS,
          .kubeconfig = "",
          .context = "",
          .ray_address = "",
          .settings = ""};

/* NAMESPACE/NAME, or NAME in the namespace of the pod or the context. */
static int run_kuberay(struct control_opts *o, const char *which)
{
    struct kuberay_opts k = {.kubeconfig = args.kubeconfig,
                             .context = args.context,
                             .ray_address = args.ray_address,
                             .state = "",
                             .listen = "",
                             .metrics = "",
                             .settings = args.settings};
    const char *slash = strchr(which, '/');
    const char *address = getenv("RAY_ADDRESS");
    char space[256] = "";

    if (slash && (size_t)(slash - which) < sizeof space)
        snprintf(space, sizeof space, "%.*s", (int)(slash - which), which);
    k.space = space;
    k.name = slash ? slash + 1 : which;
    if (!*k.ray_address && address)
        k.ray_address = address;
    return kuberay_run(o, &k);
}

/* What options cannot say of one another. */
static int options_check(const char *config)
{
    if (args.record_http && args.replay_http)
        return cli_usage(&cli_run, "HTTP is recorded or replayed, not both");
    if (args.kuberay && config)
        return cli_usage(
            &cli_run,
            "--kuberay reads the RayCluster in place of a file, so %s is one "
            "too many; what a RayCluster does not say is read with "
            "--settings FILE",
            config);
    if (!args.kuberay && (*args.kubeconfig || *args.context ||
                          *args.ray_address || *args.settings))
        return cli_usage(
            &cli_run,
            "--kubeconfig, --context, --ray-address and --settings go with "
            "--kuberay; a file says the same under head: and providers:");
    return EXIT_OK;
}

static int run(void)
{
    const char *config = args.file ? args.file : args.config;
    struct control_opts o = {
        .config_path = config ? config : "davit.yaml",
        .shadow_boot_ms = args.shadow || args.dry_run ? args.boot_ms : 0,
        .record_dir = args.record,
        .record_http_dir = args.record_http,
        .replay_http_dir = args.replay_http};
    struct config *conf;
    int rc = options_check(config);

    if (rc != EXIT_OK)
        return rc;
    daemon_prepare(args.verbose ? LOG_DEBUG : LOG_INFO, args.log_json);
    if (args.kuberay)
        return run_kuberay(&o, args.kuberay);
    conf = cli_config(o.config_path);
    return conf ? daemon_run(&o, conf) : EXIT_INPUT;
}

static const struct cli_option options[] = {
    {"config", 'c', .text = &args.config, .takes = TAKES_FILE,
     .help = "settings (default davit.yaml); a Ray cluster YAML, a podTypes "
             "list and a RayCluster manifest are read too"},
    {"shadow", .flag = &args.shadow,
     .help = "beside another autoscaler: acts on nothing, and adds up what its "
             "nodes cost and what Davit's would: `davit shadow report`"},
    {"dry-run", 'n', .flag = &args.dry_run, .help = "the same as --shadow"},
    {"boot", .time_ms = &args.boot_ms, .least = 1, .most = BOOT_MOST_MS,
     .help = "with --shadow: what a machine takes to boot where its node type "
             "does not say (2m)"},
    {"kuberay", 0, "NAMESPACE/NAME", .text = &args.kuberay,
     .help = "a RayCluster of a Kubernetes cluster in place of a file: its "
             "groups are the node types, and a change of it is a reload"},
    {"kubeconfig", .text = &args.kubeconfig, .takes = TAKES_FILE,
     .help = "with --kuberay: which cluster, where it is not this pod's own"},
    {"context", 0, "NAME", .text = &args.context,
     .help = "with --kuberay: which context of the kubeconfig"},
    {"ray-address", 0, "HOST:PORT", .text = &args.ray_address,
     .help = "with --kuberay: its head (default RAY_ADDRESS, else the service "
             "NAME-head-svc)"},
    {"settings", .text = &args.settings, .takes = TAKES_FILE,
     .help = "with --kuberay: what a RayCluster does not say, the keys of a "
             "davit: block (api, state, providers ...); its annotation "
             "davit.io/config may say limits and queues"},
    {"record", .text = &args.record, .takes = TAKES_FOLDER,
     .help = "keeps every plan that asks for something as a file there, with "
             "all it was made from, for `davit plan`: the newest 1,000 and "
             "256 MiB"},
    {"record-http", .text = &args.record_http, .takes = TAKES_FOLDER,
     .help = "keeps what providers ask their clouds, and the answers, without "
             "secrets, in DIR/PROVIDER.jsonl"},
    {"replay-http", .text = &args.replay_http, .takes = TAKES_FOLDER,
     .help = "asks no cloud: answers come from such a recording"},
    {"log-json", .flag = &args.log_json, .help = "log lines as JSON"},
    {"verbose", 'v', .flag = &args.verbose, .help = "more of them"},
    {0}};

static const struct cli_option words[] = {
    {"FILE", .text = &args.file, .takes = TAKES_FILE, .optional = true,
     .help = "the same as --config FILE"},
    {0}};

const struct cli_command cli_run = {
    .name = "run",
    .help = "runs the daemon",
    .options = options,
    .words = words,
    .run = run,
    .details = "SIGHUP or a change of the file reloads it; SIGTERM stops the "
               "daemon and leaves every machine as it is.\n",
    .examples = (const struct cli_example[]){
        {"davit run --shadow davit.yaml", "looks and plans, does nothing"},
        {"davit run --kuberay ray/train", "a RayCluster in place of a file"},
        {0}}};
