/*
 * check_provider.c - does a plug-in keep the contract of provider.h?
 *
 * Loads it, opens it with the options and node types given on the command line,
 * runs every law and prints a line for each.  Exit code 0: all kept; 1: some
 * broken; 2: bad usage or the plug-in cannot be opened; 3: a call hangs.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "contract.h"
#include "model/amount.h"

static const char usage[] =
    "usage: check_provider PLUGIN.so -t TYPE [options]\n"
    "  -t NAME          a node type; the first one is launched.  For it:\n"
    "    -r CPU=4         a resource        -l KEY=VALUE  a label\n"
    "    -z ZONE          a zone            -O KEY=VALUE  an option\n"
    "    -m MACHINE       machine type      -p POOL       pool\n"
    "  -o KEY=VALUE     an option of the provider; {dir} is a scratch folder\n"
    "  --head HOST:PORT the Ray head      --cluster NAME  the tag (davit-check)\n"
    "  --fault STATUS=COMMAND  after COMMAND a launch must say STATUS\n"
    "  --heal COMMAND   undoes the faults\n"
    "  --lose COMMAND   makes the cloud lose the next launch's reply\n"
    "  --partial COMMAND  leaves room for one or two more machines\n"
    "  --ready 60 --gone 60 --call 30 --settle 0.2   seconds to wait for it\n"
    "  --keep-going     run all laws, also when a base is broken, or three are\n"
    "  --only LAW, --skip LAW   (may be repeated)    --list  the laws\n"
    "  PLUGIN is checked through HTTP faults too when it uses the host's HTTP.\n";

static void die(const char *what, const char *arg)
{
    fprintf(stderr, "check_provider: %s%s\n%s", what, arg, usage);
    exit(2);
}

static const char *expanded(struct bench *b, const char *value)
{
    const char *at = strstr(value, "{dir}");
    if (!at)
        return value;
    return expanded(b, arena_printf(&b->config.memory->arena, "%.*s%s%s",
                                    (int)(at - value), value, b->dir, at + 5));
}

/* "KEY=VALUE", split. */
static const char *split(struct bench *b, const char *arg, const char **value)
{
    const char *eq = strchr(arg, '=');
    if (!eq || eq == arg)
        die("KEY=VALUE is wanted, got ", arg);
    *value = expanded(b, eq + 1);
    return arena_strndup(&b->config.memory->arena, arg, (size_t)(eq - arg));
}

static struct conf_type *type_now(struct bench *b)
{
    if (b->config.n_types == 0)
        die("-t comes first", "");
    return &b->types[b->config.n_types - 1];
}

static void type_add(struct bench *b, const char *name)
{
    if (b->config.n_types == TYPES_MAX)
        die("too many types", "");
    uint32_t i = b->config.n_types++;
    struct snap_type *f = &b->types[i].fact;
    *f = (struct snap_type){.name = name,
                            .provider = b->conf.name,
                            .machine = "",
                            .pool = "",
                            .resources.v = b->amounts[i],
                            .labels.v = b->labels[i],
                            .max = UNLIMITED,
                            .hosts = 1,
                            .offers = b->offers[i],
                            .n_offers = 1};
    b->offers[i][0].zone = "";
    b->types[i].options = b->type_options[i];
}

static void type_detail(struct bench *b, int opt, const char *arg)
{
    struct conf_type *c = type_now(b);
    struct snap_type *f = &c->fact;
    uint32_t i = b->config.n_types - 1;
    const char *value, *key;
    switch (opt) {
    case 'r':
        key = split(b, arg, &value);
        if (f->resources.n == 8 ||
            !amount_parse(value, &b->amounts[i][f->resources.n].amount))
            die("not a quantity: ", arg);
        b->amounts[i][f->resources.n++].name = key;
        break;
    case 'l':
        key = split(b, arg, &value);
        if (f->labels.n == 8)
            die("too many labels: ", arg);
        b->labels[i][f->labels.n++] = (struct pair){key, value};
        break;
    case 'O':
        key = split(b, arg, &value);
        if (c->n_options == 16)
            die("too many options: ", arg);
        b->type_options[i][c->n_options++] = (struct conf_pair){.key = key,
                                                                .value = value};
        break;
    case 'z':
        if (b->offers[i][0].zone[0] != '\0')
            f->n_offers++;
        if (f->n_offers > 8)
            die("too many zones: ", arg);
        b->offers[i][f->n_offers - 1].zone = arg;
        break;
    case 'm': f->machine = arg; break;
    case 'p': f->pool = arg; break;
    }
}

