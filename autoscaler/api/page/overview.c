/*
 * overview.c - /v1/overview: what is paid, what waits, what comes next.
 */
#include "overview.h"

#include <time.h>

#include "../../control/report/decisions.h"

/* ---- money */

struct month { /* the calendar's, UTC */
    int64_t from_s, to_s;
};

static struct month month_of(int64_t now_ms)
{
    time_t now = (time_t)(now_ms / 1000);
    struct month m;
    struct tm tm;

    gmtime_r(&now, &tm);
    tm.tm_sec = tm.tm_min = tm.tm_hour = 0;
    tm.tm_mday = 1;
    m.from_s = timegm(&tm);
    tm.tm_mon++;
    m.to_s = timegm(&tm);
    return m;
}

static int64_t over_hours(int64_t micros_hour, int64_t seconds)
{
    return (int64_t)((__int128)micros_hour * seconds / 3600);
}

/* What was spent is known for as long as somebody looked. */
static void month_write(struct out *o, struct view *v, struct history *h,
                        int64_t now_micros)
{
    const struct month m = month_of(v->s->now_ms);
    const struct history_slot sum = history_sum(h, m.from_s);
    int64_t most = v->s->limits.max_cost_micros_hour;
    int64_t left_s = m.to_s - v->s->now_ms / 1000;

    out_object(o, "month");
    out_time(o, "from", m.from_s * 1000);
    out_time(o, "to", m.to_s * 1000);
    out_time(o, "seen_from", sum.at_s * 1000);
    out_seconds(o, "seen_s", sum.seen_ms);
    out_micros(o, "spent", sum.spent);
    out_micros(o, "forecast", sum.spent + over_hours(now_micros, left_s));
    out_micros_or_null(o, "limit",
                       most < 0 ? -1 : over_hours(most, m.to_s - m.from_s));
    out_close(o);
}

/* Do spot machines that were taken back count as dearer than they are? */
static bool is_surcharged(const struct view *v)
{
    for (uint32_t i = 0; i < v->s->n_offers; i++)
        if (v->s->offers[i].surcharge_micros_hour > 0)
            return true;
    return false;
}

static void cost_write(struct out *o, struct view *v, struct history *h,
                       const struct owner_sums *s)
{
    const struct plan *p = v->plan;
    const double cost = (double)plan_fleet_used(p);
    const double bound = (double)p->fleet_bound_micros_hour;
    int64_t now = status_cost(v->page);

    out_object(o, "cost");
    out_micros(o, "now_per_hour", now);
    out_micros(o, "idle_per_hour", s->idle_micros_hour);
    out_micros(o, "unowned_per_hour",
               now - s->owned_micros_hour - s->idle_micros_hour);
    out_micros_or_null(o, "max_per_hour", v->s->limits.max_cost_micros_hour);
    out_micros(o, "fleet_per_hour", p->fleet_cost_micros_hour);
    out_micros(o, "bound_per_hour", p->fleet_bound_micros_hour);
    out_micros_or_null(
        o, "gap_percent",
        bound > 0 ? (int64_t)((cost - bound) * 1e4 / bound + 0.5) * 10000 : -1);
    out_bool(o, "surcharged", is_surcharged(v));
    month_write(o, v, h, now);
    out_close(o);
}

/* ---- all of it */

static void demand_write(struct out *o, struct view *v)
{
    struct tally all = {0};

    for (uint32_t d = 0; d < v->s->n_demands; d++)
        tally_demand(&all, v, d);
    out_object(o, "demand");
    tally_write(o, &all);
    out_close(o);
}

void overview_write(struct out *o, struct view *v, struct history *h)
{
    struct owner_sums owners;

    owners_sum(v, &owners);
    out_object(o, NULL);
    out_str(o, "cluster", v->snapshot->cluster);
    out_str(o, "version", v->page->version);
    out_uint(o, "tick", v->page->tick);
    out_time(o, "at", v->snapshot->now_ms);
    out_time(o, "started_at", v->page->started_ms);
    out_bool(o, "shadow", v->page->shadow);
    out_bool(o, "ready", view_ready(v));
    problems_write(o, "problems", v);
    cost_write(o, v, h, &owners);
    view_node_counts(o, v);
    out_uint(o, "unused_nodes", owners.unused);
    out_limit(o, "max_nodes", v->s->limits.max_nodes);
    demand_write(o, v);
    overview_waiting(o, v);
    overview_next(o, v);
    overview_types(o, v);
    overview_owners(o, v, &owners);
    out_close(o);
}
