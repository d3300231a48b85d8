/*
 * view_status.c - /v1/status: the last tick in one page.
 */
#include <string.h>

#include "../model/amount.h"
#include "../model/bill.h"
#include "door/access.h"
#include "view.h"

#define LISTED_MAX 100

static void write_head(struct out *o, const struct status_page *p)
{
    out_object(o, "head");
    out_bool(o, "configured", p->ray_address[0] != '\0');
    out_bool(o, "ok", p->ray_ok);
    out_str(o, "address", p->ray_address);
    out_str(o, "session", p->ray_session);
    out_str(o, "problem", p->ray_problem);
    out_time(o, "read_at", p->ray_read_ms);
    out_int(o, "state_version", p->ray_version);
    out_close(o);
}

static void write_limits(struct out *o, const struct snap_limits *l)
{
    out_object(o, "limits");
    out_limit(o, "max_nodes", l->max_nodes);
    out_seconds_or_null(o, "idle_timeout_s", l->idle_timeout_ms);
    out_micros_or_null(o, "max_cost_per_hour", l->max_cost_micros_hour);
    out_str(o, "policy", policy_name(l->policy));
    out_close(o);
}

void view_node_counts(struct out *o, struct view *v)
{
    uint32_t by[STATE_COUNT] = {0}, total = 0, cordoned = 0;
    uint32_t use[USES] = {0};

    for (uint32_t i = 0; i < v->snapshot->n_nodes; i++) {
        const struct snap_node *n = &v->snapshot->nodes[i];

        if (n->head)
            continue;
        by[n->state]++;
        total += n->state != STATE_GONE;
        cordoned += n->cordoned;
        if (n->state == STATE_READY)
            use[view_use(v, i)]++;
    }
    out_object(o, "nodes");
    out_uint(o, "total", total);
    out_uint(o, "ready", by[STATE_READY]);
    out_uint(o, "starting",
             by[STATE_INTENDED] + by[STATE_REQUESTED] + by[STATE_STARTING]);
    out_uint(o, "leaving", by[STATE_DRAINING] + by[STATE_STOPPING]);
    out_uint(o, "busy", use[USE_BUSY]);
    out_uint(o, "held", use[USE_HELD]);
    out_uint(o, "idle", use[USE_IDLE]);
    out_uint(o, "cordoned", cordoned);
    view_states(o, by);
    out_close(o);
}

/* What the planner counts on a cordoned node is what is in use. */
static void resources_add(const struct view *v, const struct pb_node *x,
                          int64_t *total, int64_t *available)
{
    const struct snap_node *n = &v->snapshot->nodes[x->from];

    for (uint32_t c = 0; c < v->s->n_columns; c++) {
        const char *name = view_str(v, v->s->columns[c].name);

        total[c] += n->cordoned ? qtys_amount(&n->total, name)
                                : pb_row(v->s, x->total)[c];
        available[c] += n->cordoned ? qtys_amount(&n->available, name)
                                    : pb_row(v->s, x->available)[c];
    }
}

/* Nobody tells what runs there: what the plan has there is in use. */
static void placed_take(struct view *v, uint32_t node, int64_t *available)
{
    const struct plan_node *p = &v->plan->nodes[node];

    for (uint32_t i = 0; i < p->n_placements; i++) {
        const struct plan_placement *q =
            &v->plan->placements[p->first_placement + i];
        const int64_t *need = pb_row(v->s,
                                     view_shape(v, q->bundle, q->alt)->row);

        for (uint32_t c = 0; c < v->s->n_columns; c++)
            available[c] -= amount_times(need[c], q->count);
    }
}

static void write_resources(struct out *o, struct view *v)
{
    uint32_t n = v->s->n_columns;
    int64_t *total = ARENA_ARRAY(&v->arena, int64_t, n);
    int64_t *available = ARENA_ARRAY(&v->arena, int64_t, n);

    for (uint32_t i = 0; i < v->s->n_nodes; i++) {
        const struct pb_node *x = &v->s->nodes[i];

        if (x->state != STATE_READY && x->state != STATE_DRAINING)
            continue;
        resources_add(v, x, total, available);
        if (x->template_room)
            placed_take(v, i, available);
    }
    out_object(o, "resources");
    for (uint32_t c = 0; c < n; c++) {
        if (total[c] == 0)
            continue;
        out_object(o, view_str(v, v->s->columns[c].name));
        out_amount(o, "total", total[c]);
        out_amount(o, "used",
                   total[c] > available[c] ? total[c] - available[c] : 0);
        out_amount(o, "available", available[c]);
        out_close(o);
    }
    out_close(o);
}

