/*
 * cmd_simulate.c - what a month of demand would have cost, and how long work
 * would have waited: a trace played against one or several configurations.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/log.h"
#include "../codec/codec.h"
#include "../simulate/json.h"
#include "../simulate/svg.h"
#include "cli.h"
#include "simulate_show.h"

enum { ERRORS_MAX = 1 << 20, BOOT_MS = 90000, BOOT_MOST_MS = 86400000 };

struct asked {
    const char *configs[2], *sets[SETS_MOST], *trace, *svg;
    uint32_t n_configs, n_sets;
    uint64_t seed;
    int64_t boot_ms;
    struct trace_opts cut;
    bool json;
};

/* ---- the command line */

static bool time_read(const char *text, int64_t least, int64_t most,
                      int64_t *ret)
{
    return duration_parse(text, ret) && *ret >= least && *ret <= most;
}

static bool seed_read(const char *text, uint64_t *ret)
{
    char *end;

    errno = 0;
    *ret = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && errno == 0;
}

static int option_read(struct asked *k, int opt)
{
    switch (opt) {
    case 'j': k->json = true; return EXIT_OK;
    case 'v': k->svg = optarg; return EXIT_OK;
    case 'c':
        if (k->configs[1])
            return cli_usage(&cli_simulate, "--compare: one at most");
        k->configs[1] = optarg;
        return EXIT_OK;
    case 's':
        if (k->n_sets == SETS_MOST)
            return cli_usage(&cli_simulate, "more than %d of --set", SETS_MOST);
        k->sets[k->n_sets++] = optarg;
        return EXIT_OK;
    case 'e':
        if (seed_read(optarg, &k->seed))
            return EXIT_OK;
        return cli_usage(&cli_simulate, "--seed: a whole number");
    case 'b':
        if (time_read(optarg, 0, BOOT_MOST_MS, &k->boot_ms))
            return EXIT_OK;
        return cli_usage(&cli_simulate, "--boot: a time from 0 to 24h");
    case 'f':
        if (time_read(optarg, 0, INT64_MAX, &k->cut.from_ms))
            return EXIT_OK;
        return cli_usage(&cli_simulate, "--from: a time such as 36h");
    case 't':
        if (time_read(optarg, 1, INT64_MAX, &k->cut.to_ms))
            return EXIT_OK;
        return cli_usage(&cli_simulate, "--to: a time above 0 such as 36h");
    case 'r':
        if (time_read(optarg, 1, INT64_MAX, &k->cut.runs_ms))
            return EXIT_OK;
        return cli_usage(&cli_simulate, "--runs: a time above 0 such as 10m");
    default: return cli_usage(&cli_simulate, "see above");
    }
}

static int words_read(int argc, char **argv, struct asked *k)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'},
        {"svg", required_argument, NULL, 'v'},
        {"compare", required_argument, NULL, 'c'},
        {"set", required_argument, NULL, 's'},
        {"seed", required_argument, NULL, 'e'},
        {"boot", required_argument, NULL, 'b'},
        {"from", required_argument, NULL, 'f'},
        {"to", required_argument, NULL, 't'},
        {"runs", required_argument, NULL, 'r'},
        {0}};
    int opt, rc;

    *k = (struct asked){
        .seed = 1, .boot_ms = BOOT_MS, .cut = {.to_ms = INT64_MAX}};
    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1)
        if ((rc = option_read(k, opt)) != EXIT_OK)
            return rc;
    if (optind + 2 != argc)
        return cli_usage(&cli_simulate, "a configuration and a trace are "
                                        "needed");
    if (k->cut.from_ms >= k->cut.to_ms)
        return cli_usage(&cli_simulate, "--from must be before --to");
    k->configs[0] = argv[optind];
    k->n_configs = k->configs[1] ? 2 : 1;
    k->trace = argv[optind + 1];
    return EXIT_OK;
}

/* ---- playing */

struct playing {
    struct arena arena;
    struct trace trace;
    struct setting settings[SETTINGS_MOST];
    struct outcome outcomes[SETTINGS_MOST];
    uint32_t n, played;
    struct buf errors;
};

static enum status play(struct playing *p, const struct asked *k)
{
    struct err err;
    enum status s = settings_make(k->configs, k->n_configs, k->sets, k->n_sets,
                                  &p->arena, p->settings, &p->n, &err);

