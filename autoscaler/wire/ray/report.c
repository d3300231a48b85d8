/*
 * report.c - reports the state of the autoscaler to the head.
 *
 * Two places: ReportAutoscalingState, whose lists `ray status` and the
 * dashboard show (except what is infeasible, which they leave out), and a
 * text: note.c.
 */
#include <string.h>

#include "../../model/accel.h"
#include "../../model/amount.h"
#include "inside.h"
#include "ray.pb-c.h"

#define MAX_REQUESTS 1000u /* shapes in one report: a count may be anything */
#define ACCEL_SHARE 0.001  /* what Ray asks of an accelerator_type resource */

/* protobuf-c's strings are not const. */
static char *text(const char *s)
{
    return (char *)(s ? s : "");
}

/* Ray asked with a resource, we keep a term: the one becomes the other again,
 * so that Ray knows its own shapes. */
const char *ray_term_accel(const struct term *t)
{
    return t->op == TERM_IN && t->values.n == 1 &&
                   strcmp(t->key, ACCEL_LABEL) == 0
               ? t->values.v[0]
               : NULL;
}

/* A term of our own making (demand.c): Ray knows it as a constraint. */
bool ray_term_is_ours(const struct term *t)
{
    return strncmp(t->key, "_PG_", 4) == 0;
}

/* ---- demands to messages */

static void entry_add(struct arena *a, PB(ResourceRequest) * r,
                      const char *name, double amount)
{
    PB(ResourceRequest__ResourcesBundleEntry) *e = ARENA_NEW(
        a, PB(ResourceRequest__ResourcesBundleEntry));
    ray__rpc__autoscaler__resource_request__resources_bundle_entry__init(e);
    e->key = text(name);
    e->value = amount;
    r->resources_bundle[r->n_resources_bundle++] = e;
}

static PB(LabelSelectorConstraint) *
    constraint(struct arena *a, const struct term *t)
{
    PB(LabelSelectorConstraint) *c = ARENA_NEW(a, PB(LabelSelectorConstraint));
    ray__rpc__autoscaler__label_selector_constraint__init(c);
    c->label_key = text(t->key);
    c->operator_ =
        t->op == TERM_IN
            ? RAY__RPC__AUTOSCALER__LABEL_SELECTOR_OPERATOR__LABEL_OPERATOR_IN
            : RAY__RPC__AUTOSCALER__LABEL_SELECTOR_OPERATOR__LABEL_OPERATOR_NOT_IN;
    c->n_label_values = t->values.n;
    c->label_values = ARENA_ARRAY(a, char *, t->values.n);
    for (uint32_t i = 0; i < t->values.n; i++)
        c->label_values[i] = text(t->values.v[i]);
    return c;
}

static PB(LabelSelector) * selector(struct arena *a, const struct snap_alt *alt)
{
    PB(LabelSelector) *s = ARENA_NEW(a, PB(LabelSelector));
    ray__rpc__autoscaler__label_selector__init(s);
    s->label_constraints = ARENA_ARRAY(a, PB(LabelSelectorConstraint) *,
                                       alt->selector.n);
    for (uint32_t i = 0; i < alt->selector.n; i++)
        if (!ray_term_accel(&alt->selector.v[i]) &&
            !ray_term_is_ours(&alt->selector.v[i]))
            s->label_constraints[s->n_label_constraints++] = constraint(
                a, &alt->selector.v[i]);
    return s;
}