static bool same_owner(const struct pb_demand *a, const struct pb_demand *b)
{
    return a->owner == b->owner && a->source == b->source;
}

/* Of an owner whom the reader may know nothing of. */
static bool demand_hidden(const struct view *v, uint32_t demand)
{
    return view_hides(v, view_str(v, v->s->demands[demand].owner));
}

/* Placed on nodes that are on their way. */
static uint64_t booting_bundles(const struct view *v)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < v->s->n_nodes; i++) {
        const struct plan_node *p = &v->plan->nodes[i];

        if (v->s->nodes[i].state >= STATE_READY)
            continue;
        for (uint32_t k = 0; k < p->n_placements; k++) {
            const struct plan_placement *q =
                &v->plan->placements[p->first_placement + k];

            if (!demand_hidden(v, v->s->bundles[q->bundle].demand))
                sum += q->count;
        }
    }
    return sum;
}

/* Owners are few, demands may be many: sums per (owner, source). */
static void write_demand(struct out *o, struct view *v)
{
    struct per {
        uint32_t demand, n;
        struct tally t;
    };
    VEC(struct per) owners = {0};
    struct tally all = {0};

    for (uint32_t d = 0; d < v->s->n_demands; d++) {
        uint32_t k = 0;

        if (demand_hidden(v, d))
            continue;
        while (k < owners.n && !same_owner(&v->s->demands[owners.v[k].demand],
                                           &v->s->demands[d]))
            k++;
        if (k == owners.n)
            VEC_PUSH(&v->arena, &owners, ((struct per){.demand = d}));
        owners.v[k].n++;
        tally_demand(&owners.v[k].t, v, d);
        tally_demand(&all, v, d);
    }
    out_object(o, "demand");
    tally_write(o, &all);
    out_uint(o, "booting", booting_bundles(v));
    out_array(o, "owners");
    for (uint32_t k = 0; k < owners.n; k++) {
        const struct pb_demand *d = &v->s->demands[owners.v[k].demand];

        out_object(o, NULL);
        out_str(o, "owner", view_str(v, d->owner));
        out_str(o, "source", source_name(d->source));
        out_uint(o, "demands", owners.v[k].n);
        tally_write(o, &owners.v[k].t);
        out_close(o);
    }
    out_close(o);
    out_close(o);
}

static void write_pending(struct out *o, struct view *v)
{
    uint32_t listed = 0, more = 0;

    out_array(o, "pending");
    for (uint32_t b = 0; b < v->s->n_bundles; b++) {
        const struct plan_bundle *p = &v->plan->bundles[b];

        if ((p->waiting == 0 && p->infeasible == 0) ||
            demand_hidden(v, v->s->bundles[b].demand))
            continue;
        if (listed < LISTED_MAX && ++listed)
            view_unplaced(o, v, b, 16);
        else
            more++;
    }
    out_close(o);
    out_uint(o, "pending_more", more);
}

static void write_plan(struct out *o, struct view *v)
{
    const struct plan *p = v->plan;

    out_object(o, "plan");
    view_launches(o, v);
    out_array(o, "ends");
    for (uint32_t i = 0; i < v->s->n_nodes; i++) {
        uint32_t row = v->s->nodes[i].from;

        if (p->nodes[i].action != NODE_END)
            continue;
        out_object(o, NULL);
        out_str(o, "node", v->snapshot->nodes[row].id);
        out_str(o, "type", v->snapshot->nodes[row].type);
        out_str(o, "reason", reason_code(p->nodes[i].why));
        out_str(o, "text", view_why_text(v, row));
        out_close(o);
    }
    out_close(o);
    out_uint(o, "launched", p->n_launched);
    out_uint(o, "ended", p->n_ended);
    out_micros(o, "cost_per_hour", p->cost_micros_hour);
    out_micros(o, "bound_per_hour", p->bound_micros_hour);
    out_seconds(o, "planned_ms", v->page->planned_us);
    out_uint(o, "work", p->work);
    out_close(o);
}

/* Of the whole fleet once the plan is carried out. */
static void write_fleet(struct out *o, const struct plan *p)
{
    const double cost = (double)plan_fleet_used(p);
    const double bound = (double)p->fleet_bound_micros_hour;

    out_micros(o, "fleet_per_hour", p->fleet_cost_micros_hour);
    out_micros(o, "fleet_idle_per_hour", p->fleet_idle_micros_hour);
    out_micros(o, "fleet_bound_per_hour", p->fleet_bound_micros_hour);
    out_micros_or_null(
        o, "fleet_gap_percent",
        bound > 0 ? (int64_t)((cost - bound) * 1e4 / bound + 0.5) * 10000 : -1);
}

