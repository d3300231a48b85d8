/*
 * metrics_cost.c - dollars an hour: by offer and owner, idle, beside the bound;
 * and each node's under the names of OpenCost's exporter.
 *
 * OpenCost: github.com/opencost/opencost, pkg/costmodel/metrics.go:
 * node_total_hourly_cost, kubecost_node_is_spot, node_gpu_count, with its labels
 * instance, node, instance_type, region, provider_id.
 */
#include <stdlib.h>
#include <string.h>

#include "../../model/bill.h"
#include "metrics.h"

/* A scrape stays small: of a larger fleet the offers' sums tell. */
enum { NODES_MOST = 1000, OWNERS_MOST = 50 };

static void micros_line(struct buf *b, int64_t micros)
{
    char text[32];

    buf_printf(b, "} %s\n", out_decimal(micros, 1000000, text));
}

static void write_offers(struct buf *b, const struct bill *bill)
{
    metric_head(b, "davit_type_cost_per_hour_dollars", "gauge",
                "List price of the nodes of a type and market");
    for (uint32_t i = 0; i < bill->n_offers; i++) {
        const struct bill_offer *o = &bill->offers[i];

        buf_str(b, "davit_type_cost_per_hour_dollars{");
        metric_label(b, "type", o->type);
        metric_label(b, ",provider", o->provider);
        metric_label(b, ",market", o->spot ? "spot" : "on-demand");
        micros_line(b, o->micros_hour);
    }
}

static int by_cost(const void *a, const void *b)
{
    const struct bill_owner *x = a, *y = b;

    if (x->micros_hour != y->micros_hour)
        return x->micros_hour > y->micros_hour ? -1 : 1;
    return strcmp(x->owner, y->owner);
}

static void write_owner(struct buf *b, const char *owner, int64_t micros)
{
    buf_str(b, "davit_owner_cost_per_hour_dollars{");
    metric_label(b, "owner", owner);
    micros_line(b, micros);
}

/* Those who cost most; all others together. */
static void write_owners(struct buf *b, struct view *v, const struct bill *bill)
{
    struct bill_owner *w = arena_copy(&v->arena, bill->owners,
                                      bill->n_owners * sizeof *w);
    int64_t rest = 0;

    qsort(w, bill->n_owners, sizeof *w, by_cost);
    metric_head(b, "davit_owner_cost_per_hour_dollars", "gauge",
                "List price of what an owner's work takes of the nodes");
    for (uint32_t i = 0; i < bill->n_owners; i++)
        if (i < OWNERS_MOST)
            write_owner(b, w[i].owner, w[i].micros_hour);
        else
            rest += w[i].micros_hour;
    if (rest)
        write_owner(b, FIGURE_OTHER, rest);
}

static void write_bound(struct buf *b, const struct view *v)
{
    int64_t cost = plan_fleet_used(v->plan);
    int64_t bound = v->plan->fleet_bound_micros_hour;
    const struct snap_limits *l = &v->snapshot->limits;

    metric_micros(b, "davit_fleet_cost_per_hour_dollars", "gauge",
                  "List price of the fleet once the plan is carried out",
                  v->plan->fleet_cost_micros_hour);
    metric_micros(b, "davit_fleet_idle_per_hour_dollars", "gauge",
                  "The part of it for nodes that nothing needs, until they end",
                  v->plan->fleet_idle_micros_hour);
    metric_micros(b, "davit_fleet_bound_per_hour_dollars", "gauge",
                  "No fleet that does the same costs less", bound);
    metric_micros(
        b, "davit_fleet_gap_ratio", "gauge",
        "The part of the fleet's cost, without idle nodes, that is not "
        "proved necessary",
        cost > bound
            ? (int64_t)((double)(cost - bound) / (double)cost * 1000000)
            : 0);
    metric_head(b, "davit_max_cost_per_hour_dollars", "gauge",
                "limits.max_cost_per_hour, where it is set");
    if (l->max_cost_micros_hour >= 0) {
        char text[32];

        buf_printf(b, "davit_max_cost_per_hour_dollars %s\n",
                   out_decimal(l->max_cost_micros_hour, 1000000, text));
    }
    metric_head(b, "davit_max_nodes", "gauge",
                "limits.max_nodes, where it is set");
    if (l->max_nodes != UNLIMITED)
        buf_printf(b, "davit_max_nodes %u\n", l->max_nodes);
}

