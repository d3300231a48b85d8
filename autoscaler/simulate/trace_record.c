/*
 * trace_record.c - a folder of `davit run --record` as a trace.
 *
 * A record is what one plan was made from.  What waits in one and did not wait
 * in the one before it was submitted then; how long it ran no record tells, so
 * all of it runs for as long as --runs says.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../codec/codec.h"
#include "../config/file.h"
#include "../model/accel.h"
#include "../model/bundle.h"
#include "trace.h"

enum { FILES_MAX = 100000, RECORD_BYTES = 256 << 20 };

struct record_files {
    char **v;
    uint32_t n;
};

static int by_time(const void *a, const void *b)
{
    const char *x = strchr(*(char *const *)a, '-');
    const char *y = strchr(*(char *const *)b, '-');

    return strcmp(x, y);
}

/* "42-20261121T101112.345.json". */
static bool is_record(const char *name)
{
    size_t digits = strspn(name, "0123456789"), n = strlen(name);

    return digits > 0 && name[digits] == '-' && n > 5 &&
           strcmp(name + n - 5, ".json") == 0;
}

static enum status files_find(const char *dir, struct arena *a,
                              struct record_files *ret, struct buf *errors)
{
    DIR *d = opendir(dir);
    const struct dirent *e;
    VEC(char *) v = {0};

    if (!d) {
        buf_printf(errors, "%s: %s\n", dir, strerror(errno));
        return ST_INVALID;
    }
    while ((e = readdir(d)) && v.n < FILES_MAX)
        if (is_record(e->d_name))
            VEC_PUSH(a, &v, arena_strdup(a, e->d_name));
    closedir(d);
    if (v.n == 0) {
        buf_printf(errors,
                   "%s: there is no record of `davit run --record` in "
                   "this folder\n",
                   dir);
        return ST_INVALID;
    }
    qsort(v.v, v.n, sizeof *v.v, by_time);
    *ret = (struct record_files){v.v, v.n};
    return ST_OK;
}

static enum status record_read(const char *dir, const char *name,
                               struct arena *a, struct snapshot **ret,
                               struct buf *errors)
{
    const char *path = arena_printf(a, "%s/%s", dir, name);
    json_t *json = NULL;
    struct err err;
    enum status s;
    char *text;
    size_t n;

    s = file_slurp(path, RECORD_BYTES, &text, &n, &err);
    if (s == ST_OK) {
        s = codec_parse(text, n, &json, &err);
        free(text);
    }
    if (s == ST_OK)
        s = codec_snapshot_read(json, a, ret, &err);
    json_decref(json);
    if (s != ST_OK)
        buf_printf(errors, "%s: %s\n", path, err.text);
    return s;
}

/* ---- what is new */

static uint32_t count_in(const struct snapshot *s, const struct snap_demand *d,
                         const struct snap_bundle *b)
{
    uint32_t n = 0;

    for (uint32_t i = 0; s && i < s->n_demands; i++) {
        const struct snap_demand *x = &s->demands[i];

        if (x->source != d->source || strcmp(x->owner, d->owner) != 0 ||
            strcmp(x->id, d->id) != 0)
            continue;
        for (uint32_t k = 0; k < x->n_bundles; k++)
            if (bundle_equal(&x->bundles[k], b))
                n += x->bundles[k].count;
    }
    return n;
}

static struct names accel_of(const struct snap_alt *alt, struct arena *a)
{
    for (uint32_t i = 0; i < alt->selector.n; i++) {
        const struct term *t = &alt->selector.v[i];
        const char **v = ARENA_ARRAY(a, const char *, t->values.n);

        if (strcmp(t->key, ACCEL_LABEL) != 0 || t->op != TERM_IN)
            continue;
        for (uint32_t k = 0; k < t->values.n; k++)
            v[k] = arena_strdup(a, t->values.v[k]);
        return (struct names){v, t->values.n};
    }
    return (struct names){NULL, 0};
}

static void job_add(struct trace *t, const struct snapshot *s,
                    const struct snap_demand *d, const struct snap_bundle *b,
                    uint32_t count, int64_t runs_ms)
{
    struct arena *a = &t->arena;
    const struct snap_alt *alt = &b->alts[0];
    struct qty *need = arena_copy(a, alt->resources.v,
                                  alt->resources.n * sizeof *need);
    struct trace_job j = {.owner = arena_strdup(a, d->owner),
                          .submit_ms = s->now_ms,
                          .runs_ms = runs_ms,
                          .need = {need, alt->resources.n},
                          .accel = accel_of(alt, a),
                          .count = count,
                          .together = d->source == SOURCE_GANG};

    for (uint32_t i = 0; i < alt->resources.n; i++)
        need[i].name = arena_strdup(a, need[i].name);
    VEC_PUSH(a, &t->jobs, j);
}

static void compare(struct trace *t, const struct snapshot *before,
                    const struct snapshot *s, int64_t runs_ms)
{
    for (uint32_t i = 0; i < s->n_demands; i++) {
        const struct snap_demand *d = &s->demands[i];

        for (uint32_t k = 0; k < d->n_bundles; k++) {
            const struct snap_bundle *b = &d->bundles[k];
            uint32_t had = count_in(before, d, b);

            if (b->count > had && t->jobs.n < TRACE_JOBS)
                job_add(t, s, d, b, b->count - had, runs_ms);
        }
    }
}

enum status trace_records(const char *dir, int64_t runs_ms, struct trace *t,
                          struct buf *errors)
{
    struct arena now = {0}, last = {0}, spare;
    struct snapshot *s, *before = NULL;
    struct record_files files;
    enum status st;

    t->kind = "records";
    if (!runs_ms) {
        buf_printf(errors,
                   "%s: records tell what waited, not for how long it ran: "
                   "--runs TIME is needed, such as --runs 10m\n",
                   dir);
        return ST_INVALID;
    }
    st = files_find(dir, &t->arena, &files, errors);
    for (uint32_t i = 0; st == ST_OK && i < files.n; i++) {
        st = record_read(dir, files.v[i], &now, &s, errors);
        if (st != ST_OK)
            break;
        compare(t, before, s, runs_ms);
        before = s;
        arena_reset(&last);
        spare = last;
        last = now;
        now = spare;
    }
    arena_done(&now);
    arena_done(&last);
    return st;
}
