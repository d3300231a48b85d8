/*
 * cmd_simulate.c - what a month of demand would have cost, and how long work
 * would have waited: a trace played against one or several configurations.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/log.h"
#include "../base/outfile.h"
#include "../codec/codec.h"
#include "../simulate/json.h"
#include "../simulate/svg.h"
#include "cli.h"
#include "simulate_show.h"

enum {
    ERRORS_MAX = 1 << 20,
    BOOT_MS = 90000,
    BOOT_MOST_MS = 86400000,
    OWNERS_MAX = 8
};

static struct {
    const char *config, *trace, *compare, *svg;
    struct cli_list sets;
    int64_t seed, storm, boot_ms, from_ms, to_ms, runs_ms;
    bool json;
} args = {.seed = 1, .boot_ms = BOOT_MS, .to_ms = INT64_MAX};

/* ---- playing */

struct playing {
    struct arena arena;
    struct trace trace;
    struct setting settings[SETTINGS_MOST];
    struct outcome outcomes[SETTINGS_MOST];
    uint32_t n, played;
    struct buf errors;
};

static enum status play(struct playing *p)
{
    const char *configs[] = {args.config, args.compare};
    const struct trace_opts cut = {args.from_ms, args.to_ms, args.runs_ms};
    struct err err;
    enum status s = settings_make(configs, args.compare ? 2 : 1,
                                  (const char **)args.sets.v, args.sets.n,
                                  &p->arena, p->settings, &p->n, &err);

    if (s != ST_OK) {
        buf_printf(&p->errors, "%s\n", err.text);
        return s;
    }
    s = trace_read(args.trace, &cut, &p->trace, &p->errors);
    for (; s == ST_OK && p->played < p->n; p->played++) {
        const struct setting *x = &p->settings[p->played];
        const struct world_opts o = {.config_path = x->config_path,
                                     .sets = x->sets,
                                     .n_sets = x->n_sets,
                                     .trace = &p->trace,
                                     .seed = (uint64_t)args.seed,
                                     .storm = (uint64_t)args.storm,
                                     .boot_ms = args.boot_ms};

        s = world_play(&o, &p->outcomes[p->played], &p->errors);
    }
    return s;
}

static void json_print(const struct playing *p)
{
    json_t *list = json_array(), *all;

    for (uint32_t i = 0; i < p->n; i++)
        json_array_append_new(list,
                              outcome_json(&p->settings[i], &p->outcomes[i]));
    all = json_pack("{s:o,s:I,s:f,s:o}", "trace", trace_json(&p->trace), "seed",
                    (json_int_t)args.seed, "boot_s",
                    (double)args.boot_ms / 1000, "columns", list);
    cli_json(all);
    json_decref(all);
}

static int svg_print(const struct playing *p, const char *path)
{
    struct err err;
    int fd = outfile_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644, &err);
    struct buf b;
    bool good;

    if (fd < 0) {
        fprintf(stderr, "davit simulate: %s\n", err.text);
        return EXIT_REFUSED;
    }
    buf_init(&b, (size_t)64 << 20);
    svg_draw(p->settings, p->outcomes, p->n, &b);
    good = outfile_put(fd, b.s, b.n);
    good = close(fd) == 0 && good;
    buf_done(&b);
    if (good)
        return EXIT_OK;
    fprintf(stderr, "davit simulate: %s: %s\n", path, strerror(errno));
    return EXIT_REFUSED;
}

/* "3 of 5 of train, 1 of 1 without an owner": whose. */
static const char *unbegun_text(const struct outcome *o, struct arena *a)
{
    const char *text = "";
    uint32_t listed = 0;

    for (uint32_t i = 0; i < o->n_owners; i++) {
        const struct out_owner *w = &o->owners[i];
        bool named = *w->name && strcmp(w->name, "-") != 0;

        if (w->began >= w->tasks)
            continue;
        if (listed++ == OWNERS_MAX)
            return arena_printf(a, "%s and others", text);
        text = arena_printf(a, "%s%s%llu of %llu %s%s", text, *text ? ", " : "",
                            (unsigned long long)(w->tasks - w->began),
                            (unsigned long long)w->tasks,
                            named ? "of " : "without an owner",
                            named ? w->name : "");
    }
    return text;
}

