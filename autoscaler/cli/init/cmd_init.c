/*
 * cmd_init.c - `davit init`: a first configuration from what is here.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/outfile.h"
#include "../../config/config.h"
#include "../cli.h"
#include "../terminal.h"
#include "init.h"

static struct {
    const char *from, *ray, *kubeconfig, *context, *cluster, *output;
    const char *provider;
    struct cli_list sets, pools;
    bool force;
} args = {.from = "",
          .ray = "",
          .kubeconfig = "",
          .context = "",
          .cluster = "",
          .output = "davit.yaml",
          .provider = ""};

/* ---- what the finders share */

struct init_pool *init_pool_new(struct found *f, const char *name)
{
    struct init_pool *p = ARENA_NEW(&f->arena, struct init_pool);

    *p = (struct init_pool){.name = arena_strdup(&f->arena, name),
                            .provider = "sim",
                            .pool = "",
                            .machine = "",
                            .accelerator = "",
                            .note = "",
                            .max = UNLIMITED,
                            .hosts = 1,
                            .price_micros_hour = -1,
                            .idle_timeout_ms = -1};
    VEC_PUSH(&f->arena, &f->pools, p);
    return p;
}

bool init_has_zone(const struct init_pool *p, const char *zone)
{
    for (uint32_t i = 0; i < p->zones.n; i++)
        if (strcmp(p->zones.v[i], zone) == 0)
            return true;
    return false;
}

struct init_provider *init_provider_of(struct found *f, const char *name)
{
    struct init_provider p = {.name = arena_strdup(&f->arena, name)};

    for (uint32_t i = 0; i < f->providers.n; i++)
        if (strcmp(f->providers.v[i].name, name) == 0)
            return &f->providers.v[i];
    VEC_PUSH(&f->arena, &f->providers, p);
    return &f->providers.v[f->providers.n - 1];
}

void init_option(struct found *f, struct init_provider *p, const char *key,
                 const char *value)
{
    struct pair o = {arena_strdup(&f->arena, key),
                     arena_strdup(&f->arena, value)};

    VEC_PUSH(&f->arena, &p->options, o);
}

/* ---- looking */

/* Without node types there is nothing to plan with: two of the simulated
 * cloud's, or raylets on this computer where there is a Ray head. */
static void examples(struct found *f)
{
    struct init_pool *p;
    struct qty cpu = {"CPU", 10000 * INT64_C(2)};

    if (f->pools.n)
        return;
    if (*f->ray) {
        init_provider_of(f, "local");
        p = init_pool_new(f, "cpu");
        p->provider = "local";
        VEC_PUSH(&f->arena, &p->resources, cpu);
        p->note = "a Ray node on this computer, for a first try";
        p->max = 2;
        INIT_UNKNOWN(f,
                     "who launches machines for Ray: `local` starts Ray "
                     "nodes on this computer; then ec2, gke, eks, aks or exec");
        return;
    }
    init_provider_of(f, "sim");
    p = init_pool_new(f, "cpu");
    p->machine = "e2-standard-8";
    p->max = 4;
    p = init_pool_new(f, "t4");
    p->machine = "n1-standard-8+t4";
    p->max = 2;
    INIT_UNKNOWN(f, "where machines come from: `sim` is a simulated cloud, it "
                    "costs nothing");
}

static bool look(struct found *f)
{
    const char *ray = *args.ray               ? args.ray
                      : getenv("RAY_ADDRESS") ? getenv("RAY_ADDRESS")
                                              : "127.0.0.1:6379";
    bool alone = (*args.from || *args.provider) && !*args.ray &&
                 !*args.kubeconfig && !*args.context;

    f->cluster = args.cluster;
    if (*args.from && !init_file(f, args.from))
        return false;
    if (*args.provider &&
        !init_cloud(f, args.provider, &args.sets, &args.pools))
        return false;
    if (!alone)
        init_ray(f, ray, *args.ray);
    if (!alone && !init_nodes(f, args.kubeconfig, args.context,
                              *args.kubeconfig || *args.context))
        return false;
    if (*args.cluster)
        f->cluster = args.cluster;
    else if (!*f->cluster)
        INIT_UNKNOWN(f, "the cluster's name: machines are marked with it");
    examples(f);
    return true;
}

/* ---- writing */

/* What we wrote must be what we read: a mistake here is ours. */
static bool readable(const char *text)
{
    struct config *c = NULL;
    struct buf errors;
    bool good;

    buf_init(&errors, 1 << 20);
    good = config_parse(args.output, text, strlen(text), &c, &errors) == ST_OK;
    if (!good)
        fprintf(stderr,
                "davit: what was found does not make a valid configuration; "
                "it is written all the same:\n%s",
                errors.s);
    buf_done(&errors);
    if (c)
        config_free(c);
    return good;
}