static void write_owners(struct out *o, const struct bill_owner *v, uint32_t n)
{
    out_array(o, "owners");
    for (uint32_t i = 0; i < n; i++) {
        out_object(o, NULL);
        out_str(o, "owner", v[i].owner);
        out_uint(o, "nodes", v[i].nodes);
        out_micros(o, "per_hour", v[i].micros_hour);
        out_close(o);
    }
    out_close(o);
}

/* Whose it is: what nobody's bundles take is idle, or work that runs there. */
static void write_bill(struct out *o, struct view *v)
{
    struct bill b;

    bill_make(v->snapshot, v->s, v->plan, true, &v->arena, &b);
    out_micros(o, "idle_per_hour", b.idle_micros_hour);
    write_owners(o, b.owners, b.n_owners);
    out_array(o, "offers");
    for (uint32_t i = 0; i < b.n_offers; i++) {
        out_object(o, NULL);
        out_str(o, "type", b.offers[i].type);
        out_str(o, "provider", b.offers[i].provider);
        out_bool(o, "spot", b.offers[i].spot);
        out_uint(o, "nodes", b.offers[i].nodes);
        out_micros(o, "per_hour", b.offers[i].micros_hour);
        out_close(o);
    }
    out_close(o);
}

static void write_cost(struct out *o, struct view *v)
{
    int64_t now = 0, ended = 0;

    for (uint32_t i = 0; i < v->snapshot->n_nodes; i++) {
        const struct plan_node *p = view_verdict(v, i);
        int64_t price = view_node_price(v, i);

        if (price < 0 || v->snapshot->nodes[i].state == STATE_GONE)
            continue;
        now += price;
        ended += p && p->action == NODE_END ? price : 0;
    }
    out_object(o, "cost");
    out_micros(o, "now_per_hour", now);
    out_micros(o, "planned_per_hour", now - ended + v->plan->cost_micros_hour);
    write_fleet(o, v->plan);
    write_bill(o, v);
    out_close(o);
}

static void write_stops(struct out *o, const struct status_page *p)
{
    out_array(o, "stops");
    for (uint32_t i = 0; i < p->n_stops; i++) {
        const struct status_stop *s = &p->stops[i];

        out_object(o, NULL);
        out_str(o, "kind", s->kind);
        out_str(o, "subject", s->subject);
        out_str(o, "text", s->text);
        out_bool(o, "failing", s->failing);
        out_close(o);
    }
    out_close(o);
}

/* Each pod without a node is in one of them. */
static void write_waiting(struct out *o, const struct status_page *p)
{
    out_array(o, "waiting_pods");
    for (uint32_t i = 0; i < p->n_waiting; i++) {
        out_object(o, NULL);
        out_str(o, "reason", p->waiting[i].reason);
        out_uint(o, "count", p->waiting[i].n);
        out_str(o, "text", p->waiting[i].text);
        out_close(o);
    }
    out_close(o);
}

static void write_lists(struct out *o, const struct status_page *p)
{
    out_array(o, "backoffs");
    for (uint32_t i = 0; i < p->n_backoffs; i++) {
        const struct status_backoff *r = &p->backoffs[i];

        out_object(o, NULL);
        out_str(o, "provider", r->provider);
        out_str(o, "type", r->type);
        out_str(o, "zone", r->zone);
        out_bool(o, "spot", r->spot);
        out_str(o, "status", status_name(r->why));
        out_str(o, "text", r->text);
        out_time(o, "until", r->until_ms);
        out_close(o);
    }
    out_close(o);
    out_array(o, "failures");
    for (uint32_t i = 0; i < p->n_failures; i++) {
        const struct status_failure *f = &p->failures[i];

        out_object(o, NULL);
        out_str(o, "machine", f->machine);
        out_str(o, "type", f->type);
        out_str(o, "status", status_name(f->why));
        out_str(o, "text", f->text);
        out_time(o, "at", f->at_ms);
        out_close(o);
    }
    out_close(o);
    out_array(o, "providers");
    for (uint32_t i = 0; i < p->n_providers; i++) {
        const struct status_provider *q = &p->providers[i];

        out_object(o, NULL);
        out_str(o, "name", q->name);
        out_str(o, "plugin", q->plugin);
        out_str(o, "version", q->version);
        out_bool(o, "ready", q->ready);
        out_str(o, "problem", q->problem);
        out_time(o, "listed_at", q->listed_ms);
        out_uint(o, "machines", q->machines);
        out_uint(o, "http_last_minute", q->traffic.last_minute);
        out_uint(o, "http_most_a_minute", q->traffic.most_a_minute);
        out_close(o);
    }
    out_close(o);
}

