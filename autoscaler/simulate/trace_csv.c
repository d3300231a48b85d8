/*
 * trace_csv.c - traces as CSV: the public pod lists, and jobs of our own.
 *
 * Which it is its heading tells.  A pod runs from scheduled_time to
 * deletion_time; one that was never scheduled is left out and counted.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "../base/suggest.h"
#include "../codec/codec.h"
#include "../model/accel.h"
#include "../model/amount.h"
#include "trace.h"

enum { COUNT_MAX = 100000 };
#define TIME_MAX_S INT64_C(4000000000) /* until 2096, or 126 years */

enum own {
    SUBMIT,
    RUNS,
    CPUS,
    MEMORY,
    GPUS,
    ACCELERATOR,
    COUNT,
    TOGETHER,
    OWNER,
    NAME,
    OWN_COLUMNS
};

static const char *const own_names[OWN_COLUMNS] = {
    "submit",      "runs",  "cpus",     "memory", "gpus",
    "accelerator", "count", "together", "owner",  "name"};

enum pod {
    POD_NAME,
    CPU_MILLI,
    MEMORY_MIB,
    NUM_GPU,
    GPU_MILLI,
    GPU_SPEC,
    QOS,
    POD_PHASE,
    CREATION,
    DELETION,
    SCHEDULED,
    POD_COLUMNS
};

static const char *const pod_names[POD_COLUMNS] = {
    "name",          "cpu_milli",     "memory_mib",    "num_gpu",
    "gpu_milli",     "gpu_spec",      "qos",           "pod_phase",
    "creation_time", "deletion_time", "scheduled_time"};

struct reading {
    struct csv csv;
    struct trace *trace;
    int at[POD_COLUMNS]; /* where each column is; -1: it lacks */
    const struct csv_cell *cells;
};

/* ---- cells */

static const struct csv_cell *cell(const struct reading *r, unsigned column)
{
    static const struct csv_cell none = {"", 0, 0};

    return r->at[column] < 0 ? &none : &r->cells[r->at[column]];
}

/* A plain number of something, 0 to most; an empty one is 0. */
static bool number(struct reading *r, unsigned column, int64_t most,
                   int64_t *ret)
{
    const struct csv_cell *c = cell(r, column);
    char *end;

    *ret = 0;
    if (!*c->text)
        return true;
    *ret = strtoll(c->text, &end, 10);
    if (*c->text >= '0' && *c->text <= '9' && !*end && *ret <= most)
        return true;
    csv_wrong(&r->csv, c,
              "%s must be a whole number from 0 to %" PRId64 ", got \"%.40s\"",
              r->csv.heading[r->at[column]].text, most, c->text);
    return false;
}

static bool amount(struct reading *r, unsigned column, int64_t *ret)
{
    const struct csv_cell *c = cell(r, column);

    *ret = 0;
    if (!*c->text || amount_parse(c->text, ret))
        return true;
    csv_wrong(&r->csv, c,
              "%s must be a quantity such as 4, 0.5 or 16Gi, got \"%.40s\"",
              r->csv.heading[r->at[column]].text, c->text);
    return false;
}

/* Names that "|" parts; one product has one name. */
static struct names accel_names(struct arena *a, const char *text)
{
    VEC(const char *) v = {0};

    while (*text) {
        size_t n = strcspn(text, "|");

        if (n)
            VEC_PUSH(a, &v, accel_type_canonical(arena_strndup(a, text, n)));
        text += n + (text[n] == '|');
    }
    return (struct names){v.v, v.n};
}

/* What is not zero of these. */
static struct qtys needs(struct arena *a, int64_t cpus, int64_t memory,
                         int64_t gpus)
{
    const struct qty all[] = {{"CPU", cpus}, {"memory", memory}, {"GPU", gpus}};
    struct qty *v = ARENA_ARRAY(a, struct qty, 3);
    uint32_t n = 0;

    for (unsigned i = 0; i < 3; i++)
        if (all[i].amount > 0)
            v[n++] = all[i];
    return (struct qtys){v, n};
}

