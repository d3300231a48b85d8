/*
 * view_status.c - /v1/status: the last tick in one page.
 */
#include <string.h>

#include "view.h"

#define PENDING_MAX 100

static void opt_uint(struct out *o, const char *key, uint32_t v)
{
    if (v == UNLIMITED)
        out_null(o, key);
    else
        out_uint(o, key, v);
}

static void opt_seconds(struct out *o, const char *key, int64_t ms)
{
    if (ms < 0)
        out_null(o, key);
    else
        out_seconds(o, key, ms);
}

bool view_ready(const struct view *v)
{
    const struct status_page *p = v->page;
    bool ready = p->journal_ok && (p->ray_address[0] == '\0' || p->ray_ok);

    for (uint32_t i = 0; i < p->n_providers; i++)
        ready = ready && p->providers[i].ready;
    return ready;
}

uint32_t problems_write(struct out *o, const char *key, struct view *v)
{
    const struct status_page *p = v->page;
    uint32_t n = 0;

    out_array(o, key);
    if (p->ray_address[0] && !p->ray_ok && ++n)
        out_strf(o, NULL, "the Ray head at %s cannot be read: %s",
                 p->ray_address,
                 p->ray_problem && p->ray_problem[0] ? p->ray_problem
                                                     : "no good read yet");
    for (uint32_t i = 0; i < p->n_providers; i++)
        if (!p->providers[i].ready && ++n)
            out_strf(o, NULL, "provider %s is not ready: %s",
                     p->providers[i].name,
                     p->providers[i].problem[0] ? p->providers[i].problem
                                                : "no good list yet");
    if (!p->journal_ok && ++n)
        out_str(o, NULL, "the journal cannot be written: nothing new is "
                "started until it can");
    if (p->config_problem && p->config_problem[0] && ++n)
        out_strf(o, NULL, "the newest configuration was refused: %s",
                 p->config_problem);
    out_close(o);
    return n;
}

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
    opt_uint(o, "max_nodes", l->max_nodes);
    opt_seconds(o, "idle_timeout_s", l->idle_timeout_ms);
    if (l->max_cost_micros_hour < 0)
        out_null(o, "max_cost_per_hour");
    else
        out_micros(o, "max_cost_per_hour", l->max_cost_micros_hour);
    out_str(o, "policy", policy_name(l->policy));
    out_close(o);
}

static void write_by_state(struct out *o, const uint32_t *count)
{
    out_object(o, "by_state");
    for (uint32_t i = 0; i < STATE_COUNT; i++)
        if (count[i])
            out_uint(o, state_name((enum machine_state)i), count[i]);
    out_close(o);
}

static void write_nodes(struct out *o, struct view *v)
{
    uint32_t by[STATE_COUNT] = {0}, total = 0, busy = 0, idle = 0;

    for (uint32_t i = 0; i < v->snapshot->n_nodes; i++) {
        const struct snap_node *n = &v->snapshot->nodes[i];

        if (n->head)
            continue;
        by[n->state]++;
        total += n->state != STATE_GONE;
        if (n->state == STATE_READY)
            *(n->idle_ms < 0 ? &busy : &idle) += 1;
    }
    out_object(o, "nodes");
    out_uint(o, "total", total);
    out_uint(o, "ready", by[STATE_READY]);
    out_uint(o, "starting", by[STATE_INTENDED] + by[STATE_REQUESTED] +
             by[STATE_STARTING]);
    out_uint(o, "leaving", by[STATE_DRAINING] + by[STATE_STOPPING]);
    out_uint(o, "busy", busy);
    out_uint(o, "idle", idle);
    write_by_state(o, by);
    out_close(o);
}

static void write_offer(struct out *o, struct view *v,
                        const struct snap_offer *f, const struct pb_offer *s)
{
    out_object(o, NULL);
    out_str(o, "zone", f->zone);
    out_bool(o, "spot", f->spot);
    out_micros(o, "price_per_hour", s ? s->price_micros_hour
                                  : f->price_micros_hour < 0
                                      ? 0 : f->price_micros_hour);
    out_bool(o, "price_estimated", s ? s->price_estimated
                                     : f->price_micros_hour < 0);
    opt_uint(o, "room", f->room);
    if (f->backoff_until_ms > v->snapshot->now_ms)
        out_str(o, "backoff_for", status_name(f->backoff_for));
    else
        out_null(o, "backoff_for");
    out_time(o, "backoff_until",
             f->backoff_until_ms > v->snapshot->now_ms ? f->backoff_until_ms
                                                      : 0);
    out_close(o);
}

