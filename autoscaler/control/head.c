/*
 * head.c - the Ray head: read, asked to drain, told what we do.
 *
 * Reads follow one another at 50 times what one takes, between 100 ms and 1 s,
 * so that looking costs the head at most two per cent, or after 100 ms when a
 * launch waits for a second look.  A failed read changes
 * nothing in the fleet; it only makes the head's part of the facts stale.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "state.h"

enum {
    READ_LEAST_MS = 100, READ_MOST_MS = 1000,
    READ_TIMEOUT_MS = 30000, WRITE_TIMEOUT_MS = 10000,
    STALE_MS = 10000,          /* a view older than this is not fresh */
    REPORT_MS = 5000,          /* `ray status` is refreshed at least so often */
    REFUSED_REST_MS = 10000,   /* a refused drain is not asked again before */
    HEAD_WORKERS = 2,          /* a reader and a writer */
};

enum head_op { HEAD_READ, HEAD_DRAIN, HEAD_REPORT };

struct head_job {
    struct job job;            /* first */
    enum head_op op;
    struct ray_head *handle;
    struct arena arena;
    int64_t deadline_mono_ms;
    struct ray_view *view;     /* READ */
    const char *machine, *ray_id;
    bool preempt, accepted;    /* DRAIN */
    char why[256];
    struct ray_report report;  /* REPORT */
    enum status status;
    struct err err;
};

static void head_job_run(struct job *job)
{
    struct head_job *j = (struct head_job *)job;

    switch (j->op) {
    case HEAD_READ:
        j->status = ray_head_read(j->handle, &j->arena, j->deadline_mono_ms,
                                  &j->view, &j->err);
        break;
    case HEAD_DRAIN:
        j->status = ray_head_drain(j->handle, j->ray_id, j->preempt,
                                   "davit: the node is not needed",
                                   clock_wall_ms() + DRAIN_DEADLINE_MS,
                                   j->deadline_mono_ms, &j->accepted, j->why,
                                   sizeof j->why, &j->err);
        break;
    case HEAD_REPORT:
        j->status = ray_head_report(j->handle, &j->report, j->deadline_mono_ms,
                                    &j->err);
        break;
    }
}

static struct head_job *head_job_new(struct ray_head *handle, enum head_op op,
                                     int timeout_ms)
{
    struct head_job *j = calloc(1, sizeof *j);

    if (!j)
        abort();
    j->op = op;
    j->handle = handle;
    j->job.run = head_job_run;
    j->job.mail.kind = MAIL_HEAD;
    /* No deadline for the pool: the handle is in use until the call returns,
     * and the wire's own deadline makes sure that it does. */
    j->deadline_mono_ms = clock_mono_ms() + timeout_ms;
    return j;
}

void head_open(struct control *c)
{
    const struct config *conf = c->config;

    if (!*conf->ray_address)
        return;
    c->head.reader = ray_head_new(conf->ray_address, conf->ray_token_file);
    c->head.writer = ray_head_new(conf->ray_address, conf->ray_token_file);
    c->head.workers = workers_new(HEAD_WORKERS, 0, &c->inbox);
}

void head_close(struct control *c)
{
    ray_head_free(c->head.reader);
    ray_head_free(c->head.writer);
    arena_done(&c->head.view_arena);
}

void head_poll(struct control *c)
{
    struct head *h = &c->head;

    if (!h->reader || h->reading)
        return;
    if (clock_mono_ms() < h->read_due_ms) {
        control_wake_at(c, h->read_due_ms);
        return;
    }
    h->reading = true;
    workers_submit(h->workers,
                   &head_job_new(h->reader, HEAD_READ, READ_TIMEOUT_MS)->job);
}

void head_hurry(struct control *c)
{
    int64_t soon = clock_mono_ms() + READ_LEAST_MS;

    if (c->head.read_due_ms > soon && !c->head.failures)
        c->head.read_due_ms = soon;
}

bool head_fresh(const struct control *c)
{
    const struct head *h = &c->head;

    return !h->reader || (h->view && h->failures == 0 &&
                          c->now_ms - h->read_ms < STALE_MS);
}

/* ---- which Ray node is this machine? */

static int by_instance(const void *a, const void *b)
{
    const struct ray_node *x = *(const struct ray_node *const *)a;
    const struct ray_node *y = *(const struct ray_node *const *)b;
    int d = strcmp(x->instance_id, y->instance_id);

    if (d)
        return d;
    /* of several with one id (a raylet started again) the living comes first */
    if ((x->status == RAY_DEAD) != (y->status == RAY_DEAD))
        return x->status == RAY_DEAD ? 1 : -1;
    return strcmp(x->ray_id, y->ray_id);
}