/* Names with a blank between. */
static void write_names(struct out *o, const char *key, struct view *v,
                        const char *at)
{
    out_array(o, key);
    while (at && *at) {
        size_t n = strcspn(at, " ");

        out_str(o, NULL, arena_strndup(&v->arena, at, n));
        at += n + (at[n] == ' ');
    }
    out_close(o);
}

/* What a person may let go: he shows that he has seen it by sending it back. */
static void write_held(struct out *o, struct view *v)
{
    const struct status_page *p = v->page;

    out_object(o, "held");
    out_str(o, "config", p->config_digest);
    out_str(o, "head", p->another_head);
    out_str(o, "journal", p->copied);
    write_names(o, "ends", v, p->held_ends);
    out_array(o, "places");
    for (uint32_t i = 0; i < p->n_providers; i++)
        if (p->providers[i].elsewhere)
            out_str(o, NULL, p->providers[i].name);
    out_close(o);
    out_array(o, "lists");
    for (uint32_t i = 0; i < p->n_providers; i++)
        if (p->providers[i].list_short)
            out_str(o, NULL, p->providers[i].name);
    out_close(o);
    out_close(o);
}

static void write_page(struct out *o, struct view *v)
{
    const struct status_page *p = v->page;

    out_str(o, "cluster", v->snapshot->cluster);
    out_str(o, "version", p->version);
    out_uint(o, "tick", p->tick);
    out_time(o, "at", v->snapshot->now_ms);
    out_time(o, "started_at", p->started_ms);
    out_seconds(o, "uptime_s", v->snapshot->now_ms - p->started_ms);
    out_seconds(o, "age_s", view_age_ms(v));
    out_bool(o, "ready", view_ready(v));
    out_bool(o, "shadow", p->shadow);
}

/* What runs and nobody asked for has no owner, whatever he may ask for. */
static void write_his_cost(struct out *o, struct view *v)
{
    struct bill_owner *his;
    uint32_t n = 0;
    struct bill b;
    int64_t sum = 0;

    bill_make(v->snapshot, v->s, v->plan, true, &v->arena, &b);
    his = ARENA_ARRAY(&v->arena, struct bill_owner, b.n_owners);
    for (uint32_t i = 0; i < b.n_owners; i++) {
        if (view_hides(v, b.owners[i].owner) ||
            strcmp(b.owners[i].owner, BILL_RUNNING) == 0)
            continue;
        his[n++] = b.owners[i];
        sum += b.owners[i].micros_hour;
    }
    out_object(o, "cost");
    out_micros(o, "now_per_hour", sum);
    write_owners(o, his, n);
    out_close(o);
}

/* For who may ask for some owners and read nothing else. */
static void write_his(struct out *o, struct view *v)
{
    out_bool(o, "own", true);
    out_str(o, "rights", principal_rights(v->reader, &v->arena));
    out_array(o, "problems");
    out_close(o);
    out_uint(o, "problems_more", problems_count(v));
    write_demand(o, v);
    requests_write(o, "requests", v);
    write_pending(o, v);
    write_his_cost(o, v);
}

static void write_all(struct out *o, struct view *v)
{
    const struct status_page *p = v->page;

    problems_write(o, "problems", v);
    write_head(o, p);
    write_limits(o, &v->snapshot->limits);
    view_node_counts(o, v);
    view_types(o, v);
    write_resources(o, v);
    write_demand(o, v);
    requests_write(o, "requests", v);
    write_pending(o, v);
    out_time(o, "improving_until", v->page ? v->page->thinking_until_ms : 0);
    write_plan(o, v);
    write_cost(o, v);
    write_stops(o, p);
    write_waiting(o, p);
    write_lists(o, p);
    out_object(o, "config");
    out_str(o, "path", p->config_path);
    out_time(o, "loaded_at", p->config_loaded_ms);
    out_str(o, "problem", p->config_problem);
    out_bool(o, "held", p->config_held);
    write_names(o, "ends", v, p->config_ends);
    out_close(o);
    write_held(o, v);
    out_object(o, "journal");
    out_bool(o, "ok", p->journal_ok);
    out_close(o);
}

void status_write(struct out *o, struct view *v)
{
    out_object(o, NULL);
    write_page(o, v);
    if (v->reader)
        write_his(o, v);
    else
        write_all(o, v);
    out_close(o);
}