/* ---- OpenCost's names */

static void opencost_labels(struct buf *b, const char *name,
                            const struct view *v, uint32_t row)
{
    const struct snap_node *n = &v->snapshot->nodes[row];
    const struct snap_type *t = view_node_type(v, row);

    buf_printf(b, "%s{", name);
    metric_label(b, "instance", n->id);
    metric_label(b, ",node", n->id);
    metric_label(b, ",instance_type",
                 t && t->machine && *t->machine ? t->machine : n->type);
    metric_label(b, ",region", n->zone);
    metric_label(b, ",provider_id", n->cloud_id);
}

static int64_t gpus_of(const struct view *v, uint32_t row)
{
    uint32_t i = v->node_of_snap[row];

    return i == NONE ? 0 : pb_row(v->s, v->s->nodes[i].total)[COL_GPU];
}

static bool is_shown(const struct view *v, uint32_t row)
{
    const struct snap_node *n = &v->snapshot->nodes[row];

    return !n->head && !n->unmanaged && n->state != STATE_GONE;
}

static void write_opencost(struct buf *b, struct view *v)
{
    static const char *const heads[][2] = {
        {"node_total_hourly_cost",
         "Dollars an hour of a node; OpenCost's name"},
        {"kubecost_node_is_spot", "1: it is spot; OpenCost's name"},
        {"node_gpu_count", "Its GPUs; OpenCost's name"}};
    uint32_t all = 0, left_out;
    char text[32];

    for (uint32_t i = 0; i < v->snapshot->n_nodes; i++)
        all += is_shown(v, i);
    left_out = all > NODES_MOST ? all : 0;
    for (size_t k = 0; k < sizeof heads / sizeof *heads; k++) {
        metric_head(b, heads[k][0], "gauge", heads[k][1]);
        for (uint32_t i = 0; i < v->snapshot->n_nodes && !left_out; i++) {
            int64_t price = view_node_price(v, i);

            if (!is_shown(v, i) || (k == 0 && price < 0))
                continue;
            opencost_labels(b, heads[k][0], v, i);
            if (k == 0)
                micros_line(b, price);
            else if (k == 1)
                buf_printf(b, "} %d\n", v->snapshot->nodes[i].spot);
            else
                buf_printf(b, "} %s\n",
                           out_decimal(gpus_of(v, i), 10000, text));
        }
    }
    metric_gauge(b, "davit_nodes_without_series",
                 "Nodes that have no series of their own: there are too many",
                 left_out);
}

void metrics_cost(struct buf *b, struct view *v)
{
    struct bill bill;
    int64_t cost = 0;

    for (uint32_t i = 0; i < v->snapshot->n_nodes; i++)
        if (v->snapshot->nodes[i].state != STATE_GONE &&
            view_node_price(v, i) > 0)
            cost += view_node_price(v, i);
    metric_micros(b, "davit_cost_per_hour_dollars", "gauge",
                  "List price of all machines not gone", cost);
    bill_make(v->snapshot, v->s, v->plan, true, &v->arena, &bill);
    write_offers(b, &bill);
    write_owners(b, v, &bill);
    metric_micros(b, "davit_idle_cost_per_hour_dollars", "gauge",
                  "List price of what nobody's work takes of the nodes",
                  bill.idle_micros_hour);
    metric_gauge(b, "davit_nodes_unpriced",
                 "Nodes whose price is not known: they count 0", bill.unpriced);
    write_bound(b, v);
    write_opencost(b, v);
}