static void view_index(struct head *h)
{
    h->index = ARENA_ARRAY(&h->view_arena, const struct ray_node *,
                           h->view->n_nodes);
    for (uint32_t i = 0; i < h->view->n_nodes; i++)
        h->index[i] = &h->view->nodes[i];
    qsort(h->index, h->view->n_nodes, sizeof *h->index, by_instance);
}

static const struct ray_node *by_id(const struct head *h, const char *id)
{
    uint32_t lo = 0, hi = h->view->n_nodes;

    if (!*id)
        return NULL;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (strcmp(h->index[mid]->instance_id, id) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo < h->view->n_nodes && strcmp(h->index[lo]->instance_id, id) == 0)
        return h->index[lo];
    return NULL;
}

const struct ray_node *head_node_of(const struct control *c,
                                    const struct machine *m)
{
    const struct ray_node *n;

    if (!c->head.view)
        return NULL;
    n = by_id(&c->head, m->cloud_id);
    return n ? n : by_id(&c->head, m->id);
}

/* ---- a good view: who joined, who died */

static void machine_joined(struct control *c, struct machine *m,
                           const struct ray_node *n)
{
    snprintf(m->ray_id, sizeof m->ray_id, "%s", n->ray_id);
    if (*n->address)
        snprintf(m->address, sizeof m->address, "%s", n->address);
    m->detail[0] = '\0';
    if (m->state < STATE_STARTING)
        machine_to(c, m, STATE_STARTING);
    machine_to(c, m, STATE_READY);
}

/* A head that lists its dead and does not know this node at all began anew,
 * perhaps together with us: its nodes join it again, or start_timeout ends
 * them.  Taking that for death would end a whole fleet at once. */
static void machine_unknown(struct control *c, struct machine *m)
{
    if (m->state == STATE_DRAINING)
        machine_to(c, m, STATE_READY);
    m->ray_id[0] = '\0';
    m->why = REASON_NONE;
    machine_to(c, m, STATE_STARTING);
}

static void machine_dead(struct control *c, struct machine *m, bool unknown)
{
    if (m->state == STATE_DRAINING && (m->drain_accepted || !unknown)) {
        machine_to(c, m, STATE_STOPPING);
        atomic_fetch_add(&c->metrics.ends, 1);
    } else if (unknown) {
        machine_unknown(c, m);
    } else {
        machine_fail(c, m, ST_BROKEN, "its raylet died");
        machine_to(c, m, STATE_STOPPING);
    }
}

/* The head drains it: our drain, whose answer was lost, or somebody else's. */
static void drain_seen(struct control *c, struct machine *m,
                       const struct ray_node *n)
{
    if (n->status != RAY_DRAINING || m->drain_accepted)
        return;
    if (m->state == STATE_READY) {
        m->why = REASON_KEEP_DRAINING;
        machine_to(c, m, STATE_DRAINING);
    }
    m->drain_accepted = true;
    fleet_touch(&c->fleet, m);
}

static void fleet_joins(struct control *c, bool restarted)
{
    for (uint32_t i = 0; i < c->fleet.n; i++) {
        struct machine *m = c->fleet.v[i];
        const struct ray_node *n = head_node_of(c, m);
        bool alive = n && n->status != RAY_DEAD;

        switch (m->state) {
        case STATE_INTENDED:
        case STATE_REQUESTED:
        case STATE_STARTING:
            if (alive && strcmp(n->ray_id, m->ray_id) != 0)
                machine_joined(c, m, n);
            else if (n && !alive && strcmp(n->ray_id, m->ray_id) != 0) {
                machine_fail(c, m, ST_BROKEN, "its raylet died while joining");
                machine_to(c, m, *m->cloud_id ? STATE_STOPPING : STATE_GONE);
            }
            break;
        case STATE_READY:
        case STATE_DRAINING:
            if (alive && strcmp(n->ray_id, m->ray_id) == 0) {
                drain_seen(c, m, n);
                break;
            }
            if (alive && m->state == STATE_READY)
                machine_joined(c, m, n);  /* a new raylet on it */
            else
                machine_dead(c, m, !n || restarted);
            break;
        case STATE_STOPPING:
        case STATE_GONE:
        case STATE_COUNT:
            break;
        }
    }
}

