/*
 * metrics.c - /metrics: Prometheus text; our own davit_*: counters, and what
 * the newest page says.
 */
#include <string.h>

#include "../../base/text.h"
#include "metrics.h"

void metric_head(struct buf *b, const char *name, const char *kind,
                 const char *help)
{
    buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind);
}

/* A label's value: backslash, quote and newline are escaped; what a terminal
 * would obey is a number. */
void metric_label(struct buf *b, const char *key, const char *value)
{
    size_t left = strlen(value);

    buf_printf(b, "%s=\"", key);
    while (left) {
        size_t n = text_plain(value, left);
        char shown[8];

        if (*value == '\\' || *value == '"') {
            buf_printf(b, "\\%c", *value);
        } else if (*value == '\n') {
            buf_str(b, "\\n");
            n = 1;
        } else if (n) {
            buf_add(b, value, n);
        } else {
            n = text_escape(value, left, shown);
            buf_printf(b, "%s%s", *shown == '\\' ? "\\" : "", shown);
        }
        value += n;
        left -= n;
    }
    buf_str(b, "\"");
}

void metric_gauge(struct buf *b, const char *name, const char *help,
                  uintmax_t v)
{
    metric_head(b, name, "gauge", help);
    buf_printf(b, "%s %ju\n", name, v);
}

void metric_micros(struct buf *b, const char *name, const char *kind,
                   const char *help, int64_t v)
{
    char text[32];

    metric_head(b, name, kind, help);
    buf_printf(b, "%s %s\n", name, out_decimal(v, 1000000, text));
}

/* ---- counters of the whole life */

static void write_counters(struct buf *b, const struct metrics *m)
{
#define METRIC_WRITE_(name, help) \
    metric_head(b, "davit_" #name "_total", "counter", help); \
    buf_printf(b, "davit_" #name "_total %ju\n", \
               (uintmax_t)atomic_load(&m->name));
    METRIC_MAP(METRIC_WRITE_)
#undef METRIC_WRITE_
    metric_micros(b, "davit_plan_seconds_max", "gauge",
                  "The longest plan so far",
                  (int64_t)atomic_load(&m->plan_us_max));
    metric_micros(b, "davit_step_seconds_max", "gauge",
                  "The longest step since the start",
                  (int64_t)atomic_load(&m->step_us_max));
    metric_head(b, "davit_steps_total", "counter",
                "Looks at what happened, with and without a plan");
    buf_printf(b, "davit_steps_total %ju\n", (uintmax_t)atomic_load(&m->steps));
}

/* ---- gauges of the newest page */

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
        t = t == NONE ? NONE : v->s->types[t].from;
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
    metric_head(b, "davit_nodes", "gauge", "Nodes by type and state");
    for (uint32_t t = 0; t <= v->snapshot->n_types; t++)
        for (uint32_t s = 0; s < STATE_COUNT; s++) {
            bool last = t == v->snapshot->n_types;
            uint32_t n = last ? other->by[s] : c[t].by[s];

            if (n == 0 && (last || s != STATE_READY))
                continue;
            buf_str(b, "davit_nodes{");
            metric_label(b, "type", last ? "" : v->snapshot->types[t].name);
            metric_label(b, ",state", state_name((enum machine_state)s));
            buf_printf(b, "} %u\n", n);
        }
    metric_head(b, "davit_type_max", "gauge",
                "max of a node type, where it has one");
    for (uint32_t t = 0; t < v->snapshot->n_types; t++)
        if (v->snapshot->types[t].max != UNLIMITED) {
            buf_str(b, "davit_type_max{");
            metric_label(b, "type", v->snapshot->types[t].name);
            buf_printf(b, "} %u\n", v->snapshot->types[t].max);
        }
}

static void by_reason(struct buf *b, const char *name, const char *help,
                      const uint64_t *count)
{
    metric_head(b, name, "gauge", help);
    for (uint32_t r = 0; r < REASON_COUNT; r++)
        if (count[r])
            buf_printf(b, "%s{reason=\"%s\"} %ju\n", name,
                       reason_code((enum reason)r), (uintmax_t)count[r]);
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
    by_reason(b, "davit_node_reasons",
              "Nodes by the reason of what becomes of them", verdict);
    by_reason(b, "davit_unplaced_reasons",
              "Unplaced bundles by their first obstacle", refused);
}

