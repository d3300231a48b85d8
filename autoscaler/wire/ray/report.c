/*
 * report.c - tells the head what its autoscaler is doing.
 *
 * Two places: ReportAutoscalingState, whose lists `ray status` and the
 * dashboard show (except what is infeasible, which they leave out), and the
 * key __autoscaling_error, whose text `ray status` appends and every new
 * driver prints.  The text is written only when it changed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"
#include "../../base/buf.h"
#include "../../base/clock.h"
#include "../../model/accel.h"
#include "../../model/amount.h"
#include "ray.pb-c.h"
#include "inside.h"

#define NOTE_KEY "__autoscaling_error"
#define NOTE_HEAD "Infeasible (davit has no way to serve it; it waits):\n"
#define NOTE_PREFIX "Infeasible (davit"
#define NOTE_AGE_MS 30000  /* written again, should the head have forgotten it */
#define MAX_NOTE ((size_t)16 << 10)
#define MAX_LINES 40u
#define MAX_REQUESTS 1000u  /* shapes in one report: a count may be anything */
#define ACCEL_SHARE 0.001  /* what Ray asks of an accelerator_type resource */

static char *word(const char *s)
{
    return (char *)(s ? s : "");
}

/* Ray asked with a resource, we keep a term: the one becomes the other again,
 * so that Ray knows its own shapes. */
static const char *accel_of(const struct term *t)
{
    return t->op == TERM_IN && t->values.n == 1 &&
                   strcmp(t->key, ACCEL_LABEL) == 0 ? t->values.v[0] : NULL;
}

/* A term of our own making (demand.c): Ray knows it as a constraint. */
static bool is_ours(const struct term *t)
{
    return strncmp(t->key, "_PG_", 4) == 0;
}

/* ---- demands to messages */

static void entry_add(struct arena *a, PB(ResourceRequest) *r, const char *name,
                      double amount)
{
    PB(ResourceRequest__ResourcesBundleEntry) *e =
        ARENA_NEW(a, PB(ResourceRequest__ResourcesBundleEntry));
    ray__rpc__autoscaler__resource_request__resources_bundle_entry__init(e);
    e->key = word(name);
    e->value = amount;
    r->resources_bundle[r->n_resources_bundle++] = e;
}

static PB(LabelSelectorConstraint) *constraint(struct arena *a,
                                               const struct term *t)
{
    PB(LabelSelectorConstraint) *c =
        ARENA_NEW(a, PB(LabelSelectorConstraint));
    ray__rpc__autoscaler__label_selector_constraint__init(c);
    c->label_key = word(t->key);
    c->operator_ = t->op == TERM_IN
        ? RAY__RPC__AUTOSCALER__LABEL_SELECTOR_OPERATOR__LABEL_OPERATOR_IN
        : RAY__RPC__AUTOSCALER__LABEL_SELECTOR_OPERATOR__LABEL_OPERATOR_NOT_IN;
    c->n_label_values = t->values.n;
    c->label_values = ARENA_ARRAY(a, char *, t->values.n);
    for (uint32_t i = 0; i < t->values.n; i++)
        c->label_values[i] = word(t->values.v[i]);
    return c;
}

static PB(LabelSelector) *selector(struct arena *a, const struct snap_alt *alt)
{
    PB(LabelSelector) *s = ARENA_NEW(a, PB(LabelSelector));
    ray__rpc__autoscaler__label_selector__init(s);
    s->label_constraints = ARENA_ARRAY(a, PB(LabelSelectorConstraint) *,
                                       alt->selector.n);
    for (uint32_t i = 0; i < alt->selector.n; i++)
        if (!accel_of(&alt->selector.v[i]) && !is_ours(&alt->selector.v[i]))
            s->label_constraints[s->n_label_constraints++] =
                constraint(a, &alt->selector.v[i]);
    return s;
}

