/*
 * whatif.c - POST /v1/plan: the planner on another snapshot, without any
 * effect.
 *
 * The body is read and planned for on the thread for long work.  A task owns its
 * snapshot, or a reference to the page that it comes from.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../base/clock.h"
#include "../codec/codec.h"
#include "../control/requests.h"
#include "../plan/planner.h"
#include "inside.h"

/* Quantities in all rows together: 24 MiB, held two to three times. */
#define AMOUNTS_MAX (UINT64_C(3) << 20)
/* Entries of bundles that differ, and two for each demand. */
#define LINES_MAX 40000u

struct plan_job {
    struct task task;
    struct status_board *board;
    struct buf body;
    struct arena arena;
    struct status_page *page; /* of a what-if, or NULL */
    const struct snapshot *snapshot;
    const char *owner; /* of a what-if, or NULL */
    enum status status;
    struct err err;
    struct buf reply;
};

static void plan_job_free(struct task *task)
{
    struct plan_job *j = (struct plan_job *)task;

    buf_done(&j->body);
    buf_done(&j->reply);
    status_unref(j->page);
    arena_done(&j->arena);
    free(j);
}

static void write_reply(struct plan_job *j, const struct problem *s,
                        const struct plan *p)
{
    struct view v;
    struct out o;

    out_init(&o, &j->reply);
    out_object(&o, NULL);
    out_raw(&o, "plan", "");
    if (!codec_plan_print(s, p, &j->reply))
        return;
    if (j->owner) {
        view_open_plan(&v, j->snapshot, s, p);
        outcome_write(&o, "request", &v, j->owner, REQUEST_STANDS, 0);
        view_candidates(&o, &v, j->owner);
        view_done(&v);
    } else {
        out_null(&o, "request");
    }
    out_close(&o);
}

/* The present snapshot with one request more, or another one of the same owner.
 */
static enum status read_whatif(struct plan_job *j, const json_t *body,
                               struct status_page *page, struct err *err)
{
    struct snapshot *f = ARENA_NEW(&j->arena, struct snapshot);
    struct snap_demand *d;
    struct request_in r;
    enum status s;

    s = request_read(body, "what-if", page->snapshot->now_ms, &j->arena, &r,
                     err);
    if (s == ST_OK && !r.clear) /* what would be refused is no plan */
        s = request_queue_check(page->snapshot->queues,
                                page->snapshot->n_queues, &r.demand, err);
    if (s != ST_OK)
        return s;
    *f = *page->snapshot;
    d = ARENA_ARRAY(&j->arena, struct snap_demand, (size_t)f->n_demands + 1);
    f->n_demands = 0;
    for (uint32_t i = 0; i < page->snapshot->n_demands; i++) {
        const struct snap_demand *old = &page->snapshot->demands[i];

        if (old->source != SOURCE_REQUEST || strcmp(old->owner, r.owner) != 0)
            d[f->n_demands++] = *old;
    }
    if (!r.clear)
        d[f->n_demands++] = r.demand;
    f->demands = d;
    j->snapshot = f;
    j->owner = r.owner;
    j->page = page;
    return ST_OK;
}

static bool is_whatif(const json_t *body)
{
    return json_object_get(body, "bundles") ||
           json_object_get(body, "num_cpus");
}

static enum status read_job(struct plan_job *j, struct err *err)
{
    struct status_page *page = NULL;
    struct snapshot *snapshot;
    json_t *body = NULL;
    enum status s;

    s = codec_parse(j->body.s, j->body.n, &body, err);
    buf_done(&j->body);
    if (s != ST_OK) {
        err_prefix(err, "body");
    } else if (!is_whatif(body)) {
        s = codec_snapshot_read(body, &j->arena, &snapshot, err);
        j->snapshot = snapshot;
    } else if (!(page = status_get(j->board))) {
        s = err_set(
            err, ST_RETRY,
            "the daemon is starting: there is no snapshot to plan on yet");
    } else {
        s = read_whatif(j, body, page, err);
        if (s != ST_OK)
            status_unref(page);
    }
    json_decref(body);
    return s;
}

/* What the planner and the reply will take goes by these. */
static enum status size_check(const struct snapshot *f, struct err *err)
{
    uint64_t lines = 0;

    for (uint32_t i = 0; i < f->n_demands; i++)
        lines += 2 + (uint64_t)f->demands[i].n_bundles;
    if (lines <= LINES_MAX)
        return ST_OK;
    return err_set(err, ST_QUOTA,
                   "%llu different bundles, each demand counted as two more, "
                   "are too many for a plan here: at most %u",
                   (unsigned long long)lines, LINES_MAX);
}

static bool run(struct task *task)
{
    struct plan_job *j = (struct plan_job *)task;
    struct problem *s;
    struct plan plan;

    j->status = read_job(j, &j->err);
    if (j->status == ST_OK)
        j->status = size_check(j->snapshot, &j->err);
    if (j->status == ST_OK)
        j->status = problem_make_within(j->snapshot, AMOUNTS_MAX, &j->arena, &s,
                                        &j->err);
    if (j->status == ST_OK) {
        planner_run(s, 0, &j->arena, &plan);
        write_reply(j, s, &plan);
    }
    return true;
}

static void plan_answer(struct exchange *ex)
{
    struct plan_job *j = (struct plan_job *)ex->pending->task;

    if (j->status == ST_QUOTA || j->reply.full)
        exchange_error(
            ex, 413, "INVALID", "body", "%s; plan it with `davit plan`",
            j->reply.full ? "the plan would be too large" : j->err.text);
    else if (j->status != ST_OK)
        exchange_err(ex, &j->err);
    else
        exchange_reply(ex, 200, &j->reply, "application/json");
}

void post_plan(struct exchange *ex)
{
    struct plan_job *j;

    if (!exchange_charge_tree(ex))
        return;
    j = MEM_NEW(struct plan_job);
    j->task.run = run;
    j->task.free = plan_job_free;
    j->board = ex->server->board;
    j->body = ex->body;
    buf_init(&ex->body, BODY_MAX);
    buf_init(&j->reply, REPLY_MAX);
    tasks_send(ex->server->plans, ex, &j->task, COMMAND_REQUEST_PUT,
               plan_answer);
}