static void write_bundles(struct buf *b, struct view *v)
{
    struct tally by[SOURCE_SPARE + 1] = {0};

    for (uint32_t d = 0; d < v->s->n_demands; d++)
        tally_demand(&by[v->s->demands[d].source], v, d);
    metric_head(b, "davit_bundles", "gauge",
                "Bundles by source and where they are");
    for (uint32_t s = 0; s <= SOURCE_SPARE; s++) {
        const char *name = source_name((enum demand_source)s);

        buf_printf(b,
                   "davit_bundles{source=\"%s\",place=\"placed\"} %ju\n"
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
    metric_head(b, "davit_provider_http_requests_total", "counter",
                "HTTP requests to a provider's cloud; code 0: no reply came");
    for (uint32_t i = 0; i < p->n_providers; i++) {
        const struct traffic_sum *t = &p->providers[i].traffic;

        for (uint32_t k = 0; k < t->n_counts; k++) {
            buf_str(b, "davit_provider_http_requests_total{");
            metric_label(b, "provider", p->providers[i].name);
            metric_label(b, ",method", t->counts[k].method);
            buf_printf(b, ",code=\"%d\"} %ju\n", t->counts[k].code,
                       (uintmax_t)t->counts[k].n);
        }
    }
}

static bool same_stop(const struct status_stop *a, const struct status_stop *b)
{
    return strcmp(a->kind, b->kind) == 0 && strcmp(a->subject, b->subject) == 0;
}

/* One series for each kind and subject, though each of its offers may be
 * stopped. */
static void write_stops(struct buf *b, const struct status_page *p)
{
    metric_head(b, "davit_stops", "gauge",
                "What stops a part of Davit, see stops in /v1/status");
    for (uint32_t i = 0; i < p->n_stops; i++) {
        uint32_t n = 0, first = i;

        for (uint32_t k = 0; k < p->n_stops; k++) {
            if (!same_stop(&p->stops[i], &p->stops[k]))
                continue;
            first = k < first ? k : first;
            n++;
        }
        if (first < i)
            continue;
        buf_str(b, "davit_stops{");
        metric_label(b, "kind", p->stops[i].kind);
        metric_label(b, ",subject", p->stops[i].subject);
        buf_printf(b, "} %u\n", n);
    }
}

static void write_waiting(struct buf *b, const struct status_page *p)
{
    metric_head(b, "davit_pods_waiting", "gauge",
                "Pods without a node, each in one reason");
    for (uint32_t i = 0; i < p->n_waiting; i++) {
        buf_str(b, "davit_pods_waiting{");
        metric_label(b, "reason", p->waiting[i].reason);
        buf_printf(b, "} %u\n", p->waiting[i].n);
    }
}

static void write_state(struct buf *b, struct view *v)
{
    const struct status_page *p = v->page;

    metric_gauge(b, "davit_requests", "Requests that stand", p->n_requests);
    metric_gauge(b, "davit_offers_backoff",
                 "Offers and providers in back-off after a failure",
                 p->n_backoffs);
    metric_gauge(b, "davit_source_ok", "Every demand source can be read",
                 v->snapshot->sources_fresh);
    metric_gauge(b, "davit_journal_ok", "The journal writes", p->journal_ok);
    metric_gauge(b, "davit_journal_configmaps_used_percent",
                 "How full the ConfigMaps are, of all there can be",
                 p->copy_percent);
    metric_gauge(b, "davit_journal_unread_rows",
                 "Rows of the journal that this version does not know in full",
                 p->n_unread);
    metric_gauge(b, "davit_ready", "As /readyz", view_ready(v));
    metric_gauge(b, "davit_config_refused",
                 "The newest configuration was refused",
                 p->config_problem && p->config_problem[0] && !p->config_held);
    metric_gauge(b, "davit_config_held",
                 "The newest configuration waits for `davit apply`",
                 p->config_held);
    write_stops(b, p);
    write_waiting(b, p);
    metric_head(b, "davit_provider_ready", "gauge",
                "The provider lists its machines");
    for (uint32_t i = 0; i < p->n_providers; i++) {
        buf_str(b, "davit_provider_ready{");
        metric_label(b, "provider", p->providers[i].name);
        buf_printf(b, "} %d\n", p->providers[i].ready);
    }
    write_traffic(b, p);
    metric_micros(b, "davit_last_plan_seconds", "gauge",
                  "CPU time of the newest plan", p->planned_us);
    metric_head(b, "davit_build_info", "gauge", "The version, as a label");
    buf_str(b, "davit_build_info{");
    metric_label(b, "version", p->version);
    metric_label(b, ",cluster", v->snapshot->cluster);
    buf_str(b, "} 1\n");
}

void metrics_write(struct buf *b, struct view *v, struct metrics *m)
{
    struct arena scratch = {0};

    write_counters(b, m);
    metrics_figures(b, &scratch, m);
    arena_done(&scratch);
    if (v) {
        struct counts other, *c = count_types(v, &other);

        write_nodes(b, v, c, &other);
        write_reasons(b, v);
        write_bundles(b, v);
        write_state(b, v);
        metrics_cost(b, v);
        metrics_waits(b, v);
        metrics_ray(b, v, m, c);
    }
    metrics_process(b);
}
