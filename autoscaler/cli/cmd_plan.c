/*
 * cmd_plan.c - snapshot in, plan out, no side effect.
 *
 * A file that `davit run --record` wrote holds its plan too: replaying it
 * says whether the same is planned today.  With --set the plan is made twice,
 * and what the change changes is shown.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../codec/codec.h"
#include "../config/config.h"
#include "../plan/planner.h"
#include "bundle.h"
#include "cli.h"
#include "look/plan_text.h"
#include "whatif.h"

enum { MOST = 64, FLAGS = JSON_INDENT(1) | JSON_REAL_PRECISION(15) };

/* What was read, and what is planned from it. */
struct work {
    struct arena arena;
    struct config *conf;
    struct snapshot *snapshot;
    json_t *recorded; /* the plan in the file, or NULL */
    struct problem *now;
    struct plan plan;
    json_t *written; /* the plan as JSON, as it reads back */
    uint64_t budget; /* steps for the improvement */
};

/* "The better plan" by default; a record is replayed with what it had. */
enum { BUDGET_MS = 500, BUDGET_MAX_MS = 600000 };

static bool is_json(const char *text)
{
    while (*text == ' ' || *text == '\t' || *text == '\n' || *text == '\r')
        text++;
    return *text == '{';
}

/* What a configuration would do for an empty cluster. */
static struct snapshot *snapshot_of(const struct config *conf, struct arena *a)
{
    struct snapshot *f = ARENA_NEW(a, struct snapshot);
    struct snap_type *types = ARENA_ARRAY(a, struct snap_type, conf->n_types);
    struct snap_demand *spare = ARENA_NEW(a, struct snap_demand);

    for (uint32_t i = 0; i < conf->n_types; i++)
        types[i] = conf->types[i].fact;
    f->cluster = conf->cluster;
    f->sources_fresh = true;
    f->limits = conf->limits;
    f->types = types;
    f->n_types = conf->n_types;
    f->queues = conf->queues;
    f->n_queues = conf->n_queues;
    f->n_demands = config_spare(conf, spare);
    f->demands = spare;
    return f;
}

static enum status work_load(const char *path, struct work *w,
                             struct buf *errors)
{
    json_t *json = NULL;
    enum status s;
    struct err err;
    char *text;
    size_t n;

    s = cli_read(path, &w->arena, &text, &n, &err);
    if (s != ST_OK) {
        buf_printf(errors, "%s\n", err.text);
        return s;
    }
    if (!is_json(text)) {
        s = config_parse(path, text, n, &w->conf, errors);
        if (s == ST_OK)
            w->snapshot = snapshot_of(w->conf, &w->arena);
        return s;
    }
    s = codec_parse(text, n, &json, &err);
    if (s == ST_OK)
        s = codec_snapshot_read(json, &w->arena, &w->snapshot, &err);
    if (s == ST_OK && json_is_object(json_object_get(json, "plan")))
        w->recorded = json_incref(json_object_get(json, "plan"));
    json_decref(json);
    if (s != ST_OK)
        buf_printf(errors, "%s: %s\n", path, err.text);
    return s;
}

/* The budget asked for (-1: none), else the record's, else the default. */
static uint64_t budget_of(const struct work *w, int64_t asked_ms)
{
    const json_t *v = json_object_get(w->recorded, "budget");

    if (asked_ms < 0 && json_is_integer(v) && json_integer_value(v) >= 0)
        return (uint64_t)json_integer_value(v);
    return (uint64_t)(asked_ms < 0 ? BUDGET_MS : asked_ms) *
           PLANNER_STEPS_PER_MS;
}

/* Adds what --request asked for, as a request of owner "plan". */
static enum status request_add(struct snapshot *f, char **texts, int n,
                               struct arena *a, struct buf *errors)
{
    struct snap_demand *v = ARENA_ARRAY(a, struct snap_demand,
                                        f->n_demands + (uint32_t)n);
    struct err err;

