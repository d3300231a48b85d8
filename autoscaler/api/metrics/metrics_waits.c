/*
 * metrics_waits.c - what takes long: the oldest node on its way, back-offs, nodes
 * that lack what their type promises, the age of the page itself.
 */
#include <string.h>

#include "metrics.h"

enum road { ROAD_STARTING, ROAD_DRAINING, ROAD_STOPPING, ROADS };

static enum road road_of(enum machine_state s)
{
    if (s < STATE_READY)
        return ROAD_STARTING;
    return s == STATE_DRAINING   ? ROAD_DRAINING
           : s == STATE_STOPPING ? ROAD_STOPPING
                                 : ROADS;
}

static void write_oldest(struct buf *b, struct view *v)
{
    static const char *const names[ROADS] = {"starting", "draining",
                                             "stopping"};
    const struct snapshot *f = v->snapshot;
    int64_t *oldest = ARENA_ARRAY(&v->arena, int64_t, f->n_types * ROADS);
    char text[32];

    for (uint32_t i = 0; i < f->n_nodes; i++) {
        const struct snap_node *n = &f->nodes[i];
        const struct snap_type *t = view_node_type(v, i);
        enum road road = road_of(n->state);
        int64_t ms = f->now_ms -
                     (road == ROAD_STARTING ? n->created_ms : n->since_ms);
        int64_t *old;

        if (!t || road == ROADS || n->unmanaged || n->head)
            continue;
        old = &oldest[(size_t)(t - f->types) * ROADS + road];
        *old = ms > *old ? ms : *old;
    }
    metric_head(b, "davit_oldest_node_seconds", "gauge",
                "How long a node of the type has been in that state at most");
    for (uint32_t t = 0; t < f->n_types; t++)
        for (uint32_t r = 0; r < ROADS; r++) {
            buf_str(b, "davit_oldest_node_seconds{");
            metric_label(b, "type", f->types[t].name);
            buf_printf(b, ",state=\"%s\"} %s\n", names[r],
                       out_decimal(oldest[t * ROADS + r], 1000, text));
        }
}

static void write_backoffs(struct buf *b, const struct view *v)
{
    char text[32];

    metric_head(b, "davit_offer_backoff_seconds", "gauge",
                "How long an offer is still set aside; no type: its provider");
    for (uint32_t i = 0; i < v->page->n_backoffs; i++) {
        const struct status_backoff *x = &v->page->backoffs[i];

        buf_str(b, "davit_offer_backoff_seconds{");
        metric_label(b, "provider", x->provider);
        metric_label(b, ",type", x->type);
        metric_label(b, ",zone", x->zone);
        metric_label(b, ",market", x->spot ? "spot" : "on-demand");
        metric_label(b, ",reason", status_name(x->why));
        buf_printf(
            b, "} %s\n",
            x->until_ms == INT64_MAX
                ? "+Inf"
                : out_decimal(x->until_ms - v->snapshot->now_ms, 1000, text));
    }
}

static int64_t amount_of(const struct qtys *q, const char *name)
{
    for (uint32_t i = 0; i < q->n; i++)
        if (strcmp(q->v[i].name, name) == 0)
            return q->v[i].amount;
    return 0;
}

static bool lacks(const struct snap_node *n, const struct snap_type *t)
{
    for (uint32_t i = 0; i < t->resources.n; i++) {
        const struct qty *q = &t->resources.v[i];

        if (!resource_is_rounded(q->name) &&
            amount_of(&n->total, q->name) < q->amount)
            return true;
    }
    return false;
}

static void write_lacking(struct buf *b, struct view *v)
{
    const struct snapshot *f = v->snapshot;
    uint32_t *n = ARENA_ARRAY(&v->arena, uint32_t, f->n_types);

    for (uint32_t i = 0; i < f->n_nodes; i++) {
        const struct snap_type *t = view_node_type(v, i);

        if (t && f->nodes[i].state == STATE_READY && f->nodes[i].total.n &&
            !f->nodes[i].unmanaged && !f->nodes[i].head)
            n[t - f->types] += lacks(&f->nodes[i], t);
    }
    metric_head(b, "davit_nodes_lacking", "gauge",
                "Ready nodes with less than their type promises, as a GPU "
                "without its device plug-in");
    for (uint32_t t = 0; t < f->n_types; t++) {
        buf_str(b, "davit_nodes_lacking{");
        metric_label(b, "type", f->types[t].name);
        buf_printf(b, "} %u\n", n[t]);
    }
}

void metrics_waits(struct buf *b, struct view *v)
{
    char text[32];

    write_oldest(b, v);
    write_backoffs(b, v);
    write_lacking(b, v);
    metric_head(b, "davit_last_plan_timestamp_seconds", "gauge",
                "Unix time of the newest plan");
    buf_printf(b, "davit_last_plan_timestamp_seconds %s\n",
               out_decimal(v->snapshot->now_ms, 1000, text));
}