/* The snapshot's offer that came from this one of the facts. */
static const struct pb_offer *offer_of(const struct view *v,
                                       const struct pb_type *t,
                                       const struct snap_offer *f)
{
    for (uint32_t i = 0; t && i < t->n_offers; i++) {
        const struct pb_offer *o = &v->s->offers[t->first_offer + i];

        if (o->spot == f->spot && strcmp(view_str(v, o->zone), f->zone) == 0)
            return o;
    }
    return NULL;
}

static void write_type(struct out *o, struct view *v, uint32_t type,
                       const struct pb_type *st, const uint32_t *by,
                       uint32_t planned)
{
    const struct snap_type *t = &v->snapshot->types[type];
    const struct pb_offer *best = NULL;
    uint32_t nodes = 0;

    for (uint32_t i = 0; i < STATE_COUNT; i++)
        nodes += view_counts((enum machine_state)i) ? by[i] : 0;
    for (uint32_t i = 0; st && i < st->n_offers; i++) {
        const struct pb_offer *of = &v->s->offers[st->first_offer + i];

        if (!best || of->price_micros_hour < best->price_micros_hour)
            best = of;
    }
    out_object(o, NULL);
    out_str(o, "name", t->name);
    out_str(o, "provider", t->provider);
    out_str(o, "machine", t->machine);
    out_str(o, "pool", t->pool);
    view_qtys(o, "resources", &t->resources);
    view_pairs(o, "labels", &t->labels);
    out_uint(o, "min", t->min);
    opt_uint(o, "max", t->max);
    opt_seconds(o, "idle_timeout_s", t->idle_timeout_ms);
    opt_seconds(o, "boot_s", t->boot_ms);
    out_micros(o, "price_per_hour", best ? best->price_micros_hour : 0);
    out_bool(o, "price_estimated", !best || best->price_estimated);
    if (t->unavailable == REASON_NONE)
        out_null(o, "unavailable");
    else
        out_str(o, "unavailable", reason_code(t->unavailable));
    out_uint(o, "nodes", nodes);
    write_by_state(o, by);
    out_uint(o, "planned", planned);
    out_array(o, "offers");
    for (uint32_t i = 0; i < t->n_offers; i++)
        write_offer(o, v, &t->offers[i], offer_of(v, st, &t->offers[i]));
    out_close(o);
    out_close(o);
}

/* Counts first, in one pass over the nodes: types x nodes would be too slow
 * for a large cluster that is polled. */
static void write_types(struct out *o, struct view *v)
{
    uint32_t n = v->s->n_types, total = v->snapshot->n_types;
    uint32_t *by = ARENA_ARRAY(&v->arena, uint32_t,
                               (size_t)total * STATE_COUNT);
    uint32_t *planned = ARENA_ARRAY(&v->arena, uint32_t, total);
    uint32_t *sn_of = ARENA_ARRAY(&v->arena, uint32_t, total);

    for (uint32_t i = 0; i < total; i++)
        sn_of[i] = NONE;
    for (uint32_t i = 0; i < n; i++)
        if (v->snap_of_type[i] != NONE)
            sn_of[v->snap_of_type[i]] = i;
    for (uint32_t i = 0; i < v->snapshot->n_nodes; i++) {
        uint32_t node = v->node_of_snap[i];
        uint32_t type = node == NONE ? NONE : v->s->nodes[node].type;

        if (type != NONE && v->snap_of_type[type] != NONE)
            by[(size_t)v->snap_of_type[type] * STATE_COUNT +
               v->snapshot->nodes[i].state]++;
    }
    for (uint32_t i = 0; i < v->plan->n_launches; i++) {
        const struct plan_launch *l = &v->plan->launches[i];
        uint32_t t = v->snap_of_type[v->s->offers[l->offer].type];

        if (t != NONE)
            planned[t] += l->count;
    }
    out_array(o, "types");
    for (uint32_t i = 0; i < total; i++)
        write_type(o, v, i, sn_of[i] == NONE ? NULL : &v->s->types[sn_of[i]],
                   by + (size_t)i * STATE_COUNT, planned[i]);
    out_close(o);
}