static void fault_add(struct bench *b, const char *arg)
{
    const char *value;
    const char *name = split(b, arg, &value);
    if (b->n_faults == FAULTS_MAX)
        die("too many faults", "");
    for (int s = 1; s < ST_COUNT; s++)
        if (strcmp(status_name((enum status)s), name) == 0) {
            b->faults[b->n_faults++] = (struct fault){(enum status)s, value};
            return;
        }
    die("no such status: ", name);
}

static int64_t seconds(const char *arg)
{
    char *end;
    double s = strtod(arg, &end);
    if (*end != '\0' || !(s >= 0 && s < 86400))
        die("not a number of seconds: ", arg);
    return (int64_t)(s * 1000);
}

enum {
    OPT_HEAD = 256,
    OPT_CLUSTER,
    OPT_FAULT,
    OPT_HEAL,
    OPT_LOSE,
    OPT_PARTIAL,
    OPT_READY,
    OPT_GONE,
    OPT_CALL,
    OPT_SETTLE,
    OPT_ONLY,
    OPT_SKIP,
    OPT_KEEP_GOING,
    OPT_LIST
};

static const struct option options[] = {{"head", 1, 0, OPT_HEAD},
                                        {"cluster", 1, 0, OPT_CLUSTER},
                                        {"fault", 1, 0, OPT_FAULT},
                                        {"heal", 1, 0, OPT_HEAL},
                                        {"lose", 1, 0, OPT_LOSE},
                                        {"partial", 1, 0, OPT_PARTIAL},
                                        {"ready", 1, 0, OPT_READY},
                                        {"gone", 1, 0, OPT_GONE},
                                        {"call", 1, 0, OPT_CALL},
                                        {"settle", 1, 0, OPT_SETTLE},
                                        {"only", 1, 0, OPT_ONLY},
                                        {"skip", 1, 0, OPT_SKIP},
                                        {"list", 0, 0, OPT_LIST},
                                        {"keep-going", 0, 0, OPT_KEEP_GOING},
                                        {0, 0, 0, 0}};

struct choice {
    const char *only[32], *skip[32];
    size_t n_only, n_skip;
    bool keep_going;
};

static void chosen_add(const char **v, size_t *n, const char *name)
{
    const struct law *l = laws;
    while (l->name && strcmp(l->name, name) != 0)
        l++;
    if (!l->name || *n == 32)
        die("no such law: ", name);
    v[(*n)++] = name;
}

static void arguments(struct bench *b, int argc, char **argv,
                      struct choice *choice)
{
    const char *value;
    for (int o; (o = getopt_long(argc, argv, "t:r:l:z:O:m:p:o:", options,
                                 NULL)) != -1;) {
        switch (o) {
        case 't': type_add(b, optarg); break;
        case 'r':
        case 'l':
        case 'z':
        case 'O':
        case 'm':
        case 'p': type_detail(b, o, optarg); break;
        case 'o':
            if (b->conf.n_options == OPTIONS_MAX)
                die("too many options", "");
            b->options[b->conf.n_options].key = split(b, optarg, &value);
            b->options[b->conf.n_options++].value = value;
            break;
        case OPT_HEAD: b->config.ray_address = optarg; break;
        case OPT_CLUSTER: b->config.cluster = optarg; break;
        case OPT_FAULT: fault_add(b, optarg); break;
        case OPT_HEAL: b->heal = expanded(b, optarg); break;
        case OPT_LOSE: b->lose = expanded(b, optarg); break;
        case OPT_PARTIAL: b->partial = expanded(b, optarg); break;
        case OPT_READY: b->ready_ms = seconds(optarg); break;
        case OPT_GONE: b->gone_ms = seconds(optarg); break;
        case OPT_CALL: b->call_ms = seconds(optarg) + 1; break;
        case OPT_SETTLE: b->settle_ms = seconds(optarg); break;
        case OPT_ONLY: chosen_add(choice->only, &choice->n_only, optarg); break;
        case OPT_SKIP: chosen_add(choice->skip, &choice->n_skip, optarg); break;
        case OPT_KEEP_GOING: choice->keep_going = true; break;
        case OPT_LIST:
            for (const struct law *l = laws; l->name; l++)
                printf("%-14s %s\n", l->name, l->text);
            exit(0);
        default: die("see above", "");
        }
    }
    if (optind != argc - 1)
        die("one plug-in is wanted", "");
    if (b->config.n_types == 0)
        die("a node type is wanted (-t)", "");
    b->conf.plugin = argv[optind];
}