static PB(ResourceRequest) *request(struct arena *a,
                                    const struct snap_bundle *b)
{
    const struct snap_alt *first = &b->alts[0];
    PB(ResourceRequest) *r = ARENA_NEW(a, PB(ResourceRequest));
    ray__rpc__autoscaler__resource_request__init(r);
    r->resources_bundle =
        ARENA_ARRAY(a, PB(ResourceRequest__ResourcesBundleEntry) *,
                    first->resources.n + first->selector.n);
    for (uint32_t i = 0; i < first->resources.n; i++)
        entry_add(a, r, first->resources.v[i].name,
                  amount_to_double(first->resources.v[i].amount));
    for (uint32_t i = 0; i < first->selector.n; i++) {
        const char *type = accel_of(&first->selector.v[i]);
        if (type)
            entry_add(a, r, arena_printf(a, "accelerator_type:%s", type),
                      ACCEL_SHARE);
    }
    r->label_selectors = ARENA_ARRAY(a, PB(LabelSelector) *, b->n_alts);
    for (uint32_t i = 0; i < b->n_alts; i++) {
        PB(LabelSelector) *s = selector(a, &b->alts[i]);
        if (s->n_label_constraints || b->n_alts > 1)
            r->label_selectors[r->n_label_selectors++] = s;
    }
    return r;
}

static PB(GangResourceRequest) *gang(struct arena *a,
                                     const struct snap_demand *d, size_t *left)
{
    PB(GangResourceRequest) *g = ARENA_NEW(a, PB(GangResourceRequest));
    ray__rpc__autoscaler__gang_resource_request__init(g);
    uint64_t n = 0;
    for (uint32_t i = 0; i < d->n_bundles; i++)
        n += d->bundles[i].count;
    if (n > *left)
        n = *left;
    *left -= n;
    g->requests = ARENA_ARRAY(a, PB(ResourceRequest) *, n);
    for (uint32_t i = 0; i < d->n_bundles; i++) {
        PB(ResourceRequest) *r = request(a, &d->bundles[i]);
        for (uint32_t k = 0; k < d->bundles[i].count && g->n_requests < n; k++)
            g->requests[g->n_requests++] = r;
    }
    g->details = arena_printf(a, "%s:%s|INFEASIBLE", word(d->id),
                              strategy_name(d->strategy));
    return g;
}

static PB(ClusterResourceConstraint) *whole(struct arena *a,
                                            const struct snap_demand *d,
                                            size_t *left)
{
    PB(ClusterResourceConstraint) *c =
        ARENA_NEW(a, PB(ClusterResourceConstraint));
    ray__rpc__autoscaler__cluster_resource_constraint__init(c);
    c->resource_requests = ARENA_ARRAY(a, PB(ResourceRequestByCount) *,
                                       d->n_bundles);
    for (uint32_t i = 0; i < d->n_bundles && *left; i++, (*left)--) {
        PB(ResourceRequestByCount) *r =
            ARENA_NEW(a, PB(ResourceRequestByCount));
        ray__rpc__autoscaler__resource_request_by_count__init(r);
        r->request = request(a, &d->bundles[i]);
        r->count = d->bundles[i].count;
        c->resource_requests[c->n_resource_requests++] = r;
    }
    return c;
}

static void set_infeasible(struct arena *a, const struct source_report *r,
                           PB(AutoscalingState) *s)
{
    size_t left = MAX_REQUESTS;
    s->infeasible_resource_requests = ARENA_ARRAY(a, PB(ResourceRequest) *,
                                                  left);
    s->infeasible_gang_resource_requests =
        ARENA_ARRAY(a, PB(GangResourceRequest) *, r->n_infeasible);
    s->infeasible_cluster_resource_constraints =
        ARENA_ARRAY(a, PB(ClusterResourceConstraint) *, r->n_infeasible);
    for (uint32_t i = 0; i < r->n_infeasible && left; i++) {
        const struct snap_demand *d = &r->infeasible[i];
        if (d->source == SOURCE_TASK)
            for (uint32_t k = 0; k < d->n_bundles && left; k++, left--)
                s->infeasible_resource_requests
                    [s->n_infeasible_resource_requests++] =
                    request(a, &d->bundles[k]);
        else if (d->source == SOURCE_GANG)
            s->infeasible_gang_resource_requests
                [s->n_infeasible_gang_resource_requests++] =
                gang(a, d, &left);
        else
            s->infeasible_cluster_resource_constraints
                [s->n_infeasible_cluster_resource_constraints++] =
                whole(a, d, &left);
    }
}

/* ---- machines to messages */