static void write_resources(struct out *o, struct view *v)
{
    uint32_t n = v->s->n_columns;
    int64_t *total = ARENA_ARRAY(&v->arena, int64_t, n);
    int64_t *available = ARENA_ARRAY(&v->arena, int64_t, n);

    for (uint32_t i = 0; i < v->s->n_nodes; i++) {
        const struct pb_node *x = &v->s->nodes[i];

        if (x->template_room ||
            (x->state != STATE_READY && x->state != STATE_DRAINING))
            continue;
        for (uint32_t c = 0; c < n; c++) {
            total[c] += pb_row(v->s, x->total)[c];
            available[c] += pb_row(v->s, x->available)[c];
        }
    }
    out_object(o, "resources");
    for (uint32_t c = 0; c < n; c++) {
        if (total[c] == 0)
            continue;
        out_object(o, view_str(v, v->s->columns[c].name));
        out_amount(o, "total", total[c]);
        out_amount(o, "used", total[c] > available[c] ? total[c] - available[c]
                                                      : 0);
        out_amount(o, "available", available[c]);
        out_close(o);
    }
    out_close(o);
}

static bool same_owner(const struct pb_demand *a, const struct pb_demand *b)
{
    return a->owner == b->owner && a->source == b->source;
}

/* Owners are few, demands may be many: sums per (owner, source). */
static void write_demand(struct out *o, struct view *v)
{
    struct per { uint32_t demand, n; struct tally t; };
    VEC(struct per) owners = {0};
    struct tally all = {0};

    for (uint32_t d = 0; d < v->s->n_demands; d++) {
        uint32_t k = 0;

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
    uint32_t told = 0, more = 0;

    out_array(o, "pending");
    for (uint32_t b = 0; b < v->s->n_bundles; b++) {
        const struct plan_bundle *p = &v->plan->bundles[b];

        if (p->waiting == 0 && p->infeasible == 0)
            continue;
        if (told < PENDING_MAX && ++told)
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
        uint32_t fact = v->snap_of_node[i];

        if (p->nodes[i].action != NODE_END || fact == NONE)
            continue;
        out_object(o, NULL);
        out_str(o, "node", v->snapshot->nodes[fact].id);
        out_str(o, "type", v->snapshot->nodes[fact].type);
        out_str(o, "reason", reason_code(p->nodes[i].why));
        out_str(o, "text", view_why_text(v, fact));
        out_close(o);
    }
    out_close(o);
    out_uint(o, "launched", p->n_launched);
    out_uint(o, "ended", p->n_ended);
    out_micros(o, "cost_per_hour", p->cost_micros_hour);
    if (p->bound_micros_hour >= 0 && v->s->n_types)
        out_micros(o, "bound_per_hour", p->bound_micros_hour);
    else
        out_null(o, "bound_per_hour");
    out_seconds(o, "planned_ms", v->page->planned_us);
    out_uint(o, "work", p->work);
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

void status_write(struct out *o, struct view *v)
{
    const struct status_page *p = v->page;

    out_object(o, NULL);
    out_str(o, "cluster", v->snapshot->cluster);
    out_str(o, "version", p->version);
    out_uint(o, "tick", p->tick);
    out_time(o, "at", v->snapshot->now_ms);
    out_time(o, "started_at", p->started_ms);
    out_seconds(o, "uptime_s", v->snapshot->now_ms - p->started_ms);
    out_bool(o, "ready", view_ready(v));
    problems_write(o, "problems", v);
    write_head(o, p);
    write_limits(o, &v->snapshot->limits);
    write_nodes(o, v);
    write_types(o, v);
    write_resources(o, v);
    write_demand(o, v);
    requests_write(o, "requests", v);
    write_pending(o, v);
    out_time(o, "deciding_until", v->page ? v->page->thinking_until_ms : 0);
    write_plan(o, v);
    write_cost(o, v);
    write_lists(o, p);
    out_object(o, "config");
    out_str(o, "path", p->config_path);
    out_time(o, "loaded_at", p->config_loaded_ms);
    out_str(o, "problem", p->config_problem);
    out_close(o);
    out_object(o, "journal");
    out_bool(o, "ok", p->journal_ok);
    out_close(o);
    out_close(o);
}
