/*
 * shadow.c - GET /v1/shadow and the shadow's metrics: what the present
 * autoscaler costs, what Davit would, and how long demand waits with each.
 */
#include <stdio.h>

#include "../../base/clock.h"
#include "../../control/shadow/shadow.h"
#include "../inside.h"
#include "../metrics/metrics.h"

enum { HOUR_MS = 3600000 };
static const char *const sides[SHADOW_SIDES] = {"present", "davit"};

/* ---- the reply */

static void sum_write(struct out *o, const struct shadow_sum *s)
{
    out_micros(o, "spent", s->nanos / 1000);
    out_micros(o, "node_hours",
               (int64_t)((double)s->node_ms / HOUR_MS * 1000000));
    out_seconds(o, "waited_bundle_s", s->waited_ms);
}

static void side_write(struct out *o, const struct shadow_report *r, int side)
{
    out_object(o, sides[side]);
    out_uint(o, "nodes", r->now.nodes[side]);
    out_micros(o, "cost_per_hour", r->now.micros_hour[side]);
    out_uint(o, "waiting_bundles", r->now.waiting[side]);
    sum_write(o, &r->sum.side[side]);
    out_close(o);
}

static void hours_write(struct out *o, const struct shadow_report *r)
{
    out_array(o, "hours");
    for (uint32_t i = 0; i < r->n_hours; i++) {
        const struct shadow_hour *h = &r->hours[i];

        out_object(o, NULL);
        out_time(o, "at", h->hour * HOUR_MS);
        out_seconds(o, "looked_at_s", h->ms);
        for (int k = 0; k < SHADOW_SIDES; k++) {
            out_object(o, sides[k]);
            sum_write(o, &h->side[k]);
            out_close(o);
        }
        out_uint(o, "would_launch", h->launched);
        out_uint(o, "would_end", h->ended);
        out_close(o);
    }
    out_close(o);
}

/* What the figures do not tell. */
static void notes_write(struct out *o, const struct shadow_report *r)
{
    out_array(o, "notes");
    if (!r->now.seen)
        out_str(o, NULL,
                "no demand source tells of the nodes that are there: nothing "
                "is added up");
    if (r->now.unmatched)
        out_strf(o, NULL,
                 "%u nodes match no node type: they are on neither side, and "
                 "room for both",
                 r->now.unmatched);
    if (r->now.estimated)
        out_strf(o, NULL,
                 "the price of %u nodes that are there is an estimate: give "
                 "their node type a price",
                 r->now.estimated);
    out_str(o, NULL,
            "prices are the node types' on both sides; stock-outs, quotas and "
            "failed boots are not known to a shadow");
    out_str(o, NULL,
            "work takes as long as it takes with the present autoscaler, also "
            "where Davit's nodes would have been there earlier or later");
    out_close(o);
}

static void report_write(struct out *o, const struct shadow_report *r)
{
    int64_t present = r->sum.side[SHADOW_PRESENT].nanos;
    int64_t davit = r->sum.side[SHADOW_DAVIT].nanos;

    out_time(o, "since_at", r->since_ms);
    out_seconds(o, "looked_at_s", r->sum.ms);
    side_write(o, r, SHADOW_PRESENT);
    side_write(o, r, SHADOW_DAVIT);
    out_micros(o, "saved", (present - davit) / 1000);
    if (present > 0)
        out_micros(
            o, "saved_ratio",
            (int64_t)((double)(present - davit) / (double)present * 1e6));
    else
        out_null(o, "saved_ratio");
    out_uint(o, "would_launch", r->sum.launched);
    out_uint(o, "would_end", r->sum.ended);
    hours_write(o, r);
    notes_write(o, r);
}

void get_shadow(struct exchange *ex)
{
    struct shadow *s = ex->server->shadow;
    int64_t hours = exchange_number(exchange_query(ex, "hours"));
    struct shadow_report r;
    struct arena arena = {0};
    struct buf b;
    struct out o;

    if (hours == -2 || hours == 0 || hours > SHADOW_HOURS) {
        exchange_error(ex, 400, "INVALID", "hours",
                       "must be a whole number, 1 to %d", SHADOW_HOURS);
        return;
    }
    if (!s) {
        exchange_error(ex, 404, "NOT_FOUND", "shadow",
                       "this daemon is no shadow: it acts; start one beside "
                       "another autoscaler with `davit run --shadow`");
        return;
    }
    shadow_report(s, hours < 0 ? 0 : clock_wall_ms() - hours * HOUR_MS, &arena,
                  &r);
    reply_begin(&b, &o);
    out_object(&o, NULL);
    report_write(&o, &r);
    out_close(&o);
    arena_done(&arena);
    exchange_reply(ex, 200, &b, "application/json");
}

/* ---- metrics */

static void head(struct buf *b, const char *name, const char *kind,
                 const char *help)
{
    buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind);
}

static void lines(struct buf *b, const char *name, const char *kind,
                  const char *help, const int64_t v[SHADOW_SIDES],
                  int64_t parts, bool any)
{
    char text[32];

    head(b, name, kind, help);
    for (int i = 0; i < SHADOW_SIDES && any; i++)
        buf_printf(b, "%s{side=\"%s\"} %s\n", name, sides[i],
                   out_decimal(v[i], parts, text));
}

void shadow_metrics(const struct server *server, struct buf *b)
{
    struct shadow *s = server->shadow;
    struct shadow_now now = {0};
    struct shadow_sum life[SHADOW_SIDES] = {{0}};
    int64_t v[5][SHADOW_SIDES];

    if (s)
        shadow_look_at(s, &now, life);
    for (int i = 0; i < SHADOW_SIDES; i++) {
        v[0][i] = now.micros_hour[i];
        v[1][i] = now.nodes[i];
        v[2][i] = now.waiting[i];
        v[3][i] = life[i].nanos;
        v[4][i] = life[i].waited_ms;
    }
    head(b, "davit_shadow", "gauge",
         "1: nothing is launched or ended, see docs/shadow.md");
    buf_printf(b, "davit_shadow %d\n", s ? 1 : 0);
    lines(b, "davit_shadow_cost_per_hour_dollars", "gauge",
          "List price of the nodes that are there, and of those that Davit "
          "would hold",
          v[0], 1000000, s);
    lines(b, "davit_shadow_nodes", "gauge", "How many they are", v[1], 1, s);
    lines(b, "davit_shadow_waiting_bundles", "gauge",
          "Bundles without a node that is ready", v[2], 1, s);
    lines(b, "davit_shadow_spent_dollars_total", "counter",
          "List price over their time, since this start", v[3], 1000000000, s);
    lines(b, "davit_shadow_waited_bundle_seconds_total", "counter",
          "Bundles without a node, times their waiting, since this start", v[4],
          1000, s);
}