/* EXIT_NO: something never began. */
static int answer(struct playing *p)
{
    int rc = EXIT_OK;

    if (args.json) {
        json_print(p);
    } else {
        simulate_show_trace(&p->trace, (uint64_t)args.seed, args.boot_ms);
        simulate_show(p->settings, p->outcomes, p->n, &p->arena);
    }
    for (uint32_t i = 0; i < p->n; i++)
        if (p->outcomes[i].began < p->outcomes[i].tasks) {
            fprintf(stderr,
                    "davit simulate: %s: %llu task%s never began (%s): no node "
                    "type holds them, or a limit is in the way\n",
                    *p->settings[i].label ? p->settings[i].label
                                          : p->settings[i].config_path,
                    (unsigned long long)(p->outcomes[i].tasks -
                                         p->outcomes[i].began),
                    p->outcomes[i].tasks - p->outcomes[i].began == 1 ? "" : "s",
                    unbegun_text(&p->outcomes[i], &p->arena));
            rc = EXIT_NO;
        }
    if (args.svg && svg_print(p, args.svg) != EXIT_OK)
        rc = EXIT_REFUSED;
    return rc;
}

static int run(void)
{
    struct playing p = {0};
    int rc;

    if (args.from_ms >= args.to_ms)
        return cli_usage(&cli_simulate, "--from must be before --to");
    log_setup(LOG_ERROR, false);
    buf_init(&p.errors, ERRORS_MAX);
    rc = play(&p) == ST_OK ? answer(&p) : EXIT_INPUT;
    fputs(p.errors.s, stderr);
    for (uint32_t i = 0; i < p.played; i++)
        outcome_free(&p.outcomes[i]);
    trace_free(&p.trace);
    buf_done(&p.errors);
    arena_done(&p.arena);
    return rc;
}

static const struct cli_option options[] = {
    {"set", 's', "PATH=VALUE[,VALUE]...", .many = &args.sets, .most = SETS_MOST,
     .help = "a setting in place of the file's; several values make several "
             "columns"},
    {"compare", 0, "CONFIG2", .text = &args.compare, .takes = TAKES_FILE,
     .help = "another configuration beside the first"},
    {"from", .time_ms = &args.from_ms,
     .help = "only what was submitted from here on, counted from the trace's "
             "beginning"},
    {"to", .time_ms = &args.to_ms, .least = 1, .most = INT64_MAX,
     .help = "only what was submitted before"},
    {"boot", .time_ms = &args.boot_ms, .most = BOOT_MOST_MS,
     .help = "what a machine takes to boot where its node type does not say "
             "(90s); each takes three to five quarters"},
    {"runs", .time_ms = &args.runs_ms, .least = 1, .most = INT64_MAX,
     .help = "how long tasks run, for records, which do not tell"},
    {"seed", .number = &args.seed, .most = INT64_MAX,
     .help = "chance: boot times, the order of small things (1)"},
    {"storm", .number = &args.storm, .least = 1, .most = INT64_MAX,
     .help = "bad days from this seed, as long as the trace lasts: outages, "
             "refusals, lost replies, machines that die; the same for each "
             "column"},
    {"json", 'j', .flag = &args.json,
     .help = "for programs, with the state over time"},
    {"svg", .text = &args.svg, .takes = TAKES_FILE,
     .help = "nodes, waiting work and cost over time as a picture"},
    {0}};

static const struct cli_option words[] = {
    {"CONFIG", .text = &args.config, .takes = TAKES_FILE,
     .help = "a configuration"},
    {"TRACE", .text = &args.trace, .takes = TAKES_FILE,
     .help = "a CSV of jobs, a public pod list, or a folder of `davit run "
             "--record`: docs/simulate.md"},
    {0}};

static const struct cli_example examples[] = {
    {"davit simulate --set limits.idle_timeout=2m,10m,30m davit.yaml jobs.csv",
     "what three idle timeouts would have cost"},
    {"davit simulate --from 7d --to 8d davit.yaml jobs.csv",
     "the eighth day of a trace"},
    {0}};

const struct cli_command cli_simulate = {
    .name = "simulate",
    .help = "what a trace of demand would have cost with a configuration",
    .options = options,
    .words = words,
    .run = run,
    .details =
        "The real loop and planner run in played time: a month takes seconds, "
        "and no cloud is asked. The same seed gives the same answer. The exit "
        "code is 1 when some of the work never began.\n",
    .examples = examples};