static void read_folded(struct control *c, struct head_job *j)
{
    struct head *h = &c->head;
    int64_t now = clock_mono_ms(), rest;
    bool restarted;

    h->reading = false;
    if (j->status != ST_OK) {
        h->failures++;
        rest = (int64_t)200 << (h->failures < 6 ? h->failures - 1 : 5);
        h->read_due_ms = now + (rest > 5000 ? 5000 : rest);
        snprintf(h->problem, sizeof h->problem, "%s", j->err.text);
        atomic_fetch_add(&c->metrics.head_failures, 1);
        if ((h->failures == 3 || (j->status == ST_AUTH && h->failures == 1)))
            tell(c, "head.down", c->config->ray_address,
                 status_name(j->status), "%s", j->err.text);
        return;
    }
    restarted = h->view && strcmp(h->view->session, j->view->session) != 0;
    if (h->failures >= 3 || !h->view || *h->problem)
        tell(c, "head.up", c->config->ray_address, "", "session %s, %u nodes",
             j->view->session, j->view->n_nodes);
    if (!j->view->v2 && !h->told_v1) {
        h->told_v1 = true;
        tell(c, "head.v1", c->config->ray_address, "",
             "started without RAY_enable_autoscaler_v2=1: it hides "
             "request_resources from us, and `ray status` stays empty");
    }
    arena_done(&h->view_arena);
    h->view_arena = j->arena;
    j->arena = (struct arena){0};
    h->view = j->view;
    h->failures = 0;
    h->problem[0] = '\0';
    h->read_ms = c->now_ms;
    h->views++;
    rest = h->view->took_us * 50 / 1000;
    h->read_due_ms = now + (rest < READ_LEAST_MS  ? READ_LEAST_MS
                            : rest > READ_MOST_MS ? READ_MOST_MS
                                                  : rest);
    atomic_fetch_add(&c->metrics.head_reads, 1);
    view_index(h);
    fleet_joins(c, restarted);
}

/* ---- drains */

void head_drain(struct control *c, struct machine *m, bool preempt)
{
    struct head_job *j;

    if (c->head.writing)
        return;  /* the writer's answer brings another tick */
    c->head.writing = true;
    m->busy = true;
    j = head_job_new(c->head.writer, HEAD_DRAIN, WRITE_TIMEOUT_MS);
    j->machine = arena_strdup(&j->arena, m->id);
    j->ray_id = arena_strdup(&j->arena, m->ray_id);
    j->preempt = preempt;
    atomic_fetch_add(&c->metrics.drains, 1);
    workers_submit(c->head.workers, &j->job);
}

static void drain_folded(struct control *c, struct head_job *j)
{
    struct machine *m = fleet_by_id(&c->fleet, j->machine);

    if (!m)
        return;
    m->busy = false;
    if (m->state != STATE_DRAINING) {
        /* taken back while the question was under way, and the head agreed */
        if (j->status == ST_OK && j->accepted && m->state == STATE_READY) {
            machine_to(c, m, STATE_DRAINING);
            m->drain_accepted = true;
            fleet_touch(&c->fleet, m);
        }
        return;
    }
    if (j->status != ST_OK) {
        m->tries++;
        m->retry_ms = c->now_ms + ((int64_t)500 << (m->tries < 5 ? m->tries : 5));
        return;
    }
    if (j->accepted) {
        m->drain_accepted = true;
        fleet_touch(&c->fleet, m);
        c->head.read_due_ms = 0;
        return;
    }
    atomic_fetch_add(&c->metrics.drains_refused, 1);
    m->hold_until_ms = c->now_ms + REFUSED_REST_MS;
    snprintf(m->detail, sizeof m->detail, "%.150s", j->why);
    m->why = REASON_KEEP_REFUSED;
    machine_to(c, m, STATE_READY);
}

void head_fold(struct control *c, struct mail *mail)
{
    struct head_job *j = (struct head_job *)mail;

    if (j->op != HEAD_READ)
        c->head.writing = false;
    if (!c->stopping) {
        if (j->op == HEAD_READ)
            read_folded(c, j);
        else if (j->op == HEAD_DRAIN)
            drain_folded(c, j);
    }
    arena_done(&j->arena);
    free(j);
}

/* ---- what `ray status` shows of us */

static struct qtys row_words(const struct snapshot *s, uint32_t row,
                             struct arena *a)
{
    const int64_t *amounts = sn_row(s, row);
    VEC(struct qty) v = {0};

    for (uint32_t i = 0; i < s->n_columns; i++)
        if (amounts[i])
            VEC_PUSH(a, &v, ((struct qty){s->str[s->columns[i].name],
                                          amounts[i]}));
    return (struct qtys){v.v, v.n};
}

static struct terms selector_words(const struct snapshot *s, uint32_t selector,
                                   struct arena *a)
{
    const struct sn_selector *sel = &s->selectors[selector];
    struct term *v = ARENA_ARRAY(a, struct term, sel->n_terms);

