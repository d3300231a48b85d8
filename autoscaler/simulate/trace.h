/*
 * trace.h - recorded demand: what was submitted when, and how long it ran.
 *
 * Three kinds of files: the public pod lists of GPU clusters
 * (name,cpu_milli,...,scheduled_time), a CSV of our own, and a folder that
 * `davit run --record` wrote.  docs/simulate.md describes them.
 */
#ifndef SIMULATE_TRACE_H
#define SIMULATE_TRACE_H

#include "../model/snapshot.h"
#include "csv.h"

struct trace_job {
    const char *owner;
    int64_t submit_ms;  /* since the trace began */
    int64_t runs_ms;    /* at least 1 */
    struct qtys need;   /* of one of its tasks */
    struct names accel; /* one of these accelerator types; none: any node */
    uint32_t count;     /* tasks */
    bool together;      /* all begin at once */
    uint32_t order;     /* in the file */
};

struct trace {
    struct arena arena;
    const char *path, *kind;    /* kind: "pod list", "jobs", "records" */
    VEC(struct trace_job) jobs; /* by submit_ms */
    uint64_t tasks;
    uint32_t never_ran; /* left out: how long they would run is not known */
    uint32_t cut;       /* left out: before `from`, or after `to` */
};

struct trace_opts {
    int64_t from_ms, to_ms; /* since it began; to: INT64_MAX, all of it */
    int64_t runs_ms;        /* of records, which do not tell; 0: not given */
};

/* Errors: one line a mistake, with its place. */
enum status trace_read(const char *path, const struct trace_opts *o,
                       struct trace *ret, struct buf *errors);
void trace_free(struct trace *t);

/* ---- trace_csv.c, trace_record.c */
enum { TRACE_JOBS = 2000000 };
enum status trace_csv(const char *path, const char *text, struct trace *t,
                      struct buf *errors);
enum status trace_records(const char *dir, int64_t runs_ms, struct trace *t,
                          struct buf *errors);

#endif