    for (uint32_t i = 0; i < f->n_demands; i++)
        v[i] = f->demands[i];
    for (int i = 0; i < n; i++) {
        struct snap_bundle *b = ARENA_NEW(a, struct snap_bundle);
        json_t *json = bundle_parse(texts[i], a);
        enum status s;

        if (!json)
            return ST_INVALID; /* told */
        s = codec_bundle_read(json, "--request", a, b, &err);
        json_decref(json);
        if (s != ST_OK) {
            buf_printf(errors, "%s\n", err.text);
            return s;
        }
        v[f->n_demands + (uint32_t)i] = (struct snap_demand){
            .source = SOURCE_REQUEST,
            .id = "",
            .bundles = b,
            .n_bundles = 1,
            .owner = arena_printf(a, "plan-%d", i + 1)};
    }
    f->demands = v;
    f->n_demands += (uint32_t)n;
    return ST_OK;
}

/* A plan as text and back: numbers as a file has them. */
static json_t *plan_json(const struct problem *s, const struct plan *p)
{
    json_t *out = codec_plan_write(s, p), *back;
    char *text = mem_must(json_dumps(out, FLAGS));

    json_decref(out);
    back = mem_must(json_loads(text, 0, NULL));
    free(text);
    return back;
}

static enum status work_plan(struct work *w, const char *path,
                             struct buf *errors)
{
    struct err err;
    enum status s = problem_make(w->snapshot, &w->arena, &w->now, &err);

    if (s != ST_OK) {
        buf_printf(errors, "%s: %s\n", path, err.text);
        return s;
    }
    planner_run(w->now, w->budget, &w->arena, &w->plan);
    w->written = plan_json(w->now, &w->plan);
    return ST_OK;
}

/* The same snapshot with the changes in it, planned again. */
static enum status work_change(const struct work *from, char **sets, int n,
                               struct work *to, const char *path,
                               struct buf *errors)
{
    json_t *json = codec_snapshot_write(from->snapshot);
    enum status s = ST_OK;
    struct err err;

    for (int i = 0; i < n && s == ST_OK; i++)
        s = whatif_set(json, sets[i], &to->arena, &err);
    if (s == ST_OK && (s = codec_snapshot_read(json, &to->arena, &to->snapshot,
                                               &err)) != ST_OK)
        err_prefix(&err, "--set");
    json_decref(json);
    if (s != ST_OK) {
        buf_printf(errors, "%s\n", err.text);
        return s;
    }
    return work_plan(to, path, errors);
}

static void json_print(const json_t *v)
{
    json_dumpf(v, stdout, FLAGS);
    putchar('\n');
}

/* EXIT_NO when the file has a plan and it is not the one made now. */
static int replay_print(const struct work *w, bool json)
{
    FILE *out = json ? stderr : stdout;
    json_t *diff;
    bool same;

    if (!w->recorded)
        return EXIT_OK;
    diff = whatif_diff(w->recorded, w->written);
    same = json_is_true(json_object_get(diff, "same"));
    if (same) {
        fputs("the same plan as recorded\n", out);
    } else {
        fputs("NOT the plan that was recorded; recorded -> now:\n", out);
        whatif_print(diff, out);
    }
    json_decref(diff);
    return same ? EXIT_OK : EXIT_NO;
}

static void change_print(const struct work *w, const struct work *changed,
                         char **sets, int n, bool json)
{
    const json_t *before = w->recorded ? w->recorded : w->written;
    json_t *diff = whatif_diff(before, changed->written), *all;

    if (json) {
        all = json_pack("{s:O,s:O,s:O}", "before", before, "after",
                        changed->written, "difference", diff);
        json_print(all);
        json_decref(all);
    } else {
        plan_text_print(changed->snapshot, changed->now, &changed->plan,
                        stdout);
        printf("\nwith");
        for (int i = 0; i < n; i++)
            printf(" %s", sets[i]);
        printf(", %s -> so:\n", w->recorded ? "recorded" : "as it is");
        whatif_print(diff, stdout);
    }
    json_decref(diff);
}

