/*
 * metrics.c - /metrics: Prometheus text.
 *
 * Two families.  davit_*: our counters and what the newest page says.
 * autoscaler_*: the names, labels and meanings of Ray's own autoscaler, so that
 * its Grafana panels and alerts go on working; what has no meaning here (a node
 * is never "updated" over SSH) is 0.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../base/clock.h"
#include "view.h"



static void head(struct buf *b, const char *name, const char *kind,
                 const char *help)
{
    buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind);
}

/* A label's value: backslash, quote and newline are escaped. */
static void label(struct buf *b, const char *key, const char *value)
{
    buf_printf(b, "%s=\"", key);
    for (; *value; value++) {
        if (*value == '\\' || *value == '"')
            buf_printf(b, "\\%c", *value);
        else if (*value == '\n')
            buf_str(b, "\\n");
        else
            buf_add(b, value, 1);
    }
    buf_str(b, "\"");
}

static void gauge(struct buf *b, const char *name, const char *help,
                  uintmax_t v)
{
    head(b, name, "gauge", help);
    buf_printf(b, "%s %ju\n", name, v);
}

static void micros(struct buf *b, const char *name, int64_t v)
{
    char text[32];

    buf_printf(b, "%s %s\n", name, out_decimal(v, 1000000, text));
}

/* ---- counters of the whole life */