    for (uint32_t i = 0; i < sel->n_terms; i++) {
        const struct sn_term *t = &s->terms[sel->first_term + i];
        const char **values = ARENA_ARRAY(a, const char *, t->n_values);
        for (uint32_t k = 0; k < t->n_values; k++)
            values[k] = s->str[s->term_values[t->first_value + k]];
        v[i] = (struct term){s->str[t->key], t->op, {values, t->n_values}};
    }
    return (struct terms){v, sel->n_terms};
}

/* The head's own demand that no type could ever hold, in words again. */
static uint32_t infeasible_words(const struct status_page *page,
                                 struct arena *a, struct fact_demand **ret)
{
    const struct snapshot *s = page->now;
    VEC(struct fact_demand) v = {0};

    for (uint32_t d = 0; d < s->n_demands; d++) {
        const struct sn_demand *dem = &s->demands[d];
        VEC(struct fact_bundle) bundles = {0};

        if (strcmp(s->str[dem->owner], "ray") != 0)
            continue;
        for (uint32_t i = 0; i < dem->n_bundles; i++) {
            uint32_t b = dem->first_bundle + i;
            const struct sn_bundle *sb = &s->bundles[b];
            const struct sn_shape *shape = &s->shapes[s->alts[sb->first_alt].shape];
            struct fact_alt *alt;

            if (!page->plan->bundles[b].infeasible)
                continue;
            alt = ARENA_NEW(a, struct fact_alt);
            alt->resources = row_words(s, shape->row, a);
            alt->selector = selector_words(s, shape->selector, a);
            VEC_PUSH(a, &bundles,
                     ((struct fact_bundle){
                         alt, 1, page->plan->bundles[b].infeasible}));
        }
        if (bundles.n)
            VEC_PUSH(a, &v,
                     ((struct fact_demand){
                         .source = dem->source, .strategy = dem->strategy,
                         .owner = "ray", .id = arena_strdup(a, s->str[dem->id]),
                         .bundles = bundles.v, .n_bundles = bundles.n}));
    }
    *ret = v.v;
    return v.n;
}

static uint64_t mix(uint64_t h, const char *s)
{
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * UINT64_C(1099511628211);
    return h * 31;
}

void head_report(struct control *c, const struct status_page *page)
{
    struct head *h = &c->head;
    struct head_job *j;
    struct ray_report *r;
    struct fact_demand *infeasible;
    VEC(struct ray_pending) pending = {0};
    VEC(struct ray_failed) failed = {0};
    uint64_t hash = 1469598103934665603u;

    if (!h->writer || h->writing || !h->view || h->failures)
        return;
    j = head_job_new(h->writer, HEAD_REPORT, WRITE_TIMEOUT_MS);
    r = &j->report;
    for (uint32_t i = 0; i < c->fleet.n; i++) {
        const struct machine *m = c->fleet.v[i];
        if (m->state > STATE_STARTING)
            continue;
        VEC_PUSH(&j->arena, &pending,
                 ((struct ray_pending){
                     arena_strdup(&j->arena, m->type), "",
                     arena_strdup(&j->arena, m->id),
                     arena_strdup(&j->arena, m->address),
                     arena_strdup(&j->arena, state_name(m->state))}));
        hash = mix(mix(hash, m->id), state_name(m->state));
    }
    for (uint32_t i = 0; i < c->n_failures && i < FAILURES_KEPT; i++) {
        const struct failure_note *f = &c->failures[i];
        VEC_PUSH(&j->arena, &failed,
                 ((struct ray_failed){
                     arena_strdup(&j->arena, f->type), "",
                     arena_printf(&j->arena, "%s: %s", status_name(f->why),
                                  f->text),
                     f->at_ms / 1000, f->at_ms / 1000, 1}));
        hash = mix(hash + (uint64_t)f->at_ms, f->machine);
    }
    r->n_infeasible = infeasible_words(page, &j->arena, &infeasible);
    for (uint32_t d = 0; d < r->n_infeasible; d++)
        for (uint32_t b = 0; b < infeasible[d].n_bundles; b++)
            hash = hash * 31 + infeasible[d].bundles[b].count;
    if (hash == h->reported_hash &&
        clock_mono_ms() - h->reported_ms < REPORT_MS) {
        arena_done(&j->arena);
        free(j);
        return;
    }
    r->seen_version = h->view->version;
    r->version = c->now_ms;
    r->pending = pending.v;
    r->n_pending = pending.n;
    r->failed = failed.v;
    r->n_failed = failed.n;
    r->infeasible = infeasible;
    h->reported_hash = hash;
    h->reported_ms = clock_mono_ms();
    h->writing = true;
    workers_submit(h->workers, &j->job);
}