static void work_done(struct work *w)
{
    json_decref(w->recorded);
    json_decref(w->written);
    config_free(w->conf);
    arena_done(&w->arena);
}

static int plan_run(const char *path, char **requests, int n_requests,
                    char **sets, int n_sets, int64_t budget_ms, bool json)
{
    struct work w = {0}, changed = {0};
    struct buf errors;
    int rc = EXIT_INPUT;

    buf_init(&errors, 1 << 20);
    if (work_load(path, &w, &errors) == ST_OK)
        w.budget = changed.budget = budget_of(&w, budget_ms);
    if (w.snapshot &&
        request_add(w.snapshot, requests, n_requests, &w.arena, &errors) ==
            ST_OK &&
        work_plan(&w, path, &errors) == ST_OK) {
        if (n_requests > 0) { /* not what was recorded any more */
            json_decref(w.recorded);
            w.recorded = NULL;
        }
        if (n_sets == 0) {
            if (json)
                json_print(w.written);
            else
                plan_text_print(w.snapshot, w.now, &w.plan, stdout);
            rc = replay_print(&w, json);
        } else if (work_change(&w, sets, n_sets, &changed, path, &errors) ==
                   ST_OK) {
            if (w.recorded && !json_equal(w.recorded, w.written))
                fputs("davit: this davit plans otherwise than the one that "
                      "recorded, even without the change\n",
                      stderr);
            change_print(&w, &changed, sets, n_sets, json);
            rc = EXIT_OK;
        }
    }
    fputs(errors.s, stderr);
    buf_done(&errors);
    work_done(&changed);
    work_done(&w);
    return rc;
}

static struct {
    const char *file;
    struct cli_list requests, sets;
    int64_t budget_ms;
    bool json;
} args = {.budget_ms = -1};

static int run(void)
{
    return plan_run(args.file, args.requests.v, (int)args.requests.n,
                    args.sets.v, (int)args.sets.n, args.budget_ms, args.json);
}

static const struct cli_option options[] = {
    {"request", 'r', "BUNDLE", .many = &args.requests, .most = MOST,
     .help = "adds a bundle, as `davit request` takes it; may be "
             "repeated"},
    {"set", 's', "PATH=VALUE", .many = &args.sets, .most = MOST,
     .help = "changes a value of the snapshot first and shows what that "
             "changes; may be repeated"},
    {"budget", 'b', .time_ms = &args.budget_ms, .most = BUDGET_MAX_MS,
     .help = "how long the plan may be bettered, 500ms by default; counted in "
             "steps, so that the answer is the same on every machine; 0: the "
             "first plan"},
    {"json", 'j', .flag = &args.json,
     .help = "the plan as JSON; with --set both, and the difference"},
    {0}};

static const struct cli_option words[] = {
    {"FILE", .text = &args.file, .takes = TAKES_FILE,
     .help = "a snapshot, a record, or a configuration; - is standard input"},
    {0}};

static const struct cli_example examples[] = {
    {"davit plan davit.yaml -r GPU=1,accelerator_type=T4*2",
     "what would be launched for two T4s"},
    {"davit plan --set limits.idle_timeout=5m record.json",
     "what another idle timeout had changed"},
    {"davit plan --set node_types.t4.price=0.2 --set nodes.n1.idle_ms=90000 "
     "snapshot.json",
     "another price, and a node that is idle for longer"},
    {0}};

const struct cli_command cli_plan = {
    .name = "plan",
    .help = "plans for a snapshot, a record or a configuration; does nothing",
    .options = options,
    .words = words,
    .run = run,
    .details =
        "A snapshot is what docs/snapshot.md describes, a record a file that "
        "`davit run --record` wrote; a configuration is planned for an empty "
        "cluster. A record is replayed: the exit code is 1 when the plan is "
        "not the one in the file.\n",
    .examples = examples};