static int write_out(const char *text)
{
    struct err err = {0};
    int fd;
    FILE *out;
    bool good;

    if (strcmp(args.output, "-") == 0) {
        fputs(text, stdout);
        return EXIT_OK;
    }
    fd = outfile_open(args.output,
                      O_WRONLY | O_CREAT | (args.force ? O_TRUNC : O_EXCL),
                      0644, &err);
    out = fd < 0 ? NULL : fdopen(fd, "w");
    if (!out) {
        fprintf(stderr, "davit: %s%s\n", err.text,
                errno == EEXIST ? "; --force replaces it, --output names "
                                  "another"
                                : "");
        return EXIT_INPUT;
    }
    good = fputs(text, out) >= 0;
    good = fclose(out) == 0 && good;
    if (!good)
        fprintf(stderr, "davit: %s: %s\n", args.output, strerror(errno));
    return good ? EXIT_OK : EXIT_INPUT;
}

/* What options cannot say of one another; EXIT_OK. */
static int options_check(void)
{
    if (*args.provider && !args.pools.n)
        return cli_usage(&cli_init, "--provider needs --pool: the clouds' "
                                    "plug-ins list no pools");
    if (!*args.provider && (args.pools.n || args.sets.n))
        return cli_usage(&cli_init, "--pool and --set need --provider");
    return EXIT_OK;
}

static int init_run(void)
{
    int wrong = options_check();
    struct found f = {.cluster = "",
                      .ray = "",
                      .kubeconfig = "",
                      .context = "",
                      .idle_timeout_ms = -1,
                      .max_nodes = UNLIMITED};
    struct catalogue *catalogue;
    struct buf errors;
    const char *text;
    int rc = EXIT_INPUT;

    if (wrong)
        return wrong;
    buf_init(&errors, 1 << 20);
    if (catalogue_load(&f.arena, "", &catalogue, &errors) == ST_OK) {
        f.catalogue = catalogue;
        if (look(&f)) {
            text = init_text(&f);
            rc = readable(text) ? EXIT_OK : EXIT_REFUSED;
            rc = write_out(text) == EXIT_OK ? rc : EXIT_INPUT;
        }
    }
    for (uint32_t i = 0; rc == EXIT_OK && i < f.found.n; i++)
        fprintf(stderr, "found    %s\n", f.found.v[i]);
    for (uint32_t i = 0; rc == EXIT_OK && i < f.unknown.n; i++)
        fprintf(stderr, "unknown  %s\n", f.unknown.v[i]);
    if (rc == EXIT_OK && strcmp(args.output, "-") != 0)
        fprintf(stderr, "wrote    %s; next: davit doctor %s\n", args.output,
                args.output);
    buf_done(&errors);
    arena_done(&f.arena);
    return rc;
}

static const struct cli_option options[] = {
    {"from", 'f', .text = &args.from, .takes = TAKES_FILE,
     .help = "a Ray cluster YAML, a podTypes list or a RayCluster manifest"},
    {"ray-address", 'r', .text = &args.ray, .value = "HOST:PORT",
     .help = "the Ray head; else $RAY_ADDRESS, 127.0.0.1:6379"},
    {"kubeconfig", 0, .text = &args.kubeconfig, .takes = TAKES_FILE,
     .help = "the Kubernetes cluster; else that of this pod, $KUBECONFIG, "
             "~/.kube/config"},
    {"context", 0, .text = &args.context, .value = "NAME",
     .help = "which context of it"},
    {"provider", 'p', .text = &args.provider, .value = "NAME",
     .help = "gke, eks, aks: describes the pools of --pool, with its own "
             "credentials"},
    {"set", 's', .many = &args.sets, .value = "KEY=VALUE",
     .help = "a setting of that provider: region=us-east-1"},
    {"pool", 0, .many = &args.pools, .value = "NAME",
     .help = "a pool of that provider"},
    {"cluster", 'c', .text = &args.cluster, .value = "NAME",
     .help = "the name that machines are marked with"},
    {"output", 'o', .text = &args.output, .takes = TAKES_FILE,
     .help = "where to write; - is standard output"},
    {"force", 0, .flag = &args.force, .help = "replace what is there"},
    {0}};

const struct cli_command cli_init = {
    .name = "init",
    .help = "writes a first configuration from what it finds",
    .options = options,
    .run = init_run,
    .details =
        "Looks for a Ray head and a Kubernetes cluster, whose nodes tell their "
        "pools, machines, labels and taints, and writes davit.yaml with "
        "comments. What it could not know is said there and printed. It "
        "changes nothing elsewhere.",
    .examples = (const struct cli_example[]){
        {"davit init", "from what answers on this machine"},
        {"davit init --from cluster.yaml", "from Ray's own configuration"},
        {"davit init -p eks -s region=us-east-1 -s cluster=c1 --pool gpu",
         "from a cloud's own word on its pool"},
        {0}}};