static bool in(const char *const *v, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(v[i], name) == 0)
            return true;
    return false;
}

enum { BROKEN_MAX = 3 };

/* Each broken law costs as long as anybody waits: what is left says no more. */
static bool enough(const struct choice *c, const struct law *l, bool good,
                   int broken)
{
    bool base = l - laws < LAWS_BASE;
    if (c->keep_going || good || (!base && broken < BROKEN_MAX))
        return false;
    printf("stopped: %s (--keep-going runs the rest)\n",
           base ? "while this law is broken the others tell nothing"
                : "three laws are broken");
    return true;
}

static int laws_run(struct bench *b, const struct choice *c)
{
    int kept = 0, broken = 0, skipped = 0;
    for (const struct law *l = laws; l->name; l++) {
        int64_t from = clock_mono_ms();
        if (c->n_only > 0 && !in(c->only, c->n_only, l->name))
            continue;
        if (in(c->skip, c->n_skip, l->name)) {
            printf("SKIP    %-14s %s\n", l->name, l->text);
            skipped++;
            continue;
        }
        b->wrong[0] = '\0';
        if (b->p || bench_open(b)) {
            l->run(b);
            bench_clear(b);
            if (provider_calls_running(b->p) != 0)
                bench_wrong(b, "calls are still running");
        }
        bool good = b->wrong[0] == '\0';
        kept += good;
        broken += !good;
        printf("%-7s %-14s %s (%lld ms)\n", good ? "kept" : "BROKEN", l->name,
               good ? l->text : b->wrong, (long long)(clock_mono_ms() - from));
        fflush(stdout);
        if (enough(c, l, good, broken))
            break;
    }
    if (c->n_only == 0 && (b->n_faults == 0 || !b->partial))
        printf("not tried:%s%s\n",
               b->n_faults == 0 ? " which error means what (--fault)" : "",
               !b->partial ? " partial success (--partial)" : "");
    printf("%s: %d laws kept, %d broken, %d skipped\n", b->conf.plugin, kept,
           broken, skipped);
    return broken > 0 || kept == 0 ? 1 : 0;
}

int main(int argc, char **argv)
{
    static struct bench b;
    static struct choice choice;
    b.config.memory = shared_new();
    b.config.path = "";
    b.config.cluster = "davit-check";
    b.config.ray_address = b.config.plugin_dir = "";
    b.conf.name = "checked";
    b.conf.options = b.options;
    b.config.types = b.types;
    b.config.providers = &b.conf;
    b.config.n_providers = 1;
    b.ready_ms = b.gone_ms = 60000;
    b.call_ms = 30000;
    b.settle_ms = 200;
    const char *tmp = getenv("TMPDIR");
    snprintf(b.dir, sizeof b.dir, "%s/davit-check-XXXXXX",
             tmp && *tmp != '\0' ? tmp : "/tmp");
    if (!mkdtemp(b.dir))
        die("no scratch folder in $TMPDIR or /tmp", "");
    arguments(&b, argc, argv, &choice);
    bench_begin(&b);
    int code = 2;
    if (bench_open(&b))
        code = laws_run(&b, &choice);
    else
        fprintf(stderr, "check_provider: %s\n", b.wrong);
    bench_end(&b);
    char command[288];
    snprintf(command, sizeof command, "rm -rf '%s'", b.dir);
    return system(command) == 0 ? code : 2;
}