static void write_counters(struct buf *b, const struct metrics *m)
{
    const uintmax_t plan_us = atomic_load(&m->plan_us_sum);
    const uintmax_t tick_us = atomic_load(&m->tick_us_sum);

#define METRIC_WRITE_(name, help)                                             \
    head(b, "davit_" #name "_total", "counter", help);                        \
    buf_printf(b, "davit_" #name "_total %ju\n",                              \
               (uintmax_t)atomic_load(&m->name));
    METRIC_MAP(METRIC_WRITE_)
#undef METRIC_WRITE_
    head(b, "davit_plan_seconds", "summary", "CPU time of the planner");
    micros(b, "davit_plan_seconds_sum", (int64_t)plan_us);
    buf_printf(b, "davit_plan_seconds_count %ju\n",
               (uintmax_t)atomic_load(&m->ticks));
    head(b, "davit_plan_seconds_max", "gauge", "The longest plan so far");
    micros(b, "davit_plan_seconds_max", (int64_t)atomic_load(&m->plan_us_max));
    head(b, "davit_tick_seconds", "summary", "CPU time of a loop iteration");
    micros(b, "davit_tick_seconds_sum", (int64_t)tick_us);
    buf_printf(b, "davit_tick_seconds_count %ju\n",
               (uintmax_t)atomic_load(&m->ticks));
}

/* ---- gauges of the newest page */

struct counts { uint32_t by[STATE_COUNT]; uint32_t failed; };

static struct counts *count_types(struct view *v, struct counts *ret_other)
{
    struct counts *c = ARENA_ARRAY(&v->arena, struct counts,
                                   v->snapshot->n_types);

    *ret_other = (struct counts){0};
    for (uint32_t i = 0; i < v->snapshot->n_nodes; i++) {
        const struct snap_node *n = &v->snapshot->nodes[i];
        uint32_t sn = v->node_of_snap[i];
        uint32_t t = sn == NONE ? NONE : v->s->nodes[sn].type;

        if (n->head)
            continue;
        t = t == NONE ? NONE : v->snap_of_type[t];
        (t == NONE ? ret_other : &c[t])->by[n->state]++;
    }
    for (uint32_t i = 0; i < v->page->n_failures; i++) {
        const struct snap_type *t = view_type(v, v->page->failures[i].type);

        (t ? &c[t - v->snapshot->types] : ret_other)->failed++;
    }
    return c;
}

static void write_nodes(struct buf *b, struct view *v, const struct counts *c,
                        const struct counts *other)
{
    head(b, "davit_nodes", "gauge", "Nodes by type and state");
    for (uint32_t t = 0; t <= v->snapshot->n_types; t++)
        for (uint32_t s = 0; s < STATE_COUNT; s++) {
            bool last = t == v->snapshot->n_types;
            uint32_t n = last ? other->by[s] : c[t].by[s];

            if (n == 0 && (last || s != STATE_READY))
                continue;
            buf_str(b, "davit_nodes{");
            label(b, "type", last ? "" : v->snapshot->types[t].name);
            label(b, ",state", state_name((enum machine_state)s));
            buf_printf(b, "} %u\n", n);
        }
    head(b, "davit_type_max", "gauge", "max of a node type, where it has one");
    for (uint32_t t = 0; t < v->snapshot->n_types; t++)
        if (v->snapshot->types[t].max != UNLIMITED) {
            buf_str(b, "davit_type_max{");
            label(b, "type", v->snapshot->types[t].name);
            buf_printf(b, "} %u\n", v->snapshot->types[t].max);
        }
}

static void write_reasons(struct buf *b, struct view *v)
{
    uint64_t verdict[REASON_COUNT] = {0}, refused[REASON_COUNT] = {0};

    for (uint32_t i = 0; i < v->s->n_nodes; i++)
        verdict[v->plan->nodes[i].why]++;
    for (uint32_t i = 0; i < v->s->n_bundles; i++) {
        const struct plan_bundle *p = &v->plan->bundles[i];

        if (p->n_refusals > 0 && (p->waiting || p->infeasible))
            refused[v->plan->refusals[p->first_refusal].why] +=
                (uint64_t)p->waiting + p->infeasible;
    }
    head(b, "davit_node_reasons", "gauge",
         "Nodes by the reason of what becomes of them");
    for (uint32_t r = 0; r < REASON_COUNT; r++)
        if (verdict[r])
            buf_printf(b, "davit_node_reasons{reason=\"%s\"} %ju\n",
                       reason_code((enum reason)r), (uintmax_t)verdict[r]);
    head(b, "davit_unplaced_reasons", "gauge",
         "Unplaced bundles by their first obstacle");
    for (uint32_t r = 0; r < REASON_COUNT; r++)
        if (refused[r])
            buf_printf(b, "davit_unplaced_reasons{reason=\"%s\"} %ju\n",
                       reason_code((enum reason)r), (uintmax_t)refused[r]);
}

static void write_bundles(struct buf *b, struct view *v)
{
    struct tally by[SOURCE_SPARE + 1] = {0};

    for (uint32_t d = 0; d < v->s->n_demands; d++)
        tally_demand(&by[v->s->demands[d].source], v, d);
    head(b, "davit_bundles", "gauge", "Bundles by source and where they are");
    for (uint32_t s = 0; s <= SOURCE_SPARE; s++) {
        const char *name = source_name((enum demand_source)s);

        buf_printf(b, "davit_bundles{source=\"%s\",place=\"placed\"} %ju\n"
                   "davit_bundles{source=\"%s\",place=\"launched\"} %ju\n"
                   "davit_bundles{source=\"%s\",place=\"waiting\"} %ju\n"
                   "davit_bundles{source=\"%s\",place=\"infeasible\"} %ju\n",
                   name, (uintmax_t)by[s].placed, name,
                   (uintmax_t)by[s].launched, name, (uintmax_t)by[s].waiting,
                   name, (uintmax_t)by[s].infeasible);
    }
}

static void write_traffic(struct buf *b, const struct status_page *p)
{
    head(b, "davit_provider_http_requests_total", "counter",
         "HTTP requests to a provider's cloud; code 0: no reply came");
    for (uint32_t i = 0; i < p->n_providers; i++) {
        const struct traffic_sum *t = &p->providers[i].traffic;

        for (uint32_t k = 0; k < t->n_counts; k++) {
            buf_str(b, "davit_provider_http_requests_total{");
            label(b, "provider", p->providers[i].name);
            label(b, ",method", t->counts[k].method);
            buf_printf(b, ",code=\"%d\"} %ju\n", t->counts[k].code,
                       (uintmax_t)t->counts[k].n);
        }
    }
}

static void write_state(struct buf *b, struct view *v)
{
    const struct status_page *p = v->page;
    int64_t cost = 0;

    for (uint32_t i = 0; i < v->snapshot->n_nodes; i++)
        if (v->snapshot->nodes[i].state != STATE_GONE && view_node_price(v, i) > 0)
            cost += view_node_price(v, i);
    head(b, "davit_cost_per_hour_dollars", "gauge",
         "List price of all machines not gone");
    micros(b, "davit_cost_per_hour_dollars", cost);
    gauge(b, "davit_requests", "Requests that stand", p->n_requests);
    gauge(b, "davit_offers_backoff",
          "Offers and providers in back-off after a failure", p->n_backoffs);
    gauge(b, "davit_source_ok", "Every demand source can be read",
          v->snapshot->sources_fresh);
    gauge(b, "davit_journal_ok", "The journal writes", p->journal_ok);
    gauge(b, "davit_ready", "As /readyz", view_ready(v));
    gauge(b, "davit_config_refused", "The newest configuration was refused",
          p->config_problem && p->config_problem[0]);
    head(b, "davit_provider_ready", "gauge", "The provider lists its machines");
    for (uint32_t i = 0; i < p->n_providers; i++) {
        buf_str(b, "davit_provider_ready{");
        label(b, "provider", p->providers[i].name);
        buf_printf(b, "} %d\n", p->providers[i].ready);
    }
    write_traffic(b, p);
    head(b, "davit_last_plan_seconds", "gauge", "CPU time of the newest plan");
    micros(b, "davit_last_plan_seconds", p->planned_us);
    head(b, "davit_build_info", "gauge", "The version, as a label");
    buf_str(b, "davit_build_info{");
    label(b, "version", p->version);
    label(b, ",cluster", v->snapshot->cluster);
    buf_str(b, "} 1\n");
}

/* ---- Ray's names */

static void ray_line(struct buf *b, struct view *v, const char *name,
                     const char *key, const char *value, uintmax_t n)
{
    buf_printf(b, "%s{", name);
    if (key) {
        label(b, key, value);
        buf_str(b, ",");
    }
    label(b, "SessionName", v->page->ray_session ? v->page->ray_session : "");
    buf_printf(b, "} %ju\n", n);
}

static void ray_one(struct buf *b, struct view *v, const char *name,
                    const char *kind, const char *help, uintmax_t n)
{
    head(b, name, kind, help);
    ray_line(b, v, name, NULL, NULL, n);
}

static void ray_nodes(struct buf *b, struct view *v, const struct counts *c)
{
    uint32_t n = v->snapshot->n_types;

    head(b, "autoscaler_pending_nodes", "gauge", "Nodes that are starting");
    for (uint32_t t = 0; t < n; t++)
        ray_line(b, v, "autoscaler_pending_nodes", "NodeType",
                 v->snapshot->types[t].name,
                 (uintmax_t)c[t].by[STATE_INTENDED] + c[t].by[STATE_REQUESTED] +
                     c[t].by[STATE_STARTING]);
    head(b, "autoscaler_active_nodes", "gauge", "Nodes that are ready");
    for (uint32_t t = 0; t < n; t++)
        ray_line(b, v, "autoscaler_active_nodes", "NodeType",
                 v->snapshot->types[t].name,
                 (uintmax_t)c[t].by[STATE_READY] + c[t].by[STATE_DRAINING]);
    head(b, "autoscaler_recently_failed_nodes", "gauge",
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

        head(b, name, "gauge", part ? "Resources of nodes that are starting"
                                    : "Resources of nodes that are there");
        for (uint32_t c = 0; c < n; c++) {
            const char *resource = view_str(v, v->s->columns[c].name);

            if (!is_lasting(v, resource, now[c] || pending[c]))
                continue;
            buf_printf(b, "%s{", name);
            label(b, "resource", resource);
            buf_str(b, ",");
            label(b, "SessionName",
                  v->page->ray_session ? v->page->ray_session : "");
            buf_printf(b, "} %s\n",
                       out_decimal((part ? pending : now)[c], 10000, text));
        }
    }
}

/* Ray's counters and what counts the same here. */
#define RAY_MAP(X)                                                            \
    X(started_nodes, launches, "Nodes launched")                              \
    X(stopped_nodes, ends, "Nodes ended")                                     \
    X(failed_create_nodes, launch_failures, "Launches that failed")           \
    X(node_launch_exceptions, launch_failures, "Launches that failed")        \
    X(successful_updates, joined, "Nodes that became ready")                  \
    X(update_loop_exceptions, source_failures, "Reads of the head that failed") \
    X(reset_exceptions, reload_failures, "Configurations refused")            \
    X(config_validation_exceptions, reload_failures, "Configurations refused") \
    X(drain_node_exceptions, drains_refused, "Drains the head refused")

static const char *const never[] = {"autoscaler_failed_updates_total",
                                    "autoscaler_successful_recoveries_total",
                                    "autoscaler_failed_recoveries_total"};

static void write_ray(struct buf *b, struct view *v, const struct metrics *m,
                      const struct counts *c)
{
    uintmax_t active = 0, starting = 0, ticks = atomic_load(&m->ticks);
    char text[32];

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
#define RAY_WRITE_(name, field, help)                                         \
    ray_one(b, v, "autoscaler_" #name "_total", "counter", help,              \
            atomic_load(&m->field));
    RAY_MAP(RAY_WRITE_)
#undef RAY_WRITE_
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        ray_one(b, v, never[i], "counter", "Always 0 here", 0);
    head(b, "autoscaler_update_time", "histogram",
         "Seconds of a loop iteration");
    buf_str(b, "autoscaler_update_time_bucket{le=\"+Inf\",");
    label(b, "SessionName", v->page->ray_session ? v->page->ray_session : "");
    buf_printf(b, "} %ju\n", ticks);
    ray_line(b, v, "autoscaler_update_time_count", NULL, NULL, ticks);
    buf_str(b, "autoscaler_update_time_sum{");
    label(b, "SessionName", v->page->ray_session ? v->page->ray_session : "");
    buf_printf(b, "} %s\n",
               out_decimal((int64_t)atomic_load(&m->tick_us_sum), 1000000,
                           text));
}

/* ---- the process, under the names Prometheus clients use */

static uintmax_t open_files(void)
{
    DIR *d = opendir("/proc/self/fd");
    uintmax_t n = 0;

    if (!d)
        return 0;
    while (readdir(d))
        n++;
    closedir(d);
    return n > 3 ? n - 3 : 0;  /* ".", ".." and the directory itself */
}

static void write_process(struct buf *b)
{
    struct rusage u;
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");

    if (f) {
        if (fscanf(f, "%*s %ld", &pages) != 1)
            pages = 0;
        fclose(f);
    }
    getrusage(RUSAGE_SELF, &u);
    head(b, "process_cpu_seconds_total", "counter", "CPU time used");
    micros(b, "process_cpu_seconds_total",
           (int64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 +
               u.ru_utime.tv_usec + u.ru_stime.tv_usec);
    gauge(b, "process_resident_memory_bytes", "Resident memory",
          (uintmax_t)pages * (uintmax_t)sysconf(_SC_PAGESIZE));
    gauge(b, "process_open_fds", "Open file descriptors", open_files());
}

void metrics_write(struct buf *b, struct view *v, const struct metrics *m)
{
    write_counters(b, m);
    if (v) {
        struct counts other, *c = count_types(v, &other);

        write_nodes(b, v, c, &other);
        write_reasons(b, v);
        write_bundles(b, v);
        write_state(b, v);
        write_ray(b, v, m, c);
    }
    write_process(b);
}