static PB(ResourceRequest) *
    request(struct arena *a, const struct snap_bundle *b)
{
    const struct snap_alt *first = &b->alts[0];
    PB(ResourceRequest) *r = ARENA_NEW(a, PB(ResourceRequest));
    ray__rpc__autoscaler__resource_request__init(r);
    r->resources_bundle = ARENA_ARRAY(
        a, PB(ResourceRequest__ResourcesBundleEntry) *,
        first->resources.n + first->selector.n);
    for (uint32_t i = 0; i < first->resources.n; i++)
        entry_add(a, r, first->resources.v[i].name,
                  amount_to_double(first->resources.v[i].amount));
    for (uint32_t i = 0; i < first->selector.n; i++) {
        const char *type = ray_term_accel(&first->selector.v[i]);
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

static PB(GangResourceRequest) *
    gang(struct arena *a, const struct snap_demand *d, size_t *left)
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
    g->details = arena_printf(a, "%s:%s|INFEASIBLE", text(d->id),
                              strategy_name(d->strategy));
    return g;
}

static PB(ClusterResourceConstraint) *
    whole(struct arena *a, const struct snap_demand *d, size_t *left)
{
    PB(ClusterResourceConstraint) *c = ARENA_NEW(a,
                                                 PB(ClusterResourceConstraint));
    ray__rpc__autoscaler__cluster_resource_constraint__init(c);
    c->resource_requests = ARENA_ARRAY(a, PB(ResourceRequestByCount) *,
                                       d->n_bundles);
    for (uint32_t i = 0; i < d->n_bundles && *left; i++, (*left)--) {
        PB(ResourceRequestByCount) *r = ARENA_NEW(a,
                                                  PB(ResourceRequestByCount));
        ray__rpc__autoscaler__resource_request_by_count__init(r);
        r->request = request(a, &d->bundles[i]);
        r->count = d->bundles[i].count;
        c->resource_requests[c->n_resource_requests++] = r;
    }
    return c;
}

static void set_infeasible(struct arena *a, const struct source_report *r,
                           PB(AutoscalingState) * s)
{
    size_t left = MAX_REQUESTS;
    s->infeasible_resource_requests = ARENA_ARRAY(a, PB(ResourceRequest) *,
                                                  left);
    s->infeasible_gang_resource_requests = ARENA_ARRAY(
        a, PB(GangResourceRequest) *, r->n_infeasible);
    s->infeasible_cluster_resource_constraints = ARENA_ARRAY(
        a, PB(ClusterResourceConstraint) *, r->n_infeasible);
    for (uint32_t i = 0; i < r->n_infeasible && left; i++) {
        const struct snap_demand *d = &r->infeasible[i];
        if (d->source == SOURCE_TASK)
            for (uint32_t k = 0; k < d->n_bundles && left; k++, left--)
                s->infeasible_resource_requests
                    [s->n_infeasible_resource_requests++] = request(
                    a, &d->bundles[k]);
        else if (d->source == SOURCE_GANG)
            s->infeasible_gang_resource_requests
                [s->n_infeasible_gang_resource_requests++] = gang(a, d, &left);
        else
            s->infeasible_cluster_resource_constraints
                [s->n_infeasible_cluster_resource_constraints++] = whole(a, d,
                                                                         &left);
    }
}

/* ---- machines to messages */

static void set_pending(struct arena *a, const struct source_report *r,
                        PB(AutoscalingState) * s)
{
    s->pending_instances = ARENA_ARRAY(a, PB(PendingInstance) *, r->n_pending);
    s->pending_instance_requests = ARENA_ARRAY(a, PB(PendingInstanceRequest) *,
                                               r->n_pending);
    for (uint32_t i = 0; i < r->n_pending; i++) {
        const struct source_pending *p = &r->pending[i];
        if (p->id && p->id[0]) {
            PB(PendingInstance) *m = ARENA_NEW(a, PB(PendingInstance));
            ray__rpc__autoscaler__pending_instance__init(m);
            m->instance_type_name = text(p->machine);
            m->ray_node_type_name = text(p->type);
            m->instance_id = text(p->id);
            m->ip_address = text(p->address);
            m->details = text(p->detail);
            s->pending_instances[s->n_pending_instances++] = m;
        } else { /* `ray status` counts entries, not their count */
            PB(PendingInstanceRequest) *m = ARENA_NEW(
                a, PB(PendingInstanceRequest));
            ray__rpc__autoscaler__pending_instance_request__init(m);
            m->instance_type_name = text(p->machine);
            m->ray_node_type_name = text(p->type);
            m->count = 1;
            m->request_ts = r->version / 1000;
            s->pending_instance_requests[s->n_pending_instance_requests++] = m;
        }
    }
}

static void set_failed(struct arena *a, const struct source_report *r,
                       PB(AutoscalingState) * s)
{
    s->failed_instance_requests = ARENA_ARRAY(a, PB(FailedInstanceRequest) *,
                                              r->n_failed);
    for (uint32_t i = 0; i < r->n_failed; i++) {
        const struct source_failed *f = &r->failed[i];
        PB(FailedInstanceRequest) *m = ARENA_NEW(a, PB(FailedInstanceRequest));
        ray__rpc__autoscaler__failed_instance_request__init(m);
        m->instance_type_name = text(f->machine);
        m->ray_node_type_name = text(f->type);
        m->count = f->count < INT32_MAX ? (int32_t)f->count : INT32_MAX;
        m->reason = text(f->reason);
        m->start_ts = f->start_s;
        m->failed_ts = f->failed_s;
        s->failed_instance_requests[s->n_failed_instance_requests++] = m;
    }
}

enum status ray_head_report(struct ray_head *h, const struct source_report *r,
                            int64_t deadline_mono_ms, struct err *err)
{
    PB(AutoscalingState) state = RAY__RPC__AUTOSCALER__AUTOSCALING_STATE__INIT;
    PB(ReportAutoscalingStateRequest)
    report = RAY__RPC__AUTOSCALER__REPORT_AUTOSCALING_STATE_REQUEST__INIT;
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
    return s ? s : ray_note_update(h, r, deadline_mono_ms, err);
}