/* ---- the public pod list */

/* "V100M16": a V100 with 16 GB; Ray has no such names. */
static struct names pod_accel(struct arena *a, const char *spec)
{
    struct names names = accel_names(a, spec);
    const char **v = ARENA_ARRAY(a, const char *, names.n);

    for (uint32_t i = 0; i < names.n; i++)
        v[i] = strncmp(names.v[i], "V100M", 5) == 0 ? "V100" : names.v[i];
    return (struct names){v, names.n};
}

static void pod_row(struct reading *r)
{
    struct arena *a = &r->trace->arena;
    int64_t cpu, memory, gpus, milli, created, deleted, scheduled;
    struct trace_job j = {.count = 1};

    if (!number(r, CPU_MILLI, 10000000, &cpu) ||
        !number(r, MEMORY_MIB, INT64_C(1) << 40, &memory) ||
        !number(r, NUM_GPU, 1000, &gpus) ||
        !number(r, GPU_MILLI, 1000, &milli) ||
        !number(r, CREATION, TIME_MAX_S, &created) ||
        !number(r, DELETION, TIME_MAX_S, &deleted) ||
        !number(r, SCHEDULED, TIME_MAX_S, &scheduled))
        return;
    if (!*cell(r, SCHEDULED)->text || !*cell(r, DELETION)->text) {
        r->trace->never_ran++;
        return;
    }
    if (deleted < scheduled) {
        csv_wrong(&r->csv, cell(r, DELETION),
                  "deletion_time is before scheduled_time (%" PRId64 ")",
                  scheduled);
        return;
    }
    j.owner = *cell(r, QOS)->text ? cell(r, QOS)->text : "-";
    j.submit_ms = created * 1000;
    j.runs_ms = deleted > scheduled ? (deleted - scheduled) * 1000 : 1;
    j.need = needs(a, cpu * (AMOUNT_ONE / 1000),
                   amount_times(AMOUNT_ONE << 20, (uint64_t)memory),
                   gpus * milli * (AMOUNT_ONE / 1000));
    j.accel = gpus ? pod_accel(a, cell(r, GPU_SPEC)->text)
                   : (struct names){NULL, 0};
    VEC_PUSH(a, &r->trace->jobs, j);
}

/* ---- jobs of our own */

/* Seconds or "2h" since the beginning, or a date and time. */
static bool submit_time(struct reading *r, int64_t *ret)
{
    const struct csv_cell *c = cell(r, SUBMIT);

    *ret = strchr(c->text, 'T') ? clock_from_iso(c->text) : 0;
    if (*ret > 0 || (*c->text && duration_parse(c->text, ret) && *ret >= 0))
        return true;
    csv_wrong(&r->csv, c,
              "submit must be a time since the beginning such as 90, 15m or "
              "2h, or one such as 2026-03-01T08:00:00Z, got \"%.40s\"",
              c->text);
    return false;
}

static bool run_time(struct reading *r, int64_t *ret)
{
    const struct csv_cell *c = cell(r, RUNS);

    if (*c->text && duration_parse(c->text, ret) && *ret > 0)
        return true;
    csv_wrong(&r->csv, c,
              "runs must be a time above 0 such as 90, 15m or 2h, got "
              "\"%.40s\"",
              c->text);
    return false;
}

static bool yes_no(struct reading *r, unsigned column, bool *ret)
{
    const struct csv_cell *c = cell(r, column);

    *ret = strcmp(c->text, "yes") == 0;
    if (*ret || !*c->text || strcmp(c->text, "no") == 0)
        return true;
    csv_wrong(&r->csv, c, "%s must be yes or no, got \"%.40s\"",
              r->csv.heading[r->at[column]].text, c->text);
    return false;
}

