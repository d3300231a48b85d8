/*
 * whatif.c - POST /v1/plan: the planner on another snapshot, without any
 * effect.
 *
 * Planning a large snapshot takes a while, so it has a thread of its own: the
 * threads that serve HTTP go on.  A job owns its snapshot, or a reference to
 * the page that it comes from.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../base/clock.h"
#include "../codec/codec.h"
#include "../plan/planner.h"
#include "inside.h"

struct plan_job {
    struct pending *pending;
    struct plan_job *next;
    struct arena arena;
    struct status_page *page; /* of a what-if, or NULL */
    const struct snapshot *snapshot;
    const char *owner; /* of a what-if, or NULL */
    enum status status;
    struct err err;
    struct buf reply;
};

struct whatif {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    struct plan_job *first, **last;
    uint32_t n;
    bool stop;
};

void plan_job_free(struct plan_job *j)
{
    if (!j)
        return;
    buf_done(&j->reply);
    status_unref(j->page);
    arena_done(&j->arena);
    free(j);
}

static void write_reply(struct plan_job *j, const struct problem *s,
                        const struct plan *p)
{
    json_t *plan = codec_plan_write(s, p);
    char *text = json_dumps(plan, JSON_COMPACT | JSON_REAL_PRECISION(15));
    struct view v;
    struct out o;

    json_decref(plan);
    out_init(&o, &j->reply);
    out_object(&o, NULL);
    out_raw(&o, "plan", text ? text : "{}");
    free(text);
    if (j->owner) {
        view_open_plan(&v, j->snapshot, s, p);
        outcome_write(&o, "request", &v, j->owner, false, 0);
        view_done(&v);
    } else {
        out_null(&o, "request");
    }
    out_close(&o);
}

static void run(struct plan_job *j)
{
    struct problem *s;
    struct plan plan;

    j->status = problem_make(j->snapshot, &j->arena, &s, &j->err);
    if (j->status != ST_OK)
        return;
    planner_run(s, 0, &j->arena, &plan);
    write_reply(j, s, &plan);
}

static void *thread_main(void *arg)
{
    struct whatif *t = arg;

    pthread_mutex_lock(&t->lock);
    for (;;) {
        struct plan_job *j;

        while (!t->first && !t->stop)
            pthread_cond_wait(&t->wake, &t->lock);
        if (!t->first)
            break;
        j = t->first;
        t->first = j->next;
        if (!t->first)
            t->last = &t->first;
        t->n--;
        if (!t->stop) {
            pthread_mutex_unlock(&t->lock);
            run(j);
            pthread_mutex_lock(&t->lock);
        }
        pending_done(j->pending);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

struct whatif *whatif_new(void)
{
    struct whatif *t = MEM_NEW(struct whatif);

    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->wake, NULL);
    t->last = &t->first;
    if (pthread_create(&t->thread, NULL, thread_main, t) != 0)
        abort();
    return t;
}

/* What waits for it was ended before; what is queued is dropped. */
void whatif_free(struct whatif *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->stop = true;
    pthread_cond_signal(&t->wake);
    pthread_mutex_unlock(&t->lock);
    pthread_join(t->thread, NULL);
    pthread_cond_destroy(&t->wake);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

static void enqueue(struct pending *p, void *arg)
{
    struct whatif *t = arg;

    pthread_mutex_lock(&t->lock);
    *t->last = p->job;
    t->last = &p->job->next;
    t->n++;
    pthread_cond_signal(&t->wake);
    pthread_mutex_unlock(&t->lock);
}

/* ---- the exchange's side */

static void plan_answer(struct exchange *ex)
{
    struct plan_job *j = ex->pending->job;

    if (j->status != ST_OK)
        exchange_err(ex, &j->err);
    else
        exchange_reply(ex, 200, &j->reply, "application/json");
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

static enum status read_job(struct exchange *ex, struct plan_job *j,
                            struct err *err)
{
    struct status_page *page = NULL;
    struct snapshot *snapshot;
    json_t *body = NULL;
    enum status s;

    s = codec_parse(ex->body.s, ex->body.n, &body, err);
    if (s != ST_OK) {
        err_prefix(err, "body");
    } else if (!is_whatif(body)) {
        s = codec_snapshot_read(body, &j->arena, &snapshot, err);
        j->snapshot = snapshot;
    } else if (!(page = status_get(ex->server->board))) {
        s = err_set(
            err, ST_RETRY,
            "the daemon is starting: there is no snapshot to plan on yet");
    } else {
        s = read_whatif(j, body, page, err);
        if (s != ST_OK)
            status_unref(page);
    }
    json_decref(body);
    buf_done(&ex->body);
    return s;
}

void post_plan(struct exchange *ex)
{
    struct whatif *t = ex->server->whatif;
    struct plan_job *j = MEM_NEW(struct plan_job);
    struct err err = {0};
    struct pending *p;
    bool full;

    buf_init(&j->reply, REPLY_MAX);
    pthread_mutex_lock(&t->lock);
    full = t->n >= PLANS_MAX;
    pthread_mutex_unlock(&t->lock);
    if (full) {
        exchange_error(ex, 429, "THROTTLED", "",
                       "%d plans wait already; try again", PLANS_MAX);
        plan_job_free(j);
        return;
    }
    if (read_job(ex, j, &err) != ST_OK) {
        exchange_err(ex, &err);
        plan_job_free(j);
        return;
    }
    j->pending = p = pending_new(ex->server->pending, COMMAND_REQUEST_PUT);
    p->job = j;
    ex->answer = plan_answer;
    if (!pending_send(p, ex, enqueue, t)) {
        pending_unref(p);
        exchange_error(ex, 503, "RETRY", "", "the daemon is stopping");
    }
}
