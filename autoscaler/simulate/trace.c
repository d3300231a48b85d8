/*
 * trace.c - see trace.h: what is common to all kinds.
 */
#include "trace.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "../config/file.h"

#define TEXT_MAX ((size_t)256 << 20)

static int by_time(const void *a, const void *b)
{
    const struct trace_job *x = a, *y = b;

    if (x->submit_ms != y->submit_ms)
        return x->submit_ms < y->submit_ms ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Only what is within the times; the first moment is 0 from here on. */
static void cut(struct trace *t, const struct trace_opts *o)
{
    int64_t first = t->jobs.n ? t->jobs.v[0].submit_ms : 0;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < t->jobs.n; i++) {
        struct trace_job j = t->jobs.v[i];

        j.submit_ms -= first;
        if (j.submit_ms < o->from_ms || j.submit_ms >= o->to_ms) {
            t->cut++;
            continue;
        }
        j.submit_ms -= o->from_ms;
        t->tasks += j.count;
        t->jobs.v[kept++] = j;
    }
    t->jobs.n = kept;
}

static void sort(struct trace *t)
{
    for (uint32_t i = 0; i < t->jobs.n; i++)
        t->jobs.v[i].order = i;
    if (t->jobs.n > 1)
        qsort(t->jobs.v, t->jobs.n, sizeof *t->jobs.v, by_time);
}

static enum status any_read(const char *path, const struct trace_opts *o,
                            struct trace *t, struct buf *errors)
{
    struct stat st;
    struct err err;
    char *text;
    size_t n;
    enum status s;

    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return trace_records(path, o->runs_ms, t, errors);
    s = file_slurp(path, TEXT_MAX, &text, &n, &err);
    if (s != ST_OK) {
        buf_printf(errors, "%s: %s\n", path, err.text);
        return s;
    }
    s = trace_csv(path, text, t, errors);
    free(text);
    return s;
}

enum status trace_read(const char *path, const struct trace_opts *o,
                       struct trace *ret, struct buf *errors)
{
    enum status s;

    *ret = (struct trace){.path = path};
    s = any_read(path, o, ret, errors);
    if (s == ST_OK) {
        sort(ret);
        cut(ret, o);
    }
    if (s == ST_OK && ret->jobs.n == 0) {
        buf_printf(errors, "%s: there is nothing in it that ran%s\n", path,
                   ret->cut ? " between --from and --to" : "");
        s = ST_INVALID;
    }
    if (s != ST_OK)
        trace_free(ret);
    return s;
}

void trace_free(struct trace *t)
{
    arena_done(&t->arena);
    *t = (struct trace){0};
}