static void own_row(struct reading *r)
{
    struct arena *a = &r->trace->arena;
    int64_t cpus, memory, gpus, count;
    struct trace_job j = {0};

    if (!submit_time(r, &j.submit_ms) || !run_time(r, &j.runs_ms) ||
        !amount(r, CPUS, &cpus) || !amount(r, MEMORY, &memory) ||
        !amount(r, GPUS, &gpus) || !number(r, COUNT, COUNT_MAX, &count) ||
        !yes_no(r, TOGETHER, &j.together))
        return;
    j.need = needs(a, cpus, memory, gpus);
    if (j.need.n == 0) {
        csv_wrong(&r->csv, &r->cells[0],
                  "one of cpus, memory and gpus must be above 0");
        return;
    }
    j.accel = accel_names(a, cell(r, ACCELERATOR)->text);
    j.count = *cell(r, COUNT)->text ? (uint32_t)count : 1;
    j.owner = *cell(r, OWNER)->text ? cell(r, OWNER)->text : "-";
    if (j.count > 0)
        VEC_PUSH(a, &r->trace->jobs, j);
}

/* ---- the whole file */

static bool columns_find(struct reading *r, const char *const *names,
                         unsigned n, unsigned required)
{
    struct csv_cell begin = {"", 1, 1};

    for (unsigned i = 0; i < n; i++) {
        r->at[i] = csv_find(&r->csv, names[i]);
        if (r->at[i] < 0 && (required >> i & 1))
            csv_wrong(&r->csv, &begin, "the column \"%s\" lacks", names[i]);
    }
    return r->csv.mistakes == 0;
}

/* A column that nobody reads is a mistake: its name is misspelt. */
static bool columns_known(struct reading *r)
{
    for (uint32_t i = 0; i < r->csv.n; i++) {
        const char *name = r->csv.heading[i].text, *like;
        bool known = false;

        for (unsigned k = 0; k < OWN_COLUMNS; k++)
            known = known || strcmp(name, own_names[k]) == 0;
        if (known)
            continue;
        like = suggest(name, own_names, OWN_COLUMNS);
        csv_wrong(&r->csv, &r->csv.heading[i],
                  "unknown column \"%.40s\"%s%s%s (allowed: submit, runs, "
                  "cpus, memory, gpus, accelerator, count, together, owner, "
                  "name; or those of a public pod list: docs/simulate.md)",
                  name, like ? ", did you mean \"" : "", like ? like : "",
                  like ? "\"?" : "");
    }
    return r->csv.mistakes == 0;
}

static void rows(struct reading *r, void (*row)(struct reading *r))
{
    struct csv_cell cells[CSV_COLUMNS];

    r->cells = cells;
    while (csv_row(&r->csv, cells)) {
        if (r->trace->jobs.n == TRACE_JOBS) {
            csv_wrong(&r->csv, &cells[0], "more than %d rows", TRACE_JOBS);
            return;
        }
        row(r);
    }
}

enum status trace_csv(const char *path, const char *text, struct trace *t,
                      struct buf *errors)
{
    const unsigned pod_required = 1u << CPU_MILLI | 1u << NUM_GPU |
                                  1u << GPU_MILLI | 1u << CREATION |
                                  1u << DELETION | 1u << SCHEDULED;
    struct reading r = {.trace = t};

    if (csv_open(&r.csv, path, text, &t->arena, errors) != ST_OK)
        return ST_INVALID;
    if (csv_find(&r.csv, "cpu_milli") >= 0) {
        t->kind = "pod list";
        if (columns_find(&r, pod_names, POD_COLUMNS, pod_required))
            rows(&r, pod_row);
    } else {
        t->kind = "jobs";
        if (columns_known(&r) &&
            columns_find(&r, own_names, OWN_COLUMNS, 1u << SUBMIT | 1u << RUNS))
            rows(&r, own_row);
    }
    return r.csv.mistakes ? ST_INVALID : ST_OK;
}