static void set_pending(struct arena *a, const struct source_report *r,
                        PB(AutoscalingState) *s)
{
    s->pending_instances = ARENA_ARRAY(a, PB(PendingInstance) *, r->n_pending);
    s->pending_instance_requests =
        ARENA_ARRAY(a, PB(PendingInstanceRequest) *, r->n_pending);
    for (uint32_t i = 0; i < r->n_pending; i++) {
        const struct source_pending *p = &r->pending[i];
        if (p->id && p->id[0]) {
            PB(PendingInstance) *m = ARENA_NEW(a, PB(PendingInstance));
            ray__rpc__autoscaler__pending_instance__init(m);
            m->instance_type_name = word(p->machine);
            m->ray_node_type_name = word(p->type);
            m->instance_id = word(p->id);
            m->ip_address = word(p->address);
            m->details = word(p->detail);
            s->pending_instances[s->n_pending_instances++] = m;
        } else {  /* `ray status` counts entries, not their count */
            PB(PendingInstanceRequest) *m =
                ARENA_NEW(a, PB(PendingInstanceRequest));
            ray__rpc__autoscaler__pending_instance_request__init(m);
            m->instance_type_name = word(p->machine);
            m->ray_node_type_name = word(p->type);
            m->count = 1;
            m->request_ts = r->version / 1000;
            s->pending_instance_requests[s->n_pending_instance_requests++] = m;
        }
    }
}

static void set_failed(struct arena *a, const struct source_report *r,
                       PB(AutoscalingState) *s)
{
    s->failed_instance_requests = ARENA_ARRAY(a, PB(FailedInstanceRequest) *,
                                              r->n_failed);
    for (uint32_t i = 0; i < r->n_failed; i++) {
        const struct source_failed *f = &r->failed[i];
        PB(FailedInstanceRequest) *m = ARENA_NEW(a, PB(FailedInstanceRequest));
        ray__rpc__autoscaler__failed_instance_request__init(m);
        m->instance_type_name = word(f->machine);
        m->ray_node_type_name = word(f->type);
        m->count = f->count < INT32_MAX ? (int32_t)f->count : INT32_MAX;
        m->reason = word(f->reason);
        m->start_ts = f->start_s;
        m->failed_ts = f->failed_s;
        s->failed_instance_requests[s->n_failed_instance_requests++] = m;
    }
}

/* ---- the text */

/* As Ray prints a shape: {'CPU': 1.0, 'accelerator_type:T4': 0.001}. */
static void shape_add(struct buf *b, const struct snap_alt *alt)
{
    const char *comma = "";
    char amount[24];
    buf_str(b, "{");
    for (uint32_t i = 0; i < alt->resources.n; i++) {
        const char *s = amount_text(alt->resources.v[i].amount, amount,
                                    sizeof amount);
        buf_printf(b, "%s'%s': %s%s", comma, alt->resources.v[i].name, s,
                   strchr(s, '.') ? "" : ".0");
        comma = ", ";
    }
    for (uint32_t i = 0; i < alt->selector.n; i++) {
        const struct term *t = &alt->selector.v[i];
        const char *type = accel_of(t);
        if (is_ours(t))
            continue;
        if (type) {
            buf_printf(b, "%s'accelerator_type:%s': 0.001", comma, type);
        } else {
            buf_printf(b, "%s'%s': '%s", comma, t->key,
                       t->op == TERM_NOT_IN ? "!" : "");
            if (t->values.n > 1)
                buf_str(b, "in(");
            for (uint32_t k = 0; k < t->values.n; k++)
                buf_printf(b, "%s%s", k ? "," : "", t->values.v[k]);
            buf_str(b, t->values.n > 1 ? ")'" : "'");
        }
        comma = ", ";
    }
    buf_str(b, "}");
}

static void bundle_line(struct buf *b, const struct snap_bundle *bundle)
{
    for (uint32_t i = 0; i < bundle->n_alts && i < 4; i++) {
        buf_str(b, i ? " or " : "");
        shape_add(b, &bundle->alts[i]);
    }
}

static void why_add(struct buf *b, const struct source_report *r, uint32_t i)
{
    if (r->why && r->why[i] && r->why[i][0])
        buf_printf(b, ": %s", r->why[i]);
    buf_str(b, "\n");
}

