/*
 * metrics_ray.c - autoscaler_*: the names, labels and meanings of Ray's own
 * autoscaler, so that its Grafana panels and alerts go on working.  What has no
 * meaning here (a node is never "updated" over SSH) is 0.
 */
#include <stdio.h>
#include <string.h>

#include "metrics.h"

/* name{key="value",SessionName="..."} n; key NULL: the session alone. */
static void ray_text(struct buf *b, struct view *v, const char *name,
                     const char *key, const char *value, const char *n)
{
    buf_printf(b, "%s{", name);
    if (key) {
        metric_label(b, key, value);
        buf_str(b, ",");
    }
    metric_label(b, "SessionName",
                 v->page->ray_session ? v->page->ray_session : "");
    buf_printf(b, "} %s\n", n);
}

static void ray_line(struct buf *b, struct view *v, const char *name,
                     const char *key, const char *value, uintmax_t n)
{
    char text[24];

    snprintf(text, sizeof text, "%ju", n);
    ray_text(b, v, name, key, value, text);
}

static void ray_one(struct buf *b, struct view *v, const char *name,
                    const char *kind, const char *help, uintmax_t n)
{
    metric_head(b, name, kind, help);
    ray_line(b, v, name, NULL, NULL, n);
}

static void ray_nodes(struct buf *b, struct view *v, const struct counts *c)
{
    uint32_t n = v->snapshot->n_types;

    metric_head(b, "autoscaler_pending_nodes", "gauge",
                "Nodes that are starting");
    for (uint32_t t = 0; t < n; t++)
        ray_line(b, v, "autoscaler_pending_nodes", "NodeType",
                 v->snapshot->types[t].name,
                 (uintmax_t)c[t].by[STATE_INTENDED] + c[t].by[STATE_REQUESTED] +
                     c[t].by[STATE_STARTING]);
    metric_head(b, "autoscaler_active_nodes", "gauge", "Nodes that are ready");
    for (uint32_t t = 0; t < n; t++)
        ray_line(b, v, "autoscaler_active_nodes", "NodeType",
                 v->snapshot->types[t].name,
                 (uintmax_t)c[t].by[STATE_READY] + c[t].by[STATE_DRAINING]);
    metric_head(b, "autoscaler_recently_failed_nodes", "gauge",
                "Launches that failed lately");
    for (uint32_t t = 0; t < n; t++)
        ray_line(b, v, "autoscaler_recently_failed_nodes", "NodeType",
                 v->snapshot->types[t].name, c[t].failed);
}

/* Of a node type, or there on a node.  Names that only a request has, and those
 * made up for what keeps pods apart, would be a new time series each day. */
static bool is_lasting(const struct view *v, const char *name, bool there)
{
    if (strncmp(name, "davit.io/", 9) == 0 ||
        strncmp(name, "host port ", 10) == 0)
        return false;
    for (uint32_t t = 0; t < v->snapshot->n_types && !there; t++) {
        const struct qtys *q = &v->snapshot->types[t].resources;

        for (uint32_t i = 0; i < q->n && !there; i++)
            there = strcmp(q->v[i].name, name) == 0;
    }
    return there;
}

static void ray_resources(struct buf *b, struct view *v)
{
    uint32_t n = v->s->n_columns;
    int64_t *now = ARENA_ARRAY(&v->arena, int64_t, n);
    int64_t *pending = ARENA_ARRAY(&v->arena, int64_t, n);
    char text[32];

    for (uint32_t i = 0; i < v->s->n_nodes; i++) {
        const struct pb_node *x = &v->s->nodes[i];

        if (!view_counts(x->state))
            continue;
        for (uint32_t c = 0; c < n; c++)
            (x->template_room ? pending : now)[c] += pb_row(v->s, x->total)[c];
    }
    for (int part = 0; part < 2; part++) {
        const char *name = part ? "autoscaler_pending_resources"
                                : "autoscaler_cluster_resources";

        metric_head(b, name, "gauge",
                    part ? "Resources of nodes that are starting"
                         : "Resources of nodes that are there");
        for (uint32_t c = 0; c < n; c++) {
            const char *resource = view_str(v, v->s->columns[c].name);

            if (!is_lasting(v, resource, now[c] || pending[c]))
                continue;
            ray_text(b, v, name, "resource", resource,
                     out_decimal((part ? pending : now)[c], 10000, text));
        }
    }
}

/* Ray's counters and what counts the same here. */
#define RAY_MAP(X) \
    X(started_nodes, launches, "Nodes launched") \
    X(stopped_nodes, ends, "Nodes ended") \
    X(failed_create_nodes, launch_failures, "Launches that failed") \
    X(node_launch_exceptions, launch_failures, "Launches that failed") \
    X(successful_updates, joined, "Nodes that became ready") \
    X(update_loop_exceptions, source_failures, \
      "Reads of the head that failed") \
    X(reset_exceptions, reload_failures, "Configurations refused") \
    X(config_validation_exceptions, reload_failures, "Configurations refused") \
    X(drain_node_exceptions, drains_refused, "Drains the head refused")

static const char *const never[] = {"autoscaler_failed_updates_total",
                                    "autoscaler_successful_recoveries_total",
                                    "autoscaler_failed_recoveries_total"};

/* A histogram under Ray's name, with those of its bounds that the family has. */
static void ray_times(struct buf *b, struct view *v, struct metrics *m)
{
    static const int64_t bounds[] = {10000, 100000, 1000000, 10000000};
    const struct figure_about *f = figure_about(FIGURE_TICK);
    const struct figure_series none = {.n = 0}, *s;
    char text[32];

    if (figures_take(&m->figures, FIGURE_TICK, &v->arena, &s) == 0)
        s = &none;
    metric_head(b, "autoscaler_update_time", "histogram",
                "Seconds of a loop iteration");
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        uint64_t n = 0;

        for (uint32_t k = 0; k < f->n_bounds && f->bounds[k] <= bounds[i]; k++)
            n += s->bucket[k];
        ray_line(b, v, "autoscaler_update_time_bucket", "le",
                 out_decimal(bounds[i], 1000000, text), n);
    }
    ray_line(b, v, "autoscaler_update_time_bucket", "le", "+Inf", s->n);
    ray_line(b, v, "autoscaler_update_time_count", NULL, NULL, s->n);
    ray_text(b, v, "autoscaler_update_time_sum", NULL, NULL,
             out_decimal(s->sum, 1000000, text));
}

void metrics_ray(struct buf *b, struct view *v, struct metrics *m,
                 const struct counts *c)
{
    uintmax_t active = 0, starting = 0;

    for (uint32_t t = 0; t < v->snapshot->n_types; t++) {
        active += c[t].by[STATE_READY] + c[t].by[STATE_DRAINING];
        starting += c[t].by[STATE_STARTING];
    }
    ray_nodes(b, v, c);
    ray_resources(b, v);
    ray_one(b, v, "autoscaler_running_workers", "gauge",
            "Worker nodes that are ready", active);
    ray_one(b, v, "autoscaler_updating_nodes", "gauge", "Nodes being set up",
            starting);
    ray_one(b, v, "autoscaler_recovering_nodes", "gauge", "Always 0 here", 0);
#define RAY_WRITE_(name, field, help) \
    ray_one(b, v, "autoscaler_" #name "_total", "counter", help, \
            atomic_load(&m->field));
    RAY_MAP(RAY_WRITE_)
#undef RAY_WRITE_
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        ray_one(b, v, never[i], "counter", "Always 0 here", 0);
    ray_times(b, v, m);
}