    if (s != ST_OK) {
        buf_printf(&p->errors, "%s\n", err.text);
        return s;
    }
    s = trace_read(k->trace, &k->cut, &p->trace, &p->errors);
    for (; s == ST_OK && p->played < p->n; p->played++) {
        const struct setting *x = &p->settings[p->played];
        const struct world_opts o = {.config_path = x->config_path,
                                     .sets = x->sets,
                                     .n_sets = x->n_sets,
                                     .trace = &p->trace,
                                     .seed = k->seed,
                                     .boot_ms = k->boot_ms};

        s = world_play(&o, &p->outcomes[p->played], &p->errors);
    }
    return s;
}

static void json_print(const struct playing *p, const struct asked *k)
{
    json_t *list = json_array(), *all;

    for (uint32_t i = 0; i < p->n; i++)
        json_array_append_new(list,
                              outcome_json(&p->settings[i], &p->outcomes[i]));
    all = json_pack("{s:o,s:I,s:f,s:o}", "trace", trace_json(&p->trace), "seed",
                    (json_int_t)k->seed, "boot_s", (double)k->boot_ms / 1000,
                    "columns", list);
    cli_json(all);
    json_decref(all);
}

static int svg_print(const struct playing *p, const char *path)
{
    FILE *f = fopen(path, "w");
    struct buf b;
    bool good = f;

    buf_init(&b, (size_t)64 << 20);
    svg_draw(p->settings, p->outcomes, p->n, &b);
    good = good && fwrite(b.s, 1, b.n, f) == b.n;
    good = f && fclose(f) == 0 && good;
    buf_done(&b);
    if (good)
        return EXIT_OK;
    fprintf(stderr, "davit simulate: %s: %s\n", path, strerror(errno));
    return EXIT_REFUSED;
}

/* EXIT_NO: something never began. */
static int answer(struct playing *p, const struct asked *k)
{
    int rc = EXIT_OK;

    if (k->json) {
        json_print(p, k);
    } else {
        simulate_show_trace(&p->trace, k->seed, k->boot_ms);
        simulate_show(p->settings, p->outcomes, p->n, &p->arena);
    }
    for (uint32_t i = 0; i < p->n; i++)
        if (p->outcomes[i].began < p->outcomes[i].tasks) {
            fprintf(stderr,
                    "davit simulate: %s: %llu tasks never began: no node type "
                    "holds them, or a limit is in the way\n",
                    *p->settings[i].label ? p->settings[i].label
                                          : p->settings[i].config_path,
                    (unsigned long long)(p->outcomes[i].tasks -
                                         p->outcomes[i].began));
            rc = EXIT_NO;
        }
    if (k->svg && svg_print(p, k->svg) != EXIT_OK)
        rc = EXIT_REFUSED;
    return rc;
}

static int run(int argc, char **argv)
{
    struct playing p = {0};
    struct asked k;
    int rc = words_read(argc, argv, &k);

    if (rc != EXIT_OK)
        return rc;
    log_setup(LOG_ERROR, false);
    buf_init(&p.errors, ERRORS_MAX);
    rc = play(&p, &k) == ST_OK ? answer(&p, &k) : EXIT_INPUT;
    fputs(p.errors.s, stderr);
    for (uint32_t i = 0; i < p.played; i++)
        outcome_free(&p.outcomes[i]);
    trace_free(&p.trace);
    buf_done(&p.errors);
    arena_done(&p.arena);
    return rc;
}

const struct cli_command cli_simulate = {
    "simulate",
    "[--set PATH=VALUE[,VALUE]...]... [--compare CONFIG2] [--json]\n"
    "             [--svg FILE] [--from TIME] [--to TIME] [--boot TIME] [--seed N]\n"
    "             CONFIG TRACE",
    "what a trace of demand would have cost with a configuration", run,
    "The real loop and planner run in played time: a month takes seconds, and\n"
    "no cloud is asked.  TRACE is a CSV of jobs, a public pod list, or a folder\n"
    "of `davit run --record`: docs/simulate.md.  The same seed gives the same\n"
    "answer.  The exit code is 1 when some of the work never began.\n\n"
    "  --set PATH=VALUE   a setting in place of the file's; several values make\n"
    "                     several columns: limits.idle_timeout=2m,10m,30m\n"
    "  --compare CONFIG2  another configuration beside the first\n"
    "  --from, --to TIME  only what was submitted between these, counted from\n"
    "                     the trace's beginning: --from 7d --to 8d is its\n"
    "                     eighth day\n"
    "  --boot TIME        what a machine takes to boot where its node type does\n"
    "                     not say (90s); each takes three to five quarters\n"
    "  --runs TIME        of records, which do not tell how long tasks run\n"
    "  --seed N           chance: boot times, the order of small things (1)\n"
    "  --json             for programs, with the state over time\n"
    "  --svg FILE         nodes, waiting work and cost over time as a picture\n"};