/* "" when there is nothing to say.  On the heap. */
static char *note_make(const struct source_report *r)
{
    struct buf b;
    uint32_t lines = 0, more = 0;
    buf_init(&b, MAX_NOTE);
    for (uint32_t i = 0; i < r->n_infeasible; i++) {
        const struct snap_demand *d = &r->infeasible[i];
        bool tasks = d->source == SOURCE_TASK;
        if (lines >= MAX_LINES) {
            more += tasks ? d->n_bundles : 1;
            continue;
        }
        if (!lines)
            buf_str(&b, NOTE_HEAD);
        for (uint32_t k = 0; k < d->n_bundles; k++) {
            if (tasks || !k)
                buf_str(&b, " ");
            else
                buf_str(&b, ", ");
            bundle_line(&b, &d->bundles[k]);
            if (!tasks) {
                buf_printf(&b, " * %u", d->bundles[k].count);
                continue;
            }
            buf_printf(&b, ": %u pending tasks/actors", d->bundles[k].count);
            why_add(&b, r, i);
            lines++;
        }
        if (tasks)
            continue;
        if (d->strategy != STRATEGY_NONE)
            buf_printf(&b, " (%s)", strategy_name(d->strategy));
        if (d->source == SOURCE_GANG)
            buf_printf(&b, ": placement group %s", word(d->id));
        else
            buf_printf(&b, ": %s of %s", d->source == SOURCE_REQUEST
                                             ? "request" : source_name(d->source),
                       word(d->owner));
        why_add(&b, r, i);
        lines++;
    }
    if (more)
        buf_printf(&b, " and %u more\n", more);
    if (b.n && b.s[b.n - 1] == '\n')
        b.s[--b.n] = '\0';
    char *note = mem_strdup(b.s);
    buf_done(&b);
    return note;
}

/* What is there may be ours from before a restart, or somebody else's. */
static enum status note_write(struct ray_head *h, const char *note,
                              int64_t deadline_mono_ms, struct err *err)
{
    if (note[0])
        return ray_kv_put(h, NOTE_KEY, note, deadline_mono_ms, err);
    bool ours = h->note != NULL;
    if (!ours) {
        const char *there;
        enum status s = ray_kv_get(h, "", NOTE_KEY, deadline_mono_ms, &there,
                                   err);
        if (s)
            return s;
        ours = strncmp(there, NOTE_PREFIX, sizeof NOTE_PREFIX - 1) == 0;
    }
    return ours ? ray_kv_del(h, NOTE_KEY, deadline_mono_ms, err) : ST_OK;
}

enum status ray_head_report(struct ray_head *h, const struct source_report *r,
                            int64_t deadline_mono_ms, struct err *err)
{
    PB(AutoscalingState) state = RAY__RPC__AUTOSCALER__AUTOSCALING_STATE__INIT;
    PB(ReportAutoscalingStateRequest) report =
        RAY__RPC__AUTOSCALER__REPORT_AUTOSCALING_STATE_REQUEST__INIT;
    ray_call_begin(h);
    state.last_seen_cluster_resource_state_version = r->seen_version;
    state.autoscaler_state_version = r->version;
    set_pending(&h->scratch, r, &state);
    set_failed(&h->scratch, r, &state);
    set_infeasible(&h->scratch, r, &state);
    report.autoscaling_state = &state;
    size_t n;
    const void *bytes = ray_packed(&h->scratch, &report.base, &n);
    enum status s = ray_call(h, RAY_AUTOSCALER "ReportAutoscalingState", bytes,
                             n, deadline_mono_ms, &bytes, &n, err);
    if (s)
        return s;

    char *note = note_make(r);
    int64_t now = clock_mono_ms();
    if (h->note && (r->seen_version < h->note_seen_version ||
                    (note[0] && now - h->note_mono_ms > NOTE_AGE_MS))) {
        free(h->note);  /* a head that counts from the start is another one */
        h->note = NULL;
    }
    h->note_seen_version = r->seen_version;
    if (h->note && strcmp(h->note, note) == 0) {
        free(note);
        return ST_OK;
    }
    s = note_write(h, note, deadline_mono_ms, err);
    if (s) {
        free(note);
        return s == ST_UNSUPPORTED ? ST_OK : s;
    }
    free(h->note);
    h->note = note;
    h->note_mono_ms = now;
    return ST_OK;
}
